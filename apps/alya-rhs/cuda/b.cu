/*
 * b.cu - the paper's baseline on the GPU.
 *
 * Idea: a thread takes a lane of the vectorised CPU code. Every intermediate is an array [lane] in
 * device memory, written and read again; the elements go in passes of alya_pass(). Advantage: one
 * source for all element types, and neighbouring threads touch neighbouring words. Price: 380
 * values an element pass through the caches many times, and to DRAM: 23 KB an element by the
 * paper's counters, where 37 bytes would do.
 */
#include "config.h"
#include "alya_cuda.cuh"
#include "baseline.cuh"

enum { THREADS = 128 };

__global__ void __launch_bounds__(THREADS)
    assemble_kernel(int64_t first, int64_t count, const int32_t *connectivity, const double *x,
                    const double *u, double *r, double *workspace, int64_t stride,
                    const __grid_constant__ alya_baseline_t baseline)
{
    const int64_t t = blockIdx.x * static_cast<int64_t>(THREADS) + threadIdx.x;
    if (t >= count)
        return;
    const alya_lane_t w = {workspace + t, stride};
    const int32_t *node = connectivity + 4 * (first + t);
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
    const int64_t stride = alya_pass(view->elements);
    alya_each_pass(view->elements, [&](int64_t first, int64_t count) {
        assemble_kernel<<<rt_blocks(count, THREADS), THREADS, 0, rt_stream()>>>(
            first, count, view->connectivity, view->x, u, r, static_cast<double *>(view->data),
            stride, baseline);
    });
}

extern "C" const alya_kernels_t alya_b = {assemble,
                                          alya_workspace_set_up<ALYA_B_VALUES>,
                                          alya_workspace_tear_down,
                                          alya_workspace_memory<ALYA_B_VALUES>,
                                          0,
                                          3,
                                          false,
                                          ALYA_TOLERANCE};
