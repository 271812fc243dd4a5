/* io/draft.c - files that are written whole or not at all. */
#include "config.h"
#define _XOPEN_SOURCE 700 /* for realpath; config.h includes nothing */
#include "io/draft.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "base/error.h"

/* Returns 0, or the errno of why `path` cannot be written. */
static int draft_locate(rt_draft_t *d, const char *path)
{
    struct stat old;
    if (stat(path, &old) == 0) {
        /* Renaming over a device or a pipe would replace it, /dev/null for all users too. */
        if (!S_ISREG(old.st_mode))
            return S_ISDIR(old.st_mode) ? EISDIR : EINVAL;
        /* The folder would let us replace a file that its owner made read-only. */
        if (access(path, W_OK) != 0 || !realpath(path, d->path))
            return errno;
        d->mode = old.st_mode & 0777;
        return 0;
    }
    if (errno != ENOENT)
        return errno;
    if (lstat(path, &old) == 0) /* renaming would replace the link, and not make what it names */
        return ENOLINK;
    size_t n = strlen(path);
    if (n == 0 || path[n - 1] == '/')
        return n == 0 ? ENOENT : EISDIR;
    if (n >= sizeof d->path)
        return ENAMETOOLONG;
    memcpy(d->path, path, n + 1);
    mode_t mask = umask(0); /* it cannot be read without setting it */
    umask(mask);
    d->mode = 0644 & ~mask;
    return 0;
}

/* The temporary file is in the folder of `path`, because a rename must not cross file systems. */
void rt_draft_begin(rt_draft_t *d, const char *path)
{
    static const char name[] = ".rooftop-XXXXXX";
    d->fd = -1;
    d->error = draft_locate(d, path);
    if (d->error)
        return;
    const char *slash = strrchr(d->path, '/');
    size_t folder = slash ? (size_t)(slash - d->path) + 1 : 0;
    if (folder + sizeof name > sizeof d->temporary) {
        d->error = ENAMETOOLONG;
        return;
    }
    memcpy(d->temporary, d->path, folder);
    memcpy(d->temporary + folder, name, sizeof name);
    d->fd = mkstemp(d->temporary);
    d->error = d->fd < 0 ? errno : 0;
}

void rt_draft_put(rt_draft_t *d, int64_t at, const void *data, size_t bytes)
{
    const char *from = data;
    while (bytes > 0 && !d->error) {
        ssize_t done = pwrite(d->fd, from, bytes, (off_t)at);
        if (done < 0 && errno != EINTR)
            d->error = errno;
        if (done > 0) {
            from += done;
            at += done;
            bytes -= (size_t)done;
        }
    }
}

/* Replaces the target by the draft and returns 0, or else an errno. */
static int end(rt_draft_t *d)
{
    if (d->fd >= 0) {
        /* Flush before the rename, or a crash could leave the new name on an empty file. */
        if (!d->error && (fchmod(d->fd, d->mode) != 0 || fsync(d->fd) != 0))
            d->error = errno;
        if (close(d->fd) != 0 && !d->error)
            d->error = errno;
        if (!d->error && rename(d->temporary, d->path) != 0)
            d->error = errno;
        if (d->error)
            unlink(d->temporary);
    }
    return d->error;
}

void rt_draft_publish(rt_draft_t *d, const char *path)
{
    const int error = end(d);
    if (error)
        rt_unwritten("cannot write '%.400s': %s (nothing was written)", path,
                     rt_draft_cause(error));
}

int rt_draft_write(const char *path, const void *data, size_t bytes)
{
    rt_draft_t draft;
    rt_draft_begin(&draft, path);
    rt_draft_put(&draft, 0, data, bytes);
    return end(&draft);
}

const char *rt_draft_cause(int error)
{
    if (error == ENOENT)
        return "its folder is not there or cannot hold files; make it, or name another";
    if (error == EISDIR)
        return "it is a folder; name a file";
    if (error == ENOTDIR)
        return "a part of the path is a file, not a folder; name another";
    if (error == EINVAL)
        return "it is not an ordinary file; name one";
    if (error == ENOLINK)
        return "it is a link to a file that is not there; name the file";
    return strerror(error);
}

bool rt_draft_probe(const char *path, rt_text_t *why)
{
    rt_draft_t draft;
    rt_draft_begin(&draft, path);
    if (draft.error)
        rt_text(why, "%s", rt_draft_cause(draft.error));
    if (draft.fd >= 0) {
        close(draft.fd);
        unlink(draft.temporary);
    }
    return draft.error == 0;
}
