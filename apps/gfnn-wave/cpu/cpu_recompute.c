/*
 * cpu_recompute.c - the paper's third form: cpu-atomic without stored variables.
 *
 * Idea: mass, lambda and mu of an element are recomputed from its material. Advantage: a byte per
 * element is read instead of 24. Price: a few flops and a look-up; the atomics remain.
 */
#include "config.h"
#include "strain_rows.h"

static void apply(const gfnn_view_t *view, const gfnn_product_t *a)
{
    const gfnn_grid_t *g = &view->box->fine, *wide = &view->box->wide;
    const gfnn_materials_t *materials = view->materials;
    const double *x = a->x;
    double *y = a->y;
#pragma omp parallel
    {
        gfnn_strain_clear(g, y);
#pragma omp for collapse(2) schedule(static)
        for (int64_t k = -1; k < g->n[2]; k++)
            for (int64_t j = -1; j < g->n[1]; j++)
                for (int64_t i = -1; i < g->n[0]; i++) {
                    const uint8_t id = view->id[gfnn_at(wide, i, j, k)];
                    double f[24], mass, lambda, mu;
                    gfnn_elasticity(a->form, materials->w[id], materials->square[id], &mass,
                                    &lambda, &mu);
                    gfnn_strain_product(x + gfnn_at(g, i, j, k), g->plane, g->slab, g->pitch, mass,
                                        lambda, mu, f);
                    gfnn_strain_add(g, i, j, k, f, y);
                }
    }
}

static const gfnn_operator_t op = {.apply = apply};
const gfnn_kernels_t gfnn_op_cpu_recompute = {
    .rung = {.precision = "FP64", .reproducible = false},
    .ladder = GFNN_LADDER_OPERATOR,
    .op = &op,
};
