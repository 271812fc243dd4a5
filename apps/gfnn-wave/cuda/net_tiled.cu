/*
 * net_tiled.cu - the same sums as `unrolled`, r and K out of shared memory.
 *
 * A block has 32 x 4 x 8 nodes, four or eight above each other for a thread. It loads the tile and
 * three nodes more on every side, and all of K, once; then nothing but shared memory is read, in a
 * rhythm that does not depend on caches. For each (x, y) of the stencil a thread with four nodes
 * reads 30 values of r for 28 taps; K comes 16 bytes at a time, the same for all threads. Price:
 * the tile with its margins is five times the block's nodes, and nobody computes while it is loaded
 * but other blocks.
 */
#include "config.h"
#include "gfnn_net.cuh"

enum {
    TX = 32,
    TY = 4,
    TZ = 8,
    NX = TX + 2 * GFNN_ND,
    NY = TY + 2 * GFNN_ND,
    NZ = TZ + 2 * GFNN_ND,
    TILE = 3 * NX * NY * NZ
};

/* Nodes above each other of a thread; blocks at once on a multiprocessor. */
template <int M> struct shape_t {
    static constexpr int B = 4, threads = TX * TY * (TZ / B),
                         resident = M == GFNN_MAX_KERNELS ? 1 : 2;
};
template <> struct shape_t<0> {
    static constexpr int B = 8, threads = TX * TY * (TZ / B), resident = 3;
};

template <int M> static constexpr size_t shared_bytes()
{
    return sizeof(float) * (GFNN_STENCIL * gfnn_tap_floats<M> + TILE);
}

/* r of the tile [3][NZ][NY][NX] whose first own node is (i, j, k); 0 beyond the ghosts. */
template <int threads>
static __device__ __forceinline__ void load_tile(const gfnn_net_job_t &job, int i, int j, int k,
                                                 float *tile)
{
#pragma unroll 4
    for (int t = threadIdx.x; t < TILE; t += threads) {
        const int x = i - GFNN_ND + t % NX, y = j - GFNN_ND + t / NX % NY;
        const int z = k - GFNN_ND + t / (NX * NY) % NZ, c = t / (NX * NY * NZ);
        const bool there =
            x < job.n[0] + GFNN_ND && y < job.n[1] + GFNN_ND && z < job.n[2] + GFNN_ND;
        tile[t] = there ? __ldg(job.r + c * job.wide.plane + job.wide.at(x, y, z)) : 0;
    }
}

template <int M>
__global__ void __launch_bounds__(shape_t<M>::threads, shape_t<M>::resident)
    tiled(const __grid_constant__ gfnn_net_job_t job, const gfnn_tiling_t tiling)
{
    constexpr int B = shape_t<M>::B, column = B + 2 * GFNN_ND, threads = shape_t<M>::threads;
    constexpr int tap_floats = gfnn_tap_floats<M>, taps4 = GFNN_STENCIL * tap_floats / 4;
    extern __shared__ float4 memory[];
    float *taps = reinterpret_cast<float *>(memory), *tile = taps + GFNN_STENCIL * tap_floats;
    const int3 place = gfnn_tile(tiling);
    const int tx = threadIdx.x % TX, ty = threadIdx.x / TX % TY, tz = threadIdx.x / (TX * TY) * B;
    for (int t = threadIdx.x; t < taps4; t += threads)
        memory[t] = __ldg(reinterpret_cast<const float4 *>(job.taps) + t);
    load_tile<threads>(job, place.x * TX, place.y * TY, place.z * TZ, tile);
    __syncthreads();

    const int i = place.x * TX + tx, j = place.y * TY + ty, k = place.z * TZ + tz;
    const int last = i < job.n[0] && j < job.n[1] ? job.n[2] - 1 - k : -1;
    if (last < 0)
        return;
    const int at = job.bare.at(i, j, k);
    const auto coefficient = [&](int q, int n) {
        return job.coefficient(q, at + (n < last ? n : last) * job.bare.slab);
    };
    gfnn_sums_t<M, B, 2> sums;
    sums.begin(coefficient);
#pragma unroll 1
    for (int dy = 0; dy < GFNN_W; dy++)
#pragma unroll 1
        for (int dx = 0; dx < GFNN_W; dx++) {
            const float *bottom = tile + (tz * NY + ty + dy) * NX + tx + dx;
            const float *K = taps + (dy * GFNN_W + dx) * tap_floats;
            float r[3][column];
#pragma unroll
            for (int c = 0; c < 3; c++)
#pragma unroll
                for (int e = 0; e < column; e++)
                    r[c][e] = bottom[(c * NZ + e) * NX * NY];
            sums.line(dx - GFNN_ND, dy - GFNN_ND);
#pragma unroll
            for (int dz = 0; dz < GFNN_W; dz++)
                sums.tap(K + dz * GFNN_W * GFNN_W * tap_floats, dz - GFNN_ND,
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
    const gfnn_tiling_t tiling = gfnn_tiling(view->box->n, TX, TY, TZ);
    const gfnn_net_job_t job(view, network, r, z);
    gfnn_fixed_kernels(network->form, network->kernels, [&](auto M) {
        gfnn_allow_shared(tiled<M()>, shared_bytes<M()>());
        tiled<M()><<<tiling.blocks(), shape_t<M()>::threads, shared_bytes<M()>(), rt_stream()>>>(
            job, tiling);
        RT_CUDA_LAUNCHED();
    });
}

extern "C" const gfnn_predictor_t gfnn_predictor_tiled[GFNN_PRECISIONS] = {
    {apply, gfnn_taps_set_up, gfnn_taps_tear_down, gfnn_taps_memory, GFNN_FORMS_BOTH,
     1 << GFNN_FP32, true},
    {}};

extern "C" const gfnn_kernels_t gfnn_net_tiled = {GFNN_LADDER_PREDICTOR,
                                                  nullptr,
                                                  {&gfnn_predictor_tiled[GFNN_FP32], nullptr},
                                                  &gfnn_vectors_cuda};
