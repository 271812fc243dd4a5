/*
 * predict_openacc.c - the predictor with directives: the paper's listing.
 *
 * Idea: a parallel loop over the nodes, and inside it the 343 neighbours one after the other.
 * Components are planes and x is fastest, so that neighbouring threads read neighbouring values.
 * Advantage: the definition with one directive. Price: nothing that is read serves two nodes, and
 * the sums are in memory where the compiler does not know how many there are.
 */
#include "config.h"
#include "machine/openacc.h"
#include "apps/gfnn-wave/kernel.h"

static void set_up(gfnn_view_t *view, const gfnn_network_t *network)
{
    view->data = rt_clone(network->K, (size_t)network->kernels * 9 * GFNN_STENCIL, sizeof(float),
                          view->space);
}

static void tear_down(gfnn_view_t *view)
{
    RT_FREE(view->data, view->space);
    view->data = NULL;
}

static void apply(const gfnn_view_t *view, const gfnn_network_t *network, const void *from,
                  float *z)
{
    const gfnn_grid_t wide = view->box->wide, bare = view->box->bare;
    const int64_t nx = view->box->n[0], ny = view->box->n[1], nz = view->box->n[2];
    const int64_t row = wide.pitch, layer = wide.slab, plane = wide.plane, origin = wide.origin;
    const int64_t c_row = bare.pitch, c_layer = bare.slab, c_plane = bare.plane,
                  c_origin = bare.origin;
    const int kernels = network->kernels;
    const bool gf8 = network->form == GFNN_GF8;
    const float *r = from, *coefficient = network->c, *K = view->data;

    rt_openacc_begin();
#pragma acc parallel loop gang vector collapse(3) deviceptr(r, coefficient, K, z)
    for (int64_t k = 0; k < nz; k++)
        for (int64_t j = 0; j < ny; j++)
            for (int64_t i = 0; i < nx; i++) {
                const float *c = coefficient + c_origin + k * c_layer + j * c_row + i;
                const int64_t at = origin + k * layer + j * row + i;
                float sum[3] = {0, 0, 0};
                for (int dz = -GFNN_ND; dz <= GFNN_ND; dz++)
                    for (int dy = -GFNN_ND; dy <= GFNN_ND; dy++)
                        for (int dx = -GFNN_ND; dx <= GFNN_ND; dx++) {
                            const float *here = r + at + dz * layer + dy * row + dx;
                            const float *tap = K +
                                               ((dz + GFNN_ND) * GFNN_W + dy + GFNN_ND) * GFNN_W +
                                               dx + GFNN_ND;
                            float same = 0, other = 0; /* gf8: a + b . s/3 */
                            if (gf8) {
                                const float x = dx / 3.0f, y = dy / 3.0f, s = dz / 3.0f;
                                same =
                                    c[0] + x * c[c_plane] + y * c[2 * c_plane] + s * c[3 * c_plane];
                                other = c[4 * c_plane] + x * c[5 * c_plane] + y * c[6 * c_plane] +
                                        s * c[7 * c_plane];
                            }
                            for (int l = 0; l < 3; l++)
                                for (int m = 0; m < 3; m++) {
                                    float weight = 0;
                                    for (int q = 0; q < kernels; q++)
                                        weight += (gf8 ? (l == m ? same : other) : c[q * c_plane]) *
                                                  tap[(9 * q + 3 * l + m) * GFNN_STENCIL];
                                    sum[l] += weight * here[m * plane];
                                }
                        }
                for (int l = 0; l < 3; l++)
                    z[l * plane + at] = sum[l];
            }
}

static const gfnn_predictor_t predictor = {.apply = apply,
                                           .set_up = set_up,
                                           .tear_down = tear_down,
                                           .only_usual = "its loops are compiled for 3"};
const gfnn_kernels_t gfnn_net_openacc = {
    .rung = {.precision = "FP32", .reproducible = true, .refuse = gfnn_refuse},
    .ladder = GFNN_LADDER_PREDICTOR,
    .predictor = {&predictor, NULL}};
