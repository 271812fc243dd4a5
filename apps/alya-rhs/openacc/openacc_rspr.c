/*
 * openacc_rspr.c - the paper's last step with OpenACC.
 *
 * Idea: RSPR in plain C. All sizes are known, intermediates are private to an iteration, and each
 * r_a is added to memory as soon as it is known. Advantage: one source for CPUs and GPUs, which is
 * the paper's point. Price: the 12 atomic additions per element, which are a GPU's limit here, cost
 * a CPU too; the compiler decides what stays in registers.
 */
#include "config.h"
#include "openacc.h"
#include <math.h>

/* Computes J_ij = du_i/dx_j, the gradients g_a, and det. */
#pragma acc routine seq
static inline double gradients(double x[4][3], double u[4][3], double g[4][3], double J[3][3])
{
    double e[3][3];
    for (int k = 0; k < 3; k++)
        for (int i = 0; i < 3; i++)
            e[k][i] = x[k + 1][i] - x[0][i];
    for (int k = 0; k < 3; k++)
        for (int i = 0; i < 3; i++) {
            const double *a = e[(k + 1) % 3], *b = e[(k + 2) % 3];
            g[k + 1][i] = a[(i + 1) % 3] * b[(i + 2) % 3] - a[(i + 2) % 3] * b[(i + 1) % 3];
        }
    const double det = e[0][0] * g[1][0] + e[0][1] * g[1][1] + e[0][2] * g[1][2];
    for (int i = 0; i < 3; i++) {
        for (int k = 1; k < 4; k++)
            g[k][i] /= det;
        g[0][i] = -(g[1][i] + g[2][i] + g[3][i]);
    }
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++) {
            J[i][j] = 0;
            for (int k = 1; k < 4; k++)
                J[i][j] += (u[k][i] - u[0][i]) * g[k][j];
        }
    return det;
}

/* Returns mu_t. */
#pragma acc routine seq
static inline double viscosity(const alya_physics_t *p, double det, double J[3][3])
{
    double B = 0, Q = 0;
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++) {
            const int i1 = (i + 1) % 3, i2 = (i + 2) % 3, j1 = (j + 1) % 3, j2 = (j + 2) % 3;
            const double minor = J[i1][j1] * J[i2][j2] - J[i1][j2] * J[i2][j1];
            B += minor * minor;
            Q += J[i][j] * J[i][j];
        }
    const double width = p->filter > 0 ? p->filter : cbrt(det / 6);
    return p->mu + (Q > 0 ? p->rho * p->vreman * width * width * sqrt(B / Q) : 0);
}

/* Computes A u at the four Gauss points. */
#pragma acc routine seq
static inline void convection(const alya_physics_t *p, double J[3][3], double u[4][3],
                              double Au[4][3])
{
    const double transposed = p->form == ALYA_EMAC ? 1 : 0;
    const double div = alya_divergence_share(p->form) * (J[0][0] + J[1][1] + J[2][2]);
    for (int q = 0; q < 4; q++) {
        double uq[3];
        for (int i = 0; i < 3; i++) {
            uq[i] = 0;
            for (int a = 0; a < 4; a++)
                uq[i] += (a == q ? ALYA_GAUSS_NEAR : ALYA_GAUSS_FAR) * u[a][i];
        }
        for (int i = 0; i < 3; i++) {
            Au[q][i] = div * uq[i];
            for (int j = 0; j < 3; j++)
                Au[q][i] += (J[i][j] + transposed * J[j][i]) * uq[j];
        }
    }
}

static void assemble(const alya_view_t *view, const alya_physics_t *given, const double *u,
                     double *r)
{
    const alya_physics_t physics = *given;
    const int64_t elements = view->elements;
    const int32_t *connectivity = view->connectivity;
    const double *x = view->x;
    alya_acc_clear(view, r);
#pragma acc parallel loop gang vector firstprivate(physics) deviceptr(connectivity, x, u, r)
    for (int64_t e = 0; e < elements; e++) {
        const int32_t *node = connectivity + 4 * e;
        double xe[4][3], ue[4][3], g[4][3], J[3][3], Au[4][3];
        for (int a = 0; a < 4; a++)
            for (int i = 0; i < 3; i++) {
                xe[a][i] = x[3 * (int64_t)node[a] + i];
                ue[a][i] = u[3 * (int64_t)node[a] + i];
            }
        const double det = gradients(xe, ue, g, J), weight = det / 24;
        const double mu = viscosity(&physics, det, J);
        convection(&physics, J, ue, Au);
        for (int a = 0; a < 4; a++)
            for (int i = 0; i < 3; i++) {
                double viscous = 0, sum = 0;
                for (int j = 0; j < 3; j++)
                    viscous += mu * (J[i][j] + J[j][i]) * g[a][j];
                for (int q = 0; q < 4; q++) {
                    const double shape = physics.rho * (a == q ? ALYA_GAUSS_NEAR : ALYA_GAUSS_FAR);
                    sum += weight * (shape * physics.force[i] - shape * Au[q][i] - viscous);
                }
#pragma acc atomic update
                r[3 * (int64_t)node[a] + i] += sum;
            }
    }
}

const alya_kernels_t alya_openacc_rspr = {
    .rung = {.precision = "FP64"},
    .assemble = assemble,
    .r_stride = 3,
    .tolerance = ALYA_TOLERANCE,
};
