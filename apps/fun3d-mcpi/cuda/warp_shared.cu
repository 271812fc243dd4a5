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

/* Shared memory per row. */
template <class K> struct sums_t {
    double y[K::nb];
    typename K::A sum[K::lanes];
};

template <class K>
__global__ void __launch_bounds__(MOST_THREADS)
    rows_kernel(const mcpi_arrays_t<K> a, int64_t first, int64_t last)
{
    constexpr int nb = K::nb;
    extern __shared__ __align__(8) unsigned char memory[];
    sums_t<K> &shared = reinterpret_cast<sums_t<K> *>(memory)[threadIdx.x / K::lanes];
    const mcpi_row_t<K> at(a, first, last);
    if (!at.any) /* the whole warp returns, and no barrier below is for the block */
        return;
    double d[nb] = {}, y = 0;
    at.load(a, d, y); /* arrives while the blocks are read */
    shared.sum[at.lane] = mcpi_lane_sum<K>(a, at.begin, at.end, at.lane);
    __syncwarp();
    if (at.lane < nb) {
        typename K::A sum = 0;
#pragma unroll
        for (int c = 0; c < mcpi_lanes_t<K>::columns; c++)
            sum += shared.sum[c * nb + at.lane];
        y -= static_cast<double>(sum);
    }
    /* A slot is written again only after the barriers of the steps in between. */
    y = mcpi_solve_lanes<nb>(d, at.lane, y, [&](double mine, int j) {
        if (at.lane == j)
            shared.y[j] = mine;
        __syncwarp();
        return shared.y[j];
    });
    at.store(a, y);
}

static void rows(const mcpi_view_t *view, int64_t first, int64_t last, void *dq)
{
    mcpi_group_form(view, [&](auto group) {
        using K = decltype(group);
        const unsigned threads = mcpi_threads(view), rows = threads / K::lanes;
        rows_kernel<K>
            <<<rt_blocks(last - first, rows), threads, rows * sizeof(sums_t<K>), rt_stream()>>>(
                mcpi_arrays_t<K>(view, dq), first, last);
    });
    RT_CUDA_LAUNCHED();
}

extern "C" const mcpi_kernels_t mcpi_warp_shared = {
    .rung = mcpi_rung_with(mcpi_to_512, 2),
    .rows = rows,
};
