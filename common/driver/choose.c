/* driver/choose.c - which rungs run, and why others do not. */
#include "config.h"
#include <string.h>
#include "driver/job.h"
#include "io/json.h"
#include "machine/comm.h"

const char *rt_run_obstacle(const rt_run_t *run, const rt_rung_t *rung, bool fatal, rt_text_t *why)
{
    /* First the reasons that hold on any machine, then those of this machine. */
    const char *refusal = rt_rung_refuse(rung, run->config, why);
    if (refusal && fatal)
        rt_refuse(RT_USAGE, "--rung %s cannot run this problem: %s", rung->name, refusal);
    if (refusal)
        return refusal;
    refusal = rt_rung_why_not(rung);
    if (refusal && fatal)
        rt_refuse(RT_ENVIRONMENT, "--rung %s cannot run here: %s", rung->name, refusal);
    if (refusal)
        return refusal;
    refusal = rt_tuning_obstacle(run, rung, why);
    if (refusal && fatal)
        rt_refuse(RT_USAGE, "--rung %s cannot run this problem with --choose %s", rung->name,
                  refusal);
    if (refusal)
        return refusal;
    rt_text_t need;
    if (rt_memory_fits(run, rung, &need))
        return NULL;
    if (fatal)
        rt_refuse(RT_MEMORY,
                  "%s needs more memory per rank than there is: %s; use a smaller problem or "
                  "more ranks",
                  rung->name, need.text);
    return rt_text(why, "needs more memory than there is: %.400s", need.text);
}

void rt_run_able(const rt_run_t *run, bool *able)
{
    rt_text_t why;
    for (int i = 0; i < run->app->n_rungs; i++)
        able[i] = !rt_run_obstacle(run, &run->app->ladder[i], false, &why);
}

void rt_run_read(rt_run_t *run)
{
    rt_text_t why;
    bool any = false;
    for (int i = 0; i < run->app->n_rungs && !any; i++)
        any = rt_run_wants(run, &run->app->ladder[i]) &&
              !rt_run_obstacle(run, &run->app->ladder[i], false, &why);
    if (!any)
        return;
    rt_input_new(run);
    rt_tuning_resolve(run); /* the input knows the counts that a choice is made for */
}

/* The kinds of rungs, the fastest processor first. */
static const rt_kind_t order[] = {RT_CUDA, RT_CPU, RT_KOKKOS};
enum { KINDS = sizeof order / sizeof *order };

/* Returns the first rung that is able of those that the app names for this kind, or NULL. */
static const rt_rung_t *suggested_rung(const rt_run_t *run, rt_kind_t kind, const bool *able,
                                       rt_text_t *why)
{
    const rt_app_t *app = run->app;
    const rt_extras_t *extras = rt_app_extras(app);
    const char *const *names = extras->default_rungs ? extras->default_rungs(run, kind, why) : NULL;
    for (; names && *names; names++) {
        const rt_rung_t *rung = rt_ladder_find(app->ladder, app->n_rungs, *names);
        if (rung && rung->kind == kind && able[rung - app->ladder])
            return rung;
    }
    rt_text(why, "%s", "");
    return NULL;
}

const rt_rung_t *rt_run_default_rung(const rt_run_t *run, const bool *able, rt_text_t *why)
{
    const rt_app_t *app = run->app;
    rt_text(why, "%s", "");
    for (int k = 0; k < KINDS; k++) {
        const rt_rung_t *rung = suggested_rung(run, order[k], able, why);
        if (rung)
            return rung;
        for (int i = app->n_rungs - 1; i >= 0; i--)
            if (app->ladder[i].kind == order[k] && able[i])
                return &app->ladder[i];
    }
    return &app->ladder[0]; /* so that it is refused with its reason */
}

/* Returns the one rung to run, and prints why unless the user asked for it. */
static const rt_rung_t *the_rung(const rt_run_t *run, bool *able)
{
    rt_text_t why;
    if (run->opt.rung)
        return rt_run_asked(run);
    rt_run_able(run, able);
    const rt_rung_t *fallback = rt_run_default_rung(run, able, &why);
    const rt_rung_t *rung = rt_tuning_fastest(run, able, fallback);
    if (rung == fallback && *why.text && rt_comm_rank() == 0 && !run->opt.quiet)
        printf("default       %s for %s\n", rung->name, why.text);
    return rung;
}

/* Prints what the rung will need, or why it does not run; returns whether it runs. */
static bool announce(rt_job_t *job, const rt_rung_t *rung, bool alone)
{
    const rt_run_t *run = job->run;
    rt_text_t text;
    const char *obstacle = rt_run_obstacle(run, rung, alone, &text);
    if (obstacle && rt_comm_rank() == 0)
        printf("not run       %s: %s\n", rung->name, obstacle);
    if (obstacle && job->absent) {
        json_t *row = rt_json_append_object(job->absent);
        rt_json_text(row, "name", rung->name);
        rt_json_text(row, "kind", rt_kind_name(rung->kind));
        rt_json_text(row, "why", obstacle);
    }
    if (obstacle)
        return false;
    rt_memory_fits(run, rung, &text);
    if (rt_comm_rank() == 0 && !run->opt.quiet)
        printf("memory        %s will need: %s\n", rung->name, text.text);
    return true;
}

int rt_job_choose(rt_job_t *job)
{
    const rt_run_t *run = job->run;
    const rt_rung_t *only = run->opt.ladder ? NULL : the_rung(run, job->chosen);
    int count = 0;
    for (int i = 0; i < run->app->n_rungs; i++) {
        const rt_rung_t *rung = &run->app->ladder[i];
        const bool wanted = only ? only == rung : rt_rung_is_on(rung, run->opt.only);
        job->chosen[i] = wanted && announce(job, rung, only != NULL);
        if (!job->chosen[i])
            continue;
        job->used[rt_rung_processor(rung)] = true;
        count++;
    }
    return count;
}

int rt_job_list(const rt_run_t *run, const rt_rung_t **list)
{
    const rt_app_t *app = run->app;
    rt_text_t why;
    int n = 0;
    for (int k = 0; k < KINDS; k++)
        for (int i = app->n_rungs - 1; i >= 0; i--) {
            const rt_rung_t *rung = &app->ladder[i];
            if (rung->kind == order[k] && rt_run_wants(run, rung) &&
                !rt_run_obstacle(run, rung, run->opt.rung != NULL, &why))
                list[n++] = rung;
        }
    return n;
}
