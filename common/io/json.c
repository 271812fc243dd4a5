/*
 * io/json.c - JSON through jansson, and report files that are written whole or not at all.
 */
#include "config.h"
#include "io/json.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/error.h"
#include "base/numbers.h"
#include "io/draft.h"

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
    if (!text) { /* JSON is UTF-8, but a file name may be anything: keep what is ASCII */
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

void rt_json_append_text(json_t *array, const char *value)
{
    append(array, json_string(value));
}

/* ---- files -------------------------------------------------------------------------------- */

int rt_report_write(const char *path, const json_t *root)
{
    /* Reals with 17 digits are read back with the same bits. */
    char *text = json_dumps(root, JSON_INDENT(2) | JSON_REAL_PRECISION(17));
    int error = ENOMEM;
    if (text) {
        const size_t n = strlen(text);
        text[n] = '\n'; /* in place of the end, which the file does not have */
        error = rt_draft_write(path, text, n + 1);
    }
    free(text);
    if (error)
        rt_unwritten("cannot write '%.400s': %s (it is unchanged)", path, rt_draft_cause(error));
    return error ? -1 : 0;
}
