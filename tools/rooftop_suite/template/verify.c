/*
 * verify.c - what a rung must prove before its time counts. Compiled without -ffast-math.
 *
 * Before timing, u being what a point's number and the seed say: the exchange brings the ghost layers,
 * which the judge knows without it, and a sweep is that of the definition. v takes seven roundings of
 * a sum of magnitudes, in the rung and in the reference: 14 eps of that sum. After timing: u of three
 * solves, each for another b, against a solve by the reference. A sweep is a mean, and u grows, so each
 * sweep adds at most its own roundings: 14 eps of max u + max b.
 */
#include <math.h>
#include "../jacobi.h"
#include "base/draw.h"
#include "judge/compare.h"

#define UNIT (14 * RT_EPS)

/* Returns the largest error in this rank's layers, and those of the others; the judged have zeros
 * around the cube. */
static double worst(const jacobi_view_t *view, const double *got, const double *want,
                    const double *size, double unit)
{
    const int64_t at = view->plane;
    double most = rt_worst_error(at * view->layers, got + at, want + at, size + at, unit);
    rt_comm_max(&most, 1);
    return most;
}

void jacobi_verify_before(void *solver, uint64_t seed, rt_verdict_t *verdict)
{
    jacobi_solver_t *s = solver;
    jacobi_view_t *view = &s->view, host = *view;
    const size_t values = view->values, bytes = values * sizeof(double);
    double *array = RT_NEW(double, 4 * values, RT_HOST);
    double *u = array, *got = u + values, *want = got + values, *size = want + values, wrong = 0;
    rt_fill(array, RT_HOST, 0, 4 * bytes);
    for (size_t i = 0; i < values; i++) {
        const int64_t point = jacobi_point(s->run->config, i), z = (int64_t)i / view->plane;
        const bool ghost = z == 0 || z == view->layers + 1;
        u[i] = point < 0 ? 0 : rt_random((uint64_t)point, seed);
        got[i] = point >= 0 && ghost ? NAN : u[i];
    }
    jacobi_spoil(s, 0, RT_KEEP_NOTHING);
    rt_copy(view->u, s->space, got, RT_HOST, bytes);
    rt_fill(view->v, s->space, 0, bytes);
    jacobi_exchange(s);
    rt_copy(got, RT_HOST, view->u, s->space, bytes);
    for (size_t i = 0; i < values; i++)
        wrong += !(got[i] == u[i]);
    rt_comm_sum(&wrong, 1);
    rt_verdict_true(verdict, "ghost layers", wrong == 0);

    host.b = RT_NEW(double, values, RT_HOST);
    rt_copy(host.b, RT_HOST, view->b, s->space, bytes);
    host.u = u;
    host.v = want;
    jacobi_reference.sweep(&host);
    s->kernels->sweep(view);
    rt_copy(got, RT_HOST, view->v, s->space, bytes);
    for (size_t i = 0; i < values; i++)
        u[i] = fabs(u[i]); /* b is positive */
    host.v = size;
    jacobi_reference.sweep(&host);
    rt_verdict_check(verdict, "sweep", worst(view, got, want, size, UNIT), 1);
    RT_FREE(host.b, RT_HOST);
    RT_FREE(array, RT_HOST);
}

/* Compares u of a solve with that of the reference for the same draw. */
static void judge(jacobi_solver_t *oracle, uint64_t draw, const double *u, rt_verdict_t *verdict)
{
    const jacobi_view_t *view = &oracle->view;
    double most = 0;
    jacobi_spoil(oracle, draw, RT_KEEP_NOTHING);
    jacobi_solve(oracle);
    for (size_t i = 0; i < view->values; i++)
        most = fmax(most, view->u[i] + view->b[i]);
    rt_comm_max(&most, 1);
    double *size = view->v; /* of the sweep before */
    for (size_t i = 0; i < view->values; i++)
        size[i] = most;
    const double sweeps = (double)((const jacobi_config_t *)oracle->run->config)->iterations;
    rt_verdict_check(verdict, "solve", worst(view, u, view->u, size, UNIT * sweeps), 1);
}

void jacobi_verify_after(void *solver, rt_verdict_t *verdict)
{
    jacobi_solver_t *s = solver;
    jacobi_solver_t *oracle =
        jacobi_solver_new((void *)s->run, rt_app_rung(&jacobi_app, "reference"));
    jacobi_keep(s, RT_KEEP_NOTHING);
    for (int k = 0; k < RT_KEEPS; k++)
        if (s->kept[k]) {
            judge(oracle, s->draw[k], s->kept[k], verdict);
            RT_FREE(s->kept[k], RT_HOST);
        }
    jacobi_solver_destroy(oracle);
}
