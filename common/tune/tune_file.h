/*
 * tune/tune_file.h - the file of tuned choices: reading bytes that may be broken, and writing.
 * Private to the tuner; the format is told in tune/tune.h. Not collective: one rank reads and
 * writes.
 */
#ifndef RT_TUNE_FILE_H
#define RT_TUNE_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "app/parameter.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { RT_TUNE_FORMAT = 1 };

/* One line. Texts are printable or, in `device`, have blanks too; they belong to the file. */
typedef struct {
    int64_t line; /* from 1; 0: not of a file */
    const char *program, *version, *device, *rung, *date;
    int64_t threads; /* 0: of a GPU */
    int64_t ranks;
    int coordinates, parameters;
    struct {
        const char *name;
        double value; /* positive */
    } point[RT_TUNE_COORDINATES];
    struct {
        const char *name, *value;
    } choice[RT_TUNE_PARAMETERS];
    bool isolated;  /* measured alone: seconds of a call; else inside: of a unit */
    double seconds; /* positive */
} rt_tune_entry_t;

typedef struct {
    rt_tune_entry_t *entry; /* [entries] in the order of the file */
    int64_t entries;
    char *text; /* what the entries' texts point into */
} rt_tune_file_t;

/* NULL and one line in `why` if there is any damage at all: nothing of such a file can be trusted.
 * `name` stands in the message. */
rt_tune_file_t *rt_tune_file_parse(const char *name, const void *data, size_t bytes, char *why,
                                   size_t len);
void rt_tune_file_free(rt_tune_file_t *file); /* NULL allowed */

/* For the same program, device, threads, ranks, point, rung and way of measuring? */
bool rt_tune_entry_same(const rt_tune_entry_t *a, const rt_tune_entry_t *b);
/* A file's whole text, for free: the entries of `old` (may be NULL) but those that one of fresh[n]
 * replaces, then these. */
char *rt_tune_file_text(const rt_tune_file_t *old, const rt_tune_entry_t *fresh, int n,
                        size_t *bytes);
/* Writes the text whole or not at all, and makes the folder of `path` first if need be. 0 or errno.
 */
int rt_tune_file_write(const char *path, const char *text, size_t bytes);

#ifdef __cplusplus
}
#endif
#endif
