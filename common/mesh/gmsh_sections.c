/* mesh/gmsh_sections.c - $Entities, $Nodes and $Elements. */
#include "config.h"
#include "mesh/gmsh.h"
#include <inttypes.h>
#include <string.h>

/* Reads n numbers of a header. In binary the last `sizes` of them are size_t; in ASCII all look
 * alike. */
static bool header(rt_scan_t *s, int64_t *value, int n, int sizes, const char *what)
{
    if (!s->binary) {
        rt_scan_skip_space(s);
        for (int i = 0; i < n; i++)
            if (!rt_scan_int(s, value + i, what))
                return false;
        rt_scan_skip_blanks(s); /* stays in the line, because the caller's messages are about it */
        return s->at == s->end || *s->at == '\n' || rt_scan_line_end(s);
    }
    if (!rt_scan_need(s, 1, 4 * (n - sizes) + 8 * sizes, what))
        return false;
    for (int i = 0; i < n; i++)
        value[i] = i < n - sizes ? rt_gmsh_int(s) : rt_gmsh_size(s);
    return true;
}

/* Reads nodes `first` .. `first + n - 1`: their tags, then their coordinates. */
static bool node_block(rt_scan_t *s, rt_gmsh_t *g, int64_t first, int64_t n, int more)
{
    if (s->binary && !rt_scan_need(s, n, 32 + 8 * more, "the nodes of a block"))
        return false;
    for (int64_t i = first; i < first + n; i++) {
        if (s->binary)
            g->node_tag[i] = rt_gmsh_size(s);
        else {
            rt_scan_skip_space(s);
            if (!rt_scan_int(s, g->node_tag + i, "the number of a node") || !rt_scan_line_end(s))
                return false;
        }
        if (!rt_gmsh_check_tag(s, g->node_tag[i], "a node"))
            return false;
    }
    for (int64_t i = first; i < first + n; i++) {
        if (!s->binary)
            rt_scan_skip_space(s);
        if (!rt_gmsh_coordinates(s, g, i, more))
            return false;
    }
    return true;
}

bool rt_gmsh_read_nodes(rt_scan_t *s, rt_gmsh_t *g)
{
    int64_t total[4], block[4], done = 0; /* blocks, nodes, least and largest tag */
    if (!header(s, total, 4, 4, "the counts of $Nodes") ||
        !rt_gmsh_allocate_nodes(s, g, total[1], s->binary ? 32 : 8))
        return false;
    /* each block takes bytes of the file, so a number of blocks that is too large ends with the
     * file */
    for (int64_t b = 0; b < total[0]; b++) {
        if (!header(s, block, 4, 1, "the header of a block of nodes"))
            return false;
        if (block[0] < 0 || block[0] > 3 || block[2] < 0 || block[2] > 1)
            return rt_scan_fail(s,
                                "a block of nodes of dimension %" PRId64 " and parametric %" PRId64,
                                block[0], block[2]);
        if (!rt_gmsh_check_block(s, block[3], g->draft->mesh.vertices - done, "nodes") ||
            !node_block(s, g, done, block[3], block[2] ? (int)block[0] : 0))
            return false;
        done += block[3];
    }
    return done == g->draft->mesh.vertices ||
           rt_scan_fail(s, "the blocks have %" PRId64 " nodes, the total is %" PRId64, done,
                        g->draft->mesh.vertices);
}

/* Reads one element of a block: tag nodes. */
static bool element(rt_scan_t *s, rt_gmsh_t *g, rt_gmsh_shape_t shape, int64_t physical)
{
    int64_t tag, node[8];
    if (s->binary) {
        tag = rt_gmsh_size(s);
        for (int a = 0; a < shape.nodes; a++)
            node[a] = rt_gmsh_size(s);
        return rt_gmsh_add(s, g, tag, shape, node, physical);
    }
    rt_scan_skip_space(s);
    if (!rt_scan_int(s, &tag, "the number of an element"))
        return false;
    return rt_gmsh_is_used(shape) ? rt_gmsh_add_line(s, g, tag, shape, physical)
                                  : (rt_scan_skip_line(s), true);
}

static bool element_block(rt_scan_t *s, rt_gmsh_t *g, int64_t type, int64_t n, int64_t physical)
{
    int64_t first;
    if (n == 0)
        return true;
    if (!s->binary)
        rt_scan_skip_space(s);
    rt_scan_t ahead = *s; /* reads the first number, for the message about a type */
    if (s->binary ? !rt_scan_need(&ahead, 1, 8, "a block of elements")
                  : !rt_scan_int(&ahead, &first, "the number of an element"))
        return s->failed = true, false;
    if (s->binary)
        first = rt_gmsh_size(&ahead);
    if (!rt_gmsh_check_type(s, g, first, type))
        return false;
    const rt_gmsh_shape_t shape = rt_gmsh_shape_of(type);
    const int64_t bytes = 8 * (1 + shape.nodes);
    if (s->binary && !rt_scan_need(s, n, bytes, "a block of elements"))
        return false;
    if (s->binary && !rt_gmsh_is_used(shape))
        return s->at += bytes * n, true;
    if (s->binary && !rt_gmsh_reserve(s, g, shape, n))
        return false;
    for (int64_t e = 0; e < n; e++)
        if (!element(s, g, shape, physical))
            return false;
    return true;
}

bool rt_gmsh_read_elements(rt_scan_t *s, rt_gmsh_t *g)
{
    int64_t total[4], block[4], done = 0; /* blocks, elements, least and largest tag */
    if (!header(s, total, 4, 4, "the counts of $Elements") ||
        !rt_gmsh_count_elements(s, g, total[1], s->binary ? 16 : 4))
        return false;
    for (int64_t b = 0; b < total[0]; b++) {
        /* dimension and tag of the entity, type, elements */
        if (!header(s, block, 4, 1, "the header of a block of elements") ||
            !rt_gmsh_check_block(s, block[3], g->total - done, "elements"))
            return false;
        const int32_t surface = block[0] == 2 ? rt_gmsh_tags_find(&g->surface, block[1]) : -1;
        if (!element_block(s, g, block[2], block[3], surface >= 0 ? g->physical[surface] : 0))
            return false;
        done += block[3];
    }
    return done == g->total ||
           rt_scan_fail(s, "the blocks have %" PRId64 " elements, the total is %" PRId64, done,
                        g->total);
}

static bool add_surface(rt_scan_t *s, rt_gmsh_t *g, int64_t tag, int64_t physical)
{
    const int64_t n = g->surfaces, room = rt_mesh_room(g->surface_room, n + 1);
    if (room > g->surface_room) {
        g->surface_tag = rt_scan_resize(s, g->surface_tag, n, room, sizeof *g->surface_tag);
        g->physical = rt_scan_resize(s, g->physical, n, room, sizeof *g->physical);
    }
    if (s->failed)
        return false;
    g->surface_room = room;
    g->surface_tag[g->surfaces] = tag;
    g->physical[g->surfaces++] =
        physical < 0 ? -physical : physical; /* below 0: the surface is turned over */
    return rt_gmsh_check_tag(s, tag, "a surface");
}

/* Reads how many, then that many numbers, of which *first is the first (0 if there is none). */
static bool list(rt_scan_t *s, int64_t *first, const char *what)
{
    int64_t n, value;
    *first = 0;
    if (!s->binary) {
        if (!rt_scan_int(s, &n, what))
            return false;
        if (n < 0)
            return rt_scan_fail(s, "%" PRId64 " of %s", n, what);
        for (int64_t i = 0; i < n; i++) { /* fails at the end of the line at the latest */
            if (!rt_scan_int(s, &value, what))
                return false;
            *first = i == 0 ? value : *first;
        }
        return true;
    }
    if (!rt_scan_need(s, 1, 8, what))
        return false;
    n = rt_gmsh_size(s);
    if (!rt_scan_need(s, n, 4, what))
        return false;
    if (n > 0) {
        *first = rt_gmsh_int(s);
        s->at += 4 * (n - 1);
    }
    return true;
}

/* Reads a tag, a point or the two corners of a box, physical groups, and the boundary. */
static bool entity(rt_scan_t *s, rt_gmsh_t *g, int dimension)
{
    const int reals = dimension == 0 ? 3 : 6;
    int64_t tag, physical, unused;
    double number;
    if (s->binary) {
        if (!rt_scan_need(s, 1, 4 + 8 * reals, "an entity"))
            return false;
        tag = rt_gmsh_int(s);
        s->at += 8 * reals;
    } else {
        rt_scan_skip_space(s);
        if (!rt_scan_int(s, &tag, "the number of an entity"))
            return false;
        for (int i = 0; i < reals; i++)
            if (!rt_scan_real(s, &number, "a coordinate of an entity"))
                return false;
    }
    return list(s, &physical, "the physical groups of an entity") &&
           (dimension == 0 || list(s, &unused, "the boundary of an entity")) &&
           (dimension != 2 || add_surface(s, g, tag, physical)) &&
           (s->binary || rt_scan_line_end(s));
}

bool rt_gmsh_read_entities(rt_scan_t *s, rt_gmsh_t *g)
{
    int64_t total[4];
    if (g->entities)
        return rt_scan_fail(s, "a second $Entities");
    if (g->elements)
        return rt_scan_fail(s, "$Entities comes after $Elements");
    g->entities = true;
    if (!header(s, total, 4, 4, "the counts of $Entities"))
        return false;
    for (int d = 0; d < 4; d++) {
        if (total[d] < 0)
            return rt_scan_fail(s, "%" PRId64 " entities of dimension %d", total[d], d);
        for (int64_t i = 0; i < total[d]; i++) /* fails at the end of the file at the latest */
            if (!entity(s, g, d))
                return false;
    }
    return g->surfaces == 0 ||
           rt_gmsh_tags_make(s, &g->surface, g->surface_tag, g->surfaces, "surface");
}
