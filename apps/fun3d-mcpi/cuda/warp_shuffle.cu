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

/* With this many threads per multiprocessor, in blocks of any size, a thread has 48 registers; 128
 * where a group needs many passes for a block. */
enum { MOST_THREADS = 256, BLOCKS = 5, FEW_BLOCKS = 2 };

template <class K>
__global__ void __launch_bounds__(MOST_THREADS, mcpi_lanes_t<K>::passes > 2 ? FEW_BLOCKS : BLOCKS)
    rows_kernel(const mcpi_arrays_t<K> a, int64_t first, int64_t last)
{
    constexpr int nb = K::nb;
    const mcpi_row_t<K> at(a, first, last);
    if (!at.any) /* the whole warp returns, so no shuffle misses a lane */
        return;
    double d[nb] = {}, y = 0;
    at.load(a, d, y);
    const auto sum = mcpi_sum_columns<K>(mcpi_lane_sum<K>(a, at.begin, at.end, at.lane), at.lane);
    y -= static_cast<double>(sum);
    y = mcpi_solve_lanes<nb>(d, at.lane, y, [](double mine, int j) {
        return __shfl_sync(MCPI_ALL_LANES, mine, j, K::lanes);
    });
    at.store(a, y);
}

static void rows(const mcpi_view_t *view, int64_t first, int64_t last, void *dq)
{
    mcpi_group_form(view, [&](auto group) {
        using K = decltype(group);
        const unsigned threads = mcpi_threads(view);
        rows_kernel<K><<<rt_blocks(last - first, threads / K::lanes), threads, 0, rt_stream()>>>(
            mcpi_arrays_t<K>(view, dq), first, last);
    });
    RT_CUDA_LAUNCHED();
}

extern "C" const mcpi_kernels_t mcpi_warp_shuffle = {
    .rung = mcpi_rung_with(mcpi_to_256, 2),
    .rows = rows,
};
