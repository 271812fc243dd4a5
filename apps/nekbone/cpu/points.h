/*
 * points.h - the vector work of CG at neighbouring points: one text for all rungs.
 *
 * A CPU calls these for a block of NEK_BLOCK points at a time, where the loops become vector code,
 * a GPU for one point per thread, and OpenACC for all points of a rank, where a loop becomes a
 * kernel. A function that adds something up returns the sum.
 */
#ifndef NEK_POINTS_H
#define NEK_POINTS_H

#include "../precond/grid.h"
#include "tiles.h"

#if defined(__CUDACC__) || defined(__HIPCC__)
#define NEK_POINTS NEK_ANYWHERE
#else
#define NEK_POINTS NEK_INLINE
#endif
#if defined(_OPENACC)
#define NEK_LOOP(arrays, sums) NEK_PRAGMA(acc parallel loop gang vector deviceptr arrays sums)
#else
#define NEK_LOOP(arrays, sums) NEK_SIMD(sums)
#endif

/* p = r + beta p */
NEK_POINTS void nek_points_p(int points, double beta, const double *__restrict__ r,
                             double *__restrict__ p)
{
    NEK_LOOP((r, p), )
    for (int q = 0; q < points; q++)
        p[q] = r[q] + beta * p[q];
}

/* w = M (w + lambda p); sum c w p */
NEK_POINTS double nek_points_shift(int points, double lambda, const double *__restrict__ c,
                                   const double *__restrict__ p, double *__restrict__ w)
{
    double sum = 0;
    NEK_LOOP((c, p, w), reduction(+ : sum))
    for (int q = 0; q < points; q++) {
        const double c_q = c[q], p_q = p[q], w_q = w[q]; /* w is loaded before c is known */
        const double s = c_q != 0 ? w_q + lambda * p_q : 0;
        w[q] = s;
        sum += c_q * s * p_q;
    }
    return sum;
}

/* x += alpha p, r -= alpha w; sum c r r */
NEK_POINTS double nek_points_xr(int points, double alpha, const double *__restrict__ c,
                                const double *__restrict__ p, const double *__restrict__ w,
                                double *__restrict__ x, double *__restrict__ r)
{
    double sum = 0;
    NEK_LOOP((c, p, w, x, r), reduction(+ : sum))
    for (int q = 0; q < points; q++) {
        const double s = r[q] - alpha * w[q];
        x[q] += alpha * p[q];
        r[q] = s;
        sum += c[q] * s * s;
    }
    return sum;
}

/* sum c x y */
NEK_POINTS double nek_points_dot(int points, const double *__restrict__ c, const double *x,
                                 const double *y)
{
    double sum = 0;
    NEK_SIMD(reduction(+ : sum))
    for (int q = 0; q < points; q++)
        sum += c[q] * x[q] * y[q];
    return sum;
}

#endif
