/*
 * strain_rows.h - what cpu-coloured, cpu-atomic and cpu-recompute share: a pass over elements that
 * add B^T D B u to y (strain.h).
 */
#ifndef GFNN_STRAIN_ROWS_H
#define GFNN_STRAIN_ROWS_H

#include "apps/gfnn-wave/operator/strain.h"

/* The table of a rung that keeps variables of every element. */
#define GFNN_KEEPS_VARIABLES(table_, reproducible_)                        \
    static const gfnn_operator_t op = {.apply = apply,                     \
                                       .set_up = gfnn_stored_set_up,       \
                                       .tear_down = gfnn_stored_tear_down, \
                                       .memory = gfnn_stored_memory};      \
    const gfnn_kernels_t table_ = {                                        \
        .rung = {.precision = "FP64", .reproducible = reproducible_},      \
        .ladder = GFNN_LADDER_OPERATOR,                                    \
        .op = &op,                                                         \
    }

/* y = 0. Called by all threads of a team, which wait for each other at its end. */
static inline void gfnn_strain_clear(const gfnn_grid_t *g, double *y)
{
#pragma omp for collapse(3) schedule(static)
    for (int c = 0; c < 3; c++)
        for (int64_t k = 0; k < g->n[2]; k++)
            for (int64_t j = 0; j < g->n[1]; j++)
                for (int64_t i = 0; i < g->n[0]; i++)
                    y[c * g->plane + gfnn_at(g, i, j, k)] = 0;
}

/* Returns whether corner a of element (i, j, k) is an own node. */
GFNN_FN bool gfnn_strain_own(const gfnn_grid_t *g, int64_t i, int64_t j, int64_t k, int a)
{
    return gfnn_is_own(g, i + (a & 1), j + (a >> 1 & 1), k + (a >> 2));
}

/* Adds f to those corners of an element that are own nodes, while others do the same. */
GFNN_FN void gfnn_strain_add(const gfnn_grid_t *g, int64_t i, int64_t j, int64_t k,
                             const double f[24], double *y)
{
    double *corner = y + gfnn_at(g, i, j, k);
    GFNN_STRAIN_UNROLL
    for (int a = 0; a < 8; a++) {
        double *to = corner + (a >> 2) * g->slab + (a >> 1 & 1) * g->pitch + (a & 1);
        if (!gfnn_strain_own(g, i, j, k, a))
            continue;
        GFNN_STRAIN_UNROLL
        for (int c = 0; c < 3; c++) {
#pragma omp atomic
            to[c * g->plane] += f[3 * a + c];
        }
    }
}

#endif
