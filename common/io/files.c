/* io/files.c - see io/files.h. */
#include "config.h"
#include "io/files.h"

#include <string.h>
#include "base/sha256.h"
#include "io/json.h"

static json_t *notes; /* [{name, sha256}] */

void rt_files_note(const char *path, const void *data, size_t bytes)
{
    const char *slash = strrchr(path, '/');
    char digest[RT_SHA256_DIGITS + 1];
    rt_sha256_t hash;
    rt_sha256_begin(&hash);
    rt_sha256_add(&hash, data, bytes);
    rt_sha256_end_hex(&hash, digest);
    if (!notes)
        notes = json_array();
    json_t *note = rt_json_append_object(notes);
    rt_json_text(note, "name", slash ? slash + 1 : path);
    rt_json_text(note, "sha256", digest);
    const size_t last = json_array_size(notes) - 1;
    for (size_t i = 0; i < last; i++)
        if (json_equal(json_array_get(notes, i), note)) {
            json_array_remove(notes, last);
            return;
        }
}

void rt_files_json(json_t *object, const char *key)
{
    json_array_extend(rt_json_array(object, key), notes);
}
