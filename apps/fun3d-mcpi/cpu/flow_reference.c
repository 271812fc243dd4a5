/*
 * flow_reference.c - the nonlinear step by the definition, the oracle of the ladder "flow": slopes
 * from normal equations that are solved on the node, dense flux Jacobians and |A| as a polynomial of
 * them, everything in FP64 except what O is stored in. Sweeps by the rung "reference". Norms, factors
 * and right-hand sides are those of flow-simd, which the judge compares with what they must be.
 *
 * Advantage: anyone can check it against the textbook; it shares no formula with flow/physics.h but
 * those of one state. Price: a block costs a few matrix products, and nothing is vectorised.
 */
#include "config.h"
#include <math.h>
#include "base/threads.h"
#include "../flow/flow.h"

enum { NB = MCPI_Q, BLOCK = MCPI_Q * MCPI_Q };

static void gradient(const mcpi_field_t *f)
{
#pragma omp parallel for schedule(static)
    for (int64_t i = 0; i < f->rows; i++) {
        double M[3][3], b[NB][3];
        mcpi_reference_normal(f, i, M, b, NULL);
        for (int v = 0; v < NB; v++)
            mcpi_reference_solve3(M, b[v], f->gradient + 3 * (NB * i + v));
    }
}

static void residual(const mcpi_field_t *f)
{
#pragma omp parallel for schedule(static)
    for (int64_t i = 0; i < f->rows; i++)
        f->rate[i] = mcpi_reference_residual(f, i, f->R + NB * i, NULL);
}

static void jacobian(const mcpi_field_t *f)
{
    int64_t widest = 0;
    for (int64_t i = 0; i < f->rows; i++)
        if (f->start[i + 1] - f->start[i] > widest)
            widest = f->start[i + 1] - f->start[i];
    const size_t each = (size_t)widest * BLOCK;
    double *scratch = RT_NEW(double, (size_t)rt_threads() * each, RT_HOST);
#pragma omp parallel
    {
        double *O = scratch + (size_t)rt_thread() * each, D[BLOCK];
#pragma omp for schedule(static)
        for (int64_t i = 0; i < f->rows; i++) {
            mcpi_reference_row_blocks(f, i, O, D, NULL, NULL);
            f->scale[i] = ldexp(1, -ilogb(f->rate[i]));
            const int64_t first = f->start[i], values = (f->start[i + 1] - first) * BLOCK;
            for (int64_t k = 0; k < values; k++)
                mcpi_put_value(f->O, f->offdiagonal, first * BLOCK + k, f->scale[i] * O[k]);
            for (int k = 0; k < BLOCK; k++)
                ((double *)f->LU)[BLOCK * i + k] = f->scale[i] * D[k];
        }
    }
    RT_FREE(scratch, RT_HOST);
}

static mcpi_moved_t update(const mcpi_field_t *f)
{
    mcpi_moved_t moved = {.stopped = f->rows};
    for (int64_t i = 0; i < f->rows; i++) {
        const int halvings = mcpi_reference_update(f->w + NB * i, (const double *)f->dq + NB * i);
        moved.scaled += halvings > 0;
        if (halvings == MCPI_HALVINGS && i < moved.stopped)
            moved.stopped = i;
    }
    return moved;
}

static const mcpi_phases_t phases = {.sweeps = "reference",
                                     .gradient = gradient,
                                     .residual = residual,
                                     .norm = mcpi_simd_norm,
                                     .jacobian = jacobian,
                                     .factor = mcpi_simd_factor,
                                     .right = mcpi_simd_right,
                                     .update = update};

const mcpi_kernels_t mcpi_flow_reference = {.rung = {.precision = "FP64, O in the type asked for",
                                                     .reproducible = true,
                                                     .refuse = mcpi_flow_refuse},
                                            .phases = &phases,
                                            .always_fp64 = true};
