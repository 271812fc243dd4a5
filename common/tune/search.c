/*
 * tune/search.c - --tune: which choice is the fastest, found by trying.
 *
 * A trial is a life of its own: set up, verified, timed, verified again. All allowed combinations
 * are tried, in random order, if the time allows; else the search goes down the coordinates: one
 * parameter after the other, in random order, takes its best value, until a round changes nothing;
 * then it starts again from the best with two parameters thrown. The few that seem best are timed
 * again in turns with the default, so that what disturbs the machine for a while disturbs all of
 * them: the default is left only for a choice that is faster by more than the noise of that.
 *
 * Advantage: what was chosen was seen to be right and fast where it will be used. Price: each trial
 * pays for set-up and verification, which for large problems is most of the time.
 *
 * Rank 0 looks at its clock for all; times are those of the slowest rank. So all ranks decide
 * alike.
 */
#include "config.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "app/context.h"
#include "base/stats.h"
#include "base/table.h"
#include "io/json.h"
#include "machine/comm.h"
#include "machine/timer.h"
#include "tune/search.h"
#include "tune/tuning.h"

enum {
    MOST_COMBINATIONS = 1 << 16, /* that are counted one by one */
    FINALISTS = 4,               /* besides the default */
    LEAST_ROUNDS = 3,
    MOST_ROUNDS = 7,
    THROWS = 4, /* new starts that find nothing better end the search */
    ROWS = 8,   /* of the table of what was tried */
    DATE = 32
};
static const double floor_noise = 0.005; /* clocks and throttling: less is no gain */
static const double searching = 0.65;    /* share of a rung's time; the rest is for the finals */

typedef struct {
    int choice[RT_TUNE_PARAMETERS];
    double seconds, spread;
    bool valid, refused; /* refused: not tried, for it does not fit */
} trial_t;

/* The search for one rung, and what it found. */
typedef struct {
    rt_run_t *run;
    const rt_tune_plan_t *plan;
    const rt_rung_t *rung;
    const rt_parameter_t *parameter;
    int parameters, values[RT_TUNE_PARAMETERS];
    double combinations, allowed; /* of the values; those not refused, or an upper bound */
    trial_t *trial;               /* [n] trial[0] is the default */
    int n, room, invalid;
    int best;          /* a valid trial, or -1 */
    double slice;      /* seconds of timing in a trial */
    double begin, end; /* of this rung, on rank 0's clock */
    double cost;       /* seconds that the last trial took in all */
    double said;       /* when the last line was */
    uint64_t random;
    const char *how;
    /* found */
    int chosen; /* a trial; -1: the default is INVALID */
    double seconds, gain, noise;
    int rounds;
} search_t;

/* --- time and chance --- */

static double clock_of_root(void)
{
    double now = rt_clock();
    rt_comm_bcast(&now, sizeof now, 0);
    return now;
}

/* Is there time for so many trials before `end`? */
static bool time_for(const search_t *s, double end, double trials)
{
    return clock_of_root() + trials * s->cost <= end;
}

/* 0 .. n-1 */
static int draw(search_t *s, int n)
{
    s->random = rt_hash(s->random, (uint64_t)s->run->opt.seed);
    return (int)(s->random % (uint64_t)n);
}

static void shuffle(search_t *s, int *list, int n)
{
    for (int i = n - 1; i > 0; i--) {
        const int k = draw(s, i + 1), other = list[k];
        list[k] = list[i];
        list[i] = other;
    }
}

/* --- trials --- */

static const char *text_of(const search_t *s, int i, rt_text_t *text)
{
    return s->parameters ? rt_tuning_text(s->run, s->rung, s->trial[i].choice, text) : "as it is";
}

/* A line at most every second, but for what is new: the best, and what is wrong. */
static void progress(search_t *s, int i)
{
    rt_text_t now, best;
    const trial_t *t = &s->trial[i];
    const double clock = rt_clock();
    const bool news = i == 0 || i == s->best || (!t->valid && !t->refused);
    if (rt_comm_rank() != 0 || s->run->opt.quiet || (!news && clock < s->said + 1))
        return;
    s->said = clock;
    printf("tune          %s %d/%.0f  %s: ", s->rung->name, s->n, s->allowed, text_of(s, i, &now));
    if (t->refused)
        printf("does not fit");
    else if (!t->valid)
        printf("INVALID");
    else
        printf("%.2f us", t->seconds * 1e6);
    if (s->best >= 0 && s->best != i)
        printf("; best %.2f us with %s", s->trial[s->best].seconds * 1e6,
               text_of(s, s->best, &best));
    printf("; %.0f s left\n", fmax(0, s->end - clock));
    fflush(stdout);
}

static int seen(const search_t *s, const int *choice)
{
    for (int i = 0; i < s->n; i++)
        if (memcmp(s->trial[i].choice, choice, sizeof s->trial[i].choice) == 0)
            return i;
    return -1;
}

static bool allowed(const search_t *s, const int *choice)
{
    return !rt_rung_refuse_choice(s->rung, s->run->config, choice);
}

/* Times the choice; INVALID is said with what failed. */
static void time_choice(search_t *s, trial_t *t, double give_up)
{
    rt_outcome_t out;
    const double begin = clock_of_root();
    rt_tuning_force(s->run, s->rung, t->choice);
    const rt_trial_t how = {s->slice, give_up, s->run->opt.isolated};
    t->valid = false;
    t->refused = !s->plan->attempt(s->run, s->plan->problem, s->rung, &how, &out);
    if (t->refused)
        return;
    t->valid = out.verdict.valid && out.seconds_per_unit > 0;
    t->seconds = out.seconds_per_unit;
    t->spread = out.spread;
    s->cost = clock_of_root() - begin;
    if (t->valid)
        return;
    s->invalid++;
    if (rt_comm_rank() == 0) {
        rt_text_t text;
        printf("tune          %s with %s is INVALID:\n", s->rung->name,
               rt_tuning_text(s->run, s->rung, t->choice, &text));
        rt_verdict_print(&out.verdict, stdout);
    }
}

/* Tries a choice that was not seen before. Returns its trial. */
static int try_choice(search_t *s, const int *choice)
{
    if (s->n == s->room) {
        s->room = s->room ? 2 * s->room : 64;
        s->trial = realloc(s->trial, (size_t)s->room * sizeof *s->trial);
        RT_EXPECT(s->trial, RT_MEMORY, "no memory for %d trials", s->room);
    }
    const int i = s->n++;
    trial_t *t = &s->trial[i];
    memset(t, 0, sizeof *t);
    memcpy(t->choice, choice, sizeof t->choice);
    time_choice(s, t, s->best >= 0 ? 2 * s->trial[s->best].seconds : 0);
    if (t->valid && (s->best < 0 || t->seconds < s->trial[s->best].seconds))
        s->best = i;
    progress(s, i);
    return i;
}

/* --- the two searches --- */

static void combination(const search_t *s, int index, int *choice)
{
    memset(choice, 0, RT_TUNE_PARAMETERS * sizeof *choice);
    for (int p = 0; p < s->parameters; p++) {
        choice[p] = index % s->values[p];
        index /= s->values[p];
    }
}

/* Those that are allowed: list[returned] of combinations, for free. */
static int *list_allowed(search_t *s, int *count)
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

static void search_all(search_t *s, int *list, int n, double end)
{
    int choice[RT_TUNE_PARAMETERS];
    s->how = "all combinations";
    shuffle(s, list, n);
    for (int i = 0; i < n && time_for(s, end, 1); i++) {
        combination(s, list[i], choice);
        if (seen(s, choice) < 0)
            try_choice(s, choice);
    }
}

/* From `choice` down to where no value of any one parameter is better, or the time is over. */
static void descend(search_t *s, int *choice, double end)
{
    int order[RT_TUNE_PARAMETERS], value[RT_TUNE_VALUES], unchanged = 0;
    const int start = seen(s, choice);
    double best = start >= 0 && s->trial[start].valid ? s->trial[start].seconds : INFINITY;
    while (unchanged < s->parameters) {
        for (int p = 0; p < s->parameters; p++)
            order[p] = p;
        shuffle(s, order, s->parameters);
        unchanged = 0;
        for (int k = 0; k < s->parameters; k++) {
            const int p = order[k], was = choice[p];
            int next = was;
            for (int v = 0; v < s->values[p]; v++)
                value[v] = v;
            shuffle(s, value, s->values[p]);
            for (int v = 0; v < s->values[p]; v++) {
                choice[p] = value[v];
                if (choice[p] == was || !allowed(s, choice))
                    continue;
                int i = seen(s, choice);
                if (i < 0 && !time_for(s, end, 1)) {
                    choice[p] = next;
                    return;
                }
                i = i < 0 ? try_choice(s, choice) : i;
                if (s->trial[i].valid && s->trial[i].seconds < best) {
                    best = s->trial[i].seconds;
                    next = choice[p];
                }
            }
            choice[p] = next;
            unchanged += next == was;
        }
    }
}

static void search_coordinates(search_t *s, double end)
{
    int choice[RT_TUNE_PARAMETERS];
    s->how = "down the coordinates";
    memcpy(choice, s->trial[0].choice, sizeof choice);
    descend(s, choice, end);
    for (int failed = 0; failed < THROWS && time_for(s, end, 1);) {
        const int before = s->best;
        memcpy(choice, s->trial[before].choice, sizeof choice);
        for (int thrown = 0; thrown < 2; thrown++) {
            const int p = draw(s, s->parameters);
            choice[p] = draw(s, s->values[p]);
        }
        if (allowed(s, choice)) {
            if (seen(s, choice) < 0)
                try_choice(s, choice);
            descend(s, choice, end);
        }
        failed = s->best == before ? failed + 1 : 0;
    }
}

/* --- the finals --- */

static double median(const double *x, int n)
{
    double copy[MOST_ROUNDS];
    memcpy(copy, x, (size_t)n * sizeof *x);
    return rt_median(copy, n);
}

/* Twice the standard error of the median of x, from the median distance to it, and never less than
 * what no measurement is better than. */
static double noise_of(const double *x, int n, double middle)
{
    double away[MOST_ROUNDS];
    for (int i = 0; i < n; i++)
        away[i] = fabs(x[i] - middle);
    return floor_noise + 2 * 1.2533 * 1.4826 * median(away, n) / sqrt(n);
}

/* The valid trials that are not slower than the default, fastest first, at most so many. */
static int finalists(const search_t *s, int most, int *list)
{
    int n = 0;
    for (int i = 1; i < s->n; i++) {
        const trial_t *t = &s->trial[i];
        if (!t->valid || t->seconds > s->trial[0].seconds)
            continue;
        int at = n;
        for (; at > 0 && s->trial[list[at - 1]].seconds > t->seconds; at--)
            if (at < most)
                list[at] = list[at - 1];
        if (at < most)
            list[at] = i;
        n += n < most;
    }
    return n;
}

/* One more time of list[k] for each k; what turns out INVALID is marked so. */
static void play_round(search_t *s, const int *list, int n, int round,
                       double time[FINALISTS + 1][MOST_ROUNDS])
{
    for (int k = 0; k < n; k++) {
        trial_t *t = &s->trial[list[k]], again = *t;
        if (!t->valid)
            continue;
        time_choice(s, &again, 0);
        t->valid = again.valid;
        time[k][round] = again.seconds;
    }
}

/* Leaves the default for the finalist with the least time relative to it, if that is less by more
 * than the noise, and in all rounds but one of four. */
static void judge(search_t *s, const int *list, int n, double time[FINALISTS + 1][MOST_ROUNDS])
{
    double least = 1;
    s->seconds = median(time[0], s->rounds);
    for (int k = 1; k < n; k++) {
        double ratio[MOST_ROUNDS];
        int slower = 0;
        if (!s->trial[list[k]].valid)
            continue;
        for (int r = 0; r < s->rounds; r++) {
            ratio[r] = time[k][r] / time[0][r];
            slower += ratio[r] >= 1;
        }
        const double middle = median(ratio, s->rounds), noise = noise_of(ratio, s->rounds, middle);
        if (middle >= 1 - noise || 4 * slower > s->rounds || middle >= least)
            continue;
        least = middle;
        s->chosen = list[k];
        s->seconds = median(time[k], s->rounds);
        s->gain = 1 / middle;
        s->noise = noise;
    }
}

static void play_finals(search_t *s)
{
    int list[FINALISTS + 1] = {0};
    double time[FINALISTS + 1][MOST_ROUNDS];
    const double left = s->end - clock_of_root();
    const int fit = (int)fmin(FINALISTS, floor(left / fmax(LEAST_ROUNDS * s->cost, 1e-9)) - 1);
    s->chosen = 0;
    s->seconds = s->trial[0].seconds;
    const int n = 1 + finalists(s, fit, list + 1);
    if (n == 1)
        return; /* none, or no time to be sure of anything */
    while (s->rounds < LEAST_ROUNDS || (s->rounds < MOST_ROUNDS && time_for(s, s->end, n)))
        play_round(s, list, n, s->rounds++, time);
    if (s->trial[0].valid)
        judge(s, list, n, time);
    else
        s->chosen = -1;
}

/* --- a rung --- */

static void search_rung(search_t *s)
{
    int choice[RT_TUNE_PARAMETERS] = {0}, count = 0;
    s->begin = clock_of_root();
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
        /* the first trial made what others find made: they are shorter */
        if (list && (time_for(s, end, 0.7 * s->allowed) || s->parameters == 1))
            search_all(s, list, count, end);
        else
            search_coordinates(s, end);
        play_finals(s);
    } else if (s->trial[0].valid) {
        s->chosen = 0;
        s->seconds = s->trial[0].seconds;
    }
    free(list);
    rt_tuning_force(s->run, s->rung, choice); /* the next rung's trials see no half-tuned one */
}

static void print_tried(search_t *s)
{
    rt_text_t text;
    int *order = malloc((size_t)s->n * sizeof *order), n = 0, rows = 0;
    RT_EXPECT(order, RT_MEMORY, "no memory for %d trials", s->n);
    for (int i = 0; i < s->n; i++) { /* insertion: thousands at most, and mostly few */
        int at = s->trial[i].valid ? n : -1;
        if (at < 0)
            continue;
        for (n++; at > 0 && s->trial[order[at - 1]].seconds > s->trial[i].seconds; at--)
            order[at] = order[at - 1];
        order[at] = i;
    }
    rt_table_t *table = rt_table_new("<choice|us|spread|of default|<");
    for (int k = 0; k < n; k++) {
        const trial_t *t = &s->trial[order[k]];
        if (rows >= ROWS && order[k] != 0 && order[k] != s->chosen)
            continue;
        rows++;
        rt_table_cell(table, "%s", text_of(s, order[k], &text));
        rt_table_cell(table, "%.2f", t->seconds * 1e6);
        rt_table_cell(table, "%.1f %%", 100 * t->spread);
        rt_table_cell(table, "%.3f", t->seconds / s->trial[0].seconds);
        rt_table_cell(table, "%s%s%s", order[k] == 0 ? "default" : "",
                      order[k] == 0 && s->chosen == 0 ? ", " : "",
                      order[k] == s->chosen ? "chosen" : "");
        rt_table_row(table);
    }
    printf("\n%s: tried %d of %.0f (%s), %d INVALID\n\n", s->rung->name, s->n, s->allowed, s->how,
           s->invalid);
    rt_table_print(table, stdout);
    rt_table_destroy(table);
    free(order);
}

/* --- all of them --- */

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
                          text_of(&s[i], s[i].chosen, &text));
        }
        rt_table_row(table);
    }
    printf("\ntuned %s; gain: over the default, timed in turns with it\n\n",
           isolated ? "alone, times of a call of the kernel" : "inside the application");
    rt_table_print(table, stdout);
    rt_table_destroy(table);
}

static void json_found(const search_t *s, int n, const char *path, json_t *root)
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
        rt_json_real(row, "combinations", s[i].allowed);
        if (s[i].n == 0 || s[i].chosen < 0)
            continue;
        rt_json_bool(row, "changed", s[i].chosen > 0);
        rt_json_real(row, "seconds", s[i].seconds);
        rt_json_real(row, "gain", s[i].gain);
        rt_json_real(row, "noise", s[i].noise);
        json_t *choice = rt_json_object(row, "choice");
        for (int p = 0; p < s[i].parameters; p++)
            rt_json_text(choice, s[i].parameter[p].name,
                         s[i].parameter[p].values[s[i].trial[s[i].chosen].choice[p]]);
    }
}

static int fill_entries(const rt_run_t *run, const search_t *s, int n, const char *date,
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
static void search_rungs(rt_run_t *run, const rt_tune_plan_t *plan, double end, search_t *s)
{
    double cost = 0; /* of a trial of the rung before */
    for (int i = 0; i < plan->n; i++) {
        const double now = clock_of_root();
        s[i].run = run;
        s[i].plan = plan;
        s[i].rung = plan->rungs[i];
        s[i].slice = fmin(run->opt.seconds, run->opt.tune_seconds / 40);
        s[i].random = (uint64_t)(plan->rungs[i] - run->app->ladder);
        s[i].end = now + (end - now) / (plan->n - i);
        if (i > 0 && now + cost > end)
            continue;
        search_rung(&s[i]);
        cost = s[i].cost;
        if (rt_comm_rank() == 0 && !run->opt.quiet && s[i].parameters > 0)
            print_tried(&s[i]);
    }
}

rt_status_t rt_tune_search(rt_run_t *run, const rt_tune_plan_t *plan, json_t *root)
{
    const int n = plan->n;
    double end = plan->begin + run->opt.tune_seconds;
    const char *path = rt_tuning_target(run);
    search_t *s = calloc((size_t)n, sizeof *s);
    rt_tune_entry_t *entry = calloc((size_t)n, sizeof *entry);
    char date[DATE];
    const time_t now = time(NULL);
    bool valid = true;
    RT_EXPECT(s && entry, RT_MEMORY, "no memory to tune %d rungs", n);
    rt_comm_bcast(&end, sizeof end, 0);
    strftime(date, sizeof date, "%Y-%m-%dT%H:%M:%SZ", gmtime(&now));
    search_rungs(run, plan, end, s);
    const bool written = rt_tuning_adopt(run, entry, fill_entries(run, s, n, date, entry));
    if (rt_comm_rank() == 0) {
        print_found(s, n, run->opt.isolated);
        if (*path && written)
            printf("\nwritten to %s\n", path);
        if (root)
            json_found(s, n, path, root);
    }
    for (int i = 0; i < n; i++) {
        valid = valid && s[i].invalid == 0;
        free(s[i].trial);
    }
    free(s);
    free(entry);
    return !valid ? RT_INVALID : written ? RT_OK : RT_ENVIRONMENT;
}
