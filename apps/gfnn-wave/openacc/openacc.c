/*
 * openacc.c - the operator with directives.
 *
 * Idea: dense-atomic in plain C: a parallel loop over the elements, each a 24x24 product whose
 * results are added atomically. Advantage: one source for CPUs and GPUs, and three directives.
 * Price: 24 atomic additions and 2304 flops per element; the order of the additions, and so the
 * last bits, change from run to run.
 */
#include "config.h"
#include <string.h>
#include "machine/openacc.h"
#include "apps/gfnn-wave/kernel.h"

enum { ENTRIES = 24 * 24 };

/* What apply uses. A_e = w fixed + Vs^2 shear. */
typedef struct {
    gfnn_form_t form; /* of `matrices`; zeros at first */
    double *matrices; /* [2][24][24] fixed, shear */
    double *material; /* [2][GFNN_MAX_IDS] w, Vs^2 */
} data_t;

static void set_up(gfnn_view_t *view)
{
    data_t *data = RT_NEW(data_t, 1, RT_HOST);
    memset(data, 0, sizeof *data);
    double material[2][GFNN_MAX_IDS];
    memcpy(material[0], view->materials->w, sizeof material[0]);
    memcpy(material[1], view->materials->square, sizeof material[1]);
    data->matrices = RT_NEW(double, 2 * ENTRIES, view->space);
    data->material = rt_clone(material, 2 * GFNN_MAX_IDS, sizeof(double), view->space);
    view->data = data;
}

static void tear_down(gfnn_view_t *view)
{
    data_t *data = view->data;
    RT_FREE(data->matrices, view->space);
    RT_FREE(data->material, view->space);
    RT_FREE(data, RT_HOST);
    view->data = NULL;
}

static void use_form(const gfnn_view_t *view, const gfnn_form_t *form)
{
    data_t *data = view->data;
    double matrices[2][24][24];
    if (memcmp(&data->form, form, sizeof *form) == 0)
        return;
    gfnn_element_matrix(form, 1, 0, matrices[0]);
    gfnn_element_matrix(form, 0, 1, matrices[1]);
    rt_copy(data->matrices, view->space, matrices, RT_HOST, sizeof matrices);
    data->form = *form;
}

static void apply(const gfnn_view_t *view, const gfnn_product_t *a)
{
    const gfnn_grid_t fine = view->box->fine, wide = view->box->wide;
    const int64_t nx = a->region.hi[0], ny = a->region.hi[1], nz = a->region.hi[2];
    const int64_t row = fine.pitch, layer = fine.slab, plane = fine.plane, origin = fine.origin;
    const int64_t id_row = wide.pitch, id_layer = wide.slab, id_origin = wide.origin;
    const uint8_t *id = view->id;
    const double *x = a->x;
    double *y = a->y;
    use_form(view, a->form);
    rt_openacc_begin();
    const data_t *data = view->data;
    const double *fixed = data->matrices, *shear = fixed + ENTRIES;
    const double *w = data->material, *square = w + GFNN_MAX_IDS;

#pragma acc parallel loop gang vector collapse(4) deviceptr(y)
    for (int c = 0; c < 3; c++)
        for (int64_t k = 0; k < nz; k++)
            for (int64_t j = 0; j < ny; j++)
                for (int64_t i = 0; i < nx; i++)
                    y[c * plane + origin + k * layer + j * row + i] = 0;

#pragma acc parallel loop gang vector collapse(3) deviceptr(id, fixed, shear, w, square, x, y)
    for (int64_t k = -1; k < nz; k++)
        for (int64_t j = -1; j < ny; j++)
            for (int64_t i = -1; i < nx; i++) {
                const int here = id[id_origin + k * id_layer + j * id_row + i];
                const int64_t at = origin + k * layer + j * row + i;
                double u[24];
                for (int a = 0; a < 8; a++)
                    for (int c = 0; c < 3; c++)
                        u[3 * a + c] = x[c * plane + at + a % 2 + a / 2 % 2 * row + a / 4 * layer];
                for (int a = 0; a < 8; a++) {
                    const int64_t ai = i + a % 2, aj = j + a / 2 % 2, ak = k + a / 4;
                    if (ai < 0 || ai >= nx || aj < 0 || aj >= ny || ak < 0 || ak >= nz)
                        continue; /* another rank's node */
                    for (int c = 0; c < 3; c++) {
                        const int first = 24 * (3 * a + c);
                        double sum = 0;
                        for (int q = 0; q < 24; q++)
                            sum += (w[here] * fixed[first + q] + square[here] * shear[first + q]) *
                                   u[q];
#pragma acc atomic update
                        y[c * plane + origin + ak * layer + aj * row + ai] += sum;
                    }
                }
            }
}

static const gfnn_operator_t op = {
    .apply = apply, .set_up = set_up, .tear_down = tear_down, .whole = true};
const gfnn_kernels_t gfnn_op_openacc = {
    .rung = {.precision = "FP64"}, .ladder = GFNN_LADDER_OPERATOR, .op = &op};
