/*
 * walls.c - which vertices are walls, and how far the others are from them.
 */
#include "config.h"
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "flow.h"

/* Reads the next tag of a list and moves *at behind it and its comma. Returns false if it is no
 * tag. */
static bool next_tag(const char **at, long *tag)
{
    char *end;
    *tag = strtol(*at, &end, 10);
    if (end == *at || (*end != '\0' && *end != ',') || (*end == ',' && end[1] == '\0'))
        return false;
    *at = *end ? end + 1 : end;
    return true;
}

/* Returns the first tag, "" if there is none. */
static const char *first_tag(const char *walls)
{
    return walls && strcmp(walls, "none") != 0 ? walls : "";
}

static bool has_tag(const rt_mesh_t *mesh, long tag)
{
    for (int t = 0; t < RT_FACES; t++)
        for (int64_t f = 0; f < mesh->faces[t]; f++)
            if (mesh->tag[t][f] == tag)
                return true;
    return false;
}

bool mcpi_tags_check(const rt_mesh_t *mesh, const char *option, const char *tags, char *why,
                     size_t len)
{
    for (const char *at = first_tag(tags); *at;) {
        long tag;
        if (!next_tag(&at, &tag)) {
            snprintf(why, len, "--%s %s: not a list of boundary tags such as 1,3, nor none",
                     option, tags);
            return false;
        }
        if (!has_tag(mesh, tag)) {
            snprintf(why, len,
                     "--%s %s: of %" PRId64 " boundary faces none has the tag %ld; without "
                     "any: --%s none",
                     option, tags, mesh->faces[RT_TRIANGLE] + mesh->faces[RT_QUAD], tag, option);
            return false;
        }
    }
    return true;
}

bool mcpi_walls_check(const rt_mesh_t *mesh, const char *walls, char *why, size_t len)
{
    return mcpi_tags_check(mesh, "walls", walls, why, len);
}

bool mcpi_has_this_tag(const char *walls, int32_t tag)
{
    long number;
    for (const char *at = first_tag(walls); *at && next_tag(&at, &number);)
        if (number == tag)
            return true;
    return false;
}

void mcpi_find_walls(const rt_mesh_t *mesh, const char *walls, uint8_t *wall)
{
    memset(wall, 0, (size_t)mesh->vertices);
    for (int t = 0; t < RT_FACES; t++) {
        const int size = rt_face_size((rt_face_t)t);
        for (int64_t f = 0; f < mesh->faces[t]; f++)
            if (mcpi_has_this_tag(walls, mesh->tag[t][f]))
                for (int i = 0; i < size; i++)
                    wall[mesh->face[t][size * f + i]] = 1;
    }
}

/* Adds the parts of a face to its vertices: that of each reaches to the middles of its edges and to
 * the centroid, as the faces of the dual cells do. `way`: 1, or -1 for a face listed clockwise. */
static void add_face(const rt_mesh_t *mesh, const int32_t *vertex, int size, double way,
                     double *area)
{
    double centre[3] = {0};
    for (int i = 0; i < size; i++)
        for (int d = 0; d < 3; d++)
            centre[d] += mesh->x[3 * (int64_t)vertex[i] + d] / size;
    for (int i = 0; i < size; i++) {
        const int64_t p = vertex[i], q = vertex[(i + 1) % size];
        double a[3], b[3];
        for (int d = 0; d < 3; d++) {
            a[d] = mesh->x[3 * p + d] - centre[d];
            b[d] = mesh->x[3 * q + d] - centre[d];
        }
        for (int d = 0; d < 3; d++) {
            const int e = (d + 1) % 3, f = (d + 2) % 3;
            const double part = way * (a[e] * b[f] - a[f] * b[e]) / 4;
            area[3 * p + d] += part;
            area[3 * q + d] += part;
        }
    }
}

void mcpi_find_areas(const rt_mesh_t *mesh, const char *tags, const double *boundary, double *area)
{
    memset(area, 0, 3 * (size_t)mesh->vertices * sizeof *area);
    for (int t = 0; t < RT_FACES; t++) {
        const int size = rt_face_size((rt_face_t)t);
        for (int64_t f = 0; f < mesh->faces[t]; f++) {
            const int32_t *vertex = mesh->face[t] + size * f;
            if (!mcpi_has_this_tag(tags, mesh->tag[t][f]))
                continue;
            /* Files may list faces either way round. */
            const double *x[3] = {mesh->x + 3 * (int64_t)vertex[0],
                                  mesh->x + 3 * (int64_t)vertex[1],
                                  mesh->x + 3 * (int64_t)vertex[2]};
            double out = 0;
            for (int i = 0; i < size; i++)
                for (int d = 0; d < 3; d++) {
                    const int e = (d + 1) % 3, g = (d + 2) % 3;
                    out += boundary[3 * (int64_t)vertex[i] + d] *
                           ((x[1][e] - x[0][e]) * (x[2][g] - x[0][g]) -
                            (x[1][g] - x[0][g]) * (x[2][e] - x[0][e]));
                }
            add_face(mesh, vertex, size, out < 0 ? -1 : 1, area);
        }
    }
}

static double distance(const double *x, int32_t a, int32_t b)
{
    double square = 0;
    for (int d = 0; d < 3; d++) {
        const double step = x[3 * (int64_t)a + d] - x[3 * (int64_t)b + d];
        square += step * step;
    }
    return sqrt(square);
}

/* Searches breadth first: a vertex tries the nearest wall vertices of its neighbours: accurate
 * enough for a made-up flow. */
void mcpi_find_distance(const mcpi_graph_t *graph, const double *x, const uint8_t *wall,
                        double *far)
{
    int32_t *queue = RT_NEW(int32_t, (size_t)graph->rows, RT_HOST);
    int32_t *nearest = RT_NEW(int32_t, (size_t)graph->rows, RT_HOST);
    int64_t head = 0, tail = 0;
    for (int64_t v = 0; v < graph->rows; v++) {
        far[v] = wall[v] ? 0 : -1;
        nearest[v] = (int32_t)v;
        if (wall[v])
            queue[tail++] = (int32_t)v;
    }
    while (head < tail) {
        const int64_t end = tail;
        for (int64_t k = head; k < end; k++)
            for (int64_t p = graph->start[queue[k]]; p < graph->start[queue[k] + 1]; p++) {
                const int32_t v = graph->neighbour[p], w = nearest[queue[k]];
                if (far[v] < 0)
                    queue[tail++] = v;
                else if (nearest[v] == w || far[v] < 1e-300)
                    continue;
                const double d = distance(x, v, w);
                if (far[v] < 0 || d < far[v]) {
                    far[v] = d;
                    nearest[v] = w;
                }
            }
        head = end;
    }
    RT_FREE(queue, RT_HOST);
    RT_FREE(nearest, RT_HOST);
}
