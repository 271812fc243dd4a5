/*
 * order.c - the order of the rows: by colour, and inside a colour such that neighbours' dQ are near
 * each other in memory.
 *
 * All orders are functions of the graph, the coordinates and the seed; they do not depend on the
 * number of threads.
 */
#include "config.h"
#include "base/hilbert.h"
#include "base/sort.h"
#include "input.h"
#include <math.h>
#include <string.h>

/* --- along a Hilbert curve --- */

enum { GRID_BITS = 21 };

/* The curve fills the smallest cube around all points, with one scale for all axes. It resolves
 * 5e-7 of the longest extent; points that coincide keep their order. */
void mcpi_list_by_hilbert(const double *x, int64_t rows, uint32_t *list)
{
    double low[3] = {INFINITY, INFINITY, INFINITY}, high[3] = {-INFINITY, -INFINITY, -INFINITY};
    uint64_t *key = RT_NEW(uint64_t, (size_t)rows, RT_HOST);
#pragma omp parallel for schedule(static) reduction(min : low[:3]) reduction(max : high[:3])
    for (int64_t i = 0; i < rows; i++)
        for (int d = 0; d < 3; d++) {
            low[d] = fmin(low[d], x[3 * i + d]);
            high[d] = fmax(high[d], x[3 * i + d]);
        }
    const double longest = fmax(high[0] - low[0], fmax(high[1] - low[1], high[2] - low[2]));
    const double last = (1 << GRID_BITS) - 1, scale = longest > 0 ? last / longest : 0;
#pragma omp parallel for schedule(static)
    for (int64_t i = 0; i < rows; i++) {
        uint32_t at[3];
        for (int d = 0; d < 3; d++)
            at[d] = (uint32_t)fmin((x[3 * i + d] - low[d]) * scale, last);
        key[i] = rt_hilbert_key(at, GRID_BITS);
        list[i] = (uint32_t)i;
    }
    rt_sort(key, list, rows);
    RT_FREE(key, RT_HOST);
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

/* Appends the neighbours of i that were not seen to the queue, and returns its new end. */
static int64_t visit(search_t *s, uint32_t i, int64_t tail)
{
    for (int64_t k = s->graph->start[i]; k < s->graph->start[i + 1]; k++) {
        int32_t other = s->graph->neighbour[k];
        if (!s->seen[other]) {
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

/* --- natural, random --- */

/* Lists the rows in ascending order of a hash. */
static void list_at_random(int64_t rows, uint64_t seed, uint32_t *list)
{
    uint64_t *key = RT_NEW(uint64_t, (size_t)rows, RT_HOST);
#pragma omp parallel for schedule(static)
    for (int64_t i = 0; i < rows; i++) {
        key[i] = rt_hash((uint64_t)i, seed);
        list[i] = (uint32_t)i;
    }
    rt_sort(key, list, rows);
    RT_FREE(key, RT_HOST);
}

/* --- by colour --- */

mcpi_order_t *mcpi_order_new(const mcpi_graph_t *graph, const uint8_t *colour, int colours,
                             mcpi_row_order_t order, const double *x, uint64_t seed)
{
    const int64_t rows = graph->rows;
    mcpi_order_t *o = RT_NEW(mcpi_order_t, 1, RT_HOST);
    uint32_t *list = RT_NEW(uint32_t, (size_t)rows, RT_HOST);
    uint64_t *key = NULL;
    if (order == MCPI_HILBERT)
        mcpi_list_by_hilbert(x, rows, list);
    else if (order == MCPI_RCM)
        mcpi_list_by_rcm(graph, list);
    else if (order == MCPI_RANDOM)
        list_at_random(rows, seed, list);
    else
        for (int64_t i = 0; i < rows; i++)
            list[i] = (uint32_t)i;
    key = RT_NEW(uint64_t, (size_t)rows, RT_HOST);
    *o = (mcpi_order_t){.rows = rows, .colours = colours};
    o->colour_start = RT_NEW(int64_t, (size_t)colours + 1, RT_HOST);
    memset(o->colour_start, 0, ((size_t)colours + 1) * sizeof *o->colour_start);
    for (int64_t i = 0; i < rows; i++) {
        key[i] = colour[list[i]];
        o->colour_start[key[i] + 1]++;
    }
    for (int c = 0; c < colours; c++)
        o->colour_start[c + 1] += o->colour_start[c];
    rt_sort(key, list, rows); /* stable */
    RT_FREE(key, RT_HOST);
    o->vertex = RT_NEW(int32_t, (size_t)rows, RT_HOST);
    o->row = RT_NEW(int32_t, (size_t)rows, RT_HOST);
#pragma omp parallel for schedule(static)
    for (int64_t i = 0; i < rows; i++) {
        o->vertex[i] = (int32_t)list[i];
        o->row[list[i]] = (int32_t)i;
    }
    RT_FREE(list, RT_HOST);
    return o;
}

void mcpi_order_destroy(mcpi_order_t *order)
{
    if (!order)
        return;
    RT_FREE(order->colour_start, RT_HOST);
    RT_FREE(order->vertex, RT_HOST);
    RT_FREE(order->row, RT_HOST);
    RT_FREE(order, RT_HOST);
}
