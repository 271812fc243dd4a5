/*
 * base/file.h - opens and reads files that the user names, which may be anything: a folder, a
 * device, a pipe into which nobody writes. Nothing here waits for ever.
 */
#ifndef RT_FILE_H
#define RT_FILE_H

#include <stddef.h>
#include "base/text.h"

RT_C_BEGIN

/* Opens a regular file to read. Returns its descriptor, and its size in *bytes; or -1, and why. */
int rt_file_open(const char *path, size_t *bytes, rt_text_t *why);
/* Reads up to `bytes`; fewer only at the end of the file. Returns false, and why, on failure. */
bool rt_file_read(int file, void *data, size_t bytes, size_t *got, rt_text_t *why);
/* Loads a whole regular file or pipe of at most `most` bytes. Returns its *bytes bytes and a '\0',
 * to be freed with free(); or NULL, and why. A pipe must come to its end, and each piece of it
 * within RT_FILE_PATIENCE seconds. */
enum { RT_FILE_PATIENCE = 5 };
char *rt_file_load(const char *path, size_t most, size_t *bytes, rt_text_t *why);

RT_C_END
#endif
