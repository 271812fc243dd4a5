/*
 * order.c - the order of the rows: by colour, and inside a colour such that neighbours' dQ are near
 * each other in memory.
 *
 * Inside a colour, row numbers are those of rank 0, then of rank 1, and so on, and each rank orders
 * its own. No order changes a bit of dQ: see mcpi_part_t.
 */
#include "config.h"
#include "base/hilbert.h"
#include "base/sort.h"
#include "input.h"
#include <math.h>

/* --- along a Hilbert curve --- */

enum { GRID_BITS = 21 };

/* The curve fills the smallest cube around the points, with one scale for all axes. It resolves
 * 5e-7 of the longest extent. */
void mcpi_hilbert_order(int64_t n, const uint8_t *own, const double *x, uint32_t *order)
{
    uint64_t *key = RT_NEW(uint64_t, (size_t)n, RT_HOST);
    double low[3] = {INFINITY, INFINITY, INFINITY}, high[3] = {-INFINITY, -INFINITY, -INFINITY};
#pragma omp parallel for schedule(static) reduction(min : low[:3]) reduction(max : high[:3])
    for (int64_t v = 0; v < n; v++)
        for (int d = 0; d < 3 && (!own || own[v]); d++) {
            low[d] = fmin(low[d], x[3 * v + d]);
            high[d] = fmax(high[d], x[3 * v + d]);
        }
    if (own) {
        rt_comm_min(low, 3);
        rt_comm_max(high, 3);
    }
    const double longest = fmax(high[0] - low[0], fmax(high[1] - low[1], high[2] - low[2]));
    const double last = (1 << GRID_BITS) - 1, scale = longest > 0 ? last / longest : 0;
#pragma omp parallel for schedule(static)
    for (int64_t v = 0; v < n; v++) {
        uint32_t at[3];
        for (int d = 0; d < 3; d++)
            at[d] = (uint32_t)fmin((x[3 * v + d] - low[d]) * scale, last);
        key[v] = rt_hilbert_key(at, GRID_BITS);
        order[v] = (uint32_t)v;
    }
    rt_sort(key, order, n); /* stable: natural where keys are equal */
    RT_FREE(key, RT_HOST);
}

/* --- row numbers --- */

/* Fills start[colours + 1] with the first row of each colour in the whole, and next[colours] with
 * this rank's first. */
static void find_starts(const mcpi_piece_t *piece, const uint16_t *colour, int colours,
                        int64_t *start, int64_t *next)
{
    const int ranks = rt_comm_size();
    int64_t mine[MCPI_MAX_COLOURS] = {0};
    int64_t(*size)[MCPI_MAX_COLOURS] = rt_alloc((size_t)ranks, sizeof *size, RT_HOST);
    for (int64_t v = 0; v < piece->vertices; v++)
        if (piece->own[v])
            mine[colour[v]]++;
    rt_comm_allgather(mine, sizeof mine, size);
    start[0] = 0;
    for (int c = 0; c < colours; c++) {
        start[c + 1] = start[c];
        for (int rank = 0; rank < ranks; rank++) {
            if (rank == rt_comm_rank())
                next[c] = start[c + 1];
            start[c + 1] += size[rank][c];
        }
    }
    RT_FREE(size, RT_HOST);
}

mcpi_order_t *mcpi_order_new(const mcpi_piece_t *piece, const uint16_t *colour, int colours,
                             const double *x)
{
    const int64_t n = piece->vertices;
    int64_t next[MCPI_MAX_COLOURS];
    double *row = RT_NEW(double, (size_t)n, RT_HOST); /* exact, and a type that is exchanged */
    mcpi_order_t *o = RT_NEW(mcpi_order_t, 1, RT_HOST);
    *o = (mcpi_order_t){.colours = colours,
                        .colour = colour,
                        .start = RT_NEW(int64_t, (size_t)colours + 1, RT_HOST),
                        .row = RT_NEW(int64_t, (size_t)n, RT_HOST),
                        .curve = RT_NEW(uint32_t, (size_t)n, RT_HOST)};
    mcpi_hilbert_order(n, piece->own, x, o->curve);
    find_starts(piece, colour, colours, o->start, next);
    for (int64_t i = 0; i < n; i++)
        if (piece->own[o->curve[i]])
            row[o->curve[i]] = (double)next[colour[o->curve[i]]]++;
    mcpi_piece_update(piece, RT_F64, 1, row);
    for (int64_t v = 0; v < n; v++)
        o->row[v] = (int64_t)row[v];
    RT_FREE(row, RT_HOST);
    return o;
}
