/*
 * restructured.h - the element routine of rungs cpu-RS and RS, in C and CUDA: four nodes, four Gauss
 * points and constant properties are known; there are no element matrices, r is summed up directly.
 *
 * Every intermediate is a value in a workspace, as in baseline.h. A file that includes this one
 * defines first:
 *    work_t     a workspace: `w` below
 *    W(value)   that value of a lane, to be read or assigned
 *    LANES      goes before a statement: on the CPU a loop `lane` over 16 elements; nothing in CUDA
 *    UNROLL     goes before a loop whose count is known
 *    FN         goes before a function
 */
#ifndef ALYA_RESTRUCTURED_H
#define ALYA_RESTRUCTURED_H

#include "../kernel.h"

/* Values of a lane: where each group begins. */
enum {
    X = 0,
    U = X + 12,
    EDGE = U + 12,      /* e_k */
    GRAD = EDGE + 9,    /* g_a */
    JACOBI = GRAD + 12, /* J, row by row */
    UQ = JACOBI + 9,    /* u at the points */
    AU = UQ + 12,       /* A u at the points */
    RESULT = AU + 12,
    DET = RESULT + 12,
    MINORS, /* B */
    NORM,   /* |J|^2 */
    MU,     /* mu_t */
    DIV,
    VALUES
};

/* Computes e_k, g_a and det. */
FN void geometry(work_t w)
{
    UNROLL
    for (int k = 0; k < 3; k++) {
        UNROLL
        for (int i = 0; i < 3; i++)
            LANES W(EDGE + 3 * k + i) = W(X + 3 * (k + 1) + i) - W(X + i);
    }
    UNROLL
    for (int k = 0; k < 3; k++) {
        const int a = EDGE + (k + 1) % 3 * 3, b = EDGE + (k + 2) % 3 * 3;
        UNROLL
        for (int i = 0; i < 3; i++) {
            const int i1 = (i + 1) % 3, i2 = (i + 2) % 3;
            LANES W(GRAD + 3 * (k + 1) + i) = W(a + i1) * W(b + i2) - W(a + i2) * W(b + i1);
        }
    }
    LANES
    {
        W(DET) = W(EDGE) * W(GRAD + 3) + W(EDGE + 1) * W(GRAD + 4) + W(EDGE + 2) * W(GRAD + 5);
        const double inverse = 1 / W(DET);
        UNROLL
        for (int i = 0; i < 3; i++) {
            UNROLL
            for (int a = 1; a < 4; a++)
                W(GRAD + 3 * a + i) *= inverse;
            W(GRAD + i) = -(W(GRAD + 3 + i) + W(GRAD + 6 + i) + W(GRAD + 9 + i));
        }
    }
}

/* Computes J, div, and what mu_t is made of. */
FN void gradient(work_t w)
{
    UNROLL
    for (int i = 0; i < 3; i++) {
        UNROLL
        for (int j = 0; j < 3; j++) {
            LANES W(JACOBI + 3 * i + j) = 0;
            UNROLL
            for (int a = 0; a < 4; a++)
                LANES W(JACOBI + 3 * i + j) += W(U + 3 * a + i) * W(GRAD + 3 * a + j);
        }
    }
    LANES W(DIV) = W(JACOBI) + W(JACOBI + 4) + W(JACOBI + 8);
    LANES W(MINORS) = 0;
    LANES W(NORM) = 0;
    UNROLL
    for (int i = 0; i < 3; i++) {
        UNROLL
        for (int j = 0; j < 3; j++) {
            const int row1 = JACOBI + (i + 1) % 3 * 3, row2 = JACOBI + (i + 2) % 3 * 3;
            const int j1 = (j + 1) % 3, j2 = (j + 2) % 3;
            LANES
            {
                const double minor = W(row1 + j1) * W(row2 + j2) - W(row1 + j2) * W(row2 + j1);
                W(MINORS) += minor * minor;
                W(NORM) += W(JACOBI + 3 * i + j) * W(JACOBI + 3 * i + j);
            }
        }
    }
}

/* Computes u and A u at the four points. */
FN void points(work_t w, int form)
{
    UNROLL
    for (int q = 0; q < 4; q++) {
        UNROLL
        for (int i = 0; i < 3; i++) {
            LANES W(UQ + 3 * q + i) = 0;
            UNROLL
            for (int a = 0; a < 4; a++)
                LANES W(UQ + 3 * q + i) +=
                    (a == q ? ALYA_GAUSS_NEAR : ALYA_GAUSS_FAR) * W(U + 3 * a + i);
        }
        UNROLL
        for (int i = 0; i < 3; i++) {
            LANES W(AU + 3 * q + i) = alya_divergence_share(form) * W(DIV) * W(UQ + 3 * q + i);
            UNROLL
            for (int j = 0; j < 3; j++)
                LANES
                {
                    const double A = form == ALYA_EMAC
                                         ? W(JACOBI + 3 * i + j) + W(JACOBI + 3 * j + i)
                                         : W(JACOBI + 3 * i + j);
                    W(AU + 3 * q + i) += A * W(UQ + 3 * q + j);
                }
        }
    }
}

/* Computes r_a: force and convection at the points, then the viscous part. */
FN void result(work_t w, const alya_physics_t *p)
{
    UNROLL
    for (int a = 0; a < 4; a++) {
        UNROLL
        for (int i = 0; i < 3; i++) {
            LANES W(RESULT + 3 * a + i) = 0;
            UNROLL
            for (int q = 0; q < 4; q++) {
                const double shape = p->rho * ((a == q ? ALYA_GAUSS_NEAR : ALYA_GAUSS_FAR) / 24);
                LANES W(RESULT + 3 * a + i) += W(DET) * shape * (p->force[i] - W(AU + 3 * q + i));
            }
            LANES
            {
                double viscous = 0;
                UNROLL
                for (int j = 0; j < 3; j++)
                    viscous +=
                        (W(JACOBI + 3 * i + j) + W(JACOBI + 3 * j + i)) * W(GRAD + 3 * a + j);
                W(RESULT + 3 * a + i) -= W(DET) * W(MU) * (1.0 / 6) * viscous;
            }
        }
    }
}

#endif
