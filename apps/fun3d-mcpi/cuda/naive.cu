/*
 * naive.cu - a thread per row.
 *
 * Idea: the loop of the CPU, with one thread for each row of a colour. Advantage: nothing is shared
 * or summed between threads; the code is the formula. Price: neighbouring threads read blocks that
 * are a whole row of blocks apart, so one load of a warp touches 32 lines, and the caches must keep
 * all 32 until their last byte has been used; a warp takes as long as its longest row.
 */
#include "config.h"
#include "mcpi_cuda.cuh"

enum { MOST_THREADS = 512 };

template <class K>
__global__ void __launch_bounds__(MOST_THREADS)
    rows_kernel(const mcpi_arrays_t<K> a, int64_t first, int64_t last)
{
    constexpr int nb = K::nb;
    using A = typename K::A;
    const int64_t row = first + blockIdx.x * static_cast<int64_t>(blockDim.x) + threadIdx.x;
    if (row >= last)
        return;
    A sum[nb] = {};
    const int32_t end = a.start[row + 1];
    for (int32_t b = a.start[row]; b < end; b++) {
        const typename K::O *block = a.O + static_cast<int64_t>(b) * K::nb2;
        const typename K::X *x = a.dq + static_cast<int64_t>(a.column[b]) * nb;
#pragma unroll
        for (int j = 0; j < nb; j++) {
            const A xj = static_cast<A>(x[j]);
#pragma unroll
            for (int i = 0; i < nb; i++)
                sum[i] += static_cast<A>(mcpi_widen(block[j * nb + i])) * xj;
        }
    }
    double y[nb];
#pragma unroll
    for (int i = 0; i < nb; i++)
        y[i] = a.R[row * nb + i] - static_cast<double>(sum[i]);
    mcpi_solve_lu(nb, a.LU + row * K::nb2, y);
#pragma unroll
    for (int i = 0; i < nb; i++)
        a.dq[row * nb + i] = static_cast<typename K::X>(y[i]);
}

static void rows(const mcpi_view_t *view, int64_t first, int64_t last, void *dq)
{
    mcpi_fixed_form(view, [&](auto form) {
        using K = decltype(form);
        const unsigned threads = mcpi_threads(view);
        rows_kernel<K><<<rt_blocks(last - first, threads), threads, 0, rt_stream()>>>(
            mcpi_arrays_t<K>(view, dq), first, last);
    });
    RT_CUDA_LAUNCHED();
}

extern "C" const mcpi_kernels_t mcpi_naive = {
    .rung = mcpi_rung_with(mcpi_to_512, 1),
    .rows = rows,
};
