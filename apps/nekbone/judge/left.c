/*
 * judge/left.c - between solves: what a solve left behind is put aside for the judge, and its outputs
 * and right-hand side are replaced.
 */
#include "config.h"
#include "judge.h"
#include <math.h>
#include "base/draw.h"

nek_left_t nek_left_new(const nek_solver_t *s)
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

void nek_left_destroy(nek_left_t *left)
{
    RT_FREE(left->x, RT_HOST);
    RT_FREE(left->r, RT_HOST);
    RT_FREE(left->history, RT_HOST);
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
        s->kept[keep] = nek_left_new(s);
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
