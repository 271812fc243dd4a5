/*
 * surface.c - half a sphere in triangles, for the wing: an octahedron whose faces are divided and
 * projected, with some edges flipped so that vertices have different numbers of neighbours.
 */
#include "config.h"
#include "input.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "wing.h"

enum { FLIP_STREAM = 1, PRIORITY_STREAM = 2 }; /* random numbers of one seed */

/* Returns the number of vertex (i, j). Half an octahedron has the vertices |i| + |j| <= n, numbered
 * by i, then by j. */
static int64_t column_of(int64_t n, int64_t i, int64_t j)
{
    /* rows i' < i have 1, 3, .. 2n + 1, 2n - 1, .. vertices */
    int64_t below = i + n, above = n - i;
    int64_t start = i <= 0 ? below * below : 2 * n * n + 2 * n + 1 - (above + 1) * (above + 1);
    return start + j + (n - llabs(i));
}

/* Sines give equal angles along the edges of the octahedron, and exactly y = 0 on the plane. */
static void make_directions(const mcpi_surface_t *s, int64_t n)
{
#pragma omp parallel for schedule(static)
    for (int64_t i = -n; i <= n; i++)
        for (int64_t j = llabs(i) - n; j <= n - llabs(i); j++) {
            double quarter = acos(0.0) / (double)n, *u = s->u + 3 * column_of(n, i, j);
            u[0] = sin(quarter * (double)i);
            u[1] = sin(quarter * (double)(n - llabs(i) - llabs(j)));
            u[2] = sin(quarter * (double)j);
            double length = sqrt(u[0] * u[0] + u[1] * u[1] + u[2] * u[2]);
            for (int d = 0; d < 3; d++)
                u[d] /= length;
        }
}

/* Makes four quarters, each a triangle of n rows; those with one mirrored axis are turned over. */
static void make_triangles(const mcpi_surface_t *s, int64_t n)
{
    int32_t *corner = s->corner;
    for (int quarter = 0; quarter < 4; quarter++) {
        int64_t a = quarter & 1 ? -1 : 1, b = quarter & 2 ? -1 : 1;
        int second = a == b ? 2 : 1, third = 3 - second;
        for (int64_t i = 0; i < n; i++)
            for (int64_t j = 0; i + j < n; j++) {
                corner[0] = (int32_t)column_of(n, a * i, b * j);
                corner[second] = (int32_t)column_of(n, a * (i + 1), b * j);
                corner[third] = (int32_t)column_of(n, a * i, b * (j + 1));
                corner += 3;
                if (i + j == n - 1)
                    continue;
                corner[0] = (int32_t)column_of(n, a * (i + 1), b * (j + 1));
                corner[second] = (int32_t)column_of(n, a * i, b * (j + 1));
                corner[third] = (int32_t)column_of(n, a * (i + 1), b * j);
                corner += 3;
            }
    }
}

/* Finds the other triangle of each side, which has it in the other direction. At most 6 sides start
 * at a vertex. */
static void find_across(const mcpi_surface_t *s)
{
    int32_t *from = RT_NEW(int32_t, 6 * (size_t)s->columns, RT_HOST);
    for (int64_t c = 0; c < 6 * s->columns; c++)
        from[c] = -1;
    for (int64_t side = 0; side < 3 * s->triangles; side++) {
        int32_t *place = from + 6 * (int64_t)s->corner[side];
        while (*place >= 0)
            place++;
        *place = (int32_t)side;
    }
    for (int64_t side = 0; side < 3 * s->triangles; side++) {
        const int32_t *place = from + 6 * (int64_t)s->corner[mcpi_next_side(side)];
        s->across[side] = -1;
        for (int k = 0; k < 6 && place[k] >= 0; k++)
            if (s->corner[mcpi_next_side(place[k])] == s->corner[side])
                s->across[side] = place[k];
    }
    RT_FREE(from, RT_HOST);
}

/* Returns six times the volume that three directions span; positive: counter-clockwise from
 * outside. */
static double spanned(const mcpi_surface_t *s, int32_t a, int32_t b, int32_t c)
{
    const double *p = s->u + 3 * (int64_t)a, *q = s->u + 3 * (int64_t)b, *r = s->u + 3 * (int64_t)c;
    return p[0] * (q[1] * r[2] - q[2] * r[1]) + p[1] * (q[2] * r[0] - q[0] * r[2]) +
           p[2] * (q[0] * r[1] - q[1] * r[0]);
}

/* Edges per vertex: 4 .. 9; on the symmetry plane, of the half that exists, 3 .. 5. */
static const int8_t least_degree[2] = {4, 3}, most_degree[2] = {9, 5};

/* Replaces side ab of triangles abc and bad by cd. Only where the quad is clearly convex. */
static void flip(const mcpi_surface_t *s, int64_t side, int8_t *degree, const uint8_t *on_plane)
{
    int64_t other = s->across[side];
    int64_t abc = side - side % 3, bad = other - other % 3;
    int32_t a = s->corner[side], b = s->corner[other];
    int32_t c = s->corner[mcpi_previous_side(side)], d = s->corner[mcpi_previous_side(other)];
    double area = spanned(s, a, b, c) + spanned(s, b, a, d);
    if (degree[a] <= least_degree[on_plane[a]] || degree[b] <= least_degree[on_plane[b]] ||
        degree[c] >= most_degree[on_plane[c]] || degree[d] >= most_degree[on_plane[d]] ||
        spanned(s, a, d, c) < area / 8 || spanned(s, d, b, c) < area / 8)
        return;
    degree[a]--;
    degree[b]--;
    degree[c]++;
    degree[d]++;
    int32_t ad = s->across[mcpi_next_side(other)], db = s->across[mcpi_previous_side(other)];
    int32_t bc = s->across[mcpi_next_side(side)], ca = s->across[mcpi_previous_side(side)];
    const int32_t corner[2][3] = {{a, d, c}, {d, b, c}};
    const int32_t across[2][3] = {{ad, (int32_t)bad + 2, ca}, {db, bc, (int32_t)abc + 1}};
    for (int half = 0; half < 2; half++)
        for (int k = 0; k < 3; k++) {
            int64_t at = (half == 0 ? abc : bad) + k;
            s->corner[at] = corner[half][k];
            s->across[at] = across[half][k];
            if (across[half][k] >= 0)
                s->across[across[half][k]] = (int32_t)at;
        }
}

/* Flips one side in ten. One thread: a flip changes what the next one finds, and there are few. */
static void flip_edges(const mcpi_surface_t *s, uint64_t seed)
{
    int8_t *degree = RT_NEW(int8_t, (size_t)s->columns, RT_HOST);
    uint8_t *on_plane = RT_NEW(uint8_t, (size_t)s->columns, RT_HOST);
    memset(degree, 0, (size_t)s->columns);
    memset(on_plane, 0, (size_t)s->columns);
    for (int64_t side = 0; side < 3 * s->triangles; side++) {
        degree[s->corner[side]]++;
        if (s->across[side] < 0) { /* the plane: this edge has no side that starts at its end */
            degree[s->corner[mcpi_next_side(side)]]++;
            on_plane[s->corner[side]] = 1;
        }
    }
    for (int64_t side = 0; side < 3 * s->triangles; side++)
        if (s->across[side] >= 0 && rt_hash((uint64_t)side, rt_hash(FLIP_STREAM, seed)) % 10 == 0)
            flip(s, side, degree, on_plane);
    RT_FREE_ALL(RT_HOST, degree, on_plane);
}

void mcpi_surface_new(mcpi_surface_t *s, int64_t n, uint64_t seed)
{
    s->columns = 2 * n * n + 2 * n + 1;
    s->triangles = 4 * n * n;
    s->corner = RT_NEW(int32_t, 3 * (size_t)s->triangles, RT_HOST);
    s->across = RT_NEW(int32_t, 3 * (size_t)s->triangles, RT_HOST);
    s->u = RT_NEW(double, 3 * (size_t)s->columns, RT_HOST);
    s->priority = RT_NEW(uint64_t, (size_t)s->columns, RT_HOST);
    make_directions(s, n);
    make_triangles(s, n);
    find_across(s);
    flip_edges(s, seed);
    for (int64_t c = 0; c < s->columns; c++)
        s->priority[c] = rt_hash((uint64_t)c, rt_hash(PRIORITY_STREAM, seed)) << 32 | (uint64_t)c;
}
