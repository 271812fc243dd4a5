/*
 * part.c - the rows of this rank, with their columns, by colour.
 */
#include "config.h"
#include "input.h"
#include "base/sort.h"

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
        part->here[i] = (int32_t)list[i];
    }
    for (int64_t i = 0; i < piece->vertices; i++)
        part->along[order->curve ? local[order->curve[i]] : local[i]] = (int32_t)i;
}

/* --- columns --- */

/* A list of neighbours ascends by vertex; its columns are counted and placed by colour. */
static void enter_columns(mcpi_part_t *part, const mcpi_graph_t *graph, const uint16_t *colour,
                          const uint32_t *list, const int32_t *local)
{
#pragma omp parallel for schedule(dynamic, 1024)
    for (int64_t i = 0; i < part->rows; i++) {
        const int32_t *neighbour = graph->neighbour + graph->start[list[i]];
        const int64_t n = part->start[i + 1] - part->start[i];
        int64_t next[MCPI_MAX_COLOURS + 1] = {part->start[i]};
        for (int64_t k = 0; k < n; k++)
            next[colour[neighbour[k]] + 1]++;
        for (int c = 0; c < part->colours; c++)
            next[c + 1] += next[c];
        for (int64_t k = 0; k < n; k++) {
            const int64_t at = next[colour[neighbour[k]]]++;
            part->column[at] = local[neighbour[k]];
            part->place[at] = (int32_t)k;
        }
    }
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
    part->here = RT_NEW(int32_t, n, RT_HOST);
    part->along = RT_NEW(int32_t, n, RT_HOST);
    uint32_t *list = RT_NEW(uint32_t, n, RT_HOST);
    int32_t *local = RT_NEW(int32_t, n, RT_HOST);
    number_rows(part, graph, piece, order, list, local);
    part->start = RT_NEW(int64_t, (size_t)part->rows + 1, RT_HOST);
    part->short_start = RT_NEW(int32_t, (size_t)part->rows + 1, RT_HOST);
    part->start[0] = part->short_start[0] = 0;
    for (int64_t i = 0; i < part->rows; i++) {
        const int columns = (int)(graph->start[list[i] + 1] - graph->start[list[i]]);
        part->start[i + 1] = part->start[i] + columns;
        part->short_start[i + 1] = (int32_t)part->start[i + 1];
        part->longest = columns > part->longest ? columns : part->longest;
    }
    part->column = RT_NEW(int32_t, (size_t)part->start[part->rows], RT_HOST);
    part->place = RT_NEW(int32_t, (size_t)part->start[part->rows], RT_HOST);
    enter_columns(part, graph, order->colour, list, local);
    RT_FREE_ALL(RT_HOST, list, local);
    return part;
}

void mcpi_part_destroy(mcpi_part_t *part)
{
    if (!part)
        return;
    RT_FREE_ALL(RT_HOST, part->colour_start, part->boundary_end, part->ghost_start, part->start,
                part->short_start, part->here, part->along, part->column, part->place, part->global,
                part->vertex, part->first_row, part);
}

double mcpi_part_imbalance(const mcpi_part_t *part)
{
    int64_t largest = 0;
    for (int c = 0; c < part->colours; c++) {
        const int64_t size = part->first_row[c + 1] - part->first_row[c];
        largest = size > largest ? size : largest;
    }
    return (double)largest * part->colours / (double)part->global_rows;
}
