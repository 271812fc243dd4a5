/* mesh/gmsh_2.c - $Nodes and $Elements of format 2.2. */
#include "config.h"
#include "mesh/gmsh.h"
#include <inttypes.h>
#include <string.h>

bool rt_gmsh2_nodes(rt_scan_t *s, rt_gmsh_t *g)
{
    int64_t n;
    rt_scan_skip_space(s);
    if (!rt_scan_int(s, &n, "the number of nodes") ||
        !rt_gmsh_allocate_nodes(s, g, n, s->binary ? 28 : 8) || !rt_scan_line_end(s) ||
        (s->binary && !rt_scan_need(s, n, 28, "the nodes")))
        return false;
    for (int64_t i = 0; i < n; i++) {
        if (s->binary)
            g->node_tag[i] = rt_gmsh_int(s);
        else {
            rt_scan_skip_space(s);
            if (!rt_scan_int(s, g->node_tag + i, "the number of a node"))
                return false;
        }
        if (!rt_gmsh_check_tag(s, g->node_tag[i], "a node") || !rt_gmsh_coordinates(s, g, i, 0))
            return false;
    }
    return true;
}

/* Reads a line: tag type ntags tags nodes. The first tag is the physical group. */
static bool element_2(rt_scan_t *s, rt_gmsh_t *g)
{
    int64_t tag, type, tags, value, physical = 0;
    rt_scan_skip_space(s);
    if (!rt_scan_int(s, &tag, "the number of an element") ||
        !rt_scan_int(s, &type, "the type of an element") || !rt_gmsh_check_type(s, g, tag, type))
        return false;
    if (!rt_gmsh_is_used(rt_gmsh_shape_of(type)))
        return rt_scan_skip_line(s), true;
    if (!rt_scan_int(s, &tags, "the number of tags"))
        return false;
    if (tags < 0)
        return rt_scan_fail(s, "element %" PRId64 " has %" PRId64 " tags", tag, tags);
    for (int64_t i = 0; i < tags; i++) { /* fails at the end of the line at the latest */
        if (!rt_scan_int(s, &value, "a tag of an element"))
            return false;
        physical = i == 0 ? value : physical;
    }
    return rt_gmsh_add_line(s, g, tag, rt_gmsh_shape_of(type), physical);
}

/* Reads a header type, n, ntags, then n times tag, tags, nodes: all int. Adds n to `done`. */
static bool element_block_2(rt_scan_t *s, rt_gmsh_t *g, int64_t *done)
{
    int64_t node[8];
    if (!rt_scan_need(s, 3, 4, "the header of a block of elements"))
        return false;
    const int64_t type = rt_gmsh_int(s), n = rt_gmsh_int(s), tags = rt_gmsh_int(s);
    const rt_gmsh_shape_t shape = rt_gmsh_shape_of(type);
    if (n == 0 || !rt_gmsh_check_block(s, n, g->total - *done, "elements"))
        return rt_scan_fail(s, "a block of 0 elements");
    if (tags < 0)
        return rt_scan_fail(s, "a block of elements with %" PRId64 " tags", tags);
    if (!rt_scan_need(s, 1, 4, "a block of elements"))
        return false;
    int32_t first;
    memcpy(&first, s->at, sizeof first);
    if (!rt_gmsh_check_type(s, g, first, type))
        return false;
    const int64_t ints = 1 + tags + shape.nodes;
    if (!rt_scan_need(s, n, 4 * ints, "a block of elements"))
        return false;
    *done += n;
    if (!rt_gmsh_is_used(shape))
        return s->at += 4 * ints * n, true;
    if (!rt_gmsh_reserve(s, g, shape, n))
        return false;
    for (int64_t e = 0; e < n; e++) {
        const int64_t tag = rt_gmsh_int(s), physical = tags > 0 ? rt_gmsh_int(s) : 0;
        s->at += tags > 0 ? 4 * (tags - 1) : 0;
        for (int a = 0; a < shape.nodes; a++)
            node[a] = rt_gmsh_int(s);
        if (!rt_gmsh_add(s, g, tag, shape, node, physical))
            return false;
    }
    return true;
}

bool rt_gmsh2_elements(rt_scan_t *s, rt_gmsh_t *g)
{
    int64_t n, done = 0;
    rt_scan_skip_space(s);
    if (!rt_scan_int(s, &n, "the number of elements") || !rt_gmsh_count_elements(s, g, n, 8) ||
        !rt_scan_line_end(s))
        return false;
    if (s->binary) {
        while (done < n)
            if (!element_block_2(s, g, &done))
                return false;
        return true;
    }
    for (; done < n; done++)
        if (!element_2(s, g))
            return false;
    return true;
}
