/*
 * tune/tune_file.c - see tune/tune_file.h. Entries are JSON objects, read and written by jansson,
 * one a line.
 */
#include "config.h"
#include "tune/tune_file.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include "base/error.h"
#include "base/numbers.h"
#include "io/draft.h"
#include "io/json.h"

enum { MOST_ENTRIES = 100000 };
static const char format_key[] = "rooftop-tuning", old_magic[] = "rooftop-tuning ";

/* --- reading --- */

/* A file that is being read, and where to say what is wrong with it. */
typedef struct {
    const char *name;
    char *why;
    size_t len;
} reader_t;

/* Writes one line of why; returns false. What jansson quotes of a file may be any bytes. */
static bool file_fail(const reader_t *r, int64_t entry, const char *what, const char *text)
{
    if (entry > 0)
        snprintf(r->why, r->len, "%s: entry %" PRId64 ": %s%.120s", r->name, entry, what, text);
    else
        snprintf(r->why, r->len, "%s: %s%.120s", r->name, what, text);
    for (char *c = r->why; *c; c++)
        *c = *c < ' ' || *c > '~' ? '?' : *c;
    return false;
}

static bool is_printable(const char *text)
{
    for (; *text; text++)
        if (*text < ' ' || *text > '~')
            return false;
    return true;
}

static bool read_point(const reader_t *r, json_t *point, rt_tune_entry_t *e)
{
    const char *name;
    json_t *value;
    json_object_foreach(point, name, value)
    {
        const double x = json_number_value(value);
        if (e->coordinates == RT_TUNE_COORDINATES)
            return file_fail(r, e->number, "more coordinates than this program knows", "");
        if (!(x > 0) || !rt_finite(x) || !is_printable(name))
            return file_fail(r, e->number, "not a positive number: ", name);
        e->point[e->coordinates].name = name;
        e->point[e->coordinates++].value = x;
    }
    return true;
}

static bool read_choice(const reader_t *r, json_t *choice, rt_tune_entry_t *e)
{
    const char *name;
    json_t *value;
    json_object_foreach(choice, name, value)
    {
        const char *text = json_string_value(value);
        if (e->parameters == RT_TUNE_PARAMETERS)
            return file_fail(r, e->number, "more parameters than this program knows", "");
        if (!text || !is_printable(text) || !is_printable(name))
            return file_fail(r, e->number, "not a printable text: ", name);
        e->choice[e->parameters].name = name;
        e->choice[e->parameters++].value = text;
    }
    return true;
}

static bool read_entry(const reader_t *r, json_t *object, rt_tune_entry_t *e)
{
    json_error_t error;
    json_int_t threads, ranks;
    json_t *point, *choice;
    const char *measured;
    if (json_unpack_ex(
            object, &error, JSON_STRICT, "{s:s, s:s, s:s, s:I, s:I, s:o, s:s, s:o, s:s, s:F, s:s}",
            "program", &e->program, "version", &e->version, "device", &e->device, "threads",
            &threads, "ranks", &ranks, "point", &point, "rung", &e->rung, "choice", &choice,
            "measured", &measured, "seconds", &e->seconds, "date", &e->date) != 0)
        return file_fail(r, e->number, "", error.text);
    e->threads = threads;
    e->ranks = ranks;
    e->isolated = strcmp(measured, "isolated") == 0;
    if (!e->isolated && strcmp(measured, "inside") != 0)
        return file_fail(r, e->number, "\"measured\" is neither inside nor isolated", "");
    if (ranks < 1 || threads < 0)
        return file_fail(r, e->number, ranks < 1 ? "no ranks" : "a negative number of threads", "");
    if (!(e->seconds > 0) || !rt_finite(e->seconds))
        return file_fail(r, e->number, "\"seconds\" is not a positive number", "");
    if (!json_is_object(point) || !json_is_object(choice))
        return file_fail(r, e->number, "\"point\" or \"choice\" is not an object", "");
    const char *const texts[] = {e->program, e->version, e->device, e->rung, e->date};
    for (int i = 0; i < 5; i++)
        if (!is_printable(texts[i]))
            return file_fail(r, e->number, "not a printable text: ", texts[i]);
    return read_point(r, point, e) && read_choice(r, choice, e);
}

static bool read_root(const reader_t *r, rt_tune_file_t *file)
{
    json_error_t error;
    json_int_t format = 0;
    json_t *list = NULL;
    if (json_unpack_ex(file->root, &error, 0, "{s:I}", format_key, &format) != 0)
        return file_fail(r, 0, "this is not a tuning file: ", error.text);
    if (format != RT_TUNE_FORMAT)
        return file_fail(r, 0, "of another format than this program's; tune again", "");
    if (json_unpack_ex(file->root, &error, JSON_STRICT, "{s:I, s:o}", format_key, &format,
                       "entries", &list) != 0)
        return file_fail(r, 0, "", error.text);
    if (!json_is_array(list) || json_array_size(list) > MOST_ENTRIES)
        return file_fail(r, 0, "\"entries\" is no list, or one of too many", "");
    const size_t n = json_array_size(list);
    file->entry = calloc(n + 1, sizeof *file->entry);
    RT_EXPECT(file->entry, RT_MEMORY, "no memory for %zu entries of tuning", n);
    for (size_t i = 0; i < n; i++) {
        file->entry[i].number = (int64_t)i + 1;
        if (!read_entry(r, json_array_get(list, i), &file->entry[i]))
            return false;
        file->entries++;
    }
    return true;
}

rt_tune_file_t *rt_tune_file_parse(const char *name, const void *data, size_t bytes, char *why,
                                   size_t len)
{
    const reader_t r = {name, why, len};
    json_error_t error;
    if (bytes >= sizeof old_magic - 1 && memcmp(data, old_magic, sizeof old_magic - 1) == 0) {
        file_fail(&r, 0, "of an older format that this program does not read; tune again", "");
        return NULL;
    }
    rt_tune_file_t *file = calloc(1, sizeof *file);
    RT_EXPECT(file, RT_MEMORY, "no memory for a tuning file");
    file->root = json_loadb(bytes > 0 ? data : "", bytes, JSON_REJECT_DUPLICATES, &error);
    if (file->root ? read_root(&r, file) : file_fail(&r, 0, "damaged: ", error.text))
        return file;
    rt_tune_file_free(file);
    return NULL;
}

void rt_tune_file_free(rt_tune_file_t *file)
{
    if (!file)
        return;
    free(file->entry);
    json_decref(file->root);
    free(file);
}

/* --- writing --- */

bool rt_tune_entry_same(const rt_tune_entry_t *a, const rt_tune_entry_t *b)
{
    if (strcmp(a->program, b->program) != 0 || strcmp(a->device, b->device) != 0 ||
        a->threads != b->threads || a->ranks != b->ranks || strcmp(a->rung, b->rung) != 0 ||
        a->isolated != b->isolated || a->coordinates != b->coordinates)
        return false;
    for (int c = 0; c < a->coordinates; c++)
        if (strcmp(a->point[c].name, b->point[c].name) != 0 ||
            a->point[c].value != b->point[c].value)
            return false;
    return true;
}

/* Writes an entry as a line of its own. */
static void put_entry(FILE *out, const rt_tune_entry_t *e, bool first)
{
    json_t *row = json_object();
    RT_EXPECT(row, RT_MEMORY, "no memory for a tuning file");
    rt_json_text(row, "program", e->program);
    rt_json_text(row, "version", e->version);
    rt_json_text(row, "device", e->device);
    rt_json_int(row, "threads", e->threads);
    rt_json_int(row, "ranks", e->ranks);
    json_t *point = rt_json_object(row, "point");
    for (int c = 0; c < e->coordinates; c++)
        rt_json_real(point, e->point[c].name, e->point[c].value);
    rt_json_text(row, "rung", e->rung);
    json_t *choice = rt_json_object(row, "choice");
    for (int p = 0; p < e->parameters; p++)
        rt_json_text(choice, e->choice[p].name, e->choice[p].value);
    rt_json_text(row, "measured", e->isolated ? "isolated" : "inside");
    rt_json_real(row, "seconds", e->seconds);
    rt_json_text(row, "date", e->date);
    fputs(first ? "\n" : ",\n", out);
    json_dumpf(row, out, JSON_REAL_PRECISION(17)); /* a failure shows at the end */
    json_decref(row);
}

char *rt_tune_file_text(const rt_tune_file_t *old, const rt_tune_entry_t *fresh, int n,
                        size_t *bytes)
{
    char *text = NULL;
    bool first = true;
    FILE *out = open_memstream(&text, bytes);
    RT_EXPECT(out, RT_MEMORY, "no memory for a tuning file");
    fprintf(out, "{\"%s\": %d, \"entries\": [", format_key, RT_TUNE_FORMAT);
    for (int64_t i = 0; old && i < old->entries; i++) {
        bool replaced = false;
        for (int k = 0; k < n; k++)
            replaced = replaced || rt_tune_entry_same(&old->entry[i], &fresh[k]);
        if (!replaced)
            put_entry(out, &old->entry[i], first);
        first = first && replaced;
    }
    for (int k = 0; k < n; k++, first = false)
        put_entry(out, &fresh[k], first);
    fputs("\n]}\n", out);
    const bool good = !ferror(out);
    RT_EXPECT(fclose(out) == 0 && good, RT_MEMORY, "no memory for a tuning file");
    return text;
}

/* Makes the folders above `path` that are not there. A failure shows when the file is made. */
static void make_folders(const char *path)
{
    char folder[PATH_MAX];
    if (strlen(path) >= sizeof folder)
        return;
    strcpy(folder, path);
    for (char *slash = strchr(folder + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        (void)mkdir(folder, 0777);
        *slash = '/';
    }
}

int rt_tune_file_write(const char *path, const char *text, size_t bytes)
{
    rt_draft_t *draft = malloc(sizeof *draft); /* two paths: large for a stack */
    RT_EXPECT(draft, RT_MEMORY, "no memory to write %s", path);
    make_folders(path);
    rt_draft_begin(draft, path);
    rt_draft_put(draft, 0, text, bytes);
    const int error = rt_draft_end(draft);
    free(draft);
    return error;
}
