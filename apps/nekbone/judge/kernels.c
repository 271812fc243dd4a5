/* judge/kernels.c - compares each kernel of a rung with the reference. */
#include "config.h"
#include "judge.h"
#include "../cpu/tiles.h"
#include <math.h>
#include "base/threads.h"
#include "judge/compare.h"

/* Computes size = |D^T| |G| |D| |u|, element by element: the magnitude that rounding errors scale
 * with. */
static void operator_size(const nek_problem_t *p, const double *u, double *size)
{
    int n = p->view.n, n3 = n * n * n;
    double D[NEK_MAX_N * NEK_MAX_N];
    for (int q = 0; q < n * n; q++)
        D[q] = fabs(p->D[q]);
    /* not on the stacks of the threads, which may be small */
    double *room = RT_NEW(double, (size_t)nek_size_room(n), RT_HOST);
#pragma omp parallel
    {
        double *G = room + 7 * n3 * rt_thread(), *a = G + 6 * n3;
        nek_view_t one = {.n = n, .elements = 1, .points = n3, .D = D, .G = G};
#pragma omp for schedule(static)
        for (int64_t e = 0; e < p->view.elements; e++) {
            for (int q = 0; q < 6 * n3; q++)
                G[q] = fabs(p->G[e * 6 * n3 + q]);
            for (int q = 0; q < n3; q++)
                a[q] = fabs(u[e * n3 + q]);
            nek_reference.ax(&one, a, size + e * n3);
        }
    }
    RT_FREE(room, RT_HOST);
}

/* Returns the largest |got - want| / (unit size) over all ranks. */
static double worst(const nek_bench_t *t, double unit)
{
    double most = rt_worst_error(t->points, t->got, t->want, t->size, unit);
    rt_comm_max(&most, 1);
    return most;
}

void nek_bench_put(const nek_bench_t *t, const double *host, double *array)
{
    rt_copy(array, t->s->space, host, RT_HOST, (size_t)t->points * sizeof(double));
}

void nek_bench_get(const nek_bench_t *t, const double *array, double *host)
{
    rt_copy(host, RT_HOST, array, t->s->space, (size_t)t->points * sizeof(double));
}

static void poison(const nek_bench_t *t, double *array)
{
    rt_fill(array, t->s->space, 0xff, (size_t)t->points * sizeof(double));
}

/* Compares the rung's w_e = D^T G D u_e of t->u with t->want, point by point. */
static void compare_operator(nek_bench_t *t, const char *name)
{
    operator_size(t->p, t->u, t->size);
    nek_bench_put(t, t->u, t->s->p);
    poison(t, t->s->w);
    t->s->kernels->ax(&t->s->view, t->s->p, t->s->w);
    nek_bench_get(t, t->s->w, t->got);
    rt_verdict_check(t->verdict, name, worst(t, RT_EPS), 2 * nek_rounding_steps(t->p->view.n));
}

static void check_operator(nek_bench_t *t)
{
    /* The field jumps between elements, so that a value from the wrong element is detected. */
    for (int64_t q = 0; q < t->points; q++)
        t->u[q] = rt_random((uint64_t)q, t->seed);
    nek_reference.ax(&t->p->view, t->u, t->want);
    compare_operator(t, "operator = reference, point by point (eps |D'||G||D||u|)");
    nek_tiles_ax(&t->p->view, t->u, t->got);
    rt_verdict_check(t->verdict, "the judge's fast operator, the same way", worst(t, RT_EPS),
                     2 * nek_rounding_steps(t->p->view.n));

    /* Constants are in the null space of every element's operator, before mask and lambda. */
    for (int64_t q = 0; q < t->points; q++) {
        t->u[q] = 1;
        t->want[q] = 0;
    }
    compare_operator(t, "constants in the null space (eps |D'||G||D| 1)");
}

/* Computes size = Q Q^T |D^T| |G| |D| |u| + lambda |u|. */
static void assembled_size(const nek_bench_t *t, const double *u, double *size)
{
    const nek_problem_t *p = t->p;
    operator_size(p, u, size);
    if (p->halo) {
        rt_field_t field = rt_field_f64(size);
        rt_halo_do(p->halo, RT_HALO_SUM, &field);
    }
    for (int64_t q = 0; q < t->points; q++)
        size[q] += fabs(p->config->lambda * u[q]);
}

/* Checks A = M (Q Q^T D^T G D + lambda) and its inner product; A is symmetric and positive. */
static void check_assembled(nek_bench_t *t)
{
    nek_problem_t *p = t->p;
    nek_solver_t *s = t->s;
    double *x = t->u, *y = t->size; /* size is needed only in the first half */
    nek_random_field(p->config, t->seed + NEK_SEED_X, x);
    double want = nek_oracle_apply(p, x, t->want), total = 0;
    assembled_size(t, x, t->size);
    for (int64_t q = 0; q < t->points; q++)
        total += p->c[q] * t->size[q] * fabs(x[q]);
    rt_comm_sum(&total, 1);
    nek_bench_put(t, x, s->p);
    poison(t, s->w);
    double xAx = nek_apply(s, s->p, s->w);
    nek_bench_get(t, s->w, t->got);
    rt_verdict_check(t->verdict, "assembled operator = reference, point by point (eps size)",
                     worst(t, RT_EPS), 2 * nek_rounding_steps(p->view.n) + 16);
    rt_verdict_check(t->verdict, "x.Ax = reference (eps sum |terms|)",
                     rt_error_over(xAx, want, RT_EPS * total),
                     2 * nek_rounding_steps(p->view.n) + nek_sum_steps(p->config));
    rt_verdict_true(t->verdict, "A positive", xAx > 0);

    nek_random_field(p->config, t->seed + NEK_SEED_Y, y);
    double yAx = nek_oracle_dot(p, y, t->got);
    nek_bench_put(t, y, s->p);
    poison(t, s->w);
    nek_apply(s, s->p, s->w);
    nek_bench_get(t, s->w, t->got);
    double xAy = nek_oracle_dot(p, x, t->got);
    double scale = sqrt(nek_oracle_dot(p, x, x)) * sqrt(nek_oracle_dot(p, t->got, t->got));
    rt_verdict_check(t->verdict, "A symmetric: |x.Ay - y.Ax| (eps |x||Ay|)",
                     rt_error_over(xAy, yAx, RT_EPS * scale), 16);
}

/* Checks one iteration of a rung's own solve of b = t->u: |r_0|, and r = b - alpha A b point by point,
 * in units of the rung's roundoff. The bound is the assembled operator's; its half that pays for the
 * reference pays in FP32 for rounding D and G. b is of the rung's precision, so only the sum has
 * errors in |r_0|. */
static void check_iteration(nek_bench_t *t)
{
    nek_solver_t *s = t->s;
    const double unit = nek_roundoff(s);
    const int all = s->iterations;
    for (int64_t q = 0; q < t->points && unit > RT_EPS; q++)
        t->u[q] = (float)t->u[q];
    nek_bench_put(t, t->u, s->b);
    nek_erase(s);
    s->iterations = 1;
    nek_solve(s);
    s->iterations = all;
    nek_oracle_apply(t->p, t->u, t->want);
    assembled_size(t, t->u, t->size);
    for (int64_t q = 0; q < t->points; q++) {
        t->want[q] = t->u[q] - s->alpha[0] * t->want[q];
        t->size[q] = fabs(t->u[q]) + s->alpha[0] * t->size[q];
    }
    const double bb = nek_oracle_dot(t->p, t->u, t->u);
    rt_verdict_check(t->verdict, "one iteration: |r_0|^2 = b.b (eps b.b)",
                     rt_error_over(s->history[0] * s->history[0], bb, RT_EPS * bb),
                     8 + nek_sum_steps(t->p->config));
    nek_bench_get(t, s->r, t->got);
    rt_verdict_check(t->verdict, "one iteration: r = b - alpha A b, point by point (size)",
                     worst(t, unit), 2 * nek_rounding_steps(t->p->view.n) + 16);
    nek_bench_put(t, t->p->b, s->b);
}

/* Fills an array of the rung with the random field of that seed. */
static void put_field(const nek_bench_t *t, uint64_t seed, double *array)
{
    nek_random_field(t->p->config, t->seed + seed, t->got);
    nek_bench_put(t, t->got, array);
}

double nek_bench_sum_error(nek_bench_t *t, const double *array, double a)
{
    for (int64_t q = 0; q < t->points; q++) {
        t->size[q] = fabs(t->want[q]) + fabs(a * t->u[q]);
        t->want[q] += a * t->u[q];
    }
    nek_bench_get(t, array, t->got);
    return worst(t, RT_EPS);
}

/* Returns the error of an array of the rung that should be y + a x, for the fields of these
 * seeds. */
static double sum_of_fields(nek_bench_t *t, const double *array, uint64_t y, double a, uint64_t x)
{
    nek_random_field(t->p->config, t->seed + y, t->want);
    nek_random_field(t->p->config, t->seed + x, t->u);
    return nek_bench_sum_error(t, array, a);
}

static void check_update_p(nek_bench_t *t, double beta)
{
    nek_solver_t *s = t->s;
    put_field(t, NEK_SEED_P, s->p);
    put_field(t, NEK_SEED_R, s->r);
    nek_update_p(s, beta, s->r, s->p);
    rt_verdict_check(t->verdict, "p = r + beta p (eps size)",
                     sum_of_fields(t, s->p, NEK_SEED_R, beta, NEK_SEED_P), NEK_VECTOR_STEPS);
}

static void check_update_xr(nek_bench_t *t, double alpha)
{
    const nek_problem_t *p = t->p;
    nek_solver_t *s = t->s;
    double total = 0;
    put_field(t, NEK_SEED_P, s->p);
    put_field(t, NEK_SEED_X0, s->x);
    put_field(t, NEK_SEED_W, s->w);
    put_field(t, NEK_SEED_R, s->r);
    const double rr = nek_update_xr(s, alpha, s->p, s->w, s->x, s->r);
    const double x_error = sum_of_fields(t, s->x, NEK_SEED_X0, alpha, NEK_SEED_P);
    const double r_error = sum_of_fields(t, s->r, NEK_SEED_R, -alpha, NEK_SEED_W);
    for (int64_t q = 0; q < t->points; q++)
        total += p->c[q] * t->size[q] * t->size[q];
    rt_comm_sum(&total, 1);
    rt_verdict_check(t->verdict, "x += alpha p, r -= alpha w (eps size)", fmax(x_error, r_error),
                     NEK_VECTOR_STEPS);
    rt_verdict_check(t->verdict, "r.r = reference (eps sum |terms|)",
                     rt_error_over(rr, nek_oracle_dot(p, t->want, t->want), RT_EPS * total),
                     8 + nek_sum_steps(p->config));
}

void nek_check_kernels(nek_bench_t *t)
{
    check_operator(t);
    check_assembled(t);
    /* Not the GPU's in FP64: factors that are computed may differ by more than their roundings. */
    if (t->s->kernels->cg && !t->s->to_tolerance &&
        (t->s->kernels->roundoff > 0 || t->s->space == RT_HOST))
        check_iteration(t);
    check_update_p(t, rt_random(1, t->seed));
    check_update_xr(t, rt_random(2, t->seed));
}
