/*
 * tiled.cu - the same sums as `unrolled`, with r and K from shared memory.
 *
 * A block walks up through a column of 32 x 8 nodes (32 x 4 where K of eight kernels takes the
 * room), eight layers at a time; a thread has four or eight of them above each other. Shared memory
 * has all of K, and a ring of 24 layers of r: the 14 that the sums need, and the eight more that
 * the next step needs, which arrive while this one computes. So after a column's start threads wait
 * for shared memory only, in a rhythm that does not depend on caches. For each (x, y) of the
 * stencil a thread with eight nodes reads 42 values of r for 56 taps; K comes 16 bytes at a time,
 * the same for all threads. Price: one block fills a multiprocessor, and nothing hides its start.
 */
#include "config.h"
#include "gfnn_net.cuh"
#include "machine/async.cuh"

enum {
    TX = 32,
    STEP = 8,                    /* layers */
    COLUMN = STEP + 2 * GFNN_ND, /* that a step needs */
    RING = 3 * STEP, /* layers; COLUMN + STEP would suffice, but would need a division */
    LEFT = 4,        /* nodes before a row's first: GFNN_ND and up to 16 bytes */
    PIECES = (LEFT + TX + GFNN_ND + 3) / 4, /* 16 bytes of a row */
    NX = 4 * PIECES,
    BARRIER_BYTES = 16
};

/* Rows of a block, and nodes above each other of a thread. */
template <int M> struct shape_t {
    static constexpr int TY = M <= 4 ? 8 : 4, B = M <= 4 ? 8 : 4;
    static constexpr int threads = TX * TY * (STEP / B), NY = TY + 2 * GFNN_ND;
    static constexpr int plane = NY * NX, layer = 3 * plane; /* values of a component, of all */
    static constexpr int taps = GFNN_STENCIL * gfnn_tap_floats<M>;
    static constexpr int shared_bytes = BARRIER_BYTES + 4 * (taps + RING * layer);
    static_assert(shared_bytes <= 227 * 1024 && taps % 4 == 0 && layer % 4 == 0, "fits, aligned");
};

struct tile_t {
    int i, j, k, top; /* its first own node; the layer above its last */
};

/* Requests layers [begin, end) above k - GFNN_ND; number l goes to place l % RING. What is beyond
 * the ghosts comes as 0: no node of the box uses it. */
template <int M>
static __device__ __forceinline__ void bring(const gfnn_net_job_t &job, const tile_t &t, int begin,
                                             int end, float *ring, uint64_t *full)
{
    using H = shape_t<M>;
    constexpr int pieces = 3 * H::NY * PIECES;
    const int rows = job.n[1] + 2 * GFNN_ND - t.j, layers = job.n[2] + 2 * GFNN_ND - t.k;
    const int values = job.n[0] + GFNN_ND + LEFT - t.i;
    for (int p = threadIdx.x; p < (end - begin) * pieces; p += H::threads) {
        const int l = begin + p / pieces, c = p % pieces / (H::NY * PIECES);
        const int y = p % (H::NY * PIECES) / PIECES, x = 4 * (p % PIECES);
        const bool there = y < rows && l < layers && x < values;
        const float *from = job.r;
        if (there)
            from += c * job.wide.plane +
                    job.wide.at(t.i - LEFT + x, t.j - GFNN_ND + y, t.k - GFNN_ND + l);
        rt_copy16_part(ring + l % RING * H::layer + c * H::plane + y * NX + x, from,
                       there ? 16 : 0);
    }
    rt_copies_arrive(full);
}

/* Computes z of a thread's nodes, from layer k on. low, high: where in the ring this step's first
 * eight layers are, and the next ones, for the thread's (x - GFNN_ND, y - GFNN_ND). */
template <int M>
static __device__ __forceinline__ void nodes(const gfnn_net_job_t &job, int i, int j, int k,
                                             int group, const float *low, const float *high,
                                             const float *taps)
{
    using H = shape_t<M>;
    constexpr int B = H::B, column = B + 2 * GFNN_ND, tap_floats = gfnn_tap_floats<M>;
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
            const float *K = taps + (dy * GFNN_W + dx) * tap_floats;
            float r[3][column];
#pragma unroll
            for (int e = 0; e < column; e++) {
                const int l = group * B + e;
                const float *layer =
                    (l < STEP ? low + l * H::layer : high + (l - STEP) * H::layer) + dy * NX + dx;
#pragma unroll
                for (int c = 0; c < 3; c++)
                    r[c][e] = layer[c * H::plane];
            }
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

template <int M>
__global__ void __launch_bounds__(shape_t<M>::threads, 1)
    tiled(const __grid_constant__ gfnn_net_job_t job, const gfnn_tiling_t tiling, int depth)
{
    using H = shape_t<M>;
    extern __shared__ __align__(16) unsigned char shared[];
    uint64_t *full = reinterpret_cast<uint64_t *>(shared);
    float *taps = reinterpret_cast<float *>(shared + BARRIER_BYTES), *ring = taps + H::taps;
    const int3 place = gfnn_tile(tiling);
    const tile_t tile = {place.x * TX, place.y * H::TY, place.z * depth,
                         min(job.n[2], (place.z + 1) * depth)};
    const int tx = threadIdx.x % TX, ty = threadIdx.x / TX % H::TY,
              group = threadIdx.x / (TX * H::TY);
    if (threadIdx.x == 0)
        rt_barrier_init(full, H::threads);
    __syncthreads();
    for (int t = 4 * threadIdx.x; t < H::taps; t += 4 * H::threads)
        rt_copy16(taps + t, job.taps + t);
    bring<M>(job, tile, 0, COLUMN, ring, full);

    const float *mine = ring + ty * NX + tx + LEFT - GFNN_ND;
#pragma unroll 1
    for (int s = 0; tile.k + s * STEP < tile.top; s++) {
        rt_barrier_wait(full, s % 2);
        __syncthreads(); /* no thread reads the step before any more: there is room */
        const int next = (s + 1) * STEP;
        if (tile.k + next < tile.top)
            bring<M>(job, tile, next + 2 * GFNN_ND, next + COLUMN, ring, full);
        nodes<M>(job, tile.i + tx, tile.j + ty, tile.k + s * STEP + group * H::B, group,
                 mine + s % 3 * STEP * H::layer, mine + next / STEP % 3 * STEP * H::layer, taps);
    }
}

static void apply(const gfnn_view_t *view, const gfnn_network_t *network, const void *r, float *z)
{
    const gfnn_net_job_t job(view, network, r, z);
    gfnn_fixed_kernels(network->form, network->kernels, [&](auto M) {
        using H = shape_t<M()>;
        const int64_t *n = view->box->n;
        const int depth = gfnn_depth(n, TX, H::TY, STEP, 1, gfnn_multiprocessors());
        const gfnn_tiling_t tiling = gfnn_tiling(n, TX, H::TY, depth);
        gfnn_allow_shared(tiled<M()>, H::shared_bytes);
        tiled<M()>
            <<<tiling.blocks(), H::threads, H::shared_bytes, rt_stream()>>>(job, tiling, depth);
        RT_CUDA_LAUNCHED();
    });
}

extern "C" const gfnn_predictor_t gfnn_predictor_tiled = {.apply = apply,
                                                          .set_up = gfnn_taps_set_up,
                                                          .tear_down = gfnn_taps_tear_down,
                                                          .memory = gfnn_taps_memory};
extern "C" const gfnn_kernels_t gfnn_net_tiled = {
    .rung = {.precision = "FP32", .reproducible = true, .refuse = gfnn_refuse},
    .ladder = GFNN_LADDER_PREDICTOR,
    .predictor = {&gfnn_predictor_tiled, nullptr},
};
