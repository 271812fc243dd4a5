/* app/context.c - operations and queries on a run. */
#include "config.h"
#include "app/context.h"

void rt_input_new(rt_run_t *run)
{
    if (!run->input && run->app->input_new)
        run->input = run->app->input_new(run);
}

void rt_input_destroy(rt_run_t *run)
{
    if (run->input)
        run->app->input_destroy(run->input);
    run->input = NULL;
    run->input_spent = false;
}

void *rt_problem_new(rt_run_t *run)
{
    if (run->input_spent)
        rt_input_destroy(run);
    rt_input_new(run);
    run->input_spent = true;
    return run->app->problem_new(run, run->input);
}

void rt_problem_destroy(rt_run_t *run, void *problem)
{
    run->app->problem_destroy(problem);
}

const rt_rung_t *rt_run_asked(const rt_run_t *run)
{
    if (!run->opt.rung)
        return NULL;
    return rt_ladder_find(run->app->ladder, run->app->n_rungs, run->opt.rung);
}

bool rt_run_wants(const rt_run_t *run, const rt_rung_t *rung)
{
    const rt_rung_t *asked = rt_run_asked(run);
    return asked ? asked == rung : rt_rung_is_on(rung, run->opt.only);
}

const rt_extras_t *rt_app_extras(const rt_app_t *app)
{
    static const rt_extras_t none = {0};
    return app->extras ? app->extras : &none;
}
