/*
 * unrolled.cu - the outer loop unrolled: the paper's second step.
 *
 * A thread has four nodes above each other (two if there are eight kernels). For every (x, y) of
 * the stencil it reads a column of r once into registers, four and six values, and these serve 28
 * taps (with a reach of 3); a value of K serves four nodes (gfnn_unrolled in loops/network.hpp, which
 * Kokkos compiles too). Advantage: 30 loads where `direct` has 84, and as many of K as before for
 * four nodes together. Price: registers, so fewer threads to hide the latency of loads.
 */
#include "config.h"
#include "gfnn_net.cuh"

enum { TX = 32, TY = 8, THREADS = TX * TY };

template <int M, int ND>
__global__ void __launch_bounds__(THREADS, 2)
    unrolled(const __grid_constant__ gfnn_net_job_t job, const gfnn_tiling_t tiling)
{
    const int3 tile = gfnn_tile(tiling);
    const int i = tile.x * TX + threadIdx.x % TX, j = tile.y * TY + threadIdx.x / TX;
    if (i >= job.n[0] || j >= job.n[1])
        return;
    gfnn_unrolled<M, ND>(job, i, j, tile.z * gfnn_unrolled_nodes<M>);
}

static void apply(const gfnn_view_t *view, const gfnn_network_t *network, const void *r, float *z)
{
    const gfnn_net_job_t job = gfnn_taps_job(view, network, r, z);
    gfnn_fixed_network(network->form, network->kernels, network->reach, [&](auto M, auto ND) {
        const gfnn_tiling_t tiling = gfnn_tiling(view->box->n, TX, TY, gfnn_unrolled_nodes<M()>);
        unrolled<M(), ND()><<<tiling.blocks(), THREADS, 0, rt_stream()>>>(job, tiling);
        RT_CUDA_LAUNCHED();
    });
}

static const gfnn_predictor_t predictor = {
    .apply = apply, .set_up = gfnn_taps_set_up, .tear_down = gfnn_taps_tear_down};
GFNN_READS_TAPS(gfnn_net_unrolled, predictor);
