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
#include "io/json.h"
#include "machine/comm.h"
#include "tune/force.h"

void rt_tuning_new(rt_run_t *run)
{
    run->tuning = calloc(1, sizeof *run->tuning);
    RT_EXPECT(run->tuning, RT_MEMORY, "no memory for parameters");
}

void rt_tuning_destroy(rt_run_t *run)
{
    if (!run->tuning)
        return;
    free(run->tuning->force);
    rt_tune_file_free(run->tuning->file);
    free(run->tuning);
    run->tuning = NULL;
}

/* --- entries --- */

/* Translates the entry into indices of values. Returns NULL, or what is wrong with the entry. */
static const char *translate(const rt_run_t *run, const rt_force_t *f, const rt_tune_entry_t *e,
                             int *choice, rt_text_t *why)
{
    const char *name;
    json_t *value;
    json_object_foreach(e->choice, name, value)
    {
        const int p = rt_find_parameter(f, name);
        if (p < 0)
            return rt_text(why, "%s has no parameter %.60s", e->rung, name);
        choice[p] = rt_find_value(&f->parameter[p], json_string_value(value));
        if (choice[p] < 0)
            return rt_text(why, "%s of %s has no value %.60s", name, e->rung,
                           json_string_value(value));
    }
    for (int p = 0; p < f->parameters; p++)
        if (!json_object_get(e->choice, f->parameter[p].name))
            return rt_text(why, "%s of %s is missing", f->parameter[p].name, e->rung);
    const char *no = f->parameters ? rt_rung_refuse_choice(f->rung, run->config, choice) : NULL;
    return no ? rt_text(why, "%s refuses it for this problem: %s", e->rung, no) : NULL;
}

static void apply_entry(rt_run_t *run, rt_force_t *f)
{
    rt_text_t text, words;
    int choice[RT_TUNE_PARAMETERS] = {0};
    const rt_tune_entry_t *e = rt_store_nearest(run, f->rung);
    if (!e)
        return;
    const char *why = translate(run, f, e, choice, &text);
    if (why) {
        rt_store_note(run->tuning,
                      rt_text(&words, ": entry %d is not used: %.400s", e->number, why));
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
    for (int i = 0; i < run->app->n_rungs; i++) {
        rt_force_t *f = rt_force_of(run, &run->app->ladder[i]);
        rt_force_default(run, f);
        apply_entry(run, f);
        rt_choose_apply(run, f);
    }
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
    return rt_text(why, "%s: %s", rt_force_text(f, f->choice, &choice), refusal);
}

/* --- the rung itself is a choice --- */

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
        if (!e || e->ranks != near->ranks || !json_equal(e->point, near->point))
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

/* --- what users and programs read --- */

static const char *point_text(json_t *point, json_int_t ranks, rt_text_t *text)
{
    const char *name;
    json_t *value;
    rt_text(text, "%s", "");
    json_object_foreach(point, name, value)
    {
        rt_text_add(text, "%s%s=%.15g", *text->text ? " " : "", name, json_number_value(value));
    }
    if (ranks != rt_comm_size())
        rt_text_add(text, "%sranks=%lld", *text->text ? " " : "", (long long)ranks);
    return text->text;
}

static void print_nearest(const rt_run_t *run, const rt_tune_entry_t *e, FILE *out)
{
    rt_text_t here, there;
    json_t *point = rt_store_point(run);
    fprintf(out, "tuning        %s: nearest tuned point is %s\n",
            point_text(point, rt_comm_size(), &here), point_text(e->point, e->ranks, &there));
    json_decref(point);
}

void rt_tuning_print(const rt_run_t *run, FILE *out)
{
    const struct rt_tuning *t = run->tuning;
    if (*t->file_note.text)
        fprintf(out, "tuning        not used: %s; the defaults are used\n", t->file_note.text);
    for (int i = 0; i < t->notes && i < RT_TUNE_NOTES; i++)
        fprintf(out, "tuning        %s\n", t->note[i].text);
    if (t->notes > RT_TUNE_NOTES)
        fprintf(out, "tuning        %s: %d more lines are not used\n", t->path,
                t->notes - RT_TUNE_NOTES);
}

static const char *const from_name[] = {[FROM_DEFAULT] = "default",
                                        [FROM_FILE] = "file",
                                        [FROM_NEAREST] = "nearest",
                                        [FROM_OPTION] = "option",
                                        [FROM_SEARCH] = "search"};

void rt_tuning_print_rung(const rt_run_t *run, const rt_rung_t *rung, bool brief, FILE *out)
{
    rt_text_t text;
    const rt_force_t *f = rt_force_of(run, rung);
    if (f->parameters == 0)
        return;
    if (f->from == FROM_NEAREST && !brief)
        print_nearest(run, f->entry, out);
    if (memcmp(f->choice, f->fallback, sizeof f->choice) == 0)
        return;
    fprintf(out, "tuning        %s: %s (%s%s)\n", rung->name, rt_force_text(f, f->choice, &text),
            f->from == FROM_OPTION   ? "--choose"
            : f->from == FROM_SEARCH ? "tried now"
                                     : run->tuning->path,
            f->from == FROM_NEAREST ? ", the nearest point" : "");
}

void rt_tuning_json(const rt_run_t *run, const rt_rung_t *rung, json_t *row)
{
    const rt_force_t *f = rt_force_of(run, rung);
    if (f->parameters == 0)
        return;
    json_object_set_new(row, "choice", rt_force_json(f, f->choice));
    rt_json_text(row, "choice_from", from_name[f->from]);
}
