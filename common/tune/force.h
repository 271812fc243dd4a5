/* tune/force.h - what is in force for each rung: shared by the files of the tuner, and private. */
#ifndef RT_FORCE_H
#define RT_FORCE_H

#include <jansson.h>
#include <limits.h>
#include "tune/tuning.h"

/* --- tune_file.c: the file, in the format that tune/tune.h describes. One rank reads and writes. --- */

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
rt_tune_file_t *rt_tune_file_parse(const char *name, const void *data, size_t bytes,
                                   rt_text_t *why);
void rt_tune_file_free(rt_tune_file_t *file); /* NULL allowed */

/* Replaces what a terminal could take for a command: texts of a file may be any. */
void rt_tune_printable(rt_text_t *text);

/* Returns a file's whole text, to be freed: the entries of `old` (may be NULL), without those for
 * the same program, device, threads, ranks, point, rung and way of measuring as one of the array
 * `fresh`, then these. */
char *rt_tune_file_text(const rt_tune_file_t *old, json_t *fresh, size_t *bytes);
/* Writes the text whole or not at all, and first makes the folder of `path` if it is not there.
 * Returns 0 or errno. */
int rt_tune_file_write(const char *path, const char *text, size_t bytes);

/* --- what is in force --- */

enum {
    RT_TUNE_DEVICE = 256,
    RT_TUNE_NOTES = 4 /* lines about a file that are kept; more are counted */
};

/* Where a choice comes from. */
typedef enum { FROM_DEFAULT, FROM_FILE, FROM_NEAREST, FROM_OPTION, FROM_SEARCH } rt_from_t;

/* What is in force for one rung. */
typedef struct {
    const rt_rung_t *rung;
    const rt_parameter_t *parameter;
    int parameters;
    int choice[RT_TUNE_PARAMETERS], fallback[RT_TUNE_PARAMETERS];
    rt_from_t from;
    const rt_tune_entry_t *entry; /* of FROM_FILE and FROM_NEAREST */
} rt_force_t;

struct rt_tuning {
    rt_force_t *force; /* [n_rungs + 1] of the ladder's rungs; the last: of one that a test made */
    rt_tune_file_t *file;           /* NULL: none */
    char path[PATH_MAX];            /* of the file; "": none */
    char target[PATH_MAX];          /* where --tune writes; "": nowhere */
    char device[2][RT_TUNE_DEVICE]; /* of RT_CPU and RT_CUDA */
    int64_t threads;
    rt_text_t file_note; /* why the file is not used, or "" */
    rt_text_t note[RT_TUNE_NOTES];
    int notes;
};

/* --- force.c --- */

/* Returns the record of a rung. */
rt_force_t *rt_force_of(const rt_run_t *run, const rt_rung_t *rung);
/* Sets its choice to the default: the initial values, or the nearest to them that the rung allows. */
void rt_force_default(const rt_run_t *run, rt_force_t *f);
/* Sets what rt_tune_choice says from now on. */
void rt_force_choice(const rt_run_t *run, const rt_rung_t *rung, const int *choice);
/* Return the number of combinations of values, and set choice to number `index` of them. */
int64_t rt_force_combinations(const rt_force_t *f);
void rt_force_combination(const rt_force_t *f, int64_t index, int *choice);
/* Writes "block=4 unroll=yes"; returns text->text. */
const char *rt_force_text(const rt_force_t *f, const int *choice, rt_text_t *text);
/* Returns {"block": "4", "unroll": "yes"}, which the caller releases or gives away. */
json_t *rt_force_json(const rt_force_t *f, const int *choice);

/* Return the index of the name, or -1. */
int rt_find_value(const rt_parameter_t *parameter, const char *value);
int rt_find_parameter(const rt_force_t *f, const char *name);
/* Overrides the choice in force with the values of --choose. */
void rt_choose_apply(const rt_run_t *run, rt_force_t *f);

/* --- store.c --- */

/* Returns the entry for this run and rung that is nearest, the last of several; NULL: none. */
const rt_tune_entry_t *rt_store_nearest(const rt_run_t *run, const rt_rung_t *rung);
/* Returns how far the entry's point is from this run's; infinite: not comparable. */
double rt_store_distance(const rt_run_t *run, const rt_tune_entry_t *e);
/* Notes entries for this machine whose rung is unknown, and a file with no entry for this machine.
 */
void rt_store_look(rt_run_t *run);
/* Adds a line to the notes about the file: its path and these words. */
void rt_store_note(struct rt_tuning *t, const char *words);
/* Returns the point of this run, an object that the caller releases. */
json_t *rt_store_point(const rt_run_t *run);
/* Returns a new entry for this run and rung. */
json_t *rt_store_entry(const rt_run_t *run, const rt_rung_t *rung, const int *choice,
                       double seconds);
/* Adds entries (of rank 0) to the target; rt_tuning_resolve puts them in force. What cannot be
 * written is noted (rt_unwritten). Collective. */
void rt_store_adopt(rt_run_t *run, json_t *fresh);

#endif
