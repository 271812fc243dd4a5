/*
 * result.c - what a solve leaves for the JSON file.
 */
#include "config.h"
#include "apps/gfnn-wave/gfnn.h"
#include "io/json.h"
#include "apps/gfnn-wave/judge/judge.h"

/* Writes |r| / |f| of the last step, before the first iteration and after each. */
static void json_residuals(const gfnn_solver_t *s, json_t *json)
{
    const double *residual = s->scalars.history;
    const int64_t all = s->last_iterations + 1;
    const int64_t n = all < GFNN_MOST_RESIDUALS ? all : GFNN_MOST_RESIDUALS;
    json_t *list = rt_json_array(json, "residual_history");
    for (int64_t i = 0; i < n && rt_finite(residual[i]); i++)
        json_array_append_new(list, json_real(residual[i]));
}

void gfnn_result(const void *solver, rt_result_t *out)
{
    const gfnn_solver_t *s = solver;
    const gfnn_problem_t *p = s->problem;
    const int64_t *N = p->config->n_nodes, *E = p->config->n_elements;
    const double iterations = gfnn_work_done(s, out->work);
    if (s->kernels->ladder == GFNN_LADDER_SOLVE)
        rt_text(&out->line, "%.2f iterations per step to |A du - f| = %g |f|", iterations,
                p->config->tolerance);
    if (!out->json)
        return;
    rt_json_int(out->json, "nodes", N[0] * N[1] * N[2]);
    rt_json_int(out->json, "elements", E[0] * E[1] * E[2]);
    rt_json_text(out->json, "ladder", s->rung->ladder);
    rt_json_real(out->json, "seconds_model", p->seconds_model);
    if (s->transport)
        rt_json_text(out->json, "transport", s->transport);
    if (s->kernels->ladder != GFNN_LADDER_SOLVE)
        return;
    rt_json_text(out->json, "preconditioner", p->config->form);
    json_t *history = rt_json_array(out->json, "iterations");
    json_t *residuals = rt_json_array(out->json, "step_residuals");
    for (int64_t i = 0; i < s->steps && i < GFNN_MAX_HISTORY; i++) {
        json_array_append_new(history, json_integer((json_int_t)s->history[i]));
        if (rt_finite(s->residuals[i]))
            json_array_append_new(residuals, json_real(s->residuals[i]));
    }
    if (rt_finite(s->residual))
        rt_json_real(out->json, "residual", s->residual);
    json_residuals(s, out->json);
    if (!p->oracle)
        return;
    rt_json_int(out->json, "iterations_cgbj", p->oracle->iterations_bj);
    rt_json_real(out->json, "norm_du", p->oracle->norm); /* the judge's; the same on any ranks */
    rt_json_real(out->json, "norm_u", p->oracle->norm_u);
}
