/*
 * work.c - the flops and bytes of nekbone, counted term by term before anything is measured.
 *
 * P = number of elements * n^3 stored points, S = those of them that elements share.
 *
 * Every rung is credited with the same work (Karp et al., section III-A): P (12 n + 34) flops, of
 * which the operator has 12 n + 19 and CG 15; and 24 reads and 6 writes of 8 bytes = 240 P bytes.
 *
 * The rungs of this ladder do this work per iteration:
 *
 *   kernel          flops per point                            bytes per point
 *   update_p        2  (beta p, + r)                           read r p; write p             24
 *   ax              12 n  (6 sums of n products)               read u, 6 factors; write w    64
 *                   15    (3 rows of 3 products)               (D: n^2 values, in cache)
 *   gather-scatter  1 per shared point                         read index and w; write w     20 S/P
 *   shift           2  (lambda p, + w), 3 (c w p, sum)         read w p c; write w           32
 *   update_xr       2 + 2, 3 (c r r, sum)                      read p w x r c; write x r     56
 *
 * On the ladder `solve` the unit is a solve, and every rung is credited with the work of CG without
 * a preconditioner, by its iterations in this problem (judge/tolerance.c counts them): that many
 * times P (12 n + 34) flops and 240 P bytes. Only then is a preconditioner that takes fewer, dearer
 * iterations better by what it saves. Before a solve a single iteration stands for them.
 *
 * What a preconditioner adds to it: precond/work.c.
 *
 * `global` and `openacc` also write ur, us, ut to memory and read them again: 48 bytes more.
 * `vector` and `batched` have seven sweeps instead of ax:
 *
 *   sweep                      arrays read                 written
 *   3 products with D          3  (u each time)            3  (ur, us, ut)
 *   factors                    9  (ur, us, ut, 6 of G)     3
 *   3 products with D^T        5  (ur, us, ut, w twice)    3  (w each time)
 *
 * `cpu-fused` and `kokkos-fused`:
 *
 *   pass            2      (alpha v, r -)                           read r v p, 6 factors
 *                   2      (beta p, + r)                            write r p v                 96
 *                   3      (c r r, sum)                             x every second time:
 *                   2      (x: 2 products, 2 sums, every second)    read x, write x              8
 *                   8 n + 23  (operator, below)                     (D, weights: in cache)
 *                   3      (lambda c p, + v)
 *                   4      (p.v, r.v)
 *   gather-scatter  3 (c v v, sum), 1 per shared point              read v                       8
 *                                                                   write shared v           8 S/P
 *   last update     once per solve: 4 (x), 5 (r, r.r)               read x p r v; write x r     48
 *
 * A sum by halves of D has n flops in its products and 2 in its additions. Tiles have four such sums,
 * along j and k, and an operator of 8 n + 23. The GPU's rungs that fuse lines have one of 6 (n + 2) +
 * 15. `fused`: x and p 4, shift and mask 2, p.v 2. `onepass`: r and p 4, x 5 every second time, shift
 * and mask 2, sums 3 + 2 + 2 + 2; once per solve r 2, x 5, r.r 3. `mixed`: the same, values of 4
 * bytes, but the last x and r; all but 2 products and sums of each inner product in FP32. `trilinear`
 * has no factors, instead of 15: 198 for a column, here as for one of 10 points, and 40 at each point
 * (trilinear.h). `resident` has its vectors on the chip, where they cost nothing; the factors are read
 * from L2, or stay on the chip too; surfaces are written and read with their marks. Vectors 8, shift
 * and mask 2, sums 3 + 2.
 */
#include "config.h"
#include "precond/precond.h"
#include "base/threads.h"
#include "judge/exchange.h"
#include <math.h>
#include <string.h>

enum { VALUE = sizeof(double), SINGLE = sizeof(float) };
/* What rows count: stored points, n for each of them, points that elements share, elements. */
enum { P, NP, S, E };
enum { EACH, SHARED, LAST }; /* calls: in each iteration; if elements add; once in a solve */

#define BY_LINES \
    "reference scalar shared layered packed kokkos solve-reference solve-cuda solve-mixed solve-kokkos"
#define BY_TILES "jammed solve-cpu"
#define SWEEPING "vector batched"
#define SPILLING "global openacc"
#define ALL      BY_LINES " " BY_TILES " " SWEEPING " " SPILLING
#define PASSING  "cpu-fused kokkos-fused"

/* rungs, kernel, {flops}, {bytes read}, {bytes written}, calls */
static const rt_work_row_t rows[] = {
    {ALL, "update_p", {2}, {2 * VALUE}, {VALUE}, EACH},
    {BY_LINES, "ax", {15, 12}, {7 * VALUE}, {VALUE}, EACH},
    {BY_TILES, "ax", {23, 8}, {7 * VALUE}, {VALUE}, EACH},
    {SWEEPING, "ax", {15, 12}, {17 * VALUE}, {9 * VALUE}, EACH},
    {SPILLING, "ax", {15, 12}, {10 * VALUE}, {4 * VALUE}, EACH},
    {ALL, "gather-scatter", {[S] = 1}, {[S] = 4 + VALUE}, {[S] = VALUE}, SHARED},
    {ALL, "shift", {5}, {3 * VALUE}, {VALUE}, EACH},
    {ALL, "update_xr", {7}, {5 * VALUE}, {2 * VALUE}, EACH},
    {PASSING, "pass", {39, 8}, {9.5 * VALUE}, {3.5 * VALUE}, EACH},
    {PASSING, "gather-scatter", {3, [S] = 1}, {VALUE}, {[S] = VALUE}, EACH},
    {PASSING, "last update", {9}, {4 * VALUE}, {2 * VALUE}, LAST},
    {"fused", "pass", {35, 6}, {9 * VALUE}, {3 * VALUE}, EACH},
    {"fused", "gather", {[S] = 1}, {[S] = VALUE}, {[S] = VALUE}, SHARED},
    {"fused", "update", {5}, {2 * VALUE}, {VALUE}, EACH},
    {"onepass", "pass", {44.5, 6}, {9.5 * VALUE}, {3.5 * VALUE}, EACH},
    {"mixed", "pass", {44.5, 6}, {9.5 * SINGLE}, {3.5 * SINGLE}, EACH},
    {"mixed", "gather", {[S] = 2}, {[S] = SINGLE}, {[S] = SINGLE}, SHARED},
    {"trilinear", "pass", {89.3, 6}, {3.5 * VALUE, [E] = 24 * VALUE}, {3.5 * VALUE}, EACH},
    {"onepass trilinear", "gather", {[S] = 2}, {[S] = VALUE}, {[S] = VALUE}, SHARED},
    {"onepass trilinear", "finish", {10}, {4 * VALUE}, {2 * VALUE}, LAST},
    {"mixed", "finish", {10}, {4 * SINGLE}, {2 * VALUE}, LAST},
    {"resident", "cg", {42, 6, 1}, {6 * VALUE, [S] = 2 * VALUE}, {[S] = 2 * VALUE}, EACH},
};

static double elements_of(const nek_config_t *config)
{
    return (double)config->elements[0] * (double)config->elements[1] * (double)config->elements[2];
}

static double stored_points(const nek_config_t *config)
{
    return elements_of(config) * pow(config->n, 3);
}

double nek_single_points(const nek_config_t *config, double degree)
{
    double V = 1;
    for (int d = 0; d < 3; d++)
        V *= (double)config->elements[d] * degree + 1;
    return V;
}

/* Sets what a unit is credited with: that many iterations of CG. */
static void credit(const nek_config_t *config, const char *unit, double units, double iterations,
                   rt_work_t *work)
{
    const double points = stored_points(config);
    *work = (rt_work_t){.unit = unit,
                        .units = units,
                        .flops = iterations * points * (12 * config->n + 34),
                        .bytes = iterations * points * 30 * VALUE,
                        .points = nek_single_points(config, (double)config->degree),
                        .point = "point",
                        .loads_and_stores = 30,
                        .distinct_arrays = 12, /* x r p w z c, six factors */
                        .array_bytes = (double)config->points * VALUE};
}

/* Counts the stored points of the whole mesh that elements share. */
static double shared_points(const nek_config_t *config)
{
    nek_config_t whole = *config; /* one rank that holds everything */
    int64_t shared, none;
    if (!config->communication)
        return 0;
    for (int d = 0; d < 3; d++) {
        whole.local[d] = config->elements[d];
        whole.first[d] = 0;
    }
    nek_shared_points(&whole, &shared, &none);
    return (double)shared;
}

/* Adds what a rung does in that many iterations, line by line; returns whether it has rows. */
static bool add_rows(const nek_config_t *config, const rt_rung_t *rung, double iterations,
                     rt_work_t *work)
{
    const double points = stored_points(config);
    const double count[RT_WORK_COUNTS] = {points, config->n * points, shared_points(config),
                                          elements_of(config)};
    const double calls[] = {iterations, config->communication ? iterations : 0,
                            1 / (double)config->iterations};
    return rt_work_rows(rows, sizeof rows / sizeof *rows, rung->name, count, calls, work);
}

/* --- the ladder solve --- */

static void solve_work(const nek_config_t *config, const rt_rung_t *rung, double credited,
                       double iterations, rt_work_t *work)
{
    const nek_kernels_t *kernels = nek_kernels(rung);
    const bool schwarz = nek_precond(config, kernels) == NEK_SCHWARZ;
    credit(config, "solve", 1, credited, work);
    if (!add_rows(config, rung, iterations, work))
        return;
    if (schwarz && kernels && kernels->cg) /* its lines are others */
        work->n = 0;
    if (schwarz)
        nek_precond_work(config, kernels, iterations, stored_points(config), work);
}

void nek_work_done(const nek_solver_t *s, rt_work_t *work)
{
    const int plain = s->problem->reference.plain_iterations;
    if (s->to_tolerance && s->problem->reference.x && s->done > 0)
        solve_work(s->problem->config, s->rung, fmax(1, plain), s->done, work);
}

void nek_work(const rt_run_t *run, const rt_rung_t *rung, rt_work_t *work)
{
    const nek_config_t *config = run->config;
    if (rung->ladder && strcmp(rung->ladder, "solve") == 0) {
        solve_work(config, rung, 1, 1, work);
        return;
    }
    credit(config, "iteration", (double)config->iterations, 1, work);
    work->arithmetic = strcmp(rung->name, "mixed") == 0 ? RT_FMA32 : RT_FMA64;
    add_rows(config, rung, 1, work);
    if (strcmp(rung->name, "resident") == 0) { /* its blocks exchange sums, once more at the end */
        work->line[0].launches = 1 / work->units;
        work->line[0].barriers = 1 + 1 / work->units;
    }
}

int64_t nek_size_room(int n)
{
    return (int64_t)7 * n * n * n * rt_threads();
}

/*
 * Predicts the memory of one rank, in arrays of `points` doubles. The problem holds G (6), c
 * and b. A solver holds x, r, p, w, b and, if it cannot use the
 * host's arrays, copies of all the problem's arrays except b. Host memory peaks in the short solve
 * of judge/verify.c (problem, x_ref, the rung's solver if it is on the host, and the oracle's
 * solver), after the timed solves if the rung is not on the host, or, for small n, while a halo is
 * made.
 */
void nek_memory(const rt_run_t *run, const rt_rung_t *rung, double bytes[RT_SPACES])
{
    const nek_config_t *config = run->config;
    const nek_kernels_t *kernels = nek_kernels(rung);
    const rt_space_t space = rt_rung_space(rung);
    const double array = (double)config->points * VALUE,
                 matrix = (double)config->n * config->n * VALUE;
    const double partial = (double)nek_partials(config->points) * VALUE;
    /* The scalars of each iteration: history, alpha and beta of two solvers, the histories of two
     * references and three solves, and two arrays for the Ritz values or one for the sensitivity. */
    const double small = 10 * (double)(config->iterations + 1) * VALUE + sizeof(nek_problem_t) +
                         2 * sizeof(nek_solver_t) + matrix;
    int64_t local = 0, shared = 0;
    double halo = 0, making_halo = 0;
    if (config->communication) {
        nek_shared_points(config, &local, &shared);
        halo = (double)rt_halo_predict(local, shared, 1, RT_HOST);
        making_halo = 2.0 * (double)(local + shared) * sizeof(int64_t) + /* positions and ids */
                      (double)rt_halo_predict_setup(local, shared);
    }
    const double fixed = 7 * array; /* what the kernels only read */
    const double problem = fixed + array + partial + halo;
    double solver = 5 * array, host_solver = 0, making = 8 * array + making_halo;
    bytes[RT_HOST] = bytes[RT_DEVICE] = 0;
    bytes[RT_PINNED] = 3 * VALUE;
    if (kernels)
        solver += kernels->scratch_arrays * array + partial;
    if (space == RT_HOST) {
        host_solver = solver;
    } else {
        bytes[space] =
            fixed + matrix + array + solver; /* array: the b that others are drawn from */
        if (config->communication) {
            bytes[space] += (double)rt_halo_predict(local, shared, 1, space);
            bytes[RT_PINNED] += (double)rt_halo_predict(local, shared, 1, RT_PINNED);
            host_solver = 4.0 * (double)(local + shared);
        }
        making = fmax(making, problem + array + making_halo);
    }
    if (kernels && kernels->memory) {
        double own[RT_SPACES] = {0};
        kernels->memory(config, own);
        host_solver += own[RT_HOST];
        bytes[RT_PINNED] += own[RT_PINNED];
        bytes[RT_DEVICE] += own[RT_DEVICE];
    }
    /* Before: the arrays of kernels.c, or a solver of the judge's; on the ladder solve both. After: x
     * and r of two solves that were put aside, and the judge's solver, which on the host has the
     * vectors of the rung's. */
    const double oracle = 5 * array + partial, bench = 4 * array;
    const double room = (double)nek_size_room(config->n) * VALUE;
    const double after = 4 * array + (space == RT_HOST ? partial : oracle);
    const double exchange = config->communication ? rt_exchange_memory(config->points) : 0;
    double judging = fmax(fmax(oracle, bench + fmax(room, exchange)), after);
    if (kernels && kernels->preconditioner)
        judging = oracle + bench + exchange + nek_precond_memory(config, kernels, space, bytes);
    bytes[RT_HOST] = fmax(problem + array + host_solver + judging, making) + small;
}
