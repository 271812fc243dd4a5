/*
 * parity.h - the element matrices of the cube, block-diagonalised by its reflections.
 *
 * In one direction, the two corner values u0, u1 of the unit interval become
 *
 *     s = u0 + u1 (even),  d = u1 - u0 (odd),    u = s f_0 + d f_1,  f_0 = 1/2, f_1 = x - 1/2
 *
 * The product of three of these, over x, y and z, is the 8-point Hadamard transform of the corners
 * a = x + 2 y + 4 z:
 *
 *     U_q = sum_a (-1)^(bits of q that are 0 in a) u_a,    u = sum_q U_q f_q
 *
 * where bit d of q says that mode q is odd in direction d. No factor is needed on the way back: if
 * y = A x is symmetric, Y_q = sum_p B_qp U_p with B the same form over the modes f_q instead of the
 * corner functions, and y_a = sum_q (-1)^(bits of q that are 0 in a) Y_q.
 *
 * The modes are orthogonal, for f_0 f_0, f_1 f_1, f_0 f_1 integrate to 1/4, 1/12, 0 (2 Gauss points
 * are exact), and a derivative makes an odd direction even: d f_1/dx = 1 = 2 f_0, d f_0/dx = 0. So
 * with n(q) bits in q, and q^c for q without its bit c,
 *
 *     integral of f_q f_p    = m_q if q = p, else 0,     m_q = 1/(64 3^n(q))
 *     d u_c / d x_d          = sum over q with bit d of  2 U^c_q f_(q^d)
 *     div u                  = sum_r f_r 2 sum over c not in r of U^c_(r + c)
 *
 * and each of the three forms couples only few of the 24 values U^c_q:
 *
 *     M    u.u                      Y^c_q     = m_q U^c_q                                24 values
 *     K_L  (div u)^2                Y^c_(r+c) = 4 m_r sum over d not in r of U^d_(r+d)   24
 *     K_M  sum_cd (u_c,d)^2 + u_c,d u_d,c                                                33
 *
 * (4 m_r is 1/16, 1/48, 1/144 for 0, 1, 2 bits.) Together, with the scaled numbers of an element
 *
 *     m = w mass / 64,   k = w bulk / 16,   g = Vs^2 shear / 16,   l = k - 2 g
 *
 *     q = 0                      (3 values)   Y = m U
 *     U^x_x, U^y_y, U^z_z        stretching   Y = (2 g + m/3) U + l (sum of the three)
 *     U^c_d, U^d_c   (3 pairs)   shearing     Y = m/3 U + g (sum of the pair)
 *     U^c_ce, U^d_de (3 pairs)   bending      Y = (g + m/9) U + l/3 (sum of the pair)
 *     U^x_yz, U^y_xz, U^z_xy     twisting     Y = (g/3 + m/9) U + g/3 (sum of the three)
 *     q = xyz                    (3 values)   Y = (l/9 + 4 g/9 + m/27) U
 *
 * Flops: 70 here, 10 of them for the factors. March along z through a column of elements and keep
 * the x-y transforms of the layers of nodes: 24 for the new layer, 24 + 24 to and from the modes,
 * 12 to add the parts of two elements in one layer, 24 back, 9 to add what four columns give to a
 * node: 187 an element (a 24x24 product: 1152, and two of them if it is affine in Vs^2).
 *
 * To be included once for each type T of values: with float and double that is scalars in C++,
 * where functions may share a name, and vectors of the compiler in C. Before that, define
 *
 *     GFNN_PARITY_T        the type: +, -, * among themselves and * by a GFNN_PARITY_S
 *     GFNN_PARITY_S        the scalar type of constants
 *     GFNN_PARITY_FN       static inline, __device__ __forceinline__, KOKKOS_INLINE_FUNCTION ...
 *
 * All three are undefined at the end. Vectors go through pointers, never by value, because how they
 * are passed depends on the instruction set.
 */
#if !defined(GFNN_PARITY_T) || !defined(GFNN_PARITY_S) || !defined(GFNN_PARITY_FN)
#error "define GFNN_PARITY_T, _S and _FN before parity.h"
#endif

/* What mass, bulk and shear have to be divided by for the m, k and g above. */
#ifndef GFNN_PARITY_MASS
#define GFNN_PARITY_MASS  64
#define GFNN_PARITY_STIFF 16
/* Factors of an element's modes: of U, and of the sum of a pair or of three. */
enum {
    GFNN_EVEN, /* q = 0 */
    GFNN_LAST, /* q = xyz */
    GFNN_STRETCH,
    GFNN_STRETCHED,
    GFNN_TWIST,
    GFNN_TWISTED,
    GFNN_SHEAR,
    GFNN_SHEARED,
    GFNN_BEND,
    GFNN_BENT,
    GFNN_FACTORS
};
#endif

/* Four corners a = x + 2 y of a square to its modes q = qx + 2 qy. 8 flops. */
GFNN_PARITY_FN void gfnn_parity_layer(const GFNN_PARITY_T corner[4], GFNN_PARITY_T mode[4])
{
    const GFNN_PARITY_T s0 = corner[1] + corner[0], d0 = corner[1] - corner[0];
    const GFNN_PARITY_T s1 = corner[3] + corner[2], d1 = corner[3] - corner[2];
    mode[0] = s1 + s0;
    mode[1] = d1 + d0;
    mode[2] = s1 - s0;
    mode[3] = d1 - d0;
}

/* And back: a transposed, not an inverted transform. 8 flops. */
GFNN_PARITY_FN void gfnn_parity_layer_back(const GFNN_PARITY_T mode[4], GFNN_PARITY_T corner[4])
{
    const GFNN_PARITY_T s0 = mode[0] - mode[2], d0 = mode[1] - mode[3];
    const GFNN_PARITY_T s1 = mode[0] + mode[2], d1 = mode[1] + mode[3];
    corner[0] = s0 - d0;
    corner[1] = s0 + d0;
    corner[2] = s1 - d1;
    corner[3] = s1 + d1;
}

/* One component: modes of the lower and upper layer to those of the cube. 8 flops. */
GFNN_PARITY_FN void gfnn_parity_join(const GFNN_PARITY_T lower[4], const GFNN_PARITY_T upper[4],
                                     GFNN_PARITY_T U[8])
{
    for (int q = 0; q < 4; q++) {
        U[q] = upper[q] + lower[q];
        U[q + 4] = upper[q] - lower[q];
    }
}

/* And back. 8 flops. */
GFNN_PARITY_FN void gfnn_parity_part(const GFNN_PARITY_T Y[8], GFNN_PARITY_T lower[4],
                                     GFNN_PARITY_T upper[4])
{
    for (int q = 0; q < 4; q++) {
        lower[q] = Y[q] - Y[q + 4];
        upper[q] = Y[q] + Y[q + 4];
    }
}

/* *y0 = f[0] u0 + f[1] (u0 + u1), *y1 likewise. */
GFNN_PARITY_FN void gfnn_parity_pair(const GFNN_PARITY_T f[2], const GFNN_PARITY_T *u0,
                                     const GFNN_PARITY_T *u1, GFNN_PARITY_T *y0, GFNN_PARITY_T *y1)
{
    const GFNN_PARITY_T sum = f[1] * (*u0 + *u1);
    *y0 = f[0] * *u0 + sum;
    *y1 = f[0] * *u1 + sum;
}

/* The factors of element = {m, k, g}. Where w is 1 everywhere m and k are constants, and what is made
 * of them alone costs nothing. 10 flops. */
GFNN_PARITY_FN void gfnn_parity_factors(const GFNN_PARITY_T element[3],
                                        GFNN_PARITY_T f[GFNN_FACTORS])
{
    const GFNN_PARITY_S third = (GFNN_PARITY_S)1 / 3, ninth = (GFNN_PARITY_S)1 / 9;
    const GFNN_PARITY_T m = element[0], k = element[1], g = element[2];
    const GFNN_PARITY_T m3 = m * third, m9 = m * ninth;
    const GFNN_PARITY_T l = k - g * (GFNN_PARITY_S)2, g3 = g * third;
    f[GFNN_EVEN] = m;
    f[GFNN_LAST] = (k + m3) * ninth + g * (2 * ninth); /* l/9 + 4 g/9 + m/27 */
    f[GFNN_STRETCH] = g * (GFNN_PARITY_S)2 + m3;
    f[GFNN_STRETCHED] = l;
    f[GFNN_TWIST] = g3 + m9;
    f[GFNN_TWISTED] = g3;
    f[GFNN_SHEAR] = m3;
    f[GFNN_SHEARED] = g;
    f[GFNN_BEND] = g + m9;
    f[GFNN_BENT] = l * third;
}

/* Y = B U by these factors. 60 flops. */
GFNN_PARITY_FN void gfnn_parity_product(const GFNN_PARITY_T f[GFNN_FACTORS], GFNN_PARITY_T U[3][8],
                                        GFNN_PARITY_T Y[3][8])
{
    const GFNN_PARITY_T *shear = f + GFNN_SHEAR, *bend = f + GFNN_BEND;
    for (int c = 0; c < 3; c++) {
        Y[c][0] = f[GFNN_EVEN] * U[c][0];
        Y[c][7] = f[GFNN_LAST] * U[c][7];
    }
    const GFNN_PARITY_T stretched = f[GFNN_STRETCHED] * (U[0][1] + U[1][2] + U[2][4]);
    Y[0][1] = f[GFNN_STRETCH] * U[0][1] + stretched;
    Y[1][2] = f[GFNN_STRETCH] * U[1][2] + stretched;
    Y[2][4] = f[GFNN_STRETCH] * U[2][4] + stretched;
    const GFNN_PARITY_T twisted = f[GFNN_TWISTED] * (U[0][6] + U[1][5] + U[2][3]);
    Y[0][6] = f[GFNN_TWIST] * U[0][6] + twisted;
    Y[1][5] = f[GFNN_TWIST] * U[1][5] + twisted;
    Y[2][3] = f[GFNN_TWIST] * U[2][3] + twisted;
    gfnn_parity_pair(shear, &U[0][2], &U[1][1], &Y[0][2], &Y[1][1]);
    gfnn_parity_pair(shear, &U[0][4], &U[2][1], &Y[0][4], &Y[2][1]);
    gfnn_parity_pair(shear, &U[1][4], &U[2][2], &Y[1][4], &Y[2][2]);
    gfnn_parity_pair(bend, &U[1][3], &U[2][5], &Y[1][3], &Y[2][5]);
    gfnn_parity_pair(bend, &U[0][3], &U[2][6], &Y[0][3], &Y[2][6]);
    gfnn_parity_pair(bend, &U[0][5], &U[1][6], &Y[0][5], &Y[1][6]);
}

#undef GFNN_PARITY_T
#undef GFNN_PARITY_S
#undef GFNN_PARITY_FN
