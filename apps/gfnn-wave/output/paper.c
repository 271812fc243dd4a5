/*
 * paper.c - the iterations of solves, and the paper's figures, for comparison.
 */
#include "config.h"
#include <string.h>
#include "apps/gfnn-wave/gfnn.h"

/* The paper's figures for an A100, as shares of its peaks. */
const char *gfnn_paper(const rt_run_t *run, const rt_rung_t *rung)
{
    static const struct {
        const char *rung, *text;
    } paper[] = {
        {"cpu-coloured", "55 % of the FP64 peak, A100"},
        {"cpu-atomic", "72 % of the FP64 peak, A100"},
        {"cpu-recompute", "75 % of the FP64 peak, A100"},
        {"recompute", "72 to 75 % of the FP64 peak, A100, by its own count"},
        {"unrolled", "49 % of the FP32 peak, A100"},
    };
    (void)run;
    for (size_t i = 0; i < sizeof paper / sizeof *paper; i++)
        if (strcmp(paper[i].rung, rung->name) == 0)
            return paper[i].text;
    return "";
}

/* Prints solves only. The line of update has the iterations per step. */
void gfnn_compare(const rt_run_t *run, const rt_outcome_t *outcomes, FILE *out)
{
    const gfnn_config_t *config = run->config;
    rt_table_t *t = rt_table_new("<rung|iterations per step|ms per step|us per iteration");
    int rows = 0;
    for (int i = 0; i < run->app->n_rungs; i++) {
        const rt_outcome_t *o = &outcomes[i];
        if (!o->rung || strcmp(o->rung->ladder, "solve") != 0 || !o->verdict.valid)
            continue;
        double iterations = 0;
        for (int k = 0; k < o->work.n; k++)
            if (strcmp(o->work.line[k].kernel, "update") == 0)
                iterations = o->work.line[k].calls;
        rt_table_cell(t, "%s", o->rung->name);
        rt_table_cell(t, "%.2f", iterations);
        if (o->seconds_per_unit > 0 && iterations > 0) {
            rt_table_cell(t, "%.3f", 1e3 * o->seconds_per_unit);
            rt_table_cell(t, "%.2f", 1e6 * o->seconds_per_unit / iterations);
        }
        rt_table_row(t);
        rows++;
    }
    if (rows > 0) {
        fprintf(out, "\niterations to |A du - f| = %g |f|\n\n", config->tolerance);
        rt_table_print(t, out);
    }
    rt_table_destroy(t);
}
