/*
 * kernel.h - what a rung of nekbone sees: the options, a view of the mesh, and the function tables
 * that it provides.
 */
#ifndef NEK_KERNEL_H
#define NEK_KERNEL_H

#include <stdbool.h>
#include <stdint.h>
#include "rt.h"

RT_C_BEGIN

enum { NEK_MIN_N = 2, NEK_MAX_N = 24, NEK_MAX_N3 = 24 * 24 * 24 };
/* GPU kernels are instantiated for n = 2 .. NEK_FIXED_N; for larger n there is one kernel with n at
 * run time. */
enum { NEK_FIXED_N = 16 };

/* --precond; nek_precond (precond/precond.h) says what auto is for a rung. */
typedef enum { NEK_NONE, NEK_SCHWARZ, NEK_AUTO } nek_precond_t;
/* The options (see --help), and what configure or extents derive from them. */
typedef struct {
    int64_t elements[3]; /* of the whole mesh, x y z */
    int64_t degree, iterations;
    int64_t ranks[3]; /* 0 0 0: chosen */
    double deform, ripple, stretch, lambda;
    int precond; /* nek_precond_t */
    double tolerance;
    int64_t max_iterations; /* of a solve to the tolerance */
    bool communication;     /* no: leave out Q Q^T, as the paper did for its roofline */

    bool solves;            /* the run is of the ladder solve */
    int n;                  /* points per direction */
    double growth;          /* from one layer in z to the next; 1: all have edge 2 */
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
    double *scratch; /* [scratch_arrays][points] of the rung's kernels */
    double *partial; /* [nek_partials(points)] partial sums of inner products */
    double *result;  /* [1] pinned: the result of an inner product */
    /* [n_parameters] the chosen value of each of the rung's parameters, as an index; NULL: no
     * tuning */
    const int *choice;
} nek_view_t;

/* A CPU has a partial sum per NEK_BLOCK points, a GPU one per block of threads, NEK_MOST_BLOCKS at
 * most. */
enum { NEK_BLOCK = 1024, NEK_MOST_BLOCKS = 4096 };
static inline int64_t nek_blocks(int64_t points)
{
    return (points + NEK_BLOCK - 1) / NEK_BLOCK;
}
static inline int64_t nek_partials(int64_t points)
{
    const int64_t blocks = nek_blocks(points), most = NEK_MOST_BLOCKS;
    return blocks > most ? blocks : most;
}

/* The vector operations of CG, which run where the arrays are. Only scalars come back to the host.
 * Sums are over this rank's points and do not depend on the number of threads or on timing. */
typedef struct {
    /* p = r + beta p */
    void (*update_p)(const nek_view_t *view, double beta, const double *r, double *p);
    /* w = M (w + lambda p); returns sum c w p */
    double (*shift)(const nek_view_t *view, double lambda, const double *p, double *w);
    /* x += alpha p, r -= alpha w; returns sum c r r */
    double (*update_xr)(const nek_view_t *view, double alpha, const double *p, const double *w,
                        double *x, double *r);
} RT_BY_NAME nek_vector_t;

/* The operator of `reference` (cpu/reference.c). */
void nek_reference_ax(const nek_view_t *view, const double *u, double *w);
/* Returns sum c x y over this rank's points, on the host (cpu/vectors.c). */
double nek_dot(const nek_view_t *view, const double *x, const double *y);

typedef struct nek_solver nek_solver_t;
typedef struct nek_preconditioner nek_preconditioner_t; /* precond/precond.h */
typedef struct nek_precond_ops nek_precond_ops_t;

/* The function table of a rung. Where a member may be NULL, its comment says what happens then. */
typedef struct {
    rt_kernels_t rung; /* must be first: the driver's part; refuse is or calls nek_refuse */
    /* w_e = D^T G D u_e for every element. u and w do not overlap. */
    void (*ax)(const nek_view_t *view, const double *u, double *w);
    const nek_vector_t *vector;
    int scratch_arrays; /* arrays of `points` doubles that ax needs */
    int max_n;          /* the most points per direction; 0: NEK_MAX_N */
    const char *max_n_reason;
    double roundoff; /* of what cg does to vectors: a class of error of its own; 0: FP64's */
    /* What a rung of the ladder `solve` preconditions with, and NULL for one of the ladder
     * `iteration`: it does a fixed number of iterations, a solve ends at the tolerance. */
    const nek_preconditioner_t *preconditioner;
    const nek_precond_ops_t *precond_ops; /* its kernels; NULL for the reference */

    /* Does the whole solve, for a rung that fuses conjugate gradients across the lines of
     * nek_solve. Reads s->b; sets x, r, history, alpha and beta, whatever they held before; may use
     * p and w as scratch. NULL: nek_solve's loop over ax and vector. */
    void (*cg)(nek_solver_t *s);
    /* Make and free what only this rung needs, in s->data. set_up runs after everything else of the
     * solver is made, tear_down before anything else is freed. memory adds the bytes on one rank.
     * NULL: nothing. */
    void (*set_up)(nek_solver_t *s);
    void (*tear_down)(nek_solver_t *s);
    void (*memory)(const nek_config_t *config, double bytes[RT_SPACES]);
} RT_BY_NAME nek_kernels_t;

/* Returns the rung's table; NULL: not in this build. */
static inline const nek_kernels_t *nek_kernels(const rt_rung_t *rung)
{
    return (const nek_kernels_t *)rung->kernels;
}
/* Refuses too many points per direction, and what is of the other ladder. */
const char *nek_refuse(const rt_kernels_t *self, const void *config, rt_text_t *why);

extern const nek_vector_t nek_vector_cpu, nek_vector_cuda, nek_vector_kokkos, nek_vector_openacc;
extern const nek_kernels_t nek_reference; /* cpu/reference.c, the oracle */

RT_C_END
#endif
