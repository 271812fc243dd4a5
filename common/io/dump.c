/* io/dump.c - see io/dump.h. */
#include "config.h"
#include "io/dump.h"

#include <dirent.h>
#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "io/draft.h"
#include "io/json.h"

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "arrays are written as they are");

bool rt_dump_probe(const char *folder, rt_text_t *why)
{
    if (mkdir(folder, 0777) == 0)
        return rmdir(folder) == 0;
    DIR *there = errno == EEXIST ? opendir(folder) : NULL;
    int entries = 0;
    bool can = there && access(folder, W_OK | X_OK) == 0;
    if (!can)
        rt_text(why, "%s", strerror(errno));
    while (can && readdir(there))
        entries++;
    if (entries > 2) /* "." and ".." */
        rt_text(why, "it is not empty; name another folder");
    if (there)
        closedir(there);
    return can && entries <= 2;
}

void rt_dump_begin(rt_dump_t *d, const char *folder)
{
    *d = (rt_dump_t){.folder = folder, .index = json_object()};
    d->arrays = rt_json_array(d->index, "arrays");
    d->made = folder && mkdir(folder, 0777) == 0;
}

/* Writes the header, whose line feed ends 256 bytes, and the values. Returns 0 or an errno. */
static int write_npy(const char *path, const char *type, const char *shape, const void *data,
                     size_t bytes)
{
    enum { HEADER = 256, LENGTH = 8, TEXT = 10 };
    char header[HEADER + 1] = "\x93NUMPY\1";
    const int n = snprintf(header + TEXT, HEADER - TEXT,
                           "{'descr': '%s', 'fortran_order': False, 'shape': (%s)}", type, shape);
    memset(header + TEXT + n, ' ', (size_t)(HEADER - 1 - TEXT - n));
    header[LENGTH] = (char)(HEADER - TEXT);
    header[HEADER - 1] = '\n';
    rt_draft_t draft;
    rt_draft_begin(&draft, path);
    rt_draft_put(&draft, 0, header, HEADER);
    rt_draft_put(&draft, HEADER, data, bytes);
    rt_draft_publish(&draft, path);
    return draft.error;
}

static void add(rt_dump_t *d, const rt_array_t *a)
{
    char path[PATH_MAX];
    rt_text_t shape = {""}, file;
    const char *last = strrchr(a->axes, ' ');
    json_t *extents = json_array();
    size_t bytes = (size_t)(a->type[2] - '0');
    for (const char *axis = a->axes; axis; axis = strchr(axis + 1, ' ')) {
        const int64_t n = a->shape[json_array_size(extents)];
        bytes *= (size_t)n;
        rt_text_add(&shape, "%lld,", (long long)n);
        json_array_append_new(extents, json_integer(n));
    }
    d->bytes += (double)bytes;
    rt_text(&file, "%s.npy", a->name);
    json_array_append_new(d->arrays, json_pack("{ss ss ss so ss ss ss ss}", "name", a->name, "file",
                                               file.text, "type", a->type, "shape", extents, "axes",
                                               a->axes, "fastest", last ? last + 1 : a->axes,
                                               "unit", a->unit, "meaning", a->meaning));
    if (!d->folder || d->failed)
        return;
    void *host = a->space == RT_HOST ? NULL : rt_alloc(bytes, 1, RT_HOST);
    if (host)
        rt_copy(host, RT_HOST, a->data, a->space, bytes);
    snprintf(path, sizeof path, "%s/%s", d->folder, file.text);
    d->failed = write_npy(path, a->type, shape.text, host ? host : a->data, bytes) != 0;
    RT_FREE(host, RT_HOST);
}

void rt_dump_add(rt_dump_t *d, const rt_array_t *arrays, size_t n)
{
    for (size_t i = 0; i < n; i++)
        add(d, &arrays[i]);
}

void rt_dump_end(rt_dump_t *d)
{
    char path[PATH_MAX];
    snprintf(path, sizeof path, "%s/index.json", d->folder ? d->folder : "");
    if (d->folder && !d->failed)
        d->failed = rt_report_write(path, d->index) != 0;
    for (size_t i = 0; d->failed && i < json_array_size(d->arrays); i++) {
        const json_t *file = json_object_get(json_array_get(d->arrays, i), "file");
        snprintf(path, sizeof path, "%s/%s", d->folder, json_string_value(file));
        unlink(path);
    }
    if (d->failed && d->made)
        rmdir(d->folder);
    json_decref(d->index);
}
