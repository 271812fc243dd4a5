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
 * `global` also writes ur, us, ut to memory and reads them again: 48 bytes more. `vector` and
 * `batched` have seven sweeps instead of ax (cpu/vector.c). Rungs that fuse lines have their own
 * counts.
 */
#include "config.h"
#include "precond/precond.h"
#include "judge/exchange.h"
#include <math.h>
#include <string.h>

enum { VALUE = sizeof(double) };

static double stored_points(const nek_config_t *config)
{
    return (double)config->elements[0] * (double)config->elements[1] * (double)config->elements[2] *
           pow(config->n, 3);
}

/* Sets what a unit is credited with: that many iterations of CG. */
static void credit(const nek_config_t *config, const char *unit, double units, double iterations,
                   rt_work_t *work)
{
    const double P = stored_points(config);
    *work = (rt_work_t){.unit = unit,
                        .units = units,
                        .flops = iterations * P * (12 * config->n + 34),
                        .bytes = iterations * P * 30 * VALUE,
                        .points = 1,
                        .point = "point",
                        .loads_and_stores = 30,
                        .distinct_arrays = 12, /* x r p w z c, six factors */
                        .array_bytes = (double)config->points * VALUE};
    for (int d = 0; d < 3; d++)
        work->points *= (double)(config->elements[d] * config->degree + 1);
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
    whole.points = (int64_t)stored_points(config);
    nek_shared_points(&whole, &shared, &none);
    return (double)shared;
}

/* --- the ladder solve --- */

static void solve_work(const nek_config_t *config, const rt_rung_t *rung, double credited,
                       double iterations, rt_work_t *work)
{
    const nek_kernels_t *kernels = nek_kernels(rung);
    const double P = stored_points(config);
    const bool schwarz = nek_precond(config, kernels) == NEK_SCHWARZ;
    const bool fused = schwarz && kernels && kernels->cg;
    credit(config, "solve", 1, credited, work);
    if (!fused)
        nek_work_add(config, iterations, P, shared_points(config), 7, 1, work);
    if (schwarz)
        nek_precond_work(config, fused, iterations, P, work);
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
    const nek_kernels_t *kernels = nek_kernels(rung);
    const double P = stored_points(config), S = shared_points(config);
    if (rung->ladder && strcmp(rung->ladder, "solve") == 0) {
        solve_work(config, rung, 1, 1, work);
        return;
    }
    credit(config, "iteration", (double)config->iterations, 1, work);
    if (kernels && kernels->work) {
        kernels->work(config, P, S, work);
        return;
    }
    double spilled = kernels ? kernels->scratch_arrays : 0; /* written once, read once */
    nek_work_add(config, 1, P, S, 7 + spilled, 1 + spilled, work);
}

void nek_work_add(const nek_config_t *config, double iterations, double P, double S, double ax_read,
                  double ax_written, rt_work_t *work)
{
    rt_work_add(work, "update_p", iterations, 2 * P, 2 * VALUE * P, VALUE * P);
    rt_work_add(work, "ax", iterations, (12 * config->n + 15) * P, ax_read * VALUE * P,
                ax_written * VALUE * P);
    if (config->communication)
        rt_work_add(work, "gather-scatter", iterations, S, (4 + VALUE) * S, VALUE * S);
    rt_work_add(work, "shift", iterations, 5 * P, 3 * VALUE * P, VALUE * P);
    rt_work_add(work, "update_xr", iterations, 7 * P, 5 * VALUE * P, 2 * VALUE * P);
}

static double larger(double a, double b)
{
    return a > b ? a : b;
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
    const double problem = fixed + array + halo;
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
        making = larger(making, problem + array + making_halo);
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
    double judging = larger(larger(oracle, bench + larger(room, exchange)), after);
    if (kernels && kernels->preconditioner)
        judging = oracle + bench + exchange + nek_precond_memory(config, kernels, space, bytes);
    bytes[RT_HOST] = larger(problem + array + host_solver + judging, making) + small;
}
