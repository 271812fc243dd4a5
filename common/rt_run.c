/*
 * rt_run.c - one rung from set-up to verdict. Correct first, then fast: nothing is timed before it
 * was verified, and what the timed run left behind is verified again.
 */
#include "config.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "rt.h"
#include "rt_driver.h"

enum { MOST_WINDOWS = 64 };

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Seconds of one solve. What it should write is made unusable first, outside the timed part, so
 * that a solve that does nothing leaves nothing. The slowest rank counts. */
static double timed_solve(const rt_app_t *app, void *solver)
{
    app->spoil(solver);
    double begin = rt_window_begin();
    app->solve(solver);
    double seconds = rt_window_end(begin);
    rt_comm_max(&seconds, 1);
    return seconds;
}

/* Warm-up, then windows of whole solves; fills the outcome's times. */
static void time_rung(const rt_run_t *run, void *solver, rt_outcome_t *out)
{
    const rt_app_t *app = run->app;
    double one = timed_solve(app, solver), warm = one;
    for (double least = 0.2 * run->opt.seconds; warm < least;)
        warm += one = timed_solve(app, solver);

    double windows[MOST_WINDOWS] = {0};
    int n = (int)run->opt.windows;
    int solves = (int)fmax(1, ceil(run->opt.seconds / n / fmax(one, 1e-9)));
    for (int i = 0; i < n; i++) {
        windows[i] = 0;
        for (int k = 0; k < solves; k++)
            windows[i] += timed_solve(app, solver);
        windows[i] /= solves * out->work.units;
    }
    qsort(windows, (size_t)n, sizeof *windows, compare);
    out->seconds_per_unit = n % 2 ? windows[n / 2] : (windows[n / 2 - 1] + windows[n / 2]) / 2;
    out->spread = (windows[n - 1] - windows[0]) / out->seconds_per_unit;
    out->windows = n;
    out->solves = n * solves;
}

/* One more solve with the timers on, to say where the time went. */
static void profile_rung(const rt_run_t *run, void *solver, const rt_outcome_t *out)
{
    rt_timer_reset();
    rt_timer_enable(true);
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
}

void rt_run_rung(const rt_run_t *run, void *problem, const rt_rung_t *rung, rt_outcome_t *out,
                 json_t *extra)
{
    const rt_app_t *app = run->app;
    memset(out, 0, sizeof *out);
    out->rung = rung;
    rt_verdict_clear(&out->verdict);
    app->work(run, rung, &out->work);
    app->memory(run, rung, out->predicted);

    void *solver = app->solver_new(problem, rung);
    /* A seed of its own for each rung and run, so that no kernel can be right by heart. */
    uint64_t seed = rt_hash((uint64_t)(rung - app->ladder), (uint64_t)run->opt.seed + 1);
    app->verify_before(solver, seed, &out->verdict);
    if (run->opt.seconds > 0 && out->verdict.valid) {
        time_rung(run, solver, out);
    } else {
        app->spoil(solver);
        app->solve(solver);
    }
    app->verify_after(solver, &out->verdict);
    if (app->work_done)
        app->work_done(solver, &out->work);
    if (run->opt.profile)
        profile_rung(run, solver, out);
    if (run->opt.picture && app->picture)
        app->picture(solver, run->opt.picture);
    if (extra && app->result)
        app->result(solver, extra);
    app->solver_destroy(solver);
    for (int s = 0; s < RT_SPACES; s++)
        out->high_water[s] = (double)rt_mem_high_water((rt_space_t)s);
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
    run->app->configure(run, 0);
}

void rt_run_destroy(rt_run_t *run)
{
    free(run->config);
    run->config = NULL;
}

void rt_run_assign(rt_run_t *run, const char *settings)
{
    rt_opt_set_t sets[RT_OPTION_SETS];
    rt_run_option_sets(run, sets);
    char *copy = strdup(settings ? settings : ""), *rest = copy;
    RT_EXPECT(copy, RT_MEMORY, "no memory for the settings '%s'", settings);
    for (char *word; (word = strtok_r(rest, " ", &rest));) {
        char *value = strchr(word, '=');
        RT_EXPECT(value, RT_USAGE, "'%s' in settings '%s' is not name=value", word, settings);
        *value++ = 0;
        rt_opt_assign(sets, RT_OPTION_SETS, word, value, settings);
    }
    free(copy);
}
