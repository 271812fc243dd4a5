/*
 * rs.cu - the paper's restructured and specialised code, not yet privatised.
 *
 * Idea: four nodes, four points, one subgrid model and constant properties are known, so all loops
 * unroll; there are no element matrices, r is summed up directly. The intermediates are still
 * arrays [value][lane], interleaved over the elements of a pass, as in the vectorised CPU code.
 * Advantage over rung P: an eighth of the operations and of the loads and stores, and these are
 * coalesced. Price: each intermediate goes through L1 and L2 to DRAM, a thousand loads and stores
 * per element. The compiler may not keep them in registers: any store might overwrite any value,
 * because the stride between values is known only at run time and could be anything.
 */
#include "config.h"
#include "alya_cuda.cuh"
#include "element.cuh"

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

/* One lane's values in the workspace. */
struct lane_t {
    double *first;
    int64_t stride;
    __device__ __forceinline__ double &operator[](int value) const
    {
        return first[value * stride];
    }
};

/* Computes e_k, g_a and det. */
static __device__ __forceinline__ void geometry(const lane_t &w)
{
#pragma unroll
    for (int k = 0; k < 3; k++)
#pragma unroll
        for (int i = 0; i < 3; i++)
            w[EDGE + 3 * k + i] = w[X + 3 * (k + 1) + i] - w[X + i];
#pragma unroll
    for (int k = 0; k < 3; k++) {
        const int a = EDGE + (k + 1) % 3 * 3, b = EDGE + (k + 2) % 3 * 3;
#pragma unroll
        for (int i = 0; i < 3; i++) {
            const int i1 = (i + 1) % 3, i2 = (i + 2) % 3;
            w[GRAD + 3 * (k + 1) + i] = w[a + i1] * w[b + i2] - w[a + i2] * w[b + i1];
        }
    }
    w[DET] = w[EDGE] * w[GRAD + 3] + w[EDGE + 1] * w[GRAD + 4] + w[EDGE + 2] * w[GRAD + 5];
    const double inverse = 1 / w[DET];
#pragma unroll
    for (int i = 0; i < 3; i++) {
#pragma unroll
        for (int a = 1; a < 4; a++)
            w[GRAD + 3 * a + i] *= inverse;
        w[GRAD + i] = -(w[GRAD + 3 + i] + w[GRAD + 6 + i] + w[GRAD + 9 + i]);
    }
}

/* Computes J, div and mu_t. */
static __device__ __forceinline__ void gradient(const lane_t &w, const alya_physics_t &p)
{
#pragma unroll
    for (int i = 0; i < 3; i++)
#pragma unroll
        for (int j = 0; j < 3; j++) {
            w[JACOBI + 3 * i + j] = 0;
#pragma unroll
            for (int a = 0; a < 4; a++)
                w[JACOBI + 3 * i + j] += w[U + 3 * a + i] * w[GRAD + 3 * a + j];
        }
    w[DIV] = w[JACOBI] + w[JACOBI + 4] + w[JACOBI + 8];
    w[MINORS] = 0;
    w[NORM] = 0;
#pragma unroll
    for (int i = 0; i < 3; i++)
#pragma unroll
        for (int j = 0; j < 3; j++) {
            const int row1 = JACOBI + (i + 1) % 3 * 3, row2 = JACOBI + (i + 2) % 3 * 3;
            const int j1 = (j + 1) % 3, j2 = (j + 2) % 3;
            const double minor = w[row1 + j1] * w[row2 + j2] - w[row1 + j2] * w[row2 + j1];
            w[MINORS] += minor * minor;
            w[NORM] += w[JACOBI + 3 * i + j] * w[JACOBI + 3 * i + j];
        }
    const double width = p.filter > 0 ? p.filter : cbrt(w[DET] / 6), norm = w[NORM];
    w[MU] = p.mu + p.rho * (norm > 0 ? p.vreman * width * width * sqrt(w[MINORS] / norm) : 0);
}

/* Computes u and A u at the four points. */
template <int form> static __device__ __forceinline__ void points(const lane_t &w)
{
#pragma unroll
    for (int q = 0; q < 4; q++) {
#pragma unroll
        for (int i = 0; i < 3; i++) {
            w[UQ + 3 * q + i] = 0;
#pragma unroll
            for (int a = 0; a < 4; a++)
                w[UQ + 3 * q + i] += (a == q ? ALYA_GAUSS_NEAR : ALYA_GAUSS_FAR) * w[U + 3 * a + i];
        }
#pragma unroll
        for (int i = 0; i < 3; i++) {
            w[AU + 3 * q + i] = alya_divergence_share(form) * w[DIV] * w[UQ + 3 * q + i];
#pragma unroll
            for (int j = 0; j < 3; j++) {
                const double A = form == ALYA_EMAC ? w[JACOBI + 3 * i + j] + w[JACOBI + 3 * j + i]
                                                   : w[JACOBI + 3 * i + j];
                w[AU + 3 * q + i] += A * w[UQ + 3 * q + j];
            }
        }
    }
}

/* Computes r_a: force and convection at the points, then the viscous part. */
static __device__ __forceinline__ void result(const lane_t &w, const alya_physics_t &p)
{
#pragma unroll
    for (int a = 0; a < 4; a++)
#pragma unroll
        for (int i = 0; i < 3; i++) {
            w[RESULT + 3 * a + i] = 0;
#pragma unroll
            for (int q = 0; q < 4; q++) {
                const double shape = p.rho * ((a == q ? ALYA_GAUSS_NEAR : ALYA_GAUSS_FAR) / 24);
                w[RESULT + 3 * a + i] += w[DET] * shape * (p.force[i] - w[AU + 3 * q + i]);
            }
            double viscous = 0;
#pragma unroll
            for (int j = 0; j < 3; j++)
                viscous += (w[JACOBI + 3 * i + j] + w[JACOBI + 3 * j + i]) * w[GRAD + 3 * a + j];
            w[RESULT + 3 * a + i] -= w[DET] * w[MU] * (1.0 / 6) * viscous;
        }
}

template <int form>
__global__ void __launch_bounds__(ALYA_MOST_THREADS)
    assemble_kernel(int64_t first, int64_t count, const int32_t *connectivity, const double *x,
                    const double *u, double *r, double *workspace, int64_t stride,
                    const __grid_constant__ alya_physics_t physics)
{
    const int64_t t = alya_thread();
    if (t >= count)
        return;
    const lane_t w = {workspace + t, stride};
    int32_t node[4];
    alya_nodes(connectivity, first + t, node);
#pragma unroll
    for (int a = 0; a < 4; a++)
#pragma unroll
        for (int i = 0; i < 3; i++) {
            w[X + 3 * a + i] = x[3 * static_cast<int64_t>(node[a]) + i];
            w[U + 3 * a + i] = u[3 * static_cast<int64_t>(node[a]) + i];
        }
    geometry(w);
    gradient(w, physics);
    points<form>(w);
    result(w, physics);
#pragma unroll
    for (int a = 0; a < 4; a++)
#pragma unroll
        for (int i = 0; i < 3; i++)
            atomicAdd(r + 3 * static_cast<int64_t>(node[a]) + i, w[RESULT + 3 * a + i]);
}

static void assemble(const alya_view_t *view, const alya_physics_t *physics, const double *u,
                     double *r)
{
    alya_clear(view, r, 3);
    alya_fixed_form(physics->form, [&](auto form) {
        alya_each_pass(view, [&](int64_t first, int64_t count) {
            assemble_kernel<form()>
                <<<rt_blocks(count, view->threads), view->threads, 0, rt_stream()>>>(
                    first, count, view->connectivity, view->x, u, r,
                    static_cast<double *>(view->data), view->pass, *physics);
        });
    });
}

extern "C" const alya_kernels_t alya_rs = {
    .rung = {.precision = "FP64", .parameters = alya_threads_and_pass, .n_parameters = 2},
    .assemble = assemble,
    .set_up = alya_workspace_set_up<VALUES>,
    .tear_down = alya_workspace_tear_down,
    .memory = alya_workspace_memory<VALUES>,
    .r_stride = 3,
    .tolerance = ALYA_TOLERANCE,
};
