/*
 * direct.cu - z = P r as the sum says it: the paper's first port.
 *
 * A thread per node, three loops over its (2 nd + 1)^3 neighbours. Components are planes and x is fastest,
 * so that the threads of a warp read neighbouring values; K is stored in the order in which it is
 * read, and all threads read the same value. Price: every tap loads three values of r and 6 to 9 M
 * of K for 18 to 18 M operations, and no loaded value serves two nodes of a thread.
 */
#include "config.h"
#include "gfnn_net.cuh"

enum { TX = 32, TY = 8, THREADS = TX * TY };

template <int M, int ND>
__global__ void __launch_bounds__(THREADS)
    direct(const __grid_constant__ gfnn_net_job_t job, const gfnn_tiling_t tiling)
{
    const int3 tile = gfnn_tile(tiling);
    const int i = tile.x * TX + threadIdx.x % TX, j = tile.y * TY + threadIdx.x / TX, k = tile.z;
    if (i >= job.n[0] || j >= job.n[1])
        return;
    const int at = job.bare.at(i, j, k);
    const auto coefficient = [&](int q, int) { return job.coefficient(q, at); };
    const float *K = job.taps;
    gfnn_sums_t<M, ND, 1, 0> sums;
    sums.begin(coefficient);
#pragma unroll 1
    for (int dz = -ND; dz <= ND; dz++)
#pragma unroll 1
        for (int dy = -ND; dy <= ND; dy++) {
            const float *row = job.r + job.wide.at(i, j + dy, k + dz);
            sums.line(dy, dz);
#pragma unroll
            for (int dx = -ND; dx <= ND; dx++, K += gfnn_tap_floats<M>)
                sums.tap(K, dx, [&](int c, int) { return __ldg(row + c * job.wide.plane + dx); });
        }
    float z[3];
    sums.end(coefficient, 0, z);
    const int own = job.wide.at(i, j, k);
#pragma unroll
    for (int c = 0; c < 3; c++)
        job.z[c * job.wide.plane + own] = z[c];
}

static void apply(const gfnn_view_t *view, const gfnn_network_t *network, const void *r, float *z)
{
    const gfnn_tiling_t tiling = gfnn_tiling(view->box->n, TX, TY, 1);
    const gfnn_net_job_t job = gfnn_taps_job(view, network, r, z);
    gfnn_fixed_network(network->form, network->kernels, network->reach, [&](auto M, auto ND) {
        direct<M(), ND()><<<tiling.blocks(), THREADS, 0, rt_stream()>>>(job, tiling);
        RT_CUDA_LAUNCHED();
    });
}

static const gfnn_predictor_t predictor = {
    .apply = apply, .set_up = gfnn_taps_set_up, .tear_down = gfnn_taps_tear_down};
GFNN_READS_TAPS(gfnn_net_direct, predictor);
