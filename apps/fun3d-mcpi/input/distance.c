/*
 * distance.c - how far vertices are from the wall, and whether by an odd number of edges.
 *
 * A vertex tries the nearest wall vertices of its neighbours, in rounds: accurate enough for a
 * made-up flow. In each round it looks at its neighbours as they were before the round, so the
 * result depends on no order of vertices or ranks.
 */
#include "config.h"
#include <math.h>
#include <string.h>
#include "blocks.h"

/* What a vertex knows: the nearest wall vertex; in which round it was found, -1 if none is known,
 * and in which the first one. */
enum { FOUND = 3, FIRST = 4, KNOWN = 5 };

static double distance(const double *a, const double *b)
{
    double square = 0;
    for (int d = 0; d < 3; d++)
        square += (a[d] - b[d]) * (a[d] - b[d]);
    return sqrt(square);
}

/* Tries the wall vertices that v's neighbours have found in the last round. Returns whether one is
 * nearer than what v knows. */
static bool try_walls(const mcpi_graph_t *graph, const double *x, const double *before, int64_t v,
                      int round, double *known)
{
    double least = known[FOUND] < 0 ? INFINITY : distance(x + 3 * v, known);
    bool nearer = false;
    for (int64_t k = graph->start[v]; k < graph->start[v + 1]; k++) {
        const double *there = before + KNOWN * (int64_t)graph->neighbour[k];
        if (there[FOUND] != round - 1)
            continue;
        const double d = distance(x + 3 * v, there);
        if (d >= least)
            continue;
        least = d;
        nearer = true;
        memcpy(known, there, 3 * sizeof *known);
    }
    if (nearer && known[FOUND] < 0)
        known[FIRST] = round;
    if (nearer)
        known[FOUND] = round;
    return nearer;
}

void mcpi_find_distance(const mcpi_graph_t *graph, const mcpi_piece_t *piece, const double *x,
                        const uint8_t *wall, double *far, uint8_t *odd)
{
    const size_t values = KNOWN * (size_t)piece->vertices;
    double *known = RT_NEW(double, values, RT_HOST), *before = RT_NEW(double, values, RT_HOST);
    for (int64_t v = 0; v < piece->vertices; v++) {
        memcpy(known + KNOWN * v, x + 3 * v, 3 * sizeof *known);
        known[KNOWN * v + FOUND] = wall[v] ? 0 : -1;
        known[KNOWN * v + FIRST] = 0;
    }
    int64_t news = 1;
    for (int round = 1; news > 0; round++) {
        mcpi_piece_update(piece, RT_F64, KNOWN, known);
        memcpy(before, known, values * sizeof *known);
        news = 0;
#pragma omp parallel for schedule(static) reduction(+ : news)
        for (int64_t v = 0; v < piece->vertices; v++)
            if (piece->own[v])
                news += try_walls(graph, x, before, v, round, known + KNOWN * v);
        rt_comm_sum_i64(&news, 1);
    }
    for (int64_t v = 0; v < piece->vertices; v++) {
        const double *of = known + KNOWN * v;
        far[v] = of[FOUND] < 0 ? -1 : distance(x + 3 * v, of);
        odd[v] = (uint8_t)((int64_t)of[FIRST] % 2);
    }
    RT_FREE_ALL(RT_HOST, known, before);
}
