/* tune/print.c - what is in force, in text and JSON. */
#include "config.h"
#include <string.h>
#include "io/json.h"
#include "machine/comm.h"
#include "tune/force.h"

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
    if (*t->file_note)
        fprintf(out, "tuning        not used: %s; the defaults are used\n", t->file_note);
    for (int i = 0; i < t->notes && i < RT_TUNE_NOTES; i++)
        fprintf(out, "tuning        %s\n", t->note[i]);
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
