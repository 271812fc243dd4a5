/*
 * paper.c - the expected iterations and the paper's figures, for comparison.
 */
#include "config.h"
#include <math.h>
#include <string.h>
#include "apps/gfnn-wave/gfnn.h"

/* Expected iterations to 1e-8 on the head, for Vp dt/ds = 3 and 4. */
typedef struct {
    int precond, parameter; /* parameter: M or the degree */
    int count[2];
} known_t;
static const known_t known[] = {
    {GFNN_BJ, 0, {40, 42}},  {GFNN_CHEB, 3, {14, 15}}, {GFNN_CHEB, 5, {9, 9}},
    {GFNN_CHEB, 7, {7, 7}},  {GFNN_GF8, 0, {13, 15}},  {GFNN_GFM, 2, {12, 13}},
    {GFNN_GFM, 4, {10, 12}}, {GFNN_GFM, 8, {9, 10}},
};

/* Returns 0 or 1 for the named cases, which are the head with all defaults except dt; -1 for
 * others. */
static int named_case(const gfnn_config_t *config)
{
    const bool head = strcmp(config->model, "head") == 0 && config->faces == GFNN_PERIODIC &&
                      config->tolerance == 1e-8;
    const bool medium = config->damping <= 0.001;
    if (!head || !medium || config->reach != GFNN_ND)
        return -1;
    return fabs(config->dt - 15e-6) < 1e-12 ? 0 : fabs(config->dt - 20e-6) < 1e-12 ? 1 : -1;
}

static int count_of(const gfnn_config_t *config, int precond, int which)
{
    const int64_t parameter = precond == GFNN_GFM    ? config->kernels
                              : precond == GFNN_CHEB ? config->degree
                                                     : 0;
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (known[i].precond == precond && known[i].parameter == parameter)
            return known[i].count[which];
    return 0;
}

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

static void count_cell(rt_table_t *t, int count)
{
    if (count > 0)
        rt_table_cell(t, "%d", count);
    else
        rt_table_cell(t, "-");
}

/* Prints solves only. The line of update has the iterations per step. */
void gfnn_compare(const rt_run_t *run, const rt_outcome_t *outcomes, FILE *out)
{
    const gfnn_config_t *config = run->config;
    const int which = named_case(config);
    rt_table_t *t = rt_table_new("<rung|iterations per step|expected|of bj expected|"
                                 "ms per step|us per iteration");
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
        count_cell(t, which >= 0 ? count_of(config, config->precond, which) : 0);
        count_cell(t, which >= 0 ? count_of(config, GFNN_BJ, which) : 0);
        if (o->seconds_per_unit > 0 && iterations > 0) {
            rt_table_cell(t, "%.3f", 1e3 * o->seconds_per_unit);
            rt_table_cell(t, "%.2f", 1e6 * o->seconds_per_unit / iterations);
        }
        rt_table_row(t);
        rows++;
    }
    if (rows > 0) {
        fprintf(out,
                "\niterations to |A du - f| = %g |f|; the expected ones are those of a random f on "
                "the head\n\n",
                config->tolerance);
        rt_table_print(t, out);
    }
    rt_table_destroy(t);
}
