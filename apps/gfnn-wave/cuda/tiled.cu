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
 *
 * That is a reach of 3. A longer one goes up in steps of four layers, because rows and columns of r
 * are longer; K stays in global memory where the ring leaves no room for it.
 */
#include "config.h"
#include "gfnn_net.cuh"
#include "machine/async.cuh"

enum { TX = 32, BARRIER_BYTES = 16 };

/* Rows of a block, nodes above each other of a thread, and layers of a step. */
template <int M, int ND> struct shape_t {
    static constexpr bool usual = ND == GFNN_ND;
    static constexpr int TY = usual && M > 4 ? 4 : 8, B = usual && M <= 4 ? 8 : 4;
    static constexpr int STEP = usual ? 8 : 4;
    static constexpr int COLUMN = STEP + 2 * ND;             /* layers that a step needs */
    static constexpr int parts = (COLUMN + STEP - 1) / STEP; /* that a column spans */
    static constexpr int RING = (parts + 1) * STEP; /* COLUMN + STEP would suffice, but would need a
                                                       division */
    static constexpr int LEFT = (ND + 3) / 4 * 4;   /* nodes before a row's first: whole 16 bytes */
    static constexpr int PIECES = (LEFT + TX + ND + 3) / 4; /* 16 bytes of a row */
    static constexpr int NX = 4 * PIECES, NY = TY + 2 * ND, W = 2 * ND + 1;
    static constexpr int threads = TX * TY * (STEP / B);
    static constexpr int plane = NY * NX, layer = 3 * plane; /* values of a component, of all */
    static constexpr int taps = W * W * W * gfnn_tap_floats<M>, most = 227 * 1024;
    static constexpr bool shares_K = BARRIER_BYTES + 4 * (taps + RING * layer) <= most;
    static constexpr int shared_taps = shares_K ? taps : 0;
    static constexpr int shared_bytes = BARRIER_BYTES + 4 * (shared_taps + RING * layer);
    static_assert(shared_bytes <= most && taps % 4 == 0 && layer % 4 == 0, "fits, aligned");
    static_assert(parts <= 4 && (shares_K || !usual), "as nodes() has it");
};

struct tile_t {
    int i, j, k, top; /* its first own node; the layer above its last */
};

/* Requests layers [begin, end) above k - ND; number l goes to place l % RING. What is beyond
 * the ghosts comes as 0: no node of the box uses it. */
template <int M, int ND>
static __device__ __forceinline__ void bring(const gfnn_net_job_t &job, const tile_t &t, int begin,
                                             int end, float *ring, uint64_t *full)
{
    using H = shape_t<M, ND>;
    constexpr int pieces = 3 * H::NY * H::PIECES;
    const int rows = job.n[1] + 2 * ND - t.j, layers = job.n[2] + 2 * ND - t.k;
    const int values = job.n[0] + ND + H::LEFT - t.i;
    for (int p = threadIdx.x; p < (end - begin) * pieces; p += H::threads) {
        const int l = begin + p / pieces, c = p % pieces / (H::NY * H::PIECES);
        const int y = p % (H::NY * H::PIECES) / H::PIECES, x = 4 * (p % H::PIECES);
        const bool there = y < rows && l < layers && x < values;
        const float *from = job.r;
        if (there)
            from += c * job.wide.plane + job.wide.at(t.i - H::LEFT + x, t.j - ND + y, t.k - ND + l);
        rt_copy16_part(ring + l % H::RING * H::layer + c * H::plane + y * H::NX + x, from,
                       there ? 16 : 0);
    }
    rt_copies_arrive(full);
}

/* Computes z of a thread's nodes, from layer k on. p0: where in the ring this step's first STEP
 * layers are, for the thread's (x - ND, y - ND); p1, p2, p3: the next ones, as far as the column
 * goes. */
template <int M, int ND>
static __device__ __forceinline__ void nodes(const gfnn_net_job_t &job, int i, int j, int k,
                                             int group, const float *p0, const float *p1,
                                             const float *p2, const float *p3, const float *taps)
{
    using H = shape_t<M, ND>;
    constexpr int B = H::B, column = B + 2 * ND;
    const int last = i < job.n[0] && j < job.n[1] ? job.n[2] - 1 - k : -1;
    if (last < 0)
        return;
    gfnn_nodes<M, ND, B>(job, i, j, k, last, taps, [=](int dx, int dy, float(&r)[3][column]) {
#pragma unroll
        for (int e = 0; e < column; e++) {
            const int l = group * B + e;
            const float *layer = (l < H::STEP                        ? p0 + l * H::layer
                                  : l < 2 * H::STEP || H::parts == 2 ? p1 + (l - H::STEP) * H::layer
                                  : l < 3 * H::STEP ? p2 + (l - 2 * H::STEP) * H::layer
                                                    : p3 + (l - 3 * H::STEP) * H::layer) +
                                 dy * H::NX + dx;
#pragma unroll
            for (int c = 0; c < 3; c++)
                r[c][e] = layer[c * H::plane];
        }
    });
}

template <int M, int ND>
__global__ void __launch_bounds__(shape_t<M, ND>::threads, 1)
    tiled(const __grid_constant__ gfnn_net_job_t job, const gfnn_tiling_t tiling, int depth)
{
    using H = shape_t<M, ND>;
    extern __shared__ __align__(16) unsigned char shared[];
    uint64_t *full = reinterpret_cast<uint64_t *>(shared);
    float *taps = reinterpret_cast<float *>(shared + BARRIER_BYTES), *ring = taps + H::shared_taps;
    const int3 place = gfnn_tile(tiling);
    const tile_t tile = {place.x * TX, place.y * H::TY, place.z * depth,
                         min(job.n[2], (place.z + 1) * depth)};
    const int tx = threadIdx.x % TX, ty = threadIdx.x / TX % H::TY,
              group = threadIdx.x / (TX * H::TY);
    if (threadIdx.x == 0)
        rt_barrier_init(full, H::threads);
    __syncthreads();
    for (int t = 4 * threadIdx.x; t < H::shared_taps; t += 4 * H::threads)
        rt_copy16(taps + t, job.taps + t);
    bring<M, ND>(job, tile, 0, H::COLUMN, ring, full);

    const float *K = H::shares_K ? taps : job.taps;
    const float *mine = ring + ty * H::NX + tx + H::LEFT - ND;
#pragma unroll 1
    for (int s = 0; tile.k + s * H::STEP < tile.top; s++) {
        rt_barrier_wait(full, s % 2);
        __syncthreads(); /* no thread reads the step before any more: there is room */
        const int next = (s + 1) * H::STEP;
        if (tile.k + next < tile.top)
            bring<M, ND>(job, tile, next + 2 * ND, next + H::COLUMN, ring, full);
        const auto begin = [&](int p) { return mine + p % (H::parts + 1) * H::STEP * H::layer; };
        nodes<M, ND>(job, tile.i + tx, tile.j + ty, tile.k + s * H::STEP + group * H::B, group,
                     begin(s), begin(s + 1), begin(s + 2), begin(s + 3), K);
    }
}

static void apply(const gfnn_view_t *view, const gfnn_network_t *network, const void *r, float *z)
{
    const gfnn_net_job_t job = gfnn_taps_job(view, network, r, z);
    gfnn_fixed_network(network->form, network->kernels, network->reach, [&](auto M, auto ND) {
        using H = shape_t<M(), ND()>;
        const int64_t *n = view->box->n;
        const int depth = gfnn_depth(n, TX, H::TY, H::STEP, 1);
        const gfnn_tiling_t tiling = gfnn_tiling(n, TX, H::TY, depth);
        gfnn_allow_shared(tiled<M(), ND()>, H::shared_bytes);
        tiled<M(), ND()>
            <<<tiling.blocks(), H::threads, H::shared_bytes, rt_stream()>>>(job, tiling, depth);
        RT_CUDA_LAUNCHED();
    });
}

extern "C" const gfnn_predictor_t gfnn_predictor_tiled = {
    .apply = apply, .set_up = gfnn_taps_set_up, .tear_down = gfnn_taps_tear_down};
GFNN_READS_TAPS(gfnn_net_tiled, gfnn_predictor_tiled);
