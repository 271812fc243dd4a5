/* cpu/collect.c - sums of boxes on a level's grid, row by row. */
#include "config.h"
#include "collect.h"
#include "../precond/grid.h"
#include <string.h>

/* Finds the elements whose boxes have coordinate `in` of the grid along d: [from, to). */
static void elements_at(const nek_grid_t *g, int d, int size, int ring, int in, int *from, int *to)
{
    const int at = in - ring, N = g->degree;
    const int first = (at - size + 1 <= 0 ? 0 : (at - size + N) / N) - g->origin[d];
    const int last = (at < 0 ? -1 : at / N) - g->origin[d];
    *from = first < 0 ? 0 : first;
    *to = (last >= g->local[d] ? g->local[d] - 1 : last) + 1;
}

/* Adds up one row of the grid. */
static void collect_row(const nek_grid_t *g, int size, int ring, const float *boxes, int j, int k,
                        float *row)
{
    const int N = g->degree;
    int y0, y1, z0, z1;
    elements_at(g, 1, size, ring, j, &y0, &y1);
    elements_at(g, 2, size, ring, k, &z0, &z1);
    memset(row, 0, (size_t)g->points[0] * sizeof *row);
    if (!nek_is_inside(g, 1, j) || !nek_is_inside(g, 2, k))
        return;
    for (int z = z0; z < z1; z++)
        for (int y = y0; y < y1; y++)
            for (int x = 0; x < g->local[0]; x++) {
                const int64_t e = x + (int64_t)g->local[0] * (y + (int64_t)g->local[1] * z);
                const int bj = j - ring - (y + g->origin[1]) * N,
                          bk = k - ring - (z + g->origin[2]) * N;
                const float *box = boxes + ((e * size + bk) * size + bj) * size;
                float *to = row + (x + g->origin[0]) * N + ring;
                for (int i = 0; i < size; i++)
                    to[i] += box[i];
            }
    for (int i = 0; i < g->points[0]; i += i == 1 && g->points[0] > 4 ? g->points[0] - 3 : 1)
        if (!nek_is_inside(g, 0, i))
            row[i] = 0;
}

void nek_collect_rows(const nek_view_t *view, const nek_level_view_t *level, nek_box_t kind,
                      const float *boxes, float *sum)
{
    const nek_grid_t *g = &level->grid;
    const int size = kind == NEK_PATCH ? g->patch : g->n;
    (void)view;
#pragma omp parallel for schedule(static) collapse(2)
    for (int k = 0; k < g->points[2]; k++)
        for (int j = 0; j < g->points[1]; j++)
            collect_row(g, size, kind == NEK_OWN_BOX, boxes, j, k,
                        sum + g->points[0] * (j + (int64_t)g->points[1] * k));
}
