/* io/files.c - see io/files.h. */
#include "config.h"
#include "io/files.h"

#include <stdlib.h>
#include <string.h>
#include "base/error.h"
#include "base/sha256.h"
#include "io/json.h"

typedef struct note {
    struct note *next;
    char digest[RT_SHA256_DIGITS + 1], name[];
} note_t;

static note_t *notes;

void rt_files_note(const char *path, const void *data, size_t bytes)
{
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    note_t *note = malloc(sizeof *note + strlen(name) + 1);
    RT_EXPECT(note, RT_MEMORY, "no memory for the name of a file");
    rt_sha256_t hash;
    rt_sha256_begin(&hash);
    rt_sha256_add(&hash, data, bytes);
    rt_sha256_end_hex(&hash, note->digest);
    strcpy(note->name, name);
    note_t **at = &notes;
    while (*at && (strcmp((*at)->name, name) != 0 || strcmp((*at)->digest, note->digest) != 0))
        at = &(*at)->next;
    if (*at) {
        free(note);
        return;
    }
    note->next = NULL;
    *at = note;
}

void rt_files_json(json_t *object, const char *key)
{
    json_t *files = rt_json_array(object, key);
    for (const note_t *note = notes; note; note = note->next) {
        json_t *row = rt_json_append_object(files);
        rt_json_text(row, "name", note->name);
        rt_json_text(row, "sha256", note->digest);
    }
}
