/*
 * openacc.c - the operator with directives.
 *
 * Idea: atomic in plain C: a parallel loop over the elements, each B^T D B (strain.h) with
 * variables computed in advance, whose results are added atomically. Advantage: one source for CPUs
 * and GPUs, and three directives. Price: 24 bytes of variables and 24 atomic additions per element;
 * the order of the additions, and so the last bits, change from run to run.
 */
#include "config.h"
#include "machine/openacc.h"
#include "apps/gfnn-wave/operator/strain.h"

static void apply(const gfnn_view_t *view, const gfnn_product_t *a)
{
    const gfnn_grid_t fine = view->box->fine, wide = view->box->wide;
    const int64_t nx = fine.n[0], ny = fine.n[1], nz = fine.n[2];
    const int64_t row = fine.pitch, layer = fine.slab, plane = fine.plane, origin = fine.origin;
    const int64_t wide_row = wide.pitch, wide_layer = wide.slab, wide_origin = wide.origin;
    const double *mass = gfnn_stored(view, view->data, a->form);
    const double *lambda = mass + GFNN_LAMBDA * wide.plane, *mu = mass + GFNN_MU * wide.plane;
    const double *x = a->x;
    double *y = a->y;
    rt_openacc_begin();

#pragma acc parallel loop gang vector collapse(4) deviceptr(y)
    for (int c = 0; c < 3; c++)
        for (int64_t k = 0; k < nz; k++)
            for (int64_t j = 0; j < ny; j++)
                for (int64_t i = 0; i < nx; i++)
                    y[c * plane + origin + k * layer + j * row + i] = 0;

#pragma acc parallel loop gang vector collapse(3) deviceptr(mass, lambda, mu, x, y)
    for (int64_t k = -1; k < nz; k++)
        for (int64_t j = -1; j < ny; j++)
            for (int64_t i = -1; i < nx; i++) {
                const int64_t here = wide_origin + k * wide_layer + j * wide_row + i;
                const int64_t at = origin + k * layer + j * row + i;
                double f[24];
                gfnn_strain_product(x + at, plane, layer, row, mass[here], lambda[here], mu[here],
                                    f);
                for (int a = 0; a < 8; a++) {
                    const int64_t ai = i + a % 2, aj = j + a / 2 % 2, ak = k + a / 4;
                    if (ai < 0 || ai >= nx || aj < 0 || aj >= ny || ak < 0 || ak >= nz)
                        continue; /* another rank's node */
                    for (int c = 0; c < 3; c++)
#pragma acc atomic update
                        y[c * plane + origin + ak * layer + aj * row + ai] += f[3 * a + c];
                }
            }
}

static const gfnn_operator_t op = {.apply = apply,
                                   .set_up = gfnn_stored_set_up,
                                   .tear_down = gfnn_stored_tear_down,
                                   .memory = gfnn_stored_memory};
const gfnn_kernels_t gfnn_op_openacc = {
    .rung = {.precision = "FP64"}, .ladder = GFNN_LADDER_OPERATOR, .op = &op};
