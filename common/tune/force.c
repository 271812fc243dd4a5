/* tune/force.c - the record of a rung: its default, and the choice in force. */
#include "config.h"
#include <limits.h>
#include <stdlib.h>
#include <string.h>
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
