/*
 * tile.h - slopes and fluxes of nodes whose neighbours were fetched into fast memory, tile by tile.
 *
 * Idea: a node has twelve to twenty neighbours, and its tile's other nodes need most of them too. So
 * a block of threads fetches each member of the tile once, by regular reads, and gathers from its
 * own copy. A thread takes a face, wherever it is in the tile, so that none is idle where a node has
 * few; a face between two nodes of the tile is computed once. Then a node adds up its own faces, in
 * order. Faces are in an order in which those of a warp read different banks. Advantage: three
 * fluxes of ten are saved, and no thread waits for an irregular read of memory. Price: the copy
 * competes with threads for fast memory; areas are kept twice, by tile and by the rows of A.
 */
#ifndef MCPI_TILE_H
#define MCPI_TILE_H

#include "node.h"

/* Values of a member in the copy: an odd number, so that members are in different banks. */
enum { MCPI_SHORT_NODE = MCPI_Q + 4, MCPI_LONG_NODE = MCPI_Q + 3 + 3 * MCPI_Q };

/* Returns where value v of all members comes from: state, place, slopes; `stride` values apart. */
MCPI_FN const double *mcpi_tile_source(const mcpi_field_t *f, int v, int *stride)
{
    *stride = v < MCPI_Q ? MCPI_Q : v < MCPI_Q + 3 ? 3 : 3 * MCPI_Q;
    return v < MCPI_Q       ? f->w + v
           : v < MCPI_Q + 3 ? f->x + v - MCPI_Q
                            : f->gradient + v - MCPI_Q - 3;
}

/* Returns member m of a copy with `stride` values per member. */
MCPI_FN mcpi_node_t mcpi_tile_node(const double *copy, int stride, int m)
{
    const double *of = copy + stride * m;
    const mcpi_node_t node = {of, of + MCPI_Q, of + MCPI_Q + 3};
    return node;
}

/* Adds the slopes of every `lanes`th neighbour of own node m. near: which members its `entries`
 * neighbours are. */
MCPI_FN void mcpi_tile_slopes(const double *copy, int m, const uint16_t *near, int entries,
                              int lane, int lanes, double *sum)
{
    const mcpi_node_t here = mcpi_tile_node(copy, MCPI_SHORT_NODE, m);
    for (int k = lane; k < entries; k += lanes) {
        const mcpi_node_t there = mcpi_tile_node(copy, MCPI_SHORT_NODE, near[k]);
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

/* Values of a face, the flux and the rate, and how far the same values of all faces are apart:
 * three of a node's six are then in different banks. */
enum { MCPI_FACE_VALUES = MCPI_Q + 1 };
static const int mcpi_faces_apart = MCPI_TILE_FACES + 3;

/* Computes what flows through face k of a tile, and its rate. */
MCPI_FN void mcpi_tile_flux(const double *copy, const mcpi_tile_face_t *face, int k, double *values)
{
    const mcpi_node_t here = mcpi_tile_node(copy, MCPI_LONG_NODE, (int)(face->ends & 0xffff));
    const mcpi_node_t there = mcpi_tile_node(copy, MCPI_LONG_NODE, (int)(face->ends >> 16));
    double F[MCPI_Q] = {0, 0, 0, 0, 0};
    values[MCPI_Q * mcpi_faces_apart + k] = mcpi_face_flux(&here, &there, face->n, F);
    for (int v = 0; v < MCPI_Q; v++)
        values[v * mcpi_faces_apart + k] = F[v];
}

/* Adds up what flows out of the node at that place through all its faces, and the rates: three of
 * the six values, those from `from` on. */
MCPI_FN void mcpi_tile_collect(const mcpi_tiles_t *t, const double *values, int64_t place, int from,
                               double *sum)
{
    for (int32_t k = t->part_first[place]; k < t->part_first[place + 1]; k++) {
        const int face = t->part[k] >> 1;
        const bool inwards = t->part[k] & 1;
        for (int v = from; v < from + 3; v++) {
            const double value = values[v * mcpi_faces_apart + face];
            sum[v - from] += inwards && v < MCPI_Q ? -value : value;
        }
    }
}

/* Adds what friction takes out along every `lanes`th edge of own node m, which is at that place. */
MCPI_FN void mcpi_tile_friction(const mcpi_field_t *f, const double *copy, int m, int64_t place,
                                int lane, int lanes, double *F)
{
    const mcpi_tiles_t *t = &f->tiles;
    const mcpi_node_t here = mcpi_tile_node(copy, MCPI_LONG_NODE, m);
    for (int32_t k = t->entry[place] + lane; k < t->entry[place + 1]; k += lanes) {
        const mcpi_node_t there = mcpi_tile_node(copy, MCPI_LONG_NODE, t->near[k]);
        mcpi_edge_friction(&f->gas, &here, &there, t->viscous[k], F);
    }
}

#endif
