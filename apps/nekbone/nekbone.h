/*
 * nekbone.h - conjugate gradients for the spectral-element Poisson operator on a box.
 *
 * Karp, Jansson, Podobas, Schlatter, Markidis, "Optimization of Tensor-product Operations in
 * Nekbone on GPUs"; CRESTA D3.5.2. The operator of one element (Listing 1 of the paper) is
 *
 *     w_e = D^T G D u_e:   wr = sum_l D(i,l) u(l,j,k),  ws over j,  wt over k
 *                          (ur, us, ut) = symmetric 3x3 G (wr, ws, wt)
 *                          w = sum_l D(l,i) ur(l,j,k) + D(l,j) us(i,l,k) + D(l,k) ut(i,j,l)
 *
 * and the operator of the mesh is A = M (Q Q^T D^T G D + lambda), Q Q^T the gather-scatter that
 * sums the copies of a shared point, M the Dirichlet mask. Everything is FP64.
 *
 * Fields are element-local: u[e][k][j][i], i fastest, n = degree + 1 points per direction; a point
 * that several elements share is stored once in each.
 */
#ifndef NEKBONE_H
#define NEKBONE_H

#include "kernel.h"

RT_C_BEGIN

extern const rt_app_t nek_app;

/* The judge's solution of one right-hand side. */
typedef struct {
    double *x; /* [points]; NULL: not yet */
    /* ladder iteration */
    double *history;     /* [iterations + 1] |r_k|, k = 0 .. iterations */
    double *sensitivity; /* [iterations + 2] see nek_sensitivity; NULL until it is needed */
    double sensitive_to; /* the roundoff that it is of */
    double residual;     /* |b - A x|, recomputed */
    /* ladder solve: iterations to the tolerance, with and without the preconditioner */
    int iterations, plain_iterations;
} nek_reference_t;

/* A solve in FP32 vectors replaces r by b - A x, in FP64, when |r| has fallen by NEK_DROP. At its end r
 * may differ from b - A x by NEK_SINGLE_GAP of it; if they are orthogonal |b - A x| is then larger by
 * the margin, so it ends that much below the tolerance. */
#define NEK_DROP          1e-4
#define NEK_SINGLE_GAP    0.2
#define NEK_SINGLE_MARGIN (NEK_SINGLE_GAP * NEK_SINGLE_GAP / 2)

/* What a solve left behind, in host memory. */
typedef struct {
    uint64_t draw; /* which right-hand side it had: 0 is the problem's b */
    int done;      /* iterations */
    double *x, *r; /* [points]; NULL: nothing was kept */
    double *history;
} nek_left_t;

/* --- problem.c: mesh, geometry, right-hand side; host memory --- */
typedef struct {
    const rt_run_t *run;
    const nek_config_t *config;
    nek_view_t view;   /* of RT_HOST; scratch unused */
    double *D, *G, *c; /* what view points to */
    double *b;         /* [points] right-hand side, the same at every copy, 0 on the boundary */
    rt_halo_t *halo;   /* Q Q^T on host arrays; NULL with communication off */
    double halo_seconds;
    struct nek_levels *levels;   /* of schwarz (precond/precond.h); NULL until it is needed */
    nek_reference_t reference;   /* of b, made once by nek_reference_solve or nek_target */
    double eigen_min, eigen_max; /* extreme Ritz values of A */
} nek_problem_t;

void *nek_problem_new(const rt_run_t *run, void *input);
void nek_problem_destroy(void *problem);
void nek_reference_destroy(nek_reference_t *reference);
void nek_digest(const void *problem, rt_digest_t *digest);
/* Finds the points of local element e along each direction that no other rank has: [from, to). */
void nek_own_points(const nek_config_t *config, int64_t e, int from[3], int to[3]);
/* Returns where an array has point l (i, j, k) of local element e. */
typedef int64_t nek_index_fn(int n, int64_t e, const int l[3]);
/* Lists the points of this rank that elements share; or, `outer`, those that other ranks have too,
 * without those on the boundary. */
void nek_list_shared(const nek_config_t *config, bool outer, nek_index_fn *index,
                     rt_halo_list_t *list);
/* Makes a halo over these points for arrays of that kind and space; NULL with communication off, and
 * if nothing is `outer`. */
rt_halo_t *nek_halo_new(const nek_config_t *config, bool outer, const char *transport,
                        rt_kind_t kind, rt_space_t space);
/* Sets field u[points] to random(global index, seed), and to 0 on the Dirichlet boundary. */
void nek_random_field(const nek_config_t *config, uint64_t seed, double *u);
/* Counts the stored points of this rank that only elements of this rank share; and those that other
 * ranks share, each once per other rank that has it. */
void nek_shared_points(const nek_config_t *config, int64_t *on_rank_only, int64_t *with_ranks);

/* --- input/geometry.c: points and geometric factors of an element --- */
/* Computes GLL points z[n] and weights w[n] on [-1, 1], and D[n][n] (rows sum to zero exactly as
 * computed). */
void nek_gll(int n, double *z, double *w, double *D);
/* Returns the factor by which layers of edge 2 / stretch, 2 growth / stretch, ... fill as much as
 * `layers` layers of edge 2. */
double nek_growth(int64_t layers, double stretch);
/* Computes the coordinates xyz[3][n^3] of the GLL points z[n] of the element at that position of
 * the whole mesh. */
void nek_coordinates(const nek_config_t *config, const int64_t at[3], const double *z, double *xyz);
/* Finds the position of local element e in the whole mesh. */
void nek_element_position(const nek_config_t *config, int64_t e, int64_t at[3]);
/* Computes the geometric factors G[6][n^3] of local element e and, where not NULL, the diagonal
 * mass matrix [n^3] (Jacobian times weights) and the coordinates of its points xyz[3][n^3]. Returns
 * the least Jacobian determinant: not positive means that the map folds. */
double nek_geometry(const nek_config_t *config, int64_t e, double *G, double *mass, double *xyz);
/* Computes the same from the coordinates of the points. */
double nek_geometry_at(int n, const double *w, const double *D, const double *xyz, double *G,
                       double *mass);
/* Returns the global index of point (i, j, k) of local element e: the same for all copies of a
 * point. */
int64_t nek_global_index(const nek_config_t *config, int64_t e, int i, int j, int k);

/* --- solve.c: the conjugate gradients, over a rung's function table --- */
struct nek_solver {
    nek_problem_t *problem;
    const rt_rung_t *rung;
    const nek_kernels_t *kernels;
    void *data; /* owned by kernels->set_up and tear_down */
    rt_space_t space;
    nek_view_t view;   /* arrays in `space` */
    rt_halo_t *halo;   /* the problem's, or its own */
    void *precond;     /* owned by kernels->preconditioner; NULL: none */
    double *z;         /* what it may keep there */
    bool to_tolerance; /* on the ladder solve */
    int iterations;    /* to do; the most, if to_tolerance */
    int done;          /* by the last solve */
    double tolerance, lambda;
    const double *base;        /* [points] the problem's b, in `space` */
    double *b, *x, *r, *p, *w; /* [points], in `space` */
    bool borrows;              /* the five are another solver's */
    uint64_t draw;             /* which b is in s->b */
    nek_left_t kept[RT_KEEPS]; /* by nek_spoil, for nek_verify_after */
    double *history;           /* [iterations + 1], host: |r_k| = sqrt(sum c r r) */
    double *alpha, *beta;      /* [iterations], host: coefficients of the last solve */
    double residual;           /* |b - A x| of the last solve, set by nek_verify_after */
};

void *nek_solver_new(void *problem, const rt_rung_t *rung);
/* Makes a solver that works in the lender's b, x, r, p and w, in the same space; NULL: in its own. */
nek_solver_t *nek_solver_borrow(nek_problem_t *p, const rt_rung_t *rung,
                                const nek_solver_t *lender);
void nek_solver_destroy(void *solver);
/* Computes w = A p (kernels, gather-scatter, shift and mask); returns the global inner product p.w.
 */
double nek_apply(nek_solver_t *s, const double *p, double *w);
/* Computes p = z + beta p with the z of the last application of the preconditioner, r without one. */
void nek_update_direction(nek_solver_t *s, double beta);
/* Compute p = r + beta p; and x += alpha p, r -= alpha w, and return the global r.r. */
void nek_update_p(nek_solver_t *s, double beta, const double *r, double *p);
double nek_update_xr(nek_solver_t *s, double alpha, const double *p, const double *w, double *x,
                     double *r);
void nek_solve(void *solver);
/* The loop of solve.c, for rungs whose own cg is not for every preconditioner. */
void nek_solve_by_lines(nek_solver_t *s);
/* Makes the outputs of a solve unusable (NaN). */
void nek_erase(nek_solver_t *s);
void nek_spoil(void *solver, uint64_t draw, rt_keep_t keep);
void nek_left_destroy(nek_left_t *left);
/* Fills b[points] (host) with the right-hand side of that draw. */
void nek_draw(const nek_problem_t *p, uint64_t draw, double *b);

/* --- judge/verify.c --- */

void nek_verify_before(void *solver, uint64_t seed, rt_verdict_t *verdict);
void nek_verify_after(void *solver, rt_verdict_t *verdict);
/* Solves the problem with the rung `reference`, unless that was done before. */
void nek_reference_solve(nek_problem_t *problem);

/* Returns the solution for the ladder solve, which the first call makes. Collective. */
const nek_reference_t *nek_target(nek_problem_t *p);

extern const char *const nek_precond_names[]; /* by nek_precond_t; app.c */
void nek_result(const void *solver, rt_result_t *out);
void nek_dump(const void *solver, rt_dump_t *dump); /* output/dump.c */

/* --- work.c --- */
void nek_work(const rt_run_t *run, const rt_rung_t *rung, rt_work_t *work);
/* Corrects the work of a rung on the ladder solve once it has solved. */
void nek_work_done(const nek_solver_t *s, rt_work_t *work);
void nek_memory(const rt_run_t *run, const rt_rung_t *rung, double bytes[RT_SPACES]);
/* Returns the points of the whole mesh, each once, on elements of that degree. */
double nek_single_points(const nek_config_t *config, double degree);
/* Returns how many doubles the check of the operator has beside its arrays, for all threads. */
int64_t nek_size_room(int n);

RT_C_END
#endif
