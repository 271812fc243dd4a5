/*
 * flow_cuda.cu - the nonlinear step on a GPU, all phases on the device; sweeps by staged.
 *
 * Idea: for slopes and residual a block of threads takes a tile of nodes, fetches the nodes and
 * their neighbours once, and gathers from its copy (flow/tile.h). In the Jacobian half a warp makes a
 * row of A: a lane computes the block of a face, and all write the row as one run, into the sweeps'
 * own records and in their type. Advantage: no atomics, no sorting, the same bits every time; the
 * host sees one norm per step. Price: four faces of ten are still computed twice, and a
 * vertex may have at most some 200 neighbours.
 */
#include "config.h"
#include "flow_faces.cuh"

namespace
{

/* --- norm --- */

__global__ void __launch_bounds__(MCPI_NORM_CHUNK)
    norm_kernel(const mcpi_field_t f, const void *before)
{
    const int64_t i = thread_index();
    const double square = i < f.rows ? mcpi_node_square(&f, before, i) : 0;
    const double sum = rt_block_sum<MCPI_NORM_CHUNK>(square);
    if (threadIdx.x == 0)
        f.sums[blockIdx.x] = sum;
}

double norm(const mcpi_field_t *f, const void *before)
{
    launch<MCPI_NORM_CHUNK>(norm_kernel, f->rows, *f, before);
    return mcpi_sum_chunks(f, RT_DEVICE);
}

/* --- Jacobian --- */

/* Rounds once, from FP64. */
template <class O> __device__ __forceinline__ O as(double x)
{
    if constexpr (std::is_same_v<O, __half>)
        return __double2half(x);
    else if constexpr (std::is_same_v<O, __nv_bfloat16>)
        return __double2bfloat16(x);
    else
        return static_cast<O>(x);
}

constexpr int HALF = 16;  /* lanes of a row */
constexpr int CHUNK = 24; /* entries of a row at a time: most rows have no more */
constexpr int ROW_THREADS = 64;

/* What the lanes of a row share. */
template <class O> struct row_t {
    double part[HALF * BLOCK]; /* of D, by each lane's face; then D */
    O block[CHUNK * BLOCK];
    uint8_t list[CHUNK];
};

/* Lists those of `count` entries that have a block; the others' blocks are 0. Returns how many. */
template <class O>
__device__ __forceinline__ int list_blocks(const mcpi_field_t &f, int32_t first, int count,
                                           row_t<O> *row)
{
    const int lane = threadIdx.x % HALF, shift = threadIdx.x % 32 - lane;
    int listed = 0;
    for (int begin = 0; begin < CHUNK; begin += HALF) {
        const int e = begin + lane;
        const bool has = e < count && mcpi_has_block(&f, first + e);
        const unsigned all = __ballot_sync(0xffffffffu, has) >> shift & ((1u << HALF) - 1);
        if (has)
            row->list[listed + __popc(all & ((1u << lane) - 1))] = static_cast<uint8_t>(e);
        else if (e < count)
#pragma unroll
            for (int v = 0; v < BLOCK; v++)
                row->block[BLOCK * e + v] = as<O>(0);
        listed += __popc(all);
    }
    return listed;
}

/* Computes the block of entry first + e, and its part of D. */
template <class O>
__device__ __forceinline__ void put_block(const mcpi_field_t &f, int64_t i, int32_t first, int e,
                                          double scale, bool held, double *part, O *block)
{
    const int32_t k = first + e;
    const double *of_n = f.n + 3 * static_cast<int64_t>(k);
    const double *of_w = f.w + NB * static_cast<int64_t>(f.column[k]);
    const double n[3] = {of_n[0], of_n[1], of_n[2]}, conducts = mcpi_conducts(&f, k);
    const double there[NB] = {of_w[0], of_w[1], of_w[2], of_w[3], of_w[4]};
    const mcpi_wave_t wave = mcpi_face_wave(f.w + NB * i, there, n);
#pragma unroll
    for (int c = 0; c < NB; c++) {
        double column[NB], D[NB] = {};
        mcpi_face_column(&wave, there, n, conducts, c, column, D);
        if (held)
            mcpi_hold_column(0, c, column);
#pragma unroll
        for (int v = 0; v < NB; v++) {
            part[NB * c + v] = D[v];
            block[NB * c + v] = as<O>(scale * column[v]);
        }
    }
}

/* Half a warp per row: a lane per face computes its block, then all lanes add up D and write the row
 * as one run. */
template <class O>
__global__ void __launch_bounds__(ROW_THREADS, 8) jacobian_kernel(const mcpi_field_t f)
{
    __shared__ row_t<O> rows[ROW_THREADS / HALF];
    row_t<O> &row = rows[threadIdx.x / HALF];
    const int lane = threadIdx.x % HALF;
    const int64_t position = thread_index() / HALF;
    const bool mine = position < f.rows;
    const int64_t i = mcpi_row_of(&f, mine ? position : 0);
    const double scale = mcpi_scale_of(f.rate[i]);
    const bool held = mcpi_is_held(&f, i);
    const int32_t end = mine ? f.start[i + 1] : 0;
    double sum[2] = {};
    O *to = static_cast<O *>(mcpi_O_of(&f, i, sizeof(O)));
    for (int32_t first = f.start[i]; __any_sync(0xffffffffu, first < end); first += CHUNK) {
        const int count = max(0, min(end - first, CHUNK));
        const int listed = list_blocks(f, first, count, &row);
        __syncwarp();
        for (int done = 0; __any_sync(0xffffffffu, done < listed); done += HALF) {
            if (done + lane < listed) {
                const int e = row.list[done + lane];
                put_block(f, i, first, e, scale, held, row.part + BLOCK * lane,
                          row.block + BLOCK * e);
            }
            __syncwarp();
            for (int k = 0; k < min(listed - done, HALF); k++) {
                sum[0] += row.part[BLOCK * k + lane];
                if (lane < BLOCK - HALF)
                    sum[1] += row.part[BLOCK * k + HALF + lane];
            }
            __syncwarp();
        }
        for (int x = lane; x < BLOCK * count; x += HALF)
            to[x] = row.block[x];
        to += BLOCK * CHUNK;
        __syncwarp();
    }
    row.part[lane] = sum[0];
    if (lane < BLOCK - HALF)
        row.part[HALF + lane] = sum[1];
    __syncwarp();
    if (lane < NB) {
        double D[NB];
#pragma unroll
        for (int v = 0; v < NB; v++)
            D[v] = row.part[NB * lane + v];
        mcpi_own_column(&f, i, lane, D);
        if (held)
            mcpi_hold_column(f.rate[i], lane, D);
#pragma unroll
        for (int v = 0; v < NB; v++)
            row.part[NB * lane + v] = scale * D[v];
    }
    __syncwarp();
    for (int x = lane; mine && x < BLOCK; x += HALF)
        mcpi_LU_of(&f, i)[x] = row.part[x];
    if (mine && lane == 0)
        f.scale[i] = scale;
}

void jacobian(const mcpi_field_t *f)
{
    mcpi_fixed_offdiagonal<__half, __nv_bfloat16>(f->offdiagonal, [&](auto o) {
        using O = typename decltype(o)::type;
        launch<ROW_THREADS>(jacobian_kernel<O>, HALF * f->rows, *f);
    });
}

/* --- LU, right-hand side, update --- */

/* A thread per block, which it finds in shared memory: rows are read and written in runs. */
__global__ void __launch_bounds__(THREADS) factor_kernel(const mcpi_field_t f)
{
    __shared__ double blocks[THREADS * BLOCK];
    const int64_t first = blockIdx.x * int64_t{THREADS};
    const int values = BLOCK * static_cast<int>(min(f.rows - first, int64_t{THREADS}));
    double D[BLOCK];
#pragma unroll 5
    for (int x = threadIdx.x; x < values; x += THREADS)
        blocks[x] = mcpi_LU_of(&f, first + x / BLOCK)[x % BLOCK];
    __syncthreads();
#pragma unroll
    for (int v = 0; v < BLOCK; v++)
        D[v] = blocks[BLOCK * threadIdx.x + v];
    mcpi_factor_block(D);
#pragma unroll
    for (int v = 0; v < BLOCK; v++)
        blocks[BLOCK * threadIdx.x + v] = D[v];
    __syncthreads();
#pragma unroll 5
    for (int x = threadIdx.x; x < values; x += THREADS)
        mcpi_LU_of(&f, first + x / BLOCK)[x % BLOCK] = blocks[x];
}

void factor(const mcpi_field_t *f)
{
    launch(factor_kernel, f->rows, *f);
}

__global__ void __launch_bounds__(THREADS) right_kernel(const mcpi_field_t f)
{
    const int64_t at = thread_index();
    if (at < NB * f.rows)
        mcpi_put_right(&f, at / NB, static_cast<int>(at % NB));
}

void right(const mcpi_field_t *f)
{
    launch(right_kernel, NB * f->rows, *f);
}

/* counts: rows scaled, and how many rows there are from the first that stopped. Integers: their
 * order does not matter. */
__global__ void __launch_bounds__(THREADS)
    update_kernel(const mcpi_field_t f, unsigned long long *counts)
{
    const int64_t i = thread_index();
    if (i >= f.rows)
        return;
    double dq[NB];
    mcpi_take_dq(&f, f.dq, i, dq);
    const int halvings = mcpi_node_update(&f, i, dq);
    if (halvings > 0)
        atomicAdd(counts, 1ull);
    if (halvings == MCPI_HALVINGS)
        atomicMax(counts + 1, static_cast<unsigned long long>(f.rows - i));
}

mcpi_moved_t update(const mcpi_field_t *f)
{
    unsigned long long counts[2];
    auto *there = reinterpret_cast<unsigned long long *>(f->sums);
    rt_fill(there, RT_DEVICE, 0, sizeof counts);
    launch(update_kernel, f->rows, *f, there);
    rt_copy(counts, RT_HOST, there, RT_DEVICE, sizeof counts);
    return {static_cast<int64_t>(counts[0]), f->rows - static_cast<int64_t>(counts[1])};
}

const mcpi_phases_t phases = {.sweeps = "staged",
                              .tiled = true,
                              .gradient = gradient,
                              .residual = residual,
                              .norm = norm,
                              .jacobian = jacobian,
                              .factor = factor,
                              .right = right,
                              .update = update};

} // namespace

extern "C" const mcpi_kernels_t mcpi_flow_cuda = {
    .rung = {.precision = MCPI_FLOW_PRECISION, .reproducible = true, .refuse = mcpi_flow_refuse},
    .phases = &phases};
