/* tune/found.c - what a search has found, in text and JSON. */
#include "config.h"
#include <stdlib.h>
#include "base/table.h"
#include "io/json.h"
#include "tune/trials.h"

enum { ROWS = 8 }; /* of the table of what was tried */

const char *rt_search_text(const rt_search_t *s, int i, rt_text_t *text)
{
    return s->parameters ? rt_tuning_text(s->run, s->rung, s->trial[i].choice, text) : "as it is";
}

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
        rt_table_cell(table, "%s", rt_search_text(s, order[k], &text));
        rt_table_cell(table, "%.2f", t->seconds * 1e6);
        rt_table_cell(table, "%.1f %%", 100 * t->spread);
        rt_table_cell(table, "%.3f", t->seconds / s->trial[0].seconds);
        rt_table_cell(table, "%s%s%s", order[k] == 0 ? "default" : "",
                      order[k] == 0 && s->chosen == 0 ? ", " : "",
                      order[k] == s->chosen ? "chosen" : "");
        rt_table_row(table);
    }
    printf("\n%s: tried %d of %.0f (%s), %d INVALID\n\n", s->rung->name, s->n, s->allowed, s->how,
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
                          rt_search_text(&s[i], s[i].chosen, &text));
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
        rt_json_real(row, "combinations", s[i].allowed);
        if (s[i].n == 0 || s[i].chosen < 0)
            continue;
        rt_json_bool(row, "changed", s[i].chosen > 0);
        rt_json_real(row, "seconds", s[i].seconds);
        rt_json_real(row, "gain", s[i].gain);
        rt_json_real(row, "noise", s[i].noise);
        json_t *choice = rt_json_object(row, "choice");
        for (int p = 0; p < s[i].parameters; p++)
            rt_json_text(choice, s[i].parameter[p].name,
                         s[i].parameter[p].values[s[i].trial[s[i].chosen].choice[p]]);
    }
}
