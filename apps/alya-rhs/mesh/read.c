/*
 * read.c - mesh files: what all formats share. See scan.h.
 *
 * A file is taken whole into memory, then parsed front to back. Everything it says is doubted: a
 * count is compared with the bytes that are left before anything is allocated for it, so that
 * memory stays below some 12 times the size of the file (the worst case is a file of point
 * elements of 4 bytes each, which claims room for tetrahedra).
 */
#include "config.h"
#include "scan.h"
#include <errno.h>
#include <inttypes.h>
#include <locale.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* --- messages --- */

static bool fail(alya_scan_t *s, const char *where, int64_t at, const char *fmt, va_list args)
{
    if (s->failed || s->len == 0)
        return s->failed = true, false;
    s->failed = true;
    int n = where ? snprintf(s->why, s->len, "%s: %s %" PRId64 ": ", s->name, where, at)
                  : snprintf(s->why, s->len, "%s: ", s->name);
    if (n >= 0 && (size_t)n < s->len)
        vsnprintf(s->why + n, s->len - (size_t)n, fmt, args);
    return false;
}

bool alya_scan_fail(alya_scan_t *s, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    if (s->binary)
        fail(s, "byte", s->at - s->start, fmt, args);
    else
        fail(s, "line", s->line, fmt, args);
    va_end(args);
    return false;
}

bool alya_scan_fail_line(alya_scan_t *s, int64_t line, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    fail(s, "line", line, fmt, args);
    va_end(args);
    return false;
}

bool alya_scan_fail_file(alya_scan_t *s, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    fail(s, NULL, 0, fmt, args);
    va_end(args);
    return false;
}

/* --- text --- */

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r';
}

static bool is_space(char c)
{
    return is_blank(c) || c == '\n';
}

void alya_scan_skip_blanks(alya_scan_t *s)
{
    while (s->at < s->end && is_blank(*s->at))
        s->at++;
}

void alya_scan_skip_space(alya_scan_t *s)
{
    for (; s->at < s->end && is_space(*s->at); s->at++)
        s->line += *s->at == '\n';
}

void alya_scan_skip_line(alya_scan_t *s)
{
    const char *newline = s->at < s->end ? memchr(s->at, '\n', alya_scan_left(s)) : NULL;
    s->line += newline != NULL;
    s->at = newline ? newline + 1 : s->end;
}

/* Bytes up to the next white space or the end. */
static size_t token(const alya_scan_t *s)
{
    const char *p = s->at;
    while (p < s->end && !is_space(*p))
        p++;
    return (size_t)(p - s->at);
}

bool alya_scan_word(alya_scan_t *s, const char *word)
{
    size_t n = strlen(word);
    if (token(s) != n || memcmp(s->at, word, n) != 0)
        return false;
    s->at += n;
    return true;
}

const char *alya_scan_quote(const alya_scan_t *s, char *buf, size_t len)
{
    size_t n = token(s), i = 0;
    for (; i < n && i + 1 < len; i++)
        buf[i] = s->at[i] > ' ' && s->at[i] < 127 ? s->at[i] : '?';
    if (i < n && len > 4)
        memcpy(buf + i - 3, "...", 3);
    buf[i] = '\0';
    return buf;
}

bool alya_scan_line_end(alya_scan_t *s)
{
    char word[24];
    alya_scan_skip_blanks(s);
    if (s->at < s->end && *s->at != '\n')
        return alya_scan_fail(s, "the line should end before \"%s\"",
                              alya_scan_quote(s, word, sizeof word));
    alya_scan_skip_line(s);
    return true;
}

/* To a number in this line; says why there is none. */
static bool find_number(alya_scan_t *s, const char *what)
{
    alya_scan_skip_blanks(s);
    if (s->at == s->end)
        return alya_scan_fail(s, "the file ends here, where %s should follow", what);
    if (*s->at == '\n')
        return alya_scan_fail(s, "%s is missing", what);
    return true;
}

bool alya_scan_int(alya_scan_t *s, int64_t *value, const char *what)
{
    char word[24];
    if (!find_number(s, what))
        return false;
    const char *p = s->at;
    bool minus = *p == '-', good;
    uint64_t sum = 0;
    p += *p == '-' || *p == '+';
    const char *digits = p;
    for (; p < s->end && *p >= '0' && *p <= '9'; p++)
        if (sum <= (uint64_t)INT64_MAX) /* from there on it is too large already */
            sum = sum > (INT64_MAX - 9) / 10 ? UINT64_MAX : sum * 10 + (uint64_t)(*p - '0');
    good = p > digits && (p == s->end || is_space(*p)) && sum <= (uint64_t)INT64_MAX;
    if (!good)
        return alya_scan_fail(s, "\"%s\" is not a whole number%s (%s)",
                              alya_scan_quote(s, word, sizeof word),
                              sum > (uint64_t)INT64_MAX ? " in range" : "", what);
    *value = minus ? -(int64_t)sum : (int64_t)sum;
    s->at = p;
    return true;
}

/* strtod reads to a terminator, takes hexadecimal numbers, and wants the decimal point of the
 * locale: so it gets a copy, in which that point is put. */
bool alya_scan_real(alya_scan_t *s, double *value, const char *what)
{
    char copy[160], word[24], *to = copy, *stop = copy;
    if (!find_number(s, what))
        return false;
    const size_t n = token(s);
    const char *point = localeconv()->decimal_point;
    bool good = n < sizeof copy - 16 && strlen(point) < 16;
    bool points = false; /* a second one ends the number */
    for (size_t i = 0; good && i < n; i++) {
        char c = s->at[i];
        if (c == '.' && !points) {
            memcpy(to, point, strlen(point));
            to += strlen(point);
            points = true;
        } else {
            good = c != 'x' && c != 'X' && c != '\0' && c != '.' && c != ',';
            *to++ = c;
        }
    }
    *to = '\0';
    if (good)
        *value = strtod(copy, &stop);
    if (!good || stop != to)
        return alya_scan_fail(s, "\"%s\" is not a number (%s)",
                              alya_scan_quote(s, word, sizeof word), what);
    s->at += n;
    return true;
}

/* --- binary --- */

bool alya_scan_need(alya_scan_t *s, int64_t n, int64_t size, const char *what)
{
    if (n >= 0 && size > 0 && (uint64_t)n <= alya_scan_left(s) / (uint64_t)size)
        return true;
    return alya_scan_fail(s, "the file ends at byte %td, before the end of %s", s->end - s->start,
                          what);
}

void alya_scan_take(alya_scan_t *s, void *to, size_t bytes)
{
    memcpy(to, s->at, bytes);
    s->at += bytes;
}

/* --- counts, memory, coordinates --- */

bool alya_scan_count(alya_scan_t *s, int64_t n, int64_t least, const char *what)
{
    if (n <= 0 || n > INT32_MAX)
        return alya_scan_fail(s, "%" PRId64 " %s: must be 1 to %d", n, what, INT32_MAX);
    /* + 1: the last may lack its line end */
    if ((uint64_t)n > alya_scan_left(s) / (uint64_t)least + 1)
        return alya_scan_fail(s, "%" PRId64 " %s cannot stand in the %zu bytes that follow", n,
                              what, alya_scan_left(s));
    return true;
}

void *alya_scan_alloc(alya_scan_t *s, int64_t n, size_t size)
{
    char text[16];
    void *array = rt_try_alloc((size_t)n, size, RT_HOST);
    if (!array)
        alya_scan_fail_file(s, "not enough memory: %s asked for",
                            rt_mem_format((double)n * (double)size, text, sizeof text));
    return array;
}

bool alya_scan_finite(alya_scan_t *s, const double x[3], int64_t tag)
{
    for (int d = 0; d < 3; d++)
        if (!isfinite(x[d]))
            return alya_scan_fail(s, "node %" PRId64 ": its %c coordinate is not finite", tag,
                                  "xyz"[d]);
    return true;
}

/* --- from the draft to the mesh --- */

/* number[n] = the new number of node n, or -1 where no tetrahedron uses it; returns how many. */
static int64_t number_used(const alya_draft_t *draft, int32_t *number)
{
    int64_t used = 0;
    for (int64_t n = 0; n < draft->nodes; n++)
        number[n] = -1;
    for (int64_t i = 0; i < 4 * draft->elements; i++)
        number[draft->connectivity[i]] = 0;
    for (int64_t n = 0; n < draft->nodes; n++)
        if (number[n] == 0)
            number[n] = (int32_t)used++;
    return used;
}

static void fill(alya_mesh_t *mesh, const alya_draft_t *draft, const int32_t *number)
{
    for (int64_t i = 0; i < 4 * mesh->elements; i++)
        mesh->connectivity[i] = number[draft->connectivity[i]];
    for (int64_t n = 0; n < draft->nodes; n++)
        if (number[n] >= 0)
            memcpy(mesh->x + 3 * number[n], draft->x + 3 * n, 3 * sizeof *mesh->x);
    for (int64_t n = 0; n < mesh->nodes; n++)
        mesh->node_id[n] = n;
    memset(mesh->flags, 0, (size_t)mesh->nodes);
}

static alya_mesh_t *finish(alya_scan_t *s, const alya_draft_t *draft)
{
    if (draft->elements == 0)
        return alya_scan_fail_file(s, "there is no tetrahedron in it"), NULL;
    int32_t *number = alya_scan_alloc(s, draft->nodes, sizeof *number);
    alya_mesh_t *mesh = number ? alya_scan_alloc(s, 1, sizeof *mesh) : NULL;
    if (mesh) {
        const int64_t nodes = number_used(draft, number);
        *mesh = (alya_mesh_t){.elements = draft->elements, .nodes = nodes};
        mesh->connectivity = alya_scan_alloc(s, draft->elements, 4 * sizeof *mesh->connectivity);
        mesh->x = alya_scan_alloc(s, nodes, 3 * sizeof *mesh->x);
        mesh->node_id = alya_scan_alloc(s, nodes, sizeof *mesh->node_id);
        mesh->flags = alya_scan_alloc(s, nodes, sizeof *mesh->flags);
        if (!s->failed)
            fill(mesh, draft, number);
    }
    RT_FREE(number, RT_HOST);
    if (s->failed && mesh) {
        alya_mesh_destroy(mesh);
        mesh = NULL;
    }
    return mesh;
}

/* A keyword of capitals and '=' starts an SU2 file; comments may come before. */
static bool looks_like_su2(alya_scan_t s)
{
    for (alya_scan_skip_space(&s); s.at < s.end && *s.at == '%'; alya_scan_skip_space(&s))
        alya_scan_skip_line(&s);
    const char *word = s.at;
    while (s.at < s.end && ((*s.at >= 'A' && *s.at <= 'Z') || *s.at == '_'))
        s.at++;
    if (s.at == word)
        return false;
    alya_scan_skip_blanks(&s);
    return s.at < s.end && *s.at == '=';
}

alya_mesh_t *alya_mesh_parse(const char *name, const void *data, size_t bytes, char *why,
                             size_t len)
{
    /* an empty range may come as NULL, which no arithmetic may touch */
    const char *start = bytes > 0 ? data : "";
    alya_scan_t s = {.name = name, .start = start, .at = start, .line = 1, .why = why, .len = len};
    s.end = start + bytes;
    alya_draft_t draft = {0};
    alya_mesh_t *mesh = NULL;
    if (len > 0)
        why[0] = '\0';
    alya_scan_skip_space(&s);
    bool good;
    if (s.at == s.end)
        good = alya_scan_fail_file(&s, "the file is empty");
    else if (*s.at == '$')
        good = alya_gmsh_parse(&s, &draft);
    else if (looks_like_su2(s))
        good = alya_su2_parse(&s, &draft);
    else
        good = alya_scan_fail_file(&s, "neither a Gmsh file, which starts with $MeshFormat, nor "
                                       "an SU2 file, which starts with NDIME=");
    if (good)
        mesh = finish(&s, &draft);
    RT_FREE(draft.x, RT_HOST);
    RT_FREE(draft.connectivity, RT_HOST);
    return mesh;
}

/* --- files --- */

static bool size_of(FILE *file, alya_scan_t *s, size_t *bytes)
{
    struct stat info;
    if (fstat(fileno(file), &info) != 0)
        return alya_scan_fail_file(s, "%s", strerror(errno));
    if (!S_ISREG(info.st_mode)) /* a pipe has no size, and a directory no bytes */
        return alya_scan_fail_file(s, "not a regular file");
    if (info.st_size == 0)
        return alya_scan_fail_file(s, "the file is empty");
    *bytes = (size_t)info.st_size;
    return true;
}

alya_mesh_t *alya_mesh_read(const char *path, char *why, size_t len)
{
    alya_scan_t s = {.name = path, .why = why, .len = len};
    alya_mesh_t *mesh = NULL;
    size_t bytes = 0;
    FILE *file = fopen(path, "rb");
    if (!file) {
        alya_scan_fail_file(&s, "%s", strerror(errno));
        return NULL;
    }
    char *data = size_of(file, &s, &bytes) ? alya_scan_alloc(&s, (int64_t)bytes, 1) : NULL;
    if (data && fread(data, 1, bytes, file) != bytes)
        alya_scan_fail_file(&s, "could not be read: %s",
                            ferror(file) ? strerror(errno) : "it became shorter");
    fclose(file);
    if (data && !s.failed)
        mesh = alya_mesh_parse(path, data, bytes, why, len);
    RT_FREE(data, RT_HOST);
    return mesh;
}
