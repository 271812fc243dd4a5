/*
 * partition.c - which rank has which vertices.
 *
 * Vertices are divided by their place on a curve, without a list of all of them: each rank has some,
 * in any distribution, and bisection finds the places between the parts. That takes as many sums
 * over the ranks as a place has bits. Parts are equal in blocks, because blocks are what a sweep
 * reads: prisms at the wall have 20 per row where tetrahedra have 14, so parts of equal rows differ
 * by a sixth in time and memory.
 */
#include "config.h"
#include "input.h"
#include <stdlib.h>
#include "base/sort.h"

enum { KEY_BITS = 63, NUMBER_BITS = 40, ROW_WEIGHT = 2 };

/* A place between two vertices: after all that are less. */
typedef struct {
    uint64_t key;
    int64_t number;
} place_t;

/* This rank's vertices in the order of the curve. */
typedef struct {
    int64_t n;
    uint64_t *key;   /* [n] */
    int64_t *number; /* [n] */
    int64_t *before; /* [n + 1] weight of those before */
} line_t;

/* Returns how many of this rank's vertices are before the place. */
static int64_t count_before(const line_t *line, place_t place)
{
    int64_t low = 0, high = line->n;
    while (low < high) {
        const int64_t middle = low + (high - low) / 2;
        const uint64_t key = line->key[middle];
        if (key < place.key || (key == place.key && line->number[middle] < place.number))
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* A row counts as much as two more blocks, for D, R and dQ. */
static line_t line_new(const mcpi_piece_t *piece, const mcpi_graph_t *graph, const uint64_t *key)
{
    line_t line = {.key = RT_NEW(uint64_t, (size_t)piece->owned, RT_HOST),
                   .number = RT_NEW(int64_t, (size_t)piece->owned, RT_HOST),
                   .before = RT_NEW(int64_t, (size_t)piece->owned + 1, RT_HOST)};
    uint32_t *list = RT_NEW(uint32_t, (size_t)piece->owned, RT_HOST);
    for (int64_t v = 0; v < piece->vertices; v++)
        if (piece->own[v]) {
            line.key[line.n] = key[v];
            list[line.n++] = (uint32_t)v;
        }
    rt_sort(line.key, list, line.n); /* stable: equal keys in ascending number */
    line.before[0] = 0;
    for (int64_t i = 0; i < line.n; i++) {
        const uint32_t v = list[i];
        line.number[i] = piece->number[v];
        line.before[i + 1] = line.before[i] + graph->start[v + 1] - graph->start[v] + ROW_WEIGHT;
    }
    RT_FREE(list, RT_HOST);
    return line;
}

/* Sets one more bit of each place, if the weight before it, of all ranks, is not above its share. */
static void try_bit(const line_t *line, int places, int64_t all, bool of_key, int bit,
                    place_t *place, int64_t *weight)
{
    const int64_t ranks = places + 1;
    for (int p = 0; p < places; p++) {
        place_t try = place[p];
        try.key |= of_key ? UINT64_C(1) << bit : 0;
        try.number |= of_key ? 0 : INT64_C(1) << bit;
        weight[p] = line->before[count_before(line, try)];
    }
    rt_comm_sum_i64(weight, places);
    for (int p = 0; p < places; p++) {
        if (weight[p] > all / ranks * (p + 1) + all % ranks * (p + 1) / ranks)
            continue;
        place[p].key |= of_key ? UINT64_C(1) << bit : 0;
        place[p].number |= of_key ? 0 : INT64_C(1) << bit;
    }
}

/* Fills place[ranks - 1]: the places between the ranks' parts. */
static void find_places(const line_t *line, int ranks, place_t *place)
{
    int64_t *weight = RT_NEW(int64_t, (size_t)ranks, RT_HOST), all = line->before[line->n];
    rt_comm_sum_i64(&all, 1);
    for (int p = 0; p < ranks - 1; p++)
        place[p] = (place_t){.key = 0};
    for (int bit = KEY_BITS - 1; bit >= 0; bit--)
        try_bit(line, ranks - 1, all, true, bit, place, weight);
    for (int bit = NUMBER_BITS - 1; bit >= 0; bit--)
        try_bit(line, ranks - 1, all, false, bit, place, weight);
    RT_FREE(weight, RT_HOST);
}

static void line_destroy(line_t *line)
{
    RT_FREE(line->key, RT_HOST);
    RT_FREE(line->number, RT_HOST);
    RT_FREE(line->before, RT_HOST);
}

static int ascending(const void *a, const void *b)
{
    const int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

int64_t *mcpi_partition(const mcpi_piece_t *piece, const mcpi_graph_t *graph, const uint64_t *key,
                        int64_t *owned)
{
    const int ranks = rt_comm_size();
    line_t line = line_new(piece, graph, key);
    place_t *place = RT_NEW(place_t, (size_t)ranks, RT_HOST);
    int64_t *count = RT_NEW(int64_t, (size_t)ranks, RT_HOST), begin = 0;
    int64_t *received = RT_NEW(int64_t, (size_t)ranks, RT_HOST);
    find_places(&line, ranks, place);
    for (int rank = 0; rank < ranks; rank++) {
        const int64_t end = rank < ranks - 1 ? count_before(&line, place[rank]) : line.n;
        count[rank] = end - begin;
        begin = end;
    }
    int64_t *mine = rt_comm_exchange(line.number, count, sizeof *mine, received);
    line_destroy(&line);
    *owned = 0;
    for (int rank = 0; rank < ranks; rank++)
        *owned += received[rank];
    int64_t *own = rt_clone(mine, (size_t)*owned, sizeof *own, RT_HOST);
    qsort(own, (size_t)*owned, sizeof *own, ascending);
    free(mine);
    RT_FREE(place, RT_HOST);
    RT_FREE(count, RT_HOST);
    RT_FREE(received, RT_HOST);
    return own;
}
