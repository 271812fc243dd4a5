/*
 * mesh/gmsh.c - a Gmsh file, format 4.1, ASCII or binary, after the description in the Gmsh reference
 * manual.
 *
 * A file is a sequence of sections $Name ... $EndName. Only $MeshFormat, $Entities (the physical
 * groups of the surfaces), $Nodes and $Elements matter here.
 */
#include "config.h"
#include "mesh/gmsh.h"
#include <inttypes.h>
#include <string.h>
#include "base/mem.h"

static bool nodes(rt_scan_t *s, rt_gmsh_t *g)
{
    if (g->draft->mesh.x)
        return rt_scan_fail(s, "a second $Nodes");
    if (!rt_gmsh_read_nodes(s, g) ||
        !rt_gmsh_tags_make(s, &g->map, g->node_tag, g->draft->mesh.vertices, "node"))
        return false;
    RT_FREE(g->node_tag, RT_HOST);
    return true;
}

static bool elements(rt_scan_t *s, rt_gmsh_t *g)
{
    if (g->elements)
        return rt_scan_fail(s, "a second $Elements");
    if (!g->draft->mesh.x)
        return rt_scan_fail(s, "$Elements comes before $Nodes");
    g->elements = true;
    if (!rt_gmsh_read_elements(s, g))
        return false;
    if (g->volumes == 0) /* reported elsewhere */
        return true;
    rt_gmsh_tags_t seen = {0};
    const bool good = rt_gmsh_tags_make(s, &seen, g->tag, g->volumes, "element");
    rt_gmsh_tags_free(&seen);
    return good;
}

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
static bool format(rt_scan_t *s)
{
    double version;
    int64_t binary, size;
    int32_t one;
    char word[24];
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

/* Goes past $EndName, wherever it comes. In a binary file lines mean nothing, so each $ is
 * tried. */
static bool skip_section(rt_scan_t *s, const char *name, size_t n)
{
    const int64_t line = s->line;
    const char *const from = s->at;
    for (;;) {
        const char *dollar = s->at < s->end ? memchr(s->at, '$', rt_scan_left(s)) : NULL;
        if (!dollar) {
            s->at = from;
            return rt_scan_fail_line(s, line, "a section starts here and has no end");
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

/* Reads the section whose $ is at `at`. */
static bool section(rt_scan_t *s, rt_gmsh_t *g, bool *formatted)
{
    char word[24];
    rt_scan_t old = *s;
    if (rt_scan_word(s, "$MeshFormat")) {
        if (*formatted)
            return rt_scan_fail(s, "a second $MeshFormat");
        *formatted = true;
        return rt_scan_line_end(s) && format(s);
    }
    static const struct {
        const char *begin, *end;
        bool (*read)(rt_scan_t *s, rt_gmsh_t *g);
    } known[] = {{.begin = "$Nodes", .end = "$EndNodes", .read = nodes},
                 {.begin = "$Elements", .end = "$EndElements", .read = elements},
                 {.begin = "$Entities", .end = "$EndEntities", .read = rt_gmsh_read_entities}};
    for (int i = 0; i < 3; i++)
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
        return rt_scan_fail(s, "Gmsh format 1: only 4.1 can be read; " RT_MESH_CONVERT);
    return skip_section(s, name, n);
}

bool rt_mesh_gmsh_parse(rt_scan_t *s, rt_mesh_draft_t *draft)
{
    rt_gmsh_t g = {.draft = draft};
    char word[24];
    bool good = true, formatted = false;
    for (rt_scan_skip_space(s); good && s->at < s->end; rt_scan_skip_space(s))
        if (*s->at == '$')
            good = section(s, &g, &formatted);
        else
            good = rt_scan_fail(s, "\"%s\" is outside of any section",
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
    rt_gmsh_tags_free(&g.map);
    rt_gmsh_tags_free(&g.surface);
    return good;
}
