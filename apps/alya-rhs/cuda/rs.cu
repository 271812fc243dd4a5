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

/* One lane's values in the workspace. */
struct work_t {
    double *first;
    int64_t stride;
    __device__ __forceinline__ double &operator[](int value) const
    {
        return first[value * stride];
    }
};
#define W(value) w[value]
#define LANES    /* a thread is one lane */
#define UNROLL   _Pragma("unroll")
#define FN       static __device__ __forceinline__
#include "../element/restructured.h"

static __device__ __forceinline__ void viscosity(work_t w, const alya_physics_t &p)
{
    const double width = p.filter > 0 ? p.filter : cbrt(w[DET] / 6), norm = w[NORM];
    w[MU] = p.mu + p.rho * (norm > 0 ? p.vreman * width * width * sqrt(w[MINORS] / norm) : 0);
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
    const work_t w = {workspace + t, stride};
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
    gradient(w);
    viscosity(w, physics);
    points(w, form);
    result(w, &physics);
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
