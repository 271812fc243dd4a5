/*
 * step.c - a time step by Newmark's method, with f and A in units of c0 (gfnn.h):
 *
 *     x1 = a + (4/dt + ra) v,  x2 = rb v - u         newmark_before
 *     f = F + M x1 + K x2                            two products by elements: the internal forces
 *                                                    K u are not carried from step to step
 *     A du = f                                       conjugate gradients (cg.c)
 *     u += du, and v, a                              newmark_after
 */
#include "config.h"
#include <math.h>
#include "apps/gfnn-wave/gfnn.h"

static const double pi = 3.14159265358979323846;

/*
 * The damping ratio of a frequency w is (a / w + b w) / 2; it is h at both frequencies with
 *
 *     a = 2 h w1 w2 / (w1 + w2),    b = 2 h / (w1 + w2)
 */
gfnn_step_t gfnn_step(const gfnn_config_t *config)
{
    const double dt = config->dt, ds = config->ds;
    const double w1 = 2 * pi * GFNN_F1, w2 = 2 * pi * GFNN_F2;
    gfnn_step_t s;
    s.rayleigh_a = 2 * config->damping * w1 * w2 / (w1 + w2);
    s.rayleigh_b = 2 * config->damping / (w1 + w2);
    s.c0 = (4 / (dt * dt) + 2 * s.rayleigh_a / dt) * GFNN_RHO * ds * ds * ds;
    s.k = (1 + 2 * s.rayleigh_b / dt) * ds * GFNN_RHO / s.c0;
    s.A = (gfnn_form_t){1, s.k * GFNN_VP * GFNN_VP, s.k};
    s.unit = GFNN_RHO * ds * ds * ds / s.c0;
    s.M = (gfnn_form_t){1, 0, 0};
    s.K = (gfnn_form_t){0, GFNN_VP * GFNN_VP / (ds * ds), 1 / (ds * ds)};
    return s;
}

void gfnn_source_node(const gfnn_box_t *box, int64_t node[3])
{
    static const double place[3] = GFNN_SOURCE_AT;
    for (int d = 0; d < 3; d++)
        node[d] = (int64_t)(place[d] * (double)box->E[d] + 0.5);
}

/* A Ricker wavelet of 1 N, with its peak after one period. A period has at least four steps
 * (app.c), so the first step's force is 0.001 to 0.04 of the peak: a soft start, and a right-hand
 * side. */
gfnn_force_t gfnn_source(const gfnn_config_t *config, const gfnn_box_t *box,
                         const gfnn_step_t *step, double time)
{
    int64_t node[3];
    gfnn_source_node(box, node);
    gfnn_force_t force = {gfnn_own_node(box, &box->fine, node), 0};
    if (force.at < 0)
        return force;
    const double phase = pi * (config->frequency * time - 1), square = phase * phase;
    force.at += 2 * box->fine.plane;
    force.value = (1 - 2 * square) * exp(-square) / step->c0;
    return force;
}

static void add_force(gfnn_solver_t *s, double time)
{
    const gfnn_problem_t *p = s->problem;
    const gfnn_force_t force = gfnn_source(p->config, &p->box, &p->step, time);
    if (force.at >= 0)
        s->vectors->add(&s->view_vec, force.at, force.value, s->f);
}

/* Computes f; uses x and q. */
static void right_hand_side(gfnn_solver_t *s, double time)
{
    const gfnn_config_t *config = s->problem->config;
    const gfnn_step_t *step = &s->problem->step;
    gfnn_start(s, "newmark before");
    s->vectors->newmark_before(&s->view_vec, config->dt, step->rayleigh_a, step->rayleigh_b, s->u,
                               s->v, s->a, s->x, s->q);
    rt_timer_stop("newmark before");
    gfnn_apply(s, &step->M, s->x, s->f);
    gfnn_apply(s, &step->K, s->q, s->x);
    gfnn_start(s, "force");
    s->vectors->axpby(&s->view_vec, step->unit, s->x, step->unit, s->f);
    add_force(s, time);
    rt_timer_stop("force");
}

void gfnn_count_step(gfnn_solver_t *s)
{
    s->iterations += s->last_iterations;
    s->worst = fmax(s->worst, s->residual);
    if (s->steps < GFNN_MAX_HISTORY) {
        s->history[s->steps] = s->last_iterations;
        s->residuals[s->steps] = s->residual;
    }
    s->steps++;
    if (s->after_step)
        s->after_step(s->after_step_data);
}

void gfnn_time_steps(gfnn_solver_t *s)
{
    const gfnn_config_t *config = s->problem->config;
    s->steps = s->iterations = 0;
    s->worst = 0;
    while (s->steps < config->steps) {
        right_hand_side(s, (double)(s->steps + 1) * config->dt);
        s->last_iterations = gfnn_cg(s);
        gfnn_start(s, "newmark after");
        s->vectors->newmark_after(&s->view_vec, config->dt, s->x, s->u, s->v, s->a);
        rt_timer_stop("newmark after");
        gfnn_count_step(s);
        if (!(s->residual < config->tolerance))
            return;
    }
}
