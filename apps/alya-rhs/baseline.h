/*
 * baseline.h - the element routine of the paper's baseline, for C and CUDA.
 *
 * General over node and Gauss counts, which come at run time; geometry, gradients, density,
 * viscosity and velocity at every Gauss point; a 12 x 12 element matrix and a force vector; then
 * r = force - matrix velocity. Every intermediate is in a workspace, value v of a lane at
 * w[v * ALYA_B_STRIDE + lane].
 *
 * Who includes it defines before:
 *   ALYA_B_LANES   `for (int lane = 0; lane < 16; lane++)` on the CPU: each statement is a loop
 *                  over 16 elements. Nothing in CUDA, where a thread is one lane: `lane` is 0 then,
 *                  and w points to the thread's first value.
 *   ALYA_B_STRIDE  16; or the number of threads (B); or 1, with private memory (P). An expression.
 *   ALYA_B_FN      what stands before a function: static, or static __device__.
 *   ALYA_B_CBRT    cube root.
 */
#ifndef ALYA_BASELINE_H
#define ALYA_BASELINE_H

#include "alya.h"

enum { ALYA_B_NODE = 4, ALYA_B_GAUS = 4 };

/* Where each array starts in the workspace. [g] Gauss point, [a] [b] node, [i] [j] component. */
enum {
    ALYA_B_ELCOD = 0,                                            /* [a][i] position */
    ALYA_B_ELVEL = ALYA_B_ELCOD + 3 * ALYA_B_NODE,               /* [a][i] velocity */
    ALYA_B_XJACM = ALYA_B_ELVEL + 3 * ALYA_B_NODE,               /* [g][i][j] Jacobian dx_i/ds_j */
    ALYA_B_XJACI = ALYA_B_XJACM + 9 * ALYA_B_GAUS,               /* [g][i][j] its inverse */
    ALYA_B_GPDET = ALYA_B_XJACI + 9 * ALYA_B_GAUS,               /* [g] determinant */
    ALYA_B_GPVOL = ALYA_B_GPDET + ALYA_B_GAUS,                   /* [g] determinant times weight */
    ALYA_B_GPCAR = ALYA_B_GPVOL + ALYA_B_GAUS,                   /* [g][a][i] dN_a/dx_i */
    ALYA_B_GPSHA = ALYA_B_GPCAR + 3 * ALYA_B_GAUS * ALYA_B_NODE, /* [g][a] N_a, a copy a lane */
    ALYA_B_GPVEL = ALYA_B_GPSHA + ALYA_B_GAUS * ALYA_B_NODE,     /* [g][i] velocity */
    ALYA_B_GPGVE = ALYA_B_GPVEL + 3 * ALYA_B_GAUS,               /* [g][i][j] du_i/dx_j */
    ALYA_B_GPDIV = ALYA_B_GPGVE + 9 * ALYA_B_GAUS,               /* [g] div u */
    ALYA_B_GPDEN = ALYA_B_GPDIV + ALYA_B_GAUS,                   /* [g] density */
    ALYA_B_GPVIS = ALYA_B_GPDEN + ALYA_B_GAUS,                   /* [g] mu + rho nu_t */
    ALYA_B_GPFOR = ALYA_B_GPVIS + ALYA_B_GAUS,                   /* [g][i] rho f */
    ALYA_B_AGRAU = ALYA_B_GPFOR + 3 * ALYA_B_GAUS,               /* [g][a] rho u . grad N_a */
    ALYA_B_ELVOL = ALYA_B_AGRAU + ALYA_B_GAUS * ALYA_B_NODE,     /* volume */
    ALYA_B_WIDTH,                                                /* Delta */
    ALYA_B_NORM2,                                                /* |J|^2 */
    ALYA_B_MINOR,                                                /* sum of minors squared */
    ALYA_B_ELMAT,                                                /* [a][i][b][j] */
    ALYA_B_ELRHS = ALYA_B_ELMAT + 9 * ALYA_B_NODE * ALYA_B_NODE, /* [a][i] */
    ALYA_B_VALUES = ALYA_B_ELRHS + 3 * ALYA_B_NODE
};

/* The element, in memory: nothing here may be a constant to the compiler. */
typedef struct {
    int pnode, pgaus;
    double weight[ALYA_B_GAUS];                /* of the unit tetrahedron, whose volume is 1/6 */
    double shape[ALYA_B_GAUS][ALYA_B_NODE];    /* N_a */
    double deriv[ALYA_B_GAUS][ALYA_B_NODE][3]; /* dN_a/ds_j */
} alya_b_element_t;

#define ALYA_B_W1(name, i)       w[(size_t)(ALYA_B_##name + (i)) * ALYA_B_STRIDE + lane]
#define ALYA_B_W2(name, g, n, i) ALYA_B_W1(name, (g) * (n) + (i))

#ifdef ALYA_B_FN

/* Fills the table: host code. */
static inline void alya_b_element(alya_b_element_t *el)
{
    el->pnode = ALYA_B_NODE;
    el->pgaus = ALYA_B_GAUS;
    for (int g = 0; g < ALYA_B_GAUS; g++) {
        el->weight[g] = 1.0 / 24;
        for (int a = 0; a < ALYA_B_NODE; a++) {
            el->shape[g][a] = a == g ? ALYA_GAUSS_NEAR : ALYA_GAUSS_FAR;
            for (int j = 0; j < 3; j++)
                el->deriv[g][a][j] = a == 0 ? -1 : a == j + 1 ? 1 : 0;
        }
    }
}

/* Jacobian, inverse, volume and gradients of the shape functions at one Gauss point. */
ALYA_B_FN void alya_b_jacobian(const alya_b_element_t *el, double *w, int g)
{
    const int pnode = el->pnode;
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++) {
            ALYA_B_LANES ALYA_B_W2(XJACM, g, 9, 3 * i + j) = 0;
            for (int a = 0; a < pnode; a++)
                ALYA_B_LANES ALYA_B_W2(XJACM, g, 9, 3 * i + j) +=
                    ALYA_B_W1(ELCOD, 3 * a + i) * el->deriv[g][a][j];
        }
    for (int i = 0; i < 3; i++) /* row i of the inverse: cofactors, not divided yet */
        for (int j = 0; j < 3; j++) {
            const int i1 = (i + 1) % 3, i2 = (i + 2) % 3, j1 = (j + 1) % 3, j2 = (j + 2) % 3;
            ALYA_B_LANES ALYA_B_W2(XJACI, g, 9, 3 * i + j) =
                ALYA_B_W2(XJACM, g, 9, 3 * j1 + i1) * ALYA_B_W2(XJACM, g, 9, 3 * j2 + i2) -
                ALYA_B_W2(XJACM, g, 9, 3 * j1 + i2) * ALYA_B_W2(XJACM, g, 9, 3 * j2 + i1);
        }
    ALYA_B_LANES ALYA_B_W1(GPDET, g) = 0;
    for (int j = 0; j < 3; j++)
        ALYA_B_LANES ALYA_B_W1(GPDET, g) +=
            ALYA_B_W2(XJACM, g, 9, 3 * j) * ALYA_B_W2(XJACI, g, 9, j);
    for (int i = 0; i < 9; i++)
        ALYA_B_LANES ALYA_B_W2(XJACI, g, 9, i) /= ALYA_B_W1(GPDET, g);
    ALYA_B_LANES ALYA_B_W1(GPVOL, g) = el->weight[g] * ALYA_B_W1(GPDET, g);
    for (int a = 0; a < pnode; a++) {
        ALYA_B_LANES ALYA_B_W2(GPSHA, g, ALYA_B_NODE, a) = el->shape[g][a];
        for (int i = 0; i < 3; i++) {
            ALYA_B_LANES ALYA_B_W2(GPCAR, g, 3 * ALYA_B_NODE, 3 * a + i) = 0;
            for (int j = 0; j < 3; j++)
                ALYA_B_LANES ALYA_B_W2(GPCAR, g, 3 * ALYA_B_NODE, 3 * a + i) +=
                    el->deriv[g][a][j] * ALYA_B_W2(XJACI, g, 9, 3 * j + i);
        }
    }
}

/* Velocity, its gradient and divergence at one Gauss point. */
ALYA_B_FN void alya_b_velocity(const alya_b_element_t *el, double *w, int g)
{
    const int pnode = el->pnode;
    for (int i = 0; i < 3; i++) {
        ALYA_B_LANES ALYA_B_W2(GPVEL, g, 3, i) = 0;
        for (int a = 0; a < pnode; a++)
            ALYA_B_LANES ALYA_B_W2(GPVEL, g, 3, i) +=
                ALYA_B_W2(GPSHA, g, ALYA_B_NODE, a) * ALYA_B_W1(ELVEL, 3 * a + i);
        for (int j = 0; j < 3; j++) {
            ALYA_B_LANES ALYA_B_W2(GPGVE, g, 9, 3 * i + j) = 0;
            for (int a = 0; a < pnode; a++)
                ALYA_B_LANES ALYA_B_W2(GPGVE, g, 9, 3 * i + j) +=
                    ALYA_B_W1(ELVEL, 3 * a + i) * ALYA_B_W2(GPCAR, g, 3 * ALYA_B_NODE, 3 * a + j);
        }
    }
    ALYA_B_LANES ALYA_B_W1(GPDIV, g) = 0;
    for (int i = 0; i < 3; i++)
        ALYA_B_LANES ALYA_B_W1(GPDIV, g) += ALYA_B_W2(GPGVE, g, 9, 4 * i);
}

/* Density, viscosity with the subgrid model, and force at one Gauss point. */
ALYA_B_FN void alya_b_properties(const alya_physics_t *physics, double *w, int g)
{
    ALYA_B_LANES ALYA_B_W1(GPDEN, g) = physics->rho;
    ALYA_B_LANES ALYA_B_W1(GPVIS, g) = physics->mu;
    for (int i = 0; i < 3; i++)
        ALYA_B_LANES ALYA_B_W2(GPFOR, g, 3, i) = ALYA_B_W1(GPDEN, g) * physics->force[i];
    if (physics->vreman == 0)
        return;
    ALYA_B_LANES ALYA_B_W1(NORM2, 0) = 0;
    ALYA_B_LANES ALYA_B_W1(MINOR, 0) = 0;
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++) {
            const int i1 = (i + 1) % 3, i2 = (i + 2) % 3, j1 = (j + 1) % 3, j2 = (j + 2) % 3;
            ALYA_B_LANES
            {
                double J = ALYA_B_W2(GPGVE, g, 9, 3 * i + j);
                double minor =
                    ALYA_B_W2(GPGVE, g, 9, 3 * i1 + j1) * ALYA_B_W2(GPGVE, g, 9, 3 * i2 + j2) -
                    ALYA_B_W2(GPGVE, g, 9, 3 * i1 + j2) * ALYA_B_W2(GPGVE, g, 9, 3 * i2 + j1);
                ALYA_B_W1(NORM2, 0) += J * J;
                ALYA_B_W1(MINOR, 0) += minor * minor;
            }
        }
    ALYA_B_LANES
    {
        double norm2 = ALYA_B_W1(NORM2, 0), width = ALYA_B_W1(WIDTH, 0);
        double nu = sqrt(ALYA_B_W1(MINOR, 0) / (norm2 > 0 ? norm2 : 1));
        ALYA_B_W1(GPVIS, g) += ALYA_B_W1(GPDEN, g) * physics->vreman * width * width * nu;
    }
}

/* Adds what one Gauss point gives to rows a and columns b of the element matrix. */
ALYA_B_FN void alya_b_matrix(const alya_b_element_t *el, double *w, int g, int a, double share,
                             double transposed)
{
    const int pnode = el->pnode;
    for (int b = 0; b < pnode; b++) {
        /* On the diagonal: convection, divergence, Laplacian. */
        for (int i = 0; i < 3; i++) {
            const int at = (3 * a + i) * 3 * ALYA_B_NODE + 3 * b + i;
            ALYA_B_LANES
            ALYA_B_W1(ELMAT, at) += ALYA_B_W1(GPVOL, g) * ALYA_B_W2(GPSHA, g, ALYA_B_NODE, a) *
                                    (ALYA_B_W2(AGRAU, g, ALYA_B_NODE, b) +
                                     share * ALYA_B_W1(GPDEN, g) * ALYA_B_W1(GPDIV, g) *
                                         ALYA_B_W2(GPSHA, g, ALYA_B_NODE, b));
            for (int k = 0; k < 3; k++)
                ALYA_B_LANES ALYA_B_W1(ELMAT, at) +=
                    ALYA_B_W1(GPVOL, g) * ALYA_B_W1(GPVIS, g) *
                    ALYA_B_W2(GPCAR, g, 3 * ALYA_B_NODE, 3 * a + k) *
                    ALYA_B_W2(GPCAR, g, 3 * ALYA_B_NODE, 3 * b + k);
        }
        /* Everywhere: the transposed gradients of stress and of convection. */
        for (int i = 0; i < 3; i++)
            for (int j = 0; j < 3; j++) {
                const int at = (3 * a + i) * 3 * ALYA_B_NODE + 3 * b + j;
                ALYA_B_LANES
                ALYA_B_W1(ELMAT, at) +=
                    ALYA_B_W1(GPVOL, g) * ALYA_B_W2(GPCAR, g, 3 * ALYA_B_NODE, 3 * b + i) *
                    (ALYA_B_W1(GPVIS, g) * ALYA_B_W2(GPCAR, g, 3 * ALYA_B_NODE, 3 * a + j) +
                     transposed * ALYA_B_W1(GPDEN, g) * ALYA_B_W2(GPSHA, g, ALYA_B_NODE, a) *
                         ALYA_B_W2(GPVEL, g, 3, j));
            }
    }
}

/* ELCOD and ELVEL in, ELRHS out. */
ALYA_B_FN void alya_b_assemble(const alya_b_element_t *el, const alya_physics_t *physics, double *w)
{
    const int pnode = el->pnode, pgaus = el->pgaus, rows = 3 * pnode;
    const double share = physics->form == ALYA_CONV ? 0 : physics->form == ALYA_SKEW ? 0.5 : 1;
    const double transposed = physics->form == ALYA_EMAC ? 1 : 0;

    for (int g = 0; g < pgaus; g++)
        alya_b_jacobian(el, w, g);
    ALYA_B_LANES ALYA_B_W1(ELVOL, 0) = 0;
    for (int g = 0; g < pgaus; g++)
        ALYA_B_LANES ALYA_B_W1(ELVOL, 0) += ALYA_B_W1(GPVOL, g);
    if (physics->filter > 0)
        ALYA_B_LANES ALYA_B_W1(WIDTH, 0) = physics->filter;
    else
        ALYA_B_LANES ALYA_B_W1(WIDTH, 0) = ALYA_B_CBRT(ALYA_B_W1(ELVOL, 0));
    for (int g = 0; g < pgaus; g++) {
        alya_b_velocity(el, w, g);
        alya_b_properties(physics, w, g);
    }

    for (int r = 0; r < rows; r++) {
        ALYA_B_LANES ALYA_B_W1(ELRHS, r) = 0;
        for (int c = 0; c < rows; c++)
            ALYA_B_LANES ALYA_B_W1(ELMAT, r * 3 * ALYA_B_NODE + c) = 0;
    }
    for (int g = 0; g < pgaus; g++) {
        for (int a = 0; a < pnode; a++) {
            ALYA_B_LANES ALYA_B_W2(AGRAU, g, ALYA_B_NODE, a) = 0;
            for (int j = 0; j < 3; j++)
                ALYA_B_LANES ALYA_B_W2(AGRAU, g, ALYA_B_NODE, a) +=
                    ALYA_B_W1(GPDEN, g) * ALYA_B_W2(GPVEL, g, 3, j) *
                    ALYA_B_W2(GPCAR, g, 3 * ALYA_B_NODE, 3 * a + j);
        }
        for (int a = 0; a < pnode; a++) {
            alya_b_matrix(el, w, g, a, share, transposed);
            for (int i = 0; i < 3; i++)
                ALYA_B_LANES ALYA_B_W1(ELRHS, 3 * a + i) += ALYA_B_W1(GPVOL, g) *
                                                            ALYA_B_W2(GPSHA, g, ALYA_B_NODE, a) *
                                                            ALYA_B_W2(GPFOR, g, 3, i);
        }
    }
    for (int r = 0; r < rows; r++)
        for (int c = 0; c < rows; c++)
            ALYA_B_LANES ALYA_B_W1(ELRHS, r) -=
                ALYA_B_W1(ELMAT, r * 3 * ALYA_B_NODE + c) * ALYA_B_W1(ELVEL, c);
}

#endif /* ALYA_B_FN */
#endif
