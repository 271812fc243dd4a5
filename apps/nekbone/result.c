/* result.c - what a run says of its last solve: one line, and more in the JSON file. */
#include "config.h"
#include <string.h>
#include "precond.h"

/* Returns the first iteration at which the residual was at most `tolerance` times the first, or
 * -1. */
static int64_t iterations_needed(const nek_solver_t *s)
{
    const double enough = s->problem->config->tolerance * s->history[0];
    for (int k = 0; k <= s->done; k++)
        if (s->history[k] <= enough)
            return k;
    return -1;
}

/* Appends "schwarz 9-3-1, chebyshev of order 8": what preconditions. */
static void add_precond(const nek_solver_t *s, rt_text_t *line)
{
    const nek_config_t *config = s->problem->config;
    const nek_levels_t *levels = s->precond ? s->problem->levels : NULL;
    rt_text_add(line, "%s", nek_precond_names[nek_precond(config, s->kernels)]);
    for (int l = 0; levels && l < levels->count; l++)
        rt_text_add(line, "%s%d", l ? "-" : " ", levels->level[l].grid.degree);
    if (levels)
        rt_text_add(line, ", chebyshev of order %d", levels->coarse_order);
}

/* Summarizes the history. The verification has compared it with the reference's and with b - A
 * x. */
static void conclude(const nek_solver_t *s, rt_text_t *line)
{
    const double tolerance = s->problem->config->tolerance;
    const int64_t needed = iterations_needed(s);
    if (!rt_finite(s->history[s->done]) || !rt_finite(s->residual))
        return;
    if (s->to_tolerance) {
        rt_text(line, "|b - Ax| = %.2e |b| in %d iterations; preconditioner ",
                s->residual / s->history[0], s->done);
        add_precond(s, line);
        if (s->precond)
            rt_text_add(line, ", made in %.3g s", s->problem->levels->seconds);
        rt_text_add(line, "; %d iterations without", s->problem->target->plain_iterations);
        return;
    }
    rt_text(line, "|r| from %.3e to %.3e in %d iterations, |b - Ax| %.3e; ", s->history[0],
            s->history[s->done], s->done, s->residual);
    if (needed >= 0)
        rt_text_add(line, "%g |b| reached in %lld", tolerance, (long long)needed);
    else
        rt_text_add(line, "%g |b| not reached", tolerance);
}

static void write_solve(const nek_solver_t *s, json_t *out)
{
    const nek_target_t *target = s->problem->target;
    rt_text_t precond;
    rt_text(&precond, "%s", "");
    add_precond(s, &precond);
    json_array_append_new(rt_json_array(out, "iterations"), json_integer(s->done));
    rt_json_text(out, "preconditioner_as_used", precond.text);
    if (target) {
        rt_json_int(out, "iterations_plain", target->plain_iterations);
        rt_json_real(out, "eigen_min", target->eigen_min);
        rt_json_real(out, "eigen_max", target->eigen_max);
    }
    if (s->precond)
        rt_json_real(out, "seconds_preconditioner", s->problem->levels->seconds);
}

static void write_json(const nek_solver_t *s, json_t *out)
{
    const int64_t needed = iterations_needed(s);
    json_t *history = rt_json_array(out, "residual_history");
    /* The history of an INVALID run ends at the first value that is not finite: JSON cannot hold
     * it. */
    for (int k = 0; k <= s->done && rt_finite(s->history[k]); k++)
        rt_json_append_real(history, s->history[k]);
    if (needed >= 0)
        rt_json_int(out, "iterations_to_tolerance", needed);
    if (rt_finite(s->residual))
        rt_json_real(out, "true_residual", s->residual);
    rt_json_text(out, "preconditioner",
                 nek_precond_names[nek_precond(s->problem->config, s->kernels)]);
    if (s->halo && rt_comm_size() > 1) {
        rt_json_text(out, "transport", rt_halo_info(s->halo).transport);
        rt_json_text(out, "transport_choice", rt_halo_info(s->halo).choice);
        rt_json_text(out, "sums_over_ranks", s->sums ? s->sums : "mpi");
    }
    if (s->to_tolerance) {
        write_solve(s, out);
        return;
    }
    rt_json_real(out, "eigen_min", s->problem->eigen_min);
    rt_json_real(out, "eigen_max", s->problem->eigen_max);
}

void nek_result(const void *solver, rt_result_t *out)
{
    const nek_solver_t *s = solver;
    nek_work_done(s, out->work);
    conclude(s, &out->line);
    if (out->json)
        write_json(s, out->json);
}

/* --- the paper's figures, next to ours --- */

/* Returns the figures of Karp et al., section VI-B: share of the measured roofline on P100 and
 * V100, by elements. */
const char *nek_paper(const rt_run_t *run, const rt_rung_t *rung)
{
    static const struct {
        int64_t elements;
        const char *layered;
    } shares[] = {{1024, "P100 78 %, V100 77 %"},
                  {2048, "P100 87 %, V100 84 %"},
                  {4096, "P100 92 %, V100 88 %"}};
    const nek_config_t *config = run->config;
    int64_t elements = config->elements[0] * config->elements[1] * config->elements[2];
    if (config->degree != 9)
        return "";
    for (size_t i = 0; i < sizeof shares / sizeof *shares; i++)
        if (elements == shares[i].elements && strcmp(rung->name, "layered") == 0)
            return shares[i].layered;
    /* section VI-A, averages over the sizes */
    if (strcmp(rung->name, "global") == 0)
        return "layered is 1.36x (P100), 1.10x (V100) of this";
    if (strcmp(rung->name, "shared") == 0)
        return "layered is 1.10x (P100), 1.06x (V100) of this";
    return "";
}
