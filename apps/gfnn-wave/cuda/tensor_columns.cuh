/*
 * tensor_columns.cuh - the shapes of tensor.cu's blocks, and B: which value of K is in which column
 * for which word of a window of r.
 */
#ifndef GFNN_TENSOR_COLUMNS_CUH
#define GFNN_TENSOR_COLUMNS_CUH

#include <cmath>
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

/* What set_up makes. */
struct data_t {
    uint4 *B; /* fragments, in the order of steps */
    float scale[GFNN_MAX_COEF];
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

#endif
