/*
 * flow_faces.cuh - slopes and residual of the rung flow-cuda: a block per tile (flow/tile.h).
 */
#ifndef MCPI_FLOW_FACES_CUH
#define MCPI_FLOW_FACES_CUH

#include <cuda_pipeline.h>
#include "mcpi_cuda.cuh"
#include "../flow/tile.h"

namespace
{

constexpr int NB = MCPI_Q, BLOCK = MCPI_Q * MCPI_Q, THREADS = 128;

__device__ __forceinline__ int64_t thread_index()
{
    return blockIdx.x * static_cast<int64_t>(blockDim.x) + threadIdx.x;
}

template <int block = THREADS, class Kernel, class... Arguments>
void launch(Kernel kernel, int64_t threads, Arguments... arguments)
{
    if (threads == 0)
        return;
    kernel<<<rt_blocks(static_cast<size_t>(threads), block), block, 0, rt_stream()>>>(arguments...);
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
 * each, all in flight at once. list: room for the members, until the caller has waited. */
template <int width, int stride>
__device__ __forceinline__ void fetch(const mcpi_field_t &f, int values, uint32_t *list,
                                      double *copy)
{
    const mcpi_tiles_t &t = f.tiles;
    const int32_t first = t.member_first[blockIdx.x];
    const int members = t.member_first[blockIdx.x + 1] - first;
    const int v = threadIdx.x % width;
    int apart;
    const double *source = mcpi_tile_source(&f, v < values ? v : 0, &apart);
    for (int m = threadIdx.x; m < members; m += THREADS)
        list[m] = t.member[first + m];
    __syncthreads();
#pragma unroll 8
    for (int m = threadIdx.x / width; m < members; m += THREADS / width)
        if (v < values)
            __pipeline_memcpy_async(copy + stride * m + v,
                                    source + apart * static_cast<int64_t>(list[m]), sizeof(double));
    __pipeline_commit();
}

__device__ __forceinline__ void wait_for_copy()
{
    __pipeline_wait_prior(0);
    __syncthreads();
}

constexpr int LANES = THREADS / MCPI_TILE; /* per node */

/* A block per tile. Slopes are written from shared memory, as whole rows. */
__global__ void __launch_bounds__(THREADS) slopes_kernel(const mcpi_field_t f)
{
    __shared__ double copy[int{MCPI_MEMBERS} * MCPI_SHORT_NODE];
    __shared__ uint32_t list[MCPI_MEMBERS];
    __shared__ uint16_t near[MCPI_TILE_ENTRIES];
    static_assert(int{MCPI_TILE} * 3 * NB <= int{MCPI_MEMBERS} * MCPI_SHORT_NODE, "slopes fit");
    const mcpi_tiles_t &t = f.tiles;
    const int32_t first = t.first[blockIdx.x], end = t.first[blockIdx.x + 1];
    const int32_t entry = t.entry[first], entries = t.entry[end] - entry;
    const int node = threadIdx.x / LANES, lane = threadIdx.x % LANES;
    const int64_t position = first + node;
    double sum[3 * NB] = {}, g[3 * NB];
    fetch<8, MCPI_SHORT_NODE>(f, NB + 3, list, copy);
    for (int k = threadIdx.x; k < entries; k += THREADS)
        near[k] = t.near[entry + k];
    wait_for_copy();
    if (position < end)
        mcpi_tile_slopes(copy, node, near + (t.entry[position] - entry),
                         t.entry[position + 1] - t.entry[position], lane, LANES, sum);
    sum_lanes<LANES, 3 * NB>(sum);
    if (position < end)
        mcpi_fit_slopes(&f, mcpi_row_of(&f, position), sum, g);
    __syncthreads(); /* all are done with the copy */
    if (position < end && lane == 0)
#pragma unroll
        for (int v = 0; v < 3 * NB; v++)
            copy[3 * NB * node + v] = g[v];
    __syncthreads();
    for (int k = threadIdx.x; k < 3 * NB * (end - first); k += THREADS)
        f.gradient[3 * NB * mcpi_row_of(&f, first + k / (3 * NB)) + k % (3 * NB)] = copy[k];
}

constexpr int LONG_BYTES =
    (int{MCPI_MEMBERS} * MCPI_LONG_NODE + int{MCPI_FACE_VALUES} * mcpi_faces_apart) *
    static_cast<int>(sizeof(double));

/* A block per tile, a thread per face; then the two lanes of a node add up three values each. A
 * thread requests its next face before it works on one. */
__global__ void __launch_bounds__(THREADS, 4) residual_kernel(const mcpi_field_t f)
{
    static_assert(LANES == 2 && MCPI_FACE_VALUES == 6, "two lanes share the values of a face");
    extern __shared__ double copy[];
    double *values = copy + int{MCPI_MEMBERS} * MCPI_LONG_NODE, sum[3] = {};
    const mcpi_tiles_t &t = f.tiles;
    const int32_t first = t.first[blockIdx.x], end = t.first[blockIdx.x + 1];
    const int32_t from = t.face_first[blockIdx.x];
    const int faces = t.face_first[blockIdx.x + 1] - from;
    const int node = threadIdx.x / LANES, lane = threadIdx.x % LANES;
    const int64_t position = first + node;
    const bool mine = position < end;
    mcpi_tile_face_t face = {}, next = {};
    fetch<32, MCPI_LONG_NODE>(f, MCPI_LONG_NODE, reinterpret_cast<uint32_t *>(values), copy);
    if (static_cast<int>(threadIdx.x) < faces)
        next = mcpi_tile_face(&t, from + threadIdx.x);
    wait_for_copy();
    for (int k = threadIdx.x; k < faces; k += THREADS) {
        face = next;
        if (k + THREADS < faces)
            next = mcpi_tile_face(&t, from + k + THREADS);
        mcpi_tile_flux(copy, &face, k, values);
    }
    __syncthreads();
    if (mine)
        mcpi_tile_collect(&t, values, position, 3 * lane, sum);
    double F[NB + 1];
#pragma unroll
    for (int v = 0; v < 3; v++) {
        const double other = __shfl_xor_sync(0xffffffffu, sum[v], 1);
        F[v] = lane == 0 ? sum[v] : other;
        F[3 + v] = lane == 0 ? other : sum[v];
    }
    if (f.gas.mu > 0) {
        double friction[NB] = {};
        if (mine)
            mcpi_tile_friction(&f, copy, node, position, lane, LANES, friction);
        sum_lanes<LANES, NB>(friction);
#pragma unroll
        for (int v = 0; v < NB; v++)
            F[v] += friction[v];
    }
    if (mine && lane == 0)
        mcpi_put_residual(&f, mcpi_row_of(&f, position), F[NB], F);
}

void gradient(const mcpi_field_t *f)
{
    launch(slopes_kernel, THREADS * static_cast<int64_t>(f->tiles.tiles), *f);
}

void residual(const mcpi_field_t *f)
{
    if (f->tiles.tiles == 0)
        return;
    RT_CUDA(cudaFuncSetAttribute(residual_kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                 LONG_BYTES));
    /* the copies of several blocks per multiprocessor, rather than a cache */
    RT_CUDA(cudaFuncSetAttribute(residual_kernel, cudaFuncAttributePreferredSharedMemoryCarveout,
                                 cudaSharedmemCarveoutMaxShared));
    residual_kernel<<<static_cast<unsigned>(f->tiles.tiles), THREADS, LONG_BYTES, rt_stream()>>>(
        *f);
    RT_CUDA_LAUNCHED();
}

} // namespace

#endif
