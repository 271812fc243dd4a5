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
 * x, r, p and q are FP64, or FP32 (--vectors) at half the bytes. FP32 costs no iteration, but its r
 * drifts away from f - A x, and x ends at 1e-7 of the solution. So when |r| has fallen by 1e-4, the
 * step along p that x has still to make is made, x is added to du in FP64 and becomes 0, and f - A
 * du replaces r; p stays. This costs one product in FP64 and three passes, once in a step
 * to 1e-8. f is scaled by a power of two, so that FP32 has the range.
 *
 * The scalars are in cg.h. Where they are on a GPU, nothing of an iteration waits for the host, so an
 * iteration is recorded once and replayed (machine/replay.h). The host only has to know when to
 * stop. An iteration that is one too many changes nothing (cg.h), but takes its time (9 % of a step of
 * 11), and a wait leaves the GPU idle for some 8 us. So the host stays two iterations ahead, which
 * keeps the stream full, and waits for the last one only where the end is near by how fast the
 * residual has fallen so far (ends_soon). All ranks decide by the same numbers, so they start the
 * same iterations. Where r must be replaced the solve rests, as if it had ended, until the host has
 * done that. Nothing is known of earlier solves, or may be (docs/run-rules.md).
 *
 * A network is not symmetric, so beta is Polak's and Ribiere's, z.(r - r_old) / z_old.r_old. As
 * r - r_old = -alpha q, that is -alpha z.q / z_old.r_old, and no old vector has to be kept. B works
 * on FP32 or on 16-bit floats, so it gets r scaled to about 1 by a power of two.
 */
#include "config.h"
#include <math.h>
#include "base/mem.h"
#include "apps/gfnn-wave/gfnn.h"

/* --- scalars in host memory --- */

static gfnn_cg_data_t make(bool on_stream)
{
    double *history = RT_NEW(double, GFNN_MOST_RESIDUALS, RT_HOST);
    const gfnn_cg_data_t data = {.cg = RT_NEW(gfnn_cg_t, 1, RT_HOST), .history = history};
    (void)on_stream;
    *data.cg = (gfnn_cg_t){.history = history};
    return data;
}

static void destroy(gfnn_cg_data_t *data)
{
    RT_FREE(data->cg->history, RT_HOST);
    RT_FREE(data->cg, RT_HOST);
}

/* The largest |f| is for a preconditioner that reads a scaled r. */
static void settle(const gfnn_cg_data_t *data, gfnn_stage_t stage)
{
    const gfnn_method_t *method = &data->cg->method;
    double *sums = data->cg->sums;
    const bool alone = stage == GFNN_STARTED || stage == GFNN_APPLIED || stage == GFNN_RENEWED ||
                       (stage == GFNN_UPDATED && !method->fused);
    rt_comm_sum(sums, alone ? 1 : 2);
    if (stage == GFNN_STARTED && !method->fused)
        rt_comm_max(sums + 1, 1);
    gfnn_form(data->cg, stage);
}

static gfnn_status_t status(const gfnn_cg_data_t *data, int64_t iterations)
{
    (void)iterations;
    return data->cg->status;
}

static double residual(const gfnn_cg_data_t *data, int64_t iterations)
{
    return data->cg->history[iterations];
}

const gfnn_scalars_t gfnn_scalars_host = {
    .make = make, .destroy = destroy, .settle = settle, .status = status, .residual = residual};

/* --- conjugate gradients --- */

static void settle_sums(const gfnn_solver_t *s, gfnn_stage_t stage)
{
    s->vectors->scalars->settle(&s->scalars, stage);
}

static const gfnn_loops_t *loops(const gfnn_solver_t *s)
{
    return s->vectors->loops[s->problem->config->vectors];
}

/* Returns what the loops make of r for the preconditioner; NULL: it reads r, or none of it. */
static void *made_of_r(const gfnn_solver_t *s, int *precision)
{
    const gfnn_config_t *config = s->problem->config;
    *precision = gfnn_reads_low(config) ? GFNN_FP16 : GFNN_FP32;
    if (gfnn_reads_low(config))
        return s->low;
    return gfnn_needs_r32(config) ? s->r32 : NULL;
}

/* Moves r along with the step along p: makes r . r and the input of z, or z itself and z . r. If
 * `anew`, r is new, and has moved. */
static void update(gfnn_solver_t *s, const gfnn_method_t *method, bool anew)
{
    int precision;
    void *low = made_of_r(s, &precision);
    gfnn_start(s, "update");
    if (method->fused)
        loops(s)->update_bj(&s->view_vec, s->scalars.cg, anew, s->cg.q, s->cg.r, s->z);
    else
        loops(s)->update(&s->view_vec, s->scalars.cg, s->cg.q, s->cg.r, precision, low);
    settle_sums(s, anew ? GFNN_BEGUN : GFNN_UPDATED);
    rt_timer_stop("update");
}

/* Sets r = f - y, y NULL: f, and x = 0, and makes the input of z. */
static void renew(gfnn_solver_t *s, const gfnn_method_t *method, const double *y)
{
    int precision;
    void *low = made_of_r(s, &precision);
    gfnn_start(s, "renew");
    loops(s)->renew(&s->view_vec, s->scalars.cg, s->f, y, s->cg.r, s->cg.x, precision, low);
    if (y)
        settle_sums(s, GFNN_RENEWED);
    rt_timer_stop("renew");
    if (method->fused)
        update(s, method, true);
}

static void begin(gfnn_solver_t *s, const gfnn_method_t *method)
{
    gfnn_start(s, "start");
    s->vectors->start(&s->view_vec, s->scalars.cg, method, s->f);
    settle_sums(s, GFNN_STARTED);
    rt_timer_stop("start");
    renew(s, method, NULL);
}

static void arrive(gfnn_solver_t *s, bool first)
{
    gfnn_start(s, "arrive");
    loops(s)->arrive(&s->view_vec, s->scalars.cg, first, s->cg.x, s->cg.p, s->x);
    rt_timer_stop("arrive");
}

/* Replaces r by the true residual. */
static void replace(gfnn_solver_t *s, const gfnn_method_t *method, bool first)
{
    arrive(s, first);
    gfnn_apply(s, &s->problem->step.A, s->x, s->q);
    renew(s, method, s->q);
}

static bool has_low_z(const gfnn_solver_t *s)
{
    return gfnn_z_is_low(s->kernels, s->problem->config);
}

/* Computes z = B r, z . r and z . q. */
static void precondition(gfnn_solver_t *s, const gfnn_method_t *method, bool first)
{
    gfnn_precondition(s);
    gfnn_start(s, "dots");
    const void *q = method->flexible && !first ? s->cg.q : NULL;
    if (has_low_z(s))
        loops(s)->dots_low(&s->view_vec, s->scalars.cg, (uint16_t *)s->z, s->cg.r, q);
    else
        loops(s)->dots(&s->view_vec, s->scalars.cg, s->z, s->cg.r, q);
    settle_sums(s, GFNN_PRECONDITIONED);
    rt_timer_stop("dots");
}

/* Makes x += alpha p of the iteration before, and p = z + beta p. */
static void update_direction(gfnn_solver_t *s, const gfnn_method_t *method, bool first)
{
    if (!method->fused)
        precondition(s, method, first);
    gfnn_start(s, "direction");
    if (has_low_z(s))
        loops(s)->direction_low(&s->view_vec, s->scalars.cg, first, s->cg.x, (uint16_t *)s->z,
                                s->cg.p);
    else
        loops(s)->direction(&s->view_vec, s->scalars.cg, first, s->cg.x, s->z, s->cg.p);
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
    update_direction(i->solver, i->method, i->first);
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

enum { AHEAD = 2 };

/* Returns whether the residual, now `residual` after `iterations`, will be below `limit` within
 * 2 AHEAD more, if it goes on falling as it has on average. So an iteration is started in vain only
 * where it falls twice as fast. */
static bool ends_soon(double residual, int64_t iterations, double limit)
{
    const double fallen = log(residual), left = log(limit) - fallen;
    const bool falls = residual > 0 && residual < 1;
    return !rt_finite(residual) || residual <= limit ||
           (falls && left * (double)iterations >= 2 * AHEAD * fallen);
}

/* Runs until the solve ends or rests, which it does where the residual is below `limit`; k: the
 * iterations so far, and on return. */
static gfnn_status_t run_on(gfnn_solver_t *s, const gfnn_method_t *method, double limit, int64_t *k)
{
    const gfnn_scalars_t *scalars = s->vectors->scalars;
    const int64_t first = *k, most = method->most_iterations;
    gfnn_status_t known = {1, 0};
    for (; !gfnn_cg_has_ended(&known); ++*k) {
        const int64_t before = *k - AHEAD;
        if (!scalars->on_device || *k >= most || before >= GFNN_MOST_RESIDUALS ||
            (before >= first && ends_soon(scalars->residual(&s->scalars, before), before, limit)))
            known = scalars->status(&s->scalars, *k);
        if (!gfnn_cg_has_ended(&known))
            run_iteration(s, method, *k == 0);
    }
    *k = known.progress / 2;
    return known;
}

int64_t gfnn_cg(gfnn_solver_t *s)
{
    const gfnn_config_t *config = s->problem->config;
    const bool single = gfnn_is_single(config);
    const gfnn_method_t method = {.fused = config->precond == GFNN_BJ,
                                  .flexible = gfnn_has_network(config),
                                  .single = single,
                                  .unscaled =
                                      single && !gfnn_reads_low(config) && !gfnn_needs_r32(config),
                                  .drop = single ? GFNN_DROP : 0,
                                  .tolerance = config->tolerance,
                                  .most_iterations = config->max_iterations};
    int64_t k = 0;
    int rests = 0;
    begin(s, &method);
    gfnn_status_t known = run_on(s, &method, fmax(method.drop, method.tolerance), &k);
    for (; gfnn_cg_rests(&known, &method); rests++) {
        const double limit = fmax(method.drop * known.residual, method.tolerance);
        replace(s, &method, rests == 0);
        known = run_on(s, &method, limit, &k);
    }
    arrive(s, rests == 0);
    s->residual = known.residual;
    if (s->residual == 0 && k == 0)
        return 0;
    return s->residual < config->tolerance ? k : config->max_iterations;
}

double gfnn_replacements(const gfnn_config_t *config)
{
    const double falls = log(config->tolerance) / log(GFNN_DROP);
    return gfnn_is_single(config) ? fmax(0, ceil(falls - 1e-9) - 1) : 0;
}
