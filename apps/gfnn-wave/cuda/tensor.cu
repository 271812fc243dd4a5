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
#include <cmath>
#include <cstring>
#include <cuda_fp16.h>
#include "gfnn_net.cuh"

enum { WARPS = 8, THREADS = 32 * WARPS, BARRIER_BYTES = 64 };

/* M = 0: gf8. */
template <int M> struct shape_t {
    static constexpr bool gf8 = M == 0;
    static constexpr int S = M == 2 ? 4 : 2;
    /* A line uses the same columns: it has all components, for gf8 one. */
    static constexpr int lines = gf8 ? 3 : 1;
    /* Tiles of 8 columns; the tiles a line contributes to. */
    static constexpr int tiles = gf8 || M == 8 ? 6 : 3, line_tiles = gf8 ? 3 : tiles;
    /* Lanes over which the columns of a node in a tile are spread, two each; nodes of a tile. */
    static constexpr int spread = M == 2 ? 1 : M == 8 ? 4 : 2, tile_nodes = 4 / spread;
    /* Nodes of a row of A that differ by tile, not within a tile. */
    static constexpr int fold = S / tile_nodes;
    /* Nodes that a lane has a part of. */
    static constexpr int nodes = 2 * fold;
    /* Pairs of coefficients per lane that the tiles of an i are for. */
    static constexpr int parts = gf8 ? 2 : 1;
    static constexpr int rows = tiles == 6 ? 4 : 8; /* of output, of a warp */
    static constexpr int warps_y = tiles == 6 ? 4 : 2, warps_z = WARPS / warps_y;
    static constexpr int width = 16 * S, height = rows * warps_y; /* nodes of a block */

    /* A window of S + 6 nodes and the components of a line, in chunks of 4 words, which is 8
     * values. A step takes two chunks, possibly of two planes. */
    static constexpr int chunks = gf8 ? 1 : M == 2 ? 4 : 3, all_chunks = GFNN_W * chunks;
    static constexpr int steps = (all_chunks + 1) / 2;

    /* Distances in shared memory, in words: from window to window; from row to row of nodes; where
     * in a row the components begin. */
    static constexpr int window_words = S / 2;
    static constexpr int pieces = (width + 6 + 7) / 8; /* of 16 bytes, of a component */
    static constexpr int row_words = M == 2 ? 116 : 60;
    static __host__ __device__ constexpr int begin(int component)
    {
        return M != 2 ? 20 * component : component == 0 ? 0 : component == 1 ? 80 : 36;
    }
    static constexpr int ring_rows = height + 6, plane_words = ring_rows * row_words;
    static constexpr int ring = 2 * warps_z + 6;                /* planes */
    static constexpr int step_pairs = GFNN_W * line_tiles * 32; /* of B: uint2 */
    static constexpr int b_bytes = lines * steps * step_pairs * 8;
    static constexpr int shared_bytes = BARRIER_BYTES + b_bytes + ring * plane_words * 4;
    static_assert(shared_bytes <= 227 * 1024 && b_bytes % 16 == 0 && row_words % 4 == 0, "fits");
    static_assert(M == 2 ? pieces == 9 : pieces == 5, "components do not overlap");
};

/* Which word of a window lane t of a quarter warp takes for a chunk, and of which component. The
 * words of eight windows, which a warp loads together, must be in different banks or be the same
 * word. With 2 words from window to window (M = 2, 5 words per component) words w and w + 1 of all
 * windows fill banks w .. w + 15: two components whose beginnings are 16 banks apart go together.
 * The fourth word of the last chunk is not in the window: B is 0 there. */
struct word_t {
    int component, word;
    bool none;
};
template <int M> static __host__ __device__ constexpr word_t word_at(int chunk, int t)
{
    if (M == 0)
        return {0, t, false};
    if (M != 2)
        return {chunk, t, false};
    return chunk == 3   ? word_t{t < 3 ? t : 2, t < 3 ? 4 : 3, t == 3}
           : chunk == 2 ? word_t{2, t, false}
                        : word_t{t / 2, 2 * chunk + t % 2, false};
}

/* Calls f(std::integral_constant<int, M>()); M = 1 runs as 2. */
template <class F> static void fixed_shape(int form, int64_t kernels, F f)
{
    gfnn_fixed_kernels(form, kernels, [&](auto M) {
        constexpr int run_as = M() == 1 ? 2 : M();
        f(std::integral_constant<int, run_as>());
    });
}

/* What set_up makes. */
struct data_t {
    uint4 *B; /* fragments, in the order of steps */
    float scale[GFNN_MAX_COEF];
    int multiprocessors;
};

/* --- B --- */

/* What is in column `column` of a line's tile: output component i of node s of the S, for
 * coefficient q. The end of the kernel must match it. */
struct column_t {
    int i, s, q;
};

/* Returns the accumulators' tile of tile t of a line: gf8 has (i, i = j or not). */
template <int M> static __host__ __device__ constexpr int tile_of(int line, int t)
{
    return M != 0 ? t : t == 0 ? 2 * line : 2 * ((line + t) % 3) + 1;
}

template <int M> static column_t column_at(int line, int t, int column)
{
    using H = shape_t<M>;
    const int tile = tile_of<M>(line, t), lane = column / 2;
    const int per_i = H::tiles / 3;
    const int q = 2 * (lane % H::spread) + column % 2, s = lane / H::spread;
    if (H::gf8)
        return {tile / per_i, s, q + 4 * (tile % per_i)};
    return {tile / per_i, H::fold == 1 ? s : tile % per_i, q};
}

/* Returns the kernel of coefficient q, at s = (x, y, z) - 3. */
static float kernel_at(const gfnn_network_t *network, int q, int i, int j, int x, int y, int z)
{
    const int tap = (z * GFNN_W + y) * GFNN_W + x, s[4] = {0, x, y, z};
    if (network->form != GFNN_GF8)
        return q < network->kernels ? network->K[((q * 3 + i) * 3 + j) * GFNN_STENCIL + tap] : 0;
    if ((i == j) != (q < 4))
        return 0;
    const float g = network->K[(i * 3 + j) * GFNN_STENCIL + tap];
    return q % 4 == 0 ? g
                      : g * static_cast<float>(s[q % 4] - GFNN_ND) / static_cast<float>(GFNN_ND);
}

static float largest(const gfnn_network_t *network, int q)
{
    float most = 0;
    for (int e = 0; e < 9 * GFNN_STENCIL; e++)
        most = fmaxf(most, fabsf(kernel_at(network, q, e / 3 % 3, e % 3, e / 9 % GFNN_W,
                                           e / 9 / GFNN_W % GFNN_W, e / 9 / GFNN_W / GFNN_W)));
    return most;
}

/* Returns value k of the 16 of a step, in the row of A and so in the column of B. */
template <int M>
static float value_at(const gfnn_network_t *network, const float *scale, int line, int step, int k,
                      int dy, int t, int column)
{
    using H = shape_t<M>;
    const int chunk = 2 * step + k / 8;
    const word_t w = word_at<M>(chunk % H::chunks, k % 8 / 2);
    const int j = H::gf8 ? line : w.component, node = 2 * w.word + k % 2;
    const column_t c = column_at<M>(line, t, column);
    const int dx = node - c.s;
    if (w.none || chunk >= H::all_chunks || dx < 0 || dx >= GFNN_W || scale[c.q] == 0)
        return 0;
    return kernel_at(network, c.q, c.i, j, dx, dy, chunk / H::chunks) / scale[c.q];
}

/* Makes the fragments of B: [line][step][dy][tile][lane], 4 values per lane. */
template <int M> static void make_B(const gfnn_network_t *network, const float *scale, __half *B)
{
    using H = shape_t<M>;
    for (int step = 0; step < H::lines * H::steps; step++)
        for (int dy = 0; dy < GFNN_W; dy++)
            for (int t = 0; t < H::line_tiles; t++)
                for (int lane = 0; lane < 32; lane++)
                    for (int e = 0; e < 4; e++) {
                        const int k = 2 * (lane % 4) + e % 2 + 8 * (e / 2);
                        *B++ = __float2half(value_at<M>(network, scale, step / H::steps,
                                                        step % H::steps, k, dy, t, lane / 4));
                    }
}

/* --- the product --- */

struct job_t {
    gfnn_lines_t wide, bare;
    gfnn_tiling_t tiling;
    int n[3], depth; /* planes of a block */
    int coefs;
    const uint4 *B;
    const __half *r;
    const float *coef;
    float *z;
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
template <int M> struct outputs_t {
    using H = shape_t<M>;
    const float *coef[H::parts][2];
    float scale[H::parts][2];
    bool inside[H::nodes], stores[H::nodes / H::spread];
    float *z;

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
        z = job.z + job.wide.at(i + own, j, k);
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
template <int M>
static __device__ __forceinline__ void store(const job_t &job, const outputs_t<M> &out,
                                             const sums_t<M> &sum, int rows, int plane)
{
    using H = shape_t<M>;
    float c[H::rows][H::nodes][2 * H::parts];
    float *to[3];
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
                    to[w][node_at<M>(n)] = z[n];
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
    int first_row, rows;
    unsigned bytes;

    __device__ __forceinline__ bring_t(const job_t &job, const block_t<M> &b)
    {
        const int lane = threadIdx.x % 32, c = lane % pieces / H::pieces, piece = lane % H::pieces;
        const int there = job.n[0] + 2 * GFNN_ND - b.x0 - 8 * piece;
        bytes = 2 * max(0, min(8, there));
        from = job.r + c * job.wide.plane +
               job.wide.at(b.x0 - GFNN_ND, b.y0 - GFNN_ND, b.z0 - GFNN_ND) +
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
            if (row < rows)
                rt_copy16_part(to + plane % H::ring * H::plane_words + row * H::row_words,
                               from + plane * job.wide.slab + row * job.wide.pitch, bytes);
        }
        rt_copies_arrive(b.full + s % 2);
    }
};

template <int M>
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
    const outputs_t<M> out(job, block.x0, j, block.z0 + wz);
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

template <int M>
static void run(const gfnn_view_t *view, const gfnn_network_t *network, const __half *r, float *z)
{
    using H = shape_t<M>;
    const data_t *data = static_cast<const data_t *>(view->data);
    const gfnn_box_t *box = view->box;
    const int n[3] = {static_cast<int>(box->n[0]), static_cast<int>(box->n[1]),
                      static_cast<int>(box->n[2])};
    /* A block waits for B and its first planes for about the time of three plane steps. */
    const int depth = gfnn_depth(box->n, H::width, H::height, H::warps_z, 3, data->multiprocessors);
    job_t job = {gfnn_lines_t(box->wide),
                 gfnn_lines_t(box->bare),
                 gfnn_tiling(box->n, H::width, H::height, depth),
                 {n[0], n[1], n[2]},
                 depth,
                 network->coefs,
                 data->B,
                 r,
                 network->c,
                 z,
                 {}};
    memcpy(job.scale, data->scale, sizeof job.scale);
    gfnn_allow_shared(multiply<M>, H::shared_bytes);
    multiply<M><<<job.tiling.blocks(), THREADS, H::shared_bytes, rt_stream()>>>(job);
    RT_CUDA_LAUNCHED();
}

static void apply(const gfnn_view_t *view, const gfnn_network_t *network, const void *r, float *z)
{
    fixed_shape(network->form, network->kernels,
                [&](auto M) { run<M()>(view, network, static_cast<const __half *>(r), z); });
}

static void set_up(gfnn_view_t *view, const gfnn_network_t *network)
{
    data_t *data = RT_NEW(data_t, 1, RT_HOST);
    for (int q = 0; q < GFNN_MAX_COEF; q++)
        data->scale[q] = largest(network, q);
    data->multiprocessors = gfnn_multiprocessors();
    fixed_shape(network->form, network->kernels, [&](auto M) {
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

static void memory(const gfnn_config_t *config, const gfnn_box_t *, double bytes[RT_SPACES])
{
    bytes[RT_HOST] += sizeof(data_t);
    fixed_shape(config->precond, config->kernels,
                [&](auto M) { bytes[RT_DEVICE] += shape_t<M()>::b_bytes; });
}

extern "C" const gfnn_predictor_t gfnn_predictor_tensor = {
    .apply = apply, .set_up = set_up, .tear_down = tear_down, .memory = memory};
extern "C" const gfnn_kernels_t gfnn_net_tensor = {
    .rung = {.precision = "FP16, FP32 sums", .reproducible = true, .refuse = gfnn_refuse},
    .ladder = GFNN_LADDER_PREDICTOR,
    .predictor = {nullptr, &gfnn_predictor_tensor},
};
