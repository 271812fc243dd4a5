/*
 * alya.h - right-hand side of the momentum equation of explicit LES on linear tetrahedra.
 *
 * Owen, Ernst et al., "Alya towards Exascale: Optimal OpenACC Performance of the Navier-Stokes
 * Finite Element Assembly on GPUs" (arXiv 2403.08777). For an element with nodes 0..3, positions
 * x_a and velocities u_a:
 *
 *     e_k = x_k - x_0, w_k = u_k - u_0 (k = 1..3), c_k = e_{k+1} x e_{k+2} (cyclic),
 *     det = e_1 . c_1 > 0, V = det / 6, grad N_k = g_k = c_k / det, g_0 = -(g_1 + g_2 + g_3),
 *     J_ij = du_i/dx_j = sum_k w_k,i g_k,j,
 *
 *     r_a = sum_q (det/24) { rho N_a f - rho N_a A u_q - mu_t (J + J^T) g_a }
 *
 * over four Gauss points q, with N_a(q) = ALYA_GAUSS_NEAR if a = q, else ALYA_GAUSS_FAR, and
 * u_q = sum_a N_a(q) u_a. The quadrature is exact: with s = u_0 + u_1 + u_2 + u_3 it is the same as
 * the closed form
 *
 *     r_a = (V/4) rho f - (rho V/20) A (u_a + s) - V mu_t (J + J^T) g_a.
 *
 * A depends on the convective form (alya_form_t). Subgrid model (Vreman 2004): mu_t = mu + rho
 * nu_t, nu_t = c Delta^2 sqrt(B / |J|_F^2), B = the sum of the nine squared 2x2 minors of J, nu_t =
 * 0 where |J| = 0; Delta = V^(1/3), or a width that the user gives. r is the sum over elements:
 * assembled.
 */
#ifndef ALYA_H
#define ALYA_H

#include <stdbool.h>
#include <stdint.h>
#include "rt.h"

#ifdef __cplusplus
extern "C" {
#endif

#define ALYA_GAUSS_NEAR 0.5854101966249685
#define ALYA_GAUSS_FAR  0.1381966011250105

/* A = J + half div I + J^T: what each form takes. */
typedef enum {
    ALYA_CONV, /* J: conserves nothing in the discrete sense */
    ALYA_SKEW, /* J + (1/2) div I: kinetic energy */
    ALYA_CONS, /* J + div I: momentum and angular momentum */
    ALYA_EMAC, /* J + J^T + div I: energy, momentum, angular momentum */
    ALYA_FORMS
} alya_form_t;

/* Physics of an assembly. A plain struct: kernels take it by value. */
typedef struct {
    double rho, mu;  /* kg/m^3, Pa s */
    double vreman;   /* c of the subgrid model, 0: off */
    double filter;   /* Delta in m; 0: V^(1/3) of each element */
    double force[3]; /* f, m/s^2 */
    alya_form_t form;
} alya_physics_t;

enum { ALYA_VECTOR_DIM = 16 }; /* elements that a CPU rung takes at once, as in the paper */

/* --- input/: a mesh, in host memory --- */

/* Nodes and elements of this rank. Limits: fewer than 2^31 of either. */
typedef struct {
    int64_t elements, nodes;
    int32_t *connectivity; /* [elements][4], local node numbers; det > 0 */
    double *x;             /* [nodes][3], metres */
    int64_t *node_id;      /* [nodes] global id: the same for all copies of a node on all ranks,
                              and for periodic images; independent of order and rank count */
    uint8_t *flags;        /* [nodes] bits below */
} alya_mesh_t;
enum {
    ALYA_SHARED = 1,  /* another rank, or another node of this rank (periodic), has the same id */
    ALYA_BOUNDARY = 2 /* on the boundary of the domain */
};

void alya_mesh_destroy(alya_mesh_t *mesh); /* frees the arrays and the struct; NULL allowed */

/* A box of cells, each split into 6 tetrahedra (Kuhn): the whole mesh, of all ranks. */
typedef struct {
    int64_t cells[3];  /* x y z */
    double growth;     /* hill: ratio of neighbouring layers' heights */
    bool periodic_box; /* (2 pi)^3, periodic; else the hill */
    double jitter;     /* moves inner nodes by up to this share of a cell; 0: none */
    uint64_t seed;     /* of the jitter */
} alya_box_t;

typedef enum {
    ALYA_NATURAL,         /* as made, or as in the file */
    ALYA_HILBERT,         /* elements and nodes along a Hilbert curve */
    ALYA_RCM,             /* nodes by reverse Cuthill-McKee, elements by their least node */
    ALYA_RANDOM_ELEMENTS, /* elements shuffled */
    ALYA_RANDOM_ALL,      /* elements and nodes shuffled */
    ALYA_ORDERS
} alya_order_t;

/* input/box.c. This rank's part: a contiguous range of the cells along a Hilbert curve (all of them
 * with one rank); elements and nodes in natural order (cells with z fastest, then y, then x; node
 * ((i (ny+1)) + j) (nz+1) + k). Made in parallel, without the other ranks' parts. */
alya_mesh_t *alya_box_new(const alya_box_t *box, int rank, int ranks);
/* Elements, and an upper bound of the nodes, of the largest part. */
void alya_box_count(const alya_box_t *box, int ranks, int64_t *elements, int64_t *nodes);
/* Height of the hill at (x, y), metres. */
double alya_hill(double x, double y);

/* input/order.c. Puts the mesh in this order; ids and flags move along. */
void alya_mesh_reorder(alya_mesh_t *mesh, alya_order_t order, uint64_t seed);
/* Distinct nodes in runs of 512 consecutive elements, divided by elements: about 0.5 in a good
 * order, near 4 in a random one. */
double alya_mesh_spread(const alya_mesh_t *mesh);

/* input/check.c. First node whose coordinate is not finite, or else first element that is inverted
 * or flat or has a node out of range or twice: one line into why, false; as rt_mesh_check, in whose
 * words nodes are vertices. */
bool alya_mesh_check(const alya_mesh_t *mesh, char *why, size_t len);
/* Sets ALYA_BOUNDARY on the nodes of faces that only one element has (whole mesh on one rank). */
void alya_mesh_find_boundary(alya_mesh_t *mesh);

/* mesh/read.c. The tetrahedra of a file that mesh/mesh.h can read; other volume elements are refused,
 * boundary faces not kept. node_id = 0 .. nodes-1 in the order of the file; flags 0. NULL and one
 * line in why (what is wrong, in which line or at which byte) if it cannot be used. */
alya_mesh_t *alya_mesh_read(const char *path, char *why, size_t len);
/* The same from memory. `name` stands in messages. */
alya_mesh_t *alya_mesh_parse(const char *name, const void *data, size_t bytes, char *why,
                             size_t len);

/* input/distribute.c. From the whole mesh on rank 0 (NULL elsewhere; it is freed) to a part on each
 * rank, with shared flags. metis: by METIS instead of Hilbert ranges (refused if not built in).
 * Collective. With one rank it only returns `whole`. */
alya_mesh_t *alya_mesh_distribute(alya_mesh_t *whole, bool metis);

/* --- kernels --- */

/*
 * What the elements a CPU kernel may do at the same time are: chunks of consecutive elements, in
 * colours. Chunks of one colour have no node in common, so threads may take them at once; colours
 * come one after the other. The order in which a node gets its contributions is fixed by this, so
 * results do not depend on threads, bit for bit.
 */
typedef struct {
    int64_t chunks;
    int32_t colours;
    int32_t *list;   /* [elements], or NULL: position p of the schedule is element p */
    int64_t *first;  /* [chunks + 1] positions */
    int64_t *colour; /* [colours + 1] chunks */
} alya_schedule_t;
/* cpu/schedule.c. Chunks of up to `most` consecutive elements; where that needs too many colours
 * (a random order), a chunk takes elements of one colour from anywhere, through `list`. */
alya_schedule_t *alya_schedule_new(const alya_mesh_t *mesh, int64_t most);
void alya_schedule_destroy(alya_schedule_t *schedule);
/* At most, of a mesh of that size: while it lives, and more while it is made. */
double alya_schedule_memory(int64_t elements, int64_t nodes, double *making);

/* What a kernel sees, in the rung's space unless said otherwise. Strides are in doubles. */
typedef struct {
    const alya_mesh_t *host; /* the mesh, in host memory, for set-up */
    int64_t elements, nodes;
    const int32_t *connectivity; /* [elements][4] */
    const double *x;             /* node n at x + n x_stride: [3] */
    int x_stride;
    const alya_schedule_t *schedule; /* host; NULL for rungs on the GPU */
    unsigned threads;                /* of a block, of a rung that has most_threads */
    void *data;                      /* what the rung's set_up made, host memory */
} alya_view_t;

/*
 * The function table of a rung. Fields by node; `packed` is how many doubles a node's record
 * has, 6: x y z u v w; 8: x y z 0 u v w 0, 0: x and u are separate arrays [nodes][3]. r is
 * [nodes][r_stride].
 */
typedef struct {
    /* r = the assembled right-hand side of this rank's elements, zeroing included. u: node n at
     * u + n u_stride, u_stride = packed or 3. Every r[n][0..2] is written; padding may be. On the
     * rank's stream; may return before it is done. */
    void (*assemble)(const alya_view_t *view, const alya_physics_t *physics, const double *u,
                     double *r);
    /* Once a mesh: lists, patches, workspaces; kept in view->data. May be NULL. */
    void (*set_up)(alya_view_t *view);
    void (*tear_down)(alya_view_t *view);
    /* Adds the most bytes that set_up holds on to, and (in RT_HOST) needs on the way. May be NULL.
     */
    void (*memory)(int64_t elements, int64_t nodes, double bytes[RT_SPACES]);
    int packed, r_stride;
    bool reproducible; /* the same bits from run to run */
    double tolerance;  /* of sum |r_e|, see verify.c */
    /* On a GPU: most threads of a block, where that is a launch parameter; 0: it is not. */
    int most_threads;
} alya_kernels_t;

/* cpu/schedule.c. What a tuner may choose. On the CPU, but for the oracle, whose sums stay as they
 * are: elements of a chunk. How many that is; for other rungs those of the problem's own schedule.
 * On a GPU, for rungs with most_threads: threads of a block; for others 0. */
enum { ALYA_CHUNK = 512 };
const rt_parameter_t *alya_parameters(const rt_rung_t *rung, int *count);
int64_t alya_chunk_elements(const rt_rung_t *rung, const int *choice);
unsigned alya_block_threads(const rt_rung_t *rung, const int *choice);

#define ALYA_TOLERANCE       1e-13
#define ALYA_TOLERANCE_MIXED 1e-5

#define RUNG(name, kind, after, table, idea) extern const alya_kernels_t table;
#include "ladder.def"
#undef RUNG
enum {
    ALYA_RUNGS = 0
#define RUNG(name, kind, after, table, idea) +1
#include "ladder.def"
#undef RUNG
};
extern const rt_rung_t alya_ladder[ALYA_RUNGS];
extern const rt_app_t alya_app;

/* Vector work of the time step, where the arrays live. */
typedef struct {
    /* u[n] = a u0[n] + b u[n] + c m[n] r[n] for the 3 components of each node; u at u_stride, r at
     * r_stride, u0 [nodes][3], m [nodes] = dt / lumped mass, 0 where u is held. */
    void (*update)(int64_t nodes, double a, double b, double c, const double *u0, const double *m,
                   const double *r, int r_stride, double *u, int u_stride);
    /* to[n] = scale from[n], 3 components, at these strides. */
    void (*scale)(int64_t nodes, double scale, const double *from, int from_stride, double *to,
                  int to_stride);
} alya_vector_t;
extern const alya_vector_t alya_vector_cpu, alya_vector_cuda, alya_vector_kokkos;

/* --- cpu/reference.c: the oracle --- */

/* r as above by quadrature, and, if size is not NULL, size[nodes][2]: the sum over the node's
 * elements of |r_e|, and the same of what r_e would be if nothing in it cancelled. r [nodes][3].
 * u [nodes][3]. Host memory. */
void alya_reference_assemble(const alya_mesh_t *mesh, const alya_schedule_t *schedule,
                             const alya_physics_t *physics, const double *u, double *r,
                             double *size);

/* --- the options, and what configure makes of them --- */
enum { ALYA_REORDER_AUTO, ALYA_REORDER_NO, ALYA_REORDER_HILBERT, ALYA_REORDER_RCM };
enum { ALYA_PARTITION_HILBERT, ALYA_PARTITION_METIS };
typedef struct {
    const char *mesh; /* "hill", "box", or a file */
    int64_t cells[3];
    double growth, jitter;
    int order, reorder, partition; /* alya_order_t, ALYA_REORDER_*, ALYA_PARTITION_* */
    int form;                      /* alya_form_t */
    double vreman, filter, rho, mu, force_x, force_y, force_z;
    int64_t assemblies, steps;
    double courant;

    bool have_whole;    /* the mesh of the file was read, and alya_problem_new has not taken it */
    alya_mesh_t *whole; /* that mesh, on rank 0 */
    bool from_file;
    int64_t elements, nodes;            /* most of any rank; nodes: an upper bound */
    double total_elements, total_nodes; /* of all ranks */
} alya_config_t;

/* --- problem.c --- */
typedef struct {
    const rt_run_t *run;
    const alya_config_t *config;
    alya_physics_t physics;
    alya_mesh_t *mesh;
    alya_schedule_t *schedule;
    rt_halo_t *halo;   /* of host arrays; NULL if no node is shared */
    double *u;         /* [nodes][3] velocity of the timed runs, m/s */
    double *mass_step; /* [nodes] dt / lumped mass, 0 on the boundary; NULL without --steps */
    double dt;         /* s */
    double spread;     /* alya_mesh_spread of the order handed in */
    double seconds_mesh, seconds_order, seconds_rest;
} alya_problem_t;

void *alya_problem_new(const rt_run_t *run);
void alya_problem_destroy(void *problem);
void alya_digest(const void *problem, rt_digest_t *digest);
alya_physics_t alya_physics(const alya_config_t *config);
/* What the options say of a mesh that is made. */
alya_box_t alya_box(const alya_config_t *config);
/* Reads the mesh file on rank 0 and fills in the counts; refuses a file that cannot be used. The
 * mesh is kept for alya_problem_new. Collective. */
void alya_file_count(alya_config_t *config);
rt_halo_t *alya_halo_new(const alya_mesh_t *mesh, const char *transport, rt_kind_t kind,
                         rt_space_t space);
/* u[nodes][3] = random in (-1, 1) by global id. */
void alya_random_field(const alya_mesh_t *mesh, uint64_t seed, double *u);

/* --- solve.c --- */
enum { ALYA_WATCHED = 2, ALYA_WITNESSES = 256 };
typedef struct alya_solver alya_solver_t;
struct alya_solver {
    alya_problem_t *problem;
    const rt_rung_t *rung;
    const alya_kernels_t *kernels;
    const alya_vector_t *vector;
    rt_space_t space;
    alya_view_t view;
    rt_halo_t *halo;
    bool own_halo;
    alya_schedule_t *own_schedule; /* in chunks of another size than the problem's, or NULL */
    alya_physics_t physics;
    double *record; /* [nodes][packed], or NULL */
    double *x, *u;  /* views of record, or arrays [nodes][3] */
    int u_stride;
    double *r;      /* [nodes][r_stride] */
    double *u0;     /* [nodes][3] velocity that a solve starts from */
    double *before; /* [nodes][3] with --steps: velocity before the last step */
    double *mass_step;
    double factor; /* velocity of the next solve = factor u0; new after each spoil */
    uint64_t solves;
    double seconds_set_up;
    /* What a solve leaves behind of its earlier assemblies, see alya_solve. */
    int64_t assembled;                            /* calls of alya_assemble since the last spoil */
    int64_t watched[ALYA_WATCHED];                /* of the assemblies, or -1 */
    int64_t first_witness, jump, witnesses;       /* nodes first, first + jump, ... */
    double *witness;                              /* [ALYA_WATCHED][ALYA_WITNESSES][3] their r */
    void (*look)(alya_solver_t *s, bool is_done); /* before and after each assembly; or NULL */
    void *look_data;
};

void *alya_solver_new(void *problem, const rt_rung_t *rung);
void alya_solver_destroy(void *solver);
/* r = assembled right-hand side of all ranks' elements for the velocity in s->u. */
void alya_assemble(alya_solver_t *s);
/* Assembly k of a solve is made with this density; the last one with that of s->physics. */
double alya_density(const alya_solver_t *s, int64_t k);
/* One Runge-Kutta step of s->u; leaves the velocity before it in s->before. */
void alya_step(alya_solver_t *s);
void alya_solve(void *solver);
void alya_spoil(void *solver);
/* Velocity to, and r or u from, the rung's arrays; host [nodes][3]. */
void alya_put_velocity(alya_solver_t *s, const double *u);
void alya_get(const alya_solver_t *s, const double *array, int stride, double *host);

/* --- verify.c, work.c, picture.c --- */
void alya_verify_before(void *solver, uint64_t seed, rt_verdict_t *verdict);
void alya_verify_after(void *solver, rt_verdict_t *verdict);
void alya_work(const rt_run_t *run, const rt_rung_t *rung, rt_work_t *work);
void alya_memory(const rt_run_t *run, const rt_rung_t *rung, double bytes[RT_SPACES]);
/* The ladder beside the paper's: flops, loads and stores, bytes, and times as ratios to B. */
void alya_compare(const rt_run_t *run, const rt_outcome_t *outcomes, FILE *out);
const char *alya_paper(const rt_run_t *run, const rt_rung_t *rung);
/* .vtu: the mesh with u and r; .ppm (.png): speed in the plane y = 0, or half-way if the mesh is
 * on one side of that. Collective. */
void alya_picture(const void *solver, const char *path);
/* Host memory that it takes at most, in bytes. */
double alya_picture_memory(const alya_config_t *config, const char *path);
/* NULL if the ending is one of these, else what is wrong. */
const char *alya_picture_why_not(const char *path);

#ifdef __cplusplus
}
#endif
#endif
