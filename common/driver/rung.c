/*
 * driver/rung.c - one rung from set-up to verdict. Correct first, then fast: nothing is timed
 * before it was verified, and what the timed run left behind is verified again.
 */
#include "config.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "base/stats.h"
#include "driver/job.h"
#include "machine/comm.h"
#include "machine/kernels.h"
#include "machine/timer.h"

enum { TRIAL_WINDOWS = 3 };
#define WARM_UP  0.2 /* as a share of the time of all windows */
#define PATIENCE 4   /* windows may take this many times the seconds that were asked for */

/* Returns the seconds of one solve on the slowest rank. Its outputs are made unusable first,
 * outside the timed part, so that a solve that does nothing leaves nothing. */
static double timed_solve(const rt_app_t *app, void *solver)
{
    app->spoil(solver);
    double begin = rt_window_begin();
    app->solve(solver);
    double seconds = rt_window_end(begin);
    rt_comm_max(&seconds, 1);
    return seconds;
}

/* Computes median and spread of the first n windows; the windows keep their order. */
static void judge_windows(int n, int solves, rt_outcome_t *out)
{
    double sorted[RT_MAX_WINDOWS];
    memcpy(sorted, out->window_seconds, (size_t)n * sizeof *sorted);
    out->seconds_per_unit = rt_median(sorted, n);
    out->spread = (sorted[n - 1] - sorted[0]) / out->seconds_per_unit;
    out->windows = n;
    out->solves = solves;
}

/* How long a rung is timed. */
typedef struct {
    double warm_up; /* least seconds before the first window */
    double seconds; /* of all windows together, about */
    double window;  /* least length of one window; 0: it follows from `seconds` */
    int windows;
    double give_up; /* one window with one solve, if a unit takes longer; 0: never */
} plan_t;

/* Plans what the options ask for. --seconds 0 times nothing, whatever --window says. */
static plan_t plan_of(const rt_options_t *opt)
{
    plan_t plan = {.seconds = opt->seconds, .window = opt->window, .windows = (int)opt->windows};
    if (plan.seconds > 0 && plan.window > 0)
        plan.seconds = plan.window * plan.windows;
    plan.warm_up = opt->warm_up > 0 ? opt->warm_up : WARM_UP * plan.seconds;
    return plan;
}

/* Runs the warm-up, then windows of whole solves; fills the outcome's times and its energy. */
static void time_rung(const rt_app_t *app, void *solver, const plan_t *plan, rt_outcome_t *out)
{
    rt_energy_open(rt_rung_processor(out->rung)); /* later it would undo the warm-up */
    double one = timed_solve(app, solver);
    out->warm_up_seconds = one;
    const bool hopeless = plan->give_up > 0 && one > plan->give_up * out->work.units;
    while (out->warm_up_seconds < plan->warm_up && !hopeless)
        out->warm_up_seconds += one = timed_solve(app, solver);

    const int n = hopeless ? 1 : plan->windows;
    const int least =
        hopeless || plan->window > 0 ? 1 : (int)fmax(1, ceil(plan->seconds / n / fmax(one, 1e-9)));
    /* A rung whose first windows take this long gets no more of them. Otherwise the plain loop at
     * the foot of a ladder would take minutes. */
    const double most = plan->window > 0 ? INFINITY : PATIENCE * plan->seconds;
    int solves = 0, i = 0;
    rt_energy_start();
    for (; i < n && (i == 0 || out->timed_seconds < most); i++) {
        double window = 0;
        int k = 0;
        for (; k < least || (window < plan->window && !hopeless); k++)
            window += timed_solve(app, solver);
        out->window_seconds[i] = window / (k * out->work.units);
        out->timed_seconds += window;
        solves += k;
        rt_energy_sample();
    }
    rt_energy_stop(&out->energy);
    judge_windows(i, solves, out);
}

/* Returns the seconds of so many calls of the kernel alone, on the slowest rank. */
static double timed_calls(const rt_app_t *app, void *solver, int calls)
{
    double seconds = app->extras->isolated(solver, calls);
    rt_comm_max(&seconds, 1);
    return seconds;
}

/* Times the kernel alone; a unit is a call. */
static void time_isolated(const rt_app_t *app, void *solver, double seconds, int n,
                          rt_outcome_t *out)
{
    int calls = 1;
    double took = timed_calls(app, solver, calls);
    while (took < 0.2 * seconds && calls < 1 << 24)
        took = timed_calls(app, solver, calls *= 2);
    calls = (int)fmax(1, ceil(seconds / n / fmax(took / calls, 1e-9)));
    for (int i = 0; i < n; i++)
        out->window_seconds[i] = timed_calls(app, solver, calls) / calls;
    judge_windows(n, n * calls, out);
}

/* Solves with the timers on, to say where the time went, and in which kernels. */
static void profile_rung(const rt_run_t *run, void *solver, const rt_outcome_t *out)
{
    /* The first solve absorbs one-time costs, and the barrier lines the ranks up: otherwise the
     * first messages would include waiting for a late rank. */
    rt_timer_enable(true);
    run->app->solve(solver);
    rt_timer_reset();
    rt_comm_barrier();
    rt_timer_start(out->rung->name, out->rung->kind);
    run->app->solve(solver);
    rt_timer_stop(out->rung->name);
    rt_timer_enable(false);
    for (int i = 0; i < out->work.n; i++) { /* the work model counts all ranks together */
        const rt_work_line_t *line = &out->work.line[i];
        rt_timer_credit(line->kernel, (line->read + line->written) / rt_comm_size(),
                        line->flops / rt_comm_size());
    }
    rt_timer_print(stdout, run->bandwidth);
    if (rt_comm_rank() == 0)
        rt_kernels_print(stdout);
}

/* Sets up the rung, and verifies it before anything is timed. */
static void *begin_rung(const rt_run_t *run, void *problem, const rt_rung_t *rung,
                        rt_outcome_t *out)
{
    const rt_app_t *app = run->app;
    memset(out, 0, sizeof *out);
    out->rung = rung;
    rt_verdict_clear(&out->verdict);
    app->work(run, rung, &out->work);
    app->memory(run, rung, out->predicted);

    rt_kernels_clear();
    void *solver = app->solver_new(problem, rung);
    /* Each rung and run has its own seed, so that no kernel can know the answer beforehand. */
    uint64_t seed = rt_hash((uint64_t)(rung - app->ladder), (uint64_t)run->opt.seed + 1);
    app->verify_before(solver, seed, &out->verdict);
    return solver;
}

/* Solves once without timing; the outputs are made unusable first. */
static void solve_once(const rt_app_t *app, void *solver)
{
    app->spoil(solver);
    app->solve(solver);
}

/* Asks the app for the result of the last solve. */
static void take_result(const rt_app_t *app, const void *solver, rt_outcome_t *out, json_t *extra)
{
    const rt_extras_t *extras = rt_app_extras(app);
    rt_result_t result = {.work = &out->work, .json = extra};
    if (extras->result)
        extras->result(solver, &result);
    out->line = result.line;
}

void rt_run_rung(const rt_run_t *run, void *problem, const rt_rung_t *rung, rt_outcome_t *out,
                 json_t *extra)
{
    const rt_app_t *app = run->app;
    void *solver = begin_rung(run, problem, rung, out);
    const plan_t plan = plan_of(&run->opt);
    rt_kernels_mark();
    if (plan.seconds > 0 && out->verdict.valid)
        time_rung(app, solver, &plan, out);
    else
        solve_once(app, solver);
    if (extra)
        rt_kernels_json(extra);
    app->verify_after(solver, &out->verdict);
    take_result(app, solver, out, extra);
    if (run->opt.profile)
        profile_rung(run, solver, out);
    if (run->opt.picture && rt_app_extras(app)->picture)
        rt_app_extras(app)->picture(solver, run->opt.picture);
    app->solver_destroy(solver);
    for (int s = 0; s < RT_SPACES; s++)
        out->high_water[s] = (double)rt_mem_high_water((rt_space_t)s);
}

bool rt_run_attempt(const rt_run_t *run, void *problem, const rt_rung_t *rung,
                    const rt_trial_t *trial, rt_outcome_t *out)
{
    const rt_app_t *app = run->app;
    rt_text_t why;
    if (rt_run_obstacle(run, rung, false, &why))
        return false;
    void *solver = begin_rung(run, problem, rung, out);
    if (out->verdict.valid && !trial->isolated) {
        const plan_t plan = {.warm_up = WARM_UP * trial->seconds,
                             .seconds = trial->seconds,
                             .windows = TRIAL_WINDOWS,
                             .give_up = trial->give_up};
        time_rung(app, solver, &plan, out);
    } else {
        solve_once(app, solver); /* so that the kernel alone has data of a solve */
        if (out->verdict.valid)
            time_isolated(app, solver, trial->seconds, TRIAL_WINDOWS, out);
        solve_once(app, solver);
    }
    app->verify_after(solver, &out->verdict);
    take_result(app, solver, out, NULL);
    app->solver_destroy(solver);
    return true;
}

/* --- a run without a command line --- */

void rt_run_init(rt_run_t *run, const rt_app_t *app, const char *settings)
{
    memset(run, 0, sizeof *run);
    run->app = app;
    run->config = calloc(1, app->config_size);
    rt_opt_set_t sets[RT_OPTION_SETS];
    char name[] = "test";
    char *argv[] = {name, NULL};
    rt_run_option_sets(run, sets);
    rt_opt_parse(sets, RT_OPTION_SETS, 1, argv);
    rt_run_assign(run, settings);
    rt_tuning_new(run);
    rt_tuning_check(run);
    if (run->opt.tuning) /* only if named: a test must not depend on this user's own tuning file */
        rt_tuning_read(run);
    rt_run_configure(run);
}

void rt_run_destroy(rt_run_t *run)
{
    rt_input_destroy(run);
    rt_tuning_destroy(run);
    free(run->config);
    run->config = NULL;
}

void rt_run_configure(rt_run_t *run)
{
    rt_input_destroy(run);
    run->app->configure(run);
    rt_tuning_resolve(run);
}
