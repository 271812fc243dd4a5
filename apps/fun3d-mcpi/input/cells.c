/*
 * cells.c - the elements of the wing: columns of cells, cut into tetrahedra, prisms and pyramids.
 *
 * Near the wall cells are prisms. Farther out they are split into three tetrahedra; their side
 * faces are cut along the diagonal from the bottom of the column with the lower random priority to
 * the top of the other. The number of prisms differs from column to column, so there are steps. A
 * cell next to a step becomes a pyramid and a tetrahedron, or, where that is impossible, a prism.
 */
#include "config.h"
#include <math.h>
#include <string.h>
#include "wing.h"

/* --- what becomes of the cells --- */

/* What a cell becomes: three tetrahedra; a pyramid on side 0, 1 or 2 and a tetrahedron; a prism. */
enum { SPLIT, MIXED, PRISM = MIXED + 3 };

/* Returns how many cells from the wall are prisms in a column. The wave is odd in (x, z), so the
 * mean does not depend on n. It swings by several layers, or by one where there are few layers. */
static int64_t prisms_planned(const mcpi_surface_t *s, int64_t layers, int64_t t)
{
    double x = 0, z = 0, swing = fmax(0.8, 0.16 * (double)layers);
    for (int a = 0; a < 3; a++) {
        x += s->u[3 * (int64_t)s->corner[3 * t + a]] / 3;
        z += s->u[3 * (int64_t)s->corner[3 * t + a] + 2] / 3;
    }
    double wave = 0.2 * x + 0.4 * sin(6 * x + 4 * z) + 0.4 * sin(8 * z - 3 * x);
    int64_t prisms = (int64_t)floor(0.525 * (double)layers + swing * wave + 0.5);
    return prisms < 1 ? 1 : prisms > layers ? layers : prisms;
}

/*
 * Returns what cell k of a column must be, given how high the prisms are. Next to one prism it is a
 * pyramid on the common side, at whose apex the diagonals of the two other sides must end. They do
 * only if the column of the apex has the highest or the lowest priority of the three. A new prism
 * never lets a neighbour stop being one, so the least set of prisms that fits is the same in any
 * order of the cells.
 */
static uint8_t cell_of(const mcpi_surface_t *s, const int32_t *height, int64_t t, int64_t k)
{
    int prisms = 0, side = 0;
    if (k < height[t])
        return PRISM;
    for (int a = 0; a < 3; a++)
        if (s->across[3 * t + a] >= 0 && k < height[s->across[3 * t + a] / 3]) {
            prisms++;
            side = a;
        }
    if (prisms == 0)
        return SPLIT;
    const int32_t *corner = s->corner + 3 * t;
    uint64_t a = s->priority[corner[side]], b = s->priority[corner[(side + 1) % 3]];
    uint64_t apex = s->priority[corner[(side + 2) % 3]];
    return prisms == 1 && (apex > a) == (apex > b) ? (uint8_t)(MIXED + side) : PRISM;
}

/* Each layer has all prisms of the layer above, since it has all that are planned there, and what fits is the same in every layer. So a
 * column's prisms are its first cells, and one number is all there is to keep of it. */
int32_t *mcpi_heights_new(const mcpi_surface_t *s, int64_t layers)
{
    int32_t *height = RT_NEW(int32_t, (size_t)s->triangles, RT_HOST);
#pragma omp parallel for schedule(static)
    for (int64_t t = 0; t < s->triangles; t++)
        height[t] = (int32_t)prisms_planned(s, layers, t);
    for (bool changed = true; changed;) {
        changed = false;
        for (int64_t t = 0; t < s->triangles; t++)
            while (height[t] < layers && cell_of(s, height, t, height[t]) == PRISM) {
                height[t]++;
                changed = true;
            }
    }
    return height;
}

/* --- elements and faces --- */

/* Where the elements and faces of a column go. */
typedef struct {
    int64_t element[RT_ELEMENTS], face[RT_FACES];
} place_t;

/* Puts an element, or only counts it where the mesh has no array yet. */
static void put_element(const rt_mesh_t *mesh, place_t *at, rt_element_t type,
                        const int32_t *vertex)
{
    const int size = rt_element_size(type);
    const int64_t to = size * at->element[type]++;
    if (mesh->element[type])
        memcpy(mesh->element[type] + to, vertex, (size_t)size * sizeof *vertex);
}

static void put_face(const rt_mesh_t *mesh, place_t *at, rt_face_t type, int tag,
                     const int32_t *vertex)
{
    const int size = rt_face_size(type);
    const int64_t to = at->face[type]++;
    if (!mesh->face[type])
        return;
    mesh->tag[type][to] = tag;
    memcpy(mesh->face[type] + size * to, vertex, (size_t)size * sizeof *vertex);
}

/* Splits a cell with vertices v[0 .. 2] below and v[3 .. 5] above. */
static void put_tetrahedra(const rt_mesh_t *mesh, place_t *at, const int32_t v[6],
                           const uint64_t priority[3])
{
    int low = 0, high = 0;
    for (int a = 1; a < 3; a++) {
        low = priority[a] < priority[low] ? a : low;
        high = priority[a] > priority[high] ? a : high;
    }
    int p = low, q = 3 - low - high, r = high, odd = q == (p + 2) % 3;
    /* right for p, q, r counter-clockwise; else two vertices are swapped */
    int32_t tetrahedron[3][4] = {{v[p], v[q], v[r], v[r + 3]},
                                 {v[p], v[q], v[r + 3], v[q + 3]},
                                 {v[p], v[p + 3], v[q + 3], v[r + 3]}};
    for (int t = 0; t < 3; t++) {
        int32_t *vertex = tetrahedron[t], first = vertex[0];
        if (odd) {
            vertex[0] = vertex[1];
            vertex[1] = first;
        }
        put_element(mesh, at, RT_TETRAHEDRON, vertex);
    }
}

static void put_mixed(const rt_mesh_t *mesh, place_t *at, const int32_t v[6],
                      const uint64_t priority[3], int side)
{
    int a = side, b = (side + 1) % 3, c = (side + 2) % 3;
    int32_t pyramid[5] = {v[a], v[a + 3], v[b + 3], v[b], v[c]};
    int32_t tetrahedron[4] = {v[a + 3], v[c + 3], v[b + 3], v[c]};
    if (priority[c] > priority[a]) { /* then diagonals end above c: the same, upside down */
        pyramid[4] = v[c + 3];
        tetrahedron[0] = v[a];
        tetrahedron[1] = v[b];
        tetrahedron[2] = v[c];
        tetrahedron[3] = v[c + 3];
    }
    put_element(mesh, at, RT_PYRAMID, pyramid);
    put_element(mesh, at, RT_TETRAHEDRON, tetrahedron);
}

/* Puts a side on the symmetry plane. Faces are counter-clockwise as seen from outside. */
static void put_side(const rt_mesh_t *mesh, place_t *at, const int32_t v[6],
                     const uint64_t priority[3], int side, bool whole)
{
    int a = side, b = (side + 1) % 3;
    if (whole) {
        put_face(mesh, at, RT_QUAD, MCPI_TAG_SYMMETRY,
                 (const int32_t[]){v[a], v[b], v[b + 3], v[a + 3]});
        return;
    }
    bool up = priority[a] < priority[b]; /* the diagonal rises from a to b */
    put_face(mesh, at, RT_TRIANGLE, MCPI_TAG_SYMMETRY,
             (const int32_t[]){v[a], v[b], up ? v[b + 3] : v[a + 3]});
    put_face(mesh, at, RT_TRIANGLE, MCPI_TAG_SYMMETRY,
             (const int32_t[]){up ? v[a] : v[b], v[b + 3], v[a + 3]});
}

static void put_column(const mcpi_former_t *f, int64_t t, place_t *at, const rt_mesh_t *mesh)
{
    const mcpi_surface_t *s = &f->s;
    const int64_t layers = f->wing->layers;
    bool own[3];
    uint64_t priority[3];
    int32_t v[6];
    if (!mcpi_is_here(f, t))
        return;
    for (int a = 0; a < 3; a++) {
        const int32_t column = s->corner[3 * t + a];
        own[a] = f->own[column];
        priority[a] = s->priority[column];
        v[a] = (int32_t)f->base[column];
        v[a + 3] = v[a] + 1;
    }
    put_face(mesh, at, RT_TRIANGLE, MCPI_TAG_WALL, (const int32_t[]){v[0], v[2], v[1]});
    for (int64_t k = 0; k < layers; k++) {
        const uint8_t is = cell_of(s, f->height, t, k);
        if (is == PRISM)
            put_element(mesh, at, RT_PRISM, v);
        else if (is == SPLIT)
            put_tetrahedra(mesh, at, v, priority);
        else
            put_mixed(mesh, at, v, priority, is - MIXED);
        for (int side = 0; side < 3; side++)
            if (s->across[3 * t + side] < 0 && (own[side] || own[(side + 1) % 3]))
                put_side(mesh, at, v, priority, side, is == PRISM);
        for (int a = 0; a < 6; a++)
            v[a]++;
    }
    put_face(mesh, at, RT_TRIANGLE, MCPI_TAG_FAR, v);
}

/* Counts each column's elements into at[triangles], then makes starts of them. */
static void find_places(const mcpi_former_t *f, place_t *at, rt_mesh_t *mesh)
{
#pragma omp parallel for schedule(static)
    for (int64_t t = 0; t < f->s.triangles; t++) {
        at[t] = (place_t){.element[0] = 0};
        put_column(f, t, at + t, mesh);
    }
    for (int64_t t = 0; t < f->s.triangles; t++) {
        const place_t count = at[t];
        for (int e = 0; e < RT_ELEMENTS; e++) {
            at[t].element[e] = mesh->elements[e];
            mesh->elements[e] += count.element[e];
        }
        for (int k = 0; k < RT_FACES; k++) {
            at[t].face[k] = mesh->faces[k];
            mesh->faces[k] += count.face[k];
        }
    }
}

void mcpi_make_elements(const mcpi_former_t *f, rt_mesh_t *mesh)
{
    place_t *at = RT_NEW(place_t, (size_t)f->s.triangles, RT_HOST);
    find_places(f, at, mesh);
    for (int e = 0; e < RT_ELEMENTS; e++)
        mesh->element[e] = RT_NEW(
            int32_t, (size_t)(rt_element_size((rt_element_t)e) * mesh->elements[e]), RT_HOST);
    for (int k = 0; k < RT_FACES; k++) {
        mesh->face[k] =
            RT_NEW(int32_t, (size_t)(rt_face_size((rt_face_t)k) * mesh->faces[k]), RT_HOST);
        mesh->tag[k] = RT_NEW(int32_t, (size_t)mesh->faces[k], RT_HOST);
    }
#pragma omp parallel for schedule(static)
    for (int64_t t = 0; t < f->s.triangles; t++)
        put_column(f, t, at + t, mesh);
    RT_FREE(at, RT_HOST);
}
