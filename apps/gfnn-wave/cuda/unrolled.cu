/*
 * unrolled.cu - the outer loop unrolled: the paper's second step.
 *
 * A thread has four nodes above each other (two if there are eight kernels). For every (x, y) of
 * the stencil it reads a column of r once into registers, four and six values, and these serve 28
 * taps (with a reach of 3); a value of K serves four nodes. Advantage: 30 loads where `direct` has 84, and as many of K
 * as before for four nodes together. Price: registers, so fewer threads to hide the latency of
 * loads.
 */
#include "config.h"
#include "gfnn_net.cuh"

enum { TX = 32, TY = 8, THREADS = TX * TY };

/* Nodes of a thread: 3 M sums are kept for each. */
template <int M> static constexpr int nodes_of = M == GFNN_MAX_KERNELS ? 2 : 4;

template <int M, int ND>
__global__ void __launch_bounds__(THREADS, 2)
    unrolled(const __grid_constant__ gfnn_net_job_t job, const gfnn_tiling_t tiling)
{
    constexpr int B = nodes_of<M>, column = B + 2 * ND, W = 2 * ND + 1;
    constexpr int tap_floats = gfnn_tap_floats<M>;
    const int3 tile = gfnn_tile(tiling);
    const int i = tile.x * TX + threadIdx.x % TX, j = tile.y * TY + threadIdx.x / TX;
    const int k = tile.z * B;
    if (i >= job.n[0] || j >= job.n[1])
        return;
    /* Nodes above the box read what its last one reads; their results are dropped. */
    const int last = job.n[2] - 1 - k;
    int above[column];
#pragma unroll
    for (int e = 0; e < column; e++)
        above[e] = (e < last + 2 * ND ? e : last + 2 * ND) * job.wide.slab;
    const int at = job.bare.at(i, j, k);
    const auto coefficient = [&](int q, int n) {
        return job.coefficient(q, at + (n < last ? n : last) * job.bare.slab);
    };
    gfnn_sums_t<M, ND, B, 2> sums;
    sums.begin(coefficient);
#pragma unroll 1
    for (int dy = 0; dy < W; dy++)
#pragma unroll 1
        for (int dx = 0; dx < W; dx++) {
            const float *bottom = job.r + job.wide.at(i + dx - ND, j + dy - ND, k - ND);
            const float *K = job.taps + (dy * W + dx) * tap_floats;
            float r[3][column];
#pragma unroll
            for (int c = 0; c < 3; c++)
#pragma unroll
                for (int e = 0; e < column; e++)
                    r[c][e] = __ldg(bottom + c * job.wide.plane + above[e]);
            sums.line(dx - ND, dy - ND);
#pragma unroll
            for (int dz = 0; dz < W; dz++)
                sums.tap(K + dz * W * W * tap_floats, dz - ND,
                         [&](int c, int n) { return r[c][n + dz]; });
        }
    const int own = job.wide.at(i, j, k);
#pragma unroll
    for (int n = 0; n < B; n++) {
        float z[3];
        sums.end(coefficient, n, z);
#pragma unroll
        for (int c = 0; c < 3; c++)
            if (n <= last)
                job.z[c * job.wide.plane + own + n * job.wide.slab] = z[c];
    }
}

static void apply(const gfnn_view_t *view, const gfnn_network_t *network, const void *r, float *z)
{
    const gfnn_net_job_t job(view, network, r, z);
    gfnn_fixed_network(network->form, network->kernels, network->reach, [&](auto M, auto ND) {
        const gfnn_tiling_t tiling = gfnn_tiling(view->box->n, TX, TY, nodes_of<M()>);
        unrolled<M(), ND()><<<tiling.blocks(), THREADS, 0, rt_stream()>>>(job, tiling);
        RT_CUDA_LAUNCHED();
    });
}

static const gfnn_predictor_t predictor = {
    .apply = apply, .set_up = gfnn_taps_set_up, .tear_down = gfnn_taps_tear_down};
extern "C" const gfnn_kernels_t gfnn_net_unrolled = {
    .rung = {.precision = "FP32", .reproducible = true, .refuse = gfnn_refuse},
    .ladder = GFNN_LADDER_PREDICTOR,
    .predictor = {&predictor, nullptr},
};
