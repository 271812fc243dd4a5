/*
 * work.c - what an operator, a predictor and a time step must do, counted term by term before
 * anything is measured.
 *
 * Operator, y = A x in FP64. Every rung is credited, per element (as many as nodes, except for
 * faces), with:
 *
 *     187 flops     what the symmetries of a cube leave (parity.h)
 *     49 bytes      x read once (24), y written once (24), id (1)
 *
 * The paper counts what its kernel does, so that more flops seem better. Here only the line of a
 * rung says that (1152: a 24x24 product; 2304: one for each of two matrices; ...), and the figure
 * of merit is the same work for all.
 *
 * Predictor, z = P r, per node, by the definition, with S nodes in the stencil (343 for reach 3):
 *
 *     gfm    2 * 9 * S M flops for the sums over neighbours and components, 6 M for c
 *     gf8    36 S: two weights a + b . s/nd (12), six products G_ij times one of them, nine
 *            multiplications and additions (18)
 *     bytes  r read once (12, or 6 in FP16), z written (12), coefficients (4 each)
 *
 * Time step. The iterations are not known beforehand, and a preconditioner exists to need fewer. So
 * every rung and preconditioner is credited with the same step: that of CGBJ, with the iterations
 * that the oracle's own CGBJ needed in this run. Twice the figure of merit is half the time to
 * solution, whatever was saved. The lines say what was done, with the iterations of the last timed
 * solve.
 * Before the first solve they show a step of a single iteration.
 *
 *     per node            flops   bytes of FP64 vectors (24), FP32 ones (12), r in 16 bits (6), id
 *     per iteration
 *       operator, p.Ap    187+6   p; q; id                                                49
 *       update            12      q r; r, r low                                           72 + low
 *       update of bj      33      q r; r, z; id: B, z.r and all                           85
 *       dots              12      z r q: z.r and z.q                                      60
 *       the same of cheb  6       z r: it is symmetric                                    36
 *       direction         12      z p x; p x: the step along p before, too               108
 *       jacobi            15      r low; z; id                                            25
 *       smooth            21      z r A z; z; id: z + D^-1 (r - A z)                      49
 *       the same of cheb  30      z, that before, r A z; z; id                            61
 *       With --vectors fp32 x, r, p and q are FP32: operator 25, update 36 + low, of bj 49, dots 36
 *       (cheb 24), direction 60.
 *       a polynomial of degree d: jacobi, and d - 1 times A in FP32 (193 flops, 25 bytes) with
 *                         smooth; the first smooth has no z before
 *     The first direction has no x, but after the last one x has a step to go: x p; x.
 *     per step
 *       newmark           12 + 21 u v a; two vectors; du u v a; u v a                    288
 *       force             9       2 operators and their sum                               72
 *       start, renew      6       f: f.f; f; r x, r low                             96 + low
 *       arrive            6       x p; x                                                  72
 *     in FP32 renew 48 + low, arrive 48 and then 72, and per replacement (gfnn_replacements) an
 *     operator in FP64 (49), renew with A du (72 + low) and arrive
 *
 * Factors that are powers of two, by which r and z are scaled, are not counted.
 */
#include "config.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "gfnn.h"
#include "judge/judge.h"

enum { DOUBLES = 3 * sizeof(double), FLOATS = 3 * sizeof(float), HALVES = 3 * sizeof(uint16_t) };
enum { PARITY = 187, OPERATOR_BYTES = 2 * DOUBLES + 1, OPERATOR32_BYTES = 2 * FLOATS + 1 };

/* What rows count: elements, nodes, all nodes' neighbours if the network is gf8, the flops of gfm,
 * and the bytes that a predictor reads. */
enum { E, N, GF8, GFM, READ };
enum { ONCE, TWICE, SINGLE }; /* calls: of a step, in FP64 and in FP32 */

#define TWO_MATRICES "dense-coloured dense-atomic openacc"
#define GAUSS_POINTS "cpu-coloured cpu-atomic cpu-recompute recompute"
#define MODES        "cpu-simd parity kokkos"
#define DEFINITION   "predict-reference tensor predict-openacc"
#define WEIGHING     "predict-simd direct unrolled tiled predict-kokkos"
#define SOLVES       "solve-simd solve-cuda solve-kokkos"

/* rungs, kernel, {flops}, {bytes read}, {bytes written}, calls. In a solve with p.Ap. For gf8 the
 * definition takes 36 flops per neighbour; WEIGHING rungs take two multiply-adds for the weights of r,
 * six products and nine multiply-adds. */
static const rt_work_row_t rows[] = {
    {"reference", "operator", {1152}, {[N] = DOUBLES + 1}, {[N] = DOUBLES}, ONCE},
    {TWO_MATRICES, "operator", {2304}, {[N] = DOUBLES + 1}, {[N] = DOUBLES}, ONCE},
    {GAUSS_POINTS, "operator", {700}, {[N] = DOUBLES + 1}, {[N] = DOUBLES}, ONCE},
    {"node", "operator", {1686}, {[N] = DOUBLES + 1}, {[N] = DOUBLES}, ONCE},
    {MODES, "operator", {PARITY}, {[N] = DOUBLES + 1}, {[N] = DOUBLES}, ONCE},
    {DEFINITION, "predictor", {[GF8] = 36, [GFM] = 1}, {[READ] = 1}, {[N] = FLOATS}, ONCE},
    {WEIGHING, "predictor", {[GF8] = 28, [GFM] = 1}, {[READ] = 1}, {[N] = FLOATS}, ONCE},
    {"solve-reference", "operator", {1152, 6}, {[N] = DOUBLES + 1}, {[N] = DOUBLES}, TWICE},
    {"solve-reference", "operator FP32", {1152, 6}, {[N] = FLOATS + 1}, {[N] = FLOATS}, SINGLE},
    {SOLVES, "operator", {PARITY, 6}, {[N] = DOUBLES + 1}, {[N] = DOUBLES}, TWICE},
    {SOLVES, "operator FP32", {PARITY, 6}, {[N] = FLOATS + 1}, {[N] = FLOATS}, SINGLE},
};

static double product(const int64_t n[3])
{
    return (double)n[0] * (double)n[1] * (double)n[2];
}

static int precision_of(const gfnn_config_t *config, const rt_rung_t *rung)
{
    return gfnn_precision_of((const gfnn_kernels_t *)rung->kernels, config);
}

/* Returns the bytes of r as the rung's predictor reads it. */
static double low_bytes(const gfnn_config_t *config, const rt_rung_t *rung)
{
    const bool half = precision_of(config, rung) == GFNN_FP16;
    return gfnn_has_network(config) && half ? HALVES : FLOATS;
}

static double predictor_flops(const gfnn_config_t *config)
{
    const double stencil = (double)gfnn_stencil(config->reach);
    if (config->precond == GFNN_GF8)
        return 36 * stencil;
    return (2 * 9 * stencil + 6) * (double)config->kernels;
}

static double predictor_read(const gfnn_config_t *config, const rt_rung_t *rung)
{
    return low_bytes(config, rung) + 4 * (double)gfnn_coefs(config);
}

/* Adds the rows of a rung; returns whether it has any. */
static bool add_rows(const gfnn_config_t *config, const rt_rung_t *rung, double twice,
                     double single, rt_work_t *work)
{
    const double nodes = product(config->n_nodes), calls[] = {1, twice, single};
    const bool gf8 = config->precond == GFNN_GF8;
    const double neighbours = gf8 ? (double)gfnn_stencil(config->reach) * nodes : 0;
    const double count[RT_WORK_COUNTS] = {product(config->n_elements), nodes, neighbours,
                                          gf8 ? 0 : predictor_flops(config) * nodes,
                                          predictor_read(config, rung) * nodes};
    return rt_work_rows(rows, sizeof rows / sizeof *rows, rung->name, count, calls, work);
}

/* --- a time step --- */

enum { UPDATE = 12, DOT = 6, DIRECTION = 12, JACOBI = 15, UPDATE_BJ = UPDATE + JACOBI + DOT };
enum { SMOOTH = JACOBI + 6, OF_BEFORE = 9 };
enum { BEFORE = 12, AFTER = 21, FORCE = 9 };
enum { UPDATE_BJ_BYTES = 3 * DOUBLES + FLOATS + 1, DIRECTION_BYTES = 4 * DOUBLES + FLOATS };

/* Credits CGBJ with three passes per iteration. */
static double cgbj_flops(double elements, double nodes, double iterations)
{
    return iterations * ((PARITY + 6) * elements + (UPDATE_BJ + DIRECTION) * nodes) +
           2 * PARITY * elements + (BEFORE + FORCE + AFTER) * nodes;
}

static double cgbj_bytes(double nodes, double iterations)
{
    return nodes * (iterations * (OPERATOR_BYTES + UPDATE_BJ_BYTES + DIRECTION_BYTES) +
                    2 * OPERATOR_BYTES + 12 * DOUBLES + 3 * DOUBLES);
}

/* Returns the bytes of what the loops make of r for the preconditioner. */
static double low_of(const gfnn_config_t *config)
{
    return gfnn_reads_low(config) ? HALVES : gfnn_needs_r32(config) ? FLOATS : 0;
}

/* Adds the vectors of conjugate gradients. z: its bytes. */
static void vector_lines(const gfnn_config_t *config, double z, double iterations, rt_work_t *work)
{
    const double N = product(config->n_nodes);
    const double low = low_of(config), own = gfnn_is_single(config) ? FLOATS : DOUBLES;
    const int sums = gfnn_has_network(config) ? 2 : 1;
    if (config->precond == GFNN_BJ)
        rt_work_add(work, "update", iterations, UPDATE_BJ * N, (2 * own + 1) * N,
                    (own + FLOATS) * N);
    else
        rt_work_add(work, "update", iterations, UPDATE * N, 2 * own * N, (own + low) * N);
    if (config->precond != GFNN_BJ)
        rt_work_add(work, "dots", iterations, sums * DOT * N, (sums * own + z) * N, 0);
    rt_work_add(work, "direction", iterations, DIRECTION * N, (2 * own + z) * N, 2 * own * N);
}

/* Adds what a step does once for its conjugate gradients, and once for each replacement. */
static void once_lines(const gfnn_config_t *config, double replacements, rt_work_t *work)
{
    const double N = product(config->n_nodes), low = low_of(config);
    const bool single = gfnn_is_single(config);
    const double own = single ? FLOATS : DOUBLES, calls = 1 + replacements;
    rt_work_add(work, "start", 1, DOT * N, DOUBLES * N, 0);
    rt_work_add(work, "renew", calls, FORCE * N * replacements / calls,
                DOUBLES * N * (1 + 2 * replacements) / calls, (2 * own + low) * N);
    rt_work_add(work, "arrive", calls, DOT * N,
                (2 * own + (single ? DOUBLES * replacements / calls : 0)) * N, DOUBLES * N);
}

/* Adds the sweeps of a polynomial, `each` times: FP32. A: flops of the product in a sweep that is
 * one pass; 0: it is two. */
static void sweep_lines(const gfnn_config_t *config, double each, double A, rt_work_t *work)
{
    const double N = product(config->n_nodes), plain = 3 * FLOATS + 1;
    const double more = (double)config->degree - 1;
    rt_work_add(work, "jacobi", each, JACOBI * N, (FLOATS + 1) * N, FLOATS * N);
    if (A > 0 && more > 0) /* A z is not written, nor is it and z read again */
        rt_work_add(work, "sweep", each * more, A + (SMOOTH + OF_BEFORE - 3 / more) * N,
                    (plain - FLOATS / more) * N, FLOATS * N);
    else if (more > 0) /* the first has no z before */
        rt_work_add(work, "smooth", each * more, (SMOOTH + OF_BEFORE - 3 / more) * N,
                    (plain + FLOATS - FLOATS / more) * N, FLOATS * N);
}

/* Adds the lines of a step, which are named like the timers of step.c, cg.c and precond.c; none if
 * the rung has no rows. sweeps: a sweep of the polynomial is one pass. */
static void solve_lines(const gfnn_config_t *config, const rt_rung_t *rung, bool sweeps,
                        double iterations, rt_work_t *work)
{
    const double N = product(config->n_nodes), A = PARITY * product(config->n_elements);
    const double replacements = gfnn_replacements(config);
    const bool low = gfnn_z_is_low((const gfnn_kernels_t *)rung->kernels, config);
    const double z = low ? HALVES : FLOATS;
    double single = gfnn_is_single(config) ? iterations : 0;
    const double twice = iterations - single;
    if (config->precond == GFNN_CHEB && !sweeps)
        single += iterations * (double)(config->degree - 1);
    if (!add_rows(config, rung, twice + 2 + replacements, single, work))
        return;
    once_lines(config, replacements, work);
    vector_lines(config, z, iterations, work);
    if (config->precond == GFNN_CHEB)
        sweep_lines(config, iterations, sweeps ? A : 0, work);
    if (gfnn_has_network(config))
        rt_work_add(work, "predictor", iterations, predictor_flops(config) * N,
                    predictor_read(config, rung) * N, z * N);
    rt_work_add(work, "newmark before", 1, BEFORE * N, 3 * DOUBLES * N, 2 * DOUBLES * N);
    rt_work_add(work, "force", 1, FORCE * N, 2 * DOUBLES * N, DOUBLES * N);
    rt_work_add(work, "newmark after", 1, AFTER * N, 4 * DOUBLES * N, 3 * DOUBLES * N);
}

/* Sets what each of the units of a solve is credited with. */
static void credit(const gfnn_config_t *config, double units, const char *unit, double flops,
                   double bytes, rt_work_t *work)
{
    /* --roofline copies one half of what a unit touches to the other */
    *work = (rt_work_t){.unit = unit,
                        .units = units,
                        .flops = flops,
                        .bytes = bytes,
                        .points = product(config->n_nodes),
                        .point = "node",
                        .loads_and_stores = 2,
                        .distinct_arrays = 2,
                        .array_bytes = bytes / 2 / rt_comm_size()};
}

static void solve_work(const gfnn_config_t *config, const rt_rung_t *rung, bool sweeps,
                       double credited, double iterations, rt_work_t *work)
{
    const double E = product(config->n_elements), N = product(config->n_nodes);
    credit(config, (double)config->steps, "time step", cgbj_flops(E, N, credited),
           cgbj_bytes(N, credited), work);
    solve_lines(config, rung, sweeps, iterations, work);
    if (config->precond > GFNN_BJ || gfnn_is_single(config))
        work->arithmetic = RT_MIXED;
}

void gfnn_work(const rt_run_t *run, const rt_rung_t *rung, rt_work_t *work)
{
    const gfnn_config_t *config = run->config;
    const double E = product(config->n_elements), N = product(config->n_nodes);
    if (strcmp(rung->ladder, "solve") == 0) {
        solve_work(config, rung, false, 1, 1, work);
    } else if (strcmp(rung->ladder, "operator") == 0) {
        credit(config, 1, "application", PARITY * E, OPERATOR_BYTES * N, work);
        add_rows(config, rung, 0, 0, work);
    } else {
        credit(config, 1, "application", predictor_flops(config) * N,
               (predictor_read(config, rung) + FLOATS) * N, work);
        add_rows(config, rung, 0, 0, work);
        work->arithmetic = strcmp(rung->name, "tensor") == 0 ? RT_MMA16 : RT_FMA32;
    }
}

void gfnn_work_done(const gfnn_solver_t *s, rt_work_t *work)
{
    const gfnn_problem_t *p = s->problem;
    if (s->kernels->ladder != GFNN_LADDER_SOLVE || s->steps < 1 || !p->oracle)
        return;
    const int64_t iterations = s->timed_iterations > 0 ? s->timed_iterations : s->iterations;
    solve_work(p->config, s->rung, gfnn_sweeps(s), fmax(1, (double)p->oracle->iterations_bj),
               (double)iterations / (double)s->steps, work);
}
