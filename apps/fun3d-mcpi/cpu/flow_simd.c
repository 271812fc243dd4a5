/*
 * flow_simd.c - the nonlinear step on a CPU: threads over the rows of each phase, sweeps by
 * cpu-simd.
 *
 * Idea: the loops around the shared text of flow/node.h. The fluxes through a node's faces are
 * computed a few at a time, a face per lane of a vector. The five columns of a block are one inner
 * loop over constants, which the compiler unrolls and turns into vectors; the type of O is a
 * constant in each of the copies. Advantage: no colouring of edges, no atomics, the same bits on
 * any number of threads. Price: the flux through a face is computed on both of its sides, and what
 * lies in the lanes has to be gathered first.
 */
#include "config.h"
#include "../flow/node.h"

#define INLINE static inline __attribute__((always_inline))

static void gradient(const mcpi_field_t *f)
{
#pragma omp parallel for schedule(static)
    for (int64_t i = 0; i < f->rows; i++)
        mcpi_node_gradient(f, i);
}

enum { LANES = 8, SLOPES = 3 * MCPI_Q };

/* What lies on the other side of LANES faces of a node. */
typedef struct {
    double w[MCPI_Q][LANES], x[3][LANES], g[SLOPES][LANES], n[3][LANES];
} batch_t;

INLINE void take_face(const mcpi_field_t *f, int32_t k, int l, batch_t *b)
{
    const mcpi_node_t there = mcpi_node(f, f->column[k]);
    for (int v = 0; v < MCPI_Q; v++)
        b->w[v][l] = there.w[v];
    for (int d = 0; d < 3; d++) {
        b->x[d][l] = there.x[d];
        b->n[d][l] = f->n[3 * (int64_t)k + d];
    }
    for (int v = 0; v < SLOPES; v++)
        b->g[v][l] = there.g[v];
}

/* Adds what flows out through the first `faces` faces of a batch to F; returns their part of the
 * rate. All lanes are computed: the compiler needs a constant to make vectors. */
INLINE double add_batch(const mcpi_node_t *here, const batch_t *b, int faces, double *F)
{
    double out[MCPI_Q][LANES], of_rate[LANES], rate = 0;
    for (int l = 0; l < LANES; l++) {
        double w[MCPI_Q], x[3], g[SLOPES], n[3], flux[MCPI_Q] = {0, 0, 0, 0, 0};
        const mcpi_node_t there = {w, x, g};
        for (int v = 0; v < MCPI_Q; v++)
            w[v] = b->w[v][l];
        for (int d = 0; d < 3; d++) {
            x[d] = b->x[d][l];
            n[d] = b->n[d][l];
        }
        for (int v = 0; v < SLOPES; v++)
            g[v] = b->g[v][l];
        of_rate[l] = mcpi_face_flux(here, &there, n, flux);
        for (int v = 0; v < MCPI_Q; v++)
            out[v][l] = flux[v];
    }
    for (int l = 0; l < faces; l++) {
        for (int v = 0; v < MCPI_Q; v++)
            F[v] += out[v][l];
        rate += of_rate[l];
    }
    return rate;
}

INLINE void node_residual(const mcpi_field_t *f, int64_t i)
{
    const mcpi_node_t at = mcpi_node(f, i);
    double F[MCPI_Q] = {0}, w[MCPI_Q], x[3], g[SLOPES], rate = 0;
    const mcpi_node_t here = {w, x, g}; /* a copy: not in the way of the vectors */
    batch_t batch = {0};
    int faces = 0;
    for (int v = 0; v < MCPI_Q; v++)
        w[v] = at.w[v];
    for (int d = 0; d < 3; d++)
        x[d] = at.x[d];
    for (int v = 0; v < SLOPES; v++)
        g[v] = at.g[v];
    for (int32_t k = f->start[i]; k < f->start[i + 1]; k++) {
        if (mcpi_has_area(f->n + 3 * (int64_t)k))
            take_face(f, k, faces++, &batch);
        if (faces == LANES || (faces > 0 && k + 1 == f->start[i + 1])) {
            rate += add_batch(&here, &batch, faces, F);
            faces = 0;
        }
    }
    for (int32_t k = f->start[i]; f->gas.mu > 0 && k < f->start[i + 1]; k++) {
        const mcpi_node_t there = mcpi_node(f, f->column[k]);
        mcpi_edge_friction(&f->gas, &at, &there, f->viscous[k], F);
    }
    mcpi_put_residual(f, i, rate, F);
}

static void residual(const mcpi_field_t *f)
{
#pragma omp parallel for schedule(static)
    for (int64_t i = 0; i < f->rows; i++)
        node_residual(f, i);
}

/* Sums the rows of a chunk, then the chunks in order: in parts, so that threads share the work. */
double mcpi_simd_norm(const mcpi_field_t *f, const void *before)
{
#pragma omp parallel for schedule(static)
    for (int64_t k = 0; k < mcpi_chunks(f); k++)
        f->sums[k] = mcpi_chunk_square(f, before, k);
    return mcpi_sum_chunks(f, RT_HOST);
}

/* Rounds a block to the type of O. */
INLINE void put_block(void *O, mcpi_type_t type, int64_t at, double scale, const double *block)
{
    for (int v = 0; v < MCPI_Q * MCPI_Q; v++)
        mcpi_put_value(O, type, at + v, scale * block[v]);
}

INLINE void row(const mcpi_field_t *f, int64_t i, mcpi_type_t type)
{
    enum { BLOCK = MCPI_Q * MCPI_Q };
    double D[BLOCK] = {0};
    const double scale = mcpi_scale_of(f->rate[i]);
    const bool held = mcpi_is_held(f, i);
    for (int32_t k = f->start[i]; k < f->start[i + 1]; k++) {
        double O[BLOCK] = {0};
        if (!mcpi_has_block(f, k)) {
            put_block(f->O, type, BLOCK * (int64_t)k, 0, O);
            continue;
        }
        const double *there = f->w + MCPI_Q * (int64_t)f->column[k], *n = f->n + 3 * (int64_t)k;
        const mcpi_wave_t wave = mcpi_face_wave(f->w + MCPI_Q * i, there, n);
        const double conducts = mcpi_conducts(f, k);
        MCPI_UNROLL
        for (int c = 0; c < MCPI_Q; c++) {
            mcpi_face_column(&wave, there, n, conducts, c, O + MCPI_Q * c, D + MCPI_Q * c);
            if (held)
                mcpi_hold_column(0, c, O + MCPI_Q * c);
        }
        put_block(f->O, type, BLOCK * (int64_t)k, scale, O);
    }
    MCPI_UNROLL
    for (int c = 0; c < MCPI_Q; c++) {
        mcpi_own_column(f, i, c, D + MCPI_Q * c);
        if (held)
            mcpi_hold_column(f->rate[i], c, D + MCPI_Q * c);
    }
    for (int v = 0; v < BLOCK; v++)
        mcpi_LU_of(f, i)[v] = scale * D[v];
    f->scale[i] = scale;
}

#define DEFINE(TYPE)                                                                       \
    static void jacobian_##TYPE(const mcpi_field_t *f)                                     \
    {                                                                                      \
        _Pragma("omp parallel for schedule(static)") for (int64_t i = 0; i < f->rows; i++) \
            row(f, i, MCPI_##TYPE);                                                        \
    }
DEFINE(FP64)
DEFINE(FP32)
DEFINE(FP16)
DEFINE(BF16)

static void jacobian(const mcpi_field_t *f)
{
    static void (*const of[MCPI_TYPES])(const mcpi_field_t *) = {[MCPI_FP64] = jacobian_FP64,
                                                                 [MCPI_FP32] = jacobian_FP32,
                                                                 [MCPI_FP16] = jacobian_FP16,
                                                                 [MCPI_BF16] = jacobian_BF16};
    of[f->offdiagonal](f);
}

void mcpi_simd_factor(const mcpi_field_t *f)
{
#pragma omp parallel for schedule(static)
    for (int64_t i = 0; i < f->rows; i++)
        mcpi_factor_block(mcpi_LU_of(f, i));
}

void mcpi_simd_right(const mcpi_field_t *f)
{
#pragma omp parallel for schedule(static)
    for (int64_t i = 0; i < f->rows; i++)
        for (int v = 0; v < MCPI_Q; v++)
            mcpi_put_right(f, i, v);
}

static mcpi_moved_t update(const mcpi_field_t *f)
{
    int64_t scaled = 0, stopped = f->rows;
#pragma omp parallel for schedule(static) reduction(+ : scaled) reduction(min : stopped)
    for (int64_t i = 0; i < f->rows; i++) {
        double dq[MCPI_Q];
        mcpi_take_dq(f, f->dq, i, dq);
        const int halvings = mcpi_node_update(f, i, dq);
        scaled += halvings > 0;
        if (halvings == MCPI_HALVINGS && i < stopped)
            stopped = i;
    }
    return (mcpi_moved_t){.scaled = scaled, .stopped = stopped};
}

static const mcpi_phases_t phases = {.sweeps = "cpu-simd",
                                     .gradient = gradient,
                                     .residual = residual,
                                     .norm = mcpi_simd_norm,
                                     .jacobian = jacobian,
                                     .factor = mcpi_simd_factor,
                                     .right = mcpi_simd_right,
                                     .update = update};

const mcpi_kernels_t mcpi_flow_simd = {
    .rung = {.precision = MCPI_FLOW_PRECISION, .reproducible = true, .refuse = mcpi_flow_refuse},
    .phases = &phases};
