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
#include "base/stats.h"
#include "base/table.h"
#include "io/json.h"
#include "machine/comm.h"
#include "machine/timer.h"
#include "tune/force.h"

enum { MOST_ROUNDS = 7 };

/* A choice that was tried. */
typedef struct {
    int choice[RT_TUNE_PARAMETERS];
    double seconds, spread;
    double ratio[MOST_ROUNDS]; /* to the default, in each round of the finals */
    bool valid;
} tried_t;

/* The search for one rung, and what it found. */
typedef struct {
    rt_run_t *run;
    const rt_tune_plan_t *plan;
    const rt_rung_t *rung;
    const rt_force_t *force;
    tried_t *trial; /* [n] trial[0] is the default */
    int n, room, invalid;
    bool all;          /* no combination that is allowed is left */
    int best;          /* a valid trial, or -1 */
    double slice;      /* seconds of timing in a trial */
    double begin, end; /* of this rung, on rank 0's clock */
    double cost;       /* seconds that the last trial took in all */
    /* found */
    int chosen; /* a trial; -1: the default is INVALID */
    double seconds, gain, noise;
    int rounds;               /* of the finals so far */
    double base[MOST_ROUNDS]; /* seconds of the default in each */
} search_t;

/* Share of a rung's time that the first trials may take; the rest is for timing the faster ones again. */
static const double searching = 0.45;
/* A trial is timed for at most --tune-seconds divided by this. */
static const double trials_a_search = 40;

/* --- time and order --- */

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

/* Fills order[s->n] with the valid trials, fastest first; returns how many. */
static int sort_trials(const search_t *s, int *order)
{
    int n = 0;
    for (int i = 0; i < s->n; i++) { /* insertion: thousands at most, and mostly few */
        int at = s->trial[i].valid ? n : -1;
        if (at < 0)
            continue;
        for (n++; at > 0 && s->trial[order[at - 1]].seconds > s->trial[i].seconds; at--)
            order[at] = order[at - 1];
        order[at] = i;
    }
    return n;
}

/* --- trials --- */

/* Times the choice of *t; says what failed if it is INVALID. */
static void time_trial(search_t *s, tried_t *t, double give_up)
{
    rt_outcome_t out;
    const double begin = common_clock();
    rt_force_choice(s->run, s->rung, t->choice);
    const rt_trial_t how = {s->slice, give_up, s->run->opt.isolated};
    t->valid = false;
    if (!s->plan->attempt(s->run, s->plan->problem, s->rung, &how, &out))
        return;
    t->valid = out.verdict.valid && out.seconds_per_unit > 0;
    t->seconds = out.seconds_per_unit;
    t->spread = out.unrest.spread;
    const double now = common_clock();
    s->cost = now - begin;
    rt_progress_share((now - s->plan->begin) / s->run->opt.tune_seconds);
    if (t->valid)
        return;
    s->invalid++;
    if (rt_comm_rank() == 0) {
        rt_text_t text;
        printf("tune          %s with %s is not right:\n", s->rung->name,
               rt_force_text(s->force, t->choice, &text));
        rt_verdict_print(&out.verdict, stdout);
    }
}

/* Tries a choice that was not tried before. */
static void try_choice(search_t *s, const int *choice)
{
    if (s->n == s->room) {
        s->room = s->room ? 2 * s->room : 64;
        s->trial = realloc(s->trial, (size_t)s->room * sizeof *s->trial);
        RT_EXPECT(s->trial, RT_MEMORY, "no memory for %d trials", s->room);
    }
    const int i = s->n++;
    tried_t *t = &s->trial[i];
    memset(t, 0, sizeof *t);
    memcpy(t->choice, choice, sizeof t->choice);
    time_trial(s, t, s->best >= 0 ? 2 * s->trial[s->best].seconds : 0);
    if (t->valid && (s->best < 0 || t->seconds < s->trial[s->best].seconds))
        s->best = i;
}

/* --- is the best really faster than the default? --- */

enum {
    FINALISTS = 4, /* besides the default */
    LEAST_ROUNDS = 3
};
static const double floor_noise =
    0.005; /* from clocks and throttling: a smaller gain does not count */
/* For normally distributed values: the standard deviation divided by the median distance to the
 * median, and the standard error of the median divided by that of the mean. */
static const double deviation_per_distance = 1.4826, median_error = 1.2533;

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

/* Times a trial once more, and marks what turns out INVALID. */
static double time_again(search_t *s, tried_t *t)
{
    tried_t again = *t;
    time_trial(s, &again, 0);
    t->valid = again.valid;
    return again.seconds;
}

/* Times the default and each list[k]. Sorts the list, the fastest relative to the default first, and
 * returns how many stay for the next round. */
static int play_round(search_t *s, int *list, int n)
{
    const int round = s->rounds++;
    int left = 0;
    s->base[round] = time_again(s, &s->trial[0]);
    for (int k = 0; k < n; k++) {
        const int i = list[k];
        s->trial[i].ratio[round] = time_again(s, &s->trial[i]) / s->base[round];
        int at = s->trial[i].valid ? left++ : -1;
        const double middle = median(s->trial[i].ratio, s->rounds);
        for (; at > 0 && median(s->trial[list[at - 1]].ratio, s->rounds) > middle; at--)
            list[at] = list[at - 1];
        if (at >= 0)
            list[at] = i;
    }
    return left > 2 * FINALISTS ? left / 2 : left < FINALISTS ? left : FINALISTS;
}

/* Chooses the finalist with the least time relative to the default, if it is faster by more than
 * the noise, and was so in at least three of four rounds. */
static void judge(search_t *s, const int *list, int n)
{
    s->seconds = median(s->base, s->rounds);
    for (int k = 0; k < n && s->chosen == 0; k++) { /* the fastest first */
        const double *ratio = s->trial[list[k]].ratio;
        const double middle = median(ratio, s->rounds), noise = noise_of(ratio, s->rounds, middle);
        int slower = 0;
        for (int r = 0; r < s->rounds; r++)
            slower += ratio[r] >= 1;
        if (middle >= 1 - noise || 4 * slower > s->rounds)
            continue;
        s->chosen = list[k];
        s->seconds *= middle;
        s->gain = 1 / middle;
        s->noise = noise;
    }
}

/* Times the faster trials again, alternately with the default, and sets what was chosen. */
static void play_finals(search_t *s)
{
    int *list = malloc((size_t)s->n * sizeof *list), n = 0;
    RT_EXPECT(list, RT_MEMORY, "no memory for %d trials", s->n);
    const int valid = sort_trials(s, list);
    const double left = s->end - common_clock();
    const double fit = floor(left / fmax(LEAST_ROUNDS * s->cost, 1e-9)) - 1;
    while (n < fmin(fit, fmax(FINALISTS, valid / 2)) && list[n] != 0)
        n++;
    s->chosen = 0;
    s->seconds = s->trial[0].seconds;
    while (n > 0 && s->trial[0].valid && s->rounds < MOST_ROUNDS &&
           (s->rounds < LEAST_ROUNDS || has_time(s, s->end, n + 1)))
        n = play_round(s, list, n);
    if (!s->trial[0].valid)
        s->chosen = -1;
    else if (s->rounds > 0)
        judge(s, list, n);
    free(list);
}

/* --- a rung --- */

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
    int choice[RT_TUNE_PARAMETERS];
    const rt_run_t *run = s->run;
    const int64_t n = rt_force_combinations(s->force), step = jump(n);
    const uint64_t chance =
        rt_hash((uint64_t)(s->rung - run->app->ladder), (uint64_t)run->opt.seed);
    int64_t at = (int64_t)(chance % (uint64_t)n), i = 0;
    for (; i < n && has_time(s, end, 1); i++, at = (at + step) % n) {
        rt_force_combination(s->force, at, choice);
        if (memcmp(choice, s->trial[0].choice, sizeof choice) != 0 &&
            !rt_rung_refuse_choice(s->rung, run->config, choice))
            try_choice(s, choice);
    }
    s->all = i == n;
}

static void search_rung(search_t *s)
{
    int choice[RT_TUNE_PARAMETERS];
    s->begin = common_clock();
    s->force = rt_force_of(s->run, s->rung);
    s->best = s->chosen = -1;
    s->gain = 1;
    memcpy(choice, s->force->fallback, sizeof choice);
    try_choice(s, choice);
    if (s->trial[0].valid) {
        if (s->force->parameters > 0)
            try_combinations(s, s->begin + searching * (s->end - s->begin));
        play_finals(s);
    }
    /* The next rung's trials must not see a half-tuned one. */
    rt_force_choice(s->run, s->rung, choice);
}

/* --- what was found --- */

enum { ROWS = 8 }; /* of the table of what was tried */

static void print_tried(const search_t *s)
{
    rt_text_t text;
    int *order = malloc((size_t)s->n * sizeof *order), rows = 0;
    RT_EXPECT(order, RT_MEMORY, "no memory for %d trials", s->n);
    const int n = sort_trials(s, order);
    rt_table_t *table = rt_table_new("<choice|us|spread|time/default|<");
    for (int k = 0; k < n; k++) {
        const tried_t *t = &s->trial[order[k]];
        if (rows >= ROWS && order[k] != 0 && order[k] != s->chosen)
            continue;
        rows++;
        rt_table_cell(table, "%s", rt_force_text(s->force, t->choice, &text));
        rt_table_cell(table, "%.2f", t->seconds * 1e6);
        rt_table_cell(table, "%.1f %%", 100 * t->spread);
        rt_table_cell(table, "%.3f", t->seconds / s->trial[0].seconds);
        rt_table_cell(table, "%s%s%s", order[k] == 0 ? "default" : "",
                      order[k] == 0 && s->chosen == 0 ? ", " : "",
                      order[k] == s->chosen ? "chosen" : "");
        rt_table_row(table);
    }
    printf("\n%s: tried %d of %lld combinations%s, %d INVALID\n\n", s->rung->name, s->n,
           (long long)rt_force_combinations(s->force), s->all ? ", all that are allowed" : "",
           s->invalid);
    rt_table_print(table, stdout);
    rt_table_destroy(table);
    free(order);
}

static void print_found(const search_t *s, int n, bool isolated)
{
    rt_text_t text;
    rt_table_t *table = rt_table_new("<rung|us|gain|noise|tried|<choice");
    for (int i = 0; i < n; i++) {
        rt_table_cell(table, "%s", s[i].rung->name);
        if (s[i].n == 0 || s[i].chosen < 0) {
            for (int cell = 0; cell < 4; cell++)
                rt_table_cell(table, "-");
            rt_table_cell(table, "%s", s[i].n == 0 ? "no time left" : "INVALID");
        } else {
            rt_table_cell(table, "%.2f", s[i].seconds * 1e6);
            rt_table_cell(table, "%.3fx", s[i].gain);
            if (s[i].chosen > 0)
                rt_table_cell(table, "%.1f %%", 100 * s[i].noise);
            else
                rt_table_cell(table, "-");
            rt_table_cell(table, "%d", s[i].n);
            rt_table_cell(table, "%s%s", s[i].chosen == 0 ? "default: " : "",
                          rt_force_text(s[i].force, s[i].trial[s[i].chosen].choice, &text));
        }
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
        rt_json_int(row, "tried", s[i].n);
        rt_json_int(row, "invalid", s[i].invalid);
        rt_json_int(row, "combinations", rt_force_combinations(rt_force_of(s[i].run, s[i].rung)));
        if (s[i].n == 0 || s[i].chosen < 0)
            continue;
        rt_json_bool(row, "changed", s[i].chosen > 0);
        rt_json_real(row, "seconds", s[i].seconds);
        rt_json_real(row, "gain", s[i].gain);
        rt_json_real(row, "noise", s[i].noise);
        json_object_set_new(row, "choice",
                            rt_force_json(s[i].force, s[i].trial[s[i].chosen].choice));
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
        if (rt_comm_rank() == 0 && !run->opt.quiet && s[i].force->parameters > 0)
            print_tried(&s[i]);
    }
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
    rt_progress_parts("tuning rung", n, n);
    for (int i = 0; i < n; i++)
        if (s[i].n > 0 && s[i].chosen >= 0)
            json_array_append_new(
                fresh,
                rt_store_entry(run, s[i].rung, s[i].trial[s[i].chosen].choice, s[i].seconds));
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
