/*
 * warp_shared.cu - a warp per row, partial sums in shared memory.
 *
 * Idea: a lane takes one entry of the block, so a warp reads whole blocks, which are contiguous in
 * memory; the lanes of a component then add up their sums in shared memory. Advantage: each load is
 * one run of bytes, and every row has its own warp, so rows of different length do not wait for one
 * another. Price: 25 of 32 lanes work (nb = 5), and the sum of a few values and the solve, step by
 * step with a barrier of the warp, take as long as several blocks. A block of nb = 6 or 7 has more
 * entries than a warp has lanes, and is done in two passes of 3 and 4 columns.
 */
#include "config.h"
#include "mcpi_cuda.cuh"

enum { MOST_THREADS = 512 };

/* Shared memory per warp. */
template <class K> struct sums_t {
    double y[K::nb];
    typename K::A sum[32];
};

template <class K>
__global__ void __launch_bounds__(MOST_THREADS)
    rows_kernel(const mcpi_arrays_t<K> a, int64_t first, int64_t last)
{
    constexpr int nb = K::nb;
    using L = mcpi_lanes_t<nb>;
    using A = typename K::A;
    extern __shared__ __align__(8) unsigned char memory[];
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    const int64_t row = first + blockIdx.x * static_cast<int64_t>(blockDim.x / 32) + warp;
    sums_t<K> &shared = reinterpret_cast<sums_t<K> *>(memory)[warp];
    if (row >= last) /* the whole warp returns, and no barrier below is for the block */
        return;
    double d[nb] = {}, y = 0;
    if (lane < nb) { /* loaded while the blocks are read */
        mcpi_load_row<nb>(a.LU + row * K::nb2, lane, d);
        y = __ldcs(a.R + row * nb + lane);
    }
    shared.sum[lane] = mcpi_lane_sum<K>(a, __ldg(a.start + row), __ldg(a.start + row + 1), lane);
    __syncwarp();
    if (lane < nb) {
        A sum = 0;
#pragma unroll
        for (int c = 0; c < L::columns; c++)
            sum += shared.sum[c * nb + lane];
        y -= static_cast<double>(sum);
    }
    /* A slot is written again only after the barriers of the steps in between. */
    y = mcpi_solve_lanes<nb>(d, lane, y, [&](double mine, int j) {
        if (lane == j)
            shared.y[j] = mine;
        __syncwarp();
        return shared.y[j];
    });
    if (lane < nb)
        a.dq[row * nb + lane] = static_cast<typename K::X>(y);
}

static void rows(const mcpi_view_t *view, int64_t first, int64_t last, void *dq)
{
    if (first >= last)
        return;
    mcpi_fixed_form(view, [&](auto form) {
        using K = decltype(form);
        const unsigned warps = mcpi_threads(view) / 32;
        rows_kernel<K><<<rt_blocks(last - first, warps), 32 * warps, warps * sizeof(sums_t<K>),
                         rt_stream()>>>(mcpi_arrays_t<K>(view, dq), first, last);
    });
    RT_CUDA_LAUNCHED();
}

extern "C" const mcpi_kernels_t mcpi_warp_shared = {
    .rung = mcpi_rung_with_threads(mcpi_threads_to_512),
    .rows = rows,
};
