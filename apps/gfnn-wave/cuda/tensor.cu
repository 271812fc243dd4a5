/*
 * tensor.cu - z = P r as a matrix product on tensor cores: FP16 r and K, FP32 sums.
 *
 * Row n of A is what node n reads: 7 x 7 x 7 nodes, 3 components. Column (i, m) of B is K_m[i]. A
 * is never stored: its rows are overlapping windows of a row of r, so the fragments of A for
 * mma.sync are read from r itself. A fragment is words of two neighbouring nodes, and which word a
 * lane takes is free, as long as B has its rows in the same order. Every value is used often:
 *   - S nodes that are neighbours in x share a row of A, a window of S + 6 nodes, and have columns
 *     of their own, shifted in B: 24 columns per line (48 for eight kernels), where 3 M are few;
 *   - a fragment serves the seven dy of B, all in registers, for the 4 or 8 lines of output that a
 *     warp also has in registers;
 *   - planes of r go through a ring in shared memory, two or four outputs' planes at a time.
 * Advantage: ten times the rate of FP32, for 1.2 to 1.5 times the operations (windows have zeros in
 * B). Price: 16 bits; registers and shared memory (213 KB for two kernels) allow one block per
 * multiprocessor.
 *
 * The tensor cores do not wait, for three reasons. The fragment of the next line is loaded during
 * this one. B of the next step is loaded during this step, because b[dy] is used for the last time
 * before the last lines begin: no more registers are needed than for one step. Planes are requested
 * in the middle of a warp's work, and warps synchronise only where one needs what another has to
 * make room for: so one of the two that share a tensor core writes z while the other multiplies.
 *
 * gf8 is linear in its eight coefficients, so it is a network of eight kernels, of which four have
 * i = j only and four the rest. Its lines are separate by component: component j uses the columns
 * of i = j of the first and of i != j of the others, 24 of 48. That halves the work, to the cost of
 * four kernels.
 *
 * K is scaled to a maximum of 1 before it is rounded, and the coefficients take the scale back.
 */
#include "config.h"
#include <cstring>
#include "tensor_columns.cuh"

/* --- the product --- */

struct job_t {
    gfnn_lines_t wide, bare;
    gfnn_tiling_t tiling;
    int n[3], depth; /* planes of a block */
    bool wraps;      /* r has no ghosts in y and z */
    int coefs;
    const uint4 *B;
    const __half *r;
    const float *coef;
    void *z;
    float scale[GFNN_MAX_COEF];
};

/* d += A B: 16 x 8 += 16 x 16 times 16 x 8. With g = lane / 4 and t = lane % 4 a lane has of A
 * (g, 2t), (g + 8, 2t), (g, 2t + 8), (g + 8, 2t + 8) and the value after each; of B (2t, g) and
 * (2t + 8, g) and the value below each; of d (g, 2t), (g, 2t + 1), (g + 8, 2t), (g + 8, 2t + 1). */
static __device__ __forceinline__ void mma(float (&d)[4], const unsigned (&a)[4], uint2 b)
{
    asm("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3},{%4,%5,%6,%7},{%8,%9},"
        "{%0,%1,%2,%3};"
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b.x), "r"(b.y));
}

/* Where in shared memory this lane's words of a step's two chunks begin. */
struct windows_t {
    const unsigned *low, *high;
};

/* Returns the word of this lane for a chunk of a line, from the beginning of its window. */
template <int M> static __device__ __forceinline__ int lane_word(int chunk, int line)
{
    using H = shape_t<M>;
    const word_t w = word_at<M>(chunk, threadIdx.x % 4);
    return H::begin(H::gf8 ? line : w.component) + w.word;
}

/* Returns the windows of step `step` of all lines; first: the ring's slot of the warp's lowest
 * plane. */
template <int M>
static __device__ __forceinline__ windows_t windows_of(const unsigned *ring, int first, int step)
{
    using H = shape_t<M>;
    const int line = step / H::steps, chunk = step % H::steps * 2;
    const int next = chunk + 1 < H::all_chunks ? chunk + 1 : chunk; /* B is 0 there */
    const auto at = [&](int c) {
        int slot = first + c / H::chunks;
        slot -= slot >= H::ring ? H::ring : 0;
        return ring + slot * H::plane_words + lane_word<M>(c % H::chunks, line);
    };
    return {at(chunk), at(next)};
}

template <int M>
static __device__ __forceinline__ void load_A(const windows_t &w, int row, unsigned (&a)[4])
{
    using H = shape_t<M>;
    const int at = row * H::row_words, below = at + 8 * H::window_words;
    a[0] = w.low[at];
    a[1] = w.low[below];
    a[2] = w.high[at];
    a[3] = w.high[below];
}

template <int M> struct sums_t {
    float d[shape_t<M>::rows][shape_t<M>::tiles][4];
};
template <int M> struct columns_t {
    uint2 b[GFNN_W][shape_t<M>::line_tiles];
};

/* Does one step of a line: all lines of r, each for the outputs that use it. a is the first
 * fragment; on return a and B are those of the next step. */
template <int M, int line>
static __device__ __forceinline__ void step(sums_t<M> &sum, columns_t<M> &B, unsigned (&a)[4],
                                            const windows_t &here, const windows_t &next,
                                            const uint2 *next_B)
{
    using H = shape_t<M>;
#pragma unroll
    for (int y = 0; y < H::rows + 6; y++) {
        unsigned ahead[4];
        if (y + 1 < H::rows + 6)
            load_A<M>(here, y + 1, ahead);
        else
            load_A<M>(next, 0, ahead);
#pragma unroll
        for (int dy = 0; dy < GFNN_W; dy++)
            if (dy <= y && y - dy < H::rows)
#pragma unroll
                for (int t = 0; t < H::line_tiles; t++)
                    mma(sum.d[y - dy][tile_of<M>(line, t)], a, B.b[dy][t]);
        if (y >= H::rows - 1) {
            constexpr int used_up = H::rows - 1;
#pragma unroll
            for (int t = 0; t < H::line_tiles; t++)
                B.b[y - used_up][t] = next_B[((y - used_up) * H::line_tiles + t) * 32];
        }
#pragma unroll
        for (int e = 0; e < 4; e++)
            a[e] = ahead[e];
    }
}

/* Does the steps of lines `line` and after; calls half_way() once. */
template <int M, int line, class HalfWay>
static __device__ __forceinline__ void all_steps(sums_t<M> &sum, columns_t<M> &B, unsigned (&a)[4],
                                                 const unsigned *ring, int first,
                                                 const uint2 *own_B, HalfWay half_way)
{
    using H = shape_t<M>;
#pragma unroll 1
    for (int s = line * H::steps; s < (line + 1) * H::steps; s++) {
        const int next = s + 1 < H::lines * H::steps ? s + 1 : 0;
        if (line == H::lines / 2 && s == H::lines * H::steps / 2)
            half_way();
        step<M, line>(sum, B, a, windows_of<M>(ring, first, s), windows_of<M>(ring, first, next),
                      own_B + next * H::step_pairs);
    }
    if constexpr (line + 1 < H::lines)
        all_steps<M, line + 1>(sum, B, a, ring, first, own_B, half_way);
}

/* --- outputs --- */

/* Returns node number n of a lane, counted from its first. */
template <int M> static __device__ __forceinline__ int node_at(int n)
{
    using H = shape_t<M>;
    return n / H::fold * 8 * H::S + n % H::fold;
}

/* What a lane needs for its outputs: for its first plane and row, the first node that it has a
 * part of, and where z goes. The sums of a node are in `spread` lanes; each stores one node in
 * `spread`. */
template <int M, class Z> struct outputs_t {
    using H = shape_t<M>;
    const float *coef[H::parts][2];
    float scale[H::parts][2];
    bool inside[H::nodes], stores[H::nodes / H::spread];
    Z *z;

    __device__ __forceinline__ outputs_t(const job_t &job, int x0, int j, int k)
    {
        const int g = threadIdx.x % 32 / 4, t = threadIdx.x % 4, share = t % H::spread;
        const int i = x0 + H::S * g + (H::fold == 1 ? t / H::spread : 0);
#pragma unroll
        for (int u = 0; u < H::parts; u++)
#pragma unroll
            for (int e = 0; e < 2; e++) { /* a kernel that only pads M has scale 0 */
                const int q = 2 * share + e + 4 * u, there = q < job.coefs ? q : job.coefs - 1;
                coef[u][e] = job.coef + there * job.bare.plane + job.bare.at(i, j, k);
                scale[u][e] = job.scale[q];
            }
#pragma unroll
        for (int n = 0; n < H::nodes; n++)
            inside[n] = i + node_at<M>(n) < job.n[0];
        const int own = H::spread == 1 ? 0 : node_at<M>(share);
        z = static_cast<Z *>(job.z) + job.wide.at(i + own, j, k);
#pragma unroll
        for (int n = 0; n < H::nodes / H::spread; n++)
            stores[n] = i + own + node_at<M>(n) < job.n[0];
    }
};

/* Sums v[n] over the lanes that share a node; the sum for n = share is in v[0]. Each lane gives
 * half of its values to the other, again and again. */
template <int spread, int nodes> static __device__ __forceinline__ void add_lanes(float (&v)[nodes])
{
#pragma unroll
    for (int half = spread / 2; half > 0; half /= 2) {
        const bool upper = threadIdx.x & half;
#pragma unroll
        for (int n = 0; n < half; n++) {
            const float given = upper ? v[n] : v[n + half], kept = upper ? v[n + half] : v[n];
            v[n] = kept + __shfl_xor_sync(0xffffffffu, given, half);
        }
    }
}

/* z = sums, one per kernel, times coefficients, which are all loaded at once. */
template <int M, class Z>
static __device__ __forceinline__ void store(const job_t &job, const outputs_t<M, Z> &out,
                                             const sums_t<M> &sum, int rows, int plane)
{
    using H = shape_t<M>;
    float c[H::rows][H::nodes][2 * H::parts];
    Z *to[3];
#pragma unroll
    for (int e = 0; e < 2 * H::parts; e++) {
        const float *from = out.coef[e / 2][e % 2] + plane * job.bare.slab;
#pragma unroll
        for (int row = 0; row < H::rows; row++, from += job.bare.pitch)
#pragma unroll
            for (int n = 0; n < H::nodes; n++)
                c[row][n][e] = row < rows && out.inside[n] ? __ldg(from + node_at<M>(n)) : 0;
    }
#pragma unroll
    for (int w = 0; w < 3; w++)
        to[w] = out.z + w * job.wide.plane + plane * job.wide.slab;
#pragma unroll
    for (int row = 0; row < H::rows; row++)
#pragma unroll
        for (int w = 0; w < 3; w++) {
            float z[H::nodes];
#pragma unroll
            for (int n = 0; n < H::nodes; n++) {
                z[n] = 0;
#pragma unroll
                for (int e = 0; e < 2 * H::parts; e++) {
                    const int tile = H::tiles / 3 * w + (H::gf8 ? e / 2 : n % H::fold);
                    z[n] += out.scale[e / 2][e % 2] * c[row][n][e] *
                            sum.d[row][tile][n / H::fold * 2 + e % 2];
                }
            }
            add_lanes<H::spread>(z);
#pragma unroll
            for (int n = 0; n < H::nodes / H::spread; n++)
                if (row < rows && out.stores[n])
                    to[w][node_at<M>(n)] = static_cast<Z>(z[n]);
            to[w] += job.wide.pitch;
        }
}

/* A block, in shared memory. Steps in z are of warps_z planes. full[s % 2]: the planes of step s
 * have arrived; done[s % 2]: planes that only steps up to s need are not read any more. */
template <int M> struct block_t {
    using H = shape_t<M>;
    uint64_t *full, *done, *has_B;
    uint4 *B;
    unsigned *ring;
    int x0, y0, z0, depth;

    __device__ __forceinline__ block_t(const job_t &job, void *shared)
        : full(static_cast<uint64_t *>(shared)), done(full + 2), has_B(full + 4),
          B(reinterpret_cast<uint4 *>(full + BARRIER_BYTES / 8)),
          ring(reinterpret_cast<unsigned *>(B + H::b_bytes / 16))
    {
        const int3 tile = gfnn_tile(job.tiling);
        x0 = tile.x * H::width;
        y0 = tile.y * H::height;
        z0 = tile.z * job.depth;
        depth = min(job.depth, job.n[2] - z0);
    }
};

/* A thread's part of the copies of planes, of which number 0 is three below the block's own: a
 * place in every eighth row, or sixteenth. Beyond the ghosts it writes zeros: these positions are
 * in windows of nodes of the box, where B is 0, but NaN would get through. */
template <int M> struct bring_t {
    using H = shape_t<M>;
    static constexpr int pieces = 3 * H::pieces, at_once = 32 / pieces;
    const __half *from;
    unsigned *to;
    int first_row, rows, j, k; /* j, k: of row 0 of plane 0 */
    unsigned bytes;

    __device__ __forceinline__ bring_t(const job_t &job, const block_t<M> &b)
    {
        const int lane = threadIdx.x % 32, c = lane % pieces / H::pieces, piece = lane % H::pieces;
        const int there = job.n[0] + 2 * GFNN_ND - b.x0 - 8 * piece;
        bytes = 2 * max(0, min(8, there));
        j = b.y0 - GFNN_ND;
        k = b.z0 - GFNN_ND;
        from = job.r + c * job.wide.plane + job.wide.at(b.x0 - GFNN_ND, 0, 0) +
               (there > 0 ? 8 * piece : 0);
        to = b.ring + H::begin(c) + piece * 4;
        first_row = threadIdx.x / 32 * at_once + lane / pieces;
        rows = lane < at_once * pieces ? job.n[1] + 2 * GFNN_ND - b.y0 : 0;
    }
    /* Requests those that step s is the first to need. */
    __device__ __forceinline__ void planes(const job_t &job, const block_t<M> &b, int s) const
    {
        const int begin = s > 0 ? s * H::warps_z + 6 : 0;
        const int count = min((s + 1) * H::warps_z, b.depth) + 6 - begin;
        for (int r = first_row; r < count * H::ring_rows; r += WARPS * at_once) {
            const int plane = begin + r / H::ring_rows, row = r % H::ring_rows;
            const int y = job.wraps ? gfnn_wrapped(j + row, job.n[1]) : j + row;
            const int z = job.wraps ? gfnn_wrapped(k + plane, job.n[2]) : k + plane;
            if (row < rows)
                rt_copy16_part(to + plane % H::ring * H::plane_words + row * H::row_words,
                               from + z * job.wide.slab + y * job.wide.pitch, bytes);
        }
        rt_copies_arrive(b.full + s % 2);
    }
};

/* Z: float or __half. */
template <int M, class Z>
__global__ void __launch_bounds__(THREADS, 1) multiply(const __grid_constant__ job_t job)
{
    using H = shape_t<M>;
    extern __shared__ __align__(128) unsigned char shared[];
    const block_t<M> block(job, shared);
    const bring_t<M> bring(job, block);
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    const int wy = warp % H::warps_y, wz = warp / H::warps_y, j = block.y0 + wy * H::rows;
    if (threadIdx.x == 0) {
        for (int b = 0; b < 2; b++) {
            rt_barrier_init(block.full + b, THREADS);
            rt_barrier_init(block.done + b, WARPS);
        }
        rt_barrier_init(block.has_B, THREADS);
    }
    __syncthreads();
    bring.planes(job, block, 0);
    for (int e = threadIdx.x; e < H::b_bytes / 16; e += THREADS)
        rt_copy16(block.B + e, job.B + e);
    rt_copies_arrive(block.has_B);

    const uint2 *own_B = reinterpret_cast<const uint2 *>(block.B) + lane;
    const unsigned *own_ring =
        block.ring + wy * H::rows * H::row_words + lane / 4 * H::window_words;
    const outputs_t<M, Z> out(job, block.x0, j, block.z0 + wz);
    rt_barrier_wait(block.has_B, 0);
#pragma unroll 1
    for (int s = 0; s * H::warps_z < block.depth; s++) {
        const int z = s * H::warps_z, first = (z + wz) % H::ring;
        const bool has = z + wz < block.depth && j < job.n[1];
        const auto send_for_more = [&] {
            if (z + H::warps_z >= block.depth)
                return;
            if (s > 0)
                rt_barrier_wait(block.done + (s - 1) % 2, (s - 1) / 2 & 1);
            bring.planes(job, block, s + 1);
        };
        sums_t<M> sum;
        rt_barrier_wait(block.full + s % 2, s / 2 & 1);
        if (has) {
            columns_t<M> B;
            unsigned a[4];
#pragma unroll
            for (int e = 0; e < H::rows * H::tiles * 4; e++)
                sum.d[e / (H::tiles * 4)][e / 4 % H::tiles][e % 4] = 0;
#pragma unroll
            for (int e = 0; e < GFNN_W * H::line_tiles; e++)
                B.b[e / H::line_tiles][e % H::line_tiles] = own_B[e * 32];
            load_A<M>(windows_of<M>(own_ring, first, 0), 0, a);
            all_steps<M, 0>(sum, B, a, own_ring, first, own_B, send_for_more);
        } else {
            send_for_more();
        }
        __syncwarp();
        if (lane == 0)
            rt_barrier_arrive(block.done + s % 2);
        if (has)
            store<M>(job, out, sum, job.n[1] - j, z);
    }
}

template <int M, class Z>
static void run(const gfnn_view_t *view, const gfnn_network_t *network, const __half *r, void *z)
{
    using H = shape_t<M>;
    const data_t *data = static_cast<const data_t *>(view->data);
    const gfnn_box_t *box = view->box;
    const int n[3] = {static_cast<int>(box->n[0]), static_cast<int>(box->n[1]),
                      static_cast<int>(box->n[2])};
    /* A block waits for B and its first planes for about the time of three plane steps. */
    const int depth = gfnn_depth(box->n, H::width, H::height, H::warps_z, 3);
    job_t job = {gfnn_lines_t(box->wide),
                 gfnn_lines_t(box->bare),
                 gfnn_tiling(box->n, H::width, H::height, depth),
                 {n[0], n[1], n[2]},
                 depth,
                 gfnn_low_wraps(view),
                 network->coefs,
                 data->B,
                 r,
                 network->c,
                 z,
                 {}};
    memcpy(job.scale, data->scale, sizeof job.scale);
    gfnn_allow_shared(multiply<M, Z>, H::shared_bytes);
    multiply<M, Z><<<job.tiling.blocks(), THREADS, H::shared_bytes, rt_stream()>>>(job);
    RT_CUDA_LAUNCHED();
}

/* z: floats, or 16 bits that are a __half. */
template <class Z, class Given>
static void apply(const gfnn_view_t *view, const gfnn_network_t *network, const void *r, Given *z)
{
    gfnn_fixed_kernels(network->form, network->kernels, [&](auto M) {
        run<M(), Z>(view, network, static_cast<const __half *>(r), z);
    });
}

static void set_up(gfnn_view_t *view, const gfnn_network_t *network)
{
    data_t *data = RT_NEW(data_t, 1, RT_HOST);
    for (int q = 0; q < GFNN_MAX_COEF; q++)
        data->scale[q] = largest(network, q);
    gfnn_fixed_kernels(network->form, network->kernels, [&](auto M) {
        constexpr size_t bytes = shape_t<M()>::b_bytes;
        __half *B = RT_NEW(__half, bytes / sizeof(__half), RT_HOST);
        make_B<M()>(network, data->scale, B);
        data->B = static_cast<uint4 *>(rt_clone(B, bytes, 1, RT_DEVICE));
        RT_FREE(B, RT_HOST);
    });
    view->data = data;
}

static void tear_down(gfnn_view_t *view)
{
    data_t *data = static_cast<data_t *>(view->data);
    if (!data)
        return;
    RT_FREE(data->B, RT_DEVICE);
    RT_FREE(view->data, RT_HOST);
}

extern "C" const gfnn_predictor_t gfnn_predictor_tensor = {
    .apply = apply<float, float>,
    .apply_low = apply<__half, uint16_t>,
    .wraps = gfnn_low_wraps,
    .set_up = set_up,
    .tear_down = tear_down,
    .only_usual = "K and the planes of r for tensor cores exceed shared memory"};
extern "C" const gfnn_kernels_t gfnn_net_tensor = {
    .rung = {.precision = "FP16, FP32 sums", .reproducible = true, .refuse = gfnn_refuse},
    .ladder = GFNN_LADDER_PREDICTOR,
    .predictor = {nullptr, &gfnn_predictor_tensor},
};
