/*
 * tile.h - slopes and fluxes of nodes whose neighbours were fetched into fast memory, tile by tile.
 *
 * Idea: a node has twelve to twenty neighbours, and its tile's other nodes need most of them too. So
 * a block of threads fetches each member of the tile once, by regular reads, and gathers from its
 * own copy. A thread takes a face, wherever it is in the tile, so that none is idle where a node has
 * few; then a node adds up its own faces, in order. Advantage: no thread waits for an irregular read
 * of memory, and areas are read in one run. Price: the copy competes with threads for fast memory;
 * areas are kept twice, in the tiles' order and in that of the rows of A; a barrier per round.
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

/* Adds the slopes of every `lanes`th neighbour of the node at that place of the curve. near: which
 * members its neighbours are. */
MCPI_FN void mcpi_tile_slopes(const mcpi_field_t *f, const double *copy, const uint16_t *near,
                              int64_t place, int lane, int lanes, double *sum)
{
    const mcpi_tiles_t *t = &f->tiles;
    const mcpi_spot_t here = mcpi_tile_spot(copy, MCPI_SHORT_SPOT, t->own[place]);
    for (int k = lane; k < t->entry[place + 1] - t->entry[place]; k += lanes) {
        const mcpi_spot_t there = mcpi_tile_spot(copy, MCPI_SHORT_SPOT, near[k]);
        mcpi_add_slopes(&here, &there, sum);
    }
}

/* A face on its way. */
typedef struct {
    uint32_t ends;
    double n[3];
} mcpi_tile_face_t;

MCPI_FN mcpi_tile_face_t mcpi_tile_face(const mcpi_tiles_t *t, int64_t k)
{
    const mcpi_tile_face_t face = {t->ends[k],
                                   {t->area[3 * k], t->area[3 * k + 1], t->area[3 * k + 2]}};
    return face;
}

/* Values that a face has for its node: the flux and the rate. */
enum { MCPI_FACE_VALUES = MCPI_Q + 1 };

/* Computes what flows out through a face, and its part of the rate: values[v * apart]. */
MCPI_FN void mcpi_tile_flux(const mcpi_field_t *f, const double *copy, const mcpi_tile_face_t *face,
                            int apart, double *values)
{
    const mcpi_spot_t here = mcpi_tile_spot(copy, MCPI_LONG_SPOT, (int)(face->ends & 0xffff));
    const mcpi_spot_t there = mcpi_tile_spot(copy, MCPI_LONG_SPOT, (int)(face->ends >> 16));
    double F[MCPI_Q] = {0, 0, 0, 0, 0};
    values[MCPI_Q * apart] = mcpi_face_flux(&f->gas, &here, &there, face->n, F);
    for (int v = 0; v < MCPI_Q; v++)
        values[v * apart] = F[v];
}

/* Adds the values of faces begin .. end - 1 that are in a round of `faces` from `first` on: three of
 * the six, those from `from` on. */
MCPI_FN void mcpi_tile_collect(const double *values, int32_t first, int faces, int32_t begin,
                               int32_t end, int from, double *sum)
{
    const int32_t low = begin > first ? begin : first;
    const int32_t high = end < first + faces ? end : first + faces;
    for (int32_t k = low; k < high; k++)
        for (int v = 0; v < 3; v++)
            sum[v] += values[(from + v) * faces + k - first];
}

/* Adds what friction takes out along every `lanes`th edge of the node at that place. */
MCPI_FN void mcpi_tile_friction(const mcpi_field_t *f, const double *copy, int64_t place, int lane,
                                int lanes, double *F)
{
    const mcpi_tiles_t *t = &f->tiles;
    const mcpi_spot_t here = mcpi_tile_spot(copy, MCPI_LONG_SPOT, t->own[place]);
    for (int32_t k = t->entry[place] + lane; k < t->entry[place + 1]; k += lanes) {
        const mcpi_spot_t there = mcpi_tile_spot(copy, MCPI_LONG_SPOT, t->near[k]);
        mcpi_edge_friction(&f->gas, &here, &there, t->viscous[k], F);
    }
}

#endif
