/*
 * graph_test.h - graphs for the tests of colours and parts: small enough to look at all
 * pairs, and some with a row of thousands of neighbours.
 */
#ifndef MCPI_GRAPH_TEST_H
#define MCPI_GRAPH_TEST_H

#include <stdlib.h>
#include <string.h>
#include "base/threads.h"
#include "apps/fun3d-mcpi/input/input.h"
#include "tests/common/check.h"

static inline bool same(const void *a, const void *b, int64_t n, size_t size)
{
    return n == 0 || memcmp(a, b, (size_t)n * size) == 0;
}

/* --- graphs to try --- */

static inline int compare(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

/* Makes the graph of pairs (a, b), a != b, in any order, possibly repeated. Sorts by qsort, not by
 * what is tested. */
static inline mcpi_graph_t *graph_of_pairs(int64_t rows, const int32_t (*pair)[2], int64_t pairs)
{
    mcpi_graph_t *graph = RT_NEW(mcpi_graph_t, 1, RT_HOST);
    uint64_t *key = RT_NEW(uint64_t, 2 * (size_t)pairs, RT_HOST);
    int64_t distinct = 0;
    for (int64_t i = 0; i < 2 * pairs; i++)
        key[i] = (uint64_t)pair[i / 2][i % 2] << 32 | (uint64_t)pair[i / 2][1 - i % 2];
    qsort(key, 2 * (size_t)pairs, sizeof *key, compare);
    for (int64_t i = 0; i < 2 * pairs; i++)
        if (i == 0 || key[i] != key[i - 1])
            key[distinct++] = key[i];
    graph->rows = rows;
    graph->start = RT_NEW(int64_t, (size_t)rows + 1, RT_HOST);
    graph->neighbour = RT_NEW(int32_t, (size_t)distinct, RT_HOST);
    memset(graph->start, 0, ((size_t)rows + 1) * sizeof *graph->start);
    for (int64_t i = 0; i < distinct; i++) {
        graph->start[(key[i] >> 32) + 1]++;
        graph->neighbour[i] = (int32_t)(key[i] & UINT32_MAX);
    }
    for (int64_t i = 0; i < rows; i++)
        graph->start[i + 1] += graph->start[i];
    RT_FREE(key, RT_HOST);
    return graph;
}

typedef struct {
    int32_t (*pair)[2];
    int64_t count;
} pairs_t;

static inline pairs_t pairs_new(int64_t most)
{
    return (pairs_t){rt_alloc((size_t)most, sizeof(int32_t[2]), RT_HOST), 0};
}

static inline void add_pair(pairs_t *p, int64_t a, int64_t b)
{
    p->pair[p->count][0] = (int32_t)a;
    p->pair[p->count++][1] = (int32_t)b;
}

static inline mcpi_graph_t *graph_of(int64_t rows, pairs_t *p)
{
    mcpi_graph_t *graph = graph_of_pairs(rows, (const int32_t(*)[2])p->pair, p->count);
    RT_FREE(p->pair, RT_HOST);
    return graph;
}

/* A permutation, if rows is not a multiple of that prime. 0 is the image of a row in the middle. */
static inline int64_t mixed(int64_t i, int64_t rows)
{
    return (i + rows / 3) * 7919 % rows;
}

static inline mcpi_graph_t *path(int64_t rows)
{
    pairs_t p = pairs_new(rows);
    for (int64_t i = 0; i + 1 < rows; i++)
        add_pair(&p, mixed(i, rows), mixed(i + 1, rows));
    return graph_of(rows, &p);
}

/* Hubs, numbered first, each with its leaves. */
static inline mcpi_graph_t *stars(int64_t hubs, int64_t leaves)
{
    pairs_t p = pairs_new(hubs * leaves);
    for (int64_t i = 0; i < hubs * leaves; i++)
        add_pair(&p, i / leaves, hubs + i);
    return graph_of(hubs * (leaves + 1), &p);
}

static inline mcpi_graph_t *complete(int64_t rows)
{
    pairs_t p = pairs_new(rows * rows);
    for (int64_t i = 0; i < rows; i++)
        for (int64_t j = 0; j < i; j++)
            add_pair(&p, i, j);
    return graph_of(rows, &p);
}

static inline mcpi_graph_t *random_graph(int64_t rows, int64_t degree, uint64_t seed)
{
    pairs_t p = pairs_new(rows * (degree / 2 + 1));
    for (int64_t i = 0; i < rows; i++) {
        add_pair(&p, i, (i + 1) % rows);
        for (int64_t k = 0; k < degree / 2; k++) {
            int64_t other =
                (int64_t)(rt_hash((uint64_t)(i * degree + k), seed) % (uint64_t)(rows - 1));
            add_pair(&p, i, other + (other >= i));
        }
    }
    return graph_of(rows, &p);
}

/* A 27-point lattice of n^3 with this percentage of its diagonals. */
static inline mcpi_graph_t *lattice(int n, unsigned percent)
{
    const int64_t rows = (int64_t)n * n * n;
    pairs_t p = pairs_new(13 * rows);
    for (int64_t v = 0; v < rows; v++)
        for (int d = 14; d < 27; d++) {
            int at[3] = {(int)(v / n / n), (int)(v / n % n), (int)(v % n)};
            int step[3] = {d / 9 - 1, d / 3 % 3 - 1, d % 3 - 1};
            bool inside = true;
            for (int a = 0; a < 3; a++)
                inside = inside && at[a] + step[a] >= 0 && at[a] + step[a] < n;
            bool axis = abs(step[0]) + abs(step[1]) + abs(step[2]) == 1;
            if (inside && (axis || rt_hash((uint64_t)(27 * v + d), 3) % 100 < percent))
                add_pair(&p, v, v + ((int64_t)step[0] * n + step[1]) * n + step[2]);
        }
    return graph_of(rows, &p);
}

/* Colours a whole graph, which rank 0 owns, and tells the others. odd: as mcpi_colour has it. */
static inline int colour_whole(const mcpi_graph_t *graph, const uint8_t *odd, uint16_t *colour)
{
    const size_t rows = (size_t)graph->rows;
    mcpi_piece_t *piece = mcpi_piece_new(graph->rows, graph->rows);
    if (rt_comm_rank() > 0) {
        memset(piece->own, 0, rows);
        piece->owned = 0;
    }
    const int colours = mcpi_colour(graph, piece, odd, colour);
    rt_comm_bcast(colour, rows * sizeof *colour, 0);
    mcpi_piece_destroy(piece);
    return colours;
}

/* Divides the rows into ranges. */
static inline void divide(const mcpi_graph_t *graph, int ranks, int32_t *owner)
{
    for (int64_t i = 0; i < graph->rows; i++)
        owner[i] = (int32_t)(i * ranks / graph->rows);
}

/* Returns the lists of the own vertices. Vertices in none of them are removed from the piece, whose
 * numbering the graph shares. */
static inline mcpi_graph_t *cut_graph(const mcpi_graph_t *graph, mcpi_piece_t *piece)
{
    mcpi_graph_t *cut = RT_NEW(mcpi_graph_t, 1, RT_HOST);
    uint8_t *kept = rt_clone(piece->own, (size_t)piece->vertices, 1, RT_HOST);
    int64_t entries = 0;
    for (int64_t v = 0; v < graph->rows; v++)
        for (int64_t k = graph->start[v]; piece->own[v] && k < graph->start[v + 1]; k++) {
            kept[graph->neighbour[k]] = 1;
            entries++;
        }
    int32_t *now = mcpi_piece_keep(piece, kept);
    RT_FREE(kept, RT_HOST);
    *cut = (mcpi_graph_t){.rows = piece->vertices,
                          .start = RT_NEW(int64_t, (size_t)piece->vertices + 1, RT_HOST),
                          .neighbour = RT_NEW(int32_t, (size_t)entries, RT_HOST)};
    entries = 0;
    for (int64_t v = 0; v < graph->rows; v++) {
        if (now[v] < 0)
            continue;
        cut->start[now[v]] = entries;
        for (int64_t k = graph->start[v]; piece->own[now[v]] && k < graph->start[v + 1]; k++)
            cut->neighbour[entries++] = now[graph->neighbour[k]];
    }
    cut->start[cut->rows] = entries;
    RT_FREE(now, RT_HOST);
    return cut;
}

/* Makes the piece of a rank, not linked, and its graph. */
static inline mcpi_piece_t *piece_of(const mcpi_graph_t *graph, const int32_t *owner, int rank,
                                     mcpi_graph_t **cut)
{
    mcpi_piece_t *piece = mcpi_piece_new(graph->rows, graph->rows);
    mcpi_piece_own(piece, owner, 1, rank);
    *cut = cut_graph(graph, piece);
    return piece;
}

/* Makes the part of a rank from the row numbers of the whole. */
static inline mcpi_part_t *part_of(const mcpi_graph_t *graph, const mcpi_order_t *whole,
                                   const int32_t *owner, int rank)
{
    mcpi_graph_t *cut;
    mcpi_piece_t *piece = piece_of(graph, owner, rank, &cut);
    uint16_t *colour = RT_NEW(uint16_t, (size_t)piece->vertices, RT_HOST);
    int64_t *row = RT_NEW(int64_t, (size_t)piece->vertices, RT_HOST);
    for (int64_t v = 0; v < piece->vertices; v++) {
        colour[v] = whole->colour[piece->number[v]];
        row[v] = whole->row[piece->number[v]];
    }
    const mcpi_order_t order = {
        .colours = whole->colours, .colour = colour, .start = whole->start, .row = row};
    mcpi_part_t *part = mcpi_part_new(cut, piece, &order);
    RT_FREE_ALL(RT_HOST, colour, row);
    mcpi_graph_destroy(cut);
    mcpi_piece_destroy(piece);
    return part;
}

#endif
