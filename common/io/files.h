/*
 * io/files.h - which files this process has read, for the report: what is computed depends on their
 * bytes, whatever their names are.
 */
#ifndef RT_FILES_H
#define RT_FILES_H

#include <jansson.h>
#include <stddef.h>
#include "base/extern_c.h"

RT_C_BEGIN

/* Notes a file that was read whole, by the last part of its path and the SHA-256 of its bytes. A file
 * that is read twice is noted once. Not for several threads at a time. */
void rt_files_note(const char *path, const void *data, size_t bytes);
/* Writes object[key] = [{"name": NAME, "sha256": DIGEST}, ...] of all files noted so far. */
void rt_files_json(json_t *object, const char *key);

RT_C_END
#endif
