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
 * rung says that (1152: a 24x24 product; 700: B^T D B; ...), and the figure
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
 * Bytes of FP64 vectors (24), FP32 ones (12), r and z in 16 bits (6), id (1), as rows[] has them. A
 * polynomial of degree d is jacobi, and d - 1 times A in FP32 with smooth, or a sweep for both; the
 * first of these has no z before. The first direction has no x, but after the last one x has a step to
 * go. In FP32 renew and arrive come again for each replacement (gfnn_replacements), after an operator
 * in FP64.
 *
 * Factors that are powers of two, by which r and z are scaled, are not counted.
 */
#include "config.h"
#include <math.h>
#include <string.h>
#include "gfnn.h"
#include "judge/judge.h"

enum { DOUBLES = 3 * sizeof(double), FLOATS = 3 * sizeof(float), HALVES = 3 * sizeof(uint16_t) };
enum { PARITY = 187, OPERATOR_BYTES = 2 * DOUBLES + 1 };

/* What rows count: elements, nodes, all nodes' neighbours if the network is gf8, the flops of gfm,
 * and the bytes that a predictor reads. In a time step also bytes of a vector of conjugate gradients,
 * of what they make of r for the preconditioner, and of z; nodes of what is replaced, per call of
 * renew; nodes of the first sweep of a polynomial, per sweep. */
enum { E, N, GF8, GFM, READ, OWN, LOW, Z, REPLACED, FIRST };
/* Calls: of a step; of operators in FP64 and FP32; of renew; of iterations: all, by preconditioner, and
 * of sweeps, in one pass or two. */
enum { ONCE, TWICE, SINGLE, RENEWS, ALL, BJ, NOT_BJ, CHEB, NETWORK, SWEEPS, SMOOTHS, CALLS };

#define STORED     "cpu-coloured cpu-atomic coloured atomic openacc"
#define RECOMPUTED "cpu-recompute recompute"
#define MODES      "cpu-simd parity kokkos"
#define DEFINITION "predict-reference tensor predict-openacc"
#define WEIGHING   "predict-simd direct unrolled tiled predict-kokkos"
#define BY_MODES   "solve-simd solve-cuda solve-kokkos"
#define SOLVES     "solve-reference solve-simd solve-cuda solve-kokkos"

enum { UPDATE = 12, DOT = 6, DIRECTION = 12, JACOBI = 15, UPDATE_BJ = UPDATE + JACOBI + DOT };
enum { SMOOTH = JACOBI + 6 + 9 /* of the z before */, BEFORE = 12, AFTER = 21, FORCE = 9 };

/* rungs, kernel, {flops}, {bytes read}, {bytes written}, calls. In a solve with p.Ap. For gf8 the
 * definition takes 36 flops per neighbour; WEIGHING rungs take two multiply-adds for the weights of r,
 * six products and nine multiply-adds. The lines of a step are named like its timers. */
static const rt_work_row_t rows[] = {
    {"reference", "operator", {1152}, {[N] = DOUBLES + 1}, {[N] = DOUBLES}, ONCE},
    {STORED, "operator", {700}, {[N] = DOUBLES, [E] = DOUBLES}, {[N] = DOUBLES}, ONCE},
    {RECOMPUTED, "operator", {700}, {[N] = DOUBLES + 1}, {[N] = DOUBLES}, ONCE},
    {"node", "operator", {1686}, {[N] = DOUBLES + 1}, {[N] = DOUBLES}, ONCE},
    {MODES, "operator", {PARITY}, {[N] = DOUBLES + 1}, {[N] = DOUBLES}, ONCE},
    {DEFINITION, "predictor", {[GF8] = 36, [GFM] = 1}, {[READ] = 1}, {[N] = FLOATS}, ONCE},
    {WEIGHING, "predictor", {[GF8] = 28, [GFM] = 1}, {[READ] = 1}, {[N] = FLOATS}, ONCE},
    {"solve-reference", "operator", {1152, 6}, {[N] = DOUBLES + 1}, {[N] = DOUBLES}, TWICE},
    {"solve-reference",
     "operator FP32",
     {1152, 6},
     {[N] = FLOATS + 1},
     {[N] = FLOATS},
     SINGLE | RT_IN_FP32},
    {BY_MODES, "operator", {PARITY, 6}, {[N] = DOUBLES + 1}, {[N] = DOUBLES}, TWICE},
    {BY_MODES,
     "operator FP32",
     {PARITY, 6},
     {[N] = FLOATS + 1},
     {[N] = FLOATS},
     SINGLE | RT_IN_FP32},
    {SOLVES, "start", {[N] = DOT}, {[N] = DOUBLES}, {0}, ONCE},
    {SOLVES,
     "renew",
     {[REPLACED] = FORCE},
     {[N] = DOUBLES, [REPLACED] = DOUBLES},
     {[OWN] = 2, [LOW] = 1},
     RENEWS},
    {SOLVES, "arrive", {[N] = DOT}, {[OWN] = 2, [REPLACED] = DOUBLES}, {[N] = DOUBLES}, RENEWS},
    {SOLVES, "update", {[N] = UPDATE_BJ}, {[OWN] = 2, [N] = 1}, {[OWN] = 1, [N] = FLOATS}, BJ},
    {SOLVES, "update", {[N] = UPDATE}, {[OWN] = 2}, {[OWN] = 1, [LOW] = 1}, NOT_BJ},
    {SOLVES, "dots", {[N] = DOT}, {[OWN] = 1, [Z] = 1}, {0}, CHEB},
    {SOLVES, "dots", {[N] = 2 * DOT}, {[OWN] = 2, [Z] = 1}, {0}, NETWORK},
    {SOLVES, "direction", {[N] = DIRECTION}, {[OWN] = 2, [Z] = 1}, {[OWN] = 2}, ALL},
    {SOLVES, "jacobi", {[N] = JACOBI}, {[N] = FLOATS + 1}, {[N] = FLOATS}, CHEB | RT_IN_FP32},
    {SOLVES,
     "sweep",
     {[E] = PARITY, [N] = SMOOTH, [FIRST] = -3},
     {[N] = 3 * FLOATS + 1, [FIRST] = -(double)FLOATS},
     {[N] = FLOATS},
     SWEEPS | RT_IN_FP32},
    {SOLVES,
     "smooth",
     {[N] = SMOOTH, [FIRST] = -3},
     {[N] = 4 * FLOATS + 1, [FIRST] = -(double)FLOATS},
     {[N] = FLOATS},
     SMOOTHS | RT_IN_FP32},
    {SOLVES, "predictor", {[GF8] = 36, [GFM] = 1}, {[READ] = 1}, {[Z] = 1}, NETWORK | RT_IN_FP32},
    {SOLVES, "newmark before", {[N] = BEFORE}, {[N] = 3 * DOUBLES}, {[N] = 2 * DOUBLES}, ONCE},
    {SOLVES, "force", {[N] = FORCE}, {[N] = 2 * DOUBLES}, {[N] = DOUBLES}, ONCE},
    {SOLVES, "newmark after", {[N] = AFTER}, {[N] = 4 * DOUBLES}, {[N] = 3 * DOUBLES}, ONCE},
};

static double product(const int64_t n[3])
{
    return (double)n[0] * (double)n[1] * (double)n[2];
}

/* Returns the bytes of r as the rung's predictor reads it. */
static double low_bytes(const gfnn_config_t *config, const rt_rung_t *rung)
{
    const gfnn_kernels_t *kernels = (const gfnn_kernels_t *)rung->kernels;
    const bool half = gfnn_precision_of(kernels, config) == GFNN_FP16;
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

/* Returns the bytes of what the loops make of r for the preconditioner. */
static double low_of(const gfnn_config_t *config)
{
    return gfnn_reads_low(config) ? HALVES : gfnn_needs_r32(config) ? FLOATS : 0;
}

/* Adds the rows of a rung, which may have none. sweeps: a sweep of the polynomial is one pass. */
static void add_rows(const gfnn_config_t *config, const rt_rung_t *rung, bool sweeps,
                     double iterations, rt_work_t *work)
{
    const double nodes = product(config->n_nodes), replacements = gfnn_replacements(config);
    const double own = gfnn_is_single(config) ? FLOATS : DOUBLES;
    const double z = gfnn_z_is_low((const gfnn_kernels_t *)rung->kernels, config) ? HALVES : FLOATS;
    const bool gf8 = config->precond == GFNN_GF8, bj = config->precond == GFNN_BJ;
    const double cheb = config->precond == GFNN_CHEB ? iterations : 0;
    const double later = (double)config->degree - 1; /* sweeps of a polynomial after jacobi */
    const double count[RT_WORK_COUNTS] = {[E] = product(config->n_elements),
                                          [N] = nodes,
                                          [GF8] =
                                              gf8 ? (double)gfnn_stencil(config->reach) * nodes : 0,
                                          [GFM] = gf8 ? 0 : predictor_flops(config) * nodes,
                                          [READ] = predictor_read(config, rung) * nodes,
                                          [OWN] = own * nodes,
                                          [LOW] = low_of(config) * nodes,
                                          [Z] = z * nodes,
                                          [REPLACED] = nodes * replacements / (1 + replacements),
                                          [FIRST] = later > 0 ? nodes / later : 0};
    const double single = gfnn_is_single(config) ? iterations : 0;
    const double calls[CALLS] = {[ONCE] = 1,
                                 [TWICE] = iterations - single + 2 + replacements,
                                 [SINGLE] = single + (sweeps ? 0 : cheb * later),
                                 [RENEWS] = 1 + replacements,
                                 [ALL] = iterations,
                                 [BJ] = bj ? iterations : 0,
                                 [NOT_BJ] = bj ? 0 : iterations,
                                 [CHEB] = cheb,
                                 [NETWORK] = gfnn_has_network(config) ? iterations : 0,
                                 [SWEEPS] = sweeps ? cheb * later : 0,
                                 [SMOOTHS] = sweeps ? 0 : cheb * later};
    rt_work_rows(rows, sizeof rows / sizeof *rows, rung->name, count, calls, work);
    if (rung->kind == RT_CUDA && low_bytes(config, rung) == HALVES)
        for (rt_work_line_t *line = work->line; line < work->line + work->n; line++)
            if (strcmp(line->kernel, "predictor") == 0)
                line->arithmetic = RT_MMA16;
}

/* Credits CGBJ with three passes per iteration. */
static double cgbj_flops(double elements, double nodes, double iterations)
{
    return iterations * ((PARITY + 6) * elements + (UPDATE_BJ + DIRECTION) * nodes) +
           2 * PARITY * elements + (BEFORE + FORCE + AFTER) * nodes;
}

static double cgbj_bytes(double nodes, double iterations)
{
    enum { UPDATE_BJ_BYTES = 3 * DOUBLES + FLOATS + 1, DIRECTION_BYTES = 4 * DOUBLES + FLOATS };
    return nodes * (iterations * (OPERATOR_BYTES + UPDATE_BJ_BYTES + DIRECTION_BYTES) +
                    2 * OPERATOR_BYTES + 12 * DOUBLES + 3 * DOUBLES);
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
    add_rows(config, rung, sweeps, iterations, work);
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
        add_rows(config, rung, false, 0, work);
    } else {
        credit(config, 1, "application", predictor_flops(config) * N,
               (predictor_read(config, rung) + FLOATS) * N, work);
        add_rows(config, rung, false, 0, work);
        work->arithmetic = strcmp(rung->name, "tensor") == 0 ? RT_MMA16 : RT_FMA32;
    }
}

double gfnn_work_done(const gfnn_solver_t *s, rt_work_t *work)
{
    const gfnn_problem_t *p = s->problem;
    const int64_t all = s->timed_iterations > 0 ? s->timed_iterations : s->iterations;
    const double iterations = s->steps > 0 ? (double)all / (double)s->steps : 0;
    if (s->kernels->ladder == GFNN_LADDER_SOLVE && s->steps > 0 && p->oracle)
        solve_work(p->config, s->rung, gfnn_sweeps(s), fmax(1, (double)p->oracle->iterations_bj),
                   iterations, work);
    return iterations;
}
