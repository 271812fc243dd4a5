/* driver/job.c - the job: one problem, and rung after rung on it. */
#include "config.h"
#include <math.h>
#include <stdlib.h>
#include "driver/job.h"
#include "io/json.h"
#include "machine/comm.h"
#include "machine/timer.h"
#include "measure/plausible.h"

static bool is_root(void)
{
    return rt_comm_rank() == 0;
}

static void measure_ceilings(rt_job_t *job, rt_ceilings_t *c, const char *when)
{
    static const rt_kind_t kinds[] = {RT_CPU, RT_CUDA};
    for (int k = 0; k < 2; k++) {
        if (!job->used[k])
            continue;
        rt_work_t work;
        job->run->app->work(job->run, &job->run->app->ladder[0], &work);
        size_t set = (size_t)(work.array_bytes * work.distinct_arrays);
        rt_ceiling_measure(kinds[k], set,
                           fmin(0.5, k == 1 ? job->run->opt.seconds : 0.2 * job->run->opt.seconds),
                           &c[k]);
        if (is_root() && !job->run->opt.quiet)
            rt_print_ceilings(when, &c[k]);
        if (is_root() && job->root && c == job->after) {
            const rt_ceilings_t best = rt_ceilings_best(&job->before[k], &c[k]);
            rt_json_ceilings(job->root, k ? "ceilings_gpu" : "ceilings_cpu", &best);
        }
    }
}

static void run_one(rt_job_t *job, int i)
{
    rt_run_t *run = job->run;
    const rt_rung_t *rung = &run->app->ladder[i];
    rt_outcome_t *out = &job->out[i];
    if (is_root() && job->rungs)
        job->row[i] = rt_json_append_object(job->rungs);
    if (is_root() && !run->opt.quiet) {
        printf("\n%s (%s): %s\n", rung->name, rt_kind_name(rung->kind), rung->idea);
        fflush(stdout);
    }
    if (is_root())
        rt_tuning_print_rung(run, rung, run->opt.quiet, stdout);
    run->bandwidth = rt_bandwidth_ceiling(&job->before[rt_rung_processor(rung) == RT_CUDA]);
    rt_run_rung(run, job->problem, rung, out, job->row[i]);
    job->valid = job->valid && out->verdict.valid;
    if (is_root() && (!run->opt.quiet || !out->verdict.valid)) {
        rt_verdict_print(&out->verdict, stdout);
        if (*out->line.text)
            printf("solve         %s\n", out->line.text);
        rt_print_memory(out);
    }
}

rt_ceilings_t rt_job_ceilings(const rt_job_t *job, const rt_rung_t *rung)
{
    const rt_kind_t kind = rt_rung_processor(rung);
    return rt_ceilings_best(&job->before[kind], &job->after[kind]);
}

/* Returns what the rung seems to have done on each rank. */
static rt_claim_t claim_of(const rt_outcome_t *out)
{
    const rt_work_t *work = &out->work;
    const double rank_seconds = out->seconds_per_unit * rt_comm_size();
    double most = 0;
    for (int i = 0; i < work->n; i++)
        most = fmax(most, work->line[i].read + work->line[i].written);
    return (rt_claim_t){.bytes = rt_work_bytes(work) / rank_seconds,
                        .flops = rt_work_flops(work) / rank_seconds,
                        .arithmetic = work->arithmetic,
                        .touched = (size_t)(most / rt_comm_size()),
                        .timed_seconds = out->timed_seconds};
}

/* Adds to the verdict of a rung that is valid so far that it does not exceed what was measured.
 * Returns whether the ceilings had to be measured again. Collective. */
static bool judge_plausible(rt_outcome_t *out, const rt_ceilings_t *measured, rt_ceilings_t *again)
{
    double share;
    if (!out->verdict.valid)
        return false;
    const rt_claim_t claim = claim_of(out);
    const rt_share_t how = rt_plausible_share(out->rung->kind, &claim, measured, &share, again);
    if (how == RT_SHARE_UNKNOWN)
        return false;
    rt_verdict_check(&out->verdict, "plausible: at most 102 % of the measured ceiling", share,
                     RT_MOST_SHARE);
    out->plausible = share <= RT_MOST_SHARE ? RT_PLAUSIBLE : RT_IMPLAUSIBLE;
    return how == RT_SHARE_AGAIN;
}

/* Judges the rung by all ceilings, and completes its row. */
static void finish_rung(rt_job_t *job, int i)
{
    const rt_run_t *run = job->run;
    rt_outcome_t *out = &job->out[i];
    const rt_ceilings_t measured = rt_job_ceilings(job, out->rung);
    rt_ceilings_t again;
    const bool repeated = judge_plausible(out, &measured, &again);
    job->valid = job->valid && out->verdict.valid;
    if (!is_root())
        return;
    if (repeated) {
        printf("\n%s exceeds the ceilings measured before and after; they were measured again:\n",
               out->rung->name);
        rt_print_ceilings("again", &again);
        rt_verdict_print(&out->verdict, stdout);
    }
    if (!job->row[i])
        return;
    rt_json_rung(out, job->row[i]);
    rt_tuning_json(run, out->rung, job->row[i]);
    if (repeated)
        rt_json_ceilings(job->row[i], "ceilings_again", &again);
}

/* Digests the inputs of the problem. The seed is always among them. Collective. */
static void digest_inputs(const rt_run_t *run, const void *problem, char hex[RT_SHA256_DIGITS + 1])
{
    rt_digest_t digest;
    rt_digest_begin(&digest);
    rt_digest_text(&digest, "program", run->app->name);
    rt_digest_int(&digest, "seed", run->opt.seed);
    if (run->app->digest)
        run->app->digest(problem, &digest);
    rt_digest_end(&digest, hex);
}

void rt_job_print_digest(rt_run_t *run)
{
    char hex[RT_SHA256_DIGITS + 1];
    void *problem = rt_problem_new(run);
    digest_inputs(run, problem, hex);
    rt_problem_destroy(run, problem);
    if (is_root())
        printf("%s\n", hex);
}

static void report_inputs(const rt_job_t *job)
{
    char hex[RT_SHA256_DIGITS + 1];
    const rt_options_t *opt = &job->run->opt;
    if (!opt->json && !opt->nonce)
        return;
    digest_inputs(job->run, job->problem, hex);
    if (job->root)
        rt_json_text(job->root, "inputs_digest", hex);
    if (is_root() && opt->nonce && !opt->quiet)
        printf("inputs        nonce '%s', seed %lld, digest %s\n", opt->nonce, (long long)opt->seed,
               hex);
}

static void job_begin(rt_job_t *job, rt_run_t *run, json_t *root)
{
    const size_t n = (size_t)run->app->n_rungs;
    *job = (rt_job_t){.run = run, .root = root, .valid = true};
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

rt_status_t rt_job_run(rt_run_t *run, json_t *root)
{
    const rt_app_t *app = run->app;
    const bool timed = run->opt.seconds > 0;
    rt_job_t job;
    job_begin(&job, run, root);
    if (rt_job_choose(&job) == 0)
        rt_refuse(RT_MEMORY, "no rung can run this problem here: see the reasons above");
    if (timed)
        measure_ceilings(&job, job.before, "before");
    rt_mem_reset_high_water();
    job.problem = rt_problem_new(run);
    report_inputs(&job);
    for (int i = 0; i < app->n_rungs; i++)
        if (job.chosen[i]) {
            run_one(&job, i);
            rt_mem_reset_high_water();
        }
    rt_problem_destroy(run, job.problem);
    if (timed)
        measure_ceilings(&job, job.after, "after");
    for (int i = 0; i < app->n_rungs; i++)
        if (job.chosen[i])
            finish_rung(&job, i);
    if (is_root() && timed)
        rt_print_tables(&job);
    if (is_root() && run->opt.ladder && !run->opt.quiet && rt_app_extras(app)->compare)
        rt_app_extras(app)->compare(run, job.out, stdout);
    const bool valid = job.valid;
    job_end(&job);
    return valid ? RT_OK : RT_INVALID;
}

rt_status_t rt_job_tune(rt_run_t *run, json_t *root)
{
    const double begin = rt_clock();
    const rt_rung_t **list = calloc((size_t)run->app->n_rungs, sizeof *list);
    RT_EXPECT(list, RT_MEMORY, "no memory for %d rungs", run->app->n_rungs);
    rt_tuning_target(run); /* refuses a file that could not be added to, before the time is spent */
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
