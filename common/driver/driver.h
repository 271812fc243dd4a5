/* driver/driver.h - private to the driver: what driver/main.c, driver/rung.c, driver/study.c and the tuner share. */
#ifndef RT_DRIVER_H
#define RT_DRIVER_H

#include "app/app.h"
#include "measure/ceiling.h"
#include "base/error.h"
#include "tune/tune_file.h"

enum { RT_OPTION_SETS = 2 };

/* The option table of the driver and that of the app, reading into `run`. */
void rt_run_option_sets(rt_run_t *run, rt_opt_set_t sets[RT_OPTION_SETS]);
/* "name=value name=value": as if a case file had these lines. Does not configure. */
void rt_run_assign(rt_run_t *run, const char *settings);
/* The app's configure, and then what is in force for these extents. */
void rt_run_configure(rt_run_t *run, double target_bytes);

/* Why this rung cannot run this problem here (absent, refused, too large), or NULL. With `fatal`
 * the program ends instead, with the right status. The text is valid until the next call. */
const char *rt_run_obstacle(const rt_run_t *run, const rt_rung_t *rung, bool fatal);
/* Kind of processor that a rung's arrays are worked on by: RT_CPU or RT_CUDA. */
rt_kind_t rt_run_processor(const rt_rung_t *rung);
/* Is this rung on the ladder of that name, or on that processor (cpu, gpu)? NULL: any. */
bool rt_run_on_ladder(const rt_rung_t *rung, const char *only);
/* Of the fastest kind of processor that has a rung which can run this problem: the one the app
 * names, with its reason in why (if not NULL; "" otherwise), or the last. */
const rt_rung_t *rt_run_default_rung(const rt_run_t *run, char *why, size_t len);

/* As rt_run_rung, for the tuner: from set-up to verdict with this time for 3 windows, of which one
 * is enough if a unit takes longer than give_up seconds. Alone: what app->isolated does instead of
 * a solve; seconds_per_unit are those of a call. */
typedef struct {
    double seconds, give_up;
    bool isolated;
} rt_trial_t;
void rt_run_trial(const rt_run_t *run, void *problem, const rt_rung_t *rung,
                  const rt_trial_t *trial, rt_outcome_t *out);

/* Of x[n], n > 0; sorts them. */
double rt_run_median(double *x, int n);
/* --- measure/plausible.c --- */

/* bytes/s, the highest of the loops; flop/s of that arithmetic. 0: unknown. */
double rt_bandwidth_ceiling(const rt_ceilings_t *ceilings);
double rt_arithmetic_ceiling(const rt_ceilings_t *ceilings, rt_arithmetic_t arithmetic);
/* The higher rates of both. */
rt_ceilings_t rt_ceilings_best(const rt_ceilings_t *a, const rt_ceilings_t *b);
/* Adds to the verdict of a rung, if it is valid so far and was timed long enough to be judged, that
 * it does not exceed what was measured. True if the ceilings had to be measured again first.
 * Collective. */
bool rt_plausible_judge(rt_outcome_t *out, const rt_ceilings_t *measured, rt_ceilings_t *again);

/* --- driver/study.c --- */

/* --roofline. Returns the exit status. */
rt_status_t rt_study_roofline(rt_run_t *run, json_t *root);

/* --- tune/tune.c: what is in force --- */

enum { RT_TUNE_TEXT = 512 };

/* run->tuning, with the defaults in force. Before configure. */
void rt_tuning_new(rt_run_t *run);
void rt_tuning_destroy(rt_run_t *run);
/* Refuses options that make no sense, among them a --choose that no rung could take. */
void rt_tuning_check(const rt_run_t *run);
/* Reads the file that the options ask for, or the user's, or the shipped one. Refuses one that was
 * named and cannot be read. Collective, after rt_device_select. */
void rt_tuning_read(rt_run_t *run);
/* Of each rung, for the run's present extents: what its entry says, or that of the nearest point,
 * or the default, and on top what --choose says. */
void rt_tuning_resolve(rt_run_t *run);
/* Why --choose cannot be obeyed, or NULL. */
const char *rt_tuning_obstacle(const rt_run_t *run, const rt_rung_t *rung);
/* Lines about the file, and on what is in force for a rung (with `brief`: if it is not the
 * default). Rank 0. */
void rt_tuning_print(const rt_run_t *run, FILE *out);
void rt_tuning_print_rung(const rt_run_t *run, const rt_rung_t *rung, bool brief, FILE *out);
/* "choice" and "choice_from" of a rung that has parameters. */
void rt_tuning_json(const rt_run_t *run, const rt_rung_t *rung, json_t *row);
/* Of the rungs on the ladder of `fallback` that can run, the one that was the fastest at the point
 * of the file that is nearest. `fallback`, if the file has not got times of at least two of them,
 * one of which is of its kind of processor. */
const rt_rung_t *rt_tuning_fastest(const rt_run_t *run, const rt_rung_t *fallback);

/* For the search: the default; what rt_tune_choice says from now on; "block=4 unroll=yes". */
void rt_tuning_default(const rt_run_t *run, const rt_rung_t *rung, int *choice);
void rt_tuning_force(const rt_run_t *run, const rt_rung_t *rung, const int *choice);
const char *rt_tuning_text(const rt_run_t *run, const rt_rung_t *rung, const int *choice,
                           char *text, size_t len);
/* Where --tune writes, "" for nowhere; refuses a file that could not be added to. Collective. */
const char *rt_tuning_target(const rt_run_t *run);
/* An entry of this run and rung, but for parameters, seconds and date. */
void rt_tuning_entry(const rt_run_t *run, const rt_rung_t *rung, rt_tune_entry_t *entry);
/* Adds fresh[n] (of rank 0) to the target, and has them in force from now on. False after a line
 * on stderr if the file could not be written. Collective. */
bool rt_tuning_adopt(rt_run_t *run, const rt_tune_entry_t *fresh, int n);

/* --- tune/search.c --- */

/* --tune: searches and writes. `root` (rank 0, may be NULL) receives what was found. Collective. */
rt_status_t rt_tune_search(rt_run_t *run, json_t *root);

#endif
