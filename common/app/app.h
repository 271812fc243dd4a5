/*
 * app/app.h - what an app is: one table of options, rungs and functions.
 *
 * The driver (driver/driver.h) gives every app the same life:
 *
 *   options -> devices -> extents -> input -> problem -> for each rung:
 *     solver -> verify against the reference -> warm-up -> timed windows
 *     -> verify what the timed run left behind -> result.
 *
 * An app fills one rt_app_t. It never prints a figure of merit, reads a clock (but for shared
 * set-up), chooses a device or calls the driver.
 */
#ifndef RT_APP_H
#define RT_APP_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include "app/ladder.h"
#include "base/mem.h"
#include "base/opt.h"
#include "base/text.h"
#include "io/dump.h"
#include "judge/digest.h"
#include "judge/verify.h"
#include "judge/work.h"
#include "machine/energy.h"
#include "machine/comm.h"
#include "measure/ceiling.h"
#include "measure/steady.h"

RT_C_BEGIN

/* The options that all apps share; --help says what each does. */
typedef struct {
    bool help, version, list, ladder, roofline, quiet, share_device, profile;
    bool tune, isolated, no_tuning, dry_run, dump_anyway;
    const char *rung, *only, *size, *case_file, *device, *transport, *json, *picture, *dump, *power;
    const char *tuning, *choose, *nonce;
    int64_t threads, seed, windows;
    double seconds, tune_seconds, warm_up, window;
} rt_options_t;

/* Why what a solve left is put aside: it was drawn among the timed ones, or is the last of them. */
typedef enum { RT_KEEP_NOTHING, RT_KEEP_SAMPLE, RT_KEEP_LAST, RT_KEEPS } rt_keep_t;

typedef struct rt_app rt_app_t;
typedef struct rt_outcome rt_outcome_t;

/* One run, as every hook sees it. */
typedef struct rt_run {
    const rt_app_t *app;
    rt_options_t opt;
    uint64_t
        given[2]; /* the options that the user gave, of the app and of the driver (base/opt.h) */
    /* The app's own options: config_size bytes, written by its option table, by configure and by
     * extents. After these it is read-only. */
    void *config;
    /* What input_new made; NULL before, and so during the search for extents. memory, work and
     * describe use its real counts where it is there, and estimates from config where it is not.
     * Only problem_new may change it. */
    void *input;
    bool input_spent;              /* a problem was made of it: the next problem needs a new one */
    double input_bytes[RT_SPACES]; /* the most memory of this rank while it was made */
    double bandwidth; /* bytes/s, the highest ceiling of the rung's processor; 0: not measured */
    struct rt_tuning *tuning; /* what rt_tune_choice answers; copies of the run share it */
} rt_run_t;

/* The result of a solve. */
typedef struct {
    rt_work_t *work;     /* what `work` said; result corrects what is known only after the solve */
    rt_text_t precision; /* what this run computes in, where options decide; "": the rung's own */
    rt_text_t line;      /* one line for the user: iterations, residual; "": none */
    double
        kernel_seconds; /* of a unit, in the kernel that the app is about; 0: not measured apart */
    json_t *json;       /* more for the JSON file; NULL: none is written */
} rt_result_t;

/* The optional parts of an app. Each may be NULL. */
typedef struct {
    /* Reports the last solve. Called for an INVALID run too, so it leaves out of the line and the
     * JSON what is not finite. */
    void (*result)(const void *solver, rt_result_t *out);
    /* Returns a NULL-terminated list of rungs for that kind of processor (RT_CUDA, RT_CPU or
     * RT_KOKKOS), the best for this run first. The driver takes the first that can run and prints
     * `why` ("512000 points, as measured on ..."). The hook or its answer NULL: the last rung of
     * the ladder that can run. Called if neither --rung nor the tuning file names a rung. */
    const char *const *(*default_rungs)(const rt_run_t *run, rt_kind_t kind, rt_text_t *why);
    /* Fills the point that a tuner's choice is made for; returns the number of coordinates. */
    int (*tune_point)(const rt_run_t *run, rt_coordinate_t point[RT_TUNE_COORDINATES]);
    /* Returns the seconds on this rank of that many calls of what the parameters change, one after
     * the other on the solver's own data and with nothing between them: for --isolated. */
    double (*isolated)(void *solver, int calls);
    /* Answers what options of the app ask instead of a run: prints the answer, and adds to the verdict
     * what was checked of it. Returns false if nothing is asked. Collective. */
    bool (*answer)(rt_run_t *run, rt_verdict_t *verdict);
    /* Writes --picture, whose name ends in picture_ends (".vtu"). */
    void (*picture)(const void *solver, const char *path);
    const char *picture_ends;
    /* Adds the arrays of --dump: what the last solve, of draw 0, got and left, and what else it takes
     * to compute it. Adds constants to dump->index. Called before the solve too, to count bytes. */
    void (*dump)(const void *solver, rt_dump_t *dump);
    /* Prints, after the table of --ladder, the app's own comparison of its rungs.
     * outcomes[n_rungs]; rung NULL: did not run. Rank 0. */
    void (*compare)(const rt_run_t *run, const rt_outcome_t *outcomes, FILE *out);
    const char *roofline_settings; /* of --roofline: "communication=no"; NULL: it has none */
} RT_BY_NAME rt_extras_t;

struct rt_app {
    const char *name;            /* "nekbone" */
    const char *purpose;         /* one line */
    const char *const *examples; /* command lines for --help, the last followed by NULL; may be
                                    NULL */
    const rt_opt_t *options;
    int n_options;
    size_t config_size;
    const rt_rung_t *ladder;
    int n_rungs;
    const char *size_option;   /* the option that gives the user's own extents: wins over --size */
    const rt_extras_t *extras; /* may be NULL */

    /* Checks the options against each other and the ranks (rt_refuse), fills in what follows from
     * them. Reads no input file. May be called again after options were changed. Collective. */
    void (*configure)(rt_run_t *run);
    /* Sets the extents of scale 1, 2, 3, ... and fills config as configure would. Memory grows with
     * scale, or stays the same; the same scale gives the same extents on every machine with as many
     * ranks. Returns false if they are too large to number. Refuses only what no scale can mend,
     * such as a mesh that is read. Not collective. */
    bool (*extents)(rt_run_t *run, int64_t scale);
    /* Prints the lines that say what is solved. */
    void (*describe)(const rt_run_t *run, FILE *out);
    /* Predicts the most bytes of this rank in each space, from input_new to solver_destroy. */
    void (*memory)(const rt_run_t *run, const rt_rung_t *rung, double bytes[RT_SPACES]);
    /* Counts the flops and bytes of a solve. No line for a rung: it is refused at start. */
    void (*work)(const rt_run_t *run, const rt_rung_t *rung, rt_work_t *work);

    /* Reads or generates what does not depend on the rung. Collective. NULL: there is no input. */
    void *(*input_new)(const rt_run_t *run);
    void (*input_destroy)(void *input);
    /* Builds mesh, coefficients and right-hand side in host memory, once for all rungs. It may take
     * over parts of the input, and leaves NULL where it did. Collective. */
    void *(*problem_new)(const rt_run_t *run, void *input);
    void (*problem_destroy)(void *problem);
    /* Adds what was generated or read, as facts and sets of items (judge/digest.h says what may go
     * in): the same for any number of ranks and threads, and on any device. The program's name and
     * the seed are in it already. Collective; may be NULL. */
    void (*digest)(const void *problem, rt_digest_t *digest);
    /* Makes a rung's arrays, in the rung's space, and all else that it needs once: its time is the
     * rung's set-up. It charges what is there already, because rungs share it (rt_setup_charge). */
    void *(*solver_new)(void *problem, const rt_rung_t *rung);
    void (*solver_destroy)(void *solver);

    /* Compares kernel by kernel with the reference, on data drawn from `seed`. */
    void (*verify_before)(void *solver, uint64_t seed, rt_verdict_t *verdict);
    /* Between solves: first puts aside what the last solve left, for verify_after, unless `keep` is
     * RT_KEEP_NOTHING (what was put aside for the same reason goes); then makes every output
     * unusable (NaN), so that nothing can be left over, and the input of the next solve. Draw 0: the
     * problem's; any other: one that does not follow from the inputs of other draws (base/draw.h). */
    void (*spoil)(void *solver, uint64_t draw, rt_keep_t keep);
    /* Solves once. Nothing else is timed. */
    void (*solve)(void *solver);
    /* Judges what was put aside, and then forgets it, and what the last solve, of draw 0, left
     * behind. */
    void (*verify_after)(void *solver, rt_verdict_t *verdict);
} RT_BY_NAME;

/* The verdict on a rung, or the worst of several. */
typedef enum {
    RT_GRADE_VALID,         /* right, steady and possible */
    RT_GRADE_UNSTEADY,      /* right, but the machine was disturbed: there is no figure of merit */
    RT_GRADE_NOT_CONVERGED, /* nothing is wrong, but the limits that the user gave let it end nowhere */
    RT_GRADE_INVALID        /* wrong, or impossible on a steady machine */
} rt_grade_t;
const char *rt_grade_name(rt_grade_t grade);
rt_grade_t rt_grade_worse(rt_grade_t a, rt_grade_t b);

/* The outcome of a rung. */
enum { RT_MAX_WINDOWS = 64 };
struct rt_outcome {
    const rt_rung_t *rung;
    rt_verdict_t verdict;
    double seconds_per_unit;               /* median of the windows */
    int windows, solves;                   /* windows, and solves in all of them */
    double window_seconds[RT_MAX_WINDOWS]; /* per unit, in the order of time */
    double warm_up_seconds, timed_seconds; /* of solves, in all */
    double judge_seconds;                  /* of all checks */
    /* What the rung does once: solver_new, what it uses and other rungs share (rt_setup_charge), and
     * what the first two solves took longer than later ones. Without input and checks. */
    double setup_seconds;
    double early_seconds, least_seconds; /* of the first two solves; of the shortest, with input */
    uint64_t draw_seed, draws;           /* of inputs so far */
    rt_keep_t keep;                      /* what the last timed solve left has to be put aside */
    rt_energy_t energy, meter; /* from first window to last, by counters and by --power (rank 0) */
    rt_watch_t watch;          /* what else happened meanwhile */
    rt_unrest_t unrest;        /* what of it makes the rung UNSTEADY */
    rt_ceilings_t ceilings, again; /* that it is judged by; again.samples 0: not measured again */
    rt_sample_t sampled, nearby;   /* the last sample of the ceilings; the rates that count of those
                                      before, between and after the windows */
    double predicted[RT_SPACES], high_water[RT_SPACES]; /* bytes of the rank with most */
    rt_traffic_t sent; /* bytes per unit, of all ranks, in halos; sums over ranks are left out */
    rt_work_t work;
    rt_text_t line, precision; /* rt_result_t's */
    double kernel_seconds;
};
/* Returns the grade by the checks and the unrest. */
rt_grade_t rt_outcome_grade(const rt_outcome_t *outcome);

/* Returns the version of Rooftop: a release's number, or what git describe said of the source. */
const char *rt_version(void);

/* How this program was built: the arguments of configure, the BLAS that it found ("": none), and
 * make's compilers and flags. */
typedef struct {
    const char *name, *value;
} rt_build_fact_t;
/* Returns the facts [*n]. */
const rt_build_fact_t *rt_build(int *n);

RT_C_END
#endif
