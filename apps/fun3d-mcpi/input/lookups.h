/*
 * lookups.h - how the files of this folder read what an earlier stage made.
 */
#ifndef MCPI_LOOKUPS_H
#define MCPI_LOOKUPS_H

#include "input.h"

/* Returns whether vertex v has a ghost for a neighbour. */
static inline bool mcpi_has_ghost(const mcpi_graph_t *graph, const mcpi_piece_t *piece, int64_t v)
{
    for (int64_t k = graph->start[v]; k < graph->start[v + 1]; k++)
        if (!piece->own[graph->neighbour[k]])
            return true;
    return false;
}

/* Gives the ghosts their owners' values: x [vertices][components]. Collective. */
static inline void mcpi_piece_update(const mcpi_piece_t *piece, rt_type_t type, int components,
                                     void *x)
{
    const rt_field_t field = {x, type, components, components, 1};
    if (piece->halo)
        rt_halo_do(piece->halo, RT_HALO_COPY, &field);
}

/* Returns the vertices and the type of the element at a place. */
static inline const int32_t *mcpi_incidence_get(const mcpi_incidence_t *in, int64_t place,
                                                rt_element_t *type)
{
    const uint32_t element = in->element[place];
    int t = 0;
    while (element >= in->base[t + 1])
        t++;
    *type = (rt_element_t)t;
    return in->mesh->element[t] + rt_element_size((rt_element_t)t) * (element - in->base[t]);
}

/* Returns the neighbour's place in the row's list (an index of graph->neighbour), or -1. */
static inline int64_t mcpi_graph_find(const mcpi_graph_t *graph, int64_t row, int32_t neighbour)
{
    int64_t low = graph->start[row], high = graph->start[row + 1];
    while (low < high) {
        const int64_t middle = low + (high - low) / 2;
        if (graph->neighbour[middle] < neighbour)
            low = middle + 1;
        else
            high = middle;
    }
    return low < graph->start[row + 1] && graph->neighbour[low] == neighbour ? low : -1;
}

#endif
