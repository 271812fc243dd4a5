/*
 * step.h - a time step of incompressible flow with pressure: what the ladder `step` times.
 *
 * A fractional step (Chorin 1968; the paper's section II): three assemblies r of a Runge-Kutta scheme
 * (Shu and Osher 1988) give u*, and the pressure makes it free of divergence:
 *
 *     u1 = u + dt k(u),  u2 = 3/4 u + 1/4 (u1 + dt k(u1)),  u* = 1/3 u + 2/3 (u2 + dt k(u2)),
 *     k = r / (rho V_a),  V_a = sum of V/4 over the elements of node a,
 *     L p = -(rho/dt) D u*,   u = u* - (dt/rho) G p / V_a,
 *     L_ab = sum V g_a . g_b,  (D u)_a = sum V/4 div u,  (G p)_a = sum V/4 grad p
 *
 * over elements. D and G are one matrix, G_ab = sum V/4 g_b. L is not D G / V_a but as sparse as an
 * element allows; so D u is small after a step, and not zero (an approximate projection, which also
 * keeps p smooth although it is of the order of u). p is solved for once per step, not per stage: a
 * third of the price, and first order in dt instead of third.
 *
 * Boundaries: a component of u that is fixed keeps its value. Hill: inflow with the logarithmic
 * profile, u = 0 on the ground, no flow through top and sides, p = 0 at the outflow. A file: the
 * boundary at the largest x is the outflow; on the rest u is fixed. Box: periodic; there, and where a
 * file has no such boundary, p = 0 at node 0.
 */
#ifndef ALYA_STEP_H
#define ALYA_STEP_H

#include "../kernel.h"

RT_C_BEGIN

enum { ALYA_SLICE = 32, ALYA_PRESSURE_FIXED = 8, ALYA_MOST_NEIGHBOURS = 512 };

/* The rows of L and G on this rank, one per node, in slices of ALYA_SLICE rows: entry k of row n is at
 * slice[n / ALYA_SLICE] + k ALYA_SLICE + n % ALYA_SLICE, so neighbouring threads read neighbouring
 * values. A shared node has a part of its row on each rank. */
typedef struct {
    int64_t nodes, entries;
    int64_t *slice;   /* [slices + 1] */
    int32_t *column;  /* [entries] a node; padding: the row itself, with values 0 */
    double *laplace;  /* [entries] L_ab, m */
    double *gradient; /* [3][entries] G_ab, m^2 */
    /* Of whole nodes, sums over all ranks: */
    double *per_volume;   /* [nodes] 1 / V_a */
    double *per_diagonal; /* [nodes] 1 / L_aa; 0: p is fixed */
    uint8_t *fixed;       /* [nodes] bits 0 to 2: components of u; ALYA_PRESSURE_FIXED */
    uint8_t *own;         /* [nodes] 1: of the copies of a node the one that sums count */
} alya_rows_t;

static inline int64_t alya_slices(int64_t nodes)
{
    return (nodes + ALYA_SLICE - 1) / ALYA_SLICE;
}

/* --- rows.c --- */

typedef struct {
    alya_rows_t rows; /* host memory */
    double *u;        /* [nodes][3] the velocity that the first step starts from, boundaries set */
    double dt;        /* s */
    double seconds;   /* that all this took */
} alya_flow_input_t;
struct alya_problem;
/* Makes rows, boundaries and time step of a problem. Collective. */
alya_flow_input_t *alya_flow_input_new(const struct alya_problem *problem);
void alya_flow_input_destroy(alya_flow_input_t *input);
/* Replaces x [nodes], host memory, by the sum over the copies of each node. Collective. */
void alya_sum_copies(const struct alya_problem *problem, double *x);
/* Returns the most bytes of the rows of a part; *making: the extra host bytes while they are made. */
double alya_rows_memory(const alya_counts_t *counts, double *making);

/* --- the loops over nodes: loops.hpp, one text for cpu/, cuda/ and kokkos/ --- */

/* What a loop leaves for the host: sums over the rank's nodes. */
typedef struct {
    double a, b;
} alya_sums_t;
enum { ALYA_BLOCK = 512, ALYA_MOST_BLOCKS = 2048 };

/* All arrays are in the rung's space; u [nodes][u_stride], r [nodes][r_stride]. partial: host or
 * pinned memory, [2 alya_partial_sums]. */
typedef struct {
    alya_rows_t rows;
    double *partial;
    double *begin;         /* [nodes][3] u at the beginning of the last step, m/s */
    double *p, *b, *d, *q; /* [nodes] pressure, Pa; residual; direction; L d */
    double *u, *r;
    int u_stride, r_stride;
} alya_flow_view_t;

typedef struct alya_loops {
    /* u = old begin + (1 - old) (u + factor r / V_a) where it is not fixed; save: begin = u first. */
    void (*advance)(const alya_flow_view_t *view, bool save, double old, double factor);
    /* b = factor D u, this rank's part. */
    void (*divergence)(const alya_flow_view_t *view, double factor);
    /* r = G p, this rank's part. */
    void (*gradient)(const alya_flow_view_t *view);
    /* Conjugate gradients with the diagonal. start: p = 0, d = b / L_aa. finish_iteration:
     * p += alpha d, b -= alpha q. Both return a = b . b / L_aa, b = b . b. */
    alya_sums_t (*start)(const alya_flow_view_t *view);
    alya_sums_t (*finish_iteration)(const alya_flow_view_t *view, double alpha);
    /* q = L d, this rank's part; returns a = d . q. */
    alya_sums_t (*multiply)(const alya_flow_view_t *view);
    /* d = b / L_aa + beta d */
    void (*update_direction)(const alya_flow_view_t *view, double beta);
    /* For a library's solver: of the nodes that are this rank's own, row[nodes] (-1: not) numbers the
     * values it sees. to_rows: x[row] = b, 0 where p is fixed; from_rows: p = x[row], 0 elsewhere. */
    void (*to_rows)(const alya_flow_view_t *view, const int32_t *row, double *x);
    void (*from_rows)(const alya_flow_view_t *view, const int32_t *row, const double *x);
} RT_BY_NAME alya_loops_t;
extern const alya_loops_t alya_loops_cpu, alya_loops_cuda, alya_loops_kokkos;

static inline int64_t alya_partial_sums(int64_t nodes)
{
    const int64_t blocks = (nodes + ALYA_BLOCK - 1) / ALYA_BLOCK;
    return blocks > ALYA_MOST_BLOCKS ? blocks : (int64_t)ALYA_MOST_BLOCKS;
}

/* --- flow.c --- */

/* A solver's state of the ladder `step`. */
typedef struct {
    alya_flow_view_t view;
    const alya_loops_t *loops;
    rt_space_t space;
    rt_kind_t kind;
    rt_halo_t *halo; /* of values by node; NULL if no node is shared */
    bool own_halo;
    double dt, tolerance;
    struct alya_amg *amg;      /* hypre's; NULL: conjugate gradients with the diagonal */
    double amg_seconds;        /* that its set-up took */
    int64_t steps, iterations; /* since the last spoil */
} alya_flow_t;

/* --- pressure.c --- */

/* Replaces this rank's parts of x [nodes] by the sum over all ranks. */
void alya_flow_sum(const alya_flow_t *flow, double *x);
/* Solves L p = b to |L p - b| <= tolerance |b|; b is lost. Returns the iterations. */
int64_t alya_pressure_solve(alya_flow_t *flow);
/* --- hypre.c: BoomerAMG in conjugate gradients --- */

/* Returns NULL if this build's hypre does not work in that space. */
struct alya_amg *alya_amg_new(const alya_flow_t *flow, const struct alya_problem *problem);
void alya_amg_destroy(struct alya_amg *amg);
int64_t alya_amg_solve(struct alya_amg *amg, const alya_flow_t *flow);

RT_C_END
#endif
