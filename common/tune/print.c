/* tune/print.c - what is in force, and what a search has found, in text and JSON. */
#include "config.h"
#include <stdlib.h>
#include <string.h>
#include "base/table.h"
#include "io/json.h"
#include "machine/comm.h"
#include "tune/trials.h"

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

/* --- a search --- */

enum { ROWS = 8 }; /* of the table of what was tried */

void rt_search_print_tried(const rt_search_t *s)
{
    rt_text_t text;
    int *order = malloc((size_t)s->n * sizeof *order), rows = 0;
    RT_EXPECT(order, RT_MEMORY, "no memory for %d trials", s->n);
    const int n = rt_search_order(s, order);
    rt_table_t *table = rt_table_new("<choice|us|spread|time/default|<");
    for (int k = 0; k < n; k++) {
        const rt_tried_t *t = &s->trial[order[k]];
        if (rows >= ROWS && order[k] != 0 && order[k] != s->chosen)
            continue;
        rows++;
        rt_table_cell(table, "%s", rt_force_text(s->force, t->choice, &text));
        rt_table_cell(table, "%.2f", t->seconds * 1e6);
        rt_table_cell(table, "%.1f %%", 100 * t->spread);
        rt_table_cell(table, "%.3f", t->seconds / s->trial[0].seconds);
        rt_table_cell(table, "%s%s%s", order[k] == 0 ? "default" : "",
                      order[k] == 0 && s->chosen == 0 ? ", " : "",
                      order[k] == s->chosen ? "chosen" : "");
        rt_table_row(table);
    }
    printf("\n%s: tried %d of %lld combinations%s, %d INVALID\n\n", s->rung->name, s->n,
           (long long)rt_force_combinations(s->force), s->all ? ", all that are allowed" : "",
           s->invalid);
    rt_table_print(table, stdout);
    rt_table_destroy(table);
    free(order);
}

void rt_search_print_found(const rt_search_t *s, int n, bool isolated)
{
    rt_text_t text;
    rt_table_t *table = rt_table_new("<rung|us|gain|noise|tried|<choice");
    for (int i = 0; i < n; i++) {
        rt_table_cell(table, "%s", s[i].rung->name);
        if (s[i].n == 0 || s[i].chosen < 0) {
            for (int cell = 0; cell < 4; cell++)
                rt_table_cell(table, "-");
            rt_table_cell(table, "%s", s[i].n == 0 ? "no time left" : "INVALID");
        } else {
            rt_table_cell(table, "%.2f", s[i].seconds * 1e6);
            rt_table_cell(table, "%.3fx", s[i].gain);
            if (s[i].chosen > 0)
                rt_table_cell(table, "%.1f %%", 100 * s[i].noise);
            else
                rt_table_cell(table, "-");
            rt_table_cell(table, "%d", s[i].n);
            rt_table_cell(table, "%s%s", s[i].chosen == 0 ? "default: " : "",
                          rt_force_text(s[i].force, s[i].trial[s[i].chosen].choice, &text));
        }
        rt_table_row(table);
    }
    printf("\ntuned %s; the gain is over the default, which was timed alternately\n\n",
           isolated ? "alone: times per call of the kernel" : "inside the application");
    rt_table_print(table, stdout);
    rt_table_destroy(table);
}

void rt_search_json(const rt_search_t *s, int n, const char *path, json_t *root)
{
    json_t *tuning = rt_json_object(root, "tuning");
    rt_json_text(tuning, "file", path);
    rt_json_bool(tuning, "isolated", n > 0 && s->run->opt.isolated);
    json_t *rungs = rt_json_array(tuning, "rungs");
    for (int i = 0; i < n; i++) {
        json_t *row = rt_json_append_object(rungs);
        rt_json_text(row, "name", s[i].rung->name);
        rt_json_int(row, "tried", s[i].n);
        rt_json_int(row, "invalid", s[i].invalid);
        rt_json_int(row, "combinations", rt_force_combinations(rt_force_of(s[i].run, s[i].rung)));
        if (s[i].n == 0 || s[i].chosen < 0)
            continue;
        rt_json_bool(row, "changed", s[i].chosen > 0);
        rt_json_real(row, "seconds", s[i].seconds);
        rt_json_real(row, "gain", s[i].gain);
        rt_json_real(row, "noise", s[i].noise);
        json_object_set_new(row, "choice",
                            rt_force_json(s[i].force, s[i].trial[s[i].chosen].choice));
    }
}
