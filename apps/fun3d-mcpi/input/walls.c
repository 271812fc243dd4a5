/*
 * walls.c - which vertices are walls, and the areas of the boundary with given tags.
 */
#include "config.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "blocks.h"

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
            snprintf(why, len, "--%s %s: not a list of boundary tags such as 1,3, nor none", option,
                     tags);
            return false;
        }
        if (!has_tag(mesh, tag)) {
            snprintf(why, len,
                     "--%s %s: of the boundary faces none has the tag %ld; without any: "
                     "--%s none",
                     option, tags, tag, option);
            return false;
        }
    }
    return true;
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

static bool has_vertex(const int32_t *vertex, int size, int32_t wanted)
{
    for (int i = 0; i < size; i++)
        if (vertex[i] == wanted)
            return true;
    return false;
}

/* Returns 1 if a face is listed counter-clockwise as seen from outside its element, -1 if
 * clockwise: files have both. 0: it is no face of an element of its own vertex v. */
static double way_of(const mcpi_incidence_t *in, const int32_t *face, int size, int32_t v)
{
    const double *x = in->mesh->x, *p = x + 3 * (int64_t)face[0], *q = x + 3 * (int64_t)face[1],
                 *r = x + 3 * (int64_t)face[2];
    for (int64_t place = in->first[v]; place < in->first[v + 1]; place++) {
        rt_element_t type;
        const int32_t *of = mcpi_incidence_get(in, place, &type);
        const int corners = rt_element_size(type);
        double inwards[3] = {0}, volume = 0;
        bool all = true;
        for (int i = 0; i < size; i++)
            all = all && has_vertex(of, corners, face[i]);
        if (!all)
            continue;
        for (int i = 0; i < corners; i++)
            for (int d = 0; d < 3; d++)
                inwards[d] += (x[3 * (int64_t)of[i] + d] - p[d]) / corners;
        for (int d = 0; d < 3; d++) {
            const int e = (d + 1) % 3, f = (d + 2) % 3;
            volume += inwards[d] * ((q[e] - p[e]) * (r[f] - p[f]) - (q[f] - p[f]) * (r[e] - p[e]));
        }
        return volume < 0 ? 1 : -1;
    }
    return 0;
}

void mcpi_find_areas(const mcpi_incidence_t *in, const char *tags, const uint8_t *own, double *area)
{
    const rt_mesh_t *mesh = in->mesh;
    memset(area, 0, 3 * (size_t)mesh->vertices * sizeof *area);
    for (int t = 0; t < RT_FACES; t++) {
        const int size = rt_face_size((rt_face_t)t);
        for (int64_t f = 0; f < mesh->faces[t]; f++) {
            const int32_t *vertex = mesh->face[t] + size * f;
            int k = 0;
            while (k < size && !own[vertex[k]])
                k++;
            if (k < size && mcpi_has_this_tag(tags, mesh->tag[t][f]))
                add_face(mesh, vertex, size, way_of(in, vertex, size, vertex[k]), area);
        }
    }
}
