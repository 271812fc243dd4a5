/*
 * tune/search.c - --tune: finds the fastest choice by trying.
 *
 * A trial takes a rung through its whole life: set up, verified, timed, verified again. The
 * allowed combinations are tried once each, in an order that jumps about all of them, as far as the
 * time goes. Then the faster half is timed in rounds, alternately with the default, so that what
 * disturbs the machine for a while disturbs all of them; after each round the faster half of these
 * stays, until a few are left. Another choice replaces the default only if it is faster by more than
 * the noise of these times.
 *
 * Advantage: what was chosen was seen to be right and fast where it will be used. Price: each trial
 * pays for set-up and verification, which for large problems is most of the time.
 *
 * Rank 0 reads its clock for all ranks, and times are those of the slowest rank, so all ranks decide
 * alike.
 */
#include "config.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "base/progress.h"
#include "base/numbers.h"
#include "base/table.h"
#include "io/json.h"
#include "machine/comm.h"
#include "machine/timer.h"
#include "tune/force.h"

enum {
    FINALISTS = 4, /* besides the default */
    LEAST_ROUNDS = 3,
    MOST_ROUNDS = 7
};
/* Share of a rung's time that the first trials may take; the rest is for timing the faster ones again. */
static const double searching = 0.45;
/* A trial is timed for at most --tune-seconds divided by this. */
static const double trials_a_search = 40;
static const double floor_noise =
    0.005; /* from clocks and throttling: a smaller gain does not count */
/* For normally distributed values: the standard deviation divided by the median distance to the
 * median, and the standard error of the median divided by that of the mean. */
static const double deviation_per_distance = 1.4826, median_error = 1.2533;

/* A choice that was tried. */
typedef struct {
    int choice[RT_TUNE_PARAMETERS];
    double seconds;
    double ratio[MOST_ROUNDS]; /* to the default, in each round */
    double rank;               /* the less, the better: seconds, then the median ratio */
    bool valid;
} tried_t;

/* The search for one rung, and what it found. */
typedef struct {
    rt_run_t *run;
    const rt_tune_plan_t *plan;
    const rt_rung_t *rung;
    const rt_force_t *force;
    tried_t initial; /* the default */
    tried_t *trial;  /* [n] the others */
    int n, room, invalid;
    double slice; /* seconds of timing in a trial */
    double end;   /* of this rung, on rank 0's clock */
    double cost;  /* seconds that the last trial took in all; 0: there was none */
    int rounds;
    double base[MOST_ROUNDS]; /* seconds of the default in each */
    /* found */
    const tried_t *chosen; /* NULL: the default is INVALID, or was not tried */
    double seconds, gain, noise;
} search_t;

/* Returns rank 0's clock, on all ranks. Collective. */
static double common_clock(void)
{
    double now = rt_clock();
    rt_comm_bcast(&now, sizeof now, 0);
    return now;
}

/* Returns whether `trials` more trials fit in before `end`. Collective. */
static bool has_time(const search_t *s, double end, double trials)
{
    return common_clock() + trials * s->cost <= end;
}

/* --- trials --- */

/* Times the choice of *t; says what failed if it is INVALID, as it stays. */
static void time_trial(search_t *s, tried_t *t, double give_up)
{
    rt_outcome_t out;
    const double begin = common_clock();
    rt_force_choice(s->run, s->rung, t->choice);
    const rt_trial_t how = {s->slice, give_up, s->run->opt.isolated};
    t->valid = false;
    t->rank = INFINITY;
    if (!s->plan->attempt(s->run, s->plan->problem, s->rung, &how, &out))
        return;
    const double now = common_clock();
    s->cost = now - begin;
    rt_progress_share((now - s->plan->begin) / s->run->opt.tune_seconds);
    if (out.verdict.valid && out.seconds_per_unit > 0) {
        t->valid = true;
        t->seconds = t->rank = out.seconds_per_unit;
        return;
    }
    s->invalid++;
    if (rt_comm_rank() == 0) {
        rt_text_t text;
        printf("tune          %s with %s is not right:\n", s->rung->name,
               rt_force_text(s->force, t->choice, &text));
        rt_verdict_print(&out.verdict, stdout);
    }
}

/* Returns about the golden section of n, without a common divisor: steps of that length, around a
 * circle of n combinations, reach all of them, and however many are taken, they are spread evenly. */
static int64_t jump(int64_t n)
{
    for (int64_t step = (int64_t)(0.618034 * (double)n) + 1;; step++) {
        int64_t a = n, b = step;
        while (b != 0) {
            const int64_t rest = a % b;
            a = b;
            b = rest;
        }
        if (a == 1)
            return step;
    }
}

/* Tries the combinations that are allowed, from one that the seed chooses on. */
static void try_combinations(search_t *s, double end)
{
    const rt_run_t *run = s->run;
    const int64_t n = rt_force_combinations(s->force), step = jump(n);
    const uint64_t chance =
        rt_hash((uint64_t)(s->rung - run->app->ladder), (uint64_t)run->opt.seed);
    double least = s->initial.seconds;
    int64_t at = (int64_t)(chance % (uint64_t)n);
    for (int64_t i = 0; i < n && has_time(s, end, 1); i++, at = (at + step) % n) {
        tried_t t = {.valid = false};
        rt_force_combination(s->force, at, t.choice);
        if (memcmp(t.choice, s->initial.choice, sizeof t.choice) == 0 ||
            rt_rung_refuse_choice(s->rung, run->config, t.choice))
            continue;
        time_trial(s, &t, 2 * least);
        least = fmin(least, t.rank);
        if (s->n == s->room) {
            s->room = s->room ? 2 * s->room : 64;
            s->trial = realloc(s->trial, (size_t)s->room * sizeof *s->trial);
            RT_EXPECT(s->trial, RT_MEMORY, "no memory for %d trials", s->room);
        }
        s->trial[s->n++] = t;
    }
}

/* --- is the best really faster than the default? --- */

static int by_rank(const void *a, const void *b)
{
    const double x = ((const tried_t *)a)->rank, y = ((const tried_t *)b)->rank;
    return (x > y) - (x < y);
}

static double median(const double *x, int n)
{
    double copy[MOST_ROUNDS];
    memcpy(copy, x, (size_t)n * sizeof *x);
    return rt_median(copy, n);
}

/* Returns twice the standard error of the median of x, estimated from the median distance to it,
 * plus the noise that every measurement has. */
static double noise_of(const double *x, int n, double middle)
{
    double away[MOST_ROUNDS];
    for (int i = 0; i < n; i++)
        away[i] = fabs(x[i] - middle);
    return floor_noise + 2 * median_error * deviation_per_distance * median(away, n) / sqrt(n);
}

/* Times the default and the first n trials. Sorts these, the fastest relative to the default first,
 * and returns how many stay for the next round: the faster half, but a few in any case. */
static int play_round(search_t *s, int n)
{
    const int round = s->rounds++;
    int left = 0;
    time_trial(s, &s->initial, 0);
    s->base[round] = s->initial.seconds;
    for (int k = 0; k < n; k++) {
        tried_t *t = &s->trial[k];
        time_trial(s, t, 0);
        t->ratio[round] = t->seconds / s->base[round];
        if (t->valid)
            t->rank = median(t->ratio, s->rounds);
        left += t->valid;
    }
    qsort(s->trial, (size_t)n, sizeof *s->trial, by_rank);
    return left > 2 * FINALISTS ? left / 2 : left < FINALISTS ? left : FINALISTS;
}

/* Chooses, of the first n trials, the one with the least time relative to the default, if it is
 * faster by more than the noise, and was so in at least three of four rounds. */
static void judge(search_t *s, int n)
{
    s->seconds = median(s->base, s->rounds);
    for (int k = 0; k < n && s->chosen == &s->initial; k++) { /* the fastest first */
        const tried_t *t = &s->trial[k];
        const double noise = noise_of(t->ratio, s->rounds, t->rank);
        int slower = 0;
        for (int r = 0; r < s->rounds; r++)
            slower += t->ratio[r] >= 1;
        if (t->rank >= 1 - noise || 4 * slower > s->rounds)
            continue;
        s->chosen = t;
        s->seconds *= t->rank;
        s->gain = 1 / t->rank;
        s->noise = noise;
    }
}

/* Times the faster trials again, alternately with the default, and sets what was chosen. */
static void play_rounds(search_t *s)
{
    const double left = s->end - common_clock();
    const double fit = floor(left / fmax(LEAST_ROUNDS * s->cost, 1e-9)) - 1;
    int faster = 0, n;
    if (s->n > 0)
        qsort(s->trial, (size_t)s->n, sizeof *s->trial, by_rank);
    while (faster < s->n && s->trial[faster].rank < s->initial.seconds)
        faster++;
    n = (int)fmax(0, fmin(fmin(faster, fit), fmax(FINALISTS, s->n / 2)));
    s->seconds = s->initial.seconds;
    while (n > 0 && s->initial.valid && s->rounds < MOST_ROUNDS &&
           (s->rounds < LEAST_ROUNDS || has_time(s, s->end, n + 1)))
        n = play_round(s, n);
    s->chosen = s->initial.valid ? &s->initial : NULL;
    if (s->chosen && s->rounds > 0)
        judge(s, n);
}

static void search_rung(search_t *s)
{
    const double begin = common_clock();
    s->force = rt_force_of(s->run, s->rung);
    s->gain = 1;
    memcpy(s->initial.choice, s->force->fallback, sizeof s->initial.choice);
    time_trial(s, &s->initial, 0);
    if (s->initial.valid) {
        if (s->force->parameters > 0)
            try_combinations(s, begin + searching * (s->end - begin));
        play_rounds(s);
    }
    /* The next rung's trials must not see a half-tuned one. */
    rt_force_choice(s->run, s->rung, s->force->fallback);
}

/* --- what was found --- */

static void print_found(const search_t *s, int n, bool isolated)
{
    rt_text_t text;
    rt_table_t *table = rt_table_new("<rung|us|gain|noise|tried|of|<choice");
    for (int i = 0; i < n; i++) {
        const tried_t *chosen = s[i].chosen;
        rt_table_cell(table, "%s", s[i].rung->name);
        rt_table_cell(table, chosen ? "%.2f" : "-", s[i].seconds * 1e6);
        rt_table_cell(table, chosen ? "%.3fx" : "-", s[i].gain);
        rt_table_cell(table, s[i].noise > 0 ? "%.1f %%" : "-", 100 * s[i].noise);
        rt_table_cell(table, "%d", (s[i].cost > 0) + s[i].n);
        rt_table_cell(table, "%lld",
                      (long long)rt_force_combinations(rt_force_of(s[i].run, s[i].rung)));
        rt_table_cell(table, "%s%s", chosen == &s[i].initial ? "default: " : "",
                      chosen          ? rt_force_text(s[i].force, chosen->choice, &text)
                      : s[i].cost > 0 ? "INVALID"
                                      : "no time left");
        rt_table_row(table);
    }
    printf("\ntuned %s; the gain is over the default, which was timed alternately\n\n",
           isolated ? "alone: times per call of the kernel" : "inside the application");
    rt_table_print(table, stdout);
    rt_table_destroy(table);
}

static void report_found(const search_t *s, int n, const char *path, json_t *root)
{
    json_t *tuning = rt_json_object(root, "tuning");
    rt_json_text(tuning, "file", path);
    rt_json_bool(tuning, "isolated", n > 0 && s->run->opt.isolated);
    json_t *rungs = rt_json_array(tuning, "rungs");
    for (int i = 0; i < n; i++) {
        json_t *row = rt_json_append_object(rungs);
        rt_json_text(row, "name", s[i].rung->name);
        rt_json_int(row, "tried", (s[i].cost > 0) + s[i].n);
        rt_json_int(row, "invalid", s[i].invalid);
        rt_json_int(row, "combinations", rt_force_combinations(rt_force_of(s[i].run, s[i].rung)));
        if (!s[i].chosen)
            continue;
        rt_json_bool(row, "changed", s[i].chosen != &s[i].initial);
        rt_json_real(row, "seconds", s[i].seconds);
        rt_json_real(row, "gain", s[i].gain);
        rt_json_real(row, "noise", s[i].noise);
        json_object_set_new(row, "choice", rt_force_json(s[i].force, s[i].chosen->choice));
    }
}

/* --- all of them --- */

/* Gives each rung an equal share of the time that is left when its turn comes. */
static void search_rungs(rt_run_t *run, const rt_tune_plan_t *plan, double end, search_t *s)
{
    double cost = 0; /* of a trial of the rung before */
    for (int i = 0; i < plan->n; i++) {
        const double now = common_clock();
        s[i].run = run;
        s[i].plan = plan;
        s[i].rung = plan->rungs[i];
        s[i].slice = fmin(run->opt.seconds, run->opt.tune_seconds / trials_a_search);
        s[i].end = now + (end - now) / (plan->n - i);
        if (i > 0 && now + cost > end)
            continue;
        rt_progress_parts("tuning rung", i, plan->n);
        search_rung(&s[i]);
        cost = s[i].cost;
    }
    rt_progress_parts("tuning rung", plan->n, plan->n);
}

rt_status_t rt_tune_search(rt_run_t *run, const rt_tune_plan_t *plan, json_t *root)
{
    const int n = plan->n;
    double end = plan->begin + run->opt.tune_seconds;
    const char *path = rt_tuning_target(run);
    search_t *s = calloc((size_t)n, sizeof *s);
    json_t *fresh = json_array();
    bool valid = true;
    RT_EXPECT(s && fresh, RT_MEMORY, "no memory to tune %d rungs", n);
    rt_comm_bcast(&end, sizeof end, 0);
    search_rungs(run, plan, end, s);
    for (int i = 0; i < n; i++)
        if (s[i].chosen)
            json_array_append_new(
                fresh, rt_store_entry(run, s[i].rung, s[i].chosen->choice, s[i].seconds));
    rt_store_adopt(run, fresh);
    rt_tuning_resolve(run);
    if (rt_comm_rank() == 0) {
        print_found(s, n, run->opt.isolated);
        if (*path && rt_all_written())
            printf("\nwritten to %s\n", path);
        if (root)
            report_found(s, n, path, root);
    }
    for (int i = 0; i < n; i++) {
        valid = valid && s[i].invalid == 0;
        free(s[i].trial);
    }
    free(s);
    json_decref(fresh);
    return valid ? RT_OK : RT_INVALID;
}
