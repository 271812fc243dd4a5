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
 * sums the copies of a shared point, M the Dirichlet mask. Everything is FP64. With --precond
 * jacobi each step is taken along z = r / diag(A) instead of r.
 *
 * Fields are element-local: u[e][k][j][i], i fastest, n = degree + 1 points a direction; a point
 * that several elements share is stored once in each.
 */
#ifndef NEKBONE_H
#define NEKBONE_H

#include <stdbool.h>
#include <stdint.h>
#include "rt.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { NEK_MIN_N = 2, NEK_MAX_N = 24, NEK_MAX_N3 = 24 * 24 * 24 };
/* GPU kernels are instantiated for n = 2 .. NEK_FIXED_N; a run-time-n kernel does the others. */
enum { NEK_FIXED_N = 16 };

/* --precond */
typedef enum { NEK_NONE, NEK_JACOBI } nek_precond_t;

/* The options (see --help), and what configure makes of them. */
typedef struct {
    int64_t elements[3]; /* of the whole mesh, x y z */
    int64_t degree, iterations;
    int64_t ranks[3]; /* 0 0 0: chosen */
    double deform, lambda;
    int precond; /* nek_precond_t */
    double tolerance;
    bool communication; /* no: Q Q^T left out, as the paper did for its roofline */

    int n;                  /* points a direction */
    int64_t local[3];       /* elements of this rank */
    int64_t first[3];       /* its first element in the whole mesh */
    int64_t local_elements; /* product of local */
    int64_t points;         /* local_elements * n^3 */
} nek_config_t;

/* What a kernel sees: shapes, and arrays in the rung's memory space. */
typedef struct {
    int n;
    int64_t elements, points;
    /* [n][n]: D[i*n + l] = derivative of Lagrange polynomial l at GLL point i; D_host: the same in
     * host memory, for kernels that take it as an argument */
    const double *D, *D_host;
    /* [elements][6][n][n][n], i fastest: geometric factors rr, rs, rt, ss, st, tt (Listing 1's
     * gxyz) */
    const double *G;
    /* [points]: 1 / (copies of the point), 0 on the Dirichlet boundary: the weight of inner
     * products and the mask M in one array */
    const double *c;
    /* [points]: 1 / diagonal of A, 0 on the Dirichlet boundary; NULL without a preconditioner */
    const double *inverse;
    double *scratch; /* [scratch_arrays][points] of the rung's kernels */
    double *partial; /* [partial_size] partial sums of inner products */
    double *result;  /* [2] pinned: results of inner products */
    /* [n_parameters] what is in force of the rung's parameters, indices of values; NULL: no tuning
     */
    const int *choice;
} nek_mesh_t;

/* Vector work of CG, done where the arrays live. Scalars come back to the host, nothing else does.
 * Sums are over this rank's points and do not depend on the number of threads or on timing. */
typedef struct {
    int64_t (*partial_size)(int64_t points); /* doubles of nek_mesh_t.partial */
    /* p = r + beta p */
    void (*update_p)(const nek_mesh_t *mesh, double beta, const double *r, double *p);
    /* w = M (w + lambda p); returns sum c w p */
    double (*shift)(const nek_mesh_t *mesh, double lambda, const double *p, double *w);
    /* x += alpha p, r -= alpha w; returns sum c r r */
    double (*update_xr)(const nek_mesh_t *mesh, double alpha, const double *p, const double *w,
                        double *x, double *r);
    /* returns sum c x y */
    double (*dot)(const nek_mesh_t *mesh, const double *x, const double *y);
    /* With a preconditioner, in the place of update_p and update_xr; z = inverse r is never stored.
     * p = z + beta p */
    void (*update_p_z)(const nek_mesh_t *mesh, double beta, const double *r, double *p);
    /* x += alpha p, r -= alpha w; sum[0] = sum c r r, sum[1] = sum c r z */
    void (*update_xr_z)(const nek_mesh_t *mesh, double alpha, const double *p, const double *w,
                        double *x, double *r, double sum[2]);
} nek_vector_t;

typedef struct nek_solver nek_solver_t;

/* The function table of a rung. What may be NULL says what happens then. */
typedef struct {
    rt_kernels_t rung; /* first: what the driver asks; refuse is nek_refuse or begins with it */
    /* w_e = D^T G D u_e for every element. u and w do not overlap. */
    void (*ax)(const nek_mesh_t *mesh, const double *u, double *w);
    const nek_vector_t *vector;
    int scratch_arrays; /* arrays of `points` doubles that ax needs */
    int max_n;          /* most points a direction, 0: NEK_MAX_N */
    const char *max_n_reason;

    /* For a rung that fuses conjugate gradients across the lines of nek_solve: the whole solve,
     * from s->b to x, r, history, alpha and beta, whatever they held before; p and w are its own to
     * use. Such a rung is refused with a preconditioner; the message names the rungs to use then.
     * NULL: nek_solve's loop over ax and vector. */
    void (*cg)(nek_solver_t *s);
    const char *use_with_precond; /* "packed, or layered" */
    /* What only this rung needs, in s->data: made when all else of the solver is there, and given
     * back before it goes. memory adds its bytes on one rank. NULL: nothing. */
    void (*set_up)(nek_solver_t *s);
    void (*tear_down)(nek_solver_t *s);
    void (*memory)(const nek_config_t *config, double bytes[RT_SPACES]);
    /* Adds the kernels of an iteration with flops and bytes (rt_work_add), for P stored and S
     * shared points of the whole mesh. NULL: those of nek_solve. */
    void (*work)(const nek_config_t *config, double P, double S, rt_work_t *work);
} nek_kernels_t;

/* Returns the rung's table; NULL: not in this build. */
static inline const nek_kernels_t *nek_kernels(const rt_rung_t *rung)
{
    return (const nek_kernels_t *)rung->kernels;
}
/* Refuses too many points a direction, and a preconditioner where cg fuses what it would change. */
const char *nek_refuse(const rt_kernels_t *self, const void *config, rt_text_t *why);

extern const nek_vector_t nek_vector_cpu, nek_vector_cuda, nek_vector_kokkos;
/* Returns the sum of x[0..n-1] in host memory, added in a tree: the bits do not depend on how many
 * threads made the terms. */
double nek_sum_pairwise(const double *x, int64_t n);
#define RUNG(name, kind, after, table, idea) extern const nek_kernels_t table;
#include "ladder.def"
#undef RUNG
enum {
    NEK_RUNGS = 0
#define RUNG(name, kind, after, table, idea) +1
#include "ladder.def"
#undef RUNG
};
extern const rt_rung_t nek_ladder[NEK_RUNGS];
extern const rt_app_t nek_app;

/* --- problem.c: mesh, geometry, right-hand side; host memory --- */
typedef struct {
    const rt_run_t *run;
    const nek_config_t *config;
    nek_mesh_t mesh;             /* of RT_HOST; scratch unused */
    double *D, *G, *c, *inverse; /* what mesh points to */
    double diag_min, diag_max;   /* of A over all points inside; 1 without a preconditioner */
    double *b;       /* [points] right-hand side, the same at every copy, 0 on the boundary */
    rt_halo_t *halo; /* Q Q^T on host arrays; NULL with communication off */
    /* The reference solution, made once by nek_reference_solve. */
    double *x_ref;               /* [points] */
    double *history_ref;         /* [iterations + 1] |r_k|, k = 0 .. iterations */
    double *sensitivity;         /* [iterations + 1] see verify.c; NULL until it is needed */
    double residual_ref;         /* |b - A x_ref|, recomputed */
    double eigen_min, eigen_max; /* extreme Ritz values of A, or of A / diag(A) */
} nek_problem_t;

void *nek_problem_new(const rt_run_t *run, void *input);
void nek_problem_destroy(void *problem);
void nek_digest(const void *problem, rt_digest_t *digest);
/* A halo over the shared points for arrays of that kind and space; NULL with communication off. */
rt_halo_t *nek_halo_new(const nek_config_t *config, const char *transport, rt_kind_t kind,
                        rt_space_t space);
/* GLL points z[n] and weights w[n] on [-1, 1], and D[n][n] (rows sum to zero exactly as computed).
 */
void nek_gll(int n, double *z, double *w, double *D);
/* Geometric factors G[6][n^3] and, if mass is not NULL, the diagonal mass matrix [n^3] (Jacobian
 * times weights) of local element e; coordinates of its points in xyz[3][n^3] if not NULL.
 * Returns the least Jacobian determinant: not positive means that the map folds. */
double nek_geometry(const nek_config_t *config, int64_t e, double *G, double *mass, double *xyz);
/* Global index of point (i, j, k) of local element e: the same for all copies of a point. */
int64_t nek_global_index(const nek_config_t *config, int64_t e, int i, int j, int k);
/* The diagonal of D^T G D of one element: diag[n^3]. */
void nek_element_diagonal(int n, const double *D, const double *G, double *diag);
/* Field u[points] = random(global index, seed), 0 on the Dirichlet boundary. */
void nek_random_field(const nek_config_t *config, uint64_t seed, double *u);
/* Stored points of this rank that only elements of this rank share; and those that other ranks have
 * too, each counted once for every one of them. */
void nek_shared_points(const nek_config_t *config, int64_t *on_rank_only, int64_t *with_ranks);

/* --- solve.c: the conjugate gradients, over a rung's function table --- */
struct nek_solver {
    nek_problem_t *problem;
    const rt_rung_t *rung;
    const nek_kernels_t *kernels;
    void *data; /* kernels->set_up's */
    rt_space_t space;
    nek_mesh_t mesh; /* arrays in `space` */
    rt_halo_t *halo;
    bool own_halo;
    const char *sums; /* how ranks add up what a rung's own cg sums; NULL: the host, by MPI */
    int iterations;
    double lambda;
    double *b, *x, *r, *p, *w; /* [points], in `space` */
    double *history;           /* [config iterations + 1], host: |r_k| = sqrt(sum c r r) */
    double *alpha, *beta;      /* [config iterations], host: coefficients of the last solve */
    double residual;           /* |b - A x| of the last solve, by nek_verify_after */
};

void *nek_solver_new(void *problem, const rt_rung_t *rung);
void nek_solver_destroy(void *solver);
/* w = A p and the global inner product p.w: kernels, gather-scatter, shift and mask. */
double nek_apply(nek_solver_t *s, const double *p, double *w);
/* p = z + beta p; x += alpha p, r -= alpha w with the global r.r and r.z in sum[0] and sum[1]. z is
 * r / diag(A), or r without a preconditioner. */
void nek_update_p(nek_solver_t *s, double beta, const double *r, double *p);
void nek_update_xr(nek_solver_t *s, double alpha, const double *p, const double *w, double *x,
                   double *r, double sum[2]);
void nek_solve(void *solver);
void nek_spoil(void *solver);

/* --- verify.c --- */
void nek_verify_before(void *solver, uint64_t seed, rt_verdict_t *verdict);
void nek_verify_after(void *solver, rt_verdict_t *verdict);
/* Reference solve of the problem (rung `reference`), if it was not made yet. */
void nek_reference_solve(nek_problem_t *problem);

/* --- work.c --- */
void nek_work(const rt_run_t *run, const rt_rung_t *rung, rt_work_t *work);
/* The kernels of nek_solve; ax reads and writes so many arrays of all points. */
void nek_work_add(const nek_config_t *config, double P, double S, double ax_read, double ax_written,
                  rt_work_t *work);
void nek_memory(const rt_run_t *run, const rt_rung_t *rung, double bytes[RT_SPACES]);

#ifdef __cplusplus
}
#endif
#endif
