/*
 * io/report.c - JSON through jansson, files written whole or not at all, and tables of text.
 */
#include "config.h"
#include "io/report.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include "io/draft.h"
#include "base/error.h"
#include "base/sha256.h"
#include "judge/verify.h"

/* ---- JSON --------------------------------------------------------------------------------- */

static void put(json_t *object, const char *key, json_t *value)
{
    RT_EXPECT(value && json_object_set_new(object, key, value) == 0, RT_MEMORY,
              "no memory for the report's '%s'", key);
}

static void append(json_t *array, json_t *value)
{
    RT_EXPECT(value && json_array_append_new(array, value) == 0, RT_MEMORY,
              "no memory for the report");
}

void rt_json_real(json_t *object, const char *key, double value)
{
    RT_EXPECT(rt_finite(value), RT_INVALID, "the report's '%s' is %g", key, value);
    put(object, key, json_real(value));
}

void rt_json_int(json_t *object, const char *key, long long value)
{
    put(object, key, json_integer(value));
}

void rt_json_text(json_t *object, const char *key, const char *value)
{
    json_t *text = value ? json_string(value) : json_null();
    if (!text) { /* JSON is UTF-8, but a file name may be anything; its readable part will do */
        char *ascii = strdup(value);
        RT_EXPECT(ascii != NULL, RT_MEMORY, "no memory for the report's '%s'", key);
        for (char *c = ascii; *c; c++)
            *c = (unsigned char)*c < 128 ? *c : '?';
        text = json_string(ascii);
        free(ascii);
    }
    put(object, key, text);
}

void rt_json_bool(json_t *object, const char *key, bool value)
{
    put(object, key, json_boolean(value));
}

json_t *rt_json_object(json_t *object, const char *key)
{
    json_t *made = json_object();
    put(object, key, made);
    return made;
}

json_t *rt_json_array(json_t *object, const char *key)
{
    json_t *made = json_array();
    put(object, key, made);
    return made;
}

json_t *rt_json_append_object(json_t *array)
{
    json_t *made = json_object();
    append(array, made);
    return made;
}

void rt_json_append_real(json_t *array, double value)
{
    RT_EXPECT(rt_finite(value), RT_INVALID, "entry %zu of a list in the report is %g",
              json_array_size(array), value);
    append(array, json_real(value));
}

/* ---- files -------------------------------------------------------------------------------- */

/* An errno of rt_draft_begin in words for the user. */
static const char *cause(int error)
{
    if (error == ENOENT)
        return "its folder is not there, or takes no files; make it, or name another";
    if (error == EISDIR)
        return "it is a folder; name a file";
    if (error == ENOTDIR)
        return "a part of the path is a file, not a folder; name another";
    if (error == EINVAL)
        return "it is not an ordinary file; name one";
    return strerror(error);
}

void rt_report_probe(const char *path)
{
    rt_draft_t draft;
    rt_draft_begin(&draft, path);
    if (draft.error)
        rt_refuse(RT_USAGE, "cannot write '%.400s': %s", path, cause(draft.error));
    rt_draft_discard(&draft);
}

/* The file's text with its seal, which free gives back; NULL without memory. */
static char *sealed_text(json_t *root, const char *nonce)
{
    static const char zeros[] = "0000000000000000000000000000000000000000000000000000000000000000";
    json_object_del(root, "seal"); /* or it would not be the last */
    rt_json_text(root, "seal", zeros);
    /* Reals with 17 digits are read back as the same bits. */
    char *text = json_dumps(root, JSON_INDENT(2) | JSON_REAL_PRECISION(17));
    if (!text)
        return NULL;
    const char end[] = "\"\n}\n"; /* after the last member, with the newline that ends a file */
    const size_t n = strlen(text);
    char hex[RT_SHA256_DIGITS + 1], *file = realloc(text, n + 2);
    if (!file) {
        free(text);
        return NULL;
    }
    strcpy(file + n, "\n");
    rt_sha256_t hash;
    rt_sha256_begin(&hash);
    rt_sha256_add(&hash, nonce, strlen(nonce));
    rt_sha256_add(&hash, "\n", 1);
    rt_sha256_add(&hash, file, n + 1);
    rt_sha256_end_hex(&hash, hex);
    memcpy(file + n + 1 - strlen(end) - RT_SHA256_DIGITS, hex, RT_SHA256_DIGITS);
    return file;
}

int rt_report_write(const char *path, json_t *root, const char *nonce)
{
    rt_draft_t draft;
    char *text = sealed_text(root, nonce);
    int error = ENOMEM;
    if (text) {
        rt_draft_begin(&draft, path);
        rt_draft_put(&draft, 0, text, strlen(text));
        error = rt_draft_end(&draft);
    }
    free(text);
    if (error)
        fprintf(stderr, "cannot write '%.400s': %s (it is what it was before)\n", path,
                cause(error));
    return error ? -1 : 0;
}

/* ---- tables ------------------------------------------------------------------------------- */

struct rt_table {
    int columns;
    bool *left;  /* [columns] */
    char **cell; /* [n_cells], row by row; the first row holds the headings */
    size_t n_cells, room;
    int filled; /* cells in the present row */
};

/* Takes over `text`. */
static void table_push(rt_table_t *t, char *text)
{
    RT_EXPECT(text != NULL, RT_MEMORY, "no memory for a table");
    if (t->n_cells == t->room) {
        t->room = 2 * t->room + 16;
        t->cell = realloc(t->cell, t->room * sizeof *t->cell);
        RT_EXPECT(t->cell != NULL, RT_MEMORY, "no memory for a table");
    }
    t->cell[t->n_cells++] = text;
}

rt_table_t *rt_table_new(const char *columns)
{
    rt_table_t *t = calloc(1, sizeof *t);
    RT_EXPECT(t != NULL, RT_MEMORY, "no memory for a table");
    t->columns = 1;
    for (const char *c = columns; *c; c++)
        t->columns += *c == '|';
    t->left = calloc((size_t)t->columns, sizeof *t->left);
    RT_EXPECT(t->left != NULL, RT_MEMORY, "no memory for a table");
    for (int i = 0; i < t->columns; i++) {
        t->left[i] = *columns == '<';
        columns += t->left[i];
        size_t n = strcspn(columns, "|");
        table_push(t, strndup(columns, n));
        columns += n + 1; /* past the end after the last, and not looked at again */
    }
    return t;
}

void rt_table_cell(rt_table_t *t, const char *fmt, ...)
{
    RT_EXPECT(t->filled < t->columns, RT_INVALID, "a row of more than %d cells", t->columns);
    va_list args;
    va_start(args, fmt);
    int length = vsnprintf(NULL, 0, fmt, args);
    va_end(args);
    RT_EXPECT(length >= 0, RT_INVALID, "cell format '%s'", fmt);
    char *text = malloc((size_t)length + 1);
    RT_EXPECT(text != NULL, RT_MEMORY, "no memory for a table");
    va_start(args, fmt);
    vsnprintf(text, (size_t)length + 1, fmt, args);
    va_end(args);
    table_push(t, text);
    t->filled++;
}

void rt_table_row(rt_table_t *t)
{
    for (; t->filled < t->columns; t->filled++)
        table_push(t, strdup(""));
    t->filled = 0;
}

/* Columns on a terminal: all bytes but those that continue a UTF-8 character. */
static int text_width(const char *text)
{
    int width = 0;
    for (; *text; text++)
        width += ((unsigned char)*text & 0xc0) != 0x80;
    return width;
}

/* With no blanks at the end of the line. */
static void print_row(const rt_table_t *t, size_t first, const int *width, FILE *out)
{
    int owed = 0; /* blanks that are due before whatever comes next */
    for (int i = 0; i < t->columns; i++) {
        size_t at = first + (size_t)i;
        const char *text = at < t->n_cells ? t->cell[at] : "";
        int pad = width[i] - text_width(text);
        owed += (i > 0 ? 2 : 0) + (t->left[i] ? 0 : pad);
        if (*text) {
            fprintf(out, "%*s%s", owed, "", text);
            owed = 0;
        }
        owed += t->left[i] ? pad : 0;
    }
    fputc('\n', out);
}

void rt_table_print(const rt_table_t *t, FILE *out)
{
    size_t columns = (size_t)t->columns;
    int *width = calloc(columns, sizeof *width);
    RT_EXPECT(width != NULL, RT_MEMORY, "no memory for a table");
    int line = 2 * (t->columns - 1);
    for (size_t i = 0; i < t->n_cells; i++) {
        int w = text_width(t->cell[i]);
        if (w > width[i % columns])
            width[i % columns] = w;
    }
    for (size_t i = 0; i < columns; i++)
        line += width[i];

    print_row(t, 0, width, out);
    for (int i = 0; i < line; i++)
        fputc('-', out);
    fputc('\n', out);
    for (size_t first = columns; first < t->n_cells; first += columns)
        print_row(t, first, width, out);
    free(width);
}

void rt_table_destroy(rt_table_t *t)
{
    if (!t)
        return;
    for (size_t i = 0; i < t->n_cells; i++)
        free(t->cell[i]);
    free(t->cell);
    free(t->left);
    free(t);
}
