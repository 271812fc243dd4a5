/*
 * blocks.c - D, the 3x3 blocks of the diagonal, and its smoother, on the CPU; update_bj is in
 * cg_rows.inc.
 *
 * A block is a sum over the eight elements around a node. The inverses are kept, FP32, 6 values per
 * node: a lookup by eight ids would cost in gathers what they cost in traffic, and bj is not what
 * this app is about.
 */
#include "config.h"
#include "rows.h"

/* A loop for each choice of what there is. out may be old, so none of them is `restrict`. */
typedef void smooth_row_t(int64_t n, const float *inverse, int64_t bare, const float *z, float a,
                          const float *old, float omega, const float *r, const float *y,
                          int64_t wide, float *out);
#define DEFINE_SMOOTH(NAME, Z, OLD)                                                               \
    static void NAME(int64_t n, const float *inverse, int64_t bare, const float *z, float a,      \
                     const float *old, float omega, const float *r, const float *y, int64_t wide, \
                     float *out)                                                                  \
    {                                                                                             \
        _Pragma("omp simd") for (int64_t i = 0; i < n; i++) gfnn_smooth(                          \
            Z, OLD, inverse + i, bare, z + i, a, old + i, omega, r + i, y + i, wide, out + i);    \
    }
DEFINE_SMOOTH(smooth_r, 0, 0)
DEFINE_SMOOTH(smooth_z, 1, 0)
DEFINE_SMOOTH(smooth_zo, 1, 1)

/* What is absent points to r and is not read. */
void gfnn_cpu_smooth32(const gfnn_view_t *view, const float *z, float a, const float *old,
                       float omega, const float *r, const float *y, float *out)
{
    const gfnn_box_t *box = view->box;
    const gfnn_rows_data_t *data = view->data;
    smooth_row_t *const smooth = !z ? smooth_r : !old ? smooth_z : smooth_zo;
    const float *of_z = z ? z : r, *of_old = old ? old : r, *of_y = y ? y : r;
#pragma omp parallel for schedule(static)
    for (int64_t row = 0; row < gfnn_rows(box); row++) {
        const int64_t at = gfnn_line(box, 3 * row).wide;
        smooth(box->n[0], data->inverse + gfnn_row_at(&box->bare, row), box->bare.plane, of_z + at,
               a, of_old + at, omega, r + at, of_y + at, box->wide.plane, out + at);
    }
}

static void invert_node(const gfnn_view_t *view, const gfnn_corners_t *part,
                        const gfnn_held_t *held, int i, int j, int k, float *inverse)
{
    const gfnn_box_t *box = view->box;
    const gfnn_materials_t *materials = view->materials;
    const bool here[3] = {gfnn_is_held(held, 0, i, (int)box->n[0]),
                          gfnn_is_held(held, 1, j, (int)box->n[1]),
                          gfnn_is_held(held, 2, k, (int)box->n[2])};
    double D[GFNN_BLOCK] = {0};
    for (int a = 0; a < 8; a++) { /* the element whose corner a is this node */
        const int64_t at = gfnn_at(&box->wide, i - (a & 1), j - (a >> 1 & 1), k - (a >> 2));
        const uint8_t id = view->id[at];
        gfnn_add_corner(part, a, materials->w[id], materials->square[id], D);
    }
    gfnn_invert(D, here, inverse, box->bare.plane);
}

/* Returns them in the order [GFNN_BLOCK][bare.plane]. */
float *gfnn_cpu_inverse_new(const gfnn_view_t *view, const gfnn_form_t *form)
{
    const gfnn_grid_t *bare = &view->box->bare;
    const gfnn_corners_t part = gfnn_corners(form);
    const gfnn_held_t held = gfnn_held(view->box);
    float *inverse = RT_NEW(float, GFNN_BLOCK *(size_t)bare->plane, RT_HOST);
#pragma omp parallel for schedule(static)
    for (int64_t row = 0; row < gfnn_rows(view->box); row++)
        for (int i = 0; i < bare->n[0]; i++)
            invert_node(view, &part, &held, i, (int)(row % bare->n[1]), (int)(row / bare->n[1]),
                        inverse + gfnn_row_at(bare, row) + i);
    return inverse;
}
