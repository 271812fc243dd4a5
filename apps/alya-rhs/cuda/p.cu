/*
 * p.cu - the baseline, privatised.
 *
 * Idea: the same element routine, its workspace an array of the thread. Advantage: no workspace in
 * global memory, no passes, and what the compiler can prove stays in registers. Price: the array is
 * indexed by numbers known only at run time, so it is in local memory, which is device memory laid
 * out by the compiler: fewer global accesses, but nearly the same bytes (paper: 18.7 KB for 23.3).
 */
#include "config.h"
#include "alya_cuda.cuh"
#include "baseline.cuh"

enum { THREADS = 128 };

__global__ void __launch_bounds__(THREADS)
    assemble_kernel(int64_t elements, const int32_t *connectivity, const double *x, const double *u,
                    double *r, const __grid_constant__ alya_baseline_t baseline)
{
    const int64_t t = blockIdx.x * static_cast<int64_t>(THREADS) + threadIdx.x;
    if (t >= elements)
        return;
    double values[ALYA_B_VALUES];
    const alya_lane_t w = {values, 1};
    const int32_t *node = connectivity + 4 * t;
    for (int a = 0; a < baseline.nodes; a++)
        for (int i = 0; i < 3; i++) {
            w[ALYA_B_X + 3 * a + i] = x[3 * static_cast<int64_t>(node[a]) + i];
            w[ALYA_B_U + 3 * a + i] = u[3 * static_cast<int64_t>(node[a]) + i];
        }
    alya_baseline_element(baseline, w);
    for (int a = 0; a < baseline.nodes; a++)
        for (int i = 0; i < 3; i++)
            atomicAdd(r + 3 * static_cast<int64_t>(node[a]) + i, w[ALYA_B_RESULT + 3 * a + i]);
}

static void assemble(const alya_view_t *view, const alya_physics_t *physics, const double *u,
                     double *r)
{
    alya_clear(view, r, 3);
    const alya_baseline_t baseline = alya_baseline(physics);
    if (view->elements == 0)
        return;
    assemble_kernel<<<rt_blocks(view->elements, THREADS), THREADS, 0, rt_stream()>>>(
        view->elements, view->connectivity, view->x, u, r, baseline);
    RT_CUDA_LAUNCHED();
}

extern "C" const alya_kernels_t alya_p = {assemble, nullptr, nullptr, nullptr,
                                          0,        3,       false,   ALYA_TOLERANCE};
