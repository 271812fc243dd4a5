/*
 * trilinear.h - G of an element that is the trilinear image of a cube, along a column of its points.
 *
 * x = sum of c[l] r^a s^b t^c, l = a + 2 b + 4 c: 24 numbers, as many as its vertices have. With
 * J = dx/d(r, s, t) and M = J^T J, G w = weight det M^-1 w. So G w needs no G, but the solution of
 * three equations. Along a column (r, s) dx/dt is constant, and dx/dr and dx/ds are linear in t. So
 * the third equation is eliminated once for all points of the column: the parts of dx/dr and dx/ds
 * along dx/dt are linear, and what is left of M is quadratic in t, as det is.
 *
 * Rounding: an angle a between two edges costs 1 / sin^2 a.
 */
#ifndef NEK_TRILINEAR_H
#define NEK_TRILINEAR_H

#include "../precond/grid.h"

/* What the points of a column share, by powers of t: rr rs ss of M without the parts along dx/dt;
 * these parts, M_rt / M_tt and M_st / M_tt; det / M_tt. */
typedef struct {
    double rr[3], rs[3], ss[3], rt[2], st[2], det[3], weight; /* weight: of r times that of s */
} nek_trilinear_t;

NEK_ANYWHERE double nek_dot3(const double a[3], const double b[3])
{
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}

/* Returns a / b. A step of third order takes the 20 bits of the GPU's reciprocal to 60. A division
 * would add a branch, and what rounds the last bit. */
NEK_ANYWHERE double nek_over(double a, double b)
{
#if defined(__CUDA_ARCH__)
    double y;
    asm("rcp.approx.ftz.f64 %0, %1;" : "=d"(y) : "d"(b));
    const double e = fma(-b, y, 1.0), a_y = a * y;
    return fma(a_y, fma(e, e, e), a_y);
#else
    return a / b;
#endif
}

/* c = the coefficients of (a[0] + a[1] t) . (b[0] + b[1] t) */
NEK_ANYWHERE void nek_dot_lines(const double a[2][3], const double b[2][3], double c[3])
{
    c[0] = nek_dot3(a[0], b[0]);
    c[1] = nek_dot3(a[0], b[1]) + nek_dot3(a[1], b[0]);
    c[2] = nek_dot3(a[1], b[1]);
}

/* Returns the column (r, s) of the map c [8][3]. */
NEK_ANYWHERE nek_trilinear_t nek_trilinear_column(const double *c, double r, double s,
                                                  double weight)
{
    nek_trilinear_t m;
    double dr[2][3], ds[2][3], dt[3], normal[2][3];
    NEK_UNROLL
    for (int q = 0; q < 3; q++) {
        NEK_UNROLL
        for (int a = 0; a < 2; a++) {
            dr[a][q] = c[12 * a + 3 + q] + c[12 * a + 9 + q] * s;
            ds[a][q] = c[12 * a + 6 + q] + c[12 * a + 9 + q] * r;
        }
        dt[q] = c[12 + q] + c[15 + q] * r + ds[1][q] * s;
    }
    const double over = nek_over(1, nek_dot3(dt, dt));
    NEK_UNROLL
    for (int a = 0; a < 2; a++) {
        m.rt[a] = over * nek_dot3(dr[a], dt);
        m.st[a] = over * nek_dot3(ds[a], dt);
        NEK_UNROLL
        for (int q = 0; q < 3; q++) {
            const int q1 = (q + 1) % 3, q2 = (q + 2) % 3;
            normal[a][q] = over * (dt[q1] * dr[a][q2] - dt[q2] * dr[a][q1]);
        }
        NEK_UNROLL
        for (int q = 0; q < 3; q++) {
            dr[a][q] -= m.rt[a] * dt[q];
            ds[a][q] -= m.st[a] * dt[q];
        }
    }
    nek_dot_lines(dr, dr, m.rr);
    nek_dot_lines(dr, ds, m.rs);
    nek_dot_lines(ds, ds, m.ss);
    nek_dot_lines(normal, ds, m.det);
    m.weight = weight;
    return m;
}

NEK_ANYWHERE double nek_at(const double c[3], double t)
{
    return c[0] + t * (c[1] + t * c[2]);
}

/* Applies G of the point t, of that weight, to (wr, ws, wt). */
NEK_ANYWHERE void nek_trilinear_apply(const nek_trilinear_t *m, double t, double weight, double *wr,
                                      double *ws, double *wt)
{
    const double rs = nek_at(m->rs, t), rt = m->rt[0] + t * m->rt[1], st = m->st[0] + t * m->st[1];
    const double det = nek_at(m->det, t), all = m->weight * weight, f = nek_over(all, det);
    const double r = *wr - rt * *wt, s = *ws - st * *wt;
    *wr = f * (nek_at(m->ss, t) * r - rs * s);
    *ws = f * (nek_at(m->rr, t) * s - rs * r);
    *wt = all * det * *wt - rt * *wr - st * *ws;
}

#endif
