/*
 * cg.c - conjugate gradients over a rung's function tables. An iteration (work.c counts what it
 * must move):
 *
 *     z = B r                                        precond.c
 *     z.r, z.q                                       dots
 *     x += alpha p, p = z + beta p                   direction
 *     q = A p, p.q                                   operator
 *     r -= alpha q, r.r, low = r                     update
 *
 * x is a step behind: its part of an iteration waits until the next one reads p anyway. If B is the
 * blocks of the diagonal, z and z.r are part of the update (update_bj), so that this rival of the
 * networks is at its best: three passes per iteration.
 *
 * A network is not symmetric, so beta is Polak's and Ribiere's, z.(r - r_old) / z_old.r_old. As
 * r - r_old = -alpha q, that is -alpha z.q / z_old.r_old, and no old vector has to be kept. B works
 * on FP32 or on 16-bit floats, so it gets r scaled to about 1 by a power of two.
 */
#include "config.h"
#include <math.h>
#include "gfnn.h"

/* Returns the largest power of two below 1 / x. */
static double unit_scale(double x)
{
    int exponent;
    frexp(x, &exponent);
    return ldexp(1, -exponent);
}

typedef struct {
    void *low; /* what the preconditioner gets; NULL: nothing */
    int precision;
    bool plain, fused;      /* B = 1; z comes with the update */
    bool flexible;          /* beta */
    double scale, most;     /* of low or z; of f the largest value, if fused the norm */
    double ff, rr;          /* f . f, r . r */
    double zr, zq;          /* of z as it is, scaled */
    double alpha, beta, rz; /* rz: z . r */
} cg_t;

/* Moves r along with the step along p: makes r . r and the input of z, or z itself and z . r. */
static void update(gfnn_solver_t *s, cg_t *cg)
{
    const gfnn_vectors_t *v = s->vectors;
    double sums[2] = {0};
    gfnn_start(s, "update");
    if (!cg->plain) /* the largest |r| is taken to have fallen as the norm */
        cg->scale = unit_scale(cg->most * sqrt(cg->rr / cg->ff));
    if (cg->fused)
        v->update_bj(&s->view_vec, cg->alpha, s->q, s->r, cg->scale, s->z, sums);
    else
        sums[0] = v->update(&s->view_vec, cg->alpha, s->q, s->r, cg->scale, cg->precision, cg->low);
    rt_comm_sum(sums, cg->fused ? 2 : 1);
    cg->rr = sums[0];
    cg->zr = sums[1];
    rt_timer_stop("update");
}

/* Sets x = 0, r = f, and makes the input of z. */
static void begin(gfnn_solver_t *s, cg_t *cg)
{
    const gfnn_config_t *config = s->problem->config;
    const gfnn_vectors_t *v = s->vectors;
    const gfnn_view_t *view = &s->view_vec;
    const size_t bytes = 3 * (size_t)s->problem->box.fine.plane * sizeof(double);
    *cg = (cg_t){.low = gfnn_reads_low(config) ? s->low : (void *)s->r32,
                 .precision = gfnn_reads_low(config) ? GFNN_FP16 : GFNN_FP32,
                 .plain = config->precond == GFNN_NONE,
                 .fused = config->precond == GFNN_BJ,
                 .flexible = gfnn_has_network(config),
                 .scale = 1};
    gfnn_start(s, "vectors");
    rt_copy(s->r, s->space, s->f, s->space, bytes);
    v->fill(view, 0, s->x);
    cg->ff = v->dot(view, s->r, s->r);
    rt_comm_sum(&cg->ff, 1);
    cg->rr = cg->ff;
    if (cg->low && cg->ff > 0) {
        cg->most = v->pack(view, s->r, 1, cg->precision, cg->low);
        rt_comm_max(&cg->most, 1);
        cg->scale = unit_scale(cg->most);
        v->pack(view, s->r, cg->scale, cg->precision, cg->low);
    }
    rt_timer_stop("vectors");
    if (cg->fused && cg->ff > 0) {
        cg->most = sqrt(cg->ff);
        update(s, cg); /* by 0: z alone */
    }
}

/* Computes z = B r, z . r and z . q. */
static void precondition(gfnn_solver_t *s, cg_t *cg, bool first)
{
    double sums[2];
    gfnn_precondition(s);
    gfnn_start(s, "dots");
    s->vectors->dots(&s->view_vec, s->z, s->r, cg->flexible && !first ? s->q : NULL, sums);
    rt_comm_sum(sums, 2);
    cg->zr = sums[0];
    cg->zq = sums[1];
    rt_timer_stop("dots");
}

/* Makes x += alpha p of the iteration before, and p = z + beta p. */
static void turn(gfnn_solver_t *s, cg_t *cg, bool first)
{
    const gfnn_vectors_t *v = s->vectors;
    const double before = cg->rz;
    if (cg->plain)
        cg->zr = cg->rr;
    else if (!cg->fused)
        precondition(s, cg, first);
    cg->rz = cg->zr / cg->scale;
    cg->beta = (cg->flexible ? -cg->alpha * cg->zq / cg->scale : cg->rz) / before;
    if (first)
        cg->beta = 0;
    gfnn_start(s, "direction");
    if (cg->plain)
        v->direction_plain(&s->view_vec, cg->alpha, s->x, s->r, cg->beta, s->p);
    else
        v->direction(&s->view_vec, cg->alpha, s->x, 1 / cg->scale, s->z, cg->beta, s->p);
    rt_timer_stop("direction");
}

/* Goes along p to the least error; x does not follow yet. */
static void move(gfnn_solver_t *s, cg_t *cg)
{
    cg->alpha = cg->rz / gfnn_apply_dot(s);
    update(s, cg);
    s->residual = sqrt(cg->rr / cg->ff);
}

/* Makes the step that x has not made yet. */
static void arrive(gfnn_solver_t *s, const cg_t *cg)
{
    gfnn_start(s, "direction");
    s->vectors->axpby(&s->view_vec, cg->alpha, s->p, 1, s->x);
    rt_timer_stop("direction");
}

int64_t gfnn_cg(gfnn_solver_t *s)
{
    const gfnn_config_t *config = s->problem->config;
    int64_t iteration = 0;
    cg_t cg;
    begin(s, &cg);
    s->residual = cg.ff == 0 ? 0 : 1;
    if (cg.ff == 0)
        return 0;
    do {
        turn(s, &cg, iteration == 0);
        move(s, &cg);
        iteration++;
    } while (iteration < config->max_iterations && !(s->residual < config->tolerance) &&
             rt_finite(s->residual));
    arrive(s, &cg);
    return s->residual < config->tolerance ? iteration : config->max_iterations;
}
