/*
 * global.cu - one thread per point.
 *
 * Idea: threads of a block follow x, so that loads are coalesced; the neighbours in y and z come from
 * the caches. Price: seven loads per point, of which DRAM should see two.
 */
#include "../jacobi.h"
#include "machine/cuda.cuh"

enum { THREADS = 128 };

static __global__ void __launch_bounds__(THREADS) sweep_kernel(const jacobi_view_t view)
{
    const int64_t x = int64_t(blockIdx.x) * THREADS + threadIdx.x;
    if (x >= view.n)
        return;
    const int64_t p = (blockIdx.z + 1) * view.plane + (blockIdx.y + 1) * view.row + 1 + x;
    const double *u = view.u;
    view.v[p] = (view.b[p] + u[p - 1] + u[p + 1] + u[p - view.row] + u[p + view.row] +
                 u[p - view.plane] + u[p + view.plane]) /
                6;
}

static void sweep(const jacobi_view_t *view)
{
    const auto n = static_cast<unsigned>(view->n);
    const dim3 blocks(rt_blocks(n, THREADS), n, static_cast<unsigned>(view->layers));
    sweep_kernel<<<blocks, THREADS, 0, rt_stream()>>>(*view);
    RT_CUDA_LAUNCHED();
}

extern "C" const jacobi_kernels_t jacobi_global = {
    .rung = {.precision = "FP64", .reproducible = true},
    .sweep = sweep,
};
