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
 * The scalars are in cg.h. Where they are on a GPU, nothing of an iteration waits for the host, so an
 * iteration is recorded once and replayed (machine/replay.h). The host only has to know when to
 * stop. An iteration that is one too many changes nothing (cg.h), but takes its time. So the host
 * looks at each residual only from two iterations before the one with which the last step ended;
 * before that it runs ahead. All ranks decide by the same numbers, so they start the same
 * iterations.
 *
 * A network is not symmetric, so beta is Polak's and Ribiere's, z.(r - r_old) / z_old.r_old. As
 * r - r_old = -alpha q, that is -alpha z.q / z_old.r_old, and no old vector has to be kept. B works
 * on FP32 or on 16-bit floats, so it gets r scaled to about 1 by a power of two.
 */
#include "config.h"
#include <math.h>
#include "base/mem.h"
#include "gfnn.h"

/* --- scalars in host memory --- */

static gfnn_place_t make(bool on_stream)
{
    const gfnn_place_t place = {.cg = RT_NEW(gfnn_cg_t, 1, RT_HOST)};
    (void)on_stream;
    *place.cg = (gfnn_cg_t){.history = RT_NEW(double, GFNN_MOST_RESIDUALS, RT_HOST)};
    return place;
}

static void destroy(gfnn_place_t *place)
{
    RT_FREE(place->cg->history, RT_HOST);
    RT_FREE(place->cg, RT_HOST);
}

static void history(const gfnn_place_t *place, int64_t n, double *residuals)
{
    rt_copy(residuals, RT_HOST, place->cg->history, RT_HOST, (size_t)n * sizeof *residuals);
}

static void gather(const gfnn_view_t *view, const double *dots, int n, const gfnn_place_t *place)
{
    double all[GFNN_MOST_REGIONS];
    rt_copy(all, RT_HOST, dots, view->space, (size_t)n * sizeof *all);
    place->cg->sums[0] = 0;
    for (int i = 0; i < n; i++)
        place->cg->sums[0] += all[i];
}

/* The largest |f| is for a preconditioner that reads a scaled r. */
static void settle(const gfnn_place_t *place, gfnn_stage_t stage)
{
    const gfnn_method_t *method = &place->cg->method;
    double *sums = place->cg->sums;
    const bool alone =
        stage == GFNN_STARTED || stage == GFNN_APPLIED || (stage == GFNN_UPDATED && !method->fused);
    rt_comm_sum(sums, alone ? 1 : 2);
    if (stage == GFNN_STARTED && !method->plain && !method->fused)
        rt_comm_max(sums + 1, 1);
    gfnn_form(place->cg, stage);
}

static gfnn_told_t told(const gfnn_place_t *place, int64_t iterations)
{
    (void)iterations;
    return place->cg->told;
}

const gfnn_scalars_t gfnn_scalars_host = {.make = make,
                                          .destroy = destroy,
                                          .gather = gather,
                                          .settle = settle,
                                          .told = told,
                                          .history = history};

/* --- conjugate gradients --- */

static void settle_sums(const gfnn_solver_t *s, gfnn_stage_t stage)
{
    s->vectors->scalars->settle(&s->scalars, stage);
}

/* Moves r along with the step along p: makes r . r and the input of z, or z itself and z . r. */
static void update(gfnn_solver_t *s, const gfnn_method_t *method, bool first)
{
    const gfnn_config_t *config = s->problem->config;
    const gfnn_vectors_t *v = s->vectors;
    const bool reads_low = gfnn_reads_low(config);
    gfnn_start(s, "update");
    if (method->fused)
        v->update_bj(&s->view_vec, s->scalars.cg, first, s->q, s->r, s->z);
    else
        v->update(&s->view_vec, s->scalars.cg, s->q, s->r, reads_low ? GFNN_FP16 : GFNN_FP32,
                  reads_low ? s->low : (void *)s->r32);
    settle_sums(s, first ? GFNN_BEGUN : GFNN_UPDATED);
    rt_timer_stop("update");
}

/* Sets x = 0, r = f, and makes the input of z. */
static void begin(gfnn_solver_t *s, const gfnn_method_t *method)
{
    const gfnn_vectors_t *v = s->vectors;
    const bool reads_low = gfnn_reads_low(s->problem->config);
    void *low = reads_low ? s->low : (void *)s->r32;
    gfnn_start(s, "vectors");
    v->start(&s->view_vec, s->scalars.cg, method, s->f, s->r, s->x);
    settle_sums(s, GFNN_STARTED);
    if (low)
        v->pack(&s->view_vec, s->scalars.cg, s->r, reads_low ? GFNN_FP16 : GFNN_FP32, low);
    rt_timer_stop("vectors");
    if (method->fused)
        update(s, method, true);
}

/* Computes z = B r, z . r and z . q. */
static void precondition(gfnn_solver_t *s, const gfnn_method_t *method, bool first)
{
    gfnn_precondition(s);
    gfnn_start(s, "dots");
    s->vectors->dots(&s->view_vec, s->scalars.cg, s->z, s->r,
                     method->flexible && !first ? s->q : NULL);
    settle_sums(s, GFNN_PRECONDITIONED);
    rt_timer_stop("dots");
}

/* Makes x += alpha p of the iteration before, and p = z + beta p. */
static void turn(gfnn_solver_t *s, const gfnn_method_t *method, bool first)
{
    const gfnn_vectors_t *v = s->vectors;
    if (!method->plain && !method->fused)
        precondition(s, method, first);
    gfnn_start(s, "direction");
    if (method->plain)
        v->direction_plain(&s->view_vec, s->scalars.cg, first, s->x, s->r, s->p);
    else
        v->direction(&s->view_vec, s->scalars.cg, first, s->x, s->z, s->p);
    rt_timer_stop("direction");
}

/* --- an iteration, recorded --- */

typedef struct {
    gfnn_solver_t *solver;
    const gfnn_method_t *method;
    bool first;
} iteration_t;

/* Goes along p to the least error; x does not follow yet. */
static void iterate(void *work)
{
    const iteration_t *i = work;
    turn(i->solver, i->method, i->first);
    gfnn_apply_p(i->solver);
    update(i->solver, i->method, false);
}

/* A profile times the parts of an iteration, which a record does not have. */
static void run_iteration(gfnn_solver_t *s, const gfnn_method_t *method, bool first)
{
    iteration_t iteration = {s, method, first};
    if (s->on_stream && !rt_timer_enabled())
        rt_replay(&s->replay[first], 0, iterate, &iteration);
    else
        iterate(&iteration);
}

int64_t gfnn_cg(gfnn_solver_t *s)
{
    const gfnn_config_t *config = s->problem->config;
    const gfnn_scalars_t *scalars = s->vectors->scalars;
    const gfnn_method_t method = {.plain = config->precond == GFNN_NONE,
                                  .fused = config->precond == GFNN_BJ,
                                  .flexible = gfnn_has_network(config),
                                  .tolerance = config->tolerance,
                                  .most_iterations = config->max_iterations};
    enum { LOOK_BEFORE = 2 };
    gfnn_told_t known = {NAN, -1};
    begin(s, &method);
    for (int64_t k = 0; k <= config->max_iterations; k++) {
        if (!scalars->on_device || k >= s->expected - LOOK_BEFORE)
            known = scalars->told(&s->scalars, k);
        if (gfnn_cg_has_ended(&known))
            break;
        run_iteration(s, &method, k == 0);
    }
    gfnn_start(s, "direction");
    s->vectors->arrive(&s->view_vec, s->scalars.cg, s->p, s->x);
    rt_timer_stop("direction");
    s->residual = known.residual;
    s->expected = known.progress / 2;
    if (s->residual == 0 && s->expected == 0)
        return 0;
    return s->residual < config->tolerance ? s->expected : config->max_iterations;
}
