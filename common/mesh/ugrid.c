/*
 * mesh/ugrid.c - an AFLR3 file (UG_IO's UGRID) without record marks, 8-byte reals and 4-byte
 * integers: .b8.ugrid (big endian) and .lb8.ugrid (little endian), from the description of the
 * format at the SimCenter of Mississippi State University.
 *
 * A file has seven counts: nodes, triangles, quads, tetrahedra, pyramids, prisms, hexahedra. Then
 * come coordinates, nodes of triangles and of quads, a surface number for each of them, and nodes
 * of the volume elements by type. Nodes are numbered from 1. Records that may follow (boundary
 * layers, reconnection) are ignored.
 *
 * The order of vertices is ours, except in pyramids. A pyramid of AFLR3 is a prism 1 2 3 4 5 6
 * whose node 6 was moved onto 3: it keeps the triangle 1 2 3, and 4 is above 1 and 5 above 2. So
 * the quadrilateral is 1 4 5 2, counter-clockwise as seen from the apex, 3.
 */
#include "config.h"
#include "mesh/builder.h"
#include <inttypes.h>
#include <string.h>

enum { COUNTS = 7, NODES = 0, TRIANGLES = 1, QUADS = 2, ELEMENTS = 3 };

static bool is_big_endian(void)
{
    const uint16_t one = 1;
    unsigned char byte;
    memcpy(&byte, &one, 1);
    return byte == 0;
}

static int64_t take_int(rt_scan_t *s)
{
    int32_t value;
    rt_scan_take(s, &value, sizeof value);
    return value;
}

/* Returns the bytes that these counts ask for, or -1 if there can be no such file. Each count is
 * below 2^31, so no sum overflows. */
static int64_t bytes_of(const int64_t *count)
{
    static const int64_t size[COUNTS] = {24, 16, 20, 16, 20, 24, 32};
    int64_t sum = 0;
    for (int i = 0; i < COUNTS; i++) {
        if (count[i] < 0)
            return -1;
        sum += count[i] * size[i];
    }
    return sum;
}

static bool counts(rt_scan_t *s, int64_t *count)
{
    static const char *const names[COUNTS] = {
        "nodes", "triangles", "quadrilaterals", "tetrahedra", "pyramids", "prisms", "hexahedra"};
    int64_t other[COUNTS];
    if (!rt_scan_need(s, COUNTS, 4, "the counts"))
        return false;
    rt_scan_t again = *s;
    again.swap = !s->swap;
    for (int i = 0; i < COUNTS; i++) {
        count[i] = take_int(s);
        other[i] = take_int(&again);
    }
    const int64_t left = (int64_t)rt_scan_left(s), bytes = bytes_of(count);
    if (bytes >= 0 && bytes <= left && count[NODES] > 0)
        return true;
    if (bytes_of(other) >= 0 && bytes_of(other) <= left && other[NODES] > 0)
        return rt_scan_fail_file(s, "written in the other byte order, not in that of its name");
    for (int i = 0; i < COUNTS; i++)
        if (count[i] < 0 || (i == NODES && count[i] == 0))
            return rt_scan_fail(s, "%" PRId64 " %s", count[i], names[i]);
    return rt_scan_fail(s, "the counts ask for %" PRId64 " bytes, and %" PRId64 " follow", bytes,
                        left);
}

/* Reads `size` nodes; the a-th becomes vertex[place[a]]. */
static bool nodes_of(rt_scan_t *s, const rt_mesh_draft_t *draft, int size, const int *place,
                     int32_t *vertex)
{
    for (int a = 0; a < size; a++) {
        const int64_t node = take_int(s);
        if (node < 1 || node > draft->mesh.vertices) {
            s->at -= 4;
            return rt_scan_fail(s, "there is no node %" PRId64 ": nodes are 1 to %" PRId64, node,
                                draft->mesh.vertices);
        }
        vertex[place[a]] = (int32_t)(node - 1);
    }
    return true;
}

static const int in_order[8] = {0, 1, 2, 3, 4, 5, 6, 7};

static bool faces(rt_scan_t *s, rt_mesh_draft_t *draft, const int64_t *count)
{
    for (int t = 0; t < RT_FACES; t++) {
        const int64_t n = count[TRIANGLES + t];
        if (!rt_mesh_reserve_faces(s, draft, t, n))
            return false;
        for (int64_t f = 0; f < n; f++)
            if (!nodes_of(s, draft, rt_face_size(t), in_order, rt_mesh_add_face(s, draft, t, 0)))
                return false;
    }
    for (int t = 0; t < RT_FACES; t++)
        for (int64_t f = 0; f < count[TRIANGLES + t]; f++)
            draft->mesh.tag[t][f] = (int32_t)take_int(s);
    return true;
}

static bool elements(rt_scan_t *s, rt_mesh_draft_t *draft, const int64_t *count)
{
    static const int pyramid[5] = {0, 3, 4, 1, 2}; /* see the head of this file */
    for (int t = 0; t < RT_ELEMENTS; t++) {
        const int64_t n = count[ELEMENTS + t];
        if (n > 0 && !rt_mesh_allows(draft, t)) {
            char name[24] = "a ";
            return rt_mesh_refuse_type(s, draft, 1, strcat(name, rt_element_name(t)),
                                       rt_element_size(t));
        }
        if (!rt_mesh_reserve_elements(s, draft, t, n))
            return false;
        for (int64_t e = 0; e < n; e++)
            if (!nodes_of(s, draft, rt_element_size(t), t == RT_PYRAMID ? pyramid : in_order,
                          rt_mesh_add_element(draft, t)))
                return false;
    }
    return true;
}

bool rt_mesh_ugrid_parse(rt_scan_t *s, rt_mesh_draft_t *draft, bool big_endian)
{
    int64_t count[COUNTS];
    s->binary = true;
    s->swap = big_endian != is_big_endian();
    if (s->at == s->end)
        return rt_scan_fail_file(s, "the file is empty");
    if (!counts(s, count))
        return false;
    rt_mesh_t *mesh = &draft->mesh;
    mesh->vertices = count[NODES];
    mesh->x = rt_scan_alloc(s, mesh->vertices, 3 * sizeof *mesh->x);
    for (int64_t v = 0; mesh->x && v < mesh->vertices; v++) {
        double *x = mesh->x + 3 * v;
        for (int d = 0; d < 3; d++)
            rt_scan_take(s, x + d, sizeof *x);
        if (!rt_mesh_scan_finite(s, x, v + 1))
            return false;
    }
    return mesh->x && faces(s, draft, count) && elements(s, draft, count);
}
