/*
 * io/draft.h - a file that replaces another when it is complete, or else leaves no trace.
 *
 * Bytes go to a temporary file in the folder of the target; rt_draft_publish flushes it to disk and
 * renames it. An error is kept: nothing is written after it. Not collective. Apps include this where
 * they write files of their own.
 */
#ifndef RT_DRAFT_H
#define RT_DRAFT_H

#include <limits.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>
#include "base/text.h"

RT_C_BEGIN

typedef struct {
    char path[PATH_MAX]; /* with symbolic links followed, so that a link stays a link */
    char temporary[PATH_MAX];
    mode_t mode;
    int fd;    /* -1: there is no temporary file */
    int error; /* errno of the first failure, 0: none */
} rt_draft_t;

/* Begins an empty draft of `path`. The error is EISDIR for a folder, EINVAL for a device or a
 * pipe, ENOLINK for a link to nothing. */
void rt_draft_begin(rt_draft_t *draft, const char *path);
/* Writes these bytes at position `at` of the file. */
void rt_draft_put(rt_draft_t *draft, int64_t at, const void *data, size_t bytes);
/* Flushes the draft to disk and replaces the target by it. If that fails, the target is unchanged, the
 * draft is gone, and why is noted (rt_unwritten), with the name that the user gave. */
void rt_draft_publish(rt_draft_t *draft, const char *path);
/* Writes a file of these bytes, as the above. Returns 0 or an errno, and notes nothing. */
int rt_draft_write(const char *path, const void *data, size_t bytes);
/* Returns an error of the above in words for the user. */
const char *rt_draft_cause(int error);
/* Tries whether `path` could be written. Returns false, and why, if not; leaves no trace. */
bool rt_draft_probe(const char *path, rt_text_t *why);

RT_C_END
#endif
