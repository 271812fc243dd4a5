/*
 * judge/left.c - what a solve left behind: between solves it is put aside, and outputs and right-hand
 * side are replaced; it is compared with a second solve bit by bit, and its recurrence with b - A x.
 */
#include "config.h"
#include "judge.h"
#include <math.h>
#include <string.h>
#include "base/draw.h"
#include "base/threads.h"
#include "judge/compare.h"

/* Copies what the last solve left to new host arrays. */
static nek_left_t left_new(const nek_solver_t *s)
{
    const size_t points = (size_t)s->view.points;
    nek_left_t left = {.draw = s->draw, .done = s->done};
    left.x = RT_NEW(double, points, RT_HOST);
    left.r = RT_NEW(double, points, RT_HOST);
    rt_copy(left.x, RT_HOST, s->x, s->space, points * sizeof(double));
    rt_copy(left.r, RT_HOST, s->r, s->space, points * sizeof(double));
    left.history = rt_clone(s->history, (size_t)s->iterations + 1, sizeof(double), RT_HOST);
    return left;
}

/* Every value of b is drawn anew, with the same mean and spread, and alike for copies of a point. */
static void draw_b(rt_space_t space, const double *base, int64_t points, uint64_t draw, double *b)
{
    if (draw == 0)
        rt_copy(b, space, base, space, (size_t)points * sizeof *b);
    else
        rt_draw(b, space, base, (size_t)points, sizeof *b, (rt_draw_t){draw, 0, 1});
}

void nek_draw(const nek_problem_t *p, uint64_t draw, double *b)
{
    draw_b(RT_HOST, p->b, p->view.points, draw, b);
}

void nek_spoil(void *solver, uint64_t draw, rt_keep_t keep)
{
    nek_solver_t *s = solver;
    if (keep) {
        nek_left_destroy(&s->kept[keep]);
        s->kept[keep] = left_new(s);
    }
    nek_erase(s);
    s->draw = draw;
    draw_b(s->space, s->base, s->view.points, draw, s->b);
}

void nek_erase(nek_solver_t *s)
{
    size_t bytes = (size_t)s->view.points * sizeof(double);
    double *vectors[] = {s->x, s->r, s->p, s->w};
    for (size_t i = 0; i < sizeof vectors / sizeof *vectors; i++)
        rt_fill(vectors[i], s->space, 0xff, bytes); /* all bits set is a NaN */
    for (int k = 0; k <= s->iterations; k++)
        s->history[k] = NAN;
    for (int k = 0; k < s->iterations; k++)
        s->alpha[k] = s->beta[k] = NAN;
}

/*
 * Compares r of the recurrence with w = b - A x. They differ only by the rounding errors of each
 * step, which add up and are never amplified (Greenbaum 1997): at most (iterations + 1) eps times
 * the steps of one value times |A| max |x_k|, and |x_k| only grows. This does not depend on
 * orthogonality, so the bound holds where histories can no longer be compared. It detects a step
 * missing in x, or an x from elsewhere. Overwrites w.
 */
void nek_check_gap(const nek_problem_t *p, const nek_left_t *left, double *w, double size,
                   double bound, double Ax, rt_verdict_t *verdict)
{
    const double norm = sqrt(nek_oracle_dot(p, left->r, left->r));
    for (int64_t q = 0; q < p->view.points; q++)
        w[q] -= left->r[q];
    rt_verdict_check(verdict, "last of the history = |r| (eps |r|)",
                     fabs(norm - left->history[left->done]) / (RT_EPS * size),
                     8 + nek_sum_steps(p->config));
    rt_verdict_check(verdict, "r of the recurrence = b - Ax (|A||x|)",
                     sqrt(nek_oracle_dot(p, w, w)) / Ax, bound);
}

/* A solve that is repeated, and what its residual history was at first. */
typedef struct {
    nek_solver_t *s;
    const double *history;
    size_t bytes;
} repeat_t;

static void solve_again(void *repeat)
{
    const repeat_t *r = repeat;
    nek_erase(r->s);
    nek_solve(r->s);
}

static double differs(void *repeat)
{
    const repeat_t *r = repeat;
    return memcmp(r->history, r->s->history, r->bytes) != 0;
}

/* Sums may depend neither on the number of threads nor on which thread comes first. GPU and Kokkos
 * kernels have their own threads, so their solve is repeated unchanged. */
void nek_check_bits(nek_bench_t *t)
{
    nek_solver_t *s = t->s;
    const bool is_cpu = s->rung->kind == RT_CPU;
    const int threads = rt_threads();
    if (s->rung->kind == RT_OPENACC) /* no directive orders a sum */
        return;
    double *history = rt_clone(s->history, (size_t)s->done + 1, sizeof *history, RT_HOST);
    repeat_t r = {s, history, ((size_t)s->done + 1) * sizeof *history};
    if (is_cpu)
        rt_threads_set(threads > 1 ? 1 : 3);
    rt_compare_bits(solve_again, differs, &r, is_cpu, t->verdict);
    rt_threads_set(threads);
    RT_FREE(history, RT_HOST);
}
