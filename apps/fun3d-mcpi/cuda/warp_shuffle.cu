/*
 * warp_shuffle.cu - rung warp-shared, with shuffles instead of shared memory.
 *
 * Idea: lanes pass their values to one another directly. The number of columns is halved again and
 * again: of 5 columns, the last 2 are added to the first 2; of the 3 that remain, the last to the
 * first; then one of 2 to the other. Advantage: no shared memory, no barrier, a third of the
 * instructions of the sum; the solve costs one shuffle and one multiplication per step. Price: all
 * 32 lanes must take part in a shuffle, also lanes without an entry (they hold zeros, which no lane
 * uses); the 7 idle lanes and the tail of every row are as before.
 */
#include "config.h"
#include "mcpi_cuda.cuh"

/* With this many threads per multiprocessor, in blocks of any size, a thread has 48 registers. */
enum { MOST_THREADS = 256, BLOCKS = 5 };
#define ALL_LANES 0xffffffffu

/* Returns the sum over the columns, in lanes 0 .. nb - 1. */
template <int nb, class A> static __device__ __forceinline__ A sum_columns(A sum, int lane)
{
#pragma unroll
    for (int columns = mcpi_lanes_t<nb>::columns; columns > 1; columns = (columns + 1) / 2) {
        const int kept = (columns + 1) / 2;
        const A other = __shfl_down_sync(ALL_LANES, sum, kept * nb);
        if (lane < (columns - kept) * nb)
            sum += other;
    }
    return sum;
}

template <class K>
__global__ void __launch_bounds__(MOST_THREADS, BLOCKS)
    rows_kernel(const mcpi_arrays_t<K> a, int64_t first, int64_t last)
{
    constexpr int nb = K::nb;
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    const int64_t row = first + blockIdx.x * static_cast<int64_t>(blockDim.x / 32) + warp;
    if (row >= last) /* the whole warp returns, so no shuffle misses a lane */
        return;
    double d[nb] = {}, y = 0;
    if (lane < nb) { /* loaded while the blocks are read */
        mcpi_load_row<nb>(a.LU + row * K::nb2, lane, d);
        y = __ldcs(a.R + row * nb + lane);
    }
    const auto sum = sum_columns<nb>(
        mcpi_lane_sum<K>(a, __ldg(a.start + row), __ldg(a.start + row + 1), lane), lane);
    y -= static_cast<double>(sum);
    y = mcpi_solve_lanes<nb>(d, lane, y,
                             [](double mine, int j) { return __shfl_sync(ALL_LANES, mine, j); });
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
        rows_kernel<K><<<rt_blocks(last - first, warps), 32 * warps, 0, rt_stream()>>>(
            mcpi_arrays_t<K>(view, dq), first, last);
    });
    RT_CUDA_LAUNCHED();
}

extern "C" const mcpi_kernels_t mcpi_warp_shuffle = {
    .rung = mcpi_rung_with_threads(mcpi_threads_to_256),
    .rows = rows,
};
