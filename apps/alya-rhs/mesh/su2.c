/*
 * su2.c - the tetrahedra of an SU2 mesh: NDIME=, NELEM=, NPOIN= in any order; markers and other
 * keywords are passed over, and so is what stands behind the numbers of a line (the number of the
 * element or point, which SU2 itself does not use).
 */
#include "config.h"
#include "scan.h"
#include <inttypes.h>
#include <string.h>

typedef struct {
    alya_draft_t *draft;
    int64_t largest, largest_line; /* largest node of an element: points may come later */
    bool dimension, elements, points;
    bool foreign; /* lines of numbers belong to a keyword that is passed over */
} su2_t;

/* To the next line that is not blank or a comment. */
static void next_line(alya_scan_t *s)
{
    alya_scan_skip_space(s);
    while (s->at < s->end && *s->at == '%') {
        alya_scan_skip_line(s);
        alya_scan_skip_space(s);
    }
}

/* The rest of a line of numbers; the number before must have ended at a blank, which it did. */
static void rest(alya_scan_t *s)
{
    alya_scan_skip_line(s);
}

static const char *refused_name(int64_t type)
{
    switch (type) {
    case 12:
        return "a hexahedron";
    case 13:
        return "a prism";
    case 14:
        return "a pyramid";
    default:
        return "of an unknown type";
    }
}

static bool element(alya_scan_t *s, su2_t *su2, int64_t e)
{
    int64_t type, node;
    alya_draft_t *draft = su2->draft;
    if (!alya_scan_int(s, &type, "the type of an element"))
        return false;
    if (type == 3 || type == 5 || type == 9) /* line, triangle, quadrilateral */
        return rest(s), true;
    if (type != 10)
        return alya_scan_fail(
            s, "element %" PRId64 " is %s (type %" PRId64 "): only tetrahedra can be used", e,
            refused_name(type), type);
    for (int a = 0; a < 4; a++) {
        if (!alya_scan_int(s, &node, "a node of an element"))
            return false;
        if (node < 0 || node >= INT32_MAX)
            return alya_scan_fail(s, "element %" PRId64 ": there is no node %" PRId64, e, node);
        if (node > su2->largest) {
            su2->largest = node;
            su2->largest_line = s->line;
        }
        draft->connectivity[4 * draft->elements + a] = (int32_t)node;
    }
    draft->elements++;
    return rest(s), true;
}

static bool elements(alya_scan_t *s, su2_t *su2)
{
    alya_draft_t *draft = su2->draft;
    if (su2->elements)
        return alya_scan_fail(s, "a second NELEM=");
    su2->elements = true;
    if (!alya_scan_int(s, &draft->room, "the number of elements") ||
        !alya_scan_count(s, draft->room, 6, "elements"))
        return false;
    rest(s);
    draft->connectivity = alya_scan_alloc(s, draft->room, 4 * sizeof *draft->connectivity);
    if (!draft->connectivity)
        return false;
    for (int64_t e = 0; e < draft->room; e++) {
        next_line(s);
        if (!element(s, su2, e))
            return false;
    }
    return true;
}

static bool points(alya_scan_t *s, su2_t *su2)
{
    alya_draft_t *draft = su2->draft;
    if (su2->points)
        return alya_scan_fail(s, "a second NPOIN=");
    su2->points = true;
    int64_t n;
    if (!alya_scan_int(s, &n, "the number of points") || !alya_scan_count(s, n, 6, "points"))
        return false;
    rest(s); /* the number without ghost points may follow */
    draft->nodes = n;
    draft->x = alya_scan_alloc(s, n, 3 * sizeof *draft->x);
    for (int64_t i = 0; draft->x && i < n; i++) {
        double *x = draft->x + 3 * i;
        next_line(s);
        for (int d = 0; d < 3; d++)
            if (!alya_scan_real(s, x + d, "a coordinate"))
                return false;
        if (!alya_scan_finite(s, x, i))
            return false;
        rest(s);
    }
    return draft->x != NULL;
}

/* KEYWORD= at `at`, with or without blanks before the sign: goes past it. */
static bool keyword(alya_scan_t *s, const char *word)
{
    const char *at = s->at;
    size_t n = strlen(word);
    if (alya_scan_left(s) <= n || memcmp(at, word, n) != 0)
        return false;
    s->at += n;
    alya_scan_skip_blanks(s);
    if (s->at < s->end && *s->at == '=')
        return s->at++, true;
    s->at = at;
    return false;
}

static bool dimension(alya_scan_t *s, su2_t *su2)
{
    int64_t n;
    if (su2->dimension)
        return alya_scan_fail(s, "a second NDIME=");
    su2->dimension = true;
    if (!alya_scan_int(s, &n, "the dimension"))
        return false;
    if (n != 3)
        return alya_scan_fail(s, "NDIME= %" PRId64 ": only meshes in 3 dimensions can be used", n);
    return alya_scan_line_end(s);
}

static bool zones(alya_scan_t *s)
{
    int64_t n;
    if (!alya_scan_int(s, &n, "the number of zones"))
        return false;
    if (n != 1)
        return alya_scan_fail(s, "NZONE= %" PRId64 ": only one zone can be used", n);
    return alya_scan_line_end(s);
}

/* A keyword that is none of ours, or a line of numbers. */
static bool other_line(alya_scan_t *s, su2_t *su2)
{
    char word[24];
    const bool letter = (*s->at >= 'A' && *s->at <= 'Z') || (*s->at >= 'a' && *s->at <= 'z');
    if (letter)
        su2->foreign = true;
    else if (!su2->foreign) /* or surplus elements would be lost without a word */
        return alya_scan_fail(s, "\"%s\" stands where a keyword should: a wrong NELEM= or NPOIN=?",
                              alya_scan_quote(s, word, sizeof word));
    alya_scan_skip_line(s);
    return true;
}

bool alya_su2_parse(alya_scan_t *s, alya_draft_t *draft)
{
    su2_t su2 = {.draft = draft, .largest = -1};
    bool good = true;
    for (next_line(s); good && s->at < s->end; next_line(s)) {
        const bool foreign = su2.foreign;
        su2.foreign = false;
        if (keyword(s, "NDIME"))
            good = dimension(s, &su2);
        else if (keyword(s, "NZONE"))
            good = zones(s);
        else if (keyword(s, "NELEM"))
            good = elements(s, &su2);
        else if (keyword(s, "NPOIN"))
            good = points(s, &su2);
        else {
            su2.foreign = foreign;
            good = other_line(s, &su2);
        }
    }
    if (!good)
        return false;
    if (!su2.dimension || !su2.elements || !su2.points)
        return alya_scan_fail_file(s, "the file ends without %s",
                                   !su2.dimension  ? "NDIME="
                                   : !su2.elements ? "NELEM="
                                                   : "NPOIN=");
    if (su2.largest >= draft->nodes)
        return alya_scan_fail_line(s, su2.largest_line,
                                   "there is no node %" PRId64 ": NPOIN= says %" PRId64,
                                   su2.largest, draft->nodes);
    return true;
}
