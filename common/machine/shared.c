/* machine/shared.c - see machine/shared.h. */
#include "config.h"
#include "machine/shared.h"
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include "base/file.h"
#include "io/draft.h"
#include "machine/comm.h"

char *rt_shared_bytes(char *data, size_t *bytes)
{
    bool any = data != NULL;
    rt_comm_bcast(&any, sizeof any, 0);
    if (!any)
        return NULL;
    rt_comm_bcast(bytes, sizeof *bytes, 0);
    if (!data)
        data = malloc(*bytes + 1);
    RT_EXPECT(data, RT_MEMORY, "no memory for a file of %zu bytes", *bytes);
    rt_comm_bcast(data, *bytes, 0);
    data[*bytes] = '\0';
    return data;
}

char *rt_shared_load(const char *path, size_t most, size_t *bytes, rt_text_t *why)
{
    const bool root = rt_comm_rank() == 0;
    char *data = rt_shared_bytes(root ? rt_file_load(path, most, bytes, why) : NULL, bytes);
    if (!data)
        rt_comm_bcast(why, sizeof *why, 0);
    return data;
}

void rt_shared_probe(const char *option, const char *path)
{
    rt_text_t why = {""};
    if (rt_comm_rank() == 0)
        rt_draft_probe(path, &why);
    rt_comm_bcast(&why, sizeof why, 0);
    if (*why.text)
        rt_refuse(RT_USAGE, "--%s: cannot write '%.400s': %s", option, path, why.text);
}

static bool same_inode(const char *one, const char *other)
{
    struct stat a, b;
    return stat(one, &a) == 0 && stat(other, &b) == 0 && a.st_dev == b.st_dev &&
           a.st_ino == b.st_ino;
}

/* Splits a path; returns the last part. */
static const char *split(const char *path, char folder[PATH_MAX])
{
    const char *slash = strrchr(path, '/');
    snprintf(folder, PATH_MAX, "%.*s", slash ? (int)(slash - path) + 1 : 1, slash ? path : ".");
    return slash ? slash + 1 : path;
}

bool rt_shared_same(const char *one, const char *other)
{
    char a[PATH_MAX], b[PATH_MAX];
    bool same = false;
    if (rt_comm_rank() == 0)
        same = same_inode(one, other) ||
               (strcmp(split(one, a), split(other, b)) == 0 && same_inode(a, b));
    rt_comm_bcast(&same, sizeof same, 0);
    return same;
}
