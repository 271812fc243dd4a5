/* tune/force.c - the record of a rung: its default, --choose, and the choice in force. */
#include "config.h"
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include "app/context.h"
#include "io/json.h"
#include "tune/force.h"

enum { MOST_DEFAULTS = 1 << 20 }; /* combinations that are looked at for a default */

static int count_values(const rt_parameter_t *parameter)
{
    int n = 0;
    while (parameter->values[n])
        n++;
    return n;
}

int64_t rt_force_combinations(const rt_force_t *f)
{
    int64_t n = 1;
    for (int p = 0; p < f->parameters; p++)
        n *= count_values(&f->parameter[p]);
    return n;
}

void rt_force_combination(const rt_force_t *f, int64_t index, int *choice)
{
    memset(choice, 0, RT_TUNE_PARAMETERS * sizeof *choice);
    for (int p = 0; p < f->parameters; p++) {
        const int n = count_values(&f->parameter[p]);
        choice[p] = (int)(index % n);
        index /= n;
    }
}

/* Finds the allowed choice that differs from the initial one in the fewest parameters. The initial
 * one is rarely refused, so the exhaustive search is rarely needed. */
static void find_default(const rt_run_t *run, rt_force_t *f)
{
    int choice[RT_TUNE_PARAMETERS], least = INT_MAX;
    for (int p = 0; p < f->parameters; p++)
        f->fallback[p] = f->parameter[p].initial;
    if (f->parameters == 0 || !rt_rung_refuse_choice(f->rung, run->config, f->fallback))
        return;
    const int64_t n = rt_force_combinations(f);
    for (int64_t i = 0; i < n && i < MOST_DEFAULTS; i++) {
        int changes = 0;
        rt_force_combination(f, i, choice);
        for (int p = 0; p < f->parameters; p++)
            changes += choice[p] != f->parameter[p].initial;
        if (changes < least && !rt_rung_refuse_choice(f->rung, run->config, choice)) {
            least = changes;
            memcpy(f->fallback, choice, sizeof choice);
        }
    }
}

void rt_force_default(const rt_run_t *run, rt_force_t *f)
{
    memset(f->fallback, 0, sizeof f->fallback);
    f->parameter = rt_rung_parameters(f->rung, &f->parameters);
    find_default(run, f);
    memcpy(f->choice, f->fallback, sizeof f->choice);
    f->from = FROM_DEFAULT;
    f->entry = NULL;
}

/* --- --choose --- */

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

/* --- what is in force --- */

rt_force_t *rt_force_of(const rt_run_t *run, const rt_rung_t *rung)
{
    struct rt_tuning *t = run->tuning;
    const int n = run->app->n_rungs;
    RT_EXPECT(t, RT_INVALID, "a run that was not set up");
    if (!t->force)
        t->force = calloc((size_t)n + 1, sizeof *t->force);
    RT_EXPECT(t->force, RT_MEMORY, "no memory for the parameters of %d rungs", n);
    int i = 0;
    while (i < n && rung != &run->app->ladder[i])
        i++;
    rt_force_t *f = &t->force[i];
    if (!f->rung || i == n) {
        f->rung = rung;
        rt_force_default(run, f);
        rt_choose_apply(run, f);
    }
    return f;
}

const int *rt_tune_choice(const rt_run_t *run, const rt_rung_t *rung)
{
    return rt_force_of(run, rung)->choice;
}

void rt_force_choice(const rt_run_t *run, const rt_rung_t *rung, const int *choice)
{
    rt_force_t *f = rt_force_of(run, rung);
    memcpy(f->choice, choice, sizeof f->choice);
    f->from = FROM_SEARCH;
}

const char *rt_force_text(const rt_force_t *f, const int *choice, rt_text_t *text)
{
    rt_text(text, "%s", f->parameters ? "" : "as it is");
    for (int p = 0; p < f->parameters; p++)
        rt_text_add(text, "%s%s=%s", p ? " " : "", f->parameter[p].name,
                    f->parameter[p].values[choice[p]]);
    return text->text;
}

json_t *rt_force_json(const rt_force_t *f, const int *choice)
{
    json_t *object = json_object();
    RT_EXPECT(object, RT_MEMORY, "no memory for a choice");
    for (int p = 0; p < f->parameters; p++)
        rt_json_text(object, f->parameter[p].name, f->parameter[p].values[choice[p]]);
    return object;
}
