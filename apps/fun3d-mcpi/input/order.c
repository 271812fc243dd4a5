/*
 * order.c - the order of the rows: by colour, and inside a colour such that neighbours' dQ are near
 * each other in memory.
 *
 * Inside a colour, row numbers are those of rank 0, then of rank 1, and so on, and each rank orders
 * its own. As parts are ranges of the Hilbert curve, the order along it is the same on any number
 * of ranks. The others are not, which changes no bit of dQ: see mcpi_part_t.
 */
#include "config.h"
#include "base/hilbert.h"
#include "base/sort.h"
#include "input.h"
#include <math.h>
#include <string.h>

/* --- along a Hilbert curve --- */

enum { GRID_BITS = 21 };

/* The curve fills the smallest cube around the own points of all ranks, with one scale for all
 * axes. It resolves 5e-7 of the longest extent. */
void mcpi_hilbert_keys(const mcpi_piece_t *piece, const double *x, uint64_t *key)
{
    double low[3] = {INFINITY, INFINITY, INFINITY}, high[3] = {-INFINITY, -INFINITY, -INFINITY};
#pragma omp parallel for schedule(static) reduction(min : low[:3]) reduction(max : high[:3])
    for (int64_t v = 0; v < piece->vertices; v++)
        for (int d = 0; d < 3 && piece->own[v]; d++) {
            low[d] = fmin(low[d], x[3 * v + d]);
            high[d] = fmax(high[d], x[3 * v + d]);
        }
    rt_comm_min(low, 3);
    rt_comm_max(high, 3);
    const double longest = fmax(high[0] - low[0], fmax(high[1] - low[1], high[2] - low[2]));
    const double last = (1 << GRID_BITS) - 1, scale = longest > 0 ? last / longest : 0;
#pragma omp parallel for schedule(static)
    for (int64_t v = 0; v < piece->vertices; v++) {
        uint32_t at[3];
        for (int d = 0; d < 3; d++)
            at[d] = (uint32_t)fmin((x[3 * v + d] - low[d]) * scale, last);
        key[v] = rt_hilbert_key(at, GRID_BITS);
    }
}

/* --- reverse Cuthill-McKee --- */

typedef struct {
    const mcpi_graph_t *graph;
    uint32_t *queue; /* [rows] in the order of the search */
    uint8_t *seen;   /* [rows] */
} search_t;

static int64_t degree(const mcpi_graph_t *graph, int64_t i)
{
    return graph->start[i + 1] - graph->start[i];
}

/* Appends the neighbours of i that were not seen to the queue, and returns its new end. A ghost, from
 * which no search returns, is listed by itself. */
static int64_t visit(search_t *s, uint32_t i, int64_t tail)
{
    for (int64_t k = s->graph->start[i]; k < s->graph->start[i + 1]; k++) {
        int32_t other = s->graph->neighbour[k];
        if (!s->seen[other] && degree(s->graph, other) > 0) {
            s->seen[other] = 1;
            s->queue[tail++] = (uint32_t)other;
        }
    }
    return tail;
}

/* Returns a row of least degree among the rows farthest from `start`. Changes only the queue from
 * `head` on. */
static uint32_t farthest(search_t *s, uint32_t start, int64_t head, int64_t *depth)
{
    int64_t level = head, tail = head + 1, at = head;
    s->queue[head] = start;
    s->seen[start] = 1;
    *depth = 0;
    while (at < tail) {
        int64_t end = tail;
        level = at;
        for (; at < end; at++)
            tail = visit(s, s->queue[at], tail);
        *depth += tail > end;
    }
    uint32_t best = s->queue[level];
    for (int64_t i = level; i < tail; i++)
        if (degree(s->graph, s->queue[i]) < degree(s->graph, best))
            best = s->queue[i];
    for (int64_t i = head; i < tail; i++)
        s->seen[s->queue[i]] = 0;
    return best;
}

/* Sorts queue[0 .. n-1] by degree, stable. */
static void sort_by_degree(const mcpi_graph_t *graph, uint32_t *queue, int64_t n)
{
    if (n > 64) { /* a hub may have a million neighbours */
        uint64_t *key = RT_NEW(uint64_t, (size_t)n, RT_HOST);
        for (int64_t i = 0; i < n; i++)
            key[i] = (uint64_t)degree(graph, queue[i]);
        rt_sort(key, queue, n);
        RT_FREE(key, RT_HOST);
        return;
    }
    for (int64_t i = 1; i < n; i++) {
        uint32_t row = queue[i];
        int64_t j = i;
        for (; j > 0 && degree(graph, queue[j - 1]) > degree(graph, row); j--)
            queue[j] = queue[j - 1];
        queue[j] = row;
    }
}

/* Returns a row at an end of i's component: goes to the far end as long as that leads farther. */
static uint32_t find_end(search_t *s, uint32_t i, int64_t head)
{
    int64_t before, depth;
    uint32_t start = i, far = farthest(s, i, head, &before);
    for (int attempt = 0; attempt < 5; attempt++) {
        uint32_t next = farthest(s, far, head, &depth);
        start = far;
        if (depth <= before)
            break;
        before = depth;
        far = next;
    }
    return start;
}

void mcpi_list_by_rcm(const mcpi_graph_t *graph, uint32_t *list)
{
    search_t s = {graph, list, RT_NEW(uint8_t, (size_t)graph->rows, RT_HOST)};
    int64_t tail = 0, at = 0;
    memset(s.seen, 0, (size_t)graph->rows);
    for (int64_t i = 0; i < graph->rows; i++) {
        if (s.seen[i])
            continue;
        uint32_t start = find_end(&s, (uint32_t)i, tail);
        s.seen[start] = 1;
        list[tail++] = start;
        for (; at < tail; at++) {
            int64_t end = visit(&s, list[at], tail);
            sort_by_degree(graph, list + tail, end - tail);
            tail = end;
        }
    }
    for (int64_t i = 0; i < graph->rows / 2; i++) {
        uint32_t swap = list[i];
        list[i] = list[graph->rows - 1 - i];
        list[graph->rows - 1 - i] = swap;
    }
    RT_FREE(s.seen, RT_HOST);
}

/* --- row numbers --- */

/* Lists the piece's vertices in the order, ghosts included. */
static void list_vertices(const mcpi_graph_t *graph, const mcpi_piece_t *piece,
                          mcpi_row_order_t order, const double *x, uint64_t seed, uint32_t *list)
{
    const int64_t n = piece->vertices;
    if (order == MCPI_RCM) {
        mcpi_list_by_rcm(graph, list);
        return;
    }
    uint64_t *key = RT_NEW(uint64_t, (size_t)n, RT_HOST);
    for (int64_t v = 0; v < n; v++) {
        list[v] = (uint32_t)v;
        key[v] = order == MCPI_RANDOM ? rt_hash((uint64_t)piece->number[v], seed) : 0;
    }
    if (order == MCPI_HILBERT)
        mcpi_hilbert_keys(piece, x, key);
    rt_sort(key, list, n); /* stable: natural where keys are equal */
    RT_FREE(key, RT_HOST);
}

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

mcpi_order_t *mcpi_order_new(const mcpi_graph_t *graph, const mcpi_piece_t *piece,
                             const uint16_t *colour, int colours, mcpi_row_order_t order,
                             const double *x, uint64_t seed)
{
    const int64_t n = piece->vertices;
    int64_t next[MCPI_MAX_COLOURS];
    uint32_t *list = RT_NEW(uint32_t, (size_t)n, RT_HOST);
    double *row = RT_NEW(double, (size_t)n, RT_HOST); /* exact, and a type that is exchanged */
    mcpi_order_t *o = RT_NEW(mcpi_order_t, 1, RT_HOST);
    *o = (mcpi_order_t){.colours = colours,
                        .colour = colour,
                        .start = RT_NEW(int64_t, (size_t)colours + 1, RT_HOST),
                        .row = RT_NEW(int64_t, (size_t)n, RT_HOST)};
    list_vertices(graph, piece, order, x, seed, list);
    find_starts(piece, colour, colours, o->start, next);
    for (int64_t i = 0; i < n; i++)
        if (piece->own[list[i]])
            row[list[i]] = (double)next[colour[list[i]]]++;
    mcpi_piece_update(piece, RT_F64, 1, row);
    for (int64_t v = 0; v < n; v++)
        o->row[v] = (int64_t)row[v];
    RT_FREE(row, RT_HOST);
    RT_FREE(list, RT_HOST);
    return o;
}

void mcpi_order_destroy(mcpi_order_t *order)
{
    if (!order)
        return;
    RT_FREE(order->start, RT_HOST);
    RT_FREE(order->row, RT_HOST);
    RT_FREE(order, RT_HOST);
}
