/*
 * part.c - which rank has which vertices, and a rank's rows with their columns.
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

/* --- partition --- */

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
    uint32_t *list;  /* [n] indices of number */
    int64_t *before; /* [n + 1] weight of those before */
    const int64_t *number;
} line_t;

/* Returns how many of this rank's vertices are before the place. */
static int64_t count_before(const line_t *line, place_t place)
{
    int64_t low = 0, high = line->n;
    while (low < high) {
        const int64_t middle = low + (high - low) / 2;
        const uint64_t key = line->key[middle];
        if (key < place.key ||
            (key == place.key && line->number[line->list[middle]] < place.number))
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* A row counts as much as two more blocks, for D, R and dQ. */
static line_t line_new(const uint64_t *key, const int64_t *number, const int32_t *blocks, int64_t n)
{
    line_t line = {.n = n,
                   .key = rt_clone(key, (size_t)n, sizeof *key, RT_HOST),
                   .list = RT_NEW(uint32_t, (size_t)n, RT_HOST),
                   .before = RT_NEW(int64_t, (size_t)n + 1, RT_HOST),
                   .number = number};
    for (int64_t i = 0; i < n; i++)
        line.list[i] = (uint32_t)i;
    rt_sort(line.key, line.list, n); /* stable: equal keys in ascending number */
    line.before[0] = 0;
    for (int64_t i = 0; i < n; i++)
        line.before[i + 1] = line.before[i] + blocks[line.list[i]] + ROW_WEIGHT;
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
    RT_FREE(line->list, RT_HOST);
    RT_FREE(line->before, RT_HOST);
}

/* Returns x[n] sorted, and frees x, which is from malloc. */
static int64_t *sorted(int64_t *x, int64_t n)
{
    uint64_t *key = RT_NEW(uint64_t, (size_t)n, RT_HOST);
    uint32_t *list = RT_NEW(uint32_t, (size_t)n, RT_HOST);
    int64_t *ascending = RT_NEW(int64_t, (size_t)n, RT_HOST);
    for (int64_t i = 0; i < n; i++) {
        key[i] = (uint64_t)x[i];
        list[i] = (uint32_t)i;
    }
    rt_sort(key, list, n);
    for (int64_t i = 0; i < n; i++)
        ascending[i] = (int64_t)key[i];
    RT_FREE(key, RT_HOST);
    RT_FREE(list, RT_HOST);
    free(x);
    return ascending;
}

int64_t *mcpi_partition(const uint64_t *key, const int64_t *number, const int32_t *blocks,
                        int64_t n, int64_t *owned)
{
    const int ranks = rt_comm_size();
    line_t line = line_new(key, number, blocks, n);
    place_t *place = RT_NEW(place_t, (size_t)ranks, RT_HOST);
    int64_t *count = RT_NEW(int64_t, (size_t)ranks, RT_HOST), begin = 0;
    int64_t *received = RT_NEW(int64_t, (size_t)ranks, RT_HOST);
    int64_t *send = RT_NEW(int64_t, (size_t)n, RT_HOST);
    find_places(&line, ranks, place);
    for (int64_t i = 0; i < n; i++)
        send[i] = number[line.list[i]];
    for (int rank = 0; rank < ranks; rank++) {
        const int64_t end = rank < ranks - 1 ? count_before(&line, place[rank]) : n;
        count[rank] = end - begin;
        begin = end;
    }
    line_destroy(&line);
    int64_t *mine = rt_comm_exchange(send, count, sizeof *send, received);
    *owned = 0;
    for (int rank = 0; rank < ranks; rank++)
        *owned += received[rank];
    RT_FREE(send, RT_HOST);
    RT_FREE(place, RT_HOST);
    RT_FREE(count, RT_HOST);
    RT_FREE(received, RT_HOST);
    return sorted(mine, *owned);
}

/* --- local numbers --- */

enum { BOUNDARY, INTERIOR, GHOST, KINDS };

/* Returns how to sort the vertices: by kind (rows, then ghosts), colour, and row number. */
static uint64_t *sort_keys(const mcpi_graph_t *graph, const mcpi_piece_t *piece,
                           const mcpi_order_t *order, int64_t (*count)[KINDS])
{
    uint64_t *key = RT_NEW(uint64_t, (size_t)piece->vertices, RT_HOST);
    for (int64_t v = 0; v < piece->vertices; v++) {
        const int kind = !piece->own[v]                    ? GHOST
                         : mcpi_has_ghost(graph, piece, v) ? BOUNDARY
                                                           : INTERIOR;
        key[v] = (uint64_t)(kind == GHOST) << 63 | (uint64_t)order->colour[v] << 56 |
                 (uint64_t)(kind == INTERIOR) << 55 | (uint64_t)order->row[v];
        count[order->colour[v]][kind]++;
    }
    return key;
}

/* Numbers the rows and ghosts. Fills local[vertices]. */
static void number_rows(mcpi_part_t *part, const mcpi_graph_t *graph, const mcpi_piece_t *piece,
                        const mcpi_order_t *order, uint32_t *list, int32_t *local)
{
    int64_t count[MCPI_MAX_COLOURS][KINDS] = {{0}}, row = 0, ghost = part->rows;
    uint64_t *key = sort_keys(graph, piece, order, count);
    for (int64_t v = 0; v < piece->vertices; v++)
        list[v] = (uint32_t)v;
    rt_sort(key, list, piece->vertices);
    RT_FREE(key, RT_HOST);
    for (int c = 0; c < part->colours; c++) {
        part->colour_start[c] = row;
        part->boundary_end[c] = row + count[c][BOUNDARY];
        part->ghost_start[c] = ghost;
        row = part->boundary_end[c] + count[c][INTERIOR];
        ghost += count[c][GHOST];
    }
    part->colour_start[part->colours] = row;
    part->ghost_start[part->colours] = ghost;
    for (int64_t i = 0; i < piece->vertices; i++) {
        local[list[i]] = (int32_t)i;
        part->global[i] = order->row[list[i]];
        part->vertex[i] = piece->number[list[i]];
    }
}

/* --- columns --- */

/* Sorts column[0 .. n-1] ascending, and place along with it. Shell sort with gaps that shrink by
 * 2.25: for a common row little more than insertion sort, and a hub's million need no memory. */
static void sort_columns(int32_t *column, int32_t *place, int64_t n)
{
    int64_t gap = 1;
    while (gap < n / 4)
        gap = gap * 9 / 4 + 1;
    for (;; gap = gap * 4 / 9 > 1 ? gap * 4 / 9 : 1) {
        for (int64_t i = gap; i < n; i++) {
            const int32_t c = column[i], p = place[i];
            int64_t at = i;
            for (; at >= gap && column[at - gap] > c; at -= gap) {
                column[at] = column[at - gap];
                place[at] = place[at - gap];
            }
            column[at] = c;
            place[at] = p;
        }
        if (gap == 1)
            return;
    }
}

/* Fills place[vertices] with each vertex's place by colour, then number, and its inverse. */
static void sort_by_colour(const mcpi_piece_t *piece, const mcpi_order_t *order, int32_t *place,
                           int32_t *inverse)
{
    int64_t next[MCPI_MAX_COLOURS + 1] = {0};
    for (int64_t v = 0; v < piece->vertices; v++)
        next[order->colour[v] + 1]++;
    for (int c = 0; c < order->colours; c++)
        next[c + 1] += next[c];
    for (int64_t v = 0; v < piece->vertices; v++) {
        place[v] = (int32_t)next[order->colour[v]]++;
        inverse[place[v]] = (int32_t)v;
    }
}

static void enter_columns(mcpi_part_t *part, const mcpi_graph_t *graph, const mcpi_piece_t *piece,
                          const mcpi_order_t *order, const uint32_t *list, const int32_t *local)
{
    int32_t *sorting = RT_NEW(int32_t, (size_t)piece->vertices, RT_HOST);
    int32_t *inverse = RT_NEW(int32_t, (size_t)piece->vertices, RT_HOST);
    sort_by_colour(piece, order, sorting, inverse);
#pragma omp parallel for schedule(dynamic, 1024)
    for (int64_t i = 0; i < part->rows; i++) {
        const int64_t n = part->start[i + 1] - part->start[i];
        const int32_t *neighbour = graph->neighbour + graph->start[list[i]];
        int32_t *column = part->column + part->start[i], *place = part->place + part->start[i];
        for (int64_t k = 0; k < n; k++) {
            column[k] = sorting[neighbour[k]];
            place[k] = (int32_t)k;
        }
        sort_columns(column, place, n);
        for (int64_t k = 0; k < n; k++)
            column[k] = local[inverse[column[k]]];
    }
    RT_FREE(sorting, RT_HOST);
    RT_FREE(inverse, RT_HOST);
}

mcpi_part_t *mcpi_part_new(const mcpi_graph_t *graph, const mcpi_piece_t *piece,
                           const mcpi_order_t *order)
{
    mcpi_part_t *part = RT_NEW(mcpi_part_t, 1, RT_HOST);
    const size_t n = (size_t)piece->vertices, colours = (size_t)order->colours;
    *part = (mcpi_part_t){.rows = piece->owned,
                          .ghosts = piece->vertices - piece->owned,
                          .global_rows = piece->all,
                          .colours = order->colours};
    part->first_row = rt_clone(order->start, colours + 1, sizeof *order->start, RT_HOST);
    part->colour_start = RT_NEW(int64_t, colours + 1, RT_HOST);
    part->boundary_end = RT_NEW(int64_t, colours, RT_HOST);
    part->ghost_start = RT_NEW(int64_t, colours + 1, RT_HOST);
    part->global = RT_NEW(int64_t, n, RT_HOST);
    part->vertex = RT_NEW(int64_t, n, RT_HOST);
    uint32_t *list = RT_NEW(uint32_t, n, RT_HOST);
    int32_t *local = RT_NEW(int32_t, n, RT_HOST);
    number_rows(part, graph, piece, order, list, local);
    part->start = RT_NEW(int64_t, (size_t)part->rows + 1, RT_HOST);
    part->start[0] = 0;
    for (int64_t i = 0; i < part->rows; i++)
        part->start[i + 1] = part->start[i] + graph->start[list[i] + 1] - graph->start[list[i]];
    part->column = RT_NEW(int32_t, (size_t)part->start[part->rows], RT_HOST);
    part->place = RT_NEW(int32_t, (size_t)part->start[part->rows], RT_HOST);
    enter_columns(part, graph, piece, order, list, local);
    RT_FREE(list, RT_HOST);
    RT_FREE(local, RT_HOST);
    return part;
}

void mcpi_part_destroy(mcpi_part_t *part)
{
    if (!part)
        return;
    RT_FREE(part->colour_start, RT_HOST);
    RT_FREE(part->boundary_end, RT_HOST);
    RT_FREE(part->ghost_start, RT_HOST);
    RT_FREE(part->start, RT_HOST);
    RT_FREE(part->column, RT_HOST);
    RT_FREE(part->place, RT_HOST);
    RT_FREE(part->global, RT_HOST);
    RT_FREE(part->vertex, RT_HOST);
    RT_FREE(part->first_row, RT_HOST);
    RT_FREE(part, RT_HOST);
}
