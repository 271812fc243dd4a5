/*
 * flow.c - the state of a time step, and the step itself.
 */
#include "config.h"
#include "../alya.h"
#include <math.h>

/* --- state --- */

static double *new_values(int64_t n, rt_space_t space)
{
    return RT_NEW(double, (size_t)n, space);
}

/* Copies the rows to where the rung's loops are. */
static alya_rows_t clone_rows(const alya_rows_t *host, rt_space_t space)
{
    alya_rows_t rows = *host;
    const size_t nodes = (size_t)host->nodes, entries = (size_t)host->entries;
    rows.slice =
        rt_clone(host->slice, (size_t)alya_slices(host->nodes) + 1, sizeof(int64_t), space);
    rows.column = rt_clone(host->column, entries, sizeof(int32_t), space);
    rows.laplace = rt_clone(host->laplace, entries, sizeof(double), space);
    rows.gradient = rt_clone(host->gradient, 3 * entries, sizeof(double), space);
    rows.per_volume = rt_clone(host->per_volume, nodes, sizeof(double), space);
    rows.per_diagonal = rt_clone(host->per_diagonal, nodes, sizeof(double), space);
    rows.fixed = rt_clone(host->fixed, nodes, 1, space);
    rows.own = rt_clone(host->own, nodes, 1, space);
    return rows;
}

alya_flow_t *alya_flow_new(const alya_solver_t *s, const alya_loops_t *loops)
{
    const alya_problem_t *p = s->problem;
    const alya_rows_t *host = &p->flow->rows;
    const int64_t nodes = host->nodes;
    const bool on_host = s->space == RT_HOST;
    alya_flow_t *flow = RT_NEW(alya_flow_t, 1, RT_HOST);
    *flow = (alya_flow_t){.loops = loops,
                          .space = s->space,
                          .kind = s->rung->kind,
                          .halo = p->halo,
                          .own_halo = p->halo && s->halo != p->halo,
                          .dt = p->flow->dt,
                          .tolerance = p->config->tolerance};
    if (flow->own_halo)
        flow->halo = alya_halo_new(p->mesh, p->run->opt.transport, s->rung->kind, s->space, 0);
    flow->view = (alya_flow_view_t){
        .rows = on_host ? *host : clone_rows(host, s->space),
        .partial = new_values(2 * alya_partial_sums(nodes), on_host ? RT_HOST : RT_PINNED),
        .begin = new_values(3 * nodes, s->space),
        .p = new_values(nodes, s->space),
        .b = new_values(nodes, s->space),
        .d = new_values(nodes, s->space),
        .q = new_values(nodes, s->space),
        .u = s->u,
        .r = s->r,
        .u_stride = s->u_stride,
        .r_stride = s->kernels->r_stride};
    const double begin = rt_clock();
    flow->amg = alya_amg_new(flow, p);
    flow->amg_seconds = rt_clock() - begin;
    return flow;
}

void alya_flow_destroy(alya_flow_t *flow)
{
    if (!flow)
        return;
    alya_flow_view_t *v = &flow->view;
    alya_amg_destroy(flow->amg);
    if (flow->own_halo)
        rt_halo_destroy(flow->halo);
    if (flow->space != RT_HOST)
        RT_FREE_ALL(flow->space, v->rows.slice, v->rows.column, v->rows.laplace, v->rows.gradient,
                    v->rows.per_volume, v->rows.per_diagonal, v->rows.fixed, v->rows.own);
    RT_FREE_ALL(flow->space, v->begin, v->p, v->b, v->d, v->q);
    RT_FREE(v->partial, flow->space == RT_HOST ? RT_HOST : RT_PINNED);
    RT_FREE(flow, RT_HOST);
}

void alya_flow_spoil(alya_flow_t *flow)
{
    const size_t bytes = (size_t)flow->view.rows.nodes * sizeof(double);
    rt_fill(flow->view.begin, flow->space, 0xff, 3 * bytes);
    rt_fill(flow->view.p, flow->space, 0xff, bytes);
    flow->steps = flow->iterations = 0;
}

/* --- a step --- */

void alya_project(alya_solver_t *s)
{
    alya_flow_t *flow = s->flow;
    const alya_flow_view_t *view = &flow->view;
    const double per_step = s->physics.rho / flow->dt;
    rt_timer_start("pressure", flow->kind);
    flow->loops->divergence(view, -per_step);
    alya_flow_sum(flow, view->b);
    flow->iterations += alya_pressure_solve(flow);
    rt_timer_stop("pressure");
    rt_timer_start("project", flow->kind);
    flow->loops->gradient(view);
    alya_sum_r(s);
    flow->loops->advance(view, false, 0, -1 / per_step);
    rt_timer_stop("project");
}

void alya_step(alya_solver_t *s)
{
    static const double old[3] = {0, 3. / 4, 1. / 3};
    alya_flow_t *flow = s->flow;
    for (int k = 0; k < 3; k++) {
        alya_assemble(s);
        rt_timer_start("advance", flow->kind);
        flow->loops->advance(&flow->view, k == 0, old[k], flow->dt / s->physics.rho);
        rt_timer_stop("advance");
    }
    alya_project(s);
    flow->steps++;
}

/* --- what is known after a solve --- */

void alya_flow_pressure(const alya_solver_t *s, double *p)
{
    const alya_flow_t *flow = s->flow;
    const alya_rows_t *rows = &s->problem->flow->rows;
    double sums[2] = {0, 0};
    rt_copy(p, RT_HOST, flow->view.p, flow->space, (size_t)rows->nodes * sizeof(double));
    if (s->problem->config->is_hill || s->problem->config->from_file)
        return;
    for (int64_t n = 0; n < rows->nodes; n++)
        if (rows->own[n]) {
            sums[0] += p[n] / rows->per_volume[n];
            sums[1] += 1 / rows->per_volume[n];
        }
    rt_comm_sum(sums, 2);
    for (int64_t n = 0; n < rows->nodes; n++)
        p[n] -= sums[0] / sums[1];
}

/* Returns the root mean square of div u, (D u)_a / V_a at a node, 1/s. */
static double divergence(const alya_solver_t *s)
{
    const alya_flow_t *flow = s->flow;
    const alya_rows_t *rows = &s->problem->flow->rows;
    double *b = new_values(rows->nodes, RT_HOST), sums[2] = {0, 0};
    flow->loops->divergence(&flow->view, 1);
    alya_flow_sum(flow, flow->view.b);
    rt_copy(b, RT_HOST, flow->view.b, flow->space, (size_t)rows->nodes * sizeof(double));
    for (int64_t n = 0; n < rows->nodes; n++)
        if (rows->own[n] && !(rows->fixed[n] & ALYA_PRESSURE_FIXED)) {
            sums[0] += b[n] * b[n] * rows->per_volume[n];
            sums[1] += 1 / rows->per_volume[n];
        }
    RT_FREE(b, RT_HOST);
    rt_comm_sum(sums, 2);
    return sqrt(sums[0] / sums[1]);
}

/* Returns the seconds of an assembly, the fastest of a few. */
static double seconds_of_assembly(const alya_solver_t *s)
{
    double best = INFINITY;
    for (int k = 0; k < 5; k++) {
        const double begin = rt_window_begin();
        s->kernels->assemble(&s->view, &s->physics, s->u, s->r);
        best = fmin(best, rt_window_end(begin));
    }
    rt_comm_max(&best, 1);
    return best;
}

void alya_flow_result(const alya_solver_t *s, rt_result_t *out)
{
    const alya_flow_t *flow = s->flow;
    const double steps = (double)s->problem->config->steps, left = divergence(s);
    const double iterations = (double)flow->iterations / steps;
    const char *solver = flow->amg ? "hypre's BoomerAMG" : "the diagonal";
    if (!flow->amg)
        alya_work_pressure(s->problem->run, iterations, out->work);
    if (s->problem->run->opt.seconds > 0)
        out->kernel_seconds = 3 * seconds_of_assembly(s);
    rt_text(
        &out->line,
        "dt %.4g s, to t = %.4g s; pressure in %.4g iterations per step, preconditioned by %s; div u "
        "%.3g /s (root mean square)",
        flow->dt, flow->dt * steps, iterations, solver, rt_finite(left) ? left : -1);
    if (!out->json || !rt_finite(left))
        return;
    rt_json_real(out->json, "dt", flow->dt);
    if (out->kernel_seconds > 0)
        rt_json_real(out->json, "assembly_seconds", out->kernel_seconds);
    rt_json_real(out->json, "time", flow->dt * steps);
    rt_json_text(out->json, "pressure_preconditioner", solver);
    rt_json_real(out->json, "pressure_iterations", iterations);
    rt_json_real(out->json, "pressure_setup_seconds", flow->amg ? flow->amg_seconds : 0);
    rt_json_real(out->json, "divergence", left);
}
