/*
 * mesh/su2.c - an SU2 mesh: NDIME=, NELEM=, NPOIN= and markers in any order.
 *
 * Other keywords are skipped, and so is what follows the numbers of a line (the number of the
 * element or point, which SU2 itself does not use). The tag of a boundary face is the number of its
 * marker; markers are counted from 1 in the order of the file.
 */
#include "config.h"
#include "mesh/builder.h"
#include <inttypes.h>
#include <string.h>
#include "base/mem.h"

typedef struct {
    rt_mesh_draft_t *draft;
    int64_t largest, largest_line; /* largest node of an element, because points may come later */
    int64_t claimed, markers;      /* NMARK= (-1: not there), MARKER_TAG= so far */
    bool dimension, elements, points;
    bool tagged;  /* MARKER_TAG= waits for MARKER_ELEMS= */
    bool foreign; /* lines of numbers belong to a keyword that is skipped */
} su2_t;

/* Goes to the next line that is not blank or a comment. */
static void next_line(rt_scan_t *s)
{
    rt_scan_skip_space(s);
    while (s->at < s->end && *s->at == '%') {
        rt_scan_skip_line(s);
        rt_scan_skip_space(s);
    }
}

/* Skips the rest of a line of numbers. The number before it ended at a blank: rt_scan_int saw to
 * that. */
static void rest(rt_scan_t *s)
{
    rt_scan_skip_line(s);
}

/* VTK's numbers of the types. Its order of vertices is that of mesh/mesh.h. */
enum { POINT = 1, LINE = 3, TRIANGLE = 5, QUAD = 9, TETRAHEDRON = 10 };
static int element_type(int64_t type)
{
    static const int types[] = {RT_TETRAHEDRON, -1, RT_HEXAHEDRON, RT_PRISM, RT_PYRAMID};
    return type >= TETRAHEDRON && type < TETRAHEDRON + 5 ? types[type - TETRAHEDRON] : -1;
}

static const char *name_of(int64_t type)
{
    switch (type) {
    case TETRAHEDRON:
        return "a tetrahedron";
    case 12:
        return "a hexahedron";
    case 13:
        return "a prism";
    case 14:
        return "a pyramid";
    case 21:
        return "a line of second order";
    case 22:
        return "a triangle of second order";
    case 23:
        return "a quadrilateral of second order";
    case 24:
        return "a tetrahedron of second order";
    case 25:
        return "a hexahedron of second order";
    case 26:
        return "a prism of second order";
    case 27:
        return "a pyramid of second order";
    default:
        return "of an unknown type";
    }
}

/* Reads n nodes of element e; `what` names the list in messages. */
static bool nodes_of(rt_scan_t *s, su2_t *su2, const char *what, int64_t e, int n, int32_t *vertex)
{
    int64_t node;
    for (int a = 0; a < n; a++) {
        if (!rt_scan_int(s, &node, "a node of an element"))
            return false;
        if (node < 0 || node >= INT32_MAX)
            return rt_scan_fail(s, "%s %" PRId64 ": there is no node %" PRId64, what, e, node);
        if (node > su2->largest) {
            su2->largest = node;
            su2->largest_line = s->line;
        }
        vertex[a] = (int32_t)node;
    }
    return rest(s), true;
}

static bool element(rt_scan_t *s, su2_t *su2, int64_t e)
{
    int64_t type;
    if (!rt_scan_int(s, &type, "the type of an element"))
        return false;
    if (type == LINE || type == TRIANGLE || type == QUAD) /* not a volume element */
        return rest(s), true;
    const int known = element_type(type);
    if (known < 0 || !rt_mesh_allows(su2->draft, known))
        return rt_mesh_refuse_type(s, su2->draft, e, name_of(type), type);
    int32_t *vertex = rt_mesh_add_element(s, su2->draft, known);
    return vertex && nodes_of(s, su2, "element", e, rt_element_size(known), vertex);
}

static bool elements(rt_scan_t *s, su2_t *su2)
{
    int64_t n;
    if (su2->elements)
        return rt_scan_fail(s, "a second NELEM=");
    su2->elements = true;
    if (!rt_scan_int(s, &n, "the number of elements") || !rt_scan_count(s, n, 6, "elements"))
        return false;
    rest(s);
    for (int64_t e = 0; e < n; e++) {
        next_line(s);
        if (!element(s, su2, e))
            return false;
    }
    return true;
}

static bool points(rt_scan_t *s, su2_t *su2)
{
    rt_mesh_draft_t *draft = su2->draft;
    if (su2->points)
        return rt_scan_fail(s, "a second NPOIN=");
    su2->points = true;
    int64_t n;
    if (!rt_scan_int(s, &n, "the number of points") || !rt_scan_count(s, n, 6, "points"))
        return false;
    rest(s); /* the number without ghost points may follow */
    draft->mesh.vertices = n;
    draft->mesh.x = rt_scan_alloc(s, n, 3 * sizeof *draft->mesh.x);
    for (int64_t i = 0; draft->mesh.x && i < n; i++) {
        double *x = draft->mesh.x + 3 * i;
        next_line(s);
        for (int d = 0; d < 3; d++)
            if (!rt_scan_real(s, x + d, "a coordinate"))
                return false;
        if (!rt_mesh_scan_finite(s, x, i))
            return false;
        rest(s);
    }
    return draft->mesh.x != NULL;
}

/* Goes past KEYWORD= if it is at `at`, with or without blanks before the sign. */
static bool keyword(rt_scan_t *s, const char *word)
{
    const char *at = s->at;
    size_t n = strlen(word);
    if (rt_scan_left(s) <= n || memcmp(at, word, n) != 0)
        return false;
    s->at += n;
    rt_scan_skip_blanks(s);
    if (s->at < s->end && *s->at == '=')
        return s->at++, true;
    s->at = at;
    return false;
}

static bool dimension(rt_scan_t *s, su2_t *su2)
{
    int64_t n;
    if (su2->dimension)
        return rt_scan_fail(s, "a second NDIME=");
    su2->dimension = true;
    if (!rt_scan_int(s, &n, "the dimension"))
        return false;
    if (n != 3)
        return rt_scan_fail(s, "NDIME= %" PRId64 ": only meshes in 3 dimensions can be used", n);
    return rt_scan_line_end(s);
}

static bool zones(rt_scan_t *s, su2_t *su2)
{
    int64_t n;
    (void)su2;
    if (!rt_scan_int(s, &n, "the number of zones"))
        return false;
    if (n != 1)
        return rt_scan_fail(s, "NZONE= %" PRId64 ": only one zone can be used", n);
    return rt_scan_line_end(s);
}

static bool marker_count(rt_scan_t *s, su2_t *su2)
{
    if (su2->claimed >= 0)
        return rt_scan_fail(s, "a second NMARK=");
    if (!rt_scan_int(s, &su2->claimed, "the number of markers"))
        return false;
    if (su2->claimed < 0)
        return rt_scan_fail(s, "%" PRId64 " markers", su2->claimed);
    return rt_scan_line_end(s);
}

static bool marker_tag(rt_scan_t *s, su2_t *su2)
{
    if (su2->tagged)
        return rt_scan_fail(s, "MARKER_TAG= directly after MARKER_TAG=");
    su2->tagged = true;
    su2->markers++;
    return rest(s), true; /* its name */
}

static bool marker_elements(rt_scan_t *s, su2_t *su2)
{
    int64_t n, type;
    if (!su2->tagged)
        return rt_scan_fail(s, "MARKER_ELEMS= without a MARKER_TAG= of its own");
    su2->tagged = false;
    if (!rt_scan_int(s, &n, "the number of boundary elements"))
        return false;
    if (n != 0 && !rt_scan_count(s, n, 4, "boundary elements"))
        return false;
    rest(s);
    for (int64_t e = 0; e < n; e++) {
        next_line(s);
        if (!rt_scan_int(s, &type, "the type of a boundary element"))
            return false;
        if (type == POINT || type == LINE) {
            rest(s);
            continue;
        }
        if (type != TRIANGLE && type != QUAD)
            return rt_scan_fail(s,
                                "boundary element %" PRId64 " of marker %" PRId64
                                " is %s (type %" PRId64
                                "): only triangles and quadrilaterals can be used",
                                e, su2->markers, name_of(type), type);
        const int face = type == TRIANGLE ? RT_TRIANGLE : RT_QUAD;
        int32_t *vertex = rt_mesh_add_face(s, su2->draft, face, su2->markers);
        if (!vertex || !nodes_of(s, su2, "boundary element", e, rt_face_size(face), vertex))
            return false;
    }
    return true;
}

/* Skips a keyword that we do not use, or a line of numbers that belongs to one. */
static bool other_line(rt_scan_t *s, su2_t *su2)
{
    char word[24];
    const bool letter = (*s->at >= 'A' && *s->at <= 'Z') || (*s->at >= 'a' && *s->at <= 'z');
    if (letter)
        su2->foreign = true;
    else if (!su2->foreign) /* otherwise surplus elements would be lost without a message */
        return rt_scan_fail(s, "\"%s\" is where a keyword should be: a wrong NELEM= or NPOIN=?",
                            rt_scan_quote(s, word, sizeof word));
    rt_scan_skip_line(s);
    return true;
}

bool rt_mesh_su2_parse(rt_scan_t *s, rt_mesh_draft_t *draft)
{
    static const struct {
        const char *word;
        bool (*read)(rt_scan_t *s, su2_t *su2);
    } known[] = {{.word = "NDIME", .read = dimension},
                 {.word = "NZONE", .read = zones},
                 {.word = "NELEM", .read = elements},
                 {.word = "NPOIN", .read = points},
                 {.word = "NMARK", .read = marker_count},
                 {.word = "MARKER_TAG", .read = marker_tag},
                 {.word = "MARKER_ELEMS", .read = marker_elements}};
    su2_t su2 = {.draft = draft, .largest = -1, .claimed = -1};
    bool good = true;
    for (next_line(s); good && s->at < s->end; next_line(s)) {
        const bool foreign = su2.foreign;
        su2.foreign = false;
        size_t k = 0;
        while (k < sizeof known / sizeof *known && !keyword(s, known[k].word))
            k++;
        if (k < sizeof known / sizeof *known)
            good = known[k].read(s, &su2);
        else {
            su2.foreign = foreign;
            good = other_line(s, &su2);
        }
    }
    if (!good)
        return false;
    if (!su2.dimension || !su2.elements || !su2.points)
        return rt_scan_fail_file(s, "the file ends without %s",
                                 !su2.dimension  ? "NDIME="
                                 : !su2.elements ? "NELEM="
                                                 : "NPOIN=");
    if (su2.tagged)
        return rt_scan_fail_file(s, "the file ends without MARKER_ELEMS= of marker %" PRId64,
                                 su2.markers);
    if (su2.claimed >= 0 && su2.claimed != su2.markers)
        return rt_scan_fail_file(
            s, "NMARK= says %" PRId64 ", and there are %" PRId64 " MARKER_TAG=", su2.claimed,
            su2.markers);
    if (su2.largest >= draft->mesh.vertices)
        return rt_scan_fail_line(s, su2.largest_line,
                                 "there is no node %" PRId64 ": NPOIN= says %" PRId64, su2.largest,
                                 draft->mesh.vertices);
    return true;
}
