/*
 * io/draft.h - a file that takes the place of another when it is whole, or goes without a trace.
 *
 * Bytes go to a temporary file beside the target; rt_draft_end flushes it to disk and renames it.
 * An error is kept: nothing is written after it, and rt_draft_end says it. Not collective. Private
 * to what writes files; apps include it where they write their own kinds.
 */
#ifndef RT_DRAFT_H
#define RT_DRAFT_H

#include <limits.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct {
    char path[PATH_MAX]; /* with symbolic links followed, so that a link stays a link */
    char temporary[PATH_MAX];
    mode_t mode;
    int fd;    /* -1: there is no temporary file */
    int error; /* errno of what went wrong first, 0: nothing */
} rt_draft_t;

/* An empty draft of `path`. EISDIR: a folder; EINVAL: a device, a pipe. */
void rt_draft_begin(rt_draft_t *draft, const char *path);
/* Puts these bytes at this place of the file. */
void rt_draft_put(rt_draft_t *draft, int64_t at, const void *data, size_t bytes);
/* Puts the draft in the place of its target, and returns 0; or an errno: then the target is what it
 * was, and the draft is gone. */
int rt_draft_end(rt_draft_t *draft);
/* Gives the draft up. */
void rt_draft_discard(rt_draft_t *draft);

#ifdef __cplusplus
}
#endif
#endif
