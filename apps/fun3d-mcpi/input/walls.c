/*
 * walls.c - which vertices are walls, and how far the others are from them.
 */
#include "config.h"
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

void mcpi_find_areas(const rt_mesh_t *mesh, const char *tags, const uint8_t *own, double *area)
{
    mcpi_incidence_t in = mcpi_incidence_new(mesh);
    memset(area, 0, 3 * (size_t)mesh->vertices * sizeof *area);
    for (int t = 0; t < RT_FACES; t++) {
        const int size = rt_face_size((rt_face_t)t);
        for (int64_t f = 0; f < mesh->faces[t]; f++) {
            const int32_t *vertex = mesh->face[t] + size * f;
            int k = 0;
            while (k < size && !own[vertex[k]])
                k++;
            if (k < size && mcpi_has_this_tag(tags, mesh->tag[t][f]))
                add_face(mesh, vertex, size, way_of(&in, vertex, size, vertex[k]), area);
        }
    }
    mcpi_incidence_destroy(&in);
}

/* --- distance, in rounds --- */

static double distance(const double *a, const double *b)
{
    double square = 0;
    for (int d = 0; d < 3; d++)
        square += (a[d] - b[d]) * (a[d] - b[d]);
    return sqrt(square);
}

/* What vertices know of the walls. In each round a vertex looks at its neighbours as they were
 * before the round, so the result depends on no order of vertices or ranks. */
typedef struct {
    const mcpi_graph_t *graph;
    const mcpi_piece_t *piece;
    const double *x;
    double *far;
    double *nearest; /* [vertices][5] the nearest wall vertex; in which round it was found, and in
                         which the first one */
    int32_t *list;   /* [n] own vertices to look at in this round */
    double *found;   /* [n][5] what they found */
    int32_t *listed; /* [vertices] the last round in which a vertex was listed */
    int32_t *edge;   /* [edges] own vertices with ghosts */
    int64_t n, edges;
} search_t;
enum { FOUND = 3, FIRST = 4, KNOWN = 5 }; /* components of nearest */

static bool is_new(const search_t *s, int64_t v, int round)
{
    return s->nearest[KNOWN * v + FOUND] == round;
}

static void look_at(search_t *s, int32_t v, int round)
{
    if (s->piece->own[v] && s->listed[v] != round)
        s->list[s->n++] = v;
    s->listed[v] = round;
}

/* Lists the neighbours of what is new since the last round. */
static void list_neighbours(search_t *s, const int32_t *fresh, int64_t n, int round)
{
    const mcpi_graph_t *graph = s->graph;
    s->n = 0;
    for (int64_t i = 0; i < n; i++)
        for (int64_t k = graph->start[fresh[i]]; k < graph->start[fresh[i] + 1]; k++)
            look_at(s, graph->neighbour[k], round);
    for (int64_t i = 0; i < s->edges; i++)
        for (int64_t k = graph->start[s->edge[i]]; k < graph->start[s->edge[i] + 1]; k++)
            if (!s->piece->own[graph->neighbour[k]] && is_new(s, graph->neighbour[k], round - 1))
                look_at(s, s->edge[i], round);
}

/* Tries the wall vertices that v's neighbours have found in the last round. */
static void try_walls(const search_t *s, int32_t v, int round, double found[KNOWN])
{
    double least = s->far[v];
    found[FOUND] = -1;
    for (int64_t k = s->graph->start[v]; k < s->graph->start[v + 1]; k++) {
        const int32_t w = s->graph->neighbour[k];
        const double *wall = s->nearest + KNOWN * (int64_t)w;
        if (!is_new(s, w, round - 1))
            continue;
        const double d = distance(s->x + 3 * (int64_t)v, wall);
        if (least >= 0 && d >= least)
            continue;
        least = d;
        memcpy(found, wall, 3 * sizeof *found);
        found[FOUND] = round;
    }
    found[FIRST] = s->far[v] < 0 ? round : s->nearest[KNOWN * (int64_t)v + FIRST];
}

/* Returns how many vertices of all ranks learned something; fresh: this rank's own. */
static int64_t search(search_t *s, int round, int32_t *fresh, int64_t *n)
{
    list_neighbours(s, fresh, *n, round);
#pragma omp parallel for schedule(static)
    for (int64_t i = 0; i < s->n; i++)
        try_walls(s, s->list[i], round, s->found + KNOWN * i);
    *n = 0;
    for (int64_t i = 0; i < s->n; i++) {
        const int32_t v = s->list[i];
        if (s->found[KNOWN * i + FOUND] < 0)
            continue;
        memcpy(s->nearest + KNOWN * (int64_t)v, s->found + KNOWN * i, KNOWN * sizeof *s->found);
        s->far[v] = distance(s->x + 3 * (int64_t)v, s->found + KNOWN * i);
        fresh[(*n)++] = v;
    }
    mcpi_piece_update(s->piece, RT_F64, KNOWN, s->nearest);
    int64_t all = *n;
    rt_comm_sum_i64(&all, 1);
    return all;
}

/* Sets what is known before the first round, and lists the walls in fresh. Returns how many. */
static int64_t start(search_t *s, const uint8_t *wall, int32_t *fresh)
{
    int64_t n = 0;
    for (int64_t v = 0; v < s->piece->vertices; v++) {
        double *nearest = s->nearest + KNOWN * v;
        s->far[v] = wall[v] ? 0 : -1;
        s->listed[v] = 0;
        memcpy(nearest, s->x + 3 * v, 3 * sizeof *nearest);
        nearest[FOUND] = wall[v] ? 0 : -1;
        nearest[FIRST] = 0;
        if (!s->piece->own[v])
            continue;
        if (wall[v])
            fresh[n++] = (int32_t)v;
        if (mcpi_has_ghost(s->graph, s->piece, v))
            s->edge[s->edges++] = (int32_t)v;
    }
    mcpi_piece_update(s->piece, RT_F64, KNOWN, s->nearest);
    return n;
}

/* A vertex tries the nearest wall vertices of its neighbours: accurate enough for a made-up flow. */
void mcpi_find_distance(const mcpi_graph_t *graph, const mcpi_piece_t *piece, const double *x,
                        const uint8_t *wall, double *far, uint8_t *odd)
{
    const size_t n = (size_t)piece->vertices, own = (size_t)piece->owned;
    search_t s = {.graph = graph, .piece = piece, .x = x, .far = far};
    s.nearest = RT_NEW(double, KNOWN *n, RT_HOST);
    s.list = RT_NEW(int32_t, own, RT_HOST);
    s.found = RT_NEW(double, KNOWN *own, RT_HOST);
    s.listed = RT_NEW(int32_t, n, RT_HOST);
    s.edge = RT_NEW(int32_t, own, RT_HOST);
    int32_t *fresh = RT_NEW(int32_t, own, RT_HOST);
    int64_t count = start(&s, wall, fresh);
    for (int round = 1; search(&s, round, fresh, &count) > 0;)
        round++;
    for (size_t v = 0; v < n; v++) {
        const double *nearest = s.nearest + KNOWN * v;
        far[v] = nearest[FOUND] < 0 ? -1 : distance(x + 3 * v, nearest);
        odd[v] = (uint8_t)((int64_t)nearest[FIRST] % 2);
    }
    RT_FREE(s.nearest, RT_HOST);
    RT_FREE(s.list, RT_HOST);
    RT_FREE(s.found, RT_HOST);
    RT_FREE(s.listed, RT_HOST);
    RT_FREE(s.edge, RT_HOST);
    RT_FREE(fresh, RT_HOST);
}
