/*
 * baseline.h - the element routine of the paper's baseline: rungs cpu-B, B and P, in C and CUDA.
 *
 * As in a general finite element code, the numbers of dimensions, nodes and Gauss points, the shape
 * functions, the convective form and the model are known only at run time. Geometry, gradients and
 * properties are computed at each point, although on a linear tetrahedron they are the same at all
 * points. An element matrix is assembled, then multiplied by the velocity: r = F - K u,
 *
 *     F_ai    = sum_q N_a (det/24) rho f_i,
 *     K_ai,bj = sum_q N_a N_b (det/24) rho A_ij + (det/24) mu_t (g_a,j g_b,i + delta_ij g_a . g_b).
 *
 * Every intermediate is a value in a workspace: one statement writes it, others read it. The rungs
 * differ only in where the workspace is. A file that includes this one defines first:
 *    work_t              a workspace: `w` below
 *    AT(w, value, lane)  that value of that lane, to be read or assigned
 *    LANES               goes before a statement: on the CPU a loop `lane` over 16 elements;
 *                        nothing in CUDA, where a thread is one lane and AT ignores `lane`
 *    FN                  goes before a function
 */
#ifndef ALYA_BASELINE_H
#define ALYA_BASELINE_H

#include <math.h>
#include "../kernel.h"

/* The element type. It must be in memory, so that nothing here is a constant to the compiler. */
typedef struct {
    int ndime, pnode, pgaus;    /* 3, 4 nodes, 4 Gauss points; the maximum of each */
    double weight[4];           /* [g] of the unit tetrahedron, whose volume is 1/6 */
    double shape[4][4];         /* [g][a] N_a */
    double derivative[4][4][3]; /* [g][a][k] dN_a/ds_k */
} alya_element_type_t;

/* Values of a lane. [a] [b] node, [i] [j] component, [k] direction in the unit tetrahedron. */
enum {
    EL_COORD = 0,             /* [a][i] x */
    EL_VELOC = EL_COORD + 12, /* [a][i] u */
    EL_RHS = EL_VELOC + 12,   /* [a][i] F, in the end r */
    EL_MATRIX = EL_RHS + 12,  /* [a][i][b][j] K */
    EL_VOLUME = EL_MATRIX + 144,
    EL_WIDTH,                   /* Delta */
    EL_LAPLACE,                 /* of two nodes at a point: (det/24) mu_t g_a . g_b */
    EL_POINTS,                  /* start of the Gauss points; offsets within a point: */
    GP_JACOBI = 0,              /* [i][k] dx_i/ds_k */
    GP_INVERSE = GP_JACOBI + 9, /* [k][j] ds_k/dx_j */
    GP_DET = GP_INVERSE + 9,    /* determinant of the Jacobian */
    GP_VOLUME,                  /* determinant times weight: det/24 */
    GP_GRAD,                    /* [a][j] g_a = dN_a/dx_j */
    GP_VELGRAD = GP_GRAD + 12,  /* [i][j] J = du_i/dx_j */
    GP_DIV = GP_VELGRAD + 9,    /* div u */
    GP_NORM2,                   /* |J|^2 */
    GP_MINORS,                  /* the squared minors of J */
    GP_DENSITY,                 /* rho */
    GP_VISCO,                   /* mu_t */
    GP_CONVEC,                  /* [i][j] (det/24) rho A */
    GP_FORCE = GP_CONVEC + 9,   /* [i] (det/24) rho f */
    GP_VALUES = GP_FORCE + 3,
    EL_VALUES = EL_POINTS + 4 * GP_VALUES
};

/* Fills in the linear tetrahedron. Host code. */
static inline void alya_baseline_tetrahedron(alya_element_type_t *type)
{
    type->ndime = 3;
    type->pnode = type->pgaus = 4;
    for (int g = 0; g < 4; g++) {
        type->weight[g] = 1.0 / 24;
        for (int a = 0; a < 4; a++) {
            type->shape[g][a] = a == g ? ALYA_GAUSS_NEAR : ALYA_GAUSS_FAR;
            for (int k = 0; k < 3; k++)
                type->derivative[g][a][k] = a == 0 ? -1 : a == k + 1 ? 1 : 0;
        }
    }
}

/* Computes the Jacobian, its inverse, the volume and the gradients of the shape functions at one
 * point. The point's values start at p. */
FN void geometry(work_t w, const alya_element_type_t *type, int p, int g)
{
    const int ndime = type->ndime, pnode = type->pnode, jacobi = p + GP_JACOBI;
    for (int i = 0; i < ndime; i++)
        for (int k = 0; k < ndime; k++) {
            LANES AT(w, jacobi + 3 * i + k, lane) = 0;
            for (int a = 0; a < pnode; a++)
                LANES AT(w, jacobi + 3 * i + k, lane) +=
                    AT(w, EL_COORD + 3 * a + i, lane) * type->derivative[g][a][k];
        }
    /* A code that also has triangles would branch on ndime here. Cofactors, not yet divided. */
    for (int k = 0; k < 3; k++)
        for (int j = 0; j < 3; j++) {
            const int k1 = (k + 1) % 3, k2 = (k + 2) % 3;
            const int j1 = jacobi + (j + 1) % 3 * 3, j2 = jacobi + (j + 2) % 3 * 3;
            LANES AT(w, p + GP_INVERSE + 3 * k + j, lane) =
                AT(w, j1 + k1, lane) * AT(w, j2 + k2, lane) -
                AT(w, j1 + k2, lane) * AT(w, j2 + k1, lane);
        }
    LANES AT(w, p + GP_DET, lane) = 0;
    for (int i = 0; i < ndime; i++)
        LANES AT(w, p + GP_DET, lane) +=
            AT(w, jacobi + 3 * i, lane) * AT(w, p + GP_INVERSE + i, lane);
    LANES AT(w, p + GP_VOLUME, lane) = type->weight[g] * AT(w, p + GP_DET, lane);
    for (int k = 0; k < 9; k++)
        LANES AT(w, p + GP_INVERSE + k, lane) /= AT(w, p + GP_DET, lane);
    for (int a = 0; a < pnode; a++)
        for (int j = 0; j < ndime; j++) {
            LANES AT(w, p + GP_GRAD + 3 * a + j, lane) = 0;
            for (int k = 0; k < ndime; k++)
                LANES AT(w, p + GP_GRAD + 3 * a + j, lane) +=
                    type->derivative[g][a][k] * AT(w, p + GP_INVERSE + 3 * k + j, lane);
        }
}

/* Computes the gradient and the divergence of the velocity at one point. */
FN void velocity(work_t w, const alya_element_type_t *type, int p)
{
    const int ndime = type->ndime, pnode = type->pnode, J = p + GP_VELGRAD;
    for (int i = 0; i < ndime; i++)
        for (int j = 0; j < ndime; j++) {
            LANES AT(w, J + 3 * i + j, lane) = 0;
            for (int a = 0; a < pnode; a++)
                LANES AT(w, J + 3 * i + j, lane) +=
                    AT(w, EL_VELOC + 3 * a + i, lane) * AT(w, p + GP_GRAD + 3 * a + j, lane);
        }
    LANES AT(w, p + GP_DIV, lane) = 0;
    for (int i = 0; i < ndime; i++)
        LANES AT(w, p + GP_DIV, lane) += AT(w, J + 4 * i, lane);
}

/* Computes the density, and the viscosity with the subgrid model, at one point. */
FN void properties(work_t w, const alya_physics_t *physics, int p)
{
    const int J = p + GP_VELGRAD;
    LANES AT(w, p + GP_DENSITY, lane) = physics->rho;
    LANES AT(w, p + GP_VISCO, lane) = physics->mu;
    if (physics->vreman == 0)
        return;
    LANES AT(w, p + GP_NORM2, lane) = 0;
    LANES AT(w, p + GP_MINORS, lane) = 0;
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++) {
            const int i1 = J + (i + 1) % 3 * 3, i2 = J + (i + 2) % 3 * 3;
            const int j1 = (j + 1) % 3, j2 = (j + 2) % 3;
            LANES
            {
                const double minor = AT(w, i1 + j1, lane) * AT(w, i2 + j2, lane) -
                                     AT(w, i1 + j2, lane) * AT(w, i2 + j1, lane);
                AT(w, p + GP_MINORS, lane) += minor * minor;
                AT(w, p + GP_NORM2, lane) +=
                    AT(w, J + 3 * i + j, lane) * AT(w, J + 3 * i + j, lane);
            }
        }
    LANES
    {
        const double norm2 = AT(w, p + GP_NORM2, lane), width = AT(w, EL_WIDTH, lane);
        const double ratio = AT(w, p + GP_MINORS, lane) / (norm2 > 0 ? norm2 : 1); /* 0 / 1 */
        AT(w, p + GP_VISCO, lane) +=
            AT(w, p + GP_DENSITY, lane) * physics->vreman * width * width * sqrt(ratio);
    }
}

/* Computes the factors of force and convection at one point; the form is an option like any
 * other. */
FN void coefficients(work_t w, const alya_element_type_t *type, const alya_physics_t *physics,
                     int p)
{
    const int ndime = type->ndime, J = p + GP_VELGRAD, A = p + GP_CONVEC;
    const double transposed = physics->form == ALYA_EMAC ? 1 : 0;
    const double share = alya_divergence_share(physics->form);
    for (int i = 0; i < ndime; i++) {
        LANES AT(w, p + GP_FORCE + i, lane) =
            AT(w, p + GP_VOLUME, lane) * AT(w, p + GP_DENSITY, lane) * physics->force[i];
        for (int j = 0; j < ndime; j++)
            LANES AT(w, A + 3 * i + j, lane) =
                AT(w, p + GP_VOLUME, lane) * AT(w, p + GP_DENSITY, lane) *
                (AT(w, J + 3 * i + j, lane) + transposed * AT(w, J + 3 * j + i, lane));
        LANES AT(w, A + 4 * i, lane) += AT(w, p + GP_VOLUME, lane) * AT(w, p + GP_DENSITY, lane) *
                                        share * AT(w, p + GP_DIV, lane);
    }
}

/* Adds one point to the matrix and to the force. */
FN void matrix(work_t w, const alya_element_type_t *type, int p, int g)
{
    const int ndime = type->ndime, pnode = type->pnode;
    const double *N = type->shape[g];
    for (int a = 0; a < pnode; a++) {
        const int ga = p + GP_GRAD + 3 * a;
        for (int i = 0; i < ndime; i++)
            LANES AT(w, EL_RHS + 3 * a + i, lane) += N[a] * AT(w, p + GP_FORCE + i, lane);
        for (int b = 0; b < pnode; b++) {
            const int gb = p + GP_GRAD + 3 * b, block = EL_MATRIX + 36 * a + 3 * b;
            const double mass = N[a] * N[b];
            LANES AT(w, EL_LAPLACE, lane) = 0;
            for (int j = 0; j < ndime; j++)
                LANES AT(w, EL_LAPLACE, lane) += AT(w, p + GP_VOLUME, lane) *
                                                 AT(w, p + GP_VISCO, lane) * AT(w, ga + j, lane) *
                                                 AT(w, gb + j, lane);
            for (int i = 0; i < ndime; i++) {
                for (int j = 0; j < ndime; j++)
                    LANES AT(w, block + 12 * i + j, lane) +=
                        mass * AT(w, p + GP_CONVEC + 3 * i + j, lane) +
                        AT(w, p + GP_VOLUME, lane) * AT(w, p + GP_VISCO, lane) *
                            AT(w, ga + j, lane) * AT(w, gb + i, lane);
                LANES AT(w, block + 13 * i, lane) += AT(w, EL_LAPLACE, lane);
            }
        }
    }
}

/* Computes r of the elements in w: EL_COORD and EL_VELOC in, EL_RHS out. */
FN void element(work_t w, const alya_element_type_t *type, const alya_physics_t *physics)
{
    const int ndime = type->ndime, pnode = type->pnode, pgaus = type->pgaus;
    for (int g = 0; g < pgaus; g++)
        geometry(w, type, EL_POINTS + g * GP_VALUES, g);
    LANES AT(w, EL_VOLUME, lane) = 0;
    for (int g = 0; g < pgaus; g++)
        LANES AT(w, EL_VOLUME, lane) += AT(w, EL_POINTS + g * GP_VALUES + GP_VOLUME, lane);
    if (physics->filter > 0)
        LANES AT(w, EL_WIDTH, lane) = physics->filter;
    else
        LANES AT(w, EL_WIDTH, lane) = cbrt(AT(w, EL_VOLUME, lane));
    for (int g = 0; g < pgaus; g++) {
        velocity(w, type, EL_POINTS + g * GP_VALUES);
        properties(w, physics, EL_POINTS + g * GP_VALUES);
        coefficients(w, type, physics, EL_POINTS + g * GP_VALUES);
    }

    for (int k = EL_RHS; k < EL_VOLUME; k++) /* the matrix too */
        LANES AT(w, k, lane) = 0;
    for (int g = 0; g < pgaus; g++)
        matrix(w, type, EL_POINTS + g * GP_VALUES, g);
    for (int a = 0; a < pnode; a++)
        for (int i = 0; i < ndime; i++)
            for (int b = 0; b < pnode; b++)
                for (int j = 0; j < ndime; j++)
                    LANES AT(w, EL_RHS + 3 * a + i, lane) -=
                        AT(w, EL_MATRIX + 36 * a + 12 * i + 3 * b + j, lane) *
                        AT(w, EL_VELOC + 3 * b + j, lane);
}

#endif
