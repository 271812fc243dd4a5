/*
 * mesh/gmsh.c - a Gmsh file, format 4.1, ASCII or binary, after the description in the Gmsh reference
 * manual.
 *
 * A file is a sequence of sections $Name ... $EndName. Only $MeshFormat, $Entities (the physical
 * groups of the surfaces), $Nodes and $Elements matter here. Both forms have the same numbers in the
 * same order, so one text reads both. As in mesh/builder.h, a function that returns false has
 * written one line of why into the scanner.
 */
#include "config.h"
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include "base/mem.h"
#include "mesh/builder.h"

typedef struct {
    int64_t tag;
    int32_t index;
} pair_t;

/* A map from tags, which come in any order and with gaps, to indices. */
typedef struct {
    int64_t n;
    pair_t *pairs; /* [n] by tag, once they are sorted */
} tags_t;

typedef struct {
    rt_mesh_draft_t *draft;
    bool formatted, entities, elements; /* the section has come */
    tags_t nodes, volumes;              /* volumes: to find duplicates */
    tags_t surfaces;                    /* entities of dimension 2 */
    int64_t *physical;                  /* [surfaces] first physical group, 0: none */
} gmsh_t;

/* --- tags --- */

static bool check_tag(rt_scan_t *s, int64_t tag, const char *what)
{
    return tag >= 0 || rt_scan_fail(s, "the number of %s is %" PRId64, what, tag);
}

/* Adds a tag, for which there is room. */
static bool tags_add(rt_scan_t *s, tags_t *map, int64_t tag, const char *what)
{
    map->pairs[map->n] = (pair_t){tag, (int32_t)map->n};
    map->n++;
    return check_tag(s, tag, what);
}

static int by_tag(const void *a, const void *b)
{
    const pair_t *p = a, *q = b;
    return (p->tag > q->tag) - (p->tag < q->tag);
}

/* Sorts, so that tags can be found; fails if one occurs twice. */
static bool tags_sort(rt_scan_t *s, tags_t *map, const char *what)
{
    if (map->n > 0)
        qsort(map->pairs, (size_t)map->n, sizeof *map->pairs, by_tag);
    for (int64_t i = 1; i < map->n; i++)
        if (map->pairs[i].tag == map->pairs[i - 1].tag)
            return rt_scan_fail_file(s, "%s %" PRId64 " occurs twice", what, map->pairs[i].tag);
    return true;
}

/* Returns the index of a tag, or -1: at once where there are no gaps. */
static int32_t tags_find(const tags_t *map, int64_t tag)
{
    const pair_t wanted = {.tag = tag}, *first = map->pairs;
    if (map->n == 0)
        return -1;
    if (tag >= first->tag && tag - first->tag < map->n && first[tag - first->tag].tag == tag)
        return first[tag - first->tag].index;
    const pair_t *found = bsearch(&wanted, first, (size_t)map->n, sizeof *first, by_tag);
    return found ? found->index : -1;
}

/* --- numbers --- */

/* Goes to the next line that is not empty, and to the end of this one; in binary there are no lines. */
static void line_begin(rt_scan_t *s)
{
    if (!s->binary)
        rt_scan_skip_space(s);
}

static bool line_end(rt_scan_t *s)
{
    return s->binary || rt_scan_line_end(s);
}

/* Reads the four numbers of a header, of which the last `sizes` are a size_t in binary. Stays in the
 * line, because the caller's messages are about it. */
static bool read_header(rt_scan_t *s, int64_t value[4], int sizes, const char *what)
{
    line_begin(s);
    for (int i = 0; i < 4; i++)
        if (!rt_scan_whole(s, value + i, i < 4 - sizes ? 4 : 8, what))
            return false;
    if (s->binary)
        return true;
    rt_scan_skip_blanks(s);
    return s->at == s->end || *s->at == '\n' || rt_scan_line_end(s);
}

/* Checks the size of a block: it may be empty, but not larger than what is left of the total. */
static bool check_block(rt_scan_t *s, int64_t n, int64_t left, const char *what)
{
    if (n >= 0 && n <= left)
        return true;
    return rt_scan_fail(s, "a block of %" PRId64 " %s, where %" PRId64 " are left of the total", n,
                        what, left);
}

static bool check_total(rt_scan_t *s, int64_t done, int64_t total, const char *what)
{
    return done == total || rt_scan_fail(s, "the blocks have %" PRId64 " %s, the total is %" PRId64,
                                         done, what, total);
}

/* --- $Entities --- */

/* Reads how many, then that many numbers, of which *first is the first (0 if there is none). It
 * fails at the end of the line, or of the file, at the latest. */
static bool list(rt_scan_t *s, int64_t *first, const char *what)
{
    int64_t n, value;
    *first = 0;
    if (!rt_scan_whole(s, &n, 8, what))
        return false;
    if (n < 0)
        return rt_scan_fail(s, "%" PRId64 " of %s", n, what);
    for (int64_t i = 0; i < n; i++) {
        if (!rt_scan_whole(s, &value, 4, what))
            return false;
        *first = i == 0 ? value : *first;
    }
    return true;
}

/* Reads a tag, a point or the two corners of a box, physical groups, and the boundary. */
static bool entity(rt_scan_t *s, gmsh_t *g, int dimension)
{
    int64_t tag, physical, unused;
    double number;
    line_begin(s);
    if (!rt_scan_whole(s, &tag, 4, "the number of an entity"))
        return false;
    for (int i = 0; i < (dimension == 0 ? 3 : 6); i++)
        if (!rt_scan_real(s, &number, "a coordinate of an entity"))
            return false;
    if (!list(s, &physical, "the physical groups of an entity") ||
        (dimension > 0 && !list(s, &unused, "the boundary of an entity")))
        return false;
    if (dimension == 2) { /* a group below 0: the surface is turned over */
        g->physical[g->surfaces.n] = physical < 0 ? -physical : physical;
        if (!tags_add(s, &g->surfaces, tag, "a surface"))
            return false;
    }
    return line_end(s);
}

static bool entities(rt_scan_t *s, gmsh_t *g)
{
    enum { LEAST_TEXT = 18 }; /* bytes of a surface */
    int64_t total[4];
    if (g->entities)
        return rt_scan_fail(s, "a second $Entities");
    if (g->elements)
        return rt_scan_fail(s, "$Entities comes after $Elements");
    g->entities = true;
    if (!read_header(s, total, 4, "the counts of $Entities"))
        return false;
    for (int d = 0; d < 4; d++)
        if (total[d] < 0)
            return rt_scan_fail(s, "%" PRId64 " entities of dimension %d", total[d], d);
    if (total[2] > 0) {
        if (!rt_scan_need(s, total[2], LEAST_TEXT, "the surfaces"))
            return false;
        g->surfaces.pairs = rt_scan_alloc(s, total[2], sizeof *g->surfaces.pairs);
        g->physical = rt_scan_alloc(s, total[2], sizeof *g->physical);
    }
    for (int d = 0; d < 4; d++)
        for (int64_t i = 0; i < total[d]; i++) /* fails at the end of the file at the latest */
            if (s->failed || !entity(s, g, d))
                return false;
    return tags_sort(s, &g->surfaces, "surface");
}

/* --- $Nodes --- */

/* Reads n nodes: their tags, then their coordinates and `more` parameters. */
static bool node_block(rt_scan_t *s, gmsh_t *g, int64_t n, int64_t more)
{
    const int64_t first = g->nodes.n;
    double unused;
    for (int64_t i = 0, tag; i < n; i++) {
        line_begin(s);
        if (!rt_scan_whole(s, &tag, 8, "the number of a node") || !line_end(s) ||
            !tags_add(s, &g->nodes, tag, "a node"))
            return false;
    }
    for (int64_t i = first; i < first + n; i++) {
        double *x = g->draft->mesh.x + 3 * i;
        line_begin(s);
        for (int d = 0; d < 3 + more; d++)
            if (!rt_scan_real(s, d < 3 ? x + d : &unused, "a coordinate"))
                return false;
        if (!rt_mesh_scan_finite(s, x, g->nodes.pairs[i].tag) || !line_end(s))
            return false;
    }
    return true;
}

static bool nodes(rt_scan_t *s, gmsh_t *g)
{
    int64_t total[4], block[4]; /* blocks, nodes, least and largest tag */
    rt_mesh_t *mesh = &g->draft->mesh;
    if (mesh->x)
        return rt_scan_fail(s, "a second $Nodes");
    if (!read_header(s, total, 4, "the counts of $Nodes") ||
        !rt_scan_count(s, total[1], s->binary ? 32 : 8, "nodes"))
        return false;
    mesh->vertices = total[1];
    mesh->x = rt_scan_alloc(s, total[1], 3 * sizeof *mesh->x);
    g->nodes.pairs = mesh->x ? rt_scan_alloc(s, total[1], sizeof *g->nodes.pairs) : NULL;
    /* each block takes bytes of the file, so a number of blocks that is too large ends with the
     * file */
    for (int64_t b = 0; b < total[0]; b++) {
        if (s->failed || !read_header(s, block, 1, "the header of a block of nodes"))
            return false;
        if (block[0] < 0 || block[0] > 3 || block[2] < 0 || block[2] > 1)
            return rt_scan_fail(s,
                                "a block of nodes of dimension %" PRId64 " and parametric %" PRId64,
                                block[0], block[2]);
        if (!check_block(s, block[3], total[1] - g->nodes.n, "nodes") ||
            !node_block(s, g, block[3], block[2] ? block[0] : 0))
            return false;
    }
    return check_total(s, g->nodes.n, total[1], "nodes") && tags_sort(s, &g->nodes, "node");
}

/* --- $Elements --- */

enum { NONE = -1, MOST_NODES = 8 };
typedef struct {
    int nodes;         /* 0: an unknown type */
    int element, face; /* rt_element_t or rt_face_t, or NONE; both NONE: skipped */
    const char *name;
} shape_t;

/* Looks up Gmsh's number of a type. Gmsh orders the vertices of all types that can be used as
 * mesh/mesh.h does. */
static shape_t shape_of(int64_t type)
{
    static const shape_t shapes[] = {
        [1] = {2, NONE, NONE, "a line"},
        [2] = {3, NONE, RT_TRIANGLE, "a triangle"},
        [3] = {4, NONE, RT_QUAD, "a quadrilateral"},
        [4] = {4, RT_TETRAHEDRON, NONE, "a tetrahedron"},
        [5] = {8, RT_HEXAHEDRON, NONE, "a hexahedron"},
        [6] = {6, RT_PRISM, NONE, "a prism"},
        [7] = {5, RT_PYRAMID, NONE, "a pyramid"},
        [8] = {3, NONE, NONE, "a line"},
        [15] = {1, NONE, NONE, "a point"},
        [26] = {4, NONE, NONE, "a line"},
        [27] = {5, NONE, NONE, "a line"},
        [28] = {6, NONE, NONE, "a line"},
    };
    if (type > 0 && type < (int64_t)(sizeof shapes / sizeof *shapes) && shapes[type].nodes > 0)
        return shapes[type];
    return (shape_t){0, NONE, NONE, "of higher order or unknown"};
}

/* Reads one element of a block: its tag and its nodes. */
static bool element(rt_scan_t *s, gmsh_t *g, int64_t type, shape_t shape, int64_t physical)
{
    int64_t tag, node[MOST_NODES];
    int32_t *vertex = NULL;
    line_begin(s);
    if (!rt_scan_whole(s, &tag, 8, "the number of an element"))
        return false;
    if (shape.nodes == 0 || (shape.element != NONE && !rt_mesh_allows(g->draft, shape.element)))
        return rt_mesh_refuse_type(s, g->draft, tag, shape.name, type);
    for (int a = 0; a < shape.nodes; a++)
        if (!rt_scan_whole(s, node + a, 8, "a node of an element"))
            return false;
    if (shape.face != NONE)
        vertex = rt_mesh_add_face(s, g->draft, shape.face, physical);
    else if (shape.element != NONE && tags_add(s, &g->volumes, tag, "an element"))
        vertex = rt_mesh_add_element(g->draft, shape.element);
    for (int a = 0; vertex && a < shape.nodes; a++) {
        vertex[a] = tags_find(&g->nodes, node[a]);
        if (vertex[a] < 0)
            return rt_scan_fail(s, "element %" PRId64 ": there is no node %" PRId64, tag, node[a]);
    }
    return !s->failed && line_end(s);
}

static bool element_block(rt_scan_t *s, gmsh_t *g, int64_t type, int64_t n, int64_t physical)
{
    const shape_t shape = shape_of(type);
    /* a digit and a blank for each number, or its eight bytes */
    if (!rt_scan_need(s, n, (s->binary ? 8 : 2) * (1 + shape.nodes), "a block of elements"))
        return false;
    if (shape.face != NONE && !rt_mesh_reserve_faces(s, g->draft, shape.face, n))
        return false;
    if (shape.element != NONE && !rt_mesh_reserve_elements(s, g->draft, shape.element, n))
        return false;
    for (int64_t e = 0; e < n; e++)
        if (!element(s, g, type, shape, physical))
            return false;
    return true;
}

static bool elements(rt_scan_t *s, gmsh_t *g)
{
    int64_t total[4], block[4], done = 0; /* blocks, elements, least and largest tag */
    if (g->elements)
        return rt_scan_fail(s, "a second $Elements");
    if (!g->draft->mesh.x)
        return rt_scan_fail(s, "$Elements comes before $Nodes");
    g->elements = true;
    if (!read_header(s, total, 4, "the counts of $Elements") ||
        !rt_scan_count(s, total[1], s->binary ? 16 : 4, "elements"))
        return false;
    g->volumes.pairs = rt_scan_alloc(s, total[1], sizeof *g->volumes.pairs);
    for (int64_t b = 0; b < total[0]; b++, done += block[3]) {
        /* dimension and tag of the entity, type, elements */
        if (s->failed || !read_header(s, block, 1, "the header of a block of elements") ||
            !check_block(s, block[3], total[1] - done, "elements"))
            return false;
        const int32_t surface = block[0] == 2 ? tags_find(&g->surfaces, block[1]) : -1;
        if (!element_block(s, g, block[2], block[3], surface >= 0 ? g->physical[surface] : 0))
            return false;
    }
    return check_total(s, done, total[1], "elements") && tags_sort(s, &g->volumes, "element");
}

/* --- the file --- */

static bool end_of_section(rt_scan_t *s, const char *end)
{
    char word[24];
    rt_scan_skip_space(s);
    if (s->at == s->end)
        return rt_scan_fail(s, "the file ends here, where %s should follow", end);
    if (!rt_scan_word(s, end))
        return rt_scan_fail(s, "\"%s\" is where %s should be", rt_scan_quote(s, word, sizeof word),
                            end);
    return rt_scan_line_end(s);
}

/* Reads what follows the line $MeshFormat. */
static bool format(rt_scan_t *s, gmsh_t *g)
{
    double version;
    int64_t binary, size, one = 1;
    char word[24];
    if (g->formatted)
        return rt_scan_fail(s, "a second $MeshFormat");
    g->formatted = true;
    rt_scan_skip_blanks(s);
    rt_scan_quote(s, word, sizeof word);
    if (!rt_scan_real(s, &version, "the version of the format"))
        return false;
    if (version != 4.1)
        return rt_scan_fail(s, "Gmsh format %s: only 4.1 can be read; " RT_MESH_CONVERT, word);
    if (!rt_scan_int(s, &binary, "the type of the file") ||
        !rt_scan_int(s, &size, "the size of a number"))
        return false;
    if (binary != 0 && binary != 1)
        return rt_scan_fail(s, "file type %" PRId64 ": must be 0 (ASCII) or 1 (binary)", binary);
    if (binary && size != 8)
        return rt_scan_fail(s, "numbers of %" PRId64 " bytes: only 8 can be read", size);
    if (!rt_scan_line_end(s))
        return false;
    s->binary = binary;
    if (binary && !rt_scan_whole(s, &one, 4, "$MeshFormat"))
        return false;
    s->swap = one == 0x01000000;
    return one == 1 || s->swap ||
           rt_scan_fail(s, "the number 1, which shows the byte order, is %" PRId64, one);
}

/* Goes past $EndName, wherever it comes. In a binary file lines mean nothing, so each $ is
 * tried. */
static bool skip_section(rt_scan_t *s, const char *name, size_t n)
{
    const rt_scan_t from = *s;
    for (; rt_scan_left(s) >= n + 4; s->at++) {
        s->line += *s->at == '\n';
        if (memcmp(s->at, "$End", 4) == 0 && memcmp(s->at + 4, name, n) == 0 &&
            (rt_scan_left(s) == n + 4 || strchr(" \t\r\n", s->at[n + 4]))) {
            rt_scan_skip_line(s);
            return true;
        }
    }
    s->at = from.at;
    return rt_scan_fail_line(s, from.line, "a section starts here and has no end");
}

/* Reads the section whose $ is at `at`. */
static bool section(rt_scan_t *s, gmsh_t *g)
{
    char word[24];
    rt_scan_t old = *s;
    static const struct {
        const char *begin, *end;
        bool (*read)(rt_scan_t *s, gmsh_t *g);
    } known[] = {{.begin = "$MeshFormat", .end = "$EndMeshFormat", .read = format},
                 {.begin = "$Nodes", .end = "$EndNodes", .read = nodes},
                 {.begin = "$Elements", .end = "$EndElements", .read = elements},
                 {.begin = "$Entities", .end = "$EndEntities", .read = entities}};
    for (int i = 0; i < 4; i++)
        if (rt_scan_word(s, known[i].begin)) {
            if (!g->formatted && known[i].read != format)
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
    if (!g->formatted && n == 3 && memcmp(name, "NOD", 3) == 0)
        return rt_scan_fail(s, "Gmsh format 1: only 4.1 can be read; " RT_MESH_CONVERT);
    return skip_section(s, name, n);
}

bool rt_mesh_gmsh_parse(rt_scan_t *s, rt_mesh_draft_t *draft)
{
    gmsh_t g = {.draft = draft};
    char word[24];
    bool good = true;
    for (rt_scan_skip_space(s); good && s->at < s->end; rt_scan_skip_space(s))
        if (*s->at == '$')
            good = section(s, &g);
        else
            good = rt_scan_fail(s, "\"%s\" is outside of any section",
                                rt_scan_quote(s, word, sizeof word));
    if (good && (!g.formatted || !draft->mesh.x || !g.elements))
        good = rt_scan_fail_file(s, "the file ends without %s",
                                 !g.formatted     ? "$MeshFormat"
                                 : !draft->mesh.x ? "$Nodes"
                                                  : "$Elements");
    RT_FREE(g.nodes.pairs, RT_HOST);
    RT_FREE(g.volumes.pairs, RT_HOST);
    RT_FREE(g.surfaces.pairs, RT_HOST);
    RT_FREE(g.physical, RT_HOST);
    return good;
}
