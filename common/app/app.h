/*
 * app/app.h - what an app is, and the driver that gives every app the same life:
 *
 *   options -> devices -> sizes and memory -> problem -> for each rung:
 *     set-up -> verify against the reference -> warm-up -> timed windows
 *     -> verify what the timed run left behind -> report.
 *
 * An app fills one rt_app_t and calls rt_app_main. It never prints a figure of merit, reads a clock
 * or chooses a device.
 */
#ifndef RT_APP_H
#define RT_APP_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include "judge/digest.h"
#include "machine/energy.h"
#include "app/ladder.h"
#include "base/mem.h"
#include "base/opt.h"
#include "tune/tune.h"
#include "judge/verify.h"
#include "judge/work.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The options that all apps share; see --help for what each does. */
typedef struct {
    bool help, version, list, ladder, roofline, quiet, share_device, profile;
    bool tune, isolated, no_tuning, digest;
    const char *rung, *only, *size, *case_file, *device, *transport, *json, *picture;
    const char *tuning, *choose, *nonce;
    int64_t threads, seed, windows;
    double seconds, tune_seconds, warm_up, window;
} rt_options_t;

typedef struct rt_app rt_app_t;
typedef struct rt_outcome rt_outcome_t;

/* One run, as every hook sees it. */
typedef struct rt_run {
    const rt_app_t *app;
    rt_options_t opt;
    void *config;     /* the app's own options: config_size bytes, written by its option table */
    double bandwidth; /* bytes/s, the highest ceiling of the rung's processor; 0: not measured */
    struct rt_tuning *tuning; /* what rt_tune_choice answers; copies of the run share it */
} rt_run_t;

struct rt_app {
    const char *name;    /* "nekbone" */
    const char *purpose; /* one line */
    const rt_opt_t *options;
    int n_options;
    size_t config_size;
    const rt_rung_t *ladder;
    int n_rungs;
    const char *size_option; /* the option that gives extents of the user's own: wins over --size */

    /* Check the options against each other and the ranks, and fill in what follows from them. If
     * target_bytes > 0, choose the extents so that the largest rung's memory in the space where the
     * arrays live comes as close below it as the app's shapes allow. Refuses with rt_refuse. */
    void (*configure)(rt_run_t *run, double target_bytes);
    /* Lines that say what is solved. */
    void (*describe)(const rt_run_t *run, FILE *out);
    /* NULL, or why this rung cannot run this problem. */
    const char *(*refuse)(const rt_run_t *run, const rt_rung_t *rung);
    /* Predicted most bytes of one rank in each space, from problem_new to solver_destroy. */
    void (*memory)(const rt_run_t *run, const rt_rung_t *rung, double bytes[RT_SPACES]);
    /* Flops and bytes of a solve. */
    void (*work)(const rt_run_t *run, const rt_rung_t *rung, rt_work_t *work);

    /* Mesh, coefficients, right-hand side, in host memory, and the reference answer: once for all
     * rungs. */
    void *(*problem_new)(const rt_run_t *run);
    void (*problem_destroy)(void *problem);
    /* What was generated or read, as facts and sets of items (judge/digest.h says what may go in): the
     * same for any number of ranks and threads, and on any device. The program's name and the seed
     * are in it already. Collective; may be NULL. */
    void (*digest)(const void *problem, rt_digest_t *digest);
    /* A rung's arrays, where it wants them. */
    void *(*solver_new)(void *problem, const rt_rung_t *rung);
    void (*solver_destroy)(void *solver);

    /* Kernel by kernel against the reference, on data drawn from `seed`. */
    void (*verify_before)(void *solver, uint64_t seed, rt_verdict_t *verdict);
    /* Make every output of a solve unusable (NaN), so that nothing can be left over. */
    void (*spoil)(void *solver);
    /* The job. What is timed is this and nothing else. */
    void (*solve)(void *solver);
    /* Judge what the last solve left behind. */
    void (*verify_after)(void *solver, rt_verdict_t *verdict);

    /* Flops and bytes of the last solve, where they are not known beforehand (iterations until it
     * converges): corrects what `work` said. May be NULL. */
    void (*work_done)(const void *solver, rt_work_t *work);
    /* More of the result for the JSON file (residual history, ...); may be NULL. Called for an
     * INVALID run too, so it must leave out what is not finite. */
    void (*result)(const void *solver, json_t *out);
    /* A line on what the last solve came to (iterations, residual); may be NULL. Also called for an
     * INVALID run. */
    void (*conclude)(const void *solver, char *text, size_t len);
    /* Writes --picture; NULL if the app has none. */
    void (*picture)(const void *solver, const char *path);

    /* Which rung to run if neither --rung nor the tuning file says: of those on that kind of
     * processor, as RT_CUDA or RT_CPU, the names of some, the best for this run first, then NULL;
     * the first that can run is taken, and `why` told with it ("512000 points, as measured on
     * ..."). The hook or its answer NULL: the ladder's last that can run. */
    const char *const *(*default_rungs)(const rt_run_t *run, rt_kind_t kind, char *why, size_t len);

    /* One more line on a rung for --list (a claim, a limit), or NULL; may be NULL. */
    const char *(*note)(const rt_rung_t *rung);
    /* After the table of --ladder: what the app has to say on its rungs side by side, the paper's
     * own ladder for one. outcomes[n_rungs]; rung NULL: did not run. Rank 0; may be NULL. */
    void (*compare)(const rt_run_t *run, const rt_outcome_t *outcomes, FILE *out);

    /* What a tuner may choose for a rung, and why values cannot go together in this run (NULL: they
     * can; `choice` has an index of a value for each parameter; the answer is the same on all
     * ranks); the point that a choice is made for, returns the number of coordinates. All NULL:
     * nothing to tune; refuse_choice alone NULL: all go together. See tune/tune.h. */
    const rt_parameter_t *(*parameters)(const rt_rung_t *rung, int *count);
    const char *(*refuse_choice)(const rt_run_t *run, const rt_rung_t *rung, const int *choice);
    int (*tune_point)(const rt_run_t *run, rt_coordinate_t point[RT_TUNE_COORDINATES]);
    /* Seconds on this rank of so many calls of what the parameters change, one after the other on
     * the solver's own data and with nothing between them: for --isolated. NULL: it has none. */
    double (*isolated)(void *solver, int calls);

    /* --roofline: the cases of the study, each "name=value name=value", NULL-terminated, run when
     * the user gave no extents of his own; and the paper's figure for a rung (text, "" if none). */
    const char *const *roofline_cases;
    const char *roofline_settings; /* set for all of them, "communication=no" */
    const char *(*paper)(const rt_run_t *run, const rt_rung_t *rung);
};

/* The version of Rooftop: a release's number, or what git describe said of the source. */
const char *rt_version(void);
/* The whole program. Returns the exit status. */
int rt_app_main(const rt_app_t *app, int argc, char **argv);

/* One rung from set-up to verdict, as the driver runs it; the mutant tests use it too. */
enum { RT_MAX_WINDOWS = 64 };
typedef enum { RT_NOT_JUDGED, RT_PLAUSIBLE, RT_IMPLAUSIBLE } rt_plausible_t;
struct rt_outcome {
    const rt_rung_t *rung;
    const char *skipped; /* why it did not run, or NULL */
    rt_verdict_t verdict;
    double seconds_per_unit;                            /* median of the windows */
    double spread;                                      /* (max - min) / median over windows */
    int windows, solves;                                /* windows, and solves in all of them */
    double window_seconds[RT_MAX_WINDOWS];              /* a unit, in the order of time */
    double warm_up_seconds, timed_seconds;              /* of solves, in all */
    rt_energy_t energy;                                 /* of the windows, and what lies between */
    rt_plausible_t plausible;                           /* by the measured ceilings */
    double predicted[RT_SPACES], high_water[RT_SPACES]; /* bytes of this rank */
    rt_work_t work;
    char conclusion[160]; /* app->conclude's, or "" */
};

/* The problem exists already; fills *out. With seconds <= 0: verify and solve once, time nothing.
 * `extra` (may be NULL) receives the app's result object. */
void rt_run_rung(const rt_run_t *run, void *problem, const rt_rung_t *rung, rt_outcome_t *out,
                 json_t *extra);

/* For an app's configure, which looks for extents that fit: most bytes, where their arrays live, of
 * the rungs that are asked for and can run. */
double rt_run_most_memory(const rt_run_t *run);

/* Sets up a run with an app's defaults and the given "name=value ..." settings; for tests. */
void rt_run_init(rt_run_t *run, const rt_app_t *app, const char *settings);
void rt_run_destroy(rt_run_t *run);

#ifdef __cplusplus
}
#endif
#endif
