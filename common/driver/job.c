/* driver/job.c - the job: one problem, and rung after rung on it. */
#include "config.h"
#include <math.h>
#include <stdlib.h>
#include "base/progress.h"
#include "driver/job.h"
#include "io/json.h"
#include "machine/comm.h"
#include "base/mem.h"
#include "machine/timer.h"

static bool is_root(void)
{
    return rt_comm_rank() == 0;
}

/* Makes the meters of the processors in use. They leave room for the problem, which comes later. */
static void open_meters(rt_job_t *job)
{
    static const rt_kind_t kinds[] = {RT_CPU, RT_CUDA};
    const rt_run_t *run = job->run;
    const rt_app_t *app = run->app;
    double need[RT_SPACES] = {0}, bytes[RT_SPACES];
    for (int i = 0; i < app->n_rungs; i++) {
        if (!job->chosen[i])
            continue;
        app->memory(run, &app->ladder[i], bytes);
        for (int s = 0; s < RT_SPACES; s++)
            need[s] = fmax(need[s], bytes[s]);
    }
    rt_work_t work;
    app->work(run, &app->ladder[0], &work);
    for (int k = 0; k < 2; k++) {
        const rt_space_t space = kinds[k] == RT_CUDA ? RT_DEVICE : RT_HOST;
        const double room = (double)rt_mem_available(space) - need[space] * rt_comm_local_size();
        const double set = fmin(work.array_bytes * work.distinct_arrays, fmax(0, room / 2));
        const double seconds = fmin(0.5, (k == 1 ? 1 : 0.2) * run->opt.seconds);
        if (job->used[k])
            job->meter[k] = rt_meter_new(kinds[k], (size_t)set, seconds);
    }
}

static rt_meter_t *meter_of(const rt_job_t *job, const rt_rung_t *rung)
{
    return job->meter[rt_rung_processor(rung) == RT_CUDA];
}

/* Prints the heading of a rung, and its parameters. */
static void print_heading(const rt_run_t *run, const rt_rung_t *rung)
{
    if (!run->opt.quiet)
        printf("\n%s (%s): %s\n", rung->name, rt_kind_name(rung->kind), rung->idea);
    rt_tuning_print_rung(run, rung, run->opt.quiet, stdout);
}

/* Prints what was checked, and what else is to say of a rung. */
static void print_details(const rt_run_t *run, const rt_outcome_t *out)
{
    if (run->opt.quiet && out->verdict.valid)
        return;
    rt_verdict_print(&out->verdict, stdout);
    printf("judged        in %.2g s, set up in %.3g s\n", out->judge_seconds, out->setup_seconds);
    if (*out->line.text)
        printf("solve         %s\n", out->line.text);
    rt_print_memory(out);
    rt_print_traffic(out);
}

/* Returns whether the details come after the tables: with a ladder, of which the tables are what
 * the user wants to see, unless --profile prints in between. */
static bool is_table_first(const rt_run_t *run)
{
    return run->opt.ladder && run->opt.seconds > 0 && !run->opt.profile;
}

static void run_one(rt_job_t *job, int i)
{
    rt_run_t *run = job->run;
    const rt_rung_t *rung = &run->app->ladder[i];
    rt_outcome_t *out = &job->out[i];
    rt_meter_t *meter = meter_of(job, rung);
    const bool print_now = is_root() && !is_table_first(run);
    if (is_root() && job->rungs)
        job->row[i] = rt_json_append_object(job->rungs);
    if (print_now)
        print_heading(run, rung);
    run->bandwidth = meter ? rt_bandwidth_ceiling(rt_meter_best(meter)) : 0;
    rt_run_rung(run, job->problem, rung, meter, out, job->row[i]);
    for (int k = 0; k < 2; k++)
        for (int s = 0; s < RT_SPACES && job->meter[k]; s++)
            out->high_water[s] -= (double)rt_meter_bytes(job->meter[k], (rt_space_t)s);
    for (int s = 0; s < RT_SPACES; s++)
        out->high_water[s] = fmax(out->high_water[s], run->input_bytes[s]);
    rt_comm_max(out->high_water, RT_SPACES);
    if (print_now)
        print_details(run, out);
}

/* Grades the rung now that all ceilings are known, and completes its row. */
static void finish_rung(rt_job_t *job, int i)
{
    rt_outcome_t *out = &job->out[i];
    rt_meter_t *meter = meter_of(job, out->rung);
    if (meter && out->windows > 0) {
        out->unrest.slowed = rt_meter_slowed(meter, &out->nearby);
        out->ceilings = *rt_meter_best(meter);
    }
    job->grade = rt_grade_worse(job->grade, rt_outcome_grade(out));
    rt_text_t why;
    const char *power = job->run->opt.power;
    if (is_root() && power && out->windows > 0 &&
        !rt_power_read(power, &out->energy, &out->meter, &why))
        rt_unwritten("--power: %s: %s has no energy of the meter", why.text, out->rung->name);
    if (is_root() && job->row[i]) {
        rt_json_rung(out, job->row[i]);
        rt_tuning_json(job->run, out->rung, job->row[i]);
    }
}

/* Prints and reports the ceilings, and frees their meters. */
static void close_meters(rt_job_t *job)
{
    for (int k = 0; k < 2; k++) {
        if (job->meter[k] && is_root()) {
            const rt_ceilings_t *best = rt_meter_best(job->meter[k]);
            if (!job->run->opt.quiet)
                rt_print_ceilings(best);
            if (job->root)
                rt_json_ceilings(job->root, k ? "ceilings_gpu" : "ceilings_cpu", best);
        }
        rt_meter_destroy(job->meter[k]);
    }
}

/* Digests the inputs of the problem, with the seed. Collective. */
static void report_inputs(const rt_job_t *job)
{
    char hex[RT_SHA256_DIGITS + 1];
    const rt_app_t *app = job->run->app;
    const rt_options_t *opt = &job->run->opt;
    rt_digest_t digest;
    if (!opt->json && !opt->nonce)
        return;
    rt_digest_begin(&digest);
    rt_digest_text(&digest, "program", app->name);
    rt_digest_int(&digest, "seed", opt->seed);
    if (app->digest)
        app->digest(job->problem, &digest);
    rt_digest_end(&digest, hex);
    if (job->root)
        rt_json_text(job->root, "inputs_digest", hex);
    if (is_root() && opt->nonce && !opt->quiet)
        printf("inputs        nonce '%s', seed %lld, digest %s\n", opt->nonce, (long long)opt->seed,
               hex);
}

static void job_begin(rt_job_t *job, rt_run_t *run, json_t *root)
{
    const size_t n = (size_t)run->app->n_rungs;
    *job = (rt_job_t){.run = run, .root = root};
    job->chosen = calloc(n, sizeof *job->chosen);
    job->out = calloc(n, sizeof *job->out);
    job->row = calloc(n, sizeof *job->row);
    RT_EXPECT(job->chosen && job->out && job->row, RT_MEMORY, "no memory for %zu rungs", n);
    if (root) {
        job->rungs = rt_json_array(root, "rungs");
        job->absent = rt_json_array(root, "absent");
    }
}

static void job_end(rt_job_t *job)
{
    free(job->chosen);
    free(job->out);
    free(job->row);
}

rt_grade_t rt_job_run(rt_run_t *run, json_t *root)
{
    const rt_app_t *app = run->app;
    const bool timed = run->opt.seconds > 0;
    rt_job_t job;
    job_begin(&job, run, root);
    const int n = rt_job_choose(&job);
    int done = 0;
    rt_progress("measuring the ceilings");
    if (timed)
        open_meters(&job);
    rt_mem_reset_high_water();
    rt_progress("making the problem");
    job.problem = rt_problem_new(run);
    report_inputs(&job);
    for (int i = 0; i < app->n_rungs; i++)
        if (job.chosen[i]) {
            rt_progress_parts("rung", done++, n);
            run_one(&job, i);
            rt_mem_reset_high_water();
        }
    rt_progress_parts("rung", n, n);
    rt_progress("finishing");
    rt_problem_destroy(run, job.problem);
    for (int k = 0; k < 2; k++)
        if (job.meter[k])
            rt_meter_confirm(job.meter[k]);
    for (int i = 0; i < app->n_rungs; i++)
        if (job.chosen[i])
            finish_rung(&job, i);
    close_meters(&job);
    if (is_root() && timed)
        rt_print_tables(&job);
    if (is_root() && run->opt.ladder && !run->opt.quiet && rt_app_extras(app)->compare)
        rt_app_extras(app)->compare(run, job.out, stdout);
    for (int i = 0; i < app->n_rungs && is_root() && is_table_first(run); i++)
        if (job.chosen[i]) {
            print_heading(run, job.out[i].rung);
            print_details(run, &job.out[i]);
        }
    const rt_grade_t grade = job.grade;
    job_end(&job);
    return grade;
}

static void print_problem(const rt_run_t *run)
{
    char value[256];
    printf("options      ");
    for (int i = 0; i < run->app->n_options; i++) {
        rt_opt_value(&run->app->options[i], run->config, value, sizeof value);
        printf(" --%s=%s", run->app->options[i].name, value);
    }
    printf("\n");
}

rt_status_t rt_job_dry_run(rt_run_t *run)
{
    rt_job_t job;
    job_begin(&job, run, NULL);
    rt_job_choose(&job);
    job_end(&job);
    if (is_root())
        print_problem(run);
    return RT_OK;
}

rt_status_t rt_job_tune(rt_run_t *run, json_t *root)
{
    const double begin = rt_clock();
    const rt_rung_t **list = calloc((size_t)run->app->n_rungs, sizeof *list);
    RT_EXPECT(list, RT_MEMORY, "no memory for %d rungs", run->app->n_rungs);
    const int n = rt_job_list(run, list);
    if (n == 0)
        rt_refuse(RT_MEMORY, "no rung can run this problem here: --ladder says why");
    const rt_tune_plan_t plan = {.rungs = list,
                                 .n = n,
                                 .problem = rt_problem_new(run),
                                 .begin = begin,
                                 .attempt = rt_run_attempt};
    const rt_status_t status = rt_tune_search(run, &plan, root);
    rt_problem_destroy(run, plan.problem);
    free(list);
    return status;
}
