/*
 * tune/search.c - --tune: finds the fastest choice by trying.
 *
 * A trial takes a rung through its whole life: set up, verified, timed, verified again. The
 * allowed combinations are tried once each, in random order, as far as the time goes. Then the
 * faster half is timed again, and of these the faster half, until a few are left for the finals
 * (finals.c).
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
#include <time.h>
#include <unistd.h>
#include "app/context.h"
#include "machine/comm.h"
#include "machine/timer.h"
#include "tune/trials.h"

enum {
    MOST_COMBINATIONS = 1 << 16, /* if there are more, they are not listed */
    MOST_MISSES = 1000,          /* draws that bring nothing new, after which no more are made */
    DATE = 32
};
/* Share of a rung's time that the first trials may take; the rest is for timing the faster ones again. */
static const double searching = 0.45;
/* A trial is timed for at most --tune-seconds divided by this. */
static const double trials_a_search = 40;

/* --- time and chance --- */

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

/* Returns a random number 0 .. n-1. */
static int draw(rt_search_t *s, int n)
{
    s->random = rt_hash(s->random, (uint64_t)s->run->opt.seed);
    return (int)(s->random % (uint64_t)n);
}

static void shuffle(rt_search_t *s, int *list, int n)
{
    for (int i = n - 1; i > 0; i--) {
        const int k = draw(s, i + 1), other = list[k];
        list[k] = list[i];
        list[i] = other;
    }
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

/* Prints at most one line per second, or per 10 s if nobody watches a terminal, but always a new
 * best and an INVALID trial. */
static void progress(rt_search_t *s, int i)
{
    rt_text_t now, best;
    const rt_tried_t *t = &s->trial[i];
    const double clock = rt_clock(), every = isatty(STDOUT_FILENO) ? 1 : 10;
    const bool news = i == 0 || i == s->best || (!t->valid && !t->refused);
    if (rt_comm_rank() != 0 || s->run->opt.quiet || (!news && clock < s->said + every))
        return;
    s->said = clock;
    printf("tune          %s %d/%.0f  %s: ", s->rung->name, s->n, s->allowed,
           rt_search_text(s, i, &now));
    if (t->refused)
        printf("does not fit");
    else if (!t->valid)
        printf("INVALID");
    else
        printf("%.2f us", t->seconds * 1e6);
    if (s->best >= 0 && s->best != i)
        printf("; best %.2f us with %s", s->trial[s->best].seconds * 1e6,
               rt_search_text(s, s->best, &best));
    printf("; %.0f s left\n", fmax(0, s->end - clock));
    fflush(stdout);
}

static int seen(const rt_search_t *s, const int *choice)
{
    for (int i = 0; i < s->n; i++)
        if (memcmp(s->trial[i].choice, choice, sizeof s->trial[i].choice) == 0)
            return i;
    return -1;
}

static bool allowed(const rt_search_t *s, const int *choice)
{
    return !rt_rung_refuse_choice(s->rung, s->run->config, choice);
}

void rt_search_time(rt_search_t *s, rt_tried_t *t, double give_up)
{
    rt_outcome_t out;
    const double begin = rt_search_clock();
    rt_tuning_force(s->run, s->rung, t->choice);
    const rt_trial_t how = {s->slice, give_up, s->run->opt.isolated};
    t->valid = false;
    t->refused = !s->plan->attempt(s->run, s->plan->problem, s->rung, &how, &out);
    if (t->refused)
        return;
    t->valid = out.verdict.valid && out.seconds_per_unit > 0;
    t->seconds = out.seconds_per_unit;
    t->spread = out.unrest.spread;
    s->cost = rt_search_clock() - begin;
    if (t->valid)
        return;
    s->invalid++;
    if (rt_comm_rank() == 0) {
        rt_text_t text;
        printf("tune          %s with %s is not right:\n", s->rung->name,
               rt_tuning_text(s->run, s->rung, t->choice, &text));
        rt_verdict_print(&out.verdict, stdout);
    }
}

/* Tries a choice that was not seen before; returns its trial. */
static int try_choice(rt_search_t *s, const int *choice)
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
    progress(s, i);
    return i;
}

/* --- the list --- */

static void combination(const rt_search_t *s, int index, int *choice)
{
    memset(choice, 0, RT_TUNE_PARAMETERS * sizeof *choice);
    for (int p = 0; p < s->parameters; p++) {
        choice[p] = index % s->values[p];
        index /= s->values[p];
    }
}

/* Returns the combinations that are allowed, list[*count], which the caller frees. */
static int *list_allowed(rt_search_t *s, int *count)
{
    int choice[RT_TUNE_PARAMETERS], n = (int)s->combinations;
    int *list = malloc((size_t)n * sizeof *list);
    RT_EXPECT(list, RT_MEMORY, "no memory for %d combinations", n);
    *count = 0;
    for (int i = 0; i < n; i++) {
        combination(s, i, choice);
        if (allowed(s, choice))
            list[(*count)++] = i;
    }
    return list;
}

/* Tries the combinations of list[n] in random order; without a list, ones that are drawn. */
static void try_list(rt_search_t *s, int *list, int n, double end)
{
    int choice[RT_TUNE_PARAMETERS] = {0}, i = 0;
    if (list)
        shuffle(s, list, n);
    for (int misses = 0; (list ? i < n : misses < MOST_MISSES) && rt_search_has_time(s, end, 1);
         i++) {
        if (list)
            combination(s, list[i], choice);
        for (int p = 0; !list && p < s->parameters; p++)
            choice[p] = draw(s, s->values[p]);
        const bool is_new = seen(s, choice) < 0 && (list || allowed(s, choice));
        misses = is_new ? 0 : misses + 1;
        if (is_new)
            try_choice(s, choice);
    }
    s->how = list && i == n ? "all combinations" : "drawn at random";
}

/* --- a rung --- */

static void search_rung(rt_search_t *s)
{
    int choice[RT_TUNE_PARAMETERS] = {0}, count = 0;
    s->begin = rt_search_clock();
    s->parameter = rt_rung_parameters(s->rung, &s->parameters);
    s->combinations = s->allowed = 1;
    s->best = s->chosen = -1;
    s->gain = 1;
    s->how = "the default alone";
    for (int p = 0; p < s->parameters; p++) {
        while (s->parameter[p].values[s->values[p]])
            s->values[p]++;
        s->combinations *= s->values[p];
    }
    int *list = s->combinations <= MOST_COMBINATIONS ? list_allowed(s, &count) : NULL;
    s->allowed = list ? count : s->combinations;
    rt_tuning_default(s->run, s->rung, choice);
    try_choice(s, choice);
    const double end = s->begin + searching * (s->end - s->begin);
    if (s->trial[0].valid && s->parameters > 0) {
        try_list(s, list, count, end);
        rt_search_finals(s);
    } else if (s->trial[0].valid) {
        s->chosen = 0;
        s->seconds = s->trial[0].seconds;
    }
    free(list);
    rt_tuning_force(s->run, s->rung,
                    choice); /* the next rung's trials must not see a half-tuned one */
}

/* --- all of them --- */

static int fill_entries(const rt_run_t *run, const rt_search_t *s, int n, const char *date,
                        rt_tune_entry_t *entry)
{
    int count = 0;
    for (int i = 0; i < n; i++) {
        if (s[i].n == 0 || s[i].chosen < 0)
            continue;
        rt_tune_entry_t *e = &entry[count++];
        rt_tuning_entry(run, s[i].rung, e);
        e->seconds = s[i].seconds;
        e->date = date;
        e->parameters = s[i].parameters;
        for (int p = 0; p < e->parameters; p++) {
            e->choice[p].name = s[i].parameter[p].name;
            e->choice[p].value = s[i].parameter[p].values[s[i].trial[s[i].chosen].choice[p]];
        }
    }
    return count;
}

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
        s[i].random = (uint64_t)(plan->rungs[i] - run->app->ladder);
        s[i].end = now + (end - now) / (plan->n - i);
        if (i > 0 && now + cost > end)
            continue;
        search_rung(&s[i]);
        cost = s[i].cost;
        if (rt_comm_rank() == 0 && !run->opt.quiet && s[i].parameters > 0)
            rt_search_print_tried(&s[i]);
    }
}

rt_status_t rt_tune_search(rt_run_t *run, const rt_tune_plan_t *plan, json_t *root)
{
    const int n = plan->n;
    double end = plan->begin + run->opt.tune_seconds;
    const char *path = rt_tuning_target(run);
    rt_search_t *s = calloc((size_t)n, sizeof *s);
    rt_tune_entry_t *entry = calloc((size_t)n, sizeof *entry);
    char date[DATE];
    const time_t now = time(NULL);
    bool valid = true;
    RT_EXPECT(s && entry, RT_MEMORY, "no memory to tune %d rungs", n);
    rt_comm_bcast(&end, sizeof end, 0);
    strftime(date, sizeof date, "%Y-%m-%dT%H:%M:%SZ", gmtime(&now));
    search_rungs(run, plan, end, s);
    rt_tuning_adopt(run, entry, fill_entries(run, s, n, date, entry));
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
    free(entry);
    return valid ? RT_OK : RT_INVALID;
}
