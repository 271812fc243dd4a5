/*
 * wing.h - the triangulated surface that wing.c extrudes, and the columns on it.
 */
#ifndef MCPI_WING_H
#define MCPI_WING_H

#include "input.h"

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

/* --- surface.c --- */

/* Makes half an octahedron sphere of n: 2n^2 + 2n + 1 columns, 4n^2 triangles. */
void mcpi_surface_new(mcpi_surface_t *s, int64_t n, uint64_t seed);

/* --- cells.c --- */

/* What elements are made from: the columns of triangles that have an own column of vertices. */
typedef struct {
    const mcpi_wing_t *wing;
    mcpi_surface_t s;
    int32_t *height; /* [triangles] */
    uint8_t *own;    /* [columns] */
    int64_t *base;   /* [columns] vertex of level 0; -1: the mesh has none of this column */
} mcpi_former_t;

/* Returns whether a column of triangle t is own. */
static inline bool mcpi_is_here(const mcpi_former_t *f, int64_t t)
{
    const int32_t *corner = f->s.corner + 3 * t;
    return f->own[corner[0]] || f->own[corner[1]] || f->own[corner[2]];
}

/* Returns height[triangles]: how many cells from the wall are prisms. */
int32_t *mcpi_heights_new(const mcpi_surface_t *s, int64_t layers);
/* Makes the elements that have an own vertex, and the faces. */
void mcpi_make_elements(const mcpi_former_t *f, rt_mesh_t *mesh);

#endif
