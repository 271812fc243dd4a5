/*
 * driver/rung.c - one rung from set-up to verdict. Correct first, then fast: nothing is timed
 * before it was verified, and what the timed run left behind is verified again. Then the machine is
 * judged: could it have been so fast, and was it left alone?
 */
#include "config.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "base/progress.h"
#include "driver/job.h"
#include "io/json.h"
#include "machine/comm.h"
#include "machine/timer.h"
#include "measure/plausible.h"

/* Sets up the rung, and verifies it before anything is timed but the set-up. */
static void *begin_rung(const rt_run_t *run, void *problem, const rt_rung_t *rung, bool timed,
                        rt_outcome_t *out)
{
    const rt_app_t *app = run->app;
    memset(out, 0, sizeof *out);
    out->rung = rung;
    rt_verdict_clear(&out->verdict);
    app->work(run, rung, &out->work);
    app->memory(run, rung, out->predicted);

    rt_progress("verifying %s", rung->name);
    /* Each rung and run has its own seed, so that no kernel can know the answer beforehand. */
    uint64_t seed = rt_hash((uint64_t)(rung - app->ladder), (uint64_t)run->opt.seed + 1);
    out->draw_seed = seed ^ (uint64_t)(rt_clock() * 1e9); /* other inputs in every run */
    rt_comm_bcast(&out->draw_seed, sizeof out->draw_seed, 0);
    void *solver = rt_time_setup(app, problem, rung, timed, out);
    rt_dump_t dump;
    if (run->opt.dump) {
        rt_dump_arrays(run, solver, NULL, &dump);
        rt_dump_end(&dump);
    }
    const double begin = rt_clock();
    app->verify_before(solver, seed, &out->verdict);
    out->judge_seconds = rt_clock() - begin;
    return solver;
}

/* Solves the problem itself without timing, after the timed solves, if there were any; the outputs
 * are made unusable first. */
static void solve_problem(const rt_app_t *app, void *solver, rt_keep_t keep)
{
    app->spoil(solver, 0, keep);
    rt_traffic_take();
    app->solve(solver);
}

/* Judges what the solves left behind. */
static void judge_left(const rt_app_t *app, void *solver, rt_outcome_t *out)
{
    const double begin = rt_clock();
    app->verify_after(solver, &out->verdict);
    out->judge_seconds += rt_clock() - begin;
}

/* Adds what all ranks sent in the last solve, per unit. Collective. */
static void take_traffic(rt_outcome_t *out, rt_traffic_t solve)
{
    double sum[2] = {solve.within, solve.between};
    rt_comm_sum(sum, 2);
    out->sent = (rt_traffic_t){sum[0] / out->work.units, sum[1] / out->work.units};
}

/* Asks the app for the result of the last solve. */
static void take_result(const rt_app_t *app, const void *solver, rt_outcome_t *out, json_t *extra)
{
    const rt_extras_t *extras = rt_app_extras(app);
    rt_result_t result = {.work = &out->work, .json = extra};
    if (extras->result)
        extras->result(solver, &result);
    out->line = result.line;
    out->precision = result.precision;
    out->kernel_seconds = result.kernel_seconds;
}

/* Returns what the rung seems to have done on each rank. */
static rt_claim_t claim_of(const rt_outcome_t *out)
{
    const rt_work_t *work = &out->work;
    const double rank_seconds = out->seconds_per_unit * rt_comm_size();
    const size_t cpu_least = (size_t)rt_device_cpu()->threads << 20, gpu_least = (size_t)4 << 20;
    return (rt_claim_t){.bytes = rt_work_bytes(work) / rank_seconds,
                        .flops = rt_work_flops(work) / rank_seconds,
                        .arithmetic = work->arithmetic,
                        .touched = (size_t)rt_work_touched(work) / (size_t)rt_comm_size(),
                        .least = rt_rung_processor(out->rung) == RT_CPU ? cpu_least : gpu_least};
}

/* Judges whether the machine could have done that. Measures a rung that seems too fast again, and
 * the ceilings with it; one that is out of reach only twice. */
static void judge_plausible(const rt_app_t *app, void *solver, const rt_plan_t *plan,
                            rt_meter_t *meter, rt_outcome_t *out)
{
    enum { TRIES = 4, OUT_OF_REACH = 100 }; /* no cache and no noise explains that share */
    static const double seconds[TRIES] = {0.05, 0.15, 0.5, 0.5};
    static const size_t largest_cache = (size_t)64 << 20;
    rt_claim_t claim = claim_of(out);
    out->ceilings = *rt_meter_best(meter);
    if (rt_bandwidth_ceiling(&out->ceilings) <= 0)
        return;
    double share = rt_share_of(&claim, &out->ceilings, NULL);
    for (int go = 0; share > RT_MOST_SHARE && go < (share < OUT_OF_REACH ? TRIES : 2); go++) {
        /* Part of what fits one cache may fit the next, which is faster. */
        const size_t part = claim.touched < largest_cache ? claim.touched >> 2 * go : claim.touched;
        const size_t set = part > claim.least ? part : claim.least;
        rt_ceilings_t again;
        rt_ceiling_measure(out->ceilings.kind, set, seconds[go], &again);
        rt_meter_learn(meter, &again);
        out->again = go ? rt_ceilings_best(&out->again, &again) : again;
        rt_time_again(app, solver, plan, seconds[go], meter, out);
        claim = claim_of(out);
        out->ceilings = *rt_meter_best(meter);
        share = rt_share_of(&claim, &out->ceilings, &out->again);
        rt_comm_max(&share, 1); /* ranks with less memory measure over less */
    }
    const double spread = fmax(out->ceilings.spread, out->ceilings.fma_spread);
    const bool steady = rt_steady(&out->unrest) && spread <= RT_MOST_SLOWED;
    if (share > RT_MOST_SHARE && !steady)
        out->unrest.share = share;
    else
        rt_verdict_check(&out->verdict, "plausible: at most 102 % of the measured ceiling", share,
                         RT_MOST_SHARE);
}

static void note_memory(rt_outcome_t *out)
{
    for (int s = 0; s < RT_SPACES; s++)
        out->high_water[s] = fmax(out->high_water[s], (double)rt_mem_high_water((rt_space_t)s));
}

void rt_run_rung(const rt_run_t *run, void *problem, const rt_rung_t *rung, rt_meter_t *meter,
                 rt_outcome_t *out, json_t *extra)
{
    const rt_app_t *app = run->app;
    rt_dump_t dump;
    const rt_plan_t plan = rt_plan_of(&run->opt);
    void *solver = begin_rung(run, problem, rung, plan.seconds > 0, out);
    const bool timed = plan.seconds > 0 && out->verdict.valid;
    rt_progress("timing %s", rung->name);
    if (timed)
        rt_time_rung(app, solver, &plan, meter, out);
    solve_problem(app, solver, timed ? RT_KEEP_LAST : RT_KEEP_NOTHING);
    const rt_traffic_t sent = rt_traffic_take();
    if (run->opt.dump) /* now, for some judges work in the arrays that they have judged */
        rt_dump_arrays(run, solver, run->opt.dump, &dump);
    rt_progress("verifying what %s left behind", rung->name);
    judge_left(app, solver, out);
    if (run->opt.dump)
        rt_dump_index(run, out, &dump);
    take_result(app, solver, out, extra);
    take_traffic(out, sent);
    note_memory(out);
    if (timed && meter && out->verdict.valid) {
        judge_plausible(app, solver, &plan, meter, out);
        rt_mem_reset_high_water();    /* the arrays of the ceilings are not the rung's */
        if (out->again.samples > 0) { /* it was timed again */
            solve_problem(app, solver, RT_KEEP_LAST);
            judge_left(app, solver, out);
        }
    }
    if (run->opt.profile)
        rt_profile_rung(run, solver, out, extra);
    if (run->opt.picture && rt_app_extras(app)->picture)
        rt_app_extras(app)->picture(solver, run->opt.picture);
    app->solver_destroy(solver);
    note_memory(out);
}

bool rt_run_attempt(const rt_run_t *run, void *problem, const rt_rung_t *rung,
                    const rt_trial_t *trial, rt_outcome_t *out)
{
    const rt_app_t *app = run->app;
    const rt_plan_t plan = rt_plan_trial(trial->seconds, trial->give_up);
    rt_text_t why;
    if (rt_run_obstacle(run, rung, false, &why))
        return false;
    void *solver = begin_rung(run, problem, rung, false, out);
    if (out->verdict.valid && !trial->isolated) {
        rt_time_rung(app, solver, &plan, NULL, out);
    } else if (out->verdict.valid) {
        solve_problem(app, solver, RT_KEEP_NOTHING); /* so that the kernel has data of a solve */
        rt_time_isolated(app, solver, &plan, out);
    }
    solve_problem(app, solver, RT_KEEP_NOTHING);
    judge_left(app, solver, out);
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
    rt_opt_parse(sets, RT_OPTION_SETS, 1, argv, NULL);
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
