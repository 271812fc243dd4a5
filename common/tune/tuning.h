/* tune/tuning.h - which choice is in force for each rung. Private to the driver and the tuner. */
#ifndef RT_TUNING_H
#define RT_TUNING_H

#include "app/app.h"
#include "tune/tune.h"
#include "tune/tune_file.h"

/* Makes run->tuning, with the defaults in force. Call it before configure. */
void rt_tuning_new(rt_run_t *run);
void rt_tuning_destroy(rt_run_t *run);
/* Refuses options that make no sense, among them a --choose that fits no rung. */
void rt_tuning_check(const rt_run_t *run);
/* Reads the file that the options ask for, or the user's, or the shipped one. Refuses one that was
 * named and cannot be read. Collective, after rt_device_select. */
void rt_tuning_read(rt_run_t *run);
/* Sets the choice of each rung for the run's current extents: that of its entry, or of the nearest
 * point, or the default. The values of --choose override all of these. */
void rt_tuning_resolve(rt_run_t *run);
/* Returns NULL, or why --choose cannot be followed. */
const char *rt_tuning_obstacle(const rt_run_t *run, const rt_rung_t *rung, rt_text_t *why);
/* Print notes about the file, and the choice in force for a rung (with `brief`: only if it is not
 * the default). Rank 0. */
void rt_tuning_print(const rt_run_t *run, FILE *out);
void rt_tuning_print_rung(const rt_run_t *run, const rt_rung_t *rung, bool brief, FILE *out);
/* Writes "choice" and "choice_from" of a rung that has parameters. */
void rt_tuning_json(const rt_run_t *run, const rt_rung_t *rung, json_t *row);
/* Returns the rung that was the fastest at the nearest point of the file, of those that are able
 * (able[n_rungs]) and on the ladder of `fallback`. Returns `fallback` if the file has no times of
 * at least two of them, one of which is of its kind of processor. */
const rt_rung_t *rt_tuning_fastest(const rt_run_t *run, const bool *able,
                                   const rt_rung_t *fallback);

/* --- for the search --- */

/* Copies the default to choice[RT_TUNE_PARAMETERS]. */
void rt_tuning_default(const rt_run_t *run, const rt_rung_t *rung, int *choice);
/* Sets what rt_tune_choice says from now on. */
void rt_tuning_force(const rt_run_t *run, const rt_rung_t *rung, const int *choice);
/* Writes "block=4 unroll=yes"; returns text->text. */
const char *rt_tuning_text(const rt_run_t *run, const rt_rung_t *rung, const int *choice,
                           rt_text_t *text);
/* Returns where --tune writes, "" for nowhere; refuses a file that could not be added to.
 * Collective. */
const char *rt_tuning_target(rt_run_t *run);
/* Fills the entry of this run and rung, except for parameters, seconds and date. */
void rt_tuning_entry(const rt_run_t *run, const rt_rung_t *rung, rt_tune_entry_t *entry);
/* Adds fresh[n] (of rank 0) to the target, and puts them in force. What cannot be written is noted
 * (rt_unwritten). Collective. */
void rt_tuning_adopt(rt_run_t *run, const rt_tune_entry_t *fresh, int n);

#endif
