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

enum { RT_TUNE_FORMAT = 2 };

/* What an entry says. Texts and objects belong to the file. */
typedef struct {
    int number; /* from 1, in the order of the file */
    const char *program, *version, *device, *rung, *date;
    json_int_t threads; /* 0: on a GPU */
    json_int_t ranks;   /* positive */
    json_t *point;      /* positive numbers by name */
    json_t *choice;     /* texts by name */
    bool isolated;      /* measured alone: seconds per call; else inside: per unit */
    double seconds;     /* positive */
} rt_tune_entry_t;

typedef struct {
    rt_tune_entry_t *entry; /* [entries] */
    int entries;
    json_t *root;
} rt_tune_file_t;

/* Reads a file. Returns NULL, and one line in `why` that begins with `name`, if there is any
 * damage: nothing of such a file can be trusted. */
rt_tune_file_t *rt_tune_file_parse(const char *name, const void *data, size_t bytes, char *why,
                                   size_t len);
void rt_tune_file_free(rt_tune_file_t *file); /* NULL allowed */

/* Replaces what a terminal could take for a command: texts of a file may be any. */
void rt_tune_printable(char *text);

/* Returns a file's whole text, to be freed: the entries of `old` (may be NULL), without those for
 * the same program, device, threads, ranks, point, rung and way of measuring as one of the array
 * `fresh`, then these. */
char *rt_tune_file_text(const rt_tune_file_t *old, json_t *fresh, size_t *bytes);
/* Writes the text whole or not at all, and first makes the folder of `path` if it is not there.
 * Returns 0 or errno. */
int rt_tune_file_write(const char *path, const char *text, size_t bytes);

#endif
