/*
 * solve.c - conjugate gradients over a rung's function table; work.c has the bytes of each line.
 *
 * Nekbone's own list moves 240: it also copies z = r (there is no preconditioner), forms r.r twice,
 * and does the shift, the inner products and the two updates separately. This file does not know
 * about devices: the function table determines where the arrays are and what works on them.
 */
#include "config.h"
#include "precond/precond.h"
#include <math.h>
#include <string.h>

/* The least tolerance that a solve accepts. */
#define NEK_LEAST_TOLERANCE 1e-13

const char *nek_refuse(const rt_kernels_t *self, const void *options, rt_text_t *why)
{
    const nek_config_t *config = options;
    const nek_kernels_t *kernels = (const nek_kernels_t *)self;
    if (kernels->max_n && config->n > kernels->max_n)
        return kernels->max_n_reason;
    const int precond = nek_precond(config, kernels);
    if (precond == NEK_SCHWARZ && !kernels->preconditioner)
        return "schwarz is a preconditioner of the ladder solve: use solve-cpu, or --ladder --only "
               "solve";
    if (precond == NEK_NONE && kernels->preconditioner && kernels->roundoff > 0)
        return "its FP32 vectors are for schwarz: use solve-cuda without a preconditioner";
    if (kernels->preconditioner && !config->solves)
        return "on the ladder solve: add --only solve, or --rung NAME without --ladder";
    if (kernels->preconditioner && !config->communication)
        return "without the gather-scatter there is no system to solve";
    if (kernels->preconditioner && config->tolerance < NEK_LEAST_TOLERANCE)
        return rt_text(why, "FP64 does not reach --tolerance %g: give at least %g",
                       config->tolerance, NEK_LEAST_TOLERANCE);
    return NULL;
}

/* Makes the kernels' view in the rung's space; a rung on the host uses the problem's arrays. */
static void view_to_space(nek_solver_t *s)
{
    const nek_view_t *host = &s->problem->view;
    const size_t points = (size_t)host->points, n = (size_t)host->n;
    const size_t scratch = points * (size_t)s->kernels->scratch_arrays;
    s->view = *host;
    if (s->space != RT_HOST) {
        s->view.D = rt_clone(host->D, n * n, sizeof(double), s->space);
        s->view.G = rt_clone(host->G, 6 * points, sizeof(double), s->space);
        s->view.c = rt_clone(host->c, points, sizeof(double), s->space);
    }
    s->view.scratch = RT_NEW(double, scratch, s->space);
    s->view.partial = RT_NEW(double, (size_t)nek_partials(host->points), s->space);
    s->view.result = RT_NEW(double, 1, RT_PINNED);
}

/* Makes the five vectors, or takes the lender's. */
static void make_vectors(nek_solver_t *s, const nek_solver_t *lender)
{
    const size_t points = (size_t)s->view.points;
    s->borrows = lender != NULL;
    s->b = lender ? lender->b : rt_clone(s->problem->b, points, sizeof(double), s->space);
    s->x = lender ? lender->x : RT_NEW(double, points, s->space);
    s->r = lender ? lender->r : RT_NEW(double, points, s->space);
    s->p = lender ? lender->p : RT_NEW(double, points, s->space);
    s->w = lender ? lender->w : RT_NEW(double, points, s->space);
}

void *nek_solver_new(void *problem, const rt_rung_t *rung)
{
    return nek_solver_borrow(problem, rung, NULL);
}

nek_solver_t *nek_solver_borrow(nek_problem_t *p, const rt_rung_t *rung, const nek_solver_t *lender)
{
    nek_solver_t *s = RT_NEW(nek_solver_t, 1, RT_HOST);
    const nek_config_t *config = p->config;
    const bool to_tolerance = nek_kernels(rung)->preconditioner != NULL;
    const size_t points = (size_t)config->points,
                 iterations = (size_t)(to_tolerance ? config->max_iterations : config->iterations);
    memset(s, 0, sizeof *s);
    s->problem = p;
    s->rung = rung;
    s->kernels = nek_kernels(rung);
    s->space = rt_rung_space(rung);
    s->iterations = (int)iterations;
    s->to_tolerance = to_tolerance;
    s->tolerance = config->tolerance;
    s->lambda = config->lambda;
    view_to_space(s);
    const bool own_halo =
        p->config->communication && (s->space != RT_HOST || rt_halo_is_cut(p->run->opt.transport));
    s->halo = own_halo ? nek_halo_new(p->config, false, p->run->opt.transport, rung->kind, s->space)
                       : p->halo;
    rt_setup_charge(own_halo ? 0 : p->halo_seconds);
    s->base = s->space == RT_HOST ? p->b : rt_clone(p->b, points, sizeof(double), s->space);
    make_vectors(s, lender);
    s->history = RT_NEW(double, iterations + 1, RT_HOST);
    s->alpha = RT_NEW(double, iterations, RT_HOST);
    s->beta = RT_NEW(double, iterations, RT_HOST);
    s->view.choice = rt_tune_choice(p->run, rung);
    if (s->kernels->set_up)
        s->kernels->set_up(s);
    if (to_tolerance && nek_precond(config, s->kernels) == NEK_SCHWARZ)
        s->kernels->preconditioner->set_up(s);
    return s;
}

void nek_left_destroy(nek_left_t *left)
{
    RT_FREE_ALL(RT_HOST, left->x, left->r, left->history);
    *left = (nek_left_t){.done = 0};
}

void nek_solver_destroy(void *solver)
{
    nek_solver_t *s = solver;
    if (s->kernels->tear_down)
        s->kernels->tear_down(s);
    if (s->precond)
        s->kernels->preconditioner->tear_down(s);
    if (s->space != RT_HOST)
        RT_FREE_ALL(s->space, s->view.D, s->view.G, s->view.c, s->base);
    if (s->halo != s->problem->halo)
        rt_halo_destroy(s->halo);
    for (int k = 0; k < RT_KEEPS; k++)
        nek_left_destroy(&s->kept[k]);
    if (!s->borrows)
        RT_FREE_ALL(s->space, s->b, s->x, s->r, s->p, s->w);
    RT_FREE_ALL(s->space, s->view.scratch, s->view.partial);
    RT_FREE(s->view.result, RT_PINNED);
    RT_FREE_ALL(RT_HOST, s->history, s->alpha, s->beta, s);
}

double nek_apply(nek_solver_t *s, const double *p, double *w)
{
    rt_kind_t kind = s->rung->kind;
    rt_timer_start("ax", kind);
    s->kernels->ax(&s->view, p, w);
    rt_timer_stop("ax");
    if (s->halo) {
        rt_field_t field = rt_field_f64(w);
        rt_timer_start("gather-scatter", kind);
        rt_halo_do(s->halo, RT_HALO_SUM, &field);
        rt_timer_stop("gather-scatter");
    }
    rt_timer_start("shift", kind);
    double pw = s->kernels->vector->shift(&s->view, s->lambda, p, w);
    rt_comm_sum(&pw, 1);
    rt_timer_stop("shift");
    return pw;
}

void nek_update_p(nek_solver_t *s, double beta, const double *r, double *p)
{
    rt_timer_start("update_p", s->rung->kind);
    s->kernels->vector->update_p(&s->view, beta, r, p);
    rt_timer_stop("update_p");
}

double nek_update_xr(nek_solver_t *s, double alpha, const double *p, const double *w, double *x,
                     double *r)
{
    rt_timer_start("update_xr", s->rung->kind);
    double rr = s->kernels->vector->update_xr(&s->view, alpha, p, w, x, r);
    rt_comm_sum(&rr, 1);
    rt_timer_stop("update_xr");
    return rr;
}

/* Makes z of r; returns r.z. */
static double precondition(nek_solver_t *s, double norm)
{
    double rz;
    rt_timer_start("precondition", s->rung->kind);
    rz = s->kernels->preconditioner->apply(s, norm, s->r);
    rt_comm_sum(&rz, 1);
    rt_timer_stop("precondition");
    return rz;
}

void nek_update_direction(nek_solver_t *s, double beta)
{
    if (!s->precond || !s->kernels->preconditioner->update_p) {
        nek_update_p(s, beta, s->precond ? s->z : s->r, s->p);
        return;
    }
    rt_timer_start("update_p", s->rung->kind);
    s->kernels->preconditioner->update_p(s, beta, s->p);
    rt_timer_stop("update_p");
}

void nek_solve(void *solver)
{
    nek_solver_t *s = solver;
    s->done = s->iterations;
    (s->kernels->cg ? s->kernels->cg : nek_solve_by_lines)(s);
}

void nek_solve_by_lines(nek_solver_t *s)
{
    size_t bytes = (size_t)s->view.points * sizeof(double);
    double before = INFINITY; /* r.z of the iteration before */

    rt_copy(s->r, s->space, s->b, s->space, bytes);
    rt_fill(s->x, s->space, 0, bytes);
    rt_fill(s->p, s->space, 0, bytes);
    double rr = nek_update_xr(s, 0, s->p, s->p, s->x, s->r); /* a step of length 0 */
    s->history[0] = sqrt(rr);

    for (int k = 0; k < s->iterations; k++) {
        const double rz = s->precond ? precondition(s, s->history[k]) : rr;
        double beta = rz / before; /* 0 in the first iteration */
        nek_update_direction(s, beta);
        double pw = nek_apply(s, s->p, s->w);
        /* After convergence to the last bit p may vanish; a step of zero keeps x. */
        double alpha = pw > 0 ? rz / pw : 0;

        rr = nek_update_xr(s, alpha, s->p, s->w, s->x, s->r);
        before = rr == 0 ? INFINITY : rz;
        s->history[k + 1] = sqrt(rr);
        s->alpha[k] = alpha;
        s->beta[k] = beta;
        const bool reached = s->history[k + 1] <= s->tolerance * s->history[0];
        if (s->to_tolerance && (reached || !rt_finite(s->history[k + 1]))) {
            s->done = k + 1;
            break;
        }
    }
}

/* --- what a run says of its last solve: one line, and more in the JSON file --- */

/* Summarizes the history. The verification has compared it with the reference's and with b - A
 * x. */
static void conclude(const nek_solver_t *s, rt_text_t *line)
{
    if (!rt_finite(s->history[s->done]) || !rt_finite(s->residual))
        return;
    if (s->to_tolerance) {
        const nek_levels_t *levels = s->precond ? s->problem->levels : NULL;
        rt_text(line, "|b - Ax| = %.2e |b| in %d iterations; preconditioner %s",
                s->residual / s->history[0], s->done,
                nek_precond_names[nek_precond(s->problem->config, s->kernels)]);
        for (int l = 0; levels && l < levels->count; l++) /* schwarz 9-3-1 */
            rt_text_add(line, "%s%d", l ? "-" : " ", levels->level[l].grid.degree);
        if (levels)
            rt_text_add(line, ", chebyshev of order %d", levels->coarse_order);
        rt_text_add(line, "; %d iterations without", s->problem->reference.plain_iterations);
        return;
    }
    rt_text(line, "|r| from %.3e to %.3e in %d iterations, |b - Ax| %.3e", s->history[0],
            s->history[s->done], s->done, s->residual);
}

static void write_json(const nek_solver_t *s, json_t *out)
{
    json_t *history = rt_json_array(out, "residual_history");
    /* The history of an INVALID run ends at the first value that is not finite: JSON cannot hold
     * it. */
    for (int k = 0; k <= s->done && rt_finite(s->history[k]); k++)
        rt_json_append_real(history, s->history[k]);
    if (rt_finite(s->residual))
        rt_json_real(out, "true_residual", s->residual);
    rt_json_text(out, "preconditioner",
                 nek_precond_names[nek_precond(s->problem->config, s->kernels)]);
    if (s->halo && rt_comm_size() > 1) {
        rt_json_text(out, "transport", rt_halo_info(s->halo).transport);
        rt_json_text(out, "transport_choice", rt_halo_info(s->halo).choice);
    }
    if (s->to_tolerance) {
        json_array_append_new(rt_json_array(out, "iterations"), json_integer(s->done));
        rt_json_int(out, "iterations_plain", s->problem->reference.plain_iterations);
    }
}

void nek_result(const void *solver, rt_result_t *out)
{
    const nek_solver_t *s = solver;
    nek_work_done(s, out->work);
    conclude(s, &out->line);
    if (out->json)
        write_json(s, out->json);
}
