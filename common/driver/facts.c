/*
 * driver/facts.c - --facts: what a result must say of its problem.
 *
 * A buyer compares a result with the facts that his own program prints, not with other members of the
 * same file: the options in force, the digest of the inputs, the files that were read, and for each
 * rung its work and its checks with their bounds. The rungs are verified, and nothing is timed.
 */
#include "config.h"
#include <stdlib.h>
#include <string.h>
#include "driver/job.h"
#include "io/json.h"
#include "machine/comm.h"

static void rung_facts(const rt_run_t *run, void *problem, const rt_rung_t *rung, json_t *row)
{
    rt_outcome_t out;
    rt_run_rung(run, problem, rung, NULL, &out, NULL);
    if (!row)
        return;
    rt_json_rung(&out, row);
    rt_json_text(row, "unit", out.work.unit);
    rt_json_real(row, "credited_flop_per_unit", out.work.flops);
    rt_json_real(row, "bytes_per_unit", rt_work_bytes(&out.work));
    rt_json_real(row, "flop_per_unit", rt_work_flops(&out.work));
}

/* Returns the rung of that name. If it cannot run here, the first rung of its ladder, which is
 * credited with the same work. */
static const rt_rung_t *rung_for(const rt_run_t *run, const char *name)
{
    const rt_app_t *app = run->app;
    const rt_rung_t *rung = rt_ladder_find(app->ladder, app->n_rungs, name);
    rt_text_t why;
    if (!rung)
        rt_refuse(RT_USAGE, "--facts %s: there is no such rung; --list has them", name);
    if (rt_run_obstacle(run, rung, false, &why))
        rung = &app->ladder[rt_ladder_first(app->ladder, (int)(rung - app->ladder))];
    rt_run_obstacle(run, rung, true, &why);
    return rung;
}

static void list_facts(const rt_run_t *run, void *problem, json_t *rungs)
{
    char *names = strdup(run->opt.facts), *rest = names;
    RT_EXPECT(names, RT_MEMORY, "no memory for the names of rungs");
    for (char *name; (name = strtok_r(rest, ",", &rest));) {
        const rt_rung_t *rung = rung_for(run, name);
        rung_facts(run, problem, rung, rungs ? rt_json_append_object(rungs) : NULL);
    }
    free(names);
}

rt_status_t rt_facts(rt_run_t *run)
{
    char hex[RT_SHA256_DIGITS + 1];
    json_t *root = rt_comm_rank() == 0 ? json_object() : NULL;
    json_t *rungs = root ? rt_json_array(root, "rungs") : NULL;
    run->opt.seconds = 0;
    void *problem = rt_problem_new(run);
    rt_job_digest(run, problem, hex);
    if (strcmp(run->opt.facts, "none") != 0)
        list_facts(run, problem, rungs);
    rt_problem_destroy(run, problem);
    if (!root)
        return RT_OK;
    rt_json_environment(root, run);
    rt_json_text(root, "inputs_digest", hex);
    json_dumpf(root, stdout, JSON_COMPACT | JSON_REAL_PRECISION(17));
    printf("\n");
    json_decref(root);
    return RT_OK;
}
