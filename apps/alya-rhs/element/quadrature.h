/*
 * quadrature.h - the element routine of rungs RSP, RSPR and openacc-RSPR, in C and CUDA: the 4-point
 * rule, with all sizes known, so that intermediates are scalars once the loops are unrolled;
 * gradients and mu_t are computed once per element.
 *
 * A file that includes this one defines first:
 *    FN                goes before a function
 *    sums_t            where the results go: `sums` below
 *    add(sums, a, r)   takes r_a, which it gets as soon as it is known
 */
#ifndef ALYA_QUADRATURE_H
#define ALYA_QUADRATURE_H

#include <math.h>
#include "../kernel.h"

/* Computes r of the element with these positions and velocities. */
FN void element(double x[4][3], double u[4][3], const alya_physics_t *p, int form, sums_t sums)
{
    double e[3][3], g[4][3], J[3][3], Au[4][3];
    for (int k = 0; k < 3; k++) {
        for (int i = 0; i < 3; i++)
            e[k][i] = x[k + 1][i] - x[0][i];
    }
    for (int k = 0; k < 3; k++) {
        const double *a = e[(k + 1) % 3], *b = e[(k + 2) % 3];
        for (int i = 0; i < 3; i++)
            g[k + 1][i] = a[(i + 1) % 3] * b[(i + 2) % 3] - a[(i + 2) % 3] * b[(i + 1) % 3];
    }
    const double det = e[0][0] * g[1][0] + e[0][1] * g[1][1] + e[0][2] * g[1][2];
    const double inverse = 1 / det, weight = det / 24;
    for (int i = 0; i < 3; i++) {
        for (int k = 1; k < 4; k++)
            g[k][i] *= inverse;
        g[0][i] = -(g[1][i] + g[2][i] + g[3][i]);
    }
    for (int i = 0; i < 3; i++) {
        const double w[3] = {u[1][i] - u[0][i], u[2][i] - u[0][i], u[3][i] - u[0][i]};
        for (int j = 0; j < 3; j++)
            J[i][j] = w[0] * g[1][j] + w[1] * g[2][j] + w[2] * g[3][j];
    }

    double B = 0, Q = 0;
    for (int i = 0; i < 3; i++) {
        for (int j = 0; j < 3; j++) {
            const int i1 = (i + 1) % 3, i2 = (i + 2) % 3, j1 = (j + 1) % 3, j2 = (j + 2) % 3;
            const double minor = J[i1][j1] * J[i2][j2] - J[i1][j2] * J[i2][j1];
            B += minor * minor;
            Q += J[i][j] * J[i][j];
        }
    }
    const double width = p->filter > 0 ? p->filter : cbrt(det / 6);
    const double eddy = Q > 0 ? p->vreman * width * width * sqrt(B / Q) : 0;
    const double mu = p->mu + p->rho * eddy;

    const double share = alya_divergence_share(form);
    const double div = share * (J[0][0] + J[1][1] + J[2][2]);
    for (int q = 0; q < 4; q++) {
        double uq[3];
        for (int i = 0; i < 3; i++) {
            uq[i] = 0;
            for (int a = 0; a < 4; a++)
                uq[i] += (a == q ? ALYA_GAUSS_NEAR : ALYA_GAUSS_FAR) * u[a][i];
        }
        for (int i = 0; i < 3; i++) {
            Au[q][i] = share != 0 ? div * uq[i] : 0;
            for (int j = 0; j < 3; j++)
                Au[q][i] += (form == ALYA_EMAC ? J[i][j] + J[j][i] : J[i][j]) * uq[j];
        }
    }
    for (int a = 0; a < 4; a++) {
        double r[3];
        for (int i = 0; i < 3; i++) {
            double viscous = 0, sum = 0;
            for (int j = 0; j < 3; j++)
                viscous += (J[i][j] + J[j][i]) * g[a][j];
            viscous *= mu;
            for (int q = 0; q < 4; q++) {
                const double shape = p->rho * (a == q ? ALYA_GAUSS_NEAR : ALYA_GAUSS_FAR);
                sum += weight * (shape * p->force[i] - shape * Au[q][i] - viscous);
            }
            r[i] = sum;
        }
        add(sums, a, r);
    }
}

#endif
