/*
 * judge/tolerance.c - the checks of the ladder `solve`, whose rungs end at a tolerance.
 *
 * Before timing: the kernels as on the other ladder (kernels.c); the preconditioner B on random
 * fields: as the reference's, linear, symmetric, positive; a solve with another right-hand side and
 * tolerance, twice, by its true residual and its bits.
 * After timing: that the history ends where it must, and as the true residual b - A x does; x; and
 * the number of iterations, against the reference preconditioner in FP64. Two preconditioners that
 * differ by rounding may take an iteration more or less.
 *
 * Bounds. B works in FP32. A value goes through `sweeps` sums of at most P products, of random sign
 * on random fields. So the error of a sum is about sqrt(P) 2^-24 times the root of the sum of
 * squares, which is the size of the sum itself, and the errors of sweeps add up like a random walk:
 * |B r - z| is about (sweeps P)^1/2 2^-24 |z|. The bound is eight times that; measured, it is a
 * hundredth of the bound. The error of x is at most |A^-1| times the residual.
 *
 * A solve in FP32 vectors (nekbone.h: NEK_DROP) must reach the tolerance in FP64 like any other. Its r
 * may differ from b - A x by NEK_SINGLE_GAP of the tolerance, where that of FP64 may only by rounding
 * errors, and for that it ends below the tolerance. Without the replacement it would differ by 20 times
 * the tolerance and more.
 *
 * The figure of merit credits the iterations of CG without a preconditioner, which are counted here
 * once per problem, with the operator of `jammed` (checked against the reference).
 */
#include "config.h"
#include "judge.h"
#include "../precond/precond.h"
#include "../cpu/tiles.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* --- the judge's own solution --- */

static const nek_kernels_t oracle_kernels = {
    .ax = nek_tiles_ax, .vector = &nek_vector_cpu, .preconditioner = &nek_precond_reference};
static const rt_rung_t oracle_rung = NEK_ORACLE(oracle_kernels, "solve");

const nek_reference_t *nek_target(nek_problem_t *p)
{
    nek_reference_t *target = &p->reference;
    if (target->x)
        return target;
    nek_solver_t *s = nek_solver_new(p, &oracle_rung);
    void *precond = s->precond;
    s->precond = NULL;
    nek_solve(s);
    s->precond = precond;
    target->plain_iterations = s->done;
    nek_ritz_values(s, &p->eigen_min, &p->eigen_max);
    if (s->precond)
        nek_solve(s);
    target->iterations = s->done;
    target->x = s->x;
    s->x = NULL;
    nek_solver_destroy(s);
    return target;
}

/* --- before --- */

/* Returns the bound of |B r - z| / |z| in FP32. */
static double single_bound(const nek_problem_t *p)
{
    const nek_levels_t *levels = p->levels;
    const double P = levels->level[0].grid.patch,
                 sweeps = 12 * levels->count + 2 * levels->coarse_order;
    return 8 * sqrt(sweeps * P) * 0x1p-24;
}

/* Returns the bound of |r.z - its sum over the points in FP64| / |r||z|. A sum over the levels has
 * errors of B, of that bound, which do not know r: of a random vector in as many dimensions as there
 * are points N, the share along r is about 1 / sqrt(N). One rounding of FP32 is always allowed;
 * where p.A p is FP32, as many as the errors of its sums are, of random sign. */
static double rz_bound(const nek_bench_t *t, double bound_of_B)
{
    const nek_config_t *config = t->p->config;
    if (!t->s->kernels->preconditioner->adds_levels)
        return (8 + nek_sum_steps(config)) * RT_EPS;
    double points = 1;
    for (int d = 0; d < 3; d++)
        points *= (double)(config->elements[d] * config->degree - 1);
    const double steps = nek_roundoff(t->s) > RT_EPS ? nek_rounding_steps(t->p->view.n) : 1;
    return fmax(bound_of_B / sqrt(points), sqrt(steps) * 0x1p-24);
}

/* Makes z = B r by the rung, in one iteration of its solve of b = r, which begins with p = z and leaves
 * x = alpha z, alpha = r.z / p.A p. r and z on the host, w room. Returns r.z as the rung has it. */
static double by_rung(nek_bench_t *t, const double *r, double *z, double *w)
{
    nek_solver_t *s = t->s;
    const int most = s->iterations;
    nek_bench_put(t, r, s->b);
    nek_erase(s);
    s->iterations = 1;
    nek_solve(s);
    s->iterations = most;
    nek_bench_get(t, s->x, z);
    for (int64_t q = 0; q < t->points; q++)
        z[q] /= s->alpha[0];
    return s->alpha[0] * nek_oracle_apply(t->p, z, w);
}

/* FP32 cost 12 % more iterations where elements almost fold (49 became 55), else one at most. */
static const double more_iterations = 0.15;

/* Checks that a solve reached its tolerance. Where none could within its limit, because the oracle
 * reached it too, or nearly, a solve that used it up is not wrong, but has not converged. */
static void check_reached(const nek_solver_t *s, int done, const char *name, bool reached,
                          rt_verdict_t *verdict)
{
    const double oracle = (double)nek_target(s->problem)->iterations;
    if (done == s->iterations && s->iterations <= 1 + (1 + more_iterations) * oracle)
        rt_verdict_converged(verdict, name, reached);
    else
        rt_verdict_true(verdict, name, reached);
}

static double norm_of(const nek_bench_t *t, const double *x)
{
    return sqrt(nek_oracle_dot(t->p, x, x));
}

/* Checks p = z + beta p with the z of the last application, in t->want. */
static void check_update_direction(nek_bench_t *t)
{
    nek_solver_t *s = t->s;
    const double beta = rt_random(3, t->seed);
    nek_random_field(t->p->config, t->seed + NEK_SEED_P, t->u);
    nek_bench_put(t, t->u, s->p);
    nek_update_direction(s, beta);
    rt_verdict_check(t->verdict, "p = z + beta p (eps size)", nek_bench_sum_error(t, s->p, beta),
                     NEK_VECTOR_STEPS);
}

/* Uses all four arrays of the bench, and s->p, s->r. */
static void check_preconditioner(nek_bench_t *t)
{
    const nek_config_t *config = t->p->config;
    nek_solver_t *oracle = nek_solver_new(t->p, &oracle_rung);
    double *r1 = t->u, *r2 = t->size, *z1 = t->want, *z2 = t->got;
    const double bound = single_bound(t->p);
    nek_random_field(config, t->seed + NEK_SEED_X, r1);
    nek_random_field(config, t->seed + NEK_SEED_Y, r2);
    memcpy(oracle->r, r2, (size_t)t->points * sizeof *r2);
    oracle->kernels->preconditioner->apply(oracle, norm_of(t, r2), oracle->r);
    by_rung(t, r2, z2, oracle->w);
    const double size2 = norm_of(t, oracle->z);
    double r1z2 = nek_oracle_dot(t->p, r1, z2);
    for (int64_t q = 0; q < t->points; q++)
        z1[q] = z2[q] - oracle->z[q];
    rt_verdict_check(t->verdict, "B r = reference (of |B r|)", norm_of(t, z1) / size2, bound);
    const double r1z1 = by_rung(t, r1, z1, oracle->w), size1 = norm_of(t, z1);
    const double r2z1 = nek_oracle_dot(t->p, r2, z1), want = nek_oracle_dot(t->p, r1, z1);
    rt_verdict_check(t->verdict, "r.z = reference (of |r||z|)",
                     fabs(r1z1 - want) / (norm_of(t, r1) * size1), rz_bound(t, bound));
    rt_verdict_true(t->verdict, "B positive", r1z1 > 0);
    rt_verdict_check(t->verdict, "B symmetric: |x.By - y.Bx| (of |x||By|)",
                     fabs(r1z2 - r2z1) / (norm_of(t, r1) * size2), bound);
    const double a = rt_random(4, t->seed);
    for (int64_t q = 0; q < t->points; q++) { /* z1 + a z2 is in z1, r1 + a r2 in r1 */
        z1[q] += a * z2[q];
        r1[q] += a * r2[q];
    }
    by_rung(t, r1, z2, oracle->w);
    for (int64_t q = 0; q < t->points; q++)
        z1[q] -= z2[q];
    rt_verdict_check(t->verdict, "B linear (of |B r|)", norm_of(t, z1) / norm_of(t, z2), 2 * bound);
    memcpy(t->want, z2, (size_t)t->points * sizeof *z2);
    nek_solver_destroy(oracle);
    if (!t->s->kernels->cg)
        check_update_direction(t);
}

/* Solves with a right-hand side and a tolerance that cannot have been prepared. */
static void check_other_solve(nek_bench_t *t)
{
    nek_solver_t *s = t->s;
    const double tolerance = s->tolerance;
    s->tolerance = pow(10, -3 + rt_random(5, t->seed));
    nek_random_field(t->p->config, t->seed + NEK_SEED_B, t->u);
    nek_bench_put(t, t->u, s->b);
    nek_erase(s);
    nek_solve(s);
    nek_bench_get(t, s->x, t->want);
    const double residual = nek_true_residual(t->p, t->u, t->want, t->size);
    const double last = s->history[s->done], limit = s->tolerance * norm_of(t, t->u);
    check_reached(s, s->done, "another solve: reaches the tolerance", last <= (1 + 1e-6) * limit,
                  t->verdict);
    rt_verdict_true(t->verdict, "another solve: |b - Ax| as its history ends, or less",
                    residual <= (1 + 1e-6) * fmax(limit, last));
    nek_check_bits(t);
    s->tolerance = tolerance;
    nek_bench_put(t, t->p->b, s->b);
}

void nek_check_tolerance_before(nek_bench_t *t)
{
    nek_target(t->p);
    nek_check_kernels(t);
    if (t->s->precond)
        check_preconditioner(t);
    check_other_solve(t);
}

/* --- after --- */

/* Checks that the history begins with |b| and ends at the tolerance, and not before. */
static void check_end(const nek_solver_t *s, const nek_left_t *left, double b,
                      rt_verdict_t *verdict)
{
    const int done = left->done;
    const double limit = s->problem->config->tolerance * b;
    const double margin = nek_roundoff(s) > RT_EPS ? NEK_SINGLE_MARGIN : 0;
    bool early = done < 1 || done > s->iterations;
    for (int k = 0; k < done && !early; k++)
        early = !(left->history[k] > limit * (1 - margin) * (1 - 1e-6));
    rt_verdict_check(verdict, "first of the history = |b|", fabs(left->history[0] / b - 1),
                     nek_sum_steps(s->problem->config) * RT_EPS);
    const bool reached = left->history[done] <= limit * (1 + 1e-6);
    rt_verdict_true(verdict, "ends at the first |r| within the tolerance, or at its limit",
                    !early && (done == s->iterations || reached));
    check_reached(s, done, "reaches the tolerance", reached, verdict);
}

double nek_check_tolerance_left(const nek_solver_t *s, nek_left_t *left, const nek_solver_t *oracle,
                                rt_verdict_t *verdict)
{
    nek_problem_t *p = s->problem;
    const double *b = oracle->b;
    const nek_reference_t *target = nek_target(p);
    const double norm = sqrt(nek_oracle_dot(p, b, b)), allowed = s->tolerance * norm;
    const double last = left->history[left->done], limit = fmax(allowed, last);
    double *w = oracle->w;
    check_end(s, left, norm, verdict);
    rt_verdict_true(verdict, "as many iterations as with the reference preconditioner, or nearly",
                    abs(left->done - target->iterations) <=
                        1 + more_iterations * (double)target->iterations);

    const double residual = nek_true_residual(p, b, left->x, w);
    const double rounding = nek_rounding_steps(p->view.n) * (left->done + 1.0) * RT_EPS;
    const double size = p->eigen_max * sqrt(nek_oracle_dot(p, left->x, left->x));
    rt_verdict_true(verdict, "true residual |b - Ax| as the history ends, or less",
                    residual <= (1 + 1e-6) * limit + rounding * size);
    const double gap = nek_roundoff(s) > RT_EPS ? NEK_SINGLE_GAP * limit / size : 0;
    nek_check_gap(p, left, w, limit, rounding + gap, size, verdict);
    if (left->draw != 0 || last > (1 + 1e-6) * allowed) /* no solution to compare with */
        return residual;
    /* The Ritz value is a little above the least eigenvalue; both x have an error. */
    const double error = nek_relative_difference(p, left->x, target->x);
    rt_verdict_check(verdict, "|x - x_ref| / |x_ref|", error,
                     2 * limit /
                             (0.9 * p->eigen_min * sqrt(nek_oracle_dot(p, target->x, target->x))) +
                         rounding * p->eigen_max / p->eigen_min);
    return residual;
}
