/*
 * flow_cuda.cu - the nonlinear step on a GPU, all phases on the device; sweeps by staged.
 *
 * Idea: the loops around the shared text of flow/node.h. A few lanes share the faces of a node, so
 * that they read its areas side by side, and add up by shuffles. Five lanes share a row of A: each
 * computes one column of every block, and they write a block as one run of bytes, into the sweeps'
 * own records and in their type. Nodes are taken along a curve through space, across the colours:
 * neighbours' states and slopes are then found in a cache. Advantage: no atomics, no sorting, the
 * same bits every time; the host sees one norm per step. Price: a flux is computed on both of its
 * sides; that costs less than to read both states again for each edge and to add with atomics.
 */
#include "config.h"
#include <cuda_pipeline.h>
#include "mcpi_cuda.cuh"
#include "../flow/tile.h"

namespace
{

constexpr int NB = MCPI_Q, BLOCK = MCPI_Q * MCPI_Q, THREADS = 128;

__device__ __forceinline__ int64_t row_of(const mcpi_field_t &f, int64_t place)
{
    return __ldg(f.turn + place);
}

__device__ __forceinline__ int64_t thread_index()
{
    return blockIdx.x * static_cast<int64_t>(blockDim.x) + threadIdx.x;
}

template <class Kernel, class... Arguments>
void launch(Kernel kernel, int64_t threads, Arguments... arguments)
{
    if (threads == 0)
        return;
    kernel<<<rt_blocks(static_cast<size_t>(threads), THREADS), THREADS, 0, rt_stream()>>>(
        arguments...);
    RT_CUDA_LAUNCHED();
}

/* --- slopes and residual --- */

/* Adds up over the lanes of a node. */
template <int lanes, int n> __device__ __forceinline__ void sum_lanes(double *x)
{
#pragma unroll
    for (int apart = lanes / 2; apart > 0; apart /= 2)
#pragma unroll
        for (int v = 0; v < n; v++)
            x[v] += __shfl_xor_sync(0xffffffffu, x[v], apart);
}

/* Copies `values` values of each member of the block's tile: `width` threads per member, one value
 * each, all in flight at once. */
template <int width, int stride>
__device__ __forceinline__ void fetch(const mcpi_field_t &f, int values, double *copy)
{
    const mcpi_tiles_t &t = f.tiles;
    const int32_t first = t.member_first[blockIdx.x];
    const int members = t.member_first[blockIdx.x + 1] - first;
    const int v = threadIdx.x % width, apart = blockDim.x / width;
    int source_stride;
    const double *source = mcpi_tile_source(&f, v < values ? v : 0, &source_stride);
#pragma unroll 4
    for (int m = threadIdx.x / width; m < members; m += apart)
        if (v < values)
            __pipeline_memcpy_async(copy + stride * m + v,
                                    source + source_stride *
                                                 static_cast<int64_t>(__ldg(t.member + first + m)),
                                    sizeof(double));
    __pipeline_commit();
    __pipeline_wait_prior(0);
    __syncthreads();
}

template <int lanes>
__global__ void __launch_bounds__(MCPI_TILE *lanes) slopes_kernel(const mcpi_field_t f)
{
    extern __shared__ double copy[];
    const int64_t place = f.tiles.first[blockIdx.x] + threadIdx.x / lanes;
    const bool mine = place < f.tiles.first[blockIdx.x + 1];
    double sum[3 * NB] = {};
    fetch<8, MCPI_SHORT_SPOT>(f, NB + 3, copy);
    if (mine)
        mcpi_tile_slopes(&f, copy, place, threadIdx.x % lanes, lanes, sum);
    sum_lanes<lanes, 3 * NB>(sum);
    if (mine && threadIdx.x % lanes == 0)
        mcpi_put_slopes(&f, row_of(f, place), sum);
}

template <int lanes>
__global__ void __launch_bounds__(MCPI_TILE *lanes) residual_kernel(const mcpi_field_t f)
{
    extern __shared__ double copy[];
    const int64_t place = f.tiles.first[blockIdx.x] + threadIdx.x / lanes;
    const bool mine = place < f.tiles.first[blockIdx.x + 1];
    double F[NB + 1] = {}; /* and the rate */
    fetch<32, MCPI_LONG_SPOT>(f, f.gas.second ? MCPI_LONG_SPOT : NB + 3, copy);
    if (mine)
        F[NB] = mcpi_tile_flux(&f, copy, place, threadIdx.x % lanes, lanes, F);
    sum_lanes<lanes, NB + 1>(F);
    if (mine && threadIdx.x % lanes == 0)
        mcpi_put_residual(&f, row_of(f, place), F[NB], F);
}

/* The same without tiles: lanes of a node read what is in a cache, or not. */
__global__ void __launch_bounds__(THREADS) gather_slopes_kernel(const mcpi_field_t f)
{
    const int64_t place = thread_index();
    if (place < f.rows)
        mcpi_node_gradient(&f, row_of(f, place));
}

template <int lanes>
__global__ void __launch_bounds__(THREADS) gather_residual_kernel(const mcpi_field_t f)
{
    const int64_t place = thread_index() / lanes;
    const int64_t i = place < f.rows ? row_of(f, place) : -1;
    double F[NB + 1] = {};
    if (i >= 0)
        for (int32_t k = f.start[i] + threadIdx.x % lanes; k < f.start[i + 1]; k += lanes)
            F[NB] += mcpi_entry_flux(&f, i, k, F);
    sum_lanes<lanes, NB + 1>(F);
    if (i >= 0 && threadIdx.x % lanes == 0)
        mcpi_put_residual(&f, i, F[NB], F);
}

/* lanes: those that share a node. More of them read areas in longer runs, and leave more idle at
 * the end of a row. */
const char *const lanes_values[] = {"1", "2", "4", nullptr};
const char *const gather_values[] = {"tiles", "cache", nullptr};
const char *const jacobian_values[] = {"columns", "row", nullptr};
constexpr rt_parameter_t parameters[] = {{.name = "lanes",
                                          .about = "lanes per node in slopes and residual",
                                          .values = lanes_values,
                                          .initial = 1},
                                         {.name = "gather",
                                          .about = "neighbours from a tile's copy, or from a cache",
                                          .values = gather_values,
                                          .initial = 0},
                                         {.name = "jacobian",
                                          .about = "a warp per six rows, or per row",
                                          .values = jacobian_values,
                                          .initial = 0}};

/* Calls kernel(lanes) with the lanes per node in force. */
template <class F> void with_lanes(const mcpi_field_t *f, F kernel)
{
    switch (f->choice[0]) {
    case 0:
        return kernel(std::integral_constant<int, 1>());
    case 1:
        return kernel(std::integral_constant<int, 2>());
    default:
        return kernel(std::integral_constant<int, 4>());
    }
}

/* A block per tile, with a copy of so many values per member. */
template <class Kernel>
void launch_tiles(Kernel kernel, int lanes, int values, const mcpi_field_t *f)
{
    const int bytes = MCPI_MEMBERS * values * static_cast<int>(sizeof(double));
    RT_CUDA(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes));
    /* the copies of several blocks per multiprocessor, rather than a cache */
    RT_CUDA(cudaFuncSetAttribute(kernel, cudaFuncAttributePreferredSharedMemoryCarveout,
                                 cudaSharedmemCarveoutMaxShared));
    kernel<<<static_cast<unsigned>(f->tiles.tiles), static_cast<unsigned>(MCPI_TILE * lanes),
             static_cast<size_t>(bytes), rt_stream()>>>(*f);
    RT_CUDA_LAUNCHED();
}

bool has_tiles(const mcpi_field_t *f)
{
    return f->choice[1] == 0 && f->tiles.tiles > 0;
}

void gradient(const mcpi_field_t *f)
{
    if (!has_tiles(f))
        return launch(gather_slopes_kernel, f->rows, *f);
    with_lanes(
        f, [&](auto lanes) { launch_tiles(slopes_kernel<lanes()>, lanes(), MCPI_SHORT_SPOT, f); });
}

void residual(const mcpi_field_t *f)
{
    with_lanes(f, [&](auto lanes) {
        if (has_tiles(f))
            launch_tiles(residual_kernel<lanes()>, lanes(), MCPI_LONG_SPOT, f);
        else
            launch(gather_residual_kernel<lanes()>, lanes() * f->rows, *f);
    });
}

/* --- norm --- */

__global__ void __launch_bounds__(MCPI_NORM_CHUNK) norm_kernel(const mcpi_field_t f, double *sums)
{
    const int64_t i = thread_index();
    const double sum = rt_block_sum<MCPI_NORM_CHUNK>(i < f.rows ? mcpi_node_square(&f, i) : 0);
    if (threadIdx.x == 0)
        sums[blockIdx.x] = sum;
}

double norm(const mcpi_field_t *f)
{
    const size_t chunks = rt_blocks(static_cast<size_t>(f->rows), MCPI_NORM_CHUNK);
    double *on_host = RT_NEW(double, chunks, RT_HOST), sum = 0;
    if (chunks > 0) {
        norm_kernel<<<static_cast<unsigned>(chunks), MCPI_NORM_CHUNK, 0, rt_stream()>>>(*f,
                                                                                        f->sums);
        RT_CUDA_LAUNCHED();
        rt_copy(on_host, RT_HOST, f->sums, RT_DEVICE, chunks * sizeof *on_host);
    }
    for (size_t k = 0; k < chunks; k++)
        sum += on_host[k];
    RT_FREE(on_host, RT_HOST);
    return sum;
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

constexpr int GROUPS = 32 / NB; /* of five lanes, a lane per column, in a warp; two lanes rest */

/* What the lanes of a warp tell each other of up to 32 entries. */
template <class O> struct row_t {
    mcpi_wave_t wave[32];
    double D[BLOCK];
    O block[32 * BLOCK];
    uint8_t list[32];
};

/* Finds the waves of an entry per lane. Lists the entries that have a block; the others' blocks are
 * 0. Returns how many are listed; with_area: a bit for each that has an area. */
template <class O>
__device__ __forceinline__ int find_waves(const mcpi_field_t &f, int64_t i, int32_t first,
                                          int count, row_t<O> *row, unsigned *with_area)
{
    const int lane = threadIdx.x % 32;
    const int32_t k = first + lane;
    const bool has = lane < count && mcpi_has_area(f.n + 3 * static_cast<int64_t>(k));
    *with_area = __ballot_sync(0xffffffffu, has);
    if (has)
        row->wave[lane] = mcpi_face_wave(&f, i, k);
    if (f.gas.mu > 0) {
        row->list[lane] = static_cast<uint8_t>(lane);
        return count;
    }
    if (has)
        row->list[__popc(*with_area & ((1u << lane) - 1))] = static_cast<uint8_t>(lane);
    const int listed = __popc(*with_area);
    for (int x = lane; listed < count && x < BLOCK * count; x += 32)
        row->block[x] = as<O>(0);
    return listed;
}

/* Adds up the columns of D over the groups; then its lane has each column. */
__device__ __forceinline__ void sum_groups(double *D)
{
#pragma unroll
    for (int v = 0; v < NB; v++) {
        double sum = D[v];
#pragma unroll
        for (int g = 1; g < GROUPS; g++)
            sum += __shfl_sync(0xffffffffu, D[v], (threadIdx.x + NB * g) % 32);
        D[v] = sum;
    }
}

/* A warp per row: first a lane per entry finds waves, then five lanes per entry compute a column
 * each, and last all lanes write the row as one run. */
template <class O> __global__ void __launch_bounds__(THREADS) row_kernel(const mcpi_field_t f)
{
    __shared__ row_t<O> rows[THREADS / 32];
    row_t<O> &row = rows[threadIdx.x / 32];
    const int lane = threadIdx.x % 32, c = lane % NB;
    const int64_t place = thread_index() / 32;
    if (place >= f.rows)
        return;
    const int64_t i = row_of(f, place);
    const double scale = mcpi_scale_of(f.rate[i]);
    const bool held = mcpi_is_held(&f, i);
    const int32_t end = f.start[i + 1];
    double D[NB] = {};
    O *to = static_cast<O *>(mcpi_O_of(&f, i, sizeof(O)));
    for (int32_t first = f.start[i]; first < end; first += 32) {
        const int count = end - first < 32 ? end - first : 32;
        unsigned with_area;
        const int listed = find_waves(f, i, first, count, &row, &with_area);
        __syncwarp();
        for (int k = lane < NB * GROUPS ? lane / NB : listed; k < listed; k += GROUPS) {
            const int e = row.list[k];
            double column[NB];
            mcpi_face_column(&f, first + e, with_area >> e & 1 ? &row.wave[e] : nullptr, c, column,
                             D);
            if (held)
                mcpi_hold_column(0, c, column);
#pragma unroll
            for (int v = 0; v < NB; v++)
                row.block[BLOCK * e + NB * c + v] = as<O>(scale * column[v]);
        }
        __syncwarp();
        for (int x = lane; x < BLOCK * count; x += 32)
            to[x] = row.block[x];
        to += BLOCK * count;
        __syncwarp();
    }
    sum_groups(D);
    if (lane < NB) {
        mcpi_own_column(&f, i, c, D);
        if (held)
            mcpi_hold_column(f.rate[i], c, D);
#pragma unroll
        for (int v = 0; v < NB; v++)
            row.D[NB * c + v] = scale * D[v];
    }
    __syncwarp();
    if (lane < BLOCK)
        mcpi_LU_of(&f, i)[lane] = row.D[lane];
    if (lane == 0)
        f.scale[i] = scale;
}

/* Five lanes per row, six rows per warp; two lanes rest. Lane c computes column c. */
template <class O> __global__ void __launch_bounds__(THREADS) columns_kernel(const mcpi_field_t f)
{
    const int lane = threadIdx.x % 32, c = lane % NB;
    const int64_t place = thread_index() / 32 * GROUPS + lane / NB;
    if (lane >= GROUPS * NB || place >= f.rows)
        return;
    const int64_t i = row_of(f, place);
    const double scale = mcpi_scale_of(f.rate[i]);
    const bool held = mcpi_is_held(&f, i);
    double D[NB] = {};
    O *to = static_cast<O *>(mcpi_O_of(&f, i, sizeof(O))) + NB * c;
    for (int32_t k = f.start[i]; k < f.start[i + 1]; k++, to += BLOCK) {
        double column[NB];
        if (mcpi_has_area(f.n + 3 * static_cast<int64_t>(k))) {
            const mcpi_wave_t wave = mcpi_face_wave(&f, i, k);
            mcpi_face_column(&f, k, &wave, c, column, D);
        } else {
            mcpi_face_column(&f, k, nullptr, c, column, D);
        }
        if (held)
            mcpi_hold_column(0, c, column);
#pragma unroll
        for (int v = 0; v < NB; v++)
            to[v] = as<O>(scale * column[v]);
    }
    mcpi_own_column(&f, i, c, D);
    if (held)
        mcpi_hold_column(f.rate[i], c, D);
    double *LU = mcpi_LU_of(&f, i) + NB * c;
#pragma unroll
    for (int v = 0; v < NB; v++)
        LU[v] = scale * D[v];
    if (c == 0)
        f.scale[i] = scale;
}

void jacobian(const mcpi_field_t *f)
{
    mcpi_fixed_offdiagonal(f->offdiagonal, [&](auto o) {
        using O = typename decltype(o)::type;
        if (f->choice[2] == 0)
            launch(columns_kernel<O>, 32 * ((f->rows + GROUPS - 1) / GROUPS), *f);
        else
            launch(row_kernel<O>, 32 * f->rows, *f);
    });
}

/* --- LU, right-hand side, update --- */

__global__ void __launch_bounds__(THREADS) factor_kernel(const mcpi_field_t f)
{
    const int64_t i = thread_index();
    if (i >= f.rows)
        return;
    double D[BLOCK], *LU = mcpi_LU_of(&f, i);
#pragma unroll
    for (int v = 0; v < BLOCK; v++)
        D[v] = LU[v];
    mcpi_factor_block(D);
#pragma unroll
    for (int v = 0; v < BLOCK; v++)
        LU[v] = D[v];
}

void factor(const mcpi_field_t *f)
{
    launch(factor_kernel, f->rows, *f);
}

__global__ void __launch_bounds__(THREADS) right_kernel(const mcpi_field_t f)
{
    const int64_t at = thread_index(), i = at / NB;
    if (i < f.rows)
        mcpi_right_of(&f, i)[at % NB] = f.scale[i] * f.R[at];
}

void right(const mcpi_field_t *f)
{
    launch(right_kernel, NB * f->rows, *f);
}

/* counts: rows scaled, and the first row that stopped. Integers: their order does not matter. */
template <class X>
__global__ void __launch_bounds__(THREADS)
    update_kernel(const mcpi_field_t f, unsigned long long *counts)
{
    const int64_t i = thread_index();
    if (i >= f.rows)
        return;
    double dq[NB];
#pragma unroll
    for (int v = 0; v < NB; v++)
        dq[v] = static_cast<const X *>(f.dq)[NB * i + v];
    const int halvings = mcpi_node_update(&f, i, dq);
    if (halvings > 0)
        atomicAdd(counts, 1ull);
    if (halvings == MCPI_HALVINGS)
        atomicMin(counts + 1, static_cast<unsigned long long>(i));
}

mcpi_moved_t update(const mcpi_field_t *f)
{
    unsigned long long counts[2] = {0, static_cast<unsigned long long>(f->rows)};
    auto *there = reinterpret_cast<unsigned long long *>(f->sums);
    rt_copy(there, RT_DEVICE, counts, RT_HOST, sizeof counts);
    mcpi_fixed_real(f->dq_type, [&](auto x) {
        launch(update_kernel<typename decltype(x)::type>, f->rows, *f, there);
    });
    rt_copy(counts, RT_HOST, there, RT_DEVICE, sizeof counts);
    return {static_cast<int64_t>(counts[0]), static_cast<int64_t>(counts[1])};
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

extern "C" const mcpi_kernels_t mcpi_flow_cuda = {.rung = {.precision = MCPI_FLOW_PRECISION,
                                                           .reproducible = true,
                                                           .parameters = parameters,
                                                           .n_parameters = 3,
                                                           .refuse = mcpi_flow_refuse},
                                                  .phases = &phases};
