/*
 * io/json.h - results for programs: JSON through jansson, and the file of a whole report.
 *
 * A file is written whole or not at all: to a temporary file in the same folder, which is flushed
 * to disk and then renamed. Numbers that are not finite cannot be written: verification should have
 * failed before, so meeting one here is a fault of the program.
 */
#ifndef RT_JSON_H
#define RT_JSON_H

#include <jansson.h>
#include <stdbool.h>
#include "base/extern_c.h"

RT_C_BEGIN

/* Set object[key]. rt_json_real ends the program if value is not finite. */
void rt_json_real(json_t *object, const char *key, double value);
void rt_json_int(json_t *object, const char *key, long long value);
void rt_json_text(json_t *object, const char *key, const char *value);
void rt_json_bool(json_t *object, const char *key, bool value);
/* Add a new object or array under key; return a borrowed reference. */
json_t *rt_json_object(json_t *object, const char *key);
json_t *rt_json_array(json_t *object, const char *key);
json_t *rt_json_append_object(json_t *array);
void rt_json_append_real(json_t *array, double value);
void rt_json_append_text(json_t *array, const char *value);

/* Writes the file. Rank 0 only. Returns 0, or -1 after rt_unwritten (disk full, ...); then `path` is
 * unchanged, and no temporary file is left. */
int rt_report_write(const char *path, const json_t *root);

RT_C_END
#endif
