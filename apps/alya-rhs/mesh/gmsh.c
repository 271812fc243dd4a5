/*
 * gmsh.c - the tetrahedra of a Gmsh file, format 2.2 or 4.1, ASCII or binary, from the description
 * in the Gmsh reference manual.
 *
 * A file is a row of sections $Name ... $EndName; only $MeshFormat, $Nodes and $Elements matter
 * here. Nodes have tags, in any order and with gaps. A tag becomes the position of the node in the
 * file by a table, or by binary search where tags are so sparse that a table would be too large.
 */
#include "config.h"
#include "scan.h"
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { TETRAHEDRON = 4 };

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
    alya_draft_t *draft;
    bool v4;           /* 4.1, else 2.2 */
    bool elements;     /* the section has come */
    tags_t map;        /* of nodes */
    int64_t *node_tag; /* [nodes] until the map is made */
    int64_t *tag;      /* [room] of tetrahedra, to find twins */
} gmsh_t;

/* --- tags --- */

static int by_tag(const void *a, const void *b)
{
    const pair_t *p = a, *q = b;
    return p->tag != q->tag ? (p->tag > q->tag) - (p->tag < q->tag)
                            : (p->node > q->node) - (p->node < q->node);
}

static bool twice(alya_scan_t *s, const char *what, int64_t tag)
{
    return alya_scan_fail_file(s, "%s %" PRId64 " stands twice in it", what, tag);
}

static bool make_table(alya_scan_t *s, tags_t *map, const int64_t *tag, const char *what)
{
    map->table = alya_scan_alloc(s, map->range, sizeof *map->table);
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

static bool make_pairs(alya_scan_t *s, tags_t *map, const int64_t *tag, const char *what)
{
    map->pairs = alya_scan_alloc(s, map->n, sizeof *map->pairs);
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
static bool make_map(alya_scan_t *s, tags_t *map, const int64_t *tag, int64_t n, const char *what)
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

typedef struct {
    int dimension, nodes;
    const char *name;
} shape_t;

/* By Gmsh's number of the type; dimension -1: not known. */
static shape_t shape_of(int64_t type)
{
    static const shape_t shapes[] = {
        {-1, 0, NULL},
        {1, 2, "a line"},
        {2, 3, "a triangle"},
        {2, 4, "a quadrilateral"},
        {3, 4, "a tetrahedron"},
        {3, 8, "a hexahedron"},
        {3, 6, "a prism"},
        {3, 5, "a pyramid"},
        {1, 3, "a line"},
        {2, 6, "a triangle"},
        {2, 9, "a quadrilateral"},
        {3, 10, "a tetrahedron of second order"},
        {3, 27, "a hexahedron of second order"},
        {3, 18, "a prism of second order"},
        {3, 14, "a pyramid of second order"},
        {0, 1, "a point"},
        {2, 8, "a quadrilateral"},
        {3, 20, "a hexahedron of second order"},
        {3, 15, "a prism of second order"},
        {3, 13, "a pyramid of second order"},
        {2, 9, "a triangle"},
        {2, 10, "a triangle"},
        {2, 12, "a triangle"},
        {2, 15, "a triangle"},
        {2, 15, "a triangle"},
        {2, 21, "a triangle"},
        {1, 4, "a line"},
        {1, 5, "a line"},
        {1, 6, "a line"},
        {3, 20, "a tetrahedron of third order"},
        {3, 35, "a tetrahedron of fourth order"},
        {3, 56, "a tetrahedron of fifth order"},
    };
    if (type > 0 && type < (int64_t)(sizeof shapes / sizeof *shapes))
        return shapes[type];
    return shapes[0];
}

/* Can elements of this type be used, or at least passed over? */
static bool check_type(alya_scan_t *s, int64_t tag, int64_t type)
{
    shape_t shape = shape_of(type);
    if (type == TETRAHEDRON || (shape.dimension >= 0 && shape.dimension < 3))
        return true;
    return alya_scan_fail(
        s, "element %" PRId64 " is %s (type %" PRId64 "): only tetrahedra can be used", tag,
        shape.name ? shape.name : "of an unknown type", type);
}

static bool check_tag(alya_scan_t *s, int64_t tag, const char *what)
{
    return tag >= 0 || alya_scan_fail(s, "the number of %s is %" PRId64, what, tag);
}

/* Takes a tetrahedron with these tags of nodes. There is room: see the counts. */
static bool add(alya_scan_t *s, gmsh_t *g, int64_t tag, const int64_t node[4])
{
    alya_draft_t *draft = g->draft;
    if (!check_tag(s, tag, "an element"))
        return false;
    for (int a = 0; a < 4; a++) {
        const int32_t at = find(&g->map, node[a]);
        if (at < 0)
            return alya_scan_fail(s, "element %" PRId64 ": there is no node %" PRId64, tag,
                                  node[a]);
        draft->connectivity[4 * draft->elements + a] = at;
    }
    g->tag[draft->elements++] = tag;
    return true;
}

/* --- numbers in binary --- */

static int64_t take_int(alya_scan_t *s)
{
    int32_t value;
    alya_scan_take(s, &value, sizeof value);
    return value;
}

/* A size_t of 8 bytes; what int64_t cannot hold becomes -1, which every caller refuses. */
static int64_t take_size(alya_scan_t *s)
{
    uint64_t value;
    alya_scan_take(s, &value, sizeof value);
    return value > INT64_MAX ? -1 : (int64_t)value;
}

/* n numbers of a 4.1 header: `sizes` of them size_t at the end (all numbers in ASCII alike). */
static bool header(alya_scan_t *s, int64_t *value, int n, int sizes, const char *what)
{
    if (!s->binary) {
        alya_scan_skip_space(s);
        for (int i = 0; i < n; i++)
            if (!alya_scan_int(s, value + i, what))
                return false;
        alya_scan_skip_blanks(s); /* stays in the line: the caller's messages are about it */
        return s->at == s->end || *s->at == '\n' || alya_scan_line_end(s);
    }
    if (!alya_scan_need(s, 1, 4 * (n - sizes) + 8 * sizes, what))
        return false;
    for (int i = 0; i < n; i++)
        value[i] = i < n - sizes ? take_int(s) : take_size(s);
    return true;
}

/* --- nodes --- */

static bool allocate_nodes(alya_scan_t *s, gmsh_t *g, int64_t n, int64_t least)
{
    if (!alya_scan_count(s, n, least, "nodes"))
        return false;
    g->draft->nodes = n;
    g->draft->x = alya_scan_alloc(s, n, 3 * sizeof *g->draft->x);
    g->node_tag = g->draft->x ? alya_scan_alloc(s, n, sizeof *g->node_tag) : NULL;
    return g->node_tag != NULL;
}

/* Coordinates of node n, and `more` parameters, which are passed over. */
static bool coordinates(alya_scan_t *s, gmsh_t *g, int64_t n, int more)
{
    double *x = g->draft->x + 3 * n, unused;
    if (s->binary) { /* the caller has seen that they are there */
        alya_scan_take(s, x, 3 * sizeof *x);
        s->at += 8 * more;
        return alya_scan_finite(s, x, g->node_tag[n]);
    }
    for (int d = 0; d < 3 + more; d++)
        if (!alya_scan_real(s, d < 3 ? x + d : &unused, "a coordinate"))
            return false;
    return alya_scan_finite(s, x, g->node_tag[n]) && alya_scan_line_end(s);
}

static bool nodes_2(alya_scan_t *s, gmsh_t *g)
{
    int64_t n;
    alya_scan_skip_space(s);
    if (!alya_scan_int(s, &n, "the number of nodes") ||
        !allocate_nodes(s, g, n, s->binary ? 28 : 8) || !alya_scan_line_end(s) ||
        (s->binary && !alya_scan_need(s, n, 28, "the nodes")))
        return false;
    for (int64_t i = 0; i < n; i++) {
        if (s->binary)
            g->node_tag[i] = take_int(s);
        else {
            alya_scan_skip_space(s);
            if (!alya_scan_int(s, g->node_tag + i, "the number of a node"))
                return false;
        }
        if (!check_tag(s, g->node_tag[i], "a node") || !coordinates(s, g, i, 0))
            return false;
    }
    return true;
}

/* Nodes `first` .. `first + n - 1`: their tags, then their coordinates. */
static bool node_block_4(alya_scan_t *s, gmsh_t *g, int64_t first, int64_t n, int more)
{
    if (s->binary && !alya_scan_need(s, n, 32 + 8 * more, "the nodes of a block"))
        return false;
    for (int64_t i = first; i < first + n; i++) {
        if (s->binary)
            g->node_tag[i] = take_size(s);
        else {
            alya_scan_skip_space(s);
            if (!alya_scan_int(s, g->node_tag + i, "the number of a node") ||
                !alya_scan_line_end(s))
                return false;
        }
        if (!check_tag(s, g->node_tag[i], "a node"))
            return false;
    }
    for (int64_t i = first; i < first + n; i++) {
        if (!s->binary)
            alya_scan_skip_space(s);
        if (!coordinates(s, g, i, more))
            return false;
    }
    return true;
}

/* A block may be empty, but not larger than what is left of the total. */
static bool check_block(alya_scan_t *s, int64_t n, int64_t left, const char *what)
{
    if (n >= 0 && n <= left)
        return true;
    return alya_scan_fail(s, "a block of %" PRId64 " %s, where %" PRId64 " are left of the total",
                          n, what, left);
}

static bool nodes_4(alya_scan_t *s, gmsh_t *g)
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
            return alya_scan_fail(
                s, "a block of nodes of dimension %" PRId64 " and parametric %" PRId64, block[0],
                block[2]);
        if (!check_block(s, block[3], g->draft->nodes - done, "nodes") ||
            !node_block_4(s, g, done, block[3], block[2] ? (int)block[0] : 0))
            return false;
        done += block[3];
    }
    return done == g->draft->nodes ||
           alya_scan_fail(s, "the blocks have %" PRId64 " nodes, the total is %" PRId64, done,
                          g->draft->nodes);
}

static bool nodes(alya_scan_t *s, gmsh_t *g)
{
    if (g->draft->x)
        return alya_scan_fail(s, "a second $Nodes");
    if (!(g->v4 ? nodes_4(s, g) : nodes_2(s, g)) ||
        !make_map(s, &g->map, g->node_tag, g->draft->nodes, "node"))
        return false;
    RT_FREE(g->node_tag, RT_HOST);
    return true;
}

/* --- elements --- */

static bool allocate_elements(alya_scan_t *s, gmsh_t *g, int64_t n, int64_t least)
{
    if (!alya_scan_count(s, n, least, "elements"))
        return false;
    g->draft->room = n;
    g->draft->connectivity = alya_scan_alloc(s, n, 4 * sizeof *g->draft->connectivity);
    g->tag = g->draft->connectivity ? alya_scan_alloc(s, n, sizeof *g->tag) : NULL;
    return g->tag != NULL;
}

static bool four_nodes(alya_scan_t *s, int64_t node[4])
{
    for (int a = 0; a < 4; a++)
        if (!alya_scan_int(s, node + a, "a node of an element"))
            return false;
    return alya_scan_line_end(s);
}

/* A line: tag type ntags tags nodes. */
static bool element_2(alya_scan_t *s, gmsh_t *g)
{
    int64_t tag, type, tags, node[4], unused;
    alya_scan_skip_space(s);
    if (!alya_scan_int(s, &tag, "the number of an element") ||
        !alya_scan_int(s, &type, "the type of an element") || !check_type(s, tag, type))
        return false;
    if (type != TETRAHEDRON)
        return alya_scan_skip_line(s), true;
    if (!alya_scan_int(s, &tags, "the number of tags"))
        return false;
    if (tags < 0)
        return alya_scan_fail(s, "element %" PRId64 " has %" PRId64 " tags", tag, tags);
    for (int64_t i = 0; i < tags; i++) /* ends with the line */
        if (!alya_scan_int(s, &unused, "a tag of an element"))
            return false;
    const int64_t line = s->line;
    if (!four_nodes(s, node))
        return false;
    const int64_t next = s->line;
    s->line = line; /* add() is about the line that was just left */
    const bool good = add(s, g, tag, node);
    s->line = next;
    return good;
}

/* A header type, n, ntags, then n times tag, tags, nodes: all int. Adds n to `done`. */
static bool element_block_2(alya_scan_t *s, gmsh_t *g, int64_t *done)
{
    int64_t node[4];
    if (!alya_scan_need(s, 3, 4, "the header of a block of elements"))
        return false;
    const int64_t type = take_int(s), n = take_int(s), tags = take_int(s);
    if (n == 0 || !check_block(s, n, g->draft->room - *done, "elements"))
        return alya_scan_fail(s, "a block of 0 elements");
    if (tags < 0)
        return alya_scan_fail(s, "a block of elements with %" PRId64 " tags", tags);
    if (!alya_scan_need(s, 1, 4, "a block of elements"))
        return false;
    int32_t first;
    memcpy(&first, s->at, sizeof first);
    if (!check_type(s, first, type))
        return false;
    const int64_t ints = 1 + tags + shape_of(type).nodes;
    if (!alya_scan_need(s, n, 4 * ints, "a block of elements"))
        return false;
    *done += n;
    if (type != TETRAHEDRON)
        return s->at += 4 * ints * n, true;
    for (int64_t e = 0; e < n; e++) {
        const int64_t tag = take_int(s);
        s->at += 4 * tags;
        for (int a = 0; a < 4; a++)
            node[a] = take_int(s);
        if (!add(s, g, tag, node))
            return false;
    }
    return true;
}

static bool elements_2(alya_scan_t *s, gmsh_t *g)
{
    int64_t n, done = 0;
    alya_scan_skip_space(s);
    if (!alya_scan_int(s, &n, "the number of elements") || !allocate_elements(s, g, n, 8) ||
        !alya_scan_line_end(s))
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

/* A line of a block of tetrahedra: tag nodes. */
static bool element_4(alya_scan_t *s, gmsh_t *g)
{
    int64_t tag, node[4];
    if (s->binary) {
        tag = take_size(s);
        for (int a = 0; a < 4; a++)
            node[a] = take_size(s);
        return add(s, g, tag, node);
    }
    alya_scan_skip_space(s);
    const int64_t line = s->line;
    if (!alya_scan_int(s, &tag, "the number of an element") || !four_nodes(s, node))
        return false;
    const int64_t next = s->line;
    s->line = line;
    const bool good = add(s, g, tag, node);
    s->line = next;
    return good;
}

static bool element_block_4(alya_scan_t *s, gmsh_t *g, int64_t type, int64_t n)
{
    int64_t first;
    if (n == 0)
        return true;
    if (!s->binary)
        alya_scan_skip_space(s);
    alya_scan_t ahead = *s; /* the first number, for the message about a type */
    if (s->binary ? !alya_scan_need(&ahead, 1, 8, "a block of elements")
                  : !alya_scan_int(&ahead, &first, "the number of an element"))
        return s->failed = true, false;
    if (s->binary)
        first = take_size(&ahead);
    if (!check_type(s, first, type))
        return false;
    const int64_t bytes = 8 * (1 + shape_of(type).nodes);
    if (s->binary && !alya_scan_need(s, n, bytes, "a block of elements"))
        return false;
    if (type != TETRAHEDRON && s->binary)
        return s->at += bytes * n, true;
    for (int64_t e = 0; e < n; e++) {
        if (type == TETRAHEDRON) {
            if (!element_4(s, g))
                return false;
            continue;
        }
        alya_scan_skip_space(s);
        if (!alya_scan_int(s, &first, "the number of an element"))
            return false;
        alya_scan_skip_line(s);
    }
    return true;
}

static bool elements_4(alya_scan_t *s, gmsh_t *g)
{
    int64_t total[4], block[4], done = 0; /* blocks, elements, least and largest tag */
    if (!header(s, total, 4, 4, "the counts of $Elements") ||
        !allocate_elements(s, g, total[1], s->binary ? 16 : 4))
        return false;
    for (int64_t b = 0; b < total[0]; b++) {
        if (!header(s, block, 4, 1, "the header of a block of elements") ||
            !check_block(s, block[3], g->draft->room - done, "elements") ||
            !element_block_4(s, g, block[2], block[3]))
            return false;
        done += block[3];
    }
    return done == g->draft->room ||
           alya_scan_fail(s, "the blocks have %" PRId64 " elements, the total is %" PRId64, done,
                          g->draft->room);
}

static bool elements(alya_scan_t *s, gmsh_t *g)
{
    if (g->elements)
        return alya_scan_fail(s, "a second $Elements");
    if (!g->draft->x)
        return alya_scan_fail(s, "$Elements stands before $Nodes");
    g->elements = true;
    if (!(g->v4 ? elements_4(s, g) : elements_2(s, g)))
        return false;
    if (g->draft->elements == 0) /* said elsewhere */
        return true;
    tags_t twins = {0};
    const bool good = make_map(s, &twins, g->tag, g->draft->elements, "element");
    free_map(&twins);
    return good;
}

/* --- sections --- */

static bool end_of_section(alya_scan_t *s, const char *end)
{
    char word[24];
    alya_scan_skip_space(s);
    if (s->at == s->end)
        return alya_scan_fail(s, "the file ends here, where %s should follow", end);
    if (!alya_scan_word(s, end))
        return alya_scan_fail(s, "\"%s\" stands where %s should",
                              alya_scan_quote(s, word, sizeof word), end);
    return alya_scan_line_end(s);
}

/* Behind the line that has $MeshFormat. */
static bool format(alya_scan_t *s, gmsh_t *g)
{
    double version;
    int64_t binary, size;
    int32_t one;
    char word[24];
    alya_scan_skip_blanks(s);
    alya_scan_quote(s, word, sizeof word);
    if (!alya_scan_real(s, &version, "the version of the format"))
        return false;
    if (version != 2.2 && version != 4.1)
        return alya_scan_fail(s, "Gmsh format %s: only 2.2 and 4.1 can be read", word);
    g->v4 = version == 4.1;
    if (!alya_scan_int(s, &binary, "the type of the file") ||
        !alya_scan_int(s, &size, "the size of a number"))
        return false;
    if (binary != 0 && binary != 1)
        return alya_scan_fail(s, "file type %" PRId64 ": must be 0 (ASCII) or 1 (binary)", binary);
    if (binary && size != 8)
        return alya_scan_fail(s, "numbers of %" PRId64 " bytes: only 8 can be read", size);
    if (!alya_scan_line_end(s))
        return false;
    if (binary) {
        s->binary = true;
        if (!alya_scan_need(s, 1, sizeof one, "$MeshFormat"))
            return false;
        alya_scan_take(s, &one, sizeof one);
        if (one == 0x01000000)
            return alya_scan_fail(s, "written on a machine of the other byte order");
        if (one != 1)
            return alya_scan_fail(s, "the number 1, which shows the byte order, is %" PRId32, one);
    }
    return end_of_section(s, "$EndMeshFormat");
}

/* Past $EndName, wherever it comes. In a binary file lines mean nothing, so each $ is tried. */
static bool skip_section(alya_scan_t *s, const char *name, size_t n)
{
    const int64_t line = s->line;
    const char *const from = s->at;
    for (;;) {
        const char *dollar = s->at < s->end ? memchr(s->at, '$', alya_scan_left(s)) : NULL;
        if (!dollar) {
            s->at = from;
            return alya_scan_fail_line(s, line, "a section starts that has no end");
        }
        for (; s->at < dollar; s->at++)
            s->line += *s->at == '\n';
        if (alya_scan_left(s) >= n + 4 && memcmp(s->at, "$End", 4) == 0 &&
            memcmp(s->at + 4, name, n) == 0 &&
            (alya_scan_left(s) == n + 4 || strchr(" \t\r\n", s->at[n + 4]))) {
            alya_scan_skip_line(s);
            return true;
        }
        s->at++;
    }
}

/* `at` is at the $ of a name. */
static bool section(alya_scan_t *s, gmsh_t *g, bool *formatted)
{
    char word[24];
    alya_scan_t old = *s;
    if (alya_scan_word(s, "$MeshFormat")) {
        if (*formatted)
            return alya_scan_fail(s, "a second $MeshFormat");
        *formatted = true;
        return alya_scan_line_end(s) && format(s, g);
    }
    if (alya_scan_word(s, "$Nodes") || alya_scan_word(s, "$Elements")) {
        const bool is_nodes = old.at[1] == 'N';
        if (!*formatted)
            return alya_scan_fail(s, "$MeshFormat must come first");
        return alya_scan_line_end(s) && (is_nodes ? nodes(s, g) : elements(s, g)) &&
               end_of_section(s, is_nodes ? "$EndNodes" : "$EndElements");
    }
    const char *name = s->at + 1;
    while (s->at < s->end && *s->at != '\n' && *s->at != ' ' && *s->at != '\t' && *s->at != '\r')
        s->at++;
    const size_t n = (size_t)(s->at - name);
    if (n == 0 || (n >= 3 && memcmp(name, "End", 3) == 0))
        return alya_scan_fail(&old, "\"%s\" does not start a section",
                              alya_scan_quote(&old, word, sizeof word));
    if (!*formatted && n == 3 && memcmp(name, "NOD", 3) == 0)
        return alya_scan_fail(s, "Gmsh format 1: only 2.2 and 4.1 can be read");
    return skip_section(s, name, n);
}

bool alya_gmsh_parse(alya_scan_t *s, alya_draft_t *draft)
{
    gmsh_t g = {.draft = draft};
    char word[24];
    bool good = true, formatted = false;
    for (alya_scan_skip_space(s); good && s->at < s->end; alya_scan_skip_space(s))
        if (*s->at == '$')
            good = section(s, &g, &formatted);
        else
            good = alya_scan_fail(s, "\"%s\" stands outside of a section",
                                  alya_scan_quote(s, word, sizeof word));
    if (good && (!formatted || !draft->x || !g.elements))
        good = alya_scan_fail_file(s, "the file ends without %s",
                                   !formatted  ? "$MeshFormat"
                                   : !draft->x ? "$Nodes"
                                               : "$Elements");
    RT_FREE(g.node_tag, RT_HOST);
    RT_FREE(g.tag, RT_HOST);
    free_map(&g.map);
    return good;
}
