/*
 * tune/tune_file.c - the file of tuned choices. Entries are JSON objects, read and written by jansson,
 * one a line.
 */
#include "config.h"
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include "base/error.h"
#include "io/draft.h"
#include "tune/force.h"

static const char format_key[] = "rooftop-tuning";

/* --- reading --- */

/* A file that is being read, and where to say what is wrong with it. */
typedef struct {
    const char *name;
    rt_text_t *why;
} reader_t;

void rt_tune_printable(rt_text_t *text)
{
    for (char *c = text->text; *c; c++)
        *c = *c < ' ' || *c > '~' ? '?' : *c;
}

/* Writes one line of why; returns false. What jansson quotes of a file may be any bytes. */
static bool file_fail(const reader_t *r, int entry, const char *what, const char *text)
{
    rt_text(r->why, "%.200s: ", r->name);
    if (entry > 0)
        rt_text_add(r->why, "entry %d: ", entry);
    rt_text_add(r->why, "%s%.120s", what, text);
    rt_tune_printable(r->why);
    return false;
}

/* Checks the members of point and choice. */
static bool check_members(const reader_t *r, const rt_tune_entry_t *e)
{
    const char *name;
    json_t *value;
    if (!json_is_object(e->point) || !json_is_object(e->choice))
        return file_fail(r, e->number, "\"point\" or \"choice\" is not an object", "");
    json_object_foreach(e->point, name, value)
    {
        if (!(json_number_value(value) > 0))
            return file_fail(r, e->number, "not a positive number: ", name);
    }
    json_object_foreach(e->choice, name, value)
    {
        if (!json_is_string(value))
            return file_fail(r, e->number, "not a text: ", name);
    }
    return true;
}

static bool read_entry(const reader_t *r, json_t *object, rt_tune_entry_t *e)
{
    json_error_t error;
    const char *measured;
    if (json_unpack_ex(
            object, &error, JSON_STRICT, "{s:s, s:s, s:s, s:I, s:I, s:o, s:s, s:o, s:s, s:F, s:s}",
            "program", &e->program, "version", &e->version, "device", &e->device, "threads",
            &e->threads, "ranks", &e->ranks, "point", &e->point, "rung", &e->rung, "choice",
            &e->choice, "measured", &measured, "seconds", &e->seconds, "date", &e->date) != 0)
        return file_fail(r, e->number, "", error.text);
    e->isolated = strcmp(measured, "isolated") == 0;
    if (!e->isolated && strcmp(measured, "inside") != 0)
        return file_fail(r, e->number, "\"measured\" is neither inside nor isolated", "");
    if (e->ranks < 1 || e->threads < 0)
        return file_fail(r, e->number, "no ranks, or a negative number of threads", "");
    if (!(e->seconds > 0))
        return file_fail(r, e->number, "\"seconds\" is not a positive number", "");
    return check_members(r, e);
}

static bool read_root(const reader_t *r, rt_tune_file_t *file)
{
    json_error_t error;
    int format = 0;
    json_t *list = NULL;
    if (json_unpack_ex(file->root, &error, 0, "{s:i}", format_key, &format) != 0)
        return file_fail(r, 0, "this is not a tuning file: ", error.text);
    if (format != RT_TUNE_FORMAT)
        return file_fail(r, 0, "of another format than this program's; tune again", "");
    if (json_unpack_ex(file->root, &error, JSON_STRICT, "{s:i, s:o}", format_key, &format,
                       "entries", &list) != 0)
        return file_fail(r, 0, "", error.text);
    if (!json_is_array(list))
        return file_fail(r, 0, "\"entries\" is no list", "");
    const int n = (int)json_array_size(list);
    file->entry = calloc((size_t)n + 1, sizeof *file->entry);
    RT_EXPECT(file->entry, RT_MEMORY, "no memory for %d entries of tuning", n);
    for (; file->entries < n; file->entries++) {
        rt_tune_entry_t *e = &file->entry[file->entries];
        e->number = file->entries + 1;
        if (!read_entry(r, json_array_get(list, (size_t)file->entries), e))
            return false;
    }
    return true;
}

rt_tune_file_t *rt_tune_file_parse(const char *name, const void *data, size_t bytes, rt_text_t *why)
{
    const reader_t r = {name, why};
    json_error_t error;
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

static bool is_replaced(const json_t *entry, json_t *fresh)
{
    static const char *const keys[] = {"program", "device", "threads", "ranks",
                                       "point",   "rung",   "measured"};
    enum { KEYS = sizeof keys / sizeof *keys };
    size_t i;
    json_t *other;
    json_array_foreach(fresh, i, other)
    {
        int same = 0;
        for (int k = 0; k < KEYS; k++)
            same += json_equal(json_object_get(entry, keys[k]), json_object_get(other, keys[k]));
        if (same == KEYS)
            return true;
    }
    return false;
}

char *rt_tune_file_text(const rt_tune_file_t *old, json_t *fresh, size_t *bytes)
{
    char *text = NULL;
    size_t i;
    json_t *all = json_array(), *entry;
    FILE *out = open_memstream(&text, bytes);
    RT_EXPECT(out && all, RT_MEMORY, "no memory for a tuning file");
    json_array_foreach(old ? json_object_get(old->root, "entries") : NULL, i, entry)
    {
        if (!is_replaced(entry, fresh))
            json_array_append(all, entry);
    }
    json_array_extend(all, fresh);
    fprintf(out, "{\"%s\": %d, \"entries\": [", format_key, RT_TUNE_FORMAT);
    json_array_foreach(all, i, entry)
    {
        fputs(i ? ",\n" : "\n", out);
        json_dumpf(entry, out, JSON_REAL_PRECISION(17)); /* a failure shows at the end */
    }
    fputs("\n]}\n", out);
    const bool good = !ferror(out);
    RT_EXPECT(fclose(out) == 0 && good, RT_MEMORY, "no memory for a tuning file");
    json_decref(all);
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
    make_folders(path);
    return rt_draft_write(path, text, bytes);
}
