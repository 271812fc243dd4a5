/*
 * work.c - the flops and bytes of nekbone, counted term by term before anything is measured.
 *
 * P = number of elements * n^3 stored points, S = those of them that elements share.
 *
 * Every rung is credited with the same work (Karp et al., section III-A): P (12 n + 34) flops, of
 * which the operator has 12 n + 19 and CG 15; and 24 reads and 6 writes of 8 bytes = 240 P bytes.
 * That list already has z = r, r.z and r.r, so --precond jacobi adds only what turns z = r into z =
 * r / diag(A), one product and one array read: P (12 n + 35) flops and 248 P bytes. Its unit has a
 * different name, so that the two are not compared by accident.
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
 * With --precond jacobi update_p reads 1 / diag(A) and multiplies by it (1 flop, 8 bytes more), and
 * update_xr does the same and also sums r.z (2 flops, 8 bytes more).
 *
 * `global` also writes ur, us, ut to memory and reads them again: 48 bytes more. `vector` has seven
 * sweeps instead of ax (cpu/vector.c). Rungs that fuse lines have their own counts.
 */
#include "config.h"
#include "nekbone.h"
#include <math.h>

enum { VALUE = sizeof(double) };

static double stored_points(const nek_config_t *config)
{
    return (double)config->elements[0] * (double)config->elements[1] * (double)config->elements[2] *
           pow(config->n, 3);
}

void nek_work(const rt_run_t *run, const rt_rung_t *rung, rt_work_t *work)
{
    const nek_config_t *config = run->config;
    const nek_kernels_t *kernels = nek_kernels(rung);
    const int jacobi = config->precond != NEK_NONE;
    double P = stored_points(config);
    *work = (rt_work_t){.unit = jacobi ? "Jacobi-preconditioned iteration" : "iteration",
                        .units = (double)config->iterations,
                        .flops = P * (12 * config->n + 34 + jacobi),
                        .bytes = P * (30 + jacobi) * VALUE,
                        .points = 1,
                        .point = "point",
                        .loads_and_stores = 30 + jacobi,
                        .distinct_arrays = 12 + jacobi, /* x r p w z c, six factors; diagonal */
                        .array_bytes = (double)config->points * VALUE};
    for (int d = 0; d < 3; d++)
        work->points *= (double)(config->elements[d] * config->degree + 1);

    double S = 0;
    if (config->communication) {
        nek_config_t whole = *config; /* one rank that holds everything */
        int64_t shared, none;
        for (int d = 0; d < 3; d++) {
            whole.local[d] = config->elements[d];
            whole.first[d] = 0;
        }
        whole.points = (int64_t)P;
        nek_shared_points(&whole, &shared, &none);
        S = (double)shared;
    }
    if (kernels && kernels->work) {
        kernels->work(config, P, S, work);
        return;
    }
    double spilled = kernels ? kernels->scratch_arrays : 0; /* written once, read once */
    nek_work_add(config, P, S, 7 + spilled, 1 + spilled, work);
}

void nek_work_add(const nek_config_t *config, double P, double S, double ax_read, double ax_written,
                  rt_work_t *work)
{
    const int jacobi = config->precond != NEK_NONE;
    rt_work_add(work, "update_p", 1, (2 + jacobi) * P, (2 + jacobi) * VALUE * P, VALUE * P);
    rt_work_add(work, "ax", 1, (12 * config->n + 15) * P, ax_read * VALUE * P,
                ax_written * VALUE * P);
    if (config->communication)
        rt_work_add(work, "gather-scatter", 1, S, (4 + VALUE) * S, VALUE * S);
    rt_work_add(work, "shift", 1, 5 * P, 3 * VALUE * P, VALUE * P);
    rt_work_add(work, "update_xr", 1, (7 + 2 * jacobi) * P, (5 + jacobi) * VALUE * P,
                2 * VALUE * P);
}

static double larger(double a, double b)
{
    return a > b ? a : b;
}

/*
 * Predicts the memory of one rank, in arrays of `points` doubles. The problem holds G (6), c, b,
 * and with --precond jacobi 1 / diag(A). A solver holds x, r, p, w, b and, if it cannot use the
 * host's arrays, copies of all the problem's arrays except b. Host memory peaks in the short solve
 * of judge/verify.c (problem, x_ref, the rung's solver if it is on the host, and the oracle's
 * solver) or, for small n, while a halo is made.
 */
void nek_memory(const rt_run_t *run, const rt_rung_t *rung, double bytes[RT_SPACES])
{
    const nek_config_t *config = run->config;
    const nek_kernels_t *kernels = nek_kernels(rung);
    const rt_space_t space = rt_rung_space(rung);
    const double array = (double)config->points * VALUE,
                 matrix = (double)config->n * config->n * VALUE;
    const double partial = (double)nek_vector_cpu.partial_size(config->points) * VALUE;
    /* The scalars of each iteration: history, alpha and beta of two solvers, the reference's
     * history, and two arrays for the Ritz values or one for the sensitivity. */
    const double small = 9 * (double)(config->iterations + 1) * VALUE + sizeof(nek_problem_t) +
                         2 * sizeof(nek_solver_t) + matrix;
    int64_t local = 0, shared = 0;
    double halo = 0, making_halo = 0;
    if (config->communication) {
        nek_shared_points(config, &local, &shared);
        halo = (double)rt_halo_predict(local, shared, 1, RT_HOST);
        making_halo = 2.0 * (double)(local + shared) * sizeof(int64_t) + /* positions and ids */
                      (double)rt_halo_predict_setup(local, shared);
    }
    const double fixed =
        (7 + (config->precond != NEK_NONE)) * array; /* what the kernels only read */
    const double problem = fixed + array + halo;
    double solver = 5 * array, host_solver = 0, making = 8 * array + making_halo;
    bytes[RT_HOST] = bytes[RT_DEVICE] = 0;
    bytes[RT_PINNED] = 3 * 2 * VALUE;
    if (kernels)
        solver += kernels->scratch_arrays * array +
                  (double)kernels->vector->partial_size(config->points) * VALUE;
    if (space == RT_HOST) {
        host_solver = solver;
    } else {
        bytes[space] = fixed + matrix + solver;
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
    const double judging =
        larger(5 * array + partial, 4 * array + (double)nek_size_room(config->n) * VALUE);
    const double solving = problem + array + host_solver + judging;
    bytes[RT_HOST] = larger(solving, making) + small;
}
