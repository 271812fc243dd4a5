/* tune/choose.c - --choose, and the options of tuning. */
#include "config.h"
#include <string.h>
#include "app/context.h"
#include "tune/force.h"

int rt_find_value(const rt_parameter_t *parameter, const char *value)
{
    for (int v = 0; parameter->values[v]; v++)
        if (strcmp(parameter->values[v], value) == 0)
            return v;
    return -1;
}

int rt_find_parameter(const rt_force_t *f, const char *name)
{
    for (int p = 0; p < f->parameters; p++)
        if (strcmp(f->parameter[p].name, name) == 0)
            return p;
    return -1;
}

enum { NAME = 128 };

/* Reads the next NAME=VALUE of a list; returns false at its end. Refuses anything else. */
static bool next_pair(const char **at, char name[NAME], char value[NAME])
{
    if (!*at || **at == '\0')
        return false;
    const size_t n = strcspn(*at, "=,"), v = (*at)[n] == '=' ? strcspn(*at + n + 1, ",") : 0;
    if ((*at)[n] != '=' || n == 0 || v == 0 || n >= NAME || v >= NAME)
        rt_refuse(RT_USAGE, "--choose %.80s: not NAME=VALUE,NAME=VALUE", *at);
    snprintf(name, NAME, "%.*s", (int)n, *at);
    snprintf(value, NAME, "%.*s", (int)v, *at + n + 1);
    *at += n + 1 + v;
    *at += **at == ',';
    return true;
}

/* Refuses a pair that fits none of the rungs that --choose applies to. */
static void check_pair(const rt_run_t *run, const char *name, const char *value)
{
    rt_text_t values = {""};
    for (int i = 0; i < run->app->n_rungs; i++) {
        int count;
        const rt_rung_t *rung = &run->app->ladder[i];
        const rt_parameter_t *parameter = rt_rung_parameters(rung, &count);
        if (!rt_run_wants(run, rung))
            continue;
        if (run->opt.rung && !rung->kernels)
            rt_refuse(RT_ENVIRONMENT, "--rung %s cannot run here: %s", rung->name,
                      rt_rung_why_not(rung));
        for (int p = 0; p < count; p++) {
            if (strcmp(parameter[p].name, name) != 0)
                continue;
            if (rt_find_value(&parameter[p], value) >= 0)
                return;
            rt_text(&values, "%s has", rung->name);
            for (int v = 0; parameter[p].values[v]; v++)
                rt_text_add(&values, "%s %s", v ? "," : "", parameter[p].values[v]);
        }
    }
    if (*values.text)
        rt_refuse(RT_USAGE, "--choose %s=%s: there is no such value; %s", name, value, values.text);
    rt_refuse(RT_USAGE,
              "--choose %s=%s: %s has no such parameter in this build: see --list --ladder", name,
              value, run->opt.rung ? run->opt.rung : run->app->name);
}

void rt_tuning_check(const rt_run_t *run)
{
    const rt_options_t *opt = &run->opt;
    char name[NAME], value[NAME];
    if (opt->no_tuning && opt->tuning)
        rt_refuse(RT_USAGE, "--tuning %.400s and --no-tuning exclude each other", opt->tuning);
    if (opt->tuning && strlen(opt->tuning) >= PATH_MAX)
        rt_refuse(RT_USAGE, "--tuning: a path of more than %d bytes", PATH_MAX - 1);
    if (opt->isolated && !rt_app_extras(run->app)->isolated)
        rt_refuse(RT_USAGE, "--isolated: %s has no kernels to measure alone", run->app->name);
    if (opt->tune && opt->choose)
        rt_refuse(RT_USAGE, "--tune and --choose exclude each other: the tuner chooses");
    if (opt->tune && opt->roofline)
        rt_refuse(RT_USAGE, "--tune and --roofline exclude each other: tune for one problem");
    if (opt->tune && opt->seconds <= 0)
        rt_refuse(RT_USAGE, "--tune compares times: give --seconds more than 0");
    for (const char *at = opt->choose; next_pair(&at, name, value);)
        check_pair(run, name, value);
}

void rt_choose_apply(const rt_run_t *run, rt_force_t *f)
{
    char name[NAME], value[NAME];
    for (const char *at = run->opt.choose; next_pair(&at, name, value);) {
        const int p = rt_find_parameter(f, name);
        const int v = p >= 0 ? rt_find_value(&f->parameter[p], value) : -1;
        if (v < 0)
            continue;
        f->choice[p] = v;
        f->from = FROM_OPTION;
    }
}
