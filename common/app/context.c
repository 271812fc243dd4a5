/* app/context.c - operations and queries on a run. */
#include "config.h"
#include "app/context.h"
#include <stdlib.h>
#include <string.h>

void rt_input_new(rt_run_t *run)
{
    if (run->input || !run->app->input_new)
        return;
    rt_mem_reset_high_water();
    run->input = run->app->input_new(run);
    for (int s = 0; s < RT_SPACES; s++)
        run->input_bytes[s] = (double)rt_mem_high_water((rt_space_t)s);
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

const rt_rung_t *rt_app_rung(const rt_app_t *app, const char *name)
{
    for (int i = 0; i < app->n_rungs; i++)
        if (strcmp(app->ladder[i].name, name) == 0)
            return &app->ladder[i];
    return NULL;
}

const rt_rung_t *rt_run_asked(const rt_run_t *run)
{
    return run->opt.rung ? rt_app_rung(run->app, run->opt.rung) : NULL;
}

bool rt_run_wants(const rt_run_t *run, const rt_rung_t *rung)
{
    const rt_rung_t *asked = rt_run_asked(run);
    return asked ? asked == rung : rt_rung_is_on(rung, run->opt.only);
}

const rt_extras_t *rt_app_extras(const rt_app_t *app)
{
    static const rt_extras_t none = {.result = NULL};
    return app->extras ? app->extras : &none;
}

static rt_opt_set_t own_options(const rt_run_t *run, void *target, uint64_t *given)
{
    return (rt_opt_set_t){"", run->app->options, run->app->n_options, target, given};
}

bool rt_run_given(const rt_run_t *run, const char *name)
{
    uint64_t given = run->given[0];
    const rt_opt_set_t set = own_options(run, run->config, &given);
    return rt_opt_given(&set, 1, name);
}

/* Returns whether the value of the option differs from its default, as `defaults` has it. */
static bool is_changed(const rt_run_t *run, const void *defaults, const char *name)
{
    char now[256], initially[256];
    for (int i = 0; i < run->app->n_options; i++) {
        const rt_opt_t *o = &run->app->options[i];
        if (strcmp(o->name, name) != 0)
            continue;
        rt_opt_value(o, run->config, now, sizeof now);
        rt_opt_value(o, defaults, initially, sizeof initially);
        return strcmp(now, initially) != 0;
    }
    rt_die(RT_INVALID, "no option '%s'", name);
}

void rt_run_refuse_ignored(const rt_run_t *run, bool ignored, const char *names, const char *why)
{
    if (!ignored)
        return;
    uint64_t none = 0;
    void *defaults = calloc(1, run->app->config_size);
    char *copy = strdup(names), *rest = copy;
    RT_EXPECT(defaults && copy, RT_MEMORY, "no memory for the options");
    const rt_opt_set_t set = own_options(run, defaults, &none);
    rt_opt_parse(&set, 1, 0, NULL, NULL);
    for (char *name; (name = strtok_r(rest, " ", &rest));)
        if (rt_run_given(run, name) && is_changed(run, defaults, name))
            rt_refuse(RT_USAGE, "--%s: %s; leave it out", name, why);
    free(copy);
    free(defaults);
}
