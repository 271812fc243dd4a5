/*
 * tune/search.c - --tune: finds the fastest choice by trying.
 *
 * A trial takes a rung through its whole life: set up, verified, timed, verified again. The
 * allowed combinations are tried once each, in an order that jumps about all of them, as far as the
 * time goes. Then the faster half is timed again, beside the default, and of these the faster half,
 * until a few are left (finals.c).
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
#include "machine/comm.h"
#include "machine/timer.h"
#include "tune/trials.h"

/* Share of a rung's time that the first trials may take; the rest is for timing the faster ones again. */
static const double searching = 0.45;
/* A trial is timed for at most --tune-seconds divided by this. */
static const double trials_a_search = 40;

/* --- time and order --- */

double rt_search_clock(void)
{
    double now = rt_clock();
    rt_comm_bcast(&now, sizeof now, 0);
    return now;
}

bool rt_search_has_time(const rt_search_t *s, double end, double trials)
{
    return rt_search_clock() + trials * s->cost <= end;
}

int rt_search_order(const rt_search_t *s, int *order)
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

void rt_search_time(rt_search_t *s, rt_tried_t *t, double give_up)
{
    rt_outcome_t out;
    const double begin = rt_search_clock();
    rt_force_choice(s->run, s->rung, t->choice);
    const rt_trial_t how = {s->slice, give_up, s->run->opt.isolated};
    t->valid = false;
    t->refused = !s->plan->attempt(s->run, s->plan->problem, s->rung, &how, &out);
    if (t->refused)
        return;
    t->valid = out.verdict.valid && out.seconds_per_unit > 0;
    t->seconds = out.seconds_per_unit;
    t->spread = out.unrest.spread;
    const double now = rt_search_clock();
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
static void try_choice(rt_search_t *s, const int *choice)
{
    if (s->n == s->room) {
        s->room = s->room ? 2 * s->room : 64;
        s->trial = realloc(s->trial, (size_t)s->room * sizeof *s->trial);
        RT_EXPECT(s->trial, RT_MEMORY, "no memory for %d trials", s->room);
    }
    const int i = s->n++;
    rt_tried_t *t = &s->trial[i];
    memset(t, 0, sizeof *t);
    memcpy(t->choice, choice, sizeof t->choice);
    rt_search_time(s, t, s->best >= 0 ? 2 * s->trial[s->best].seconds : 0);
    if (t->valid && (s->best < 0 || t->seconds < s->trial[s->best].seconds))
        s->best = i;
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
static void try_combinations(rt_search_t *s, double end)
{
    int choice[RT_TUNE_PARAMETERS];
    const rt_run_t *run = s->run;
    const int64_t n = rt_force_combinations(s->force), step = jump(n);
    const uint64_t chance =
        rt_hash((uint64_t)(s->rung - run->app->ladder), (uint64_t)run->opt.seed);
    int64_t at = (int64_t)(chance % (uint64_t)n), i = 0;
    for (; i < n && rt_search_has_time(s, end, 1); i++, at = (at + step) % n) {
        rt_force_combination(s->force, at, choice);
        if (memcmp(choice, s->trial[0].choice, sizeof choice) != 0 &&
            !rt_rung_refuse_choice(s->rung, run->config, choice))
            try_choice(s, choice);
    }
    s->all = i == n;
}

static void search_rung(rt_search_t *s)
{
    int choice[RT_TUNE_PARAMETERS];
    s->begin = rt_search_clock();
    s->force = rt_force_of(s->run, s->rung);
    s->best = s->chosen = -1;
    s->gain = 1;
    memcpy(choice, s->force->fallback, sizeof choice);
    try_choice(s, choice);
    if (s->trial[0].valid) {
        if (s->force->parameters > 0)
            try_combinations(s, s->begin + searching * (s->end - s->begin));
        rt_search_finals(s);
    }
    /* The next rung's trials must not see a half-tuned one. */
    rt_force_choice(s->run, s->rung, choice);
}

/* --- all of them --- */

/* Gives each rung an equal share of the time that is left when its turn comes. */
static void search_rungs(rt_run_t *run, const rt_tune_plan_t *plan, double end, rt_search_t *s)
{
    double cost = 0; /* of a trial of the rung before */
    for (int i = 0; i < plan->n; i++) {
        const double now = rt_search_clock();
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
            rt_search_print_tried(&s[i]);
    }
}

rt_status_t rt_tune_search(rt_run_t *run, const rt_tune_plan_t *plan, json_t *root)
{
    const int n = plan->n;
    double end = plan->begin + run->opt.tune_seconds;
    const char *path = rt_tuning_target(run);
    rt_search_t *s = calloc((size_t)n, sizeof *s);
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
    if (rt_comm_rank() == 0) {
        rt_search_print_found(s, n, run->opt.isolated);
        if (*path && rt_all_written())
            printf("\nwritten to %s\n", path);
        if (root)
            rt_search_json(s, n, path, root);
    }
    for (int i = 0; i < n; i++) {
        valid = valid && s[i].invalid == 0;
        free(s[i].trial);
    }
    free(s);
    json_decref(fresh);
    return valid ? RT_OK : RT_INVALID;
}
