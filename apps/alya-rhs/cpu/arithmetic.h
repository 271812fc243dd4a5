/*
 * arithmetic.h - vectors and matrices of one lane; by value, so that everything ends up in registers.
 */
#ifndef ALYA_ARITHMETIC_H
#define ALYA_ARITHMETIC_H

#include <float.h>
#include <math.h>
#include <string.h>
#include "lanes.h"

typedef struct {
    double x, y, z;
} alya_vec_t;

ALYA_INLINE alya_vec_t alya_load(alya_nodes_in_t array, int a, int lane)
{
    return (alya_vec_t){array[a][0][lane], array[a][1][lane], array[a][2][lane]};
}

ALYA_INLINE alya_vec_t alya_add(alya_vec_t a, alya_vec_t b)
{
    return (alya_vec_t){a.x + b.x, a.y + b.y, a.z + b.z};
}

ALYA_INLINE alya_vec_t alya_sub(alya_vec_t a, alya_vec_t b)
{
    return (alya_vec_t){a.x - b.x, a.y - b.y, a.z - b.z};
}

ALYA_INLINE alya_vec_t alya_times(double s, alya_vec_t a)
{
    return (alya_vec_t){s * a.x, s * a.y, s * a.z};
}

ALYA_INLINE double alya_dot(alya_vec_t a, alya_vec_t b)
{
    return a.x * b.x + a.y * b.y + a.z * b.z;
}

ALYA_INLINE alya_vec_t alya_cross(alya_vec_t a, alya_vec_t b)
{
    return (alya_vec_t){a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x};
}

typedef struct {
    alya_vec_t x, y, z; /* rows */
} alya_mat_t;

ALYA_INLINE alya_vec_t alya_apply(alya_mat_t A, alya_vec_t v)
{
    return (alya_vec_t){alya_dot(A.x, v), alya_dot(A.y, v), alya_dot(A.z, v)};
}

ALYA_INLINE alya_mat_t alya_transposed(alya_mat_t A)
{
    return (alya_mat_t){{A.x.x, A.y.x, A.z.x}, {A.x.y, A.y.y, A.z.y}, {A.x.z, A.y.z, A.z.z}};
}

ALYA_INLINE alya_mat_t alya_sum(alya_mat_t A, alya_mat_t B)
{
    return (alya_mat_t){alya_add(A.x, B.x), alya_add(A.y, B.y), alya_add(A.z, B.z)};
}

ALYA_INLINE alya_mat_t alya_scaled(double s, alya_mat_t A)
{
    return (alya_mat_t){alya_times(s, A.x), alya_times(s, A.y), alya_times(s, A.z)};
}

/* What both routines start with: velocities, differences from node 0, cofactors and determinant. */
typedef struct {
    alya_vec_t u0, u1, u2, u3, w1, w2, w3, c1, c2, c3;
    double det;
} alya_simplex_t;

ALYA_INLINE alya_simplex_t alya_simplex(alya_nodes_in_t x, alya_nodes_in_t u, int lane)
{
    alya_simplex_t t;
    alya_vec_t x0 = alya_load(x, 0, lane), e1 = alya_sub(alya_load(x, 1, lane), x0);
    alya_vec_t e2 = alya_sub(alya_load(x, 2, lane), x0), e3 = alya_sub(alya_load(x, 3, lane), x0);
    t.c1 = alya_cross(e2, e3);
    t.c2 = alya_cross(e3, e1);
    t.c3 = alya_cross(e1, e2);
    t.det = alya_dot(e1, t.c1);
    t.u0 = alya_load(u, 0, lane);
    t.u1 = alya_load(u, 1, lane);
    t.u2 = alya_load(u, 2, lane);
    t.u3 = alya_load(u, 3, lane);
    t.w1 = alya_sub(t.u1, t.u0);
    t.w2 = alya_sub(t.u2, t.u0);
    t.w3 = alya_sub(t.u3, t.u0);
    return t;
}

/* Returns sum_k w_k g_k^T. */
ALYA_INLINE alya_mat_t alya_gradient(const alya_simplex_t *t, alya_vec_t g1, alya_vec_t g2,
                                     alya_vec_t g3)
{
    alya_vec_t wx = {t->w1.x, t->w2.x, t->w3.x}, wy = {t->w1.y, t->w2.y, t->w3.y};
    alya_vec_t wz = {t->w1.z, t->w2.z, t->w3.z};
    alya_mat_t Gt = {{g1.x, g2.x, g3.x}, {g1.y, g2.y, g3.y}, {g1.z, g2.z, g3.z}};
    return (alya_mat_t){alya_apply(Gt, wx), alya_apply(Gt, wy), alya_apply(Gt, wz)};
}

ALYA_INLINE alya_vec_t alya_minus_sum(alya_vec_t a, alya_vec_t b, alya_vec_t c)
{
    return (alya_vec_t){-(a.x + b.x + c.x), -(a.y + b.y + c.y), -(a.z + b.z + c.z)};
}

ALYA_INLINE void alya_store(alya_nodes_out_t array, int a, int lane, alya_vec_t v)
{
    array[a][0][lane] = v.x;
    array[a][1][lane] = v.y;
    array[a][2][lane] = v.z;
}

/* Returns A of the form, from J and S = J + J^T. */
ALYA_INLINE alya_mat_t alya_convective(alya_form_t form, alya_mat_t J, alya_mat_t S)
{
    alya_mat_t A = form == ALYA_EMAC ? S : J;
    if (form != ALYA_CONV) {
        double div = alya_divergence_share(form) * (J.x.x + J.y.y + J.z.z);
        A.x.x += div;
        A.y.y += div;
        A.z.z += div;
    }
    return A;
}

/* Returns sqrt(B / |J|^2). The rows of the cofactor matrix are cross products of the rows of J. */
ALYA_INLINE double alya_vreman(alya_mat_t J)
{
    alya_vec_t c0 = alya_cross(J.y, J.z), c1 = alya_cross(J.z, J.x), c2 = alya_cross(J.x, J.y);
    double B = alya_dot(c0, c0) + alya_dot(c1, c1) + alya_dot(c2, c2);
    double norm2 = alya_dot(J.x, J.x) + alya_dot(J.y, J.y) + alya_dot(J.z, J.z);
    /* B is 0 where J is; and an addition vectorises where gcc compiles a comparison to a branch */
    return sqrt(B / (norm2 + DBL_MIN));
}

/*
 * Returns x^(-1/3) for normal x > 0, to about one unit in the last place. The libm's cbrt is one
 * call per lane; this is straight-line code that vectorises. Start: minus a third of the exponent,
 * by integer arithmetic on the bits (1/3 = 1/4 + 1/16 + ..., since there is no vector division of
 * integers), good to 3.5 %. Then twice y (1 - e)^(-1/3) to third order in e = 1 - x y^3: 1e-5,
 * 1e-20.
 */
ALYA_INLINE double alya_rcbrt(double x)
{
    uint64_t bits, third;
    double y;
    memcpy(&bits, &x, sizeof bits);
    third = (bits >> 2) + (bits >> 4);
    third += third >> 4;
    third += third >> 8;
    third += third >> 16;
    third += third >> 32;
    bits = UINT64_C(0x553ef0ff289dd796) - third;
    memcpy(&y, &bits, sizeof y);
#pragma GCC unroll 2
    for (int step = 0; step < 2; step++) {
        double e = 1 - x * (y * y * y);
        y += y * e * (1.0 / 3 + e * (2.0 / 9 + e * (14.0 / 81)));
    }
    return y;
}

#endif
