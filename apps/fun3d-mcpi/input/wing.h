/*
 * wing.h - the triangulated surface that wing.c extrudes.
 */
#ifndef MCPI_WING_H
#define MCPI_WING_H

#include <stdint.h>

/* Side s of triangle t runs from corner s to corner s + 1; its number is 3t + s. */
typedef struct {
    int64_t columns, triangles;
    int32_t *corner;    /* [triangles][3] vertex columns, counter-clockwise from outside */
    int32_t *across;    /* [triangles][3] the same side as its other triangle numbers it, or -1 */
    double *u;          /* [columns][3] on the unit sphere, y >= 0 */
    uint64_t *priority; /* [columns], no two the same */
} mcpi_surface_t;

static inline int64_t mcpi_next_side(int64_t side)
{
    return side % 3 == 2 ? side - 2 : side + 1;
}

static inline int64_t mcpi_previous_side(int64_t side)
{
    return side % 3 == 0 ? side + 2 : side - 1;
}

/* Makes half an octahedron sphere of n: 2n^2 + 2n + 1 columns, 4n^2 triangles. */
void mcpi_surface_new(mcpi_surface_t *s, int64_t n, uint64_t seed);
void mcpi_surface_destroy(mcpi_surface_t *s);

#endif
