/*
 * fused.h - what a pass of Kronbichler's conjugate gradients does at the points of an element, before
 * and after the operator: one text for cpu-fused and kokkos-fused.
 *
 * `points` are neighbours: an element's on a CPU, where the loops become vector code; one on a GPU.
 */
#ifndef NEK_FUSED_H
#define NEK_FUSED_H

#include "base/extern_c.h"
#include "points.h"

/* Below this beta, the p before p = r + beta p is not computed as (p - r) / beta: that would lose
 * digits. */
#define NEK_SMALL_BETA 0.05

/* The scalars of one pass. */
typedef struct {
    double alpha, beta; /* r -= alpha v, p = r + beta p */
    double x_p, x_r;    /* x += x_p p + x_r r with the old p and r; both 0: no update of x */
    double lambda;
} nek_step_t;

/* Returns the scalars of pass number `it`, or of the update after the last one; alpha and beta are those
 * of all iterations. x lags behind: every second pass adds two steps, the older one along the p before,
 * (p - r) / beta. */
NEK_POINTS nek_step_t nek_fused_step(const double *alpha, const double *beta, int it, bool last,
                                     double lambda)
{
    nek_step_t t = {0, last ? 0 : beta[it], 0, 0, lambda};
    if (it == 0)
        return t;
    t.alpha = alpha[it - 1];
    if (it % 2 == 1 && !last && t.beta >= NEK_SMALL_BETA)
        return t;
    t.x_p = t.alpha;
    if (it % 2 == 0 && beta[it - 1] >= NEK_SMALL_BETA) {
        t.x_r = -alpha[it - 2] / beta[it - 1];
        t.x_p -= t.x_r;
    }
    return t;
}

/* Updates x, r and p; returns sum c r r. */
NEK_POINTS double nek_fused_update(int points, const nek_step_t *t, const double *__restrict__ c,
                                   const double *__restrict__ v, double *__restrict__ x,
                                   double *__restrict__ r, double *__restrict__ p)
{
    const double alpha = t->alpha, beta = t->beta, x_p = t->x_p, x_r = t->x_r;
    double sum = 0;
    if (x_p != 0) {
        NEK_SIMD()
        for (int q = 0; q < points; q++)
            x[q] += x_p * p[q] + x_r * r[q];
    }
    NEK_SIMD(reduction(+ : sum))
    for (int q = 0; q < points; q++) {
        double s = r[q] - alpha * v[q];
        r[q] = s;
        p[q] = s + beta * p[q];
        sum += c[q] * s * s;
    }
    return sum;
}

/* Adds the shift to v = D^T G D p and masks it; adds the parts of p.v and r.v. The weights of the
 * copies of a point add up to 1, so each copy adds its share of lambda p. */
NEK_POINTS void nek_fused_shift(int points, double lambda, const double *__restrict__ c,
                                const double *__restrict__ r, const double *__restrict__ p,
                                double *__restrict__ v, double *pv, double *rv)
{
    double with_p = 0, with_r = 0;
    NEK_SIMD(reduction(+ : with_p, with_r))
    for (int q = 0; q < points; q++) {
        double s = c[q] != 0 ? v[q] + lambda * c[q] * p[q] : 0;
        v[q] = s;
        with_p += s * p[q];
        with_r += s * r[q];
    }
    *pv += with_p;
    *rv += with_r;
}

/* Updates x and r after the last pass; returns sum c r r. */
NEK_POINTS double nek_fused_finish(int points, const nek_step_t *t, const double *__restrict__ c,
                                   const double *__restrict__ v, const double *__restrict__ p,
                                   double *__restrict__ x, double *__restrict__ r)
{
    const double alpha = t->alpha, x_p = t->x_p, x_r = t->x_r;
    double sum = 0;
    NEK_SIMD(reduction(+ : sum))
    for (int q = 0; q < points; q++) {
        double s = r[q] - alpha * v[q];
        x[q] += x_p * p[q] + x_r * r[q];
        r[q] = s;
        sum += c[q] * s * s;
    }
    return sum;
}

RT_C_BEGIN

/* --- cpu_fused.c: the solve on a CPU, for OpenMP and Kokkos --- */

typedef struct nek_fused nek_fused_t; /* in nek_solver_t.data */
typedef void nek_fused_body_fn(const nek_fused_t *f, int64_t i);
/* Calls body(f, i), i = 0 .. n - 1; threads share the range in equal parts. */
typedef void nek_fused_each_fn(int64_t n, nek_fused_body_fn *body, const nek_fused_t *f);

void nek_fused_set_up(nek_solver_t *s, nek_fused_each_fn *each);
void nek_fused_tear_down(nek_solver_t *s);
void nek_fused_memory(const nek_config_t *config, double bytes[RT_SPACES]);
/* ahead: what the next element needs is fetched while this one is worked on. */
void nek_fused_cg(nek_solver_t *s, bool ahead);
/* Returns the first element that has the same weights c [elements][n^3] (host memory)
 * as element e. */
int64_t nek_like_element(const nek_config_t *config, const double *c, int64_t e);

RT_C_END
#endif
