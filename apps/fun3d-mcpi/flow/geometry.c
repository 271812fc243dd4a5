/*
 * geometry.c - the dual mesh of this rank's rows, in the order of its part, and what the gradients
 * need: no file after this one asks for the mesh.
 */
#include "config.h"
#include <math.h>
#include <string.h>
#include "flow.h"

/* --- from the source --- */

static void take_entries(mcpi_geometry_t *g, const mcpi_source_t *source, const mcpi_part_t *part)
{
    const mcpi_graph_t *graph = source->graph;
#pragma omp parallel for schedule(static)
    for (int64_t i = 0; i < part->rows; i++) {
        const int64_t v = part->here[i], first = graph->start[v];
        for (int64_t k = part->start[i]; k < part->start[i + 1]; k++) {
            const int64_t entry = first + part->place[k];
            memcpy(g->n + 3 * k, source->n + 3 * entry, 3 * sizeof(double));
            g->viscous[k] = source->viscous[entry];
        }
        g->diagonal[i] = source->diagonal[v];
    }
#pragma omp parallel for schedule(static)
    for (int64_t i = 0; i < part->rows + part->ghosts; i++)
        memcpy(g->x + 3 * i, source->x + 3 * (int64_t)part->here[i], 3 * sizeof(double));
}

/* Fills the sides in order. All that closes a cell and is neither wall nor slip is far field. */
static void take_sides(mcpi_geometry_t *g, const mcpi_source_t *source, const mcpi_part_t *part,
                       bool viscous)
{
    for (int64_t i = 0; i < part->rows; i++) {
        const int64_t v = part->here[i];
        const double *all = source->boundary + 3 * v;
        g->side_of[i] = -1;
        if (all[0] == 0 && all[1] == 0 && all[2] == 0 && !source->wall[v])
            continue;
        mcpi_side_t *side = g->side + g->sides;
        g->side_of[i] = (int32_t)g->sides++;
        const double size = sqrt(mcpi_dot(all, all));
        for (int d = 0; d < 3; d++) {
            side->wall[d] = source->wall_area[3 * v + d];
            side->slip[d] = source->slip_area[3 * v + d];
            side->far[d] = all[d] - side->wall[d] - side->slip[d];
        }
        if (sqrt(mcpi_dot(side->far, side->far)) <=
            1e-9 * size) { /* rounding; it closes the cell */
            for (int d = 0; d < 3; d++) {
                side->wall[d] = mcpi_dot(side->slip, side->slip) > 0 ? side->wall[d] : all[d];
                side->slip[d] = all[d] - side->wall[d];
                side->far[d] = 0;
            }
        }
        side->held = viscous && source->wall[v];
    }
}

/* --- derived --- */

/* Inverts a symmetric 3x3 matrix, xx xy xz yy yz zz, in place. */
static void invert(double m[6])
{
    const double xx = m[3] * m[5] - m[4] * m[4], xy = m[2] * m[4] - m[1] * m[5],
                 xz = m[1] * m[4] - m[2] * m[3];
    const double det = m[0] * xx + m[1] * xy + m[2] * xz;
    const double inverse[6] = {xx / det,
                               xy / det,
                               xz / det,
                               (m[0] * m[5] - m[2] * m[2]) / det,
                               (m[1] * m[2] - m[0] * m[4]) / det,
                               (m[0] * m[3] - m[1] * m[1]) / det};
    memcpy(m, inverse, sizeof inverse);
}

static void derive(mcpi_geometry_t *g, const mcpi_part_t *part)
{
#pragma omp parallel for schedule(static)
    for (int64_t i = 0; i < part->rows; i++) {
        double m[6] = {0}, surface = 0;
        for (int64_t k = part->start[i]; k < part->start[i + 1]; k++) {
            const double *n = g->n + 3 * k, *to = g->x + 3 * (int64_t)part->column[k];
            double d[3];
            for (int c = 0; c < 3; c++)
                d[c] = to[c] - g->x[3 * i + c];
            m[0] += d[0] * d[0];
            m[1] += d[0] * d[1];
            m[2] += d[0] * d[2];
            m[3] += d[1] * d[1];
            m[4] += d[1] * d[2];
            m[5] += d[2] * d[2];
            surface += sqrt(mcpi_dot(n, n));
        }
        invert(m);
        memcpy(g->fit + 6 * i, m, sizeof m);
        g->surface[i] = surface;
    }
}

mcpi_geometry_t *mcpi_geometry_new(const mcpi_source_t *source, const mcpi_part_t *part,
                                   bool viscous)
{
    const size_t rows = (size_t)part->rows, all = (size_t)(part->rows + part->ghosts);
    const size_t entries = (size_t)part->start[part->rows];
    mcpi_geometry_t *g = RT_NEW(mcpi_geometry_t, 1, RT_HOST);
    *g = (mcpi_geometry_t){.rows = part->rows,
                           .ghosts = part->ghosts,
                           .x = RT_NEW(double, 3 * all, RT_HOST),
                           .n = RT_NEW(double, 3 * entries, RT_HOST),
                           .viscous = RT_NEW(double, entries, RT_HOST),
                           .diagonal = RT_NEW(double, rows, RT_HOST),
                           .fit = RT_NEW(double, 6 * rows, RT_HOST),
                           .surface = RT_NEW(double, rows, RT_HOST),
                           .side_of = RT_NEW(int32_t, rows, RT_HOST),
                           .side = RT_NEW(mcpi_side_t, rows, RT_HOST),
                           .length = source->length};
    take_entries(g, source, part);
    take_sides(g, source, part, viscous);
    derive(g, part);
    for (size_t k = 0; k < entries; k++)
        g->faces += mcpi_dot(g->n + 3 * k, g->n + 3 * k) > 0;
    rt_comm_sum_i64(&g->faces, 1);
    return g;
}

double mcpi_geometry_memory(const mcpi_counts_t *c)
{
    const double rows = (double)c->local_rows;
    const double of_row = 8 * sizeof(double) + sizeof(int32_t) + sizeof(mcpi_side_t);
    return 3 * sizeof(double) * (rows + (double)c->ghosts) +
           4 * sizeof(double) * (double)c->local_blocks + of_row * rows;
}

void mcpi_geometry_destroy(mcpi_geometry_t *g)
{
    if (!g)
        return;
    RT_FREE_ALL(RT_HOST, g->x, g->n, g->viscous, g->diagonal, g->fit, g->surface, g->side_of,
                g->side, g);
}
