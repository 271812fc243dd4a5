/*
 * tune/tune_file.h - the file of tuned choices: reading bytes that may be broken, and writing.
 * Private to the tuner; the format is told in tune/tune.h. Not collective: one rank reads and
 * writes.
 */
#ifndef RT_TUNE_FILE_H
#define RT_TUNE_FILE_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "app/parameter.h"

enum { RT_TUNE_FORMAT = 2 };

/* One entry. Texts are printable and belong to the file. */
typedef struct {
    int64_t number; /* from 1; 0: the entry is not from a file */
    const char *program, *version, *device, *rung, *date;
    int64_t threads; /* 0: on a GPU */
    int64_t ranks;
    int coordinates, parameters;
    struct {
        const char *name;
        double value; /* positive */
    } point[RT_TUNE_COORDINATES];
    struct {
        const char *name, *value;
    } choice[RT_TUNE_PARAMETERS];
    bool isolated;  /* measured alone: seconds per call; else inside: per unit */
    double seconds; /* positive */
} rt_tune_entry_t;

typedef struct {
    rt_tune_entry_t *entry; /* [entries] in the order of the file */
    int64_t entries;
    json_t *root; /* what the entries' texts point into */
} rt_tune_file_t;

/* Reads a file. Returns NULL, and one line in `why` that begins with `name`, if there is any
 * damage: nothing of such a file can be trusted. */
rt_tune_file_t *rt_tune_file_parse(const char *name, const void *data, size_t bytes, char *why,
                                   size_t len);
void rt_tune_file_free(rt_tune_file_t *file); /* NULL allowed */

/* Returns whether both are for the same program, device, threads, ranks, point, rung and way of
 * measuring. */
bool rt_tune_entry_same(const rt_tune_entry_t *a, const rt_tune_entry_t *b);
/* Returns a file's whole text, to be freed: the entries of `old` (may be NULL), without those that
 * fresh[n] replaces, then fresh[n]. */
char *rt_tune_file_text(const rt_tune_file_t *old, const rt_tune_entry_t *fresh, int n,
                        size_t *bytes);
/* Writes the text whole or not at all, and first makes the folder of `path` if it is not there.
 * Returns 0 or errno. */
int rt_tune_file_write(const char *path, const char *text, size_t bytes);

#endif
