/*
 * tune/tune.c - what is in force for each rung, and why: the default, what a tuning file says of
 * this device and point, or what --choose asks for. See tune/tune.h.
 *
 * All ranks decide alike without communication: they have the same file, which rank 0 read for all,
 * and the same device name.
 */
#include "config.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "app/context.h"
#include "tune/force.h"

enum { MOST_DEFAULTS = 1 << 20 }; /* combinations that are looked at for a default */

void rt_tuning_new(rt_run_t *run)
{
    run->tuning = calloc(1, sizeof *run->tuning);
    RT_EXPECT(run->tuning, RT_MEMORY, "no memory for parameters");
}

void rt_tuning_destroy(rt_run_t *run)
{
    if (!run->tuning)
        return;
    for (rt_force_t *f = run->tuning->first, *next; f; f = next) {
        next = f->next;
        free(f);
    }
    rt_tune_file_free(run->tuning->file);
    free(run->tuning);
    run->tuning = NULL;
}

static int count_values(const rt_parameter_t *parameter)
{
    int n = 0;
    while (parameter->values[n])
        n++;
    return n;
}

int rt_find_value(const rt_parameter_t *parameter, const char *value)
{
    for (int v = 0; parameter->values[v]; v++)
        if (strcmp(parameter->values[v], value) == 0)
            return v;
    return -1;
}

int rt_find_parameter(const rt_parameter_t *parameter, int parameters, const char *name)
{
    for (int p = 0; p < parameters; p++)
        if (strcmp(parameter[p].name, name) == 0)
            return p;
    return -1;
}

int rt_force_point(const rt_run_t *run, rt_coordinate_t point[RT_TUNE_COORDINATES])
{
    const rt_extras_t *extras = rt_app_extras(run->app);
    return extras->tune_point ? extras->tune_point(run, point) : 0;
}

/* --- defaults --- */

/* Finds the allowed choice that differs from the initial one in the fewest parameters. The initial
 * one is rarely refused, so the exhaustive search is rarely needed. */
static void find_default(const rt_run_t *run, rt_force_t *f)
{
    int values[RT_TUNE_PARAMETERS], choice[RT_TUNE_PARAMETERS] = {0}, least = INT_MAX;
    for (int p = 0; p < f->parameters; p++) {
        values[p] = count_values(&f->parameter[p]);
        f->fallback[p] = f->parameter[p].initial;
    }
    if (f->parameters == 0 || !rt_rung_refuse_choice(f->rung, run->config, f->fallback))
        return;
    for (int tried = 0, p = 0; tried < MOST_DEFAULTS && p < f->parameters; tried++) {
        int changes = 0;
        for (int q = 0; q < f->parameters; q++)
            changes += choice[q] != f->parameter[q].initial;
        if (changes < least && !rt_rung_refuse_choice(f->rung, run->config, choice)) {
            least = changes;
            memcpy(f->fallback, choice, sizeof choice);
        }
        for (p = 0; p < f->parameters && ++choice[p] == values[p]; p++)
            choice[p] = 0;
    }
}

static void set_default(const rt_run_t *run, rt_force_t *f)
{
    memset(f->fallback, 0, sizeof f->fallback);
    f->parameter = rt_rung_parameters(f->rung, &f->parameters);
    find_default(run, f);
    memcpy(f->choice, f->fallback, sizeof f->choice);
    f->from = FROM_DEFAULT;
    f->entry = NULL;
}

/* --- entries --- */

/* Translates the entry into indices of values. Returns false, and what is wrong with the entry. */
static bool translate(const rt_run_t *run, const rt_force_t *f, const rt_tune_entry_t *e,
                      int *choice, char *why, size_t len)
{
    for (int p = 0; p < f->parameters; p++)
        choice[p] = -1;
    for (int k = 0; k < e->parameters; k++) {
        const int p = rt_find_parameter(f->parameter, f->parameters, e->choice[k].name);
        if (p < 0) {
            snprintf(why, len, "%s has no parameter %.60s", e->rung, e->choice[k].name);
            return false;
        }
        choice[p] = rt_find_value(&f->parameter[p], e->choice[k].value);
        if (choice[p] < 0) {
            snprintf(why, len, "%s of %s has no value %.60s", e->choice[k].name, e->rung,
                     e->choice[k].value);
            return false;
        }
    }
    for (int p = 0; p < f->parameters; p++)
        if (choice[p] < 0) {
            snprintf(why, len, "%s of %s is missing", f->parameter[p].name, e->rung);
            return false;
        }
    const char *no = f->parameters ? rt_rung_refuse_choice(f->rung, run->config, choice) : NULL;
    if (no)
        snprintf(why, len, "%s refuses it for this problem: %s", e->rung, no);
    return no == NULL;
}

static void apply_entry(rt_run_t *run, rt_force_t *f)
{
    char why[256];
    int choice[RT_TUNE_PARAMETERS] = {0};
    const rt_tune_entry_t *e = rt_store_nearest(run, f->rung);
    if (!e)
        return;
    if (!translate(run, f, e, choice, why, sizeof why)) {
        rt_store_note(run->tuning, "%s: entry %lld is not used: %s", run->tuning->path,
                      (long long)e->number, why);
        return;
    }
    memcpy(f->choice, choice, sizeof choice);
    f->from = rt_store_distance(run, e) == 0 ? FROM_FILE : FROM_NEAREST;
    f->entry = e;
}

/* --- what is in force --- */

void rt_tuning_resolve(rt_run_t *run)
{
    struct rt_tuning *t = run->tuning;
    t->notes = 0;
    if (t->file)
        rt_store_look(run);
    for (int i = 0; i < run->app->n_rungs; i++)
        rt_tune_choice(run, &run->app->ladder[i]); /* makes the record of it */
    for (rt_force_t *f = t->first; f; f = f->next) {
        set_default(run, f);
        apply_entry(run, f);
        rt_choose_apply(run, f);
    }
}

rt_force_t *rt_force_of(const rt_run_t *run, const rt_rung_t *rung)
{
    int count;
    struct rt_tuning *t = run->tuning;
    RT_EXPECT(t, RT_INVALID, "a run that was not set up");
    const rt_parameter_t *parameter = rt_rung_parameters(rung, &count);
    rt_force_t *f = t->first;
    while (f && f->rung != rung)
        f = f->next;
    /* A test may make a rung on the fly, at the address of an earlier one. */
    if (f && f->parameter == parameter && f->parameters == count)
        return f;
    if (!f) {
        f = calloc(1, sizeof *f);
        RT_EXPECT(f, RT_MEMORY, "no memory for the parameters of %s", rung->name);
        f->next = t->first;
        t->first = f;
        f->rung = rung;
    }
    set_default(run, f);
    rt_choose_apply(run, f);
    return f;
}

const int *rt_tune_choice(const rt_run_t *run, const rt_rung_t *rung)
{
    return rt_force_of(run, rung)->choice;
}

void rt_tuning_default(const rt_run_t *run, const rt_rung_t *rung, int *choice)
{
    memcpy(choice, rt_force_of(run, rung)->fallback, RT_TUNE_PARAMETERS * sizeof *choice);
}

void rt_tuning_force(const rt_run_t *run, const rt_rung_t *rung, const int *choice)
{
    rt_force_t *f = rt_force_of(run, rung);
    memcpy(f->choice, choice, sizeof f->choice);
    f->from = FROM_SEARCH;
}

const char *rt_tuning_obstacle(const rt_run_t *run, const rt_rung_t *rung, rt_text_t *why)
{
    rt_text_t choice;
    const rt_force_t *f = rt_force_of(run, rung);
    if (f->from != FROM_OPTION)
        return NULL;
    const char *refusal = rt_rung_refuse_choice(rung, run->config, f->choice);
    if (!refusal)
        return NULL;
    return rt_text(why, "%s: %s", rt_tuning_text(run, rung, f->choice, &choice), refusal);
}

/* --- the rung itself is a choice --- */

static bool same_point(const rt_tune_entry_t *a, const rt_tune_entry_t *b)
{
    bool same = a->ranks == b->ranks && a->coordinates == b->coordinates;
    for (int c = 0; same && c < a->coordinates; c++)
        same = a->point[c].value == b->point[c].value;
    return same;
}

/* Returns the entry of ladder[i], if it is able and on the ladder of `fallback`. A rung whose entry
 * was refused runs without the entry's choice, so the entry's time says nothing about it. */
static const rt_tune_entry_t *entry_in_force(const rt_run_t *run, int i, const bool *able,
                                             const rt_rung_t *fallback)
{
    const rt_rung_t *rung = &run->app->ladder[i];
    const bool same =
        rung->ladder == fallback->ladder || (rung->ladder && rt_rung_is_on(rung, fallback->ladder));
    return same && able[i] ? rt_force_of(run, rung)->entry : NULL;
}

const rt_rung_t *rt_tuning_fastest(const rt_run_t *run, const bool *able, const rt_rung_t *fallback)
{
    const rt_app_t *app = run->app;
    const rt_tune_entry_t *near = NULL;
    const rt_rung_t *best = NULL;
    double seconds = INFINITY;
    int timed = 0;
    bool of_kind = false;
    if (run->opt.isolated) /* these are times of a kernel's calls, which do not compare rungs */
        return fallback;
    for (int i = 0; i < app->n_rungs; i++) {
        const rt_tune_entry_t *e = entry_in_force(run, i, able, fallback);
        if (e && (!near || rt_store_distance(run, e) < rt_store_distance(run, near)))
            near = e;
    }
    for (int i = 0; i < app->n_rungs; i++) {
        const rt_rung_t *rung = &app->ladder[i];
        const rt_tune_entry_t *e = entry_in_force(run, i, able, fallback);
        if (!e || !same_point(e, near))
            continue;
        timed++;
        of_kind = of_kind || rt_rung_processor(rung) == rt_rung_processor(fallback);
        if (e->seconds < seconds) {
            seconds = e->seconds;
            best = rung;
        }
    }
    return timed > 1 && of_kind ? best : fallback;
}
