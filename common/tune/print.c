/* tune/print.c - what is in force, in text and JSON. */
#include "config.h"
#include <string.h>
#include "io/json.h"
#include "machine/comm.h"
#include "tune/force.h"

const char *rt_tuning_text(const rt_run_t *run, const rt_rung_t *rung, const int *choice,
                           rt_text_t *text)
{
    const rt_force_t *f = rt_force_of(run, rung);
    rt_text(text, "%s", "");
    for (int p = 0; p < f->parameters; p++)
        rt_text_add(text, "%s%s=%s", p ? " " : "", f->parameter[p].name,
                    f->parameter[p].values[choice[p]]);
    return text->text;
}

/* Writes the point of the entry, or of this run if there is no entry. */
static const char *point_text(const rt_run_t *run, const rt_tune_entry_t *e, rt_text_t *text)
{
    rt_coordinate_t point[RT_TUNE_COORDINATES];
    const int n = e ? e->coordinates : rt_force_point(run, point);
    rt_text(text, "%s", "");
    for (int c = 0; c < n; c++)
        rt_text_add(text, "%s%s=%.15g", c ? " " : "", e ? e->point[c].name : point[c].name,
                    e ? e->point[c].value : point[c].value);
    if (e && e->ranks != rt_comm_size())
        rt_text_add(text, "%sranks=%lld", *text->text ? " " : "", (long long)e->ranks);
    return text->text;
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
    rt_text_t text, here, there;
    const rt_force_t *f = rt_force_of(run, rung);
    if (f->parameters == 0)
        return;
    if (f->from == FROM_NEAREST && !brief)
        fprintf(out, "tuning        %s: nearest tuned point is %s\n", point_text(run, NULL, &here),
                point_text(run, f->entry, &there));
    if (memcmp(f->choice, f->fallback, sizeof f->choice) == 0)
        return;
    fprintf(out, "tuning        %s: %s (%s%s)\n", rung->name,
            rt_tuning_text(run, rung, f->choice, &text),
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
    json_t *choice = rt_json_object(row, "choice");
    for (int p = 0; p < f->parameters; p++)
        rt_json_text(choice, f->parameter[p].name, f->parameter[p].values[f->choice[p]]);
    rt_json_text(row, "choice_from", from_name[f->from]);
}
