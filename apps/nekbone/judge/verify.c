/*
 * judge/verify.c - the checks that a rung must pass before its time counts.
 *
 * Before timing, the judge's own gather-scatter by the points' ids (judge/exchange.h); and on data
 * drawn from a seed that no rung can know:
 *   each kernel against the reference, point by point, in units of the rounding error that the
 *   kernel's own sums allow; symmetry and positivity of the assembled operator; constants in the
 *   null space of the element operator; one iteration of a solve of the rung's own, point by point; a
 *   short solve with another right-hand side and number of iterations, and the same again with another
 *   number of threads.
 * After timing, on what three solves left behind, each with a right-hand side of its own: one drawn
 * among the timed ones, the last of them, and one more of the problem itself:
 *   the true residual b - A x recomputed by the reference operator, x itself, and the residual
 *   history, against the reference CG at the same iteration; and the residual that the recurrence
 *   left behind against b - A x, which holds however chaotic the recurrence has become.
 *
 * Bounds. A sum of K products has a rounding error of at most K eps times the sum of the absolute
 * products. One value of w = D^T G D u passes through n + 3 + 3n additions and 4 products, so a
 * kernel and the reference differ by at most 2 (4n + 8) eps |D^T| |G| |D| |u|, whatever the order
 * of their sums. In CG each step adds an error of that size relative to |r|, amplified by at most
 * sqrt(kappa) along the recurrence, and the errors of two inner products; kappa = eigen_max /
 * eigen_min comes from the reference's own Lanczos coefficients. For a rung that works in FP32
 * (nek_kernels_t.roundoff) the same numbers of operations count in its unit roundoff, inner products
 * still in FP64's. This folder is compiled with -fno-fast-math.
 *
 * A rung of the ladder `solve` is judged in tolerance.c.
 */
#include "config.h"
#include "judge.h"
#include "base/threads.h"
#include "judge/compare.h"
#include "judge/exchange.h"
#include <math.h>
#include <string.h>

/* Returns the worst |h - want| over its bound on any rank. The bound is the growth of rounding
 * errors; the errors of as many operator applications as were made, each on at most |r_0|, which r
 * keeps however small it becomes; and, if `moves` is given, NEK_SAMPLE times the sensitivity. */
static double history_error(const nek_problem_t *p, double roundoff, int iterations,
                            const double *h, const double *want, const double *moves)
{
    double most = 0, applied = nek_rounding_steps(p->view.n) * roundoff * want[0];
    for (int k = 0; k <= iterations; k++) {
        double bound = nek_step_bound(p, roundoff, k) + (moves ? NEK_SAMPLE * moves[k] : 0);
        double error = fabs(h[k] - want[k]) / (bound * want[k] + (k + 1) * applied);
        most = fmax(most, rt_finite(h[k]) && rt_finite(error) ? error : INFINITY);
    }
    rt_comm_max(&most, 1); /* what follows is collective, so all ranks must see the same value */
    return most;
}

static int64_t id_of_point(const void *bench, int64_t q)
{
    const nek_bench_t *t = bench;
    const int64_t n = t->p->view.n;
    return nek_global_index(t->p->config, q / (n * n * n), (int)(q % n), (int)(q / n % n),
                            (int)(q / (n * n) % n));
}

static void sum_copies(const void *bench, double *x)
{
    const nek_bench_t *t = bench;
    const rt_field_t field = rt_field_f64(x);
    rt_halo_do(t->p->halo, RT_HALO_SUM, &field);
}

/* The most iterations of the short solve. A problem with few unknowns converges before that, and
 * its history is then as chaotic as that of a long solve. */
enum { MOST_FEW = 12 };

/* Checks a solve that cannot have been prepared: it has another right-hand side and another number
 * of iterations. */
static void check_short_solve(nek_bench_t *t)
{
    nek_problem_t *p = t->p;
    nek_solver_t *s = t->s, *oracle = nek_solver_new(p, &nek_reference_rung);
    int all = s->iterations;
    int few = 1 + (int)(rt_hash(0, t->seed) % (uint64_t)(all < MOST_FEW ? all : MOST_FEW));
    nek_random_field(p->config, t->seed + NEK_SEED_B, oracle->b);
    nek_bench_put(t, oracle->b, s->b);
    oracle->iterations = s->iterations = few;
    nek_erase(s);
    nek_solve(s);
    nek_solve(oracle);
    const double roundoff = nek_roundoff(s);
    double error = history_error(p, roundoff, few, s->history, oracle->history, NULL);
    nek_bench_get(t, s->x, oracle->w);
    double x_error = nek_relative_difference(p, oracle->w, oracle->x),
           x_bound = nek_step_bound(p, roundoff, few);
    if (error > 0.1 || x_error > 0.1 * x_bound) {
        double want[MOST_FEW + 1], moves[MOST_FEW + 1];
        memcpy(want, oracle->history, (size_t)(few + 1) * sizeof(double));
        nek_bench_put(t, oracle->x, s->w); /* the rung's w is the only array that is free */
        nek_nudged_solve(oracle, roundoff);
        nek_bench_get(t, s->w, oracle->w);
        x_bound += NEK_SAMPLE * nek_relative_difference(p, oracle->w, oracle->x);
        nek_find_moves(few, oracle->history, want, moves);
        error = history_error(p, roundoff, few, s->history, want, moves);
    }
    rt_verdict_check(t->verdict, "short solve: residual history (of its rounding bound)", error, 1);
    rt_verdict_check(t->verdict, "short solve: |x - x_ref| / |x_ref|", x_error, x_bound);
    nek_solver_destroy(oracle);
    nek_check_bits(t);
    s->iterations = all;
    nek_bench_put(t, p->b, s->b);
}

void nek_verify_before(void *solver, uint64_t seed, rt_verdict_t *verdict)
{
    nek_solver_t *s = solver;
    nek_bench_t t = {
        .s = s, .p = s->problem, .points = s->view.points, .verdict = verdict, .seed = seed};
    if (!s->to_tolerance)
        nek_reference_solve(t.p);
    double **arrays[] = {&t.u, &t.want, &t.size, &t.got};
    for (int i = 0; i < 4; i++)
        *arrays[i] = RT_NEW(double, (size_t)t.points, RT_HOST);
    const rt_exchange_t exchange = {
        .data = &t, .n = t.points, .id = id_of_point, .sum = sum_copies};
    if (t.p->config->communication)
        rt_exchange_check(&exchange, seed, t.u, verdict);
    if (s->to_tolerance)
        nek_check_tolerance_before(&t);
    else
        nek_check_kernels(&t);
    RT_FREE_ALL(RT_HOST, t.u, t.want, t.size, t.got);
    if (!s->to_tolerance)
        check_short_solve(&t);
}

/* Judges what a solve of a fixed number of iterations left; returns the true residual. The
 * sensitivity comes last, because it needs the oracle's vectors, in which x and r may be. */
static double check_iterations(const nek_problem_t *p, double roundoff, nek_solver_t *oracle,
                               nek_reference_t *ref, const nek_left_t *left, rt_verdict_t *verdict)
{
    const int iterations = left->done;
    const double *history = left->history, steps = iterations + 1.0;
    double *x = left->x, *w = oracle->w, moved[2] = {0, 0};
    const double residual = nek_true_residual(p, oracle->b, x, w);
    const double ref_size = sqrt(nek_oracle_dot(p, ref->x, ref->x));
    const double size = p->eigen_max * ref_size;
    const double rounding = nek_rounding_steps(p->view.n) * steps * roundoff;
    nek_check_gap(p, left, w,
                  history[iterations] + nek_rounding_steps(p->view.n) * RT_EPS * ref->history[0],
                  rounding, size, verdict);

    /* The errors of the operator reach x through A^-1, those of the inner products directly. */
    const double bound =
        rounding * p->eigen_max / p->eigen_min + 2 * nek_sum_steps(p->config) * steps * RT_EPS;
    const double x_error = nek_relative_difference(p, x, ref->x);
    double error = history_error(p, roundoff, iterations, history, ref->history, NULL);
    const bool chaotic = error > 0.1, far = x_error > 0.1 * bound;
    if (chaotic || far) {
        if (ref->x == oracle->x) /* which the next solve overwrites; the solve's x was judged */
            ref->x = memcpy(x, ref->x, (size_t)p->view.points * sizeof *x);
        const double *moves = nek_sensitivity(oracle, roundoff, ref);
        if (chaotic)
            error = history_error(p, roundoff, iterations, history, ref->history, moves);
        moved[0] = chaotic ? NEK_SAMPLE * moves[iterations] : 0;
        moved[1] = far ? NEK_SAMPLE * moves[iterations + 1] : 0;
    }
    rt_verdict_check(verdict, "residual history = reference CG (of its rounding bound)", error, 1);
    rt_verdict_check(verdict, "true residual |b - Ax| against the reference's (1 %)",
                     fabs(residual - ref->residual) /
                         (fmax(0.01, moved[0]) * ref->residual + rounding * size),
                     1);
    rt_verdict_check(verdict, "|x - x_ref| / |x_ref|", x_error, bound + moved[1]);
    return residual;
}

/* Judges what the solve of the oracle's b left; returns the true residual. Overwrites x. */
static double judge_left(const nek_solver_t *s, nek_solver_t *oracle, nek_left_t *left,
                         rt_verdict_t *verdict)
{
    nek_problem_t *p = s->problem;
    double bad = (double)rt_count_nonfinite(left->x, (size_t)p->view.points);
    rt_comm_sum(&bad, 1);
    rt_verdict_check(verdict, "values of x that are not finite", bad, 0);
    if (s->to_tolerance)
        return nek_check_tolerance_left(s, left, oracle, verdict);
    left->done = (int)p->config->iterations; /* as requested, however many the rung did */
    if (left->draw == 0)
        return check_iterations(p, nek_roundoff(s), oracle, &p->reference, left, verdict);
    nek_reference_t reference = nek_oracle_solve(oracle);
    const double residual = check_iterations(p, nek_roundoff(s), oracle, &reference, left, verdict);
    reference.x = NULL; /* the oracle's, or left->x */
    nek_reference_destroy(&reference);
    return residual;
}

/* Judges the last solve first: on the host its x and r are in the vectors that the oracle borrows. */
void nek_verify_after(void *solver, rt_verdict_t *verdict)
{
    nek_solver_t *s = solver, *oracle = nek_oracle_new(s);
    const size_t bytes = (size_t)s->view.points * sizeof(double);
    nek_left_t last = {.done = s->done, .x = oracle->x, .r = oracle->r, .history = s->history};
    if (s->space != RT_HOST) {
        rt_copy(last.x, RT_HOST, s->x, s->space, bytes);
        rt_copy(last.r, RT_HOST, s->r, s->space, bytes);
    }
    s->residual = judge_left(s, oracle, &last, verdict);
    for (int k = 0; k < RT_KEEPS; k++)
        if (s->kept[k].x) {
            nek_draw(s->problem, s->kept[k].draw, oracle->b);
            judge_left(s, oracle, &s->kept[k], verdict);
            nek_left_destroy(&s->kept[k]);
        }
    nek_draw(s->problem, 0, oracle->b); /* which may be the rung's */
    nek_solver_destroy(oracle);
}
