/*
 * tile.h - slopes and fluxes of a node whose neighbours were fetched into fast memory, tile by tile:
 * one text for CUDA and Kokkos.
 *
 * Idea: a node has twelve to twenty neighbours, and its tile's other nodes need most of them too. So
 * a team fetches each member of the tile once, by regular reads, and gathers from its own copy.
 * Advantage: a cache answers one irregular read after the other, the copy many at once. Price: the
 * copy competes with threads for fast memory, and areas are kept twice, in the tiles' order and in
 * that of the rows of A.
 */
#ifndef MCPI_TILE_H
#define MCPI_TILE_H

#include "node.h"

/* Values of a member in the copy: an odd number, so that members are in different banks. */
enum { MCPI_SHORT_SPOT = MCPI_Q + 4, MCPI_LONG_SPOT = MCPI_Q + 3 + 3 * MCPI_Q };

/* Returns where value v of all members comes from: state, place, slopes; `stride` values apart. */
MCPI_FN const double *mcpi_tile_source(const mcpi_field_t *f, int v, int *stride)
{
    *stride = v < MCPI_Q ? MCPI_Q : v < MCPI_Q + 3 ? 3 : 3 * MCPI_Q;
    return v < MCPI_Q       ? f->w + v
           : v < MCPI_Q + 3 ? f->x + v - MCPI_Q
                            : f->gradient + v - MCPI_Q - 3;
}

/* Returns member m of a copy with `stride` values per member. */
MCPI_FN mcpi_spot_t mcpi_tile_spot(const double *copy, int stride, int m)
{
    const double *of = copy + stride * m;
    const mcpi_spot_t spot = {of, of + MCPI_Q, of + MCPI_Q + 3};
    return spot;
}

/* Adds the slopes of every `lanes`th neighbour of the node at that place of the curve. */
MCPI_FN void mcpi_tile_slopes(const mcpi_field_t *f, const double *copy, int64_t place, int lane,
                              int lanes, double *sum)
{
    const mcpi_tiles_t *t = &f->tiles;
    const mcpi_spot_t here = mcpi_tile_spot(copy, MCPI_SHORT_SPOT, t->own[place]);
    for (int32_t k = t->entry[place] + lane; k < t->entry[place + 1]; k += lanes) {
        const mcpi_spot_t there = mcpi_tile_spot(copy, MCPI_SHORT_SPOT, t->near[k]);
        mcpi_add_slopes(&here, &there, sum);
    }
}

/* Adds what flows out through every `lanes`th face of the node; returns its part of the rate. */
MCPI_FN double mcpi_tile_flux(const mcpi_field_t *f, const double *copy, int64_t place, int lane,
                              int lanes, double *F)
{
    const mcpi_tiles_t *t = &f->tiles;
    const mcpi_spot_t here = mcpi_tile_spot(copy, MCPI_LONG_SPOT, t->own[place]);
    const int32_t first = t->entry[place], faces = t->face[place + 1] - t->face[place];
    double rate = 0;
    for (int32_t k = lane; k < faces; k += lanes) {
        const mcpi_spot_t there = mcpi_tile_spot(copy, MCPI_LONG_SPOT, t->near[first + k]);
        rate +=
            mcpi_face_flux(&f->gas, &here, &there, t->area + 3 * (int64_t)(t->face[place] + k), F);
    }
    if (f->gas.mu > 0)
        for (int32_t k = first + lane; k < t->entry[place + 1]; k += lanes) {
            const mcpi_spot_t there = mcpi_tile_spot(copy, MCPI_LONG_SPOT, t->near[k]);
            mcpi_edge_friction(&f->gas, &here, &there, t->viscous[k], F);
        }
    return rate;
}

#endif
