/* mesh/gmsh_parts.c - the types of elements, and what the sections of a file have in common. */
#include "config.h"
#include "mesh/gmsh.h"
#include <inttypes.h>
#include "base/mem.h"

rt_gmsh_shape_t rt_gmsh_shape_of(int64_t type)
{
    static const rt_gmsh_shape_t shapes[] = {
        [1] = {1, 2, RT_GMSH_NONE, RT_GMSH_NONE, "a line"},
        [2] = {2, 3, RT_GMSH_NONE, RT_TRIANGLE, "a triangle"},
        [3] = {2, 4, RT_GMSH_NONE, RT_QUAD, "a quadrilateral"},
        [4] = {3, 4, RT_TETRAHEDRON, RT_GMSH_NONE, "a tetrahedron"},
        [5] = {3, 8, RT_HEXAHEDRON, RT_GMSH_NONE, "a hexahedron"},
        [6] = {3, 6, RT_PRISM, RT_GMSH_NONE, "a prism"},
        [7] = {3, 5, RT_PYRAMID, RT_GMSH_NONE, "a pyramid"},
        [8] = {1, 3, RT_GMSH_NONE, RT_GMSH_NONE, "a line"},
        [15] = {0, 1, RT_GMSH_NONE, RT_GMSH_NONE, "a point"},
        [26] = {1, 4, RT_GMSH_NONE, RT_GMSH_NONE, "a line"},
        [27] = {1, 5, RT_GMSH_NONE, RT_GMSH_NONE, "a line"},
        [28] = {1, 6, RT_GMSH_NONE, RT_GMSH_NONE, "a line"},
    };
    if (type > 0 && type < (int64_t)(sizeof shapes / sizeof *shapes) && shapes[type].nodes > 0)
        return shapes[type];
    return (rt_gmsh_shape_t){-1, 0, RT_GMSH_NONE, RT_GMSH_NONE, "of higher order or unknown"};
}

bool rt_gmsh_is_used(rt_gmsh_shape_t shape)
{
    return shape.dimension >= 2;
}

bool rt_gmsh_check_type(rt_scan_t *s, const rt_gmsh_t *g, int64_t tag, int64_t type)
{
    const rt_gmsh_shape_t shape = rt_gmsh_shape_of(type);
    if (shape.face != RT_GMSH_NONE || shape.dimension == 0 || shape.dimension == 1)
        return true;
    if (shape.element != RT_GMSH_NONE && rt_mesh_allows(g->draft, shape.element))
        return true;
    return rt_mesh_refuse_type(s, g->draft, tag, shape.name, type);
}

bool rt_gmsh_check_tag(rt_scan_t *s, int64_t tag, const char *what)
{
    return tag >= 0 || rt_scan_fail(s, "the number of %s is %" PRId64, what, tag);
}

/* Keeps a volume element's number, to find duplicates. */
static bool add_number(rt_scan_t *s, rt_gmsh_t *g, int64_t number)
{
    const int64_t room = rt_mesh_room(g->room, g->volumes + 1);
    if (room > g->room)
        g->tag = rt_scan_resize(s, g->tag, g->volumes, room, sizeof *g->tag);
    if (s->failed)
        return false;
    g->room = room;
    g->tag[g->volumes++] = number;
    return true;
}

bool rt_gmsh_add(rt_scan_t *s, rt_gmsh_t *g, int64_t tag, rt_gmsh_shape_t shape,
                 const int64_t *node, int64_t physical)
{
    int32_t *vertex;
    if (shape.face != RT_GMSH_NONE) {
        vertex = rt_mesh_add_face(s, g->draft, shape.face, physical);
    } else {
        if (!rt_gmsh_check_tag(s, tag, "an element") || !add_number(s, g, tag))
            return false;
        vertex = rt_mesh_add_element(s, g->draft, shape.element);
    }
    for (int a = 0; vertex && a < shape.nodes; a++) {
        vertex[a] = rt_gmsh_tags_find(&g->map, node[a]);
        if (vertex[a] < 0)
            return rt_scan_fail(s, "element %" PRId64 ": there is no node %" PRId64, tag, node[a]);
    }
    return vertex != NULL;
}

static bool nodes_of_line(rt_scan_t *s, rt_gmsh_shape_t shape, int64_t *node)
{
    for (int a = 0; a < shape.nodes; a++)
        if (!rt_scan_int(s, node + a, "a node of an element"))
            return false;
    return rt_scan_line_end(s);
}

bool rt_gmsh_add_line(rt_scan_t *s, rt_gmsh_t *g, int64_t tag, rt_gmsh_shape_t shape,
                      int64_t physical)
{
    int64_t node[8];
    const int64_t line = s->line;
    if (!nodes_of_line(s, shape, node))
        return false;
    const int64_t next = s->line;
    s->line = line;
    const bool good = rt_gmsh_add(s, g, tag, shape, node, physical);
    s->line = next;
    return good;
}

bool rt_gmsh_reserve(rt_scan_t *s, rt_gmsh_t *g, rt_gmsh_shape_t shape, int64_t n)
{
    return shape.face != RT_GMSH_NONE ? rt_mesh_reserve_faces(s, g->draft, shape.face, n)
                                      : rt_mesh_reserve_elements(s, g->draft, shape.element, n);
}

int64_t rt_gmsh_int(rt_scan_t *s)
{
    int32_t value;
    rt_scan_take(s, &value, sizeof value);
    return value;
}

int64_t rt_gmsh_size(rt_scan_t *s)
{
    uint64_t value;
    rt_scan_take(s, &value, sizeof value);
    return value > INT64_MAX ? -1 : (int64_t)value;
}

bool rt_gmsh_allocate_nodes(rt_scan_t *s, rt_gmsh_t *g, int64_t n, int64_t least)
{
    if (!rt_scan_count(s, n, least, "nodes"))
        return false;
    g->draft->mesh.vertices = n;
    g->draft->mesh.x = rt_scan_alloc(s, n, 3 * sizeof *g->draft->mesh.x);
    g->node_tag = g->draft->mesh.x ? rt_scan_alloc(s, n, sizeof *g->node_tag) : NULL;
    return g->node_tag != NULL;
}

bool rt_gmsh_coordinates(rt_scan_t *s, rt_gmsh_t *g, int64_t n, int more)
{
    double *x = g->draft->mesh.x + 3 * n, unused;
    if (s->binary) {
        rt_scan_take(s, x, 3 * sizeof *x);
        s->at += 8 * more;
        return rt_mesh_scan_finite(s, x, g->node_tag[n]);
    }
    for (int d = 0; d < 3 + more; d++)
        if (!rt_scan_real(s, d < 3 ? x + d : &unused, "a coordinate"))
            return false;
    return rt_mesh_scan_finite(s, x, g->node_tag[n]) && rt_scan_line_end(s);
}

bool rt_gmsh_count_elements(rt_scan_t *s, rt_gmsh_t *g, int64_t n, int64_t least)
{
    g->total = n;
    return rt_scan_count(s, n, least, "elements");
}

bool rt_gmsh_check_block(rt_scan_t *s, int64_t n, int64_t left, const char *what)
{
    if (n >= 0 && n <= left)
        return true;
    return rt_scan_fail(s, "a block of %" PRId64 " %s, where %" PRId64 " are left of the total", n,
                        what, left);
}
