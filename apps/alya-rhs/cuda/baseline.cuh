/*
 * baseline.cuh - the element routine of rungs B and P, as a general finite element code has it.
 *
 * Numbers of nodes and points, the convective form and the shape functions are known only at run
 * time; geometry, gradient and viscosity are made anew at each point, though on a tetrahedron they
 * are the same; the matrix of the element is built and multiplied with the velocity. All
 * intermediates are in w, value v of a lane at w[v stride].
 */
#ifndef ALYA_BASELINE_CUH
#define ALYA_BASELINE_CUH

#include <math.h>
#include "../alya.h"

/* What a general code learns at run time. A kernel takes it by value. */
typedef struct {
    int nodes, points;
    double weight[4], shape[4][4]; /* of a point; [point][node] */
    double derivative[4][3];       /* [node][direction] */
    double transposed, divergence; /* shares of J^T and div I in A */
    alya_physics_t physics;
} alya_baseline_t;

static inline alya_baseline_t alya_baseline(const alya_physics_t *physics)
{
    alya_baseline_t b = {};
    b.nodes = b.points = 4;
    for (int q = 0; q < 4; q++) {
        b.weight[q] = 1.0 / 24;
        for (int a = 0; a < 4; a++)
            b.shape[q][a] = a == q ? ALYA_GAUSS_NEAR : ALYA_GAUSS_FAR;
        for (int k = 0; k < 3; k++)
            b.derivative[q][k] = q == 0 ? -1 : q == k + 1 ? 1 : 0;
    }
    b.transposed = physics->form == ALYA_EMAC ? 1 : 0;
    b.divergence = physics->form == ALYA_CONV ? 0 : physics->form == ALYA_SKEW ? 0.5 : 1;
    b.physics = *physics;
    return b;
}

/* Where values begin in w: of the element, and of each of the four points. */
enum {
    ALYA_B_X = 0,
    ALYA_B_U = 12,
    ALYA_B_RESULT = 24,
    ALYA_B_MATRIX = 36, /* [12][12] */
    ALYA_B_POINT = 180,
    ALYA_B_JACOBI = 0,    /* dx_i / dxi_k */
    ALYA_B_INVERSE = 9,   /* dxi_k / dx_j */
    ALYA_B_GRAD = 18,     /* of the shape functions */
    ALYA_B_VELOCITY = 30, /* grad u */
    ALYA_B_A = 39,
    ALYA_B_WEIGHT = 48,
    ALYA_B_MU,
    ALYA_B_POINT_VALUES,
    ALYA_B_VALUES = ALYA_B_POINT + 4 * ALYA_B_POINT_VALUES
};

/* Values of one lane. */
struct alya_lane_t {
    double *first;
    int64_t stride;
    __host__ __device__ __forceinline__ double &operator[](int value) const
    {
        return first[value * stride];
    }
};

/* Jacobian, its inverse, weight and gradients of the shape functions at one point; p: where its
 * values begin. */
static __host__ __device__ __forceinline__ void
alya_baseline_geometry(const alya_baseline_t &b, const alya_lane_t &w, int p, int q)
{
    const int jacobi = p + ALYA_B_JACOBI, inverse = p + ALYA_B_INVERSE;
    for (int i = 0; i < 3; i++)
        for (int k = 0; k < 3; k++) {
            w[jacobi + 3 * i + k] = 0;
            for (int a = 0; a < b.nodes; a++)
                w[jacobi + 3 * i + k] += w[ALYA_B_X + 3 * a + i] * b.derivative[a][k];
        }
    for (int k = 0; k < 3; k++)
        for (int j = 0; j < 3; j++) {
            const int k1 = (k + 1) % 3, k2 = (k + 2) % 3, j1 = (j + 1) % 3 * 3,
                      j2 = (j + 2) % 3 * 3;
            w[inverse + 3 * k + j] = w[jacobi + j1 + k1] * w[jacobi + j2 + k2] -
                                     w[jacobi + j1 + k2] * w[jacobi + j2 + k1];
        }
    const double det =
        w[jacobi] * w[inverse] + w[jacobi + 3] * w[inverse + 1] + w[jacobi + 6] * w[inverse + 2];
    w[p + ALYA_B_WEIGHT] = det * b.weight[q];
    for (int k = 0; k < 9; k++)
        w[inverse + k] /= det;
    for (int a = 0; a < b.nodes; a++)
        for (int j = 0; j < 3; j++) {
            w[p + ALYA_B_GRAD + 3 * a + j] = 0;
            for (int k = 0; k < 3; k++)
                w[p + ALYA_B_GRAD + 3 * a + j] += b.derivative[a][k] * w[inverse + 3 * k + j];
        }
}

/* grad u, A and mu_t at one point. */
static __host__ __device__ __forceinline__ void
alya_baseline_model(const alya_baseline_t &b, const alya_lane_t &w, int p, int q)
{
    const int J = p + ALYA_B_VELOCITY;
    double minors = 0, norm = 0;
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++) {
            w[J + 3 * i + j] = 0;
            for (int a = 0; a < b.nodes; a++)
                w[J + 3 * i + j] += w[ALYA_B_U + 3 * a + i] * w[p + ALYA_B_GRAD + 3 * a + j];
        }
    const double div = w[J] + w[J + 4] + w[J + 8];
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++) {
            const int i1 = J + (i + 1) % 3 * 3, i2 = J + (i + 2) % 3 * 3;
            const int j1 = (j + 1) % 3, j2 = (j + 2) % 3;
            const double minor = w[i1 + j1] * w[i2 + j2] - w[i1 + j2] * w[i2 + j1];
            minors += minor * minor;
            norm += w[J + 3 * i + j] * w[J + 3 * i + j];
            w[p + ALYA_B_A + 3 * i + j] = w[J + 3 * i + j] + b.transposed * w[J + 3 * j + i] +
                                          (i == j ? b.divergence * div : 0);
        }
    const alya_physics_t &physics = b.physics;
    const double volume = w[p + ALYA_B_WEIGHT] / b.weight[q] / 6;
    const double width = physics.filter > 0 ? physics.filter : cbrt(volume);
    const double eddy = norm > 0 ? physics.vreman * width * width * sqrt(minors / norm) : 0;
    w[p + ALYA_B_MU] = physics.mu + physics.rho * eddy;
}

/* Adds one point to the matrix and to the force. */
static __host__ __device__ __forceinline__ void
alya_baseline_matrix(const alya_baseline_t &b, const alya_lane_t &w, int p, int q)
{
    for (int a = 0; a < b.nodes; a++) {
        const double mass = b.physics.rho * b.shape[q][a];
        const int ga = p + ALYA_B_GRAD + 3 * a;
        for (int i = 0; i < 3; i++)
            w[ALYA_B_RESULT + 3 * a + i] += w[p + ALYA_B_WEIGHT] * mass * b.physics.force[i];
        for (int c = 0; c < b.nodes; c++) {
            const int gc = p + ALYA_B_GRAD + 3 * c;
            const double convection = w[p + ALYA_B_WEIGHT] * mass * b.shape[q][c];
            const double diffusion = w[p + ALYA_B_WEIGHT] * w[p + ALYA_B_MU];
            double laplace = 0;
            for (int j = 0; j < 3; j++)
                laplace += diffusion * w[ga + j] * w[gc + j];
            for (int i = 0; i < 3; i++)
                for (int j = 0; j < 3; j++)
                    w[ALYA_B_MATRIX + 12 * (3 * a + i) + 3 * c + j] +=
                        convection * w[p + ALYA_B_A + 3 * i + j] +
                        diffusion * w[ga + j] * w[gc + i] + (i == j ? laplace : 0);
        }
    }
}

/* r of the element whose x and u are in w, left there. */
static __host__ __device__ __forceinline__ void alya_baseline_element(const alya_baseline_t &b,
                                                                      const alya_lane_t &w)
{
    for (int k = ALYA_B_RESULT; k < ALYA_B_POINT; k++)
        w[k] = 0;
    for (int q = 0; q < b.points; q++) {
        const int p = ALYA_B_POINT + q * ALYA_B_POINT_VALUES;
        alya_baseline_geometry(b, w, p, q);
        alya_baseline_model(b, w, p, q);
        alya_baseline_matrix(b, w, p, q);
    }
    for (int k = 0; k < 3 * b.nodes; k++)
        for (int l = 0; l < 3 * b.nodes; l++)
            w[ALYA_B_RESULT + k] -= w[ALYA_B_MATRIX + 12 * k + l] * w[ALYA_B_U + l];
}

#endif
