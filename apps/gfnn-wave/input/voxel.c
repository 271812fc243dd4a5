/*
 * voxel.c - reads a model from a file, which a dozen lines of any language make of a segmented
 * scan.
 *
 * The file is a header of text lines, followed by the voxels as bytes.
 *
 *   gfnn-voxels 1                    this line first; 1 is the version of the format
 *   # a comment
 *   size 12 10 8                     voxels along x, y, z
 *   spacing 0.001                    their side in metres
 *   material 0 50 void               id (0 to 255), Vs in m/s, and if wanted a remark
 *   material 7 120 outer shell
 *   data                             the voxels start right after this line
 *
 * Then NX * NY * NZ bytes, x fastest, each an id that has a material, and nothing after them. Ids need
 * not be consecutive: the materials get the numbers 0, 1, ... in the order of their ids.
 *
 * The file is not trusted: see io/scan.h.
 */
#include "config.h"
#include "input.h"
#include <inttypes.h>
#include "io/scan.h"

enum { BYTES = 256 };

/* A material as the file has it. */
typedef struct {
    int64_t line; /* 0: there is no material of this id */
    double vs;
} entry_t;

typedef struct {
    rt_scan_t s;
    gfnn_voxels_t *to;
    entry_t entry[BYTES];
} reader_t;

/* --- the header --- */

/* Goes to the next line that is neither blank nor a comment. */
static void next_line(rt_scan_t *s)
{
    rt_scan_skip_space(s);
    while (s->at < s->end && *s->at == '#') {
        rt_scan_skip_line(s);
        rt_scan_skip_space(s);
    }
}

static bool first_line(rt_scan_t *s)
{
    int64_t version;
    if (s->at == s->end)
        return rt_scan_fail_file(s, "the file is empty");
    if (!rt_scan_word(s, "gfnn-voxels"))
        return rt_scan_fail_file(s, "no voxel file, whose first line is \"gfnn-voxels 1\"");
    if (!rt_scan_int(s, &version, "the version of the format"))
        return false;
    if (version != 1)
        return rt_scan_fail(s, "version %" PRId64 " of the format: only 1 can be read", version);
    return rt_scan_line_end(s);
}

/* Goes to the next line, which must begin with this word. */
static bool expect(rt_scan_t *s, const char *word)
{
    char found[24];
    next_line(s);
    return rt_scan_word(s, word) ||
           rt_scan_fail(s, "\"%s\": the lines are size, spacing, material and data, in this order",
                        rt_scan_quote(s, found, sizeof found));
}

static bool read_size(reader_t *r)
{
    static const char *const what[3] = {"voxels along x", "voxels along y", "voxels along z"};
    rt_scan_t *s = &r->s;
    for (int d = 0; d < 3; d++) {
        int64_t *n = &r->to->E[d];
        if (!rt_scan_int(s, n, what[d]))
            return false;
        if (*n < 1 || *n > INT32_MAX)
            return rt_scan_fail(s, "%" PRId64 " %s: must be 1 to %d", *n, what[d], INT32_MAX);
    }
    return rt_scan_line_end(s);
}

static bool read_spacing(reader_t *r)
{
    rt_scan_t *s = &r->s;
    if (!rt_scan_real(s, &r->to->ds, "the side of a voxel in metres"))
        return false;
    if (!rt_finite(r->to->ds) || r->to->ds <= 0)
        return rt_scan_fail(s, "spacing %g: the side of a voxel in metres must be above 0",
                            r->to->ds);
    return rt_scan_line_end(s);
}

static bool read_material(reader_t *r)
{
    rt_scan_t *s = &r->s;
    const int64_t line = s->line;
    int64_t id;
    double vs = 0;
    if (!rt_scan_int(s, &id, "the id of the material"))
        return false;
    if (id < 0 || id >= BYTES)
        return rt_scan_fail(s, "material %" PRId64 ": an id is a byte, 0 to 255", id);
    entry_t *e = &r->entry[id];
    if (e->line > 0)
        return rt_scan_fail(
            s, "material %" PRId64 " again, after line %" PRId64 ": each id has one line", id,
            e->line);
    if (!rt_scan_real(s, &vs, "the material's Vs in m/s"))
        return false;
    if (!rt_finite(vs) || vs <= 0)
        return rt_scan_fail(s,
                            "material %" PRId64 ": Vs %g m/s must be above 0 (this method has "
                            "no fluids: fill them with a low Vs, such as 50)",
                            id, vs);
    e->vs = vs;
    e->line = line;
    rt_scan_skip_line(s);
    return true;
}

static bool read_header(reader_t *r)
{
    rt_scan_t *s = &r->s;
    if (!first_line(s) || !expect(s, "size") || !read_size(r) || !expect(s, "spacing") ||
        !read_spacing(r))
        return false;
    for (next_line(s); !rt_scan_word(s, "data"); next_line(s))
        if (!expect(s, "material") || !read_material(r))
            return false;
    return rt_scan_line_end(s);
}

/* --- the voxels --- */

/* Compares sizes in doubles, which suffice: a product of three sizes that is not exact is larger
 * than any file. */
static bool check_size(reader_t *r)
{
    rt_scan_t *s = &r->s;
    const int64_t *E = r->to->E;
    const double need = (double)E[0] * (double)E[1] * (double)E[2];
    const double left = (double)rt_scan_left(s);
    if (left != need)
        return rt_scan_fail_file(s,
                                 "%.0f bytes follow on the line \"data\", and %" PRId64 "x%" PRId64
                                 "x%" PRId64 " voxels are %.0f: a byte each and nothing after them",
                                 left, E[0], E[1], E[2], need);
    return true;
}

/* Numbers the materials: number[id], -1 for an id that has none. */
static bool make_materials(reader_t *r, int number[BYTES])
{
    gfnn_materials_t *m = &r->to->materials;
    rt_scan_t *s = &r->s;
    for (int id = 0; id < BYTES; id++) {
        const entry_t *e = &r->entry[id];
        number[id] = -1;
        if (e->line == 0)
            continue;
        if (m->ids == GFNN_OUTSIDE)
            return rt_scan_fail_file(s, "256 materials: at most 255 can be told apart");
        m->vs[m->ids] = e->vs;
        m->w[m->ids] = 1;
        m->square[m->ids] = e->vs * e->vs;
        number[id] = m->ids++;
    }
    return m->ids > 0 || rt_scan_fail_file(s, "no line \"material ID VS\" before the data");
}

static bool read_voxels(reader_t *r, const int number[BYTES])
{
    rt_scan_t *s = &r->s;
    const int64_t n = (int64_t)rt_scan_left(s), *E = r->to->E;
    uint8_t *id = r->to->id = rt_scan_alloc(s, n, 1);
    if (!id)
        return false;
    for (int64_t i = 0; i < n; i++) {
        const int byte = (uint8_t)s->at[i];
        if (number[byte] < 0)
            return rt_scan_fail_file(s,
                                     "voxel (%" PRId64 ", %" PRId64 ", %" PRId64
                                     "), from 0, has id %d, and there is no line \"material %d\"",
                                     i % E[0], i / E[0] % E[1], i / (E[0] * E[1]), byte, byte);
        id[i] = (uint8_t)number[byte];
    }
    return true;
}

bool gfnn_voxel_parse(const char *name, const void *data, size_t bytes, bool header_only,
                      gfnn_voxels_t *voxels, char *why, size_t len)
{
    int number[BYTES];
    reader_t r = {.s = rt_scan_bytes(name, data, bytes, why, len), .to = voxels};
    *voxels = (gfnn_voxels_t){0};
    if (read_header(&r) && check_size(&r) && make_materials(&r, number) &&
        (header_only || read_voxels(&r, number)))
        return true;
    gfnn_voxel_free(voxels);
    return false;
}

void gfnn_voxel_free(gfnn_voxels_t *voxels)
{
    RT_FREE(voxels->id, RT_HOST);
    *voxels = (gfnn_voxels_t){0};
}
