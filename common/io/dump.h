/*
 * io/dump.h - what --dump writes: a folder of arrays in NumPy's format (.npy, version 1.0, little-endian),
 * and index.json, which says what each is.
 *
 * Each file is written whole or not at all, the index last: without it a folder is no dump. If a
 * file cannot be written, that is noted (rt_unwritten), all of them go, and the run goes on. Not
 * collective.
 */
#ifndef RT_DUMP_H
#define RT_DUMP_H

#include <jansson.h>
#include <stdint.h>
#include "base/mem.h"
#include "base/text.h"

RT_C_BEGIN

typedef struct {
    const char *name;     /* of the file, without .npy */
    const char *type;     /* NumPy's: "<f8", "<f4", "<i8", "<i4", "|u1" */
    const char *axes;     /* "element k j i": the last one is the fastest */
    const int64_t *shape; /* of each axis */
    const void *data;     /* contiguous, in `space` */
    rt_space_t space;
    const char *unit, *meaning; /* "m/s"; "1": a number */
} rt_array_t;

typedef struct {
    const char *folder; /* NULL: bytes are counted, and nothing is written */
    double bytes;       /* of all arrays so far */
    json_t *index;      /* what becomes index.json: apps add constants */
    json_t *arrays;     /* of it */
    bool made, failed;  /* the folder is ours; something could not be written */
} rt_dump_t;

/* Tries whether `folder` could be filled: it is empty, or not there and can be made. Returns false,
 * and why, if not; leaves no trace. */
bool rt_dump_probe(const char *folder, rt_text_t *why);
/* Begins a dump. */
void rt_dump_begin(rt_dump_t *dump, const char *folder);
/* Writes n arrays. */
void rt_dump_add(rt_dump_t *dump, const rt_array_t *arrays, size_t n);
/* Ends the dump: writes the index, or removes what there is. Frees the index. */
void rt_dump_end(rt_dump_t *dump);

RT_C_END
#endif
