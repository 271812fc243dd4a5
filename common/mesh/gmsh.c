/*
 * mesh/gmsh.c - a Gmsh file, format 2.2 or 4.1, ASCII or binary, from the description in the
 * Gmsh reference manual.
 *
 * A file is a row of sections $Name ... $EndName; only $MeshFormat, $Entities (4.1: physical groups
 * of the surfaces), $Nodes and $Elements matter here. Nodes have tags, in any order and with gaps.
 * A tag becomes the position of the node in the file by a table, or by binary search where tags are
 * so sparse that a table would be too large.
 */
#include "config.h"
#include "mesh/builder.h"
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include "base/mem.h"

typedef struct {
    int64_t tag;
    int32_t node;
} pair_t;

/* From tags to positions: one of the two arrays. */
typedef struct {
    int64_t n, least, range;
    int32_t *table; /* [range]: of tag least + i, or -1 */
    pair_t *pairs;  /* [n] by tag */
} tags_t;

typedef struct {
    rt_mesh_draft_t *draft;
    bool v4;                 /* 4.1, else 2.2 */
    bool entities, elements; /* the section has come */
    tags_t map;              /* of nodes */
    int64_t *node_tag;       /* [nodes] until the map is made */
    int64_t total;           /* elements that the file says it has */
    int64_t volumes, room;   /* volume elements so far */
    int64_t *tag;            /* [room] of volume elements, to find twins */
    tags_t surface;          /* 4.1: of entities of dimension 2 */
    int64_t surfaces, surface_room;
    int64_t *surface_tag; /* [surface_room] until the map is made */
    int64_t *physical;    /* [surface_room] first physical group, 0: none */
} gmsh_t;

/* --- tags --- */

static int by_tag(const void *a, const void *b)
{
    const pair_t *p = a, *q = b;
    return p->tag != q->tag ? (p->tag > q->tag) - (p->tag < q->tag)
                            : (p->node > q->node) - (p->node < q->node);
}

static bool twice(rt_scan_t *s, const char *what, int64_t tag)
{
    return rt_scan_fail_file(s, "%s %" PRId64 " stands twice in it", what, tag);
}

static bool make_table(rt_scan_t *s, tags_t *map, const int64_t *tag, const char *what)
{
    map->table = rt_scan_alloc(s, map->range, sizeof *map->table);
    if (!map->table)
        return false;
    for (int64_t i = 0; i < map->range; i++)
        map->table[i] = -1;
    for (int64_t n = 0; n < map->n; n++) {
        int32_t *entry = map->table + (tag[n] - map->least);
        if (*entry >= 0)
            return twice(s, what, tag[n]);
        *entry = (int32_t)n;
    }
    return true;
}

static bool make_pairs(rt_scan_t *s, tags_t *map, const int64_t *tag, const char *what)
{
    map->pairs = rt_scan_alloc(s, map->n, sizeof *map->pairs);
    if (!map->pairs)
        return false;
    for (int64_t n = 0; n < map->n; n++)
        map->pairs[n] = (pair_t){tag[n], (int32_t)n};
    qsort(map->pairs, (size_t)map->n, sizeof *map->pairs, by_tag);
    for (int64_t n = 1; n < map->n; n++)
        if (map->pairs[n].tag == map->pairs[n - 1].tag)
            return twice(s, what, map->pairs[n].tag);
    return true;
}

/* Tags are not negative, so no difference of two overflows. */
static bool make_map(rt_scan_t *s, tags_t *map, const int64_t *tag, int64_t n, const char *what)
{
    int64_t least = INT64_MAX, most = 0;
    for (int64_t i = 0; i < n; i++) {
        least = tag[i] < least ? tag[i] : least;
        most = tag[i] > most ? tag[i] : most;
    }
    *map = (tags_t){.n = n, .least = least};
    if (most - least >= 4 * n) /* a table would take more than the pairs */
        return make_pairs(s, map, tag, what);
    map->range = most - least + 1;
    return make_table(s, map, tag, what);
}

static void free_map(tags_t *map)
{
    RT_FREE(map->table, RT_HOST);
    RT_FREE(map->pairs, RT_HOST);
}

/* Position of the node, or -1. */
static int32_t find(const tags_t *map, int64_t tag)
{
    if (map->table)
        return tag >= map->least && tag - map->least < map->range ? map->table[tag - map->least]
                                                                  : -1;
    int64_t low = 0, high = map->n; /* it is in [low, high) if anywhere */
    while (low < high) {
        const int64_t middle = low + (high - low) / 2;
        if (map->pairs[middle].tag == tag)
            return map->pairs[middle].node;
        if (map->pairs[middle].tag < tag)
            low = middle + 1;
        else
            high = middle;
    }
    return -1;
}

/* --- types of elements --- */

enum { NONE = -1 };
typedef struct {
    int dimension, nodes;
    int element, face; /* rt_element_t or rt_face_t, or NONE */
    const char *name;
} shape_t;

/* By Gmsh's number of the type; dimension -1: not known. The vertices of what can be used stand in
 * the order of mesh/mesh.h. */
static shape_t shape_of(int64_t type)
{
    static const shape_t shapes[] = {
        {-1, 0, NONE, NONE, "of an unknown type"},
        {1, 2, NONE, NONE, "a line"},
        {2, 3, NONE, RT_TRIANGLE, "a triangle"},
        {2, 4, NONE, RT_QUAD, "a quadrilateral"},
        {3, 4, RT_TETRAHEDRON, NONE, "a tetrahedron"},
        {3, 8, RT_HEXAHEDRON, NONE, "a hexahedron"},
        {3, 6, RT_PRISM, NONE, "a prism"},
        {3, 5, RT_PYRAMID, NONE, "a pyramid"},
        {1, 3, NONE, NONE, "a line"},
        {2, 6, NONE, NONE, "a triangle of second order"},
        {2, 9, NONE, NONE, "a quadrilateral of second order"},
        {3, 10, NONE, NONE, "a tetrahedron of second order"},
        {3, 27, NONE, NONE, "a hexahedron of second order"},
        {3, 18, NONE, NONE, "a prism of second order"},
        {3, 14, NONE, NONE, "a pyramid of second order"},
        {0, 1, NONE, NONE, "a point"},
        {2, 8, NONE, NONE, "a quadrilateral of second order"},
        {3, 20, NONE, NONE, "a hexahedron of second order"},
        {3, 15, NONE, NONE, "a prism of second order"},
        {3, 13, NONE, NONE, "a pyramid of second order"},
        {2, 9, NONE, NONE, "a triangle of third order"},
        {2, 10, NONE, NONE, "a triangle of third order"},
        {2, 12, NONE, NONE, "a triangle of fourth order"},
        {2, 15, NONE, NONE, "a triangle of fourth order"},
        {2, 15, NONE, NONE, "a triangle of fifth order"},
        {2, 21, NONE, NONE, "a triangle of fifth order"},
        {1, 4, NONE, NONE, "a line"},
        {1, 5, NONE, NONE, "a line"},
        {1, 6, NONE, NONE, "a line"},
        {3, 20, NONE, NONE, "a tetrahedron of third order"},
        {3, 35, NONE, NONE, "a tetrahedron of fourth order"},
        {3, 56, NONE, NONE, "a tetrahedron of fifth order"},
    };
    if (type > 0 && type < (int64_t)(sizeof shapes / sizeof *shapes))
        return shapes[type];
    return shapes[0];
}

/* Points and lines are passed over. */
static bool is_used(shape_t shape)
{
    return shape.dimension >= 2;
}

/* Can elements of this type be used, or at least passed over? */
static bool check_type(rt_scan_t *s, const gmsh_t *g, int64_t tag, int64_t type)
{
    const shape_t shape = shape_of(type);
    if (shape.face != NONE || shape.dimension == 0 || shape.dimension == 1)
        return true;
    if (shape.element != NONE && rt_mesh_allows(g->draft, shape.element))
        return true;
    return rt_mesh_refuse_type(s, g->draft, tag, shape.name, type);
}

static bool check_tag(rt_scan_t *s, int64_t tag, const char *what)
{
    return tag >= 0 || rt_scan_fail(s, "the number of %s is %" PRId64, what, tag);
}

/* A volume element's number is kept to find twins. */
static bool add_number(rt_scan_t *s, gmsh_t *g, int64_t number)
{
    if (g->volumes == g->room) {
        const int64_t room = g->room > 0 ? 2 * g->room : 4;
        g->tag = rt_scan_resize(s, g->tag, g->room, room, sizeof *g->tag);
        if (s->failed)
            return false;
        g->room = room;
    }
    g->tag[g->volumes++] = number;
    return true;
}

/* Takes an element or a face with these tags of nodes. */
static bool add(rt_scan_t *s, gmsh_t *g, int64_t tag, shape_t shape, const int64_t *node,
                int64_t physical)
{
    int32_t *vertex;
    if (shape.face != NONE) {
        vertex = rt_mesh_add_face(s, g->draft, shape.face, physical);
    } else {
        if (!check_tag(s, tag, "an element") || !add_number(s, g, tag))
            return false;
        vertex = rt_mesh_add_element(s, g->draft, shape.element);
    }
    for (int a = 0; vertex && a < shape.nodes; a++) {
        vertex[a] = find(&g->map, node[a]);
        if (vertex[a] < 0)
            return rt_scan_fail(s, "element %" PRId64 ": there is no node %" PRId64, tag, node[a]);
    }
    return vertex != NULL;
}

/* --- numbers in binary --- */

static int64_t take_int(rt_scan_t *s)
{
    int32_t value;
    rt_scan_take(s, &value, sizeof value);
    return value;
}

/* A size_t of 8 bytes; what int64_t cannot hold becomes -1, which every caller refuses. */
static int64_t take_size(rt_scan_t *s)
{
    uint64_t value;
    rt_scan_take(s, &value, sizeof value);
    return value > INT64_MAX ? -1 : (int64_t)value;
}

/* n numbers of a 4.1 header: `sizes` of them size_t at the end (all numbers in ASCII alike). */
static bool header(rt_scan_t *s, int64_t *value, int n, int sizes, const char *what)
{
    if (!s->binary) {
        rt_scan_skip_space(s);
        for (int i = 0; i < n; i++)
            if (!rt_scan_int(s, value + i, what))
                return false;
        rt_scan_skip_blanks(s); /* stays in the line: the caller's messages are about it */
        return s->at == s->end || *s->at == '\n' || rt_scan_line_end(s);
    }
    if (!rt_scan_need(s, 1, 4 * (n - sizes) + 8 * sizes, what))
        return false;
    for (int i = 0; i < n; i++)
        value[i] = i < n - sizes ? take_int(s) : take_size(s);
    return true;
}

/* --- nodes --- */

static bool allocate_nodes(rt_scan_t *s, gmsh_t *g, int64_t n, int64_t least)
{
    if (!rt_scan_count(s, n, least, "nodes"))
        return false;
    g->draft->mesh.vertices = n;
    g->draft->mesh.x = rt_scan_alloc(s, n, 3 * sizeof *g->draft->mesh.x);
    g->node_tag = g->draft->mesh.x ? rt_scan_alloc(s, n, sizeof *g->node_tag) : NULL;
    return g->node_tag != NULL;
}

/* Coordinates of node n, and `more` parameters, which are passed over. */
static bool coordinates(rt_scan_t *s, gmsh_t *g, int64_t n, int more)
{
    double *x = g->draft->mesh.x + 3 * n, unused;
    if (s->binary) { /* the caller has seen that they are there */
        rt_scan_take(s, x, 3 * sizeof *x);
        s->at += 8 * more;
        return rt_mesh_scan_finite(s, x, g->node_tag[n]);
    }
    for (int d = 0; d < 3 + more; d++)
        if (!rt_scan_real(s, d < 3 ? x + d : &unused, "a coordinate"))
            return false;
    return rt_mesh_scan_finite(s, x, g->node_tag[n]) && rt_scan_line_end(s);
}

static bool nodes_2(rt_scan_t *s, gmsh_t *g)
{
    int64_t n;
    rt_scan_skip_space(s);
    if (!rt_scan_int(s, &n, "the number of nodes") ||
        !allocate_nodes(s, g, n, s->binary ? 28 : 8) || !rt_scan_line_end(s) ||
        (s->binary && !rt_scan_need(s, n, 28, "the nodes")))
        return false;
    for (int64_t i = 0; i < n; i++) {
        if (s->binary)
            g->node_tag[i] = take_int(s);
        else {
            rt_scan_skip_space(s);
            if (!rt_scan_int(s, g->node_tag + i, "the number of a node"))
                return false;
        }
        if (!check_tag(s, g->node_tag[i], "a node") || !coordinates(s, g, i, 0))
            return false;
    }
    return true;
}

/* Nodes `first` .. `first + n - 1`: their tags, then their coordinates. */
static bool node_block_4(rt_scan_t *s, gmsh_t *g, int64_t first, int64_t n, int more)
{
    if (s->binary && !rt_scan_need(s, n, 32 + 8 * more, "the nodes of a block"))
        return false;
    for (int64_t i = first; i < first + n; i++) {
        if (s->binary)
            g->node_tag[i] = take_size(s);
        else {
            rt_scan_skip_space(s);
            if (!rt_scan_int(s, g->node_tag + i, "the number of a node") || !rt_scan_line_end(s))
                return false;
        }
        if (!check_tag(s, g->node_tag[i], "a node"))
            return false;
    }
    for (int64_t i = first; i < first + n; i++) {
        if (!s->binary)
            rt_scan_skip_space(s);
        if (!coordinates(s, g, i, more))
            return false;
    }
    return true;
}

/* A block may be empty, but not larger than what is left of the total. */
static bool check_block(rt_scan_t *s, int64_t n, int64_t left, const char *what)
{
    if (n >= 0 && n <= left)
        return true;
    return rt_scan_fail(s, "a block of %" PRId64 " %s, where %" PRId64 " are left of the total", n,
                        what, left);
}

static bool nodes_4(rt_scan_t *s, gmsh_t *g)
{
    int64_t total[4], block[4], done = 0; /* blocks, nodes, least and largest tag */
    if (!header(s, total, 4, 4, "the counts of $Nodes") ||
        !allocate_nodes(s, g, total[1], s->binary ? 32 : 8))
        return false;
    /* one block at a time takes bytes of the file, so a large number of them ends with it */
    for (int64_t b = 0; b < total[0]; b++) {
        if (!header(s, block, 4, 1, "the header of a block of nodes"))
            return false;
        if (block[0] < 0 || block[0] > 3 || block[2] < 0 || block[2] > 1)
            return rt_scan_fail(s,
                                "a block of nodes of dimension %" PRId64 " and parametric %" PRId64,
                                block[0], block[2]);
        if (!check_block(s, block[3], g->draft->mesh.vertices - done, "nodes") ||
            !node_block_4(s, g, done, block[3], block[2] ? (int)block[0] : 0))
            return false;
        done += block[3];
    }
    return done == g->draft->mesh.vertices ||
           rt_scan_fail(s, "the blocks have %" PRId64 " nodes, the total is %" PRId64, done,
                        g->draft->mesh.vertices);
}

static bool nodes(rt_scan_t *s, gmsh_t *g)
{
    if (g->draft->mesh.x)
        return rt_scan_fail(s, "a second $Nodes");
    if (!(g->v4 ? nodes_4(s, g) : nodes_2(s, g)) ||
        !make_map(s, &g->map, g->node_tag, g->draft->mesh.vertices, "node"))
        return false;
    RT_FREE(g->node_tag, RT_HOST);
    return true;
}

/* --- elements --- */

static bool count_elements(rt_scan_t *s, gmsh_t *g, int64_t n, int64_t least)
{
    g->total = n;
    return rt_scan_count(s, n, least, "elements");
}

static bool nodes_of_line(rt_scan_t *s, shape_t shape, int64_t *node)
{
    for (int a = 0; a < shape.nodes; a++)
        if (!rt_scan_int(s, node + a, "a node of an element"))
            return false;
    return rt_scan_line_end(s);
}

/* The rest of a line, its nodes; messages are about that line. */
static bool add_line(rt_scan_t *s, gmsh_t *g, int64_t tag, shape_t shape, int64_t physical)
{
    int64_t node[8];
    const int64_t line = s->line;
    if (!nodes_of_line(s, shape, node))
        return false;
    const int64_t next = s->line;
    s->line = line;
    const bool good = add(s, g, tag, shape, node, physical);
    s->line = next;
    return good;
}

/* A line: tag type ntags tags nodes. The first tag is the physical group. */
static bool element_2(rt_scan_t *s, gmsh_t *g)
{
    int64_t tag, type, tags, value, physical = 0;
    rt_scan_skip_space(s);
    if (!rt_scan_int(s, &tag, "the number of an element") ||
        !rt_scan_int(s, &type, "the type of an element") || !check_type(s, g, tag, type))
        return false;
    if (!is_used(shape_of(type)))
        return rt_scan_skip_line(s), true;
    if (!rt_scan_int(s, &tags, "the number of tags"))
        return false;
    if (tags < 0)
        return rt_scan_fail(s, "element %" PRId64 " has %" PRId64 " tags", tag, tags);
    for (int64_t i = 0; i < tags; i++) { /* ends with the line */
        if (!rt_scan_int(s, &value, "a tag of an element"))
            return false;
        physical = i == 0 ? value : physical;
    }
    return add_line(s, g, tag, shape_of(type), physical);
}

/* Room for n elements, which are there: see rt_scan_need. */
static bool reserve(rt_scan_t *s, gmsh_t *g, shape_t shape, int64_t n)
{
    return shape.face != NONE ? rt_mesh_reserve_faces(s, g->draft, shape.face, n)
                              : rt_mesh_reserve_elements(s, g->draft, shape.element, n);
}

/* A header type, n, ntags, then n times tag, tags, nodes: all int. Adds n to `done`. */
static bool element_block_2(rt_scan_t *s, gmsh_t *g, int64_t *done)
{
    int64_t node[8];
    if (!rt_scan_need(s, 3, 4, "the header of a block of elements"))
        return false;
    const int64_t type = take_int(s), n = take_int(s), tags = take_int(s);
    const shape_t shape = shape_of(type);
    if (n == 0 || !check_block(s, n, g->total - *done, "elements"))
        return rt_scan_fail(s, "a block of 0 elements");
    if (tags < 0)
        return rt_scan_fail(s, "a block of elements with %" PRId64 " tags", tags);
    if (!rt_scan_need(s, 1, 4, "a block of elements"))
        return false;
    int32_t first;
    memcpy(&first, s->at, sizeof first);
    if (!check_type(s, g, first, type))
        return false;
    const int64_t ints = 1 + tags + shape.nodes;
    if (!rt_scan_need(s, n, 4 * ints, "a block of elements"))
        return false;
    *done += n;
    if (!is_used(shape))
        return s->at += 4 * ints * n, true;
    if (!reserve(s, g, shape, n))
        return false;
    for (int64_t e = 0; e < n; e++) {
        const int64_t tag = take_int(s), physical = tags > 0 ? take_int(s) : 0;
        s->at += tags > 0 ? 4 * (tags - 1) : 0;
        for (int a = 0; a < shape.nodes; a++)
            node[a] = take_int(s);
        if (!add(s, g, tag, shape, node, physical))
            return false;
    }
    return true;
}

static bool elements_2(rt_scan_t *s, gmsh_t *g)
{
    int64_t n, done = 0;
    rt_scan_skip_space(s);
    if (!rt_scan_int(s, &n, "the number of elements") || !count_elements(s, g, n, 8) ||
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

/* A line of a block: tag nodes. */
static bool element_4(rt_scan_t *s, gmsh_t *g, shape_t shape, int64_t physical)
{
    int64_t tag, node[8];
    if (s->binary) {
        tag = take_size(s);
        for (int a = 0; a < shape.nodes; a++)
            node[a] = take_size(s);
        return add(s, g, tag, shape, node, physical);
    }
    rt_scan_skip_space(s);
    if (!rt_scan_int(s, &tag, "the number of an element"))
        return false;
    return is_used(shape) ? add_line(s, g, tag, shape, physical) : (rt_scan_skip_line(s), true);
}

static bool element_block_4(rt_scan_t *s, gmsh_t *g, int64_t type, int64_t n, int64_t physical)
{
    int64_t first;
    if (n == 0)
        return true;
    if (!s->binary)
        rt_scan_skip_space(s);
    rt_scan_t ahead = *s; /* the first number, for the message about a type */
    if (s->binary ? !rt_scan_need(&ahead, 1, 8, "a block of elements")
                  : !rt_scan_int(&ahead, &first, "the number of an element"))
        return s->failed = true, false;
    if (s->binary)
        first = take_size(&ahead);
    if (!check_type(s, g, first, type))
        return false;
    const shape_t shape = shape_of(type);
    const int64_t bytes = 8 * (1 + shape.nodes);
    if (s->binary && !rt_scan_need(s, n, bytes, "a block of elements"))
        return false;
    if (s->binary && !is_used(shape))
        return s->at += bytes * n, true;
    if (s->binary && !reserve(s, g, shape, n))
        return false;
    for (int64_t e = 0; e < n; e++)
        if (!element_4(s, g, shape, physical))
            return false;
    return true;
}

static bool elements_4(rt_scan_t *s, gmsh_t *g)
{
    int64_t total[4], block[4], done = 0; /* blocks, elements, least and largest tag */
    if (!header(s, total, 4, 4, "the counts of $Elements") ||
        !count_elements(s, g, total[1], s->binary ? 16 : 4))
        return false;
    for (int64_t b = 0; b < total[0]; b++) {
        /* dimension and tag of the entity, type, elements */
        if (!header(s, block, 4, 1, "the header of a block of elements") ||
            !check_block(s, block[3], g->total - done, "elements"))
            return false;
        const int32_t surface = block[0] == 2 ? find(&g->surface, block[1]) : -1;
        if (!element_block_4(s, g, block[2], block[3], surface >= 0 ? g->physical[surface] : 0))
            return false;
        done += block[3];
    }
    return done == g->total ||
           rt_scan_fail(s, "the blocks have %" PRId64 " elements, the total is %" PRId64, done,
                        g->total);
}

static bool elements(rt_scan_t *s, gmsh_t *g)
{
    if (g->elements)
        return rt_scan_fail(s, "a second $Elements");
    if (!g->draft->mesh.x)
        return rt_scan_fail(s, "$Elements stands before $Nodes");
    g->elements = true;
    if (!(g->v4 ? elements_4(s, g) : elements_2(s, g)))
        return false;
    if (g->volumes == 0) /* said elsewhere */
        return true;
    tags_t twins = {0};
    const bool good = make_map(s, &twins, g->tag, g->volumes, "element");
    free_map(&twins);
    return good;
}

/* --- entities of format 4.1 --- */

static bool add_surface(rt_scan_t *s, gmsh_t *g, int64_t tag, int64_t physical)
{
    if (g->surfaces == g->surface_room) {
        const int64_t room = g->surface_room > 0 ? 2 * g->surface_room : 4;
        g->surface_tag =
            rt_scan_resize(s, g->surface_tag, g->surfaces, room, sizeof *g->surface_tag);
        if (!s->failed)
            g->physical = rt_scan_resize(s, g->physical, g->surfaces, room, sizeof *g->physical);
        if (s->failed)
            return false;
        g->surface_room = room;
    }
    g->surface_tag[g->surfaces] = tag;
    g->physical[g->surfaces++] = physical < 0 ? -physical : physical; /* < 0: turned over */
    return check_tag(s, tag, "a surface");
}

/* How many, then that many numbers, the first of which is returned in *first. */
static bool list(rt_scan_t *s, int64_t *first, const char *what)
{
    int64_t n, value;
    *first = 0;
    if (!s->binary) {
        if (!rt_scan_int(s, &n, what))
            return false;
        if (n < 0)
            return rt_scan_fail(s, "%" PRId64 " of %s", n, what);
        for (int64_t i = 0; i < n; i++) { /* ends with the line */
            if (!rt_scan_int(s, &value, what))
                return false;
            *first = i == 0 ? value : *first;
        }
        return true;
    }
    if (!rt_scan_need(s, 1, 8, what))
        return false;
    n = take_size(s);
    if (!rt_scan_need(s, n, 4, what))
        return false;
    if (n > 0) {
        *first = take_int(s);
        s->at += 4 * (n - 1);
    }
    return true;
}

/* tag, a point or the two corners of a box, physical groups, and what it is bounded by. */
static bool entity(rt_scan_t *s, gmsh_t *g, int dimension)
{
    const int reals = dimension == 0 ? 3 : 6;
    int64_t tag, physical, unused;
    double number;
    if (s->binary) {
        if (!rt_scan_need(s, 1, 4 + 8 * reals, "an entity"))
            return false;
        tag = take_int(s);
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

static bool entities(rt_scan_t *s, gmsh_t *g)
{
    int64_t total[4];
    if (g->entities)
        return rt_scan_fail(s, "a second $Entities");
    if (g->elements)
        return rt_scan_fail(s, "$Entities stands behind $Elements");
    g->entities = true;
    if (!header(s, total, 4, 4, "the counts of $Entities"))
        return false;
    for (int d = 0; d < 4; d++) {
        if (total[d] < 0)
            return rt_scan_fail(s, "%" PRId64 " entities of dimension %d", total[d], d);
        for (int64_t i = 0; i < total[d]; i++) /* ends with the file */
            if (!entity(s, g, d))
                return false;
    }
    return g->surfaces == 0 || make_map(s, &g->surface, g->surface_tag, g->surfaces, "surface");
}

/* --- sections --- */

static bool end_of_section(rt_scan_t *s, const char *end)
{
    char word[24];
    rt_scan_skip_space(s);
    if (s->at == s->end)
        return rt_scan_fail(s, "the file ends here, where %s should follow", end);
    if (!rt_scan_word(s, end))
        return rt_scan_fail(s, "\"%s\" stands where %s should", rt_scan_quote(s, word, sizeof word),
                            end);
    return rt_scan_line_end(s);
}

/* Behind the line that has $MeshFormat. */
static bool format(rt_scan_t *s, gmsh_t *g)
{
    double version;
    int64_t binary, size;
    int32_t one;
    char word[24];
    rt_scan_skip_blanks(s);
    rt_scan_quote(s, word, sizeof word);
    if (!rt_scan_real(s, &version, "the version of the format"))
        return false;
    if (version != 2.2 && version != 4.1)
        return rt_scan_fail(s, "Gmsh format %s: only 2.2 and 4.1 can be read", word);
    g->v4 = version == 4.1;
    if (!rt_scan_int(s, &binary, "the type of the file") ||
        !rt_scan_int(s, &size, "the size of a number"))
        return false;
    if (binary != 0 && binary != 1)
        return rt_scan_fail(s, "file type %" PRId64 ": must be 0 (ASCII) or 1 (binary)", binary);
    if (binary && size != 8)
        return rt_scan_fail(s, "numbers of %" PRId64 " bytes: only 8 can be read", size);
    if (!rt_scan_line_end(s))
        return false;
    if (binary) {
        s->binary = true;
        if (!rt_scan_need(s, 1, sizeof one, "$MeshFormat"))
            return false;
        rt_scan_take(s, &one, sizeof one);
        if (one == 0x01000000)
            return rt_scan_fail(s, "written on a machine of the other byte order");
        if (one != 1)
            return rt_scan_fail(s, "the number 1, which shows the byte order, is %" PRId32, one);
    }
    return end_of_section(s, "$EndMeshFormat");
}

/* Past $EndName, wherever it comes. In a binary file lines mean nothing, so each $ is tried. */
static bool skip_section(rt_scan_t *s, const char *name, size_t n)
{
    const int64_t line = s->line;
    const char *const from = s->at;
    for (;;) {
        const char *dollar = s->at < s->end ? memchr(s->at, '$', rt_scan_left(s)) : NULL;
        if (!dollar) {
            s->at = from;
            return rt_scan_fail_line(s, line, "a section starts that has no end");
        }
        for (; s->at < dollar; s->at++)
            s->line += *s->at == '\n';
        if (rt_scan_left(s) >= n + 4 && memcmp(s->at, "$End", 4) == 0 &&
            memcmp(s->at + 4, name, n) == 0 &&
            (rt_scan_left(s) == n + 4 || strchr(" \t\r\n", s->at[n + 4]))) {
            rt_scan_skip_line(s);
            return true;
        }
        s->at++;
    }
}

/* `at` is at the $ of a name. */
static bool section(rt_scan_t *s, gmsh_t *g, bool *formatted)
{
    char word[24];
    rt_scan_t old = *s;
    if (rt_scan_word(s, "$MeshFormat")) {
        if (*formatted)
            return rt_scan_fail(s, "a second $MeshFormat");
        *formatted = true;
        return rt_scan_line_end(s) && format(s, g);
    }
    static const struct {
        const char *begin, *end;
        bool (*read)(rt_scan_t *s, gmsh_t *g);
    } known[] = {{"$Nodes", "$EndNodes", nodes},
                 {"$Elements", "$EndElements", elements},
                 {"$Entities", "$EndEntities", entities}};
    for (int i = 0; i < (g->v4 ? 3 : 2); i++)
        if (rt_scan_word(s, known[i].begin)) {
            if (!*formatted)
                return rt_scan_fail(s, "$MeshFormat must come first");
            return rt_scan_line_end(s) && known[i].read(s, g) && end_of_section(s, known[i].end);
        }
    const char *name = s->at + 1;
    while (s->at < s->end && *s->at != '\n' && *s->at != ' ' && *s->at != '\t' && *s->at != '\r')
        s->at++;
    const size_t n = (size_t)(s->at - name);
    if (n == 0 || (n >= 3 && memcmp(name, "End", 3) == 0))
        return rt_scan_fail(&old, "\"%s\" does not start a section",
                            rt_scan_quote(&old, word, sizeof word));
    if (!*formatted && n == 3 && memcmp(name, "NOD", 3) == 0)
        return rt_scan_fail(s, "Gmsh format 1: only 2.2 and 4.1 can be read");
    return skip_section(s, name, n);
}

bool rt_mesh_gmsh_parse(rt_scan_t *s, rt_mesh_draft_t *draft)
{
    gmsh_t g = {.draft = draft};
    char word[24];
    bool good = true, formatted = false;
    for (rt_scan_skip_space(s); good && s->at < s->end; rt_scan_skip_space(s))
        if (*s->at == '$')
            good = section(s, &g, &formatted);
        else
            good = rt_scan_fail(s, "\"%s\" stands outside of a section",
                                rt_scan_quote(s, word, sizeof word));
    if (good && (!formatted || !draft->mesh.x || !g.elements))
        good = rt_scan_fail_file(s, "the file ends without %s",
                                 !formatted       ? "$MeshFormat"
                                 : !draft->mesh.x ? "$Nodes"
                                                  : "$Elements");
    RT_FREE(g.node_tag, RT_HOST);
    RT_FREE(g.tag, RT_HOST);
    RT_FREE(g.surface_tag, RT_HOST);
    RT_FREE(g.physical, RT_HOST);
    free_map(&g.map);
    free_map(&g.surface);
    return good;
}
