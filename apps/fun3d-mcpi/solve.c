/*
 * solve.c - sweeps over a rung's function table.
 *
 * With several ranks a colour has four steps, so that messages travel while there is work to do:
 *
 *     rows that other ranks need  ->  pack, send  ->  the other rows of the colour  ->  receive
 *
 * The other rows can be updated meanwhile: they have no ghosts for neighbours, and rows of one
 * colour do not read each other. Where GPUs send to each other on their streams there are two
 * steps, all rows and then the exchange: that takes less time than starting a second kernel and a
 * second stream. No step then waits for the host, so many sweeps are one launch (machine/replay.h).
 * A rung whose kernel stores dQ into the other GPUs' memory itself has no steps here: all sweeps
 * are one kernel, on several GPUs as on one.
 *
 * This file never sees a device: the tables know where the arrays are and what touches them.
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
    const size_t n = dq_values(s), size = mcpi_type_size(s->view.dq_type);
    void *rounded = rt_alloc(n, size, RT_HOST);
#pragma omp parallel for schedule(static)
    for (size_t i = 0; i < n; i++)
        mcpi_put_value(rounded, s->view.dq_type, (int64_t)i, host[i]);
    rt_copy(s->dq, s->space, rounded, RT_HOST, n * size);
    RT_FREE(rounded, RT_HOST);
}

void mcpi_get_dq(const mcpi_solver_t *s, double *host)
{
    const size_t n = dq_values(s), size = mcpi_type_size(s->view.dq_type);
    void *rounded = rt_alloc(n, size, RT_HOST);
    rt_copy(rounded, RT_HOST, s->dq, s->space, n * size);
#pragma omp parallel for schedule(static)
    for (size_t i = 0; i < n; i++)
        host[i] = mcpi_value(rounded, s->view.dq_type, (int64_t)i);
    RT_FREE(rounded, RT_HOST);
}

void mcpi_draw_r(const mcpi_system_t *system, uint64_t draw, double *R)
{
    const int64_t nb = system->nb;
#pragma omp parallel for schedule(static)
    for (int64_t v = 0; v < system->part->rows * nb; v++) {
        const int64_t at = system->part->global[v / nb] * nb + v % nb;
        R[v] = draw == 0 ? system->R[v] : rt_random((uint64_t)at, draw);
    }
}

void mcpi_put_r(const mcpi_solver_t *s, const double *R)
{
    const size_t n = (size_t)s->view.rows * (size_t)s->view.nb;
    if (s->kernels->own_layout)
        s->kernels->put_r(&s->view, R);
    else if (s->view.R != R)
        rt_copy(s->view.R, s->space, R, RT_HOST, n * sizeof(double));
}

/* Makes R, and copies it to where the rung wants it. */
static void put_right_hand_side(mcpi_solver_t *s)
{
    mcpi_draw_r(s->problem->system, s->draw, s->R);
    mcpi_put_r(s, s->R);
}

/* --- a rung's arrays --- */

/* Gives a host rung the system's own arrays, and a device rung copies unless it packs its own. */
static void new_matrix_arrays(mcpi_solver_t *s)
{
    const mcpi_system_t *system = s->problem->system;
    const mcpi_part_t *part = s->problem->part;
    const size_t rows = (size_t)part->rows, blocks = (size_t)part->start[rows];
    const size_t nb = (size_t)s->view.nb, nb2 = nb * nb, values = rows * nb;
    if (s->kernels->own_layout)
        return;
    s->view.longest = part->longest;
    s->view.start = part->short_start;
    s->view.column = part->column;
    s->view.O = system->O;
    s->view.LU = system->LU;
    s->view.R = s->R;
    if (s->space == RT_HOST)
        return;
    s->view.start = rt_clone(part->short_start, rows + 1, sizeof(int32_t), s->space);
    s->view.column = rt_clone(part->column, blocks, sizeof(int32_t), s->space);
    s->view.O = s->kernels->chunked
                    ? mcpi_chunks_new(system, s->space)
                    : rt_clone(system->O, blocks * nb2, mcpi_type_size(system->type), s->space);
    s->view.LU = rt_clone(system->LU, rows * nb2, sizeof(double), s->space);
    s->view.R = RT_NEW(double, values, s->space);
}

/* Gives the solver dQ and what brings its ghosts up to date: the rung's own kernel, where it can,
 * or halos. */
static void new_dq(mcpi_solver_t *s)
{
    const mcpi_problem_t *p = s->problem;
    const char *transport = p->run->opt.transport;
    if (p->halo && (strcmp(transport, "auto") == 0 || strcmp(transport, "peer") == 0))
        s->view.halo = p->halo;
    if (s->kernels->set_up)
        s->kernels->set_up(&s->view);
    s->dq = s->view.dq;
    if (!s->dq)
        s->dq = rt_alloc(dq_values(s), mcpi_type_size(s->view.dq_type), s->space);
    s->own_halo = p->halo && !s->view.dq && (s->space != RT_HOST || rt_halo_is_cut(transport));
    s->halo =
        s->own_halo ? mcpi_halo_new(p->part, p->nb, transport, s->rung->kind, s->space) : p->halo;
    rt_setup_charge(p->seconds_colour + p->seconds_system + (s->own_halo ? 0 : p->seconds_halo));
    s->on_stream = s->own_halo && s->rung->kind == RT_CUDA;
    for (int c = 0; s->on_stream && c < s->view.colours; c++)
        s->on_stream = rt_halo_on_stream(s->halo[c]);
}

void *mcpi_solver_new(void *problem, const rt_rung_t *rung)
{
    mcpi_problem_t *p = problem;
    mcpi_solver_t *s = RT_NEW(mcpi_solver_t, 1, RT_HOST);
    const mcpi_config_t *config = p->config;
    *s = (mcpi_solver_t){.problem = p,
                         .rung = rung,
                         .kernels = (const mcpi_kernels_t *)rung->kernels,
                         .space = rt_rung_space(rung)};
    const bool fp64 = s->kernels->always_fp64;
    s->view = (mcpi_view_t){.system = p->system,
                            .nb = p->nb,
                            .offdiagonal = p->system->type,
                            .dq_type = fp64 ? MCPI_FP64 : (mcpi_type_t)config->dq,
                            .accumulate = fp64 ? MCPI_FP64 : (mcpi_type_t)config->accumulate,
                            .rows = p->part->rows,
                            .ghosts = p->part->ghosts,
                            .colours = p->part->colours,
                            .colour_start = p->part->colour_start,
                            .choice = rt_tune_choice(p->run, rung)};
    s->R = RT_NEW(double, (size_t)(p->part->rows * p->nb), RT_HOST);
    new_matrix_arrays(s);
    new_dq(s);
    put_right_hand_side(s);
    rt_fill(s->dq, s->space, 0xff, dq_values(s) * mcpi_type_size(s->view.dq_type));
    rt_device_synchronize();
    return s;
}

void mcpi_solver_destroy(void *solver)
{
    mcpi_solver_t *s = solver;
    rt_replay_drop(&s->replay);
    if (!s->view.dq)
        RT_FREE(s->dq, s->space);
    if (s->kernels->tear_down)
        s->kernels->tear_down(&s->view);
    if (s->own_halo)
        mcpi_halo_destroy(s->halo, s->view.colours);
    if (!s->kernels->own_layout && s->space != RT_HOST)
        RT_FREE_ALL(s->space, s->view.start, s->view.column, s->view.O, s->view.LU, s->view.R);
    for (int why = 0; why < RT_KEEPS; why++)
        rt_free(s->kept[why].dq, RT_HOST);
    RT_FREE_ALL(RT_HOST, s->R, s);
}

/* --- the job --- */

/* A recording is not timed. */
static void start(const mcpi_solver_t *s, const char *name)
{
    if (s->recording == 0)
        rt_timer_start(name, s->rung->kind);
}

static void stop(const mcpi_solver_t *s, const char *name)
{
    if (s->recording == 0)
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

/* Updates the rows that other ranks need first: messages travel while the others are updated. */
static void colour_during_messages(mcpi_solver_t *s, int c)
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
    if (s->halo && !s->on_stream) {
        colour_during_messages(s, c);
        return;
    }
    rows(s, part->colour_start[c], part->colour_start[c + 1]);
    if (s->halo) {
        const rt_field_t field = field_of(s);
        start(s, "halo");
        rt_halo_do(s->halo[c], RT_HALO_COPY, &field);
        stop(s, "halo");
    }
}

static void each_sweep(mcpi_solver_t *s, int64_t sweeps)
{
    for (int64_t sweep = 0; sweep < sweeps; sweep++) {
        start(s, "sweep");
        for (int c = 0; c < s->view.colours; c++)
            one_colour(s, c);
        stop(s, "sweep");
    }
}

/* With 11 colours, 64 sweeps are some 700 kernels. With an exchange, which is four more kernels per
 * colour, 16 sweeps are about as many. */
enum { RECORDED_SWEEPS = 64, RECORDED_WITH_MESSAGES = 16 };

static void record(void *solver)
{
    mcpi_solver_t *s = solver;
    each_sweep(s, s->recording);
}

/* Replays a recording as often as it takes. The sweeps that are left over, fewer than the replays,
 * are launched one by one. */
static void replayed_sweeps(mcpi_solver_t *s, int64_t sweeps)
{
    const int64_t most = s->halo ? RECORDED_WITH_MESSAGES : RECORDED_SWEEPS;
    const int64_t replays = (sweeps + most - 1) / most, each = sweeps / replays;
    start(s, "rows");
    s->recording = each;
    for (int64_t k = 0; k < replays; k++)
        rt_replay(&s->replay, each, record, s);
    s->recording = 0;
    stop(s, "rows");
    each_sweep(s, sweeps - each * replays);
}

void mcpi_sweeps(mcpi_solver_t *s, int64_t sweeps)
{
    const bool one_rank = !s->halo;
    if (sweeps <= 0)
        return;
    if (s->view.dq || (one_rank && s->kernels->sweeps)) {
        start(s, "rows");
        s->kernels->sweeps(&s->view, sweeps, s->dq);
        stop(s, "rows");
    } else if (one_rank ? s->rung->kind == RT_CUDA : s->on_stream && !rt_timer_enabled()) {
        replayed_sweeps(s, sweeps); /* a profile times messages separately */
    } else {
        each_sweep(s, sweeps);
    }
}

void mcpi_solve(void *solver)
{
    mcpi_solver_t *s = solver;
    s->swept = s->problem->config->sweeps;
    rt_fill(s->dq, s->space, 0, dq_values(s) * mcpi_type_size(s->view.dq_type));
    mcpi_sweeps(s, s->swept);
}

void mcpi_keep(mcpi_solver_t *s, rt_keep_t why)
{
    mcpi_answer_t *answer = &s->kept[why];
    if (!answer->dq)
        answer->dq = RT_NEW(double, dq_values(s), RT_HOST);
    answer->draw = s->draw;
    answer->swept = s->swept;
    mcpi_get_dq(s, answer->dq);
}

void mcpi_spoil(void *solver, uint64_t draw, rt_keep_t keep)
{
    mcpi_solver_t *s = solver;
    if (keep != RT_KEEP_NOTHING)
        mcpi_keep(s, keep);
    s->draw = draw;
    s->swept = 0;
    put_right_hand_side(s);
    rt_fill(s->dq, s->space, 0xff, dq_values(s) * mcpi_type_size(s->view.dq_type));
}

/* --- how fast sweeps converge --- */

/* Sums a hash of vertex, component and bits over all values. */
uint64_t mcpi_fingerprint(const mcpi_solver_t *s)
{
    const mcpi_problem_t *p = s->problem;
    const int64_t nb = s->view.nb, rows = s->view.rows;
    double *dq = RT_NEW(double, (size_t)((rows + s->view.ghosts) * nb), RT_HOST);
    mcpi_get_dq(s, dq);
    const uint64_t mask = (UINT64_C(1) << 48) - 1; /* 2^15 ranks may be added up */
    uint64_t sum = 0;
    for (int64_t k = 0; k < rows * nb; k++) {
        uint64_t bits;
        memcpy(&bits, &dq[k], sizeof bits);
        const int64_t vertex = p->part->vertex[k / nb];
        sum += rt_hash((uint64_t)(vertex * nb + k % nb), bits);
    }
    RT_FREE(dq, RT_HOST);
    int64_t all = (int64_t)(sum & mask);
    rt_comm_sum_i64(&all, 1);
    return (uint64_t)all & mask;
}

/* Samples the residual at doubling numbers of sweeps, from 0 to those of a solve. */
static void find_history(mcpi_problem_t *p)
{
    mcpi_convergence_t *c = &p->convergence;
    const int64_t most = p->config->sweeps;
    const size_t values = (size_t)((p->part->rows + p->part->ghosts) * p->nb);
    mcpi_solver_t *s = mcpi_solver_new(p, mcpi_cpu_rung());
    double *dq = RT_NEW(double, values, RT_HOST);
    rt_fill(s->dq, s->space, 0, values * mcpi_type_size(s->view.dq_type));
    c->samples = 0;
    for (int64_t done = 0, next = 0; c->samples < MCPI_SAMPLES && done < most;) {
        mcpi_sweeps(s, next - done);
        done = next;
        c->sweep[c->samples] = done;
        mcpi_get_dq(s, dq);
        c->residual[c->samples++] = mcpi_residual(p->matrix, NULL, p->matrix->R, 1, dq);
        next = next ? 2 * next : 1;
        if (next > most || c->samples == MCPI_SAMPLES - 1)
            next = most;
    }
    c->fingerprint = mcpi_fingerprint(s);
    RT_FREE(dq, RT_HOST);
    mcpi_solver_destroy(s);
}

void mcpi_convergence_find(mcpi_problem_t *p)
{
    const rt_options_t *opt = &p->run->opt;
    const mcpi_convergence_t *c = &p->convergence;
    if (!opt->quiet || opt->json)
        find_history(p);
    if (rt_comm_rank() != 0 || opt->quiet)
        return;
    printf("residual      |R - A dQ| / |R| ");
    for (int i = 0; i < c->samples; i++)
        printf("%s%lld: %.3g", i ? ", " : "after sweep ", (long long)c->sweep[i], c->residual[i]);
    printf("; dQ is %012llx\n", (unsigned long long)c->fingerprint);
    fflush(stdout);
}
