/* tune/tuning.h - which choice is in force for each rung, and the search for the fastest. Private to
 * the driver and the tuner. */
#ifndef RT_TUNING_H
#define RT_TUNING_H

#include "app/app.h"
#include "tune/tune.h"

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

/* Returns where --tune writes, "" for nowhere; refuses a file that could not be added to.
 * Collective. */
const char *rt_tuning_target(rt_run_t *run);

/* --- --tune --- */

/* How a choice is tried. */
typedef struct {
    double seconds; /* for the windows of one trial */
    double give_up; /* one window is enough if a unit takes longer than this; 0: never */
    bool isolated; /* time the kernel alone instead of solves: seconds_per_unit is that of a call */
} rt_trial_t;

/* Runs the rung, with what rt_tune_choice says now, from set-up to verdict. Returns false, and runs
 * nothing, if the rung cannot run with it. Collective. */
typedef bool rt_attempt_t(const rt_run_t *run, void *problem, const rt_rung_t *rung,
                          const rt_trial_t *trial, rt_outcome_t *out);

typedef struct {
    const rt_rung_t *const *rungs; /* [n] in the order of the search: the most important first */
    int n;
    void *problem;
    double begin; /* rt_clock() when the time of --tune-seconds began; that of rank 0 counts */
    rt_attempt_t *attempt;
} rt_tune_plan_t;

/* Searches, and adds what it found to the tuning file. `root` (rank 0, may be NULL) receives what
 * was found. Collective. */
rt_status_t rt_tune_search(rt_run_t *run, const rt_tune_plan_t *plan, json_t *root);

#endif
