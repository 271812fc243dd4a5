/*
 * iterations.c - the iterations of solves, for comparison.
 */
#include "config.h"
#include <string.h>
#include "apps/gfnn-wave/gfnn.h"

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
