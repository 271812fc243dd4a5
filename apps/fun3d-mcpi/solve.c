/*
 * solve.c - sweeps over a rung's function table.
 *
 * With several ranks a colour is three steps, so that messages travel while there is work to do:
 *
 *     rows that other ranks need  ->  pack, send  ->  the other rows of the colour  ->  receive
 *
 * The others may be worked on meanwhile: they have no ghosts for neighbours, and rows of one colour
 * do not read each other. Where GPUs send to each other on their streams it is two steps, all rows
 * and then the exchange: that takes less than starting a second kernel and a second stream, and no
 * step waits for the host, so that many sweeps are one launch (machine/replay.h).
 *
 * This file never sees a device: where the arrays live and who touches them is the tables'
 * business.
 */
#include "config.h"
#include "mcpi.h"
#include <string.h>

/* --- dQ to and from the rung's array --- */

static size_t dq_values(const mcpi_solver_t *s)
{
    return (size_t)(s->view.rows + s->view.ghosts) * (size_t)s->view.nb;
}

void mcpi_put_dq(mcpi_solver_t *s, const double *host)
{
    const size_t n = dq_values(s);
    if (s->view.dq_type == MCPI_FP64) {
        rt_copy(s->dq, s->space, host, RT_HOST, n * sizeof(double));
        return;
    }
    float *rounded = RT_NEW(float, n, RT_HOST);
    for (size_t i = 0; i < n; i++)
        rounded[i] = (float)host[i];
    rt_copy(s->dq, s->space, rounded, RT_HOST, n * sizeof(float));
    RT_FREE(rounded, RT_HOST);
}

void mcpi_get_dq(const mcpi_solver_t *s, double *host)
{
    const size_t n = dq_values(s);
    if (s->view.dq_type == MCPI_FP64) {
        rt_copy(host, RT_HOST, s->dq, s->space, n * sizeof(double));
        return;
    }
    float *rounded = RT_NEW(float, n, RT_HOST);
    rt_copy(rounded, RT_HOST, s->dq, s->space, n * sizeof(float));
    for (size_t i = 0; i < n; i++)
        host[i] = rounded[i];
    RT_FREE(rounded, RT_HOST);
}

/* R = factor times the system's, and to where the rung wants it. */
static void put_right_hand_side(mcpi_solver_t *s)
{
    const size_t n = (size_t)s->view.rows * (size_t)s->view.nb;
    for (size_t i = 0; i < n; i++)
        s->R[i] = s->factor * s->problem->system->R[i];
    if (s->kernels->own_layout)
        s->kernels->put_r(&s->view, s->R);
    else if (s->space != RT_HOST)
        rt_copy(s->view.R, s->space, s->R, RT_HOST, n * sizeof(double));
}

/* --- a rung's arrays --- */

/* 32 bits are enough: configure has refused more blocks than that. */
static int32_t *short_starts(const mcpi_part_t *part)
{
    int32_t *start = RT_NEW(int32_t, (size_t)part->rows + 1, RT_HOST);
    for (int64_t row = 0; row <= part->rows; row++)
        start[row] = (int32_t)part->start[row];
    return start;
}

/* Host: the system's own arrays. Device: copies, unless the rung packs its own. */
static void new_matrix_arrays(mcpi_solver_t *s)
{
    const mcpi_system_t *system = s->problem->system;
    const mcpi_part_t *part = s->problem->part;
    const size_t rows = (size_t)part->rows, blocks = (size_t)part->start[rows];
    const size_t nb2 = (size_t)(s->view.nb * s->view.nb);
    if (s->kernels->own_layout)
        return;
    int32_t *start = short_starts(part);
    s->view.start = start;
    s->view.column = part->column;
    s->view.O = system->O;
    s->view.LU = system->LU;
    s->view.R = s->R;
    if (s->space == RT_HOST)
        return;
    s->view.start = rt_clone(start, rows + 1, sizeof(int32_t), s->space);
    s->view.column = rt_clone(part->column, blocks, sizeof(int32_t), s->space);
    s->view.O = rt_clone(system->O, blocks * nb2, mcpi_type_size(system->type), s->space);
    s->view.LU = rt_clone(system->LU, rows * nb2, sizeof(double), s->space);
    s->view.R = RT_NEW(double, rows *(size_t)s->view.nb, s->space);
    RT_FREE(start, RT_HOST);
}

void *mcpi_solver_new(void *problem, const rt_rung_t *rung)
{
    mcpi_problem_t *p = problem;
    mcpi_solver_t *s = RT_NEW(mcpi_solver_t, 1, RT_HOST);
    const mcpi_config_t *cfg = p->config;
    memset(s, 0, sizeof *s);
    double begin = rt_clock();
    s->problem = p;
    s->rung = rung;
    s->kernels = rung->kernels;
    s->space = rt_rung_space(rung);
    s->factor = 1;
    s->each_colour = cfg->exchange == MCPI_EXCHANGE_COLOUR && cfg->colouring == MCPI_COLOUR_GLOBAL;
    const bool fp64 = s->kernels->always_fp64;
    s->view = (mcpi_view_t){.system = p->system,
                            .nb = p->nb,
                            .offdiagonal = p->system->type,
                            .dq_type = fp64 ? MCPI_FP64 : (mcpi_type_t)cfg->dq,
                            .accumulate = fp64 ? MCPI_FP64 : (mcpi_type_t)cfg->accumulate,
                            .rows = p->part->rows,
                            .ghosts = p->part->ghosts,
                            .colours = p->part->colours,
                            .colour_start = p->part->colour_start,
                            .choice = rt_tune_choice(p->run, rung)};
    s->R = RT_NEW(double, (size_t)(p->part->rows * p->nb), RT_HOST);
    new_matrix_arrays(s);
    s->dq = rt_alloc(dq_values(s), mcpi_type_size(s->view.dq_type), s->space);
    if (s->kernels->set_up)
        s->kernels->set_up(&s->view);
    put_right_hand_side(s);
    rt_fill(s->dq, s->space, 0xff, dq_values(s) * mcpi_type_size(s->view.dq_type));
    s->own_halo = s->space != RT_HOST && p->halo;
    s->halo = s->own_halo
                  ? mcpi_halo_new(p->part, p->nb, p->run->opt.transport, rung->kind, s->space)
                  : p->halo;
    s->on_stream = s->halo && rung->kind == RT_CUDA;
    for (int c = 0; s->on_stream && c < s->view.colours; c++)
        s->on_stream = rt_halo_on_stream(s->halo[c]);
    rt_device_synchronize();
    s->seconds_set_up = rt_clock() - begin;
    return s;
}

void mcpi_solver_destroy(void *solver)
{
    mcpi_solver_t *s = solver;
    rt_replay_drop(&s->replay);
    if (s->kernels->tear_down)
        s->kernels->tear_down(&s->view);
    if (s->own_halo)
        mcpi_halo_destroy(s->halo, s->view.colours);
    if (!s->kernels->own_layout) {
        RT_FREE(s->view.start, s->space);
        if (s->space != RT_HOST) {
            RT_FREE(s->view.column, s->space);
            RT_FREE(s->view.O, s->space);
            RT_FREE(s->view.LU, s->space);
            RT_FREE(s->view.R, s->space);
        }
    }
    RT_FREE(s->dq, s->space);
    RT_FREE(s->R, RT_HOST);
    RT_FREE(s, RT_HOST);
}

/* --- the job --- */

static void start(const mcpi_solver_t *s, const char *name)
{
    if (!s->recording)
        rt_timer_start(name, s->rung->kind);
}

static void stop(const mcpi_solver_t *s, const char *name)
{
    if (!s->recording)
        rt_timer_stop(name);
}

static void rows(mcpi_solver_t *s, int64_t first, int64_t last)
{
    if (first == last)
        return;
    start(s, "rows");
    s->kernels->rows(&s->view, first, last, s->dq);
    stop(s, "rows");
}

static rt_field_t field_of(const mcpi_solver_t *s)
{
    const int nb = s->view.nb;
    const rt_type_t type = s->view.dq_type == MCPI_FP64 ? RT_F64 : RT_F32;
    return (rt_field_t){s->dq, type, nb, nb, 1};
}

static void exchange(mcpi_solver_t *s, int colour)
{
    const rt_field_t field = field_of(s);
    start(s, "halo");
    rt_halo_do(s->halo[colour], RT_HALO_COPY, &field);
    stop(s, "halo");
}

/* Its rows that other ranks need first: messages travel while the others are worked on. */
static void colour_beside_messages(mcpi_solver_t *s, int c)
{
    const mcpi_part_t *part = s->problem->part;
    const rt_field_t field = field_of(s);
    rows(s, part->colour_start[c], part->boundary_end[c]);
    start(s, "halo");
    rt_halo_begin(s->halo[c], RT_HALO_COPY, &field);
    stop(s, "halo");
    rows(s, part->boundary_end[c], part->colour_start[c + 1]);
    start(s, "halo");
    rt_halo_end(s->halo[c]);
    stop(s, "halo");
}

static void one_colour(mcpi_solver_t *s, int c)
{
    const mcpi_part_t *part = s->problem->part;
    const bool messages = s->halo && s->each_colour;
    if (messages && !s->on_stream) {
        colour_beside_messages(s, c);
        return;
    }
    rows(s, part->colour_start[c], part->colour_start[c + 1]);
    if (messages)
        exchange(s, c);
}

static void each_sweep(mcpi_solver_t *s, int64_t sweeps)
{
    for (int64_t sweep = 0; sweep < sweeps; sweep++) {
        start(s, "sweep");
        for (int c = 0; c < s->view.colours; c++)
            one_colour(s, c);
        for (int c = 0; s->halo && !s->each_colour && c < s->view.colours; c++)
            exchange(s, c);
        stop(s, "sweep");
    }
}

/* With 11 colours some 700 kernels; with an exchange after each, which is four more. */
enum { RECORDED_SWEEPS = 64, RECORDED_WITH_MESSAGES = 16 };

typedef struct {
    mcpi_solver_t *solver;
    int64_t sweeps;
} recorded_t;

static void record(void *work)
{
    const recorded_t *recorded = work;
    recorded->solver->recording = true;
    each_sweep(recorded->solver, recorded->sweeps);
    recorded->solver->recording = false;
}

/* Replayed as often as it takes; what is left over, fewer sweeps than there were replays, is
 * launched one by one. */
static void replayed_sweeps(mcpi_solver_t *s, int64_t sweeps)
{
    const int64_t most = s->halo ? RECORDED_WITH_MESSAGES : RECORDED_SWEEPS;
    const int64_t replays = (sweeps + most - 1) / most, each = sweeps / replays;
    recorded_t recorded = {s, each};
    start(s, "rows");
    for (int64_t k = 0; k < replays; k++)
        rt_replay(&s->replay, each, record, &recorded);
    stop(s, "rows");
    each_sweep(s, sweeps - each * replays);
}

void mcpi_sweeps(mcpi_solver_t *s, int64_t sweeps)
{
    const bool one_rank = !s->halo;
    if (sweeps <= 0)
        return;
    if (one_rank && s->kernels->sweeps) {
        start(s, "rows");
        s->kernels->sweeps(&s->view, sweeps, s->dq);
        stop(s, "rows");
    } else if (one_rank ? s->rung->kind == RT_CUDA : s->on_stream && !rt_timer_enabled()) {
        replayed_sweeps(s, sweeps); /* a profile wants the messages apart */
    } else {
        each_sweep(s, sweeps);
    }
}

static void zero_dq(mcpi_solver_t *s)
{
    rt_fill(s->dq, s->space, 0, dq_values(s) * mcpi_type_size(s->view.dq_type));
}

void mcpi_solve(void *solver)
{
    mcpi_solver_t *s = solver;
    s->swept = s->problem->config->sweeps;
    zero_dq(s);
    mcpi_sweeps(s, s->swept);
}

/* Every solve has a right-hand side of its own, a multiple of the problem's that nobody can know
 * beforehand, so that an answer of an earlier one is wrong for it. */
void mcpi_spoil(void *solver)
{
    mcpi_solver_t *s = solver;
    s->factor = 1.5 + 0.5 * rt_random(s->solves++, (uint64_t)s->problem->run->opt.seed + 99);
    s->swept = 0;
    put_right_hand_side(s);
    rt_fill(s->dq, s->space, 0xff, dq_values(s) * mcpi_type_size(s->view.dq_type));
}

/* --- convergence --- */

static double residual_now(const mcpi_solver_t *s)
{
    double *dq = RT_NEW(double, dq_values(s), RT_HOST);
    mcpi_get_dq(s, dq);
    const double residual = mcpi_residual(s->problem->matrix, s->problem->matrix->R, dq);
    RT_FREE(dq, RT_HOST);
    return residual;
}

/* The sum over all values of a hash of vertex, component and bits. */
static uint64_t fingerprint(const mcpi_solver_t *s)
{
    const mcpi_problem_t *p = s->problem;
    const int64_t nb = s->view.nb;
    double *dq = RT_NEW(double, dq_values(s), RT_HOST);
    mcpi_get_dq(s, dq);
    const uint64_t mask = (UINT64_C(1) << 48) - 1;
    uint64_t sum = 0;
    for (int64_t k = 0; k < s->view.rows * nb; k++) {
        uint64_t bits;
        memcpy(&bits, &dq[k], sizeof bits);
        const int64_t vertex = p->order->vertex[p->part->global[k / nb]];
        sum += rt_hash((uint64_t)(vertex * nb + k % nb), bits);
    }
    RT_FREE(dq, RT_HOST);
    int64_t all = (int64_t)(sum & mask); /* 2^15 ranks may be added up */
    rt_comm_sum_i64(&all, 1);
    return (uint64_t)all & mask;
}

/* Any rung that runs everywhere would do; this one is the fastest of them. */
static mcpi_solver_t *judge_new(mcpi_problem_t *p)
{
    return mcpi_solver_new(p, rt_ladder_find(mcpi_ladder, MCPI_RUNGS, "cpu-simd"));
}

void mcpi_history(mcpi_problem_t *p)
{
    const int64_t most = p->config->sweeps;
    mcpi_solver_t *s = judge_new(p);
    zero_dq(s);
    p->samples = 0;
    for (int64_t done = 0, next = 0; p->samples < MCPI_SAMPLES && done < most;) {
        mcpi_sweeps(s, next - done);
        done = next;
        p->sample_sweep[p->samples] = done;
        p->sample_residual[p->samples++] = residual_now(s);
        next = next ? 2 * next : 1;
        if (next > most || p->samples == MCPI_SAMPLES - 1)
            next = most;
    }
    p->fingerprint = fingerprint(s);
    mcpi_solver_destroy(s);
}

static double residual_after(mcpi_problem_t *p, bool each_colour)
{
    mcpi_solver_t *s = judge_new(p);
    s->each_colour = each_colour;
    mcpi_solve(s);
    const double residual = residual_now(s);
    mcpi_solver_destroy(s);
    return residual;
}

void mcpi_price(mcpi_problem_t *p)
{
    const mcpi_config_t *cfg = p->config;
    const bool local = cfg->colouring == MCPI_COLOUR_LOCAL;
    if (rt_comm_size() == 1 || (!local && cfg->exchange == MCPI_EXCHANGE_COLOUR))
        return;
    p->price_asked = residual_after(p, false);
    if (!local) {
        p->price_default = residual_after(p, true);
        return;
    }
    mcpi_config_t other = *cfg; /* another colouring is another order, and so another system */
    other.colouring = MCPI_COLOUR_GLOBAL;
    other.exchange = MCPI_EXCHANGE_COLOUR;
    rt_run_t run = *p->run;
    run.config = &other;
    run.opt.quiet = true;
    mcpi_problem_t *global = mcpi_problem_new(&run);
    p->price_default = residual_after(global, true);
    mcpi_problem_destroy(global);
}
