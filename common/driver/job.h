/* driver/job.h - what the files of the driver share; private to it. */
#ifndef RT_JOB_H
#define RT_JOB_H

#include "base/error.h"
#include "base/table.h"
#include "driver/driver.h"
#include "measure/ceiling.h"
#include "tune/tuning.h"

/* The work of one command line, and what it collects. */
typedef struct {
    rt_run_t *run;
    void *problem;
    rt_outcome_t *out;    /* [n_rungs] in the order of the ladder; rung NULL: did not run */
    bool *chosen;         /* [n_rungs] */
    bool used[2];         /* is a rung chosen for RT_CPU, RT_CUDA? */
    rt_meter_t *meter[2]; /* of RT_CPU, RT_CUDA; NULL: not used, or nothing is timed */
    json_t *root, *rungs, *absent; /* absent: rungs that were wanted and cannot run */
    json_t **row;                  /* [n_rungs] of rungs */
    rt_grade_t grade;              /* the worst of the rungs' */
} rt_job_t;

/* --- options.c --- */

enum { RT_OPTION_SETS = 2 };
/* Fills the option tables of the app and of the driver, which read into `run`. */
void rt_run_option_sets(rt_run_t *run, rt_opt_set_t sets[RT_OPTION_SETS]);
/* Prints --help. */
void rt_options_help(rt_run_t *run, FILE *out);
/* Sets "name=value name=value", as if a case file had these lines. Does not configure. */
void rt_run_assign(rt_run_t *run, const char *settings);
/* Returns whether the user gave extents, by the app's size option. */
bool rt_run_has_extents(rt_run_t *run);
/* Derives the seed from the nonce, and sets what options imply. */
void rt_options_complete(rt_run_t *run);
/* Refuses options that do not go together. */
void rt_options_check(rt_run_t *run);

/* --- sizes.c --- */

/* Refuses a name that --size does not know. */
void rt_size_check(const char *name);
/* Writes "host 1.2 GiB of 20 GiB free, device ..." of this rank; returns whether the rung's memory
 * fits on every rank. Collective. */
bool rt_memory_fits(const rt_run_t *run, const rt_rung_t *rung, rt_text_t *text);
/* Configures the run with the user's extents, or with those that --size asks for. */
void rt_run_choose_size(rt_run_t *run);

/* --- choose.c --- */

/* Returns NULL, or why this rung cannot run this problem here (absent, refused, too large). With
 * `fatal` the program ends instead, with the right status. Collective. */
const char *rt_run_obstacle(const rt_run_t *run, const rt_rung_t *rung, bool fatal, rt_text_t *why);
/* Fills able[n_rungs]: which rungs have no obstacle. Collective. */
void rt_run_able(const rt_run_t *run, bool *able);
/* Makes the input, after which counts are exact, unless the estimates say already that no rung can
 * run: then it might not fit either. Collective. */
void rt_run_read(rt_run_t *run);
/* Returns, for the fastest kind of processor that has a rung that is able, the rung that the app
 * names, with its reason in *why, or the last one, with *why empty. */
const rt_rung_t *rt_run_default_rung(const rt_run_t *run, const bool *able, rt_text_t *why);
/* Marks the rungs that the options choose and that are able to run. Prints what they will need, and
 * why others do not run: a line per reason. Refuses if none is able. Returns how many are marked. */
int rt_job_choose(rt_job_t *job);
/* Lists the rungs that --tune searches: fastest kind of processor first, last rungs first, so that
 * the most important rungs are done when the time is over. Returns how many. */
int rt_job_list(const rt_run_t *run, const rt_rung_t **list);

/* --- windows.c --- */

/* How long a rung is timed. */
typedef struct {
    double warm_up; /* least seconds before the first window */
    double seconds; /* of all windows together, about */
    double window;  /* least length of one window; 0: it follows from `seconds` */
    int windows;
    double give_up; /* one window with one solve, if a unit takes longer; 0: never */
    bool trial;     /* no solve is put aside: only the problem itself is judged */
    bool metered;   /* there is a file of a power meter */
} rt_plan_t;

/* Plans what the options ask for. --seconds 0 times nothing, whatever --window says. */
rt_plan_t rt_plan_of(const rt_options_t *opt);
/* Plans a trial of the tuner: a few windows. */
rt_plan_t rt_plan_trial(double seconds, double give_up);
/* Makes the solver and, if the rung will be timed, solves a `first` time, before the judge has run it:
 * that shows what the rung leaves to its first call. */
void *rt_time_setup(const rt_app_t *app, void *problem, const rt_rung_t *rung, bool first,
                    rt_outcome_t *out);
/* Returns the figure of merit with set-up: the work of that many solves over the time of set-up and
 * solves. 0: without set-up. */
double rt_outcome_fom(const rt_outcome_t *out, int solves);
/* Runs the warm-up, then a set of windows of whole solves; with a meter, up to three sets, until
 * one is steady: the last set counts. Fills the outcome's times, energy, watch and unrest.
 * Collective, as are the others. */
void rt_time_rung(const rt_app_t *app, void *solver, const rt_plan_t *plan, rt_meter_t *meter,
                  rt_outcome_t *out);
/* Times another set, of at least that number of seconds, which replaces the last. */
void rt_time_again(const rt_app_t *app, void *solver, const rt_plan_t *plan, double seconds,
                   rt_meter_t *meter, rt_outcome_t *out);
/* Times the kernel alone; a unit is a call. */
void rt_time_isolated(const rt_app_t *app, void *solver, const rt_plan_t *plan, rt_outcome_t *out);

/* --- rung.c --- */

rt_attempt_t rt_run_attempt;

/* --- job.c --- */

/* Runs the chosen rungs on one problem. */
rt_grade_t rt_job_run(rt_run_t *run, json_t *root);
/* --dry-run: chooses the rungs, and prints the options of the problem as the program takes them. */
rt_status_t rt_job_dry_run(rt_run_t *run);
/* --tune. */
rt_status_t rt_job_tune(rt_run_t *run, json_t *root);

/* --- profile.c --- */

/* Solves with the timers on, to say where the time went. Collective. */
void rt_profile_rung(const rt_run_t *run, void *solver, const rt_outcome_t *out, json_t *extra);
/* Prints a table of the timers that rank 0 has: calls of all ranks, shortest and longest call
 * @rank, average call, total of the slowest rank, GB/s and GFlop/s of all ranks together, and the
 * share of `bandwidth` (bytes/s of one rank; 0 omits the column), which its heading names. Adds to the JSON array `rows`
 * (of rank 0, or NULL) for each timer its path "solve/operator/halo", the calls and bytes of all
 * ranks, the seconds of an average rank and of the slowest. Collective; rank 0 prints. */
void rt_print_profile(FILE *out, double bandwidth, json_t *rows);

/* --- dump.c: --dump --- */

/* Refuses what cannot be dumped. */
void rt_dump_check(const rt_run_t *run);
/* Begins a dump with the arrays of the last solve; `folder` NULL: refuses those that are too large. */
void rt_dump_arrays(const rt_run_t *run, const void *solver, const char *folder, rt_dump_t *dump);
/* Writes the index, and ends the dump. */
void rt_dump_index(const rt_run_t *run, const rt_outcome_t *out, rt_dump_t *dump);

/* --- study.c --- */

/* --roofline. */
rt_grade_t rt_study_roofline(rt_run_t *run, json_t *root);

/* --- tables.c: text for the user, rank 0 --- */

void rt_print_header(const rt_run_t *run);
void rt_print_version(const rt_app_t *app);
void rt_print_ceilings(const rt_ceilings_t *c);
void rt_print_memory(const rt_outcome_t *out);
/* Prints what the ranks sent each other; nothing if they sent nothing. */
void rt_print_traffic(const rt_outcome_t *out);
/* Adds a cell with part / most in per cent. It has "-" if `most` is 0 (not known) or smaller than the
 * part: the ceiling of a cache that no loop measured, or copies that ran beside other work. */
void rt_add_share(double part, double most, rt_table_t *t);
/* Prints a table for each ladder of which something ran, and remarks. */
void rt_print_tables(const rt_job_t *job);

/* --- report.c: JSON --- */

void rt_json_environment(json_t *root, const rt_run_t *run);
void rt_json_ceilings(json_t *object, const char *key, const rt_ceilings_t *c);
void rt_json_rung(const rt_outcome_t *out, json_t *row);
/* Writes --json, and prints the grade. Returns the status of the program, to which the status of
 * --tune contributes. Frees root. */
rt_status_t rt_report_end(const rt_run_t *run, json_t *root, rt_grade_t grade, rt_status_t tuned);

#endif
