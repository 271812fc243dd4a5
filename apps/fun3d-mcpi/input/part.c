/*
 * part.c - which rank has which rows, and a rank's rows with their columns.
 *
 * Every rank has the whole graph and makes its own part from it. That takes no messages and no
 * agreement on numbers, and a neighbour rank is known to send just what is needed here. The price:
 * every rank holds the graph of the whole, 4 bytes per block. On 25 ranks that is as much as a
 * rank's part of the matrix (100 bytes per block in FP32).
 */
#include "config.h"
#include "input.h"
#include <string.h>

/* --- partition --- */

void mcpi_partition(const mcpi_graph_t *graph, const double *x, int ranks, int32_t *owner)
{
    uint32_t *list = RT_NEW(uint32_t, (size_t)graph->rows, RT_HOST);
    const int64_t share = graph->rows / ranks, more = graph->rows % ranks;
    if (x)
        mcpi_list_by_hilbert(x, graph->rows, list);
    else
        mcpi_list_by_rcm(graph, list);
    for (int64_t p = 0, i = 0; p < ranks; p++)
        for (int64_t end = i + share + (p < more); i < end; i++)
            owner[list[i]] = (int32_t)p;
    RT_FREE(list, RT_HOST);
}

/* --- what a row is to this rank --- */

enum { ELSEWHERE, BOUNDARY, INTERIOR, GHOST };

static uint8_t kind_of(const mcpi_graph_t *graph, const int32_t *owner, int rank, int64_t v)
{
    bool own = owner[v] == rank;
    for (int64_t k = graph->start[v]; k < graph->start[v + 1]; k++)
        if ((owner[graph->neighbour[k]] == rank) != own)
            return own ? BOUNDARY : GHOST;
    return own ? INTERIOR : ELSEWHERE;
}

/* Returns kind[row] of all rows. */
static uint8_t *find_kinds(const mcpi_graph_t *graph, const mcpi_order_t *order,
                           const int32_t *owner, int rank)
{
    uint8_t *kind = RT_NEW(uint8_t, (size_t)order->rows, RT_HOST);
#pragma omp parallel for schedule(static)
    for (int64_t i = 0; i < order->rows; i++)
        kind[i] = kind_of(graph, owner, rank, order->vertex[i]);
    return kind;
}

/* --- local numbers --- */

static void count_rows(mcpi_part_t *part, const uint8_t *kind)
{
    int64_t rows = 0, ghosts = 0;
#pragma omp parallel for schedule(static) reduction(+ : rows, ghosts)
    for (int64_t i = 0; i < part->global_rows; i++) {
        rows += kind[i] == BOUNDARY || kind[i] == INTERIOR;
        ghosts += kind[i] == GHOST;
    }
    part->rows = rows;
    part->ghosts = ghosts;
}

/* Numbers rows first .. last - 1 of the wanted kind from `next` on. Returns the next free
 * number. */
static int64_t number(mcpi_part_t *part, const uint8_t *kind, int64_t first, int64_t last,
                      int wanted, int64_t next, int32_t *local)
{
    for (int64_t i = first; i < last; i++)
        if (kind[i] == wanted) {
            part->global[next] = i;
            local[i] = (int32_t)next++;
        }
    return next;
}

static void number_rows(mcpi_part_t *part, const mcpi_order_t *order, const uint8_t *kind,
                        int32_t *local)
{
    int64_t row = 0, ghost = part->rows;
    for (int c = 0; c < part->colours; c++) {
        const int64_t first = order->colour_start[c], last = order->colour_start[c + 1];
        part->colour_start[c] = row;
        part->boundary_end[c] = number(part, kind, first, last, BOUNDARY, row, local);
        row = number(part, kind, first, last, INTERIOR, part->boundary_end[c], local);
        part->ghost_start[c] = ghost;
        ghost = number(part, kind, first, last, GHOST, ghost, local);
    }
    part->colour_start[part->colours] = row;
    part->ghost_start[part->colours] = ghost;
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

static void enter_columns(mcpi_part_t *part, const mcpi_graph_t *graph, const mcpi_order_t *order,
                          const int32_t *local)
{
#pragma omp parallel for schedule(dynamic, 1024)
    for (int64_t i = 0; i < part->rows; i++) {
        const int64_t n = part->start[i + 1] - part->start[i];
        const int32_t *neighbour = graph->neighbour + graph->start[order->vertex[part->global[i]]];
        int32_t *column = part->column + part->start[i], *place = part->place + part->start[i];
        for (int64_t k = 0; k < n; k++) {
            column[k] = order->row[neighbour[k]];
            place[k] = (int32_t)k;
        }
        sort_columns(column, place, n);
        for (int64_t k = 0; k < n; k++)
            column[k] = local[column[k]];
    }
}

mcpi_part_t *mcpi_part_new(const mcpi_graph_t *graph, const mcpi_order_t *order,
                           const int32_t *owner, int rank)
{
    mcpi_part_t *part = RT_NEW(mcpi_part_t, 1, RT_HOST);
    *part = (mcpi_part_t){.global_rows = graph->rows, .colours = order->colours};
    uint8_t *kind = find_kinds(graph, order, owner, rank);
    count_rows(part, kind);
    part->colour_start = RT_NEW(int64_t, (size_t)part->colours + 1, RT_HOST);
    part->boundary_end = RT_NEW(int64_t, (size_t)part->colours, RT_HOST);
    part->ghost_start = RT_NEW(int64_t, (size_t)part->colours + 1, RT_HOST);
    part->global = RT_NEW(int64_t, (size_t)(part->rows + part->ghosts), RT_HOST);
    int32_t *local = RT_NEW(int32_t, (size_t)graph->rows, RT_HOST);
    number_rows(part, order, kind, local);
    RT_FREE(kind, RT_HOST);
    part->start = RT_NEW(int64_t, (size_t)part->rows + 1, RT_HOST);
    part->start[0] = 0;
    for (int64_t i = 0; i < part->rows; i++) {
        const int32_t v = order->vertex[part->global[i]];
        part->start[i + 1] = part->start[i] + graph->start[v + 1] - graph->start[v];
    }
    part->column = RT_NEW(int32_t, (size_t)part->start[part->rows], RT_HOST);
    part->place = RT_NEW(int32_t, (size_t)part->start[part->rows], RT_HOST);
    enter_columns(part, graph, order, local);
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
    RT_FREE(part, RT_HOST);
}
