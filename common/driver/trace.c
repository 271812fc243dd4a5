/*
 * driver/trace.c - --trace: what ranks tell each other, without solving, as JSON.
 *
 * The problem is that of one rank. Nothing of it is made, so a laptop can write the trace of
 * thousands of GPUs.
 */
#include "config.h"
#include <stdlib.h>
#include "driver/job.h"
#include "io/json.h"
#include "machine/comm.h"

/* Returns the rung that is asked for, built or not, or else the default one. */
static const rt_rung_t *rung_of(const rt_run_t *run)
{
    rt_text_t why;
    if (run->opt.rung)
        return rt_run_asked(run);
    bool *able = calloc((size_t)run->app->n_rungs, sizeof *able);
    RT_EXPECT(able, RT_MEMORY, "no memory for %d rungs", run->app->n_rungs);
    rt_run_able(run, able);
    const rt_rung_t *rung = rt_run_default_rung(run, able, &why);
    free(able);
    return rung;
}

rt_status_t rt_trace_print(const rt_run_t *run)
{
    if (rt_comm_size() > 1)
        rt_refuse(RT_USAGE, "--trace %lld: takes the problem of one rank, and %d run; start one",
                  (long long)run->opt.trace, rt_comm_size());
    const rt_rung_t *rung = rung_of(run);
    rt_work_t work;
    json_t *root = json_object();
    rt_trace_t *trace = rt_trace_new((int)run->opt.trace);
    run->app->work(run, rung, &work);
    rt_app_extras(run->app)->trace(run, rung, trace);
    rt_json_text(root, "kind", "trace");
    rt_json_text(root, "program", run->app->name);
    rt_json_text(root, "version", rt_version());
    rt_json_text(root, "rung", rung->name);
    rt_json_text(root, "unit", work.unit);
    rt_trace_json(trace, root);
    rt_trace_destroy(trace);
    json_dumpf(root, stdout, JSON_COMPACT | JSON_REAL_PRECISION(9));
    printf("\n");
    json_decref(root);
    return RT_OK;
}
