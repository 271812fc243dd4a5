/*
 * ghosts.c - mirror faces and the ghosts of a box alone, on the CPU.
 */
#include "config.h"
#include <string.h>
#include "apps/gfnn-wave/loops/node.h"
#include "cpu.h"

/* --- mirror faces --- */

static void hold_layer(const gfnn_box_t *box, int d, int layer, double *x, float *z)
{
    const gfnn_grid_t *fine = &box->fine, *wide = &box->wide;
    const int64_t n = box->n[d == 0 ? 1 : 0], nodes = n * box->n[d == 2 ? 1 : 2];
    for (int64_t node = 0; node < nodes; node++) {
        int at[3];
        gfnn_on_layer(d, layer, (int)(node % n), (int)(node / n), at);
        if (x)
            x[d * fine->plane + gfnn_at(fine, at[0], at[1], at[2])] = 0;
        if (z)
            z[d * wide->plane + gfnn_at(wide, at[0], at[1], at[2])] = 0;
    }
}

/* Zeroes on each face the component that is normal to it. */
void gfnn_cpu_hold(const gfnn_view_t *view, double *x, float *z)
{
    const gfnn_held_t held = gfnn_held(view->box);
    for (int face = 0; face < 6; face++)
        if (held.at[face])
            hold_layer(view->box, face / 2, face % 2 ? (int)view->box->n[face / 2] - 1 : 0, x, z);
}

/* --- ghosts --- */

/* Fills a row of a component with its ghosts, from the row of own values that it is or mirrors. */
static inline void wrap_row(size_t size, int64_t n, int width, const char *from, char *to)
{
    const int64_t step = (int64_t)size;
    if (to != from)
        memcpy(to, from, (size_t)n * size);
    for (int64_t i = 1; i <= width; i++) {
        memcpy(to - i * step, from + (n - i) * step, size);
        memcpy(to + (n + i - 1) * step, from + (i - 1) * step, size);
    }
}

/* Row (j, k) of a component; size: bytes of a value, a constant for each case. */
static void wrap_at(const gfnn_grid_t *g, int width, int size, int j, int k, char *x)
{
    const int64_t to = gfnn_at(g, 0, j, k);
    const int64_t from =
        gfnn_at(g, 0, gfnn_wrapped(j, (int)g->n[1]), gfnn_wrapped(k, (int)g->n[2]));
    if (size == 8)
        wrap_row(8, g->n[0], width, x + 8 * from, x + 8 * to);
    else if (size == 4)
        wrap_row(4, g->n[0], width, x + 4 * from, x + 4 * to);
    else
        wrap_row(2, g->n[0], width, x + 2 * from, x + 2 * to);
}

/* A thread takes the ghosts of its own rows. Rows that are all ghosts are dealt out one by one:
 * first those in layers below and above, then those at the sides. */
void gfnn_cpu_wrap(const gfnn_view_t *view, int width, rt_type_t type, void *x)
{
    const gfnn_grid_t *g = type == RT_F64 ? &view->box->fine : &view->box->wide;
    const int size = type == RT_F64 ? 8 : type == RT_F32 ? 4 : 2, both = 2 * width;
    const int n1 = (int)g->n[1], n2 = (int)g->n[2];
#pragma omp parallel
    for (int c = 0; c < 3; c++) {
        char *const y = (char *)x + size * c * g->plane;
#pragma omp for schedule(static) nowait
        for (int row = 0; row < n1 * n2; row++)
            wrap_at(g, width, size, row % n1, row / n1, y);
#pragma omp for schedule(static, 1) nowait
        for (int row = 0; row < both * (n1 + both); row++)
            wrap_at(g, width, size, row / both - width, gfnn_beyond(row % both, width, n2), y);
#pragma omp for schedule(static, 1) nowait
        for (int row = 0; row < both * n2; row++)
            wrap_at(g, width, size, gfnn_beyond(row % both, width, n1), row / both, y);
    }
}
