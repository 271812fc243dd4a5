/*
 * element.cuh - the right-hand side of one element in closed form (kernel.h has the formulas). The
 * convective form is a template parameter, so that terms which a form lacks do not exist.
 */
#ifndef ALYA_ELEMENT_CUH
#define ALYA_ELEMENT_CUH

#include <float.h>
#include <math.h>
#include <type_traits>
#include "../kernel.h"

#ifndef ALYA_ELEMENT /* Kokkos has its own */
#define ALYA_ELEMENT __host__ __device__ __forceinline__
#endif

/* The constants of an assembly, multiplied out. A kernel takes it by value. */
template <class T> struct alya_closed_t {
    T viscous;        /* mu / 6 */
    T eddy;           /* rho c Delta^2 / 6, or rho c 6^(-5/3) where Delta^2 = V^(2/3) */
    T convective;     /* -rho / 120 */
    T divergence;     /* the same times the share of div I in A */
    T force[3];       /* rho f / 24 */
    bool fixed_width; /* Delta is the same for all elements */
};

template <class T> alya_closed_t<T> alya_closed_constants(const alya_physics_t &p)
{
    alya_closed_t<T> c;
    const double width2 = p.filter > 0 ? p.filter * p.filter : pow(6.0, -2.0 / 3.0);
    c.viscous = static_cast<T>(p.mu / 6);
    c.eddy = static_cast<T>(p.rho * p.vreman * width2 / 6);
    c.convective = static_cast<T>(-p.rho / 120);
    c.divergence = static_cast<T>(-p.rho / 120 * alya_divergence_share(p.form));
    for (int i = 0; i < 3; i++)
        c.force[i] = static_cast<T>(p.rho / 24 * p.force[i]);
    c.fixed_width = p.filter > 0;
    return c;
}

/* Returns y = x^(-1/3) for x > 0 in the range of float: a seed from the special function unit with
 * a relative error of at most 4e-6, then y (1 + d/3 + 2 d^2/9), d = 1 - x y^3. The truncated term,
 * 14 d^3/81, is below 4e-16 at the ends of the range and below 1e-17 for x = 1e-3 .. 1e3: one step
 * is enough. */
template <class T> ALYA_ELEMENT T alya_inverse_cbrt(T x)
{
    const float third = -1.0f / 3;
    float seed;
#ifdef __CUDA_ARCH__
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(seed) : "f"(third * __log2f(static_cast<float>(x))));
#else
    seed = exp2f(third * log2f(static_cast<float>(x)));
#endif
    const T y = static_cast<T>(seed), d = T(1) - x * (y * y * y);
    return y + y * d * (T(1.0 / 3) + d * T(2.0 / 9));
}

/* Returns sqrt(B / Q) = B (B Q)^(-1/2), and 0 where B Q is 0. The seed is good to 20 bits; the step
 * is y (1 + d/2 + 3 d^2/8), d = 1 - B Q y^2; its truncated term, 5 d^3/16, is below 2^-57. */
ALYA_ELEMENT double alya_sqrt_ratio(double B, double Q)
{
    const double BQ = B * Q;
    double y;
#ifdef __CUDA_ARCH__
    asm("rsqrt.approx.ftz.f64 %0, %1;" : "=d"(y) : "d"(BQ));
#else
    y = 1 / sqrt(BQ);
#endif
    y = BQ >= DBL_MIN ? y : 0; /* the seed of a denormal number is infinite */
    const double s = B * y, d = 1 - BQ * (y * y);
    return s + s * d * (0.5 + 0.375 * d);
}

/* The product of B and Q, the sixth power of a velocity, would leave the range of float. */
ALYA_ELEMENT float alya_sqrt_ratio(float B, float Q)
{
#ifdef __CUDA_ARCH__
    return B >= FLT_MIN ? __fsqrt_rn(B) * rsqrtf(Q) : 0;
#else
    return B >= FLT_MIN ? sqrtf(B) / sqrtf(Q) : 0;
#endif
}

/*
 * Computes r of one element in closed form. Differences are formed in double, the rest in T.
 *
 * Cofactors c_k and J' = det J are not divided by det: with y = det^(-1/3) all powers of det that
 * are needed at the end are products. For T = double that holds while |J'| is within 1e-51 .. 1e51
 * m^3/s. For float the cofactors are first multiplied by y^2, so that J' = det^(1/3) J has the size
 * of the velocity differences, whatever the size of the element.
 *
 * With v_0 = u_0 + s = 5 u_0 + w_1 + w_2 + w_3 the others are v_k = v_0 + w_k: r_k = r_0 + A w_k as
 * far as convection and force go. The viscous part is added on top of that without being stored.
 */
template <int form, class T>
ALYA_ELEMENT void alya_element_closed(const double (&x)[4][3], const double (&u)[4][3],
                                      const alya_closed_t<T> &p, T (&r)[4][3])
{
    constexpr bool scaled = std::is_same<T, float>::value;
    T e[3][3], w[3][3], c[3][3], J[3][3];
    for (int k = 0; k < 3; k++) {
        for (int i = 0; i < 3; i++) {
            e[k][i] = static_cast<T>(x[k + 1][i] - x[0][i]);
            w[k][i] = static_cast<T>(u[k + 1][i] - u[0][i]);
        }
    }
    for (int k = 0; k < 3; k++) {
        const T(&a)[3] = e[(k + 1) % 3], (&b)[3] = e[(k + 2) % 3];
        for (int i = 0; i < 3; i++)
            c[k][i] = a[(i + 1) % 3] * b[(i + 2) % 3] - a[(i + 2) % 3] * b[(i + 1) % 3];
    }
    const T det = e[0][0] * c[0][0] + e[0][1] * c[0][1] + e[0][2] * c[0][2];
    const T y = alya_inverse_cbrt(det), y2 = y * y, h = det * y2; /* h = det^(1/3), if scaled */

    for (int k = 0; scaled && k < 3; k++) {
        for (int i = 0; i < 3; i++)
            c[k][i] *= y2;
    }
    for (int i = 0; i < 3; i++) {
        for (int j = 0; j < 3; j++)
            J[i][j] = w[0][i] * c[0][j] + w[1][i] * c[1][j] + w[2][i] * c[2][j];
    }

    T B = 0, Q = 0;
    for (int i = 0; i < 3; i++) {
        for (int j = 0; j < 3; j++) {
            const int i1 = (i + 1) % 3, i2 = (i + 2) % 3, j1 = (j + 1) % 3, j2 = (j + 2) % 3;
            const T minor = J[i1][j1] * J[i2][j2] - J[i1][j2] * J[i2][j1];
            B += minor * minor;
            Q += J[i][j] * J[i][j];
        }
    }
    /* m = V mu_t / det^2, times y^-4 if scaled; the width is the same choice for all threads */
    T m, convective = p.convective, divergence = p.divergence;
    if (scaled) {
        const T width = p.fixed_width ? T(1) : h;
        m = p.viscous * h + (p.eddy * alya_sqrt_ratio(B, Q)) * (width * width);
        convective *= h * h;
        divergence *= h * h;
    } else {
        const T y3 = y2 * y, width = p.fixed_width ? y3 : y2;
        m = p.viscous * y3 + (p.eddy * alya_sqrt_ratio(B, Q)) * (width * width);
    }

    /* S = m (J + J^T), D = -rho/120 div, A with the factor -rho/120 */
    const T s01 = J[0][1] + J[1][0], s12 = J[1][2] + J[2][1], s02 = J[0][2] + J[2][0], m2 = m + m;
    const T S[3][3] = {{m2 * J[0][0], m * s01, m * s02},
                       {m * s01, m2 * J[1][1], m * s12},
                       {m * s02, m * s12, m2 * J[2][2]}};
    const T D = form == ALYA_CONV ? T(0) : divergence * (J[0][0] + J[1][1] + J[2][2]);
    if (form == ALYA_EMAC) {
        J[0][1] = J[1][0] = s01;
        J[1][2] = J[2][1] = s12;
        J[0][2] = J[2][0] = s02;
    }
    const T diagonal = form == ALYA_EMAC ? convective + convective : convective;
    for (int i = 0; i < 3; i++) {
        for (int j = 0; j < 3; j++) {
            if (i != j)
                J[i][j] *= convective;
            else if (form == ALYA_CONV)
                J[i][j] *= diagonal;
            else
                J[i][j] = diagonal * J[i][j] + D;
        }
    }

    T v[3], c0[3];
    for (int i = 0; i < 3; i++) {
        v[i] = T(5) * static_cast<T>(u[0][i]) + (w[0][i] + w[1][i] + w[2][i]);
        c0[i] = c[0][i] + c[1][i] + c[2][i];
    }
    for (int i = 0; i < 3; i++) {
        T base = det * p.force[i];
        base += J[i][0] * v[0];
        base += J[i][1] * v[1];
        base += J[i][2] * v[2];
        for (int k = 0; k < 3; k++) {
            T sum = base;
            sum += J[i][0] * w[k][0];
            sum += J[i][1] * w[k][1];
            sum += J[i][2] * w[k][2];
            sum -= S[i][0] * c[k][0];
            sum -= S[i][1] * c[k][1];
            sum -= S[i][2] * c[k][2];
            r[k + 1][i] = sum;
        }
        base += S[i][0] * c0[0];
        base += S[i][1] * c0[1];
        base += S[i][2] * c0[2];
        r[0][i] = base;
    }
}

#endif
