/*
 * cpu_atomic.c - the paper's second form: cpu-coloured with all elements at once, and atomic sums.
 *
 * Advantage: x and y are traversed once, in order. Price: 24 atomic additions per element, which a
 * CPU does one by one, each by a loop around a compare-and-swap, and no vectors; the last bits
 * change from run to run if there is more than one thread.
 */
#include "config.h"
#include "strain_rows.h"

static void apply(const gfnn_view_t *view, const gfnn_product_t *a)
{
    const gfnn_grid_t *g = &view->box->fine, *wide = &view->box->wide;
    const double *x = a->x, *variable = gfnn_stored(view, view->data, a->form);
    double *y = a->y;
#pragma omp parallel
    {
        gfnn_strain_clear(g, y);
#pragma omp for collapse(2) schedule(static)
        for (int64_t k = -1; k < g->n[2]; k++)
            for (int64_t j = -1; j < g->n[1]; j++)
                for (int64_t i = -1; i < g->n[0]; i++) {
                    const double *here = variable + gfnn_at(wide, i, j, k);
                    double f[24];
                    gfnn_strain_product(x + gfnn_at(g, i, j, k), g->plane, g->slab, g->pitch,
                                        here[GFNN_MASS * wide->plane],
                                        here[GFNN_LAMBDA * wide->plane],
                                        here[GFNN_MU * wide->plane], f);
                    gfnn_strain_add(g, i, j, k, f, y);
                }
    }
}

GFNN_KEEPS_VARIABLES(gfnn_op_cpu_atomic, false);
