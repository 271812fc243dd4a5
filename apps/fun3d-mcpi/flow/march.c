/*
 * march.c - steps in pseudo-time, implicit Euler with local time steps:
 *
 *     (V / dt + dF/dq) dQ = R(w),   V / dt = rate / CFL
 *
 * The Courant number grows as the residual falls (switched evolution relaxation: Mulder & van Leer,
 * J. Comput. Phys. 59, 1985). It moves in steps of 2^(1/8): the residual's rounding, which depends
 * on the number of ranks, then hardly ever reaches the state. The operator is of first order, so a
 * step of any length leaves the second-order residual's solution where it is.
 *
 * A solve with a tolerance controls its steps; the judge needs no path then, only the residual of
 * what is left. Steps without one are done as they were asked for.
 *
 * - A step that would break positivity, or doubles the residual, is taken back, and the Courant
 *   number is halved (pseudo-transient continuation: Kelley & Keyes, SIAM J. Numer.
 *   Anal. 35, 1998). It recovers over the steps that follow.
 *   So it is where the residual grows slowly, without taking a step back.
 * - A step sweeps on while too much of the linear system is unsolved (inexact Newton: Dembo,
 *   Eisenstat & Steihaug, SIAM J. Numer. Anal. 19, 1982). With A = L + U, L the diagonal and the
 *   colours before, a sweep changes dQ by L^-1 (R - A dQ). So the last change over the first is how
 *   much is left, preconditioned by L.
 *
 * Every timed solve has an input of its own, so that no answers of earlier ones are right for it,
 * nor what can be made of them. A draw other than 0 changes
 *
 * - the scale: density, pressure and viscosity are multiplied by a power of two;
 * - Mach number and angle of attack, by up to 1 in 128;
 * - the state of each row, where the solve starts from and beyond the far field. So the steady state
 *   too depends on more numbers than there are solves. By up to 1 in 1024 a solve takes as many steps
 *   as before; a tolerance above 3e-5, which would not see that much, needs more, and allows it.
 *
 * This file never sees a device: the phases know where the arrays are.
 */
#include "config.h"
#include "march.h"
#include "node.h"
#include <math.h>
#include <string.h>

/* What a draw changes: numbers of its sequence, and by how much. */
enum { DRAWN_SCALE, DRAWN_MACH, DRAWN_ANGLE, DRAWN_STATE };
enum { MOST_EXPONENT = 8 };
static const double GAS_CHANGE = 0x1p-7;
static const double LEAST_STATE_CHANGE = 0x1p-10, MOST_STATE_CHANGE = 0x1p-2;
static const double TOLERANCES = 32; /* that a state changes by */

/* The largest Courant number, unless the first is larger. */
static const double MOST_COURANT = 1e4;

/* The control. A step that makes the residual MOST_RISE times as large is taken back; one that makes
 * it MOST_GROWTH times its least halves the Courant number. Where steps converge without control, it
 * has grown by 1.4 at most. */
static const double MOST_RISE = 2, MOST_GROWTH = 1.5;
/* The share of the linear system that a step may leave, and the sweeps after which it may anyway. */
static const double MOST_LEFT = 0.5;
enum { MOST_SWEEPS = 60 };
/* Of the Courant number's share: how it recovers in a step, and where a solve gives up. */
static const double RECOVERY = 1.09, LEAST_SHARE = 1e-6;

/* --- the flow --- */

/* Returns a number of a draw, in (-most, most). */
static double drawn(uint64_t draw, uint64_t index, double most)
{
    return draw == 0 ? 0 : most * rt_random(index, draw);
}

mcpi_gas_t mcpi_march_gas(const mcpi_config_t *config, const mcpi_geometry_t *g, uint64_t draw)
{
    static const double pi = 3.14159265358979323846;
    const double scale = exp2(round(drawn(draw, DRAWN_SCALE, MOST_EXPONENT)));
    const double mach = config->flow_mach * (1 + drawn(draw, DRAWN_MACH, GAS_CHANGE));
    const double angle = config->angle * (1 + drawn(draw, DRAWN_ANGLE, GAS_CHANGE)) * pi / 180;
    return (mcpi_gas_t){
        .stream = {scale, mach * cos(angle), 0, mach * sin(angle), scale / MCPI_GAMMA},
        .mu = config->flow_reynolds > 0 ? scale * mach * g->length / config->flow_reynolds : 0};
}

double mcpi_march_courant(const mcpi_config_t *config, double norm)
{
    static const double least = 0.1; /* of the first */
    const double grown = exp2(floor(8 * log2(1 / norm)) / 8);
    return fmin(fmax(MOST_COURANT, config->courant), config->courant * fmax(least, grown));
}

/* --- parts of a step --- */

/* Brings the ghosts of an array of `stride` values per row, a multiple of 5. */
static void exchange(mcpi_march_t *m, double *data, int stride)
{
    for (int first = 0; m->halo && first < stride; first += MCPI_Q) {
        const rt_field_t field = {data + first, RT_F64, MCPI_Q, stride, 1};
        for (int c = 0; c < m->problem->part->colours; c++)
            rt_halo_do(m->halo[c], RT_HALO_COPY, &field);
    }
}

void mcpi_march_ghosts(mcpi_march_t *m)
{
    exchange(m, m->field.w, MCPI_Q);
}

void mcpi_march_residual(mcpi_march_t *m)
{
    rt_timer_start("slopes", m->rung->kind);
    m->phases->gradient(&m->field);
    exchange(m, m->field.gradient, 3 * MCPI_Q);
    rt_timer_stop("slopes");
    rt_timer_start("residual", m->rung->kind);
    m->phases->residual(&m->field);
    rt_timer_stop("residual");
}

double mcpi_sum_chunks(const mcpi_field_t *f, rt_space_t space)
{
    const size_t chunks = (size_t)mcpi_chunks(f);
    double *part = RT_NEW(double, chunks, RT_HOST), sum = 0;
    rt_copy(part, RT_HOST, f->sums, space, chunks * sizeof *part);
    for (size_t k = 0; k < chunks; k++)
        sum += part[k];
    RT_FREE(part, RT_HOST);
    return sum;
}

/* Returns the norm of R, or of what dQ has changed by. */
static double norm_of(const mcpi_march_t *m, const void *before)
{
    double sum = m->phases->norm(&m->field, before);
    rt_comm_sum(&sum, 1);
    return sqrt(sum / (MCPI_Q * (double)m->problem->counts.rows));
}

double mcpi_march_norm(mcpi_march_t *m)
{
    rt_timer_start("norm", m->rung->kind);
    const double norm = norm_of(m, NULL);
    rt_timer_stop("norm");
    return norm;
}

void mcpi_march_left(mcpi_march_t *m)
{
    rt_timer_start("Jacobian", m->rung->kind);
    m->phases->jacobian(&m->field);
    rt_timer_stop("Jacobian");
    rt_timer_start("LU", m->rung->kind);
    m->phases->factor(&m->field);
    rt_timer_stop("LU");
}

static size_t dq_bytes(const mcpi_march_t *m)
{
    const mcpi_view_t *view = &m->sweeper->view;
    return (size_t)(view->rows + view->ghosts) * MCPI_Q * mcpi_type_size(view->dq_type);
}

static void begin_sweeps(mcpi_march_t *m)
{
    rt_timer_start("right", m->rung->kind);
    m->phases->right(&m->field);
    rt_timer_stop("right");
    rt_timer_start("sweeps", m->rung->kind);
    rt_fill(m->sweeper->dq, m->space, 0, dq_bytes(m));
}

void mcpi_march_sweeps(mcpi_march_t *m)
{
    begin_sweeps(m);
    mcpi_sweeps(m->sweeper, m->problem->config->sweeps);
    rt_timer_stop("sweeps");
}

double mcpi_march_sweep_more(mcpi_march_t *m, int64_t n)
{
    mcpi_sweeps(m->sweeper, n - 1);
    rt_copy(m->before, m->space, m->sweeper->dq, m->space, dq_bytes(m));
    mcpi_sweeps(m->sweeper, 1);
    return norm_of(m, m->before);
}

/* Sweeps as mcpi_march_sweeps, and on while too much is left, unless it is more than at first: then
 * sweeps do not converge. Returns how often. */
static int64_t sweep_enough(mcpi_march_t *m)
{
    const int64_t each = m->problem->config->sweeps, most = MOST_SWEEPS;
    int64_t sweeps = 1;
    begin_sweeps(m);
    const double first = mcpi_march_sweep_more(m, 1);
    double left = first;
    while (sweeps < each || (sweeps < most && left > MOST_LEFT * first && left <= first)) {
        const int64_t next = sweeps < each ? each : sweeps + each < most ? sweeps + each : most;
        left = mcpi_march_sweep_more(m, next - sweeps);
        sweeps = next;
    }
    rt_timer_stop("sweeps");
    return sweeps;
}

/* --- the steps --- */

double *mcpi_march_take(const mcpi_march_t *m, const double *x, int64_t n)
{
    double *host = RT_NEW(double, (size_t)n, RT_HOST);
    rt_copy(host, RT_HOST, x, m->space, (size_t)n * sizeof *host);
    return host;
}

static size_t state_bytes(const mcpi_march_t *m)
{
    return (size_t)(MCPI_Q * (m->field.rows + m->field.ghosts)) * sizeof(double);
}

/* Finds the lowest vertex of all ranks among what they found; `row` is this rank's, or -1. */
static int64_t lowest_vertex(const mcpi_march_t *m, int64_t row)
{
    const mcpi_problem_t *p = m->problem;
    double most = row < 0 ? -(double)INT32_MAX : -(double)p->part->vertex[row];
    rt_comm_max(&most, 1);
    return -most < (double)INT32_MAX ? (int64_t)-most : -1;
}

/* Returns the first row whose R is not finite, or -1. */
static int64_t lost_row(const mcpi_march_t *m)
{
    double *R = mcpi_march_take(m, m->field.R, MCPI_Q * m->field.rows);
    int64_t row = -1;
    for (int64_t k = 0; k < MCPI_Q * m->field.rows && row < 0; k++)
        if (!rt_finite(R[k]))
            row = k / MCPI_Q;
    RT_FREE(R, RT_HOST);
    return row;
}

/* Moves the state by dQ. Returns false if a row could not move. */
static bool update(mcpi_march_t *m)
{
    rt_timer_start("update", m->rung->kind);
    const mcpi_moved_t moved = m->phases->update(&m->field);
    rt_timer_stop("update");
    double sums[2] = {(double)moved.scaled, moved.stopped < m->field.rows};
    rt_comm_sum(sums, 2);
    m->history[m->steps].scaled = (int64_t)sums[0];
    if (sums[1] > 0)
        m->lost = lowest_vertex(m, moved.stopped < m->field.rows ? moved.stopped : -1);
    return sums[1] == 0;
}

/* Chooses the Courant number's share by the residuals so far. */
static void control(mcpi_march_t *m)
{
    const double norm = m->history[m->steps].norm;
    if (m->steps > 0 && !m->history[m->steps - 1].back)
        m->share = fmin(1, RECOVERY * m->share);
    const bool grows = norm > MOST_GROWTH * m->least;
    if (grows)
        m->share /= 2;
    m->least = grows ? norm : fmin(norm, m->least);
}

/* Does one step from a residual that is known. Returns false if a row could not move, or not by all
 * of dQ where the step can be taken back. */
static bool step(mcpi_march_t *m)
{
    const mcpi_config_t *config = m->problem->config;
    mcpi_step_t *now = m->history + m->steps;
    if (m->kept) {
        control(m);
        rt_copy(m->kept, m->space, m->field.w, m->space, state_bytes(m));
    }
    m->field.cfl = m->share * mcpi_march_courant(config, now->norm);
    mcpi_march_left(m);
    now->cfl = m->field.cfl;
    now->sweeps = config->sweeps;
    if (m->kept)
        now->sweeps = sweep_enough(m);
    else
        mcpi_march_sweeps(m);
    const bool moved = update(m) && !(m->kept && now->scaled > 0);
    if (moved)
        mcpi_march_ghosts(m);
    m->steps++;
    return moved;
}

/* Computes the residual and notes its norm. Returns false if it is not finite, or if the last step
 * made it much larger and can be taken back. */
static bool measure(mcpi_march_t *m)
{
    mcpi_march_residual(m);
    const double norm = mcpi_march_norm(m);
    if (m->steps == 0)
        m->first_norm = norm;
    mcpi_step_t *now = m->history + m->steps;
    *now = (mcpi_step_t){.norm = norm / m->first_norm};
    if (!rt_finite(norm))
        m->lost = lowest_vertex(m, lost_row(m));
    const bool rises = m->kept && m->steps > 0 && now->norm > MOST_RISE * now[-1].norm;
    return rt_finite(norm) && !rises;
}

/* Goes back to the state before the last step. Returns false if that does not help. */
static bool take_back(mcpi_march_t *m)
{
    if (!m->kept || m->steps == 0 || m->share < LEAST_SHARE)
        return false;
    rt_copy(m->field.w, m->space, m->kept, m->space, state_bytes(m));
    m->history[m->steps - 1].back = true;
    m->share /= 2;
    return true;
}

/* Forgets the steps of the solve before. */
static void begin_solve(mcpi_march_t *m)
{
    m->steps = 0;
    m->end = MCPI_GOING;
    m->lost = -1;
    m->share = 1;
    m->least = INFINITY;
}

void mcpi_march_solve(void *march)
{
    mcpi_march_t *m = march;
    const mcpi_config_t *config = m->problem->config;
    begin_solve(m);
    /* with a tolerance the last state is measured too */
    while (m->end == MCPI_GOING && (m->steps < config->steps || m->kept)) {
        bool right = measure(m);
        if (right && m->history[m->steps].norm <= config->tolerance)
            m->end = MCPI_CONVERGED;
        else if (right && m->steps == config->steps)
            break;
        else if (right)
            right = step(m);
        if (!right && !take_back(m))
            m->end = MCPI_DIVERGED;
    }
}

void mcpi_march_keep(mcpi_march_t *m, rt_keep_t why)
{
    mcpi_state_left_t *left = &m->left[why];
    double *w = left->w ? left->w : rt_alloc(1, state_bytes(m), RT_HOST);
    *left = (mcpi_state_left_t){.draw = m->draw,
                                .end = m->end,
                                .steps = m->steps,
                                .first_norm = m->first_norm,
                                .last_norm = m->history[m->steps].norm,
                                .w = w};
    for (int64_t k = 0; k < m->steps && k < MCPI_JUDGED_STEPS; k++)
        left->norm[k] = m->history[k].norm;
    rt_copy(w, RT_HOST, m->field.w, m->space, state_bytes(m));
}

/* Puts the state beyond the far field, the stream as the draw changes it, and the state that the
 * solve starts from: the same, at rest where the wall holds it. */
static void put_start(mcpi_march_t *m)
{
    const mcpi_geometry_t *g = m->problem->geometry;
    const double wanted = TOLERANCES * m->problem->config->tolerance;
    const double change = fmin(MOST_STATE_CHANGE, fmax(LEAST_STATE_CHANGE, wanted));
    double *w = rt_alloc(1, state_bytes(m), RT_HOST);
    for (int64_t k = 0; k < MCPI_Q * (g->rows + g->ghosts); k++) {
        const int64_t at = MCPI_Q * m->problem->part->vertex[k / MCPI_Q] + k % MCPI_Q;
        w[k] = m->field.gas.stream[k % MCPI_Q] *
               (1 + drawn(m->draw, DRAWN_STATE + (uint64_t)at, change));
    }
    rt_copy(m->outside, m->space, w, RT_HOST, (size_t)(MCPI_Q * g->rows) * sizeof *w);
    for (int64_t i = 0; i < g->rows; i++)
        if (g->side_of[i] >= 0 && g->side[g->side_of[i]].held > 0)
            memset(w + MCPI_Q * i + 1, 0, 3 * sizeof *w);
    rt_copy(m->field.w, m->space, w, RT_HOST, state_bytes(m));
    RT_FREE(w, RT_HOST);
}

void mcpi_march_spoil(void *march, uint64_t draw, rt_keep_t keep)
{
    mcpi_march_t *m = march;
    if (keep != RT_KEEP_NOTHING)
        mcpi_march_keep(m, keep);
    m->draw = draw;
    m->field.gas = mcpi_march_gas(m->problem->config, m->problem->geometry, draw);
    m->scale = m->field.gas.stream[0];
    put_start(m);
    rt_fill(m->field.R, m->space, 0xff, (size_t)(MCPI_Q * m->field.rows) * sizeof(double));
    mcpi_march_ghosts(m);
    begin_solve(m);
}
