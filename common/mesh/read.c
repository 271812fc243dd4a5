/*
 * mesh/read.c - finds the reader of a mesh file, drops unused vertices, and checks meshes.
 *
 * Besides the file itself, memory stays below about 12 times the size of the file. The worst cases
 * are lists that have just grown.
 */
#include "config.h"
#include "mesh/mesh.h"
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/mem.h"
#include "mesh/builder.h"
#include "base/numbers.h"

enum {
    WORTH_THREADS = 4096
}; /* elements or vertices; with fewer, waking the threads costs more than it saves */

void rt_mesh_destroy(rt_mesh_t *mesh)
{
    if (!mesh)
        return;
    RT_FREE(mesh->x, RT_HOST);
    for (int t = 0; t < RT_ELEMENTS; t++)
        RT_FREE(mesh->element[t], RT_HOST);
    for (int t = 0; t < RT_FACES; t++) {
        RT_FREE(mesh->face[t], RT_HOST);
        RT_FREE(mesh->tag[t], RT_HOST);
    }
    RT_FREE(mesh, RT_HOST);
}

/* --- from the draft to the mesh --- */

/* Sets number[v] to the new number of vertex v, or to -1 if no element uses it. Returns how many
 * are used. */
static int64_t number_used(const rt_mesh_t *mesh, int32_t *number)
{
    int64_t used = 0;
    for (int64_t v = 0; v < mesh->vertices; v++)
        number[v] = -1;
    for (int t = 0; t < RT_ELEMENTS; t++)
        for (int64_t i = 0; i < rt_element_size(t) * mesh->elements[t]; i++)
            number[mesh->element[t][i]] = 0;
    for (int64_t v = 0; v < mesh->vertices; v++)
        if (number[v] == 0)
            number[v] = (int32_t)used++;
    return used;
}

/* Renumbers the vertices of faces, and drops faces with a vertex that no element uses. */
static void renumber_faces(rt_mesh_t *mesh, int type, const int32_t *number)
{
    const int size = rt_face_size(type);
    int64_t kept = 0;
    for (int64_t f = 0; f < mesh->faces[type]; f++) {
        bool used = true;
        for (int a = 0; a < size; a++) {
            const int32_t v = number[mesh->face[type][f * size + a]];
            mesh->face[type][kept * size + a] = v;
            used = used && v >= 0;
        }
        mesh->tag[type][kept] = mesh->tag[type][f];
        kept += used;
    }
    mesh->faces[type] = kept;
}

static void renumber(rt_mesh_t *mesh, const int32_t *number)
{
    for (int t = 0; t < RT_ELEMENTS; t++)
        for (int64_t i = 0; i < rt_element_size(t) * mesh->elements[t]; i++)
            mesh->element[t][i] = number[mesh->element[t][i]];
    for (int t = 0; t < RT_FACES; t++)
        renumber_faces(mesh, t, number);
    for (int64_t v = 0; v < mesh->vertices; v++)
        if (number[v] >= 0)
            memmove(mesh->x + 3 * (int64_t)number[v], mesh->x + 3 * v, 3 * sizeof *mesh->x);
}

static bool finish(rt_scan_t *s, rt_mesh_draft_t *draft)
{
    const rt_mesh_t *mesh = &draft->mesh;
    int64_t elements = 0;
    for (int t = 0; t < RT_ELEMENTS; t++)
        elements += mesh->elements[t];
    if (elements == 0)
        return rt_scan_fail_file(s, "there is no %s in it",
                                 draft->types == 1U << RT_TETRAHEDRON ? "tetrahedron"
                                                                      : "volume element");
    int32_t *number = rt_scan_alloc(s, mesh->vertices, sizeof *number);
    if (!number)
        return false;
    const int64_t used = number_used(mesh, number);
    renumber(&draft->mesh, number);
    draft->mesh.vertices = used;
    RT_FREE(number, RT_HOST);
    return true;
}

/* --- formats --- */

static bool parse(rt_scan_t *s, rt_mesh_draft_t *draft)
{
    const bool big = rt_ends_with(s->name, ".b8.ugrid");
    if (big || rt_ends_with(s->name, ".lb8.ugrid"))
        return rt_mesh_ugrid_parse(s, draft, big);
    if (rt_ends_with(s->name, ".ugrid"))
        return rt_scan_fail_file(s, "AFLR3: only .b8.ugrid and .lb8.ugrid can be read");
    rt_scan_skip_space(s);
    if (s->at == s->end)
        return rt_scan_fail_file(s, "the file is empty");
    if (*s->at == '$')
        return rt_mesh_gmsh_parse(s, draft);
    return rt_scan_fail_file(s, "neither a Gmsh file, which starts with $MeshFormat, nor named as "
                                "AFLR3 (.b8.ugrid, .lb8.ugrid); " RT_MESH_CONVERT);
}

rt_mesh_t *rt_mesh_parse(const char *name, const void *data, size_t bytes, unsigned types,
                         char *why, size_t len)
{
    const unsigned all = (1U << RT_ELEMENTS) - 1;
    rt_scan_t s = rt_scan_bytes(name, data, bytes, why, len);
    rt_mesh_draft_t draft = {.types = (types & all) != 0 ? types & all : all};
    rt_mesh_t *mesh = rt_scan_alloc(&s, 1, sizeof *mesh);
    if (!mesh)
        return NULL;
    const bool good = parse(&s, &draft) && finish(&s, &draft);
    *mesh = draft.mesh;
    if (good)
        return mesh;
    rt_mesh_destroy(mesh);
    return NULL;
}

rt_mesh_t *rt_mesh_read(const char *path, unsigned types, char *why, size_t len)
{
    size_t bytes;
    char *data = rt_scan_load(path, &bytes, why, len);
    rt_mesh_t *mesh = data ? rt_mesh_parse(path, data, bytes, types, why, len) : NULL;
    RT_FREE(data, RT_HOST);
    return mesh;
}

/* --- faults --- */

/* Flat is relative to the longest edge cubed: what rounding of the coordinates can make. Volumes
 * are in m^3. */
static const double flat = 1e-13, least_volume = 1e-30, most_volume = 1e30;

/* For each type: the corners that have three edges, and the other ends of these edges, in the order
 * in which the tetrahedron has a positive volume. The apex of a pyramid has four edges and is not
 * listed; it has to be above all corners of the base. */
typedef struct {
    int corners;
    int8_t at[8][4];
} corners_t;
static const corners_t corners_of[RT_ELEMENTS] = {
    {1, {{0, 1, 2, 3}}},
    {4, {{0, 1, 3, 4}, {1, 2, 0, 4}, {2, 3, 1, 4}, {3, 0, 2, 4}}},
    {6, {{0, 1, 2, 3}, {1, 2, 0, 4}, {2, 0, 1, 5}, {3, 5, 4, 0}, {4, 3, 5, 1}, {5, 4, 3, 2}}},
    {8,
     {{0, 1, 3, 4},
      {1, 2, 0, 5},
      {2, 3, 1, 6},
      {3, 0, 2, 7},
      {4, 7, 5, 0},
      {5, 4, 6, 1},
      {6, 5, 7, 2},
      {7, 6, 4, 3}}}};

typedef enum { SOUND, OUT_OF_RANGE, TWICE, INVERTED, FLAT, VOLUME } fault_t;

/* Returns det = e_1 . (e_2 x e_3) = 6 V of the tetrahedron, and its longest edge. */
static double determinant(const rt_mesh_t *mesh, const int32_t *vertex, const int8_t *at,
                          double *longest)
{
    double edge[3][3], square = 0;
    const double *x[4];
    for (int a = 0; a < 4; a++)
        x[a] = mesh->x + 3 * (int64_t)vertex[at[a]];
    for (int k = 0; k < 3; k++)
        for (int d = 0; d < 3; d++)
            edge[k][d] = x[k + 1][d] - x[0][d];
    for (int a = 0; a < 4; a++)
        for (int b = a + 1; b < 4; b++) {
            double sum = 0;
            for (int d = 0; d < 3; d++)
                sum += (x[b][d] - x[a][d]) * (x[b][d] - x[a][d]);
            square = fmax(square, sum);
        }
    *longest = sqrt(square);
    return edge[0][0] * (edge[1][1] * edge[2][2] - edge[1][2] * edge[2][1]) +
           edge[0][1] * (edge[1][2] * edge[2][0] - edge[1][0] * edge[2][2]) +
           edge[0][2] * (edge[1][0] * edge[2][1] - edge[1][1] * edge[2][0]);
}

/* Finds the first vertex that is out of range or occurs twice. */
static fault_t numbers_fault(const rt_mesh_t *mesh, const int32_t *vertex, int size, double *figure)
{
    for (int a = 0; a < size; a++) {
        *figure = vertex[a];
        if (vertex[a] < 0 || vertex[a] >= mesh->vertices)
            return OUT_OF_RANGE;
    }
    for (int a = 0; a < size; a++)
        for (int b = 0; b < a; b++) {
            *figure = vertex[a];
            if (vertex[a] == vertex[b])
                return TWICE;
        }
    return SOUND;
}

/* Finds what is wrong with an element, and the vertex or the volume (and its corner) that shows
 * it. */
static fault_t element_fault(const rt_mesh_t *mesh, int type, int64_t e, double *figure,
                             int *corner)
{
    const corners_t *corners = corners_of + type;
    const int32_t *vertex = mesh->element[type] + e * rt_element_size(type);
    const fault_t fault = numbers_fault(mesh, vertex, rt_element_size(type), figure);
    if (fault != SOUND)
        return fault;
    for (int c = 0; c < corners->corners; c++) {
        double longest;
        const double det = determinant(mesh, vertex, corners->at[c], &longest);
        *figure = det / 6;
        *corner = corners->at[c][0];
        if (!rt_finite(det)) /* the coordinates are finite, so they are too large */
            return VOLUME;
        if (fabs(det) < flat * longest * longest * longest)
            return FLAT;
        if (det < 0)
            return INVERTED;
        if (*figure < least_volume || *figure > most_volume)
            return VOLUME;
    }
    return SOUND;
}

static void describe(const rt_mesh_t *mesh, const char *name, fault_t fault, int64_t e,
                     double figure, const char *what, char *why, size_t len)
{
    switch (fault) {
    case OUT_OF_RANGE:
        snprintf(why, len, "%s %" PRId64 " has vertex %.0f, and vertices are 0 to %" PRId64, name,
                 e, figure, mesh->vertices - 1);
        break;
    case TWICE:
        snprintf(why, len, "%s %" PRId64 " has vertex %.0f twice", name, e, figure);
        break;
    case INVERTED:
        snprintf(why, len, "%s %" PRId64 " is inverted: %s is %g m^3", name, e, what, figure);
        break;
    case FLAT:
        snprintf(why, len, "%s %" PRId64 " is flat: %s is %g m^3", name, e, what, figure);
        break;
    default:
        snprintf(why, len, "%s %" PRId64 ": %s is %g m^3, outside %g to %g", name, e, what, figure,
                 least_volume, most_volume);
        break;
    }
}

static bool check_elements(const rt_mesh_t *mesh, int type, char *why, size_t len)
{
    const int64_t n = mesh->elements[type];
    int64_t first = INT64_MAX;
#pragma omp parallel for schedule(static) reduction(min : first) if (n > WORTH_THREADS)
    for (int64_t e = 0; e < n; e++) {
        double figure;
        int corner;
        if (e < first && element_fault(mesh, type, e, &figure, &corner) != SOUND)
            first = e;
    }
    if (first == INT64_MAX)
        return true;
    double figure = 0;
    int corner = 0;
    char what[64] = "its volume";
    const fault_t fault = element_fault(mesh, type, first, &figure, &corner);
    if (type != RT_TETRAHEDRON)
        snprintf(what, sizeof what, "the volume of the tetrahedron at its corner %d", corner);
    describe(mesh, rt_element_name(type), fault, first, figure, what, why, len);
    return false;
}

static bool check_faces(const rt_mesh_t *mesh, int type, char *why, size_t len)
{
    const int size = rt_face_size(type);
    for (int64_t f = 0; f < mesh->faces[type]; f++) {
        double figure;
        const fault_t fault = numbers_fault(mesh, mesh->face[type] + f * size, size, &figure);
        if (fault != SOUND) {
            describe(mesh, type == RT_TRIANGLE ? "boundary triangle" : "boundary quadrilateral",
                     fault, f, figure, "", why, len);
            return false;
        }
    }
    return true;
}

bool rt_mesh_check(const rt_mesh_t *mesh, char *why, size_t len)
{
    int64_t first = INT64_MAX;
#pragma omp parallel for schedule(static) reduction(min : first) if (mesh->vertices > WORTH_THREADS)
    for (int64_t v = 0; v < mesh->vertices; v++)
        if (v < first && rt_count_nonfinite(mesh->x + 3 * v, 3) > 0)
            first = v;
    if (first < INT64_MAX) {
        snprintf(why, len, "vertex %" PRId64 " has a coordinate that is not finite", first);
        return false;
    }
    for (int t = 0; t < RT_ELEMENTS; t++)
        if (!check_elements(mesh, t, why, len))
            return false;
    return check_faces(mesh, RT_TRIANGLE, why, len) && check_faces(mesh, RT_QUAD, why, len);
}
