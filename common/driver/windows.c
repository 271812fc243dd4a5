/*
 * driver/windows.c - how a rung is timed: warm-up, then sets of windows until one is steady. Between
 * the windows the ceilings are sampled, so that both are measured on the same machine at the same
 * time.
 */
#include "config.h"
#include <math.h>
#include <string.h>
#include "base/numbers.h"
#include "driver/job.h"
#include "machine/comm.h"
#include "machine/timer.h"

#define WARM_UP  0.2  /* as a share of the time of all windows */
#define PATIENCE 4    /* windows may take this many times the seconds that were asked for */
#define AGAIN    2    /* sets are repeated until they took this many times as long as that */
#define SAMPLING 0.02 /* of a window, at most, is spent on a sample of the ceilings */
#define IDLE     20   /* seconds of windows, at least, that are worth measuring the idle power */

enum { MOST_SETS = 3 };
static const double short_set = 1; /* seconds; a set that is shorter is doubled if it is unsteady */

rt_plan_t rt_plan_of(const rt_options_t *opt)
{
    rt_plan_t plan = {.seconds = opt->seconds, .window = opt->window, .windows = (int)opt->windows};
    if (plan.seconds > 0 && plan.window > 0)
        plan.seconds = plan.window * plan.windows;
    plan.warm_up = opt->warm_up > 0 ? opt->warm_up : WARM_UP * plan.seconds;
    plan.metered = opt->power != NULL;
    return plan;
}

rt_plan_t rt_plan_trial(double seconds, double give_up)
{
    enum { TRIAL_WINDOWS = 3 };
    return (rt_plan_t){.warm_up = WARM_UP * seconds,
                       .seconds = seconds,
                       .windows = TRIAL_WINDOWS,
                       .give_up = give_up,
                       .trial = true};
}

typedef struct {
    double seconds; /* of the solve */
    double cost;    /* with what comes before it */
} solve_t;

/* Returns a number that no rung can know beforehand, for the next input. */
static uint64_t next_draw(rt_outcome_t *out)
{
    return rt_hash(++out->draws, out->draw_seed) | 1; /* 0 is the problem's own input */
}

/* Returns the times of one solve on the slowest rank. Outside the timed part, its outputs are made
 * unusable, so that a solve that does nothing leaves nothing, and it gets an input of its own, so
 * that what an earlier one left is wrong. Ranks take different times for that, so they begin
 * together: else the solve would include waiting for the last one. */
static solve_t timed_solve(const rt_app_t *app, void *solver, rt_outcome_t *out)
{
    const double first = rt_clock();
    app->spoil(solver, next_draw(out), out->keep);
    out->keep = RT_KEEP_NOTHING;
    rt_device_synchronize();
    rt_comm_barrier();
    const double begin = rt_window_begin();
    app->solve(solver);
    double both[] = {rt_window_end(begin), 0};
    both[1] = rt_clock() - first;
    rt_comm_max(both, 2);
    out->least_seconds = out->least_seconds > 0 ? fmin(out->least_seconds, both[1]) : both[1];
    return (solve_t){both[0], both[1]};
}

void *rt_time_setup(const rt_app_t *app, void *problem, const rt_rung_t *rung, bool first,
                    rt_outcome_t *out)
{
    rt_comm_barrier();
    rt_setup_take(); /* what judges charged */
    const double begin = rt_window_begin();
    void *solver = app->solver_new(problem, rung);
    out->setup_seconds = rt_window_end(begin) + rt_setup_take();
    rt_comm_max(&out->setup_seconds, 1);
    out->early_seconds = first ? timed_solve(app, solver, out).cost : 0;
    return solver;
}

double rt_outcome_fom(const rt_outcome_t *out, int solves)
{
    const double share = solves ? out->setup_seconds / (solves * out->work.units) : 0;
    return out->work.flops / (out->seconds_per_unit + share);
}

static bool is_hopeless(const rt_plan_t *plan, solve_t one, const rt_outcome_t *out)
{
    return plan->give_up > 0 && one.seconds > plan->give_up * out->work.units;
}

/* Computes median and spread of the first n windows; the windows keep their order. */
static void judge_windows(int n, int solves, rt_outcome_t *out)
{
    double sorted[RT_MAX_WINDOWS];
    memcpy(sorted, out->window_seconds, (size_t)n * sizeof *sorted);
    out->seconds_per_unit = rt_median(sorted, n);
    out->unrest.spread = (sorted[n - 1] - sorted[0]) / out->seconds_per_unit;
    out->windows = n;
    out->solves = solves;
}

/* Samples the ceilings. On a CPU the lowest rates count: cores that other work slows down slow the
 * windows beside that moment too. A GPU is not shared, and may be slower for a moment because it is
 * hot: there the highest count. */
static void take_sample(rt_meter_t *meter, rt_outcome_t *out)
{
    const bool on_cpu = rt_rung_processor(out->rung) == RT_CPU;
    double (*const of)(double, double) = on_cpu ? fmin : fmax;
    rt_sample_t *now = &out->sampled, *near = &out->nearby;
    rt_meter_sample(meter, now);
    for (int k = 0; k < RT_SAMPLED; k++)
        near->rate[k] = of(near->rate[k], now->rate[k]);
}

/* Returns which solve of window i, that has about n, is put aside to be judged; n: none. Windows may
 * end early, so each draws anew, and replaces an earlier one with the probability that makes all
 * windows equal. */
static int sampled_solve(int i, int n, rt_outcome_t *out)
{
    const uint64_t random = next_draw(out);
    return random / 2 % (uint64_t)(i + 1) == 0 ? (int)(rt_hash(0, random) % (uint64_t)n) : n;
}

/* Times one window of at least that number of solves, and returns how many they were. */
static int time_window(const rt_app_t *app, void *solver, const rt_plan_t *plan, int least,
                       int sample, double *seconds, rt_outcome_t *out)
{
    int k = 0;
    for (*seconds = 0; k < least || *seconds < plan->window; k++) {
        *seconds += timed_solve(app, solver, out).seconds;
        if (k == sample)
            out->keep = RT_KEEP_SAMPLE;
    }
    return k;
}

/* Times a set of windows of whole solves, each about `one` seconds long; fills the outcome's times,
 * its energy and its unrest. */
static void time_set(const rt_app_t *app, void *solver, const rt_plan_t *plan, solve_t one,
                     rt_meter_t *meter, rt_outcome_t *out)
{
    const rt_kind_t processor = rt_rung_processor(out->rung);
    const bool hopeless = is_hopeless(plan, one, out);
    const int n = hopeless ? 1 : plan->windows;
    const double share = plan->seconds / n;
    const double solves_wanted = fmin(1e9, fmin(share / one.seconds, PATIENCE * share / one.cost));
    const int least = hopeless || plan->window > 0 ? 1 : (int)fmax(1, ceil(solves_wanted));
    const int about = (int)fmax(least, fmin(1e9, floor(plan->window / one.seconds)));
    /* A rung whose first windows take this long gets no more of them. Otherwise the plain loop at
     * the foot of a ladder would take minutes. */
    const double most = plan->window > 0 ? INFINITY : PATIENCE * plan->seconds;
    int solves = 0, i = 0;
    rt_plan_t now = *plan;
    if (hopeless)
        now.window = 0;
    out->timed_seconds = 0;
    out->nearby = out->sampled; /* what came just before the set */
    rt_energy_start();
    rt_watch_start(processor);
    for (; i < n && (i == 0 || out->timed_seconds < most); i++) {
        double window;
        const int sample = plan->trial ? about : sampled_solve(i, about, out);
        const int k = time_window(app, solver, &now, least, sample, &window, out);
        out->window_seconds[i] = window / (k * out->work.units);
        out->timed_seconds += window;
        solves += k;
        if (meter && i + 1 < n && out->sampled.seconds < SAMPLING * window) {
            take_sample(meter, out);
            timed_solve(app, solver, out); /* not counted: it warms the caches again */
        }
    }
    rt_watch_stop(&out->watch);
    rt_energy_stop(&out->energy);
    judge_windows(i, solves, out);
    if (meter) {
        take_sample(meter, out);
        out->unrest.slowed = rt_meter_slowed(meter, &out->nearby);
    }
    out->unrest.waited = processor == RT_CPU ? out->watch.waited : 0;
    out->unrest.stolen = processor == RT_CPU ? out->watch.stolen : 0;
}

void rt_time_rung(const rt_app_t *app, void *solver, const rt_plan_t *plan, rt_meter_t *meter,
                  rt_outcome_t *out)
{
    const bool counted = rt_energy_open(rt_rung_processor(out->rung), RT_POWERCAP);
    if ((counted || plan->metered) && plan->seconds >= IDLE) /* later it would undo the warm-up */
        rt_energy_idle();
    solve_t one = timed_solve(app, solver, out);
    const bool hopeless = is_hopeless(plan, one, out);
    out->early_seconds += one.cost;
    if (meter)
        rt_meter_sample(meter, &out->sampled);
    out->warm_up_seconds = one.seconds;
    for (double spent = one.cost;
         out->warm_up_seconds < plan->warm_up && spent < PATIENCE * plan->warm_up && !hopeless;
         spent += one.cost) {
        one = timed_solve(app, solver, out);
        out->warm_up_seconds += one.seconds;
    }

    rt_plan_t now = *plan;
    double spent = 0;
    for (int set = 1;; set++) {
        time_set(app, solver, &now, one, meter, out);
        spent += out->timed_seconds;
        if (now.window == 0 && now.seconds < short_set)
            now.seconds = fmin(2 * now.seconds, short_set);
        if (!meter || rt_steady(&out->unrest) || set == MOST_SETS ||
            spent >= fmax(AGAIN * PATIENCE * plan->seconds, short_set))
            break;
    }
    out->setup_seconds += out->early_seconds - 2 * out->least_seconds;
}

void rt_time_again(const rt_app_t *app, void *solver, const rt_plan_t *plan, double seconds,
                   rt_meter_t *meter, rt_outcome_t *out)
{
    rt_plan_t longer = *plan;
    longer.seconds = fmax(longer.seconds, seconds);
    timed_solve(app, solver, out); /* which waits for cores that the ceilings had */
    time_set(app, solver, &longer, timed_solve(app, solver, out), meter, out);
}

/* Returns the seconds of that number of calls of the kernel alone, on the slowest rank. */
static double timed_calls(const rt_app_t *app, void *solver, int calls)
{
    double seconds = app->extras->isolated(solver, calls);
    rt_comm_max(&seconds, 1);
    return seconds;
}

void rt_time_isolated(const rt_app_t *app, void *solver, const rt_plan_t *plan, rt_outcome_t *out)
{
    const int n = plan->windows;
    int calls = 1;
    double took = timed_calls(app, solver, calls);
    while (took < plan->warm_up && calls < 1 << 24)
        took = timed_calls(app, solver, calls *= 2);
    calls = (int)fmax(1, ceil(plan->seconds / n / fmax(took / calls, 1e-9)));
    for (int i = 0; i < n; i++)
        out->window_seconds[i] = timed_calls(app, solver, calls) / calls;
    judge_windows(n, n * calls, out);
}
