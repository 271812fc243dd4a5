/*
 * flow_test.h - small meshes of all element types, the flow on them, and its rows: for the tests of
 * what is made of a flow.
 *
 * The meshes have bent quads and vertices moved at random, so that nothing holds by symmetry.
 */
#ifndef MCPI_FLOW_TEST_H
#define MCPI_FLOW_TEST_H

#include <math.h>
#include <string.h>
#include "apps/fun3d-mcpi/input/blocks.h"
#include "tests/common/check.h"

/* --- meshes --- */

static inline rt_mesh_t *mesh_new(int64_t vertices, int64_t most)
{
    rt_mesh_t *mesh = RT_NEW(rt_mesh_t, 1, RT_HOST);
    memset(mesh, 0, sizeof *mesh);
    mesh->vertices = vertices;
    mesh->x = RT_NEW(double, 3 * (size_t)vertices, RT_HOST);
    for (int t = 0; t < RT_ELEMENTS; t++)
        mesh->element[t] = RT_NEW(int32_t, (size_t)(8 * most), RT_HOST);
    for (int t = 0; t < RT_FACES; t++) {
        mesh->face[t] = RT_NEW(int32_t, (size_t)(4 * most), RT_HOST);
        mesh->tag[t] = RT_NEW(int32_t, (size_t)most, RT_HOST);
    }
    return mesh;
}

static inline void add(rt_mesh_t *mesh, rt_element_t type, const int32_t *vertex)
{
    const int size = rt_element_size(type);
    memcpy(mesh->element[type] + size * mesh->elements[type]++, vertex,
           (size_t)size * sizeof *vertex);
}

static inline void add_wall(rt_mesh_t *mesh, rt_face_t type, const int32_t *vertex)
{
    const int size = rt_face_size(type);
    mesh->tag[type][mesh->faces[type]] = MCPI_TAG_WALL;
    memcpy(mesh->face[type] + size * mesh->faces[type]++, vertex, (size_t)size * sizeof *vertex);
}

/* Makes one element; its corners are as given or moved a little. */
static inline rt_mesh_t *one_element(rt_element_t type, double moved)
{
    static const double corner[RT_ELEMENTS][24] = {
        {0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 1},
        {0, 0, 0, 1, 0, 0, 1, 1, 0, 0, 1, 0, 0.5, 0.5, 1},
        {0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 1, 1, 0, 1, 0, 1, 1},
        {0, 0, 0, 1, 0, 0, 1, 1, 0, 0, 1, 0, 0, 0, 1, 1, 0, 1, 1, 1, 1, 0, 1, 1}};
    static const int32_t own[8] = {0, 1, 2, 3, 4, 5, 6, 7};
    rt_mesh_t *mesh = mesh_new(rt_element_size(type), 1);
    for (int k = 0; k < 3 * rt_element_size(type); k++)
        mesh->x[k] = corner[type][k] + moved * rt_random((uint64_t)k, 3);
    add(mesh, type, own);
    return mesh;
}

/* Adds the cell whose first vertex is o: six tetrahedra, along all paths through it. */
static inline void add_tetrahedra(rt_mesh_t *mesh, int32_t o, const int step[3])
{
    static const int order[6][3] = {{0, 1, 2}, {1, 2, 0}, {2, 0, 1},
                                    {0, 2, 1}, {2, 1, 0}, {1, 0, 2}};
    for (int p = 0; p < 6; p++) {
        int32_t v[4] = {o};
        for (int m = 0; m < 3; m++)
            v[m + 1] = v[m] + step[order[p][m]];
        if (p >= 3) { /* odd permutations turn it inside out */
            const int32_t other = v[1];
            v[1] = v[2];
            v[2] = other;
        }
        add(mesh, RT_TETRAHEDRON, v);
    }
}

/* Adds the cell of these corners: a vertex in its middle, and six pyramids whose bases are its
 * faces. */
static inline void add_pyramids(rt_mesh_t *mesh, const int32_t h[8], double moved)
{
    static const int face[6][4] = {{0, 3, 2, 1}, {4, 5, 6, 7}, {0, 1, 5, 4},
                                   {1, 2, 6, 5}, {2, 3, 7, 6}, {3, 0, 4, 7}};
    const int32_t apex = (int32_t)mesh->vertices++;
    for (int d = 0; d < 3; d++) {
        mesh->x[3 * apex + d] = moved * rt_random((uint64_t)(3 * apex + d), 1);
        for (int m = 0; m < 8; m++)
            mesh->x[3 * apex + d] += mesh->x[3 * h[m] + d] / 8;
    }
    for (int f = 0; f < 6; f++) {
        const int32_t v[5] = {h[face[f][0]], h[face[f][3]], h[face[f][2]], h[face[f][1]], apex};
        add(mesh, RT_PYRAMID, v);
    }
}

/* Makes a unit cube of n cells in each direction; vertices inside are moved. Either tetrahedra, six
 * per cell, or mixed: hexahedra, a stack of prisms, and a stack of cells that are six pyramids
 * each. The bottom is a wall. */
static inline rt_mesh_t *cube(int n, bool mixed)
{
    const int s = n + 1, step[3] = {1, s, s * s};
    rt_mesh_t *mesh = mesh_new(s * s * s + n, 6 * n * n * n);
    for (int v = 0; v < s * s * s; v++) {
        const int at[3] = {v % s, v / s % s, v / s / s};
        bool inside = true;
        for (int d = 0; d < 3; d++)
            inside &= at[d] > 0 && at[d] < n;
        for (int d = 0; d < 3; d++)
            mesh->x[3 * v + d] =
                (at[d] + (inside ? 0.2 * rt_random((uint64_t)(3 * v + d), 1) : 0)) / n;
    }
    mesh->vertices = s * s * s;
    for (int cell = 0; cell < n * n * n; cell++) {
        const int i = cell % n, j = cell / n % n, k = cell / n / n, o = i + j * s + k * s * s;
        const int32_t h[8] = {o,         o + 1,         o + 1 + s,         o + s,
                              o + s * s, o + 1 + s * s, o + 1 + s + s * s, o + s + s * s};
        if (!mixed) {
            add_tetrahedra(mesh, o, step);
        } else if (i == 0 && j == 0) {
            add_pyramids(mesh, h, 0.1 / n);
        } else if (i == 1 && j == 1) {
            const int32_t one[6] = {h[0], h[1], h[2], h[4], h[5], h[6]};
            const int32_t two[6] = {h[0], h[2], h[3], h[4], h[6], h[7]};
            add(mesh, RT_PRISM, one);
            add(mesh, RT_PRISM, two);
        } else {
            add(mesh, RT_HEXAHEDRON, h);
        }
        const int32_t bottom[4] = {h[0], h[3], h[2], h[1]};
        const int32_t halves[2][3] = {{h[0], h[2], h[1]}, {h[0], h[3], h[2]}};
        if (k == 0 && mixed && !(i == 1 && j == 1))
            add_wall(mesh, RT_QUAD, bottom);
        else if (k == 0)
            for (int half = 0; half < 2; half++)
                add_wall(mesh, RT_TRIANGLE, halves[half]);
    }
    return mesh;
}

static inline mcpi_source_t *flow_on(const rt_mesh_t *mesh, int nb, const char *walls)
{
    const mcpi_flow_t flow = {.nb = nb, .cfl = 10, .mach = 0.8, .reynolds = 100, .walls = walls};
    return mcpi_flow_new(mesh, mcpi_piece_new(mesh->vertices, mesh->vertices), &flow);
}

/* --- rows --- */

typedef struct {
    double *D, *O; /* all rows, as in mcpi_matrix_t */
} rows_t;

static inline rows_t rows_new(const mcpi_source_t *source)
{
    const mcpi_graph_t *g = source->graph;
    const int nb2 = source->nb * source->nb;
    rows_t r = {RT_NEW(double, (size_t)(g->rows * nb2), RT_HOST),
                RT_NEW(double, (size_t)(g->start[g->rows] * nb2), RT_HOST)};
    rt_fill(r.O, RT_HOST, 0xff, (size_t)(g->start[g->rows] * nb2) * sizeof(double));
    rt_fill(r.D, RT_HOST, 0xff, (size_t)(g->rows * nb2) * sizeof(double));
#pragma omp parallel for schedule(dynamic, 1)
    for (int64_t v = 0; v < g->rows; v++)
        mcpi_source_row(source, v, r.D + v * nb2, r.O + g->start[v] * nb2);
    return r;
}

static inline void rows_destroy(rows_t *r)
{
    RT_FREE_ALL(RT_HOST, r->D, r->O);
}

/* --- blocks --- */

/* Computes Y = X Z. */
static inline void multiply(int nb, const double *X, const double *Z, double *Y)
{
    for (int j = 0; j < nb; j++)
        for (int i = 0; i < nb; i++) {
            double sum = 0;
            for (int k = 0; k < nb; k++)
                sum += X[k * nb + i] * Z[j * nb + k];
            Y[j * nb + i] = sum;
        }
}

/* Returns the largest |x - factor y|. */
static inline double differ(int n, const double *x, double factor, const double *y)
{
    double most = 0;
    for (int k = 0; k < n; k++)
        most = fmax(most, fabs(x[k] - factor * y[k]));
    return most;
}

#endif
