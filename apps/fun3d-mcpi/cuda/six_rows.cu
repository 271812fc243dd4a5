/*
 * six_rows.cu - several rows per warp, a lane per component.
 *
 * Idea: a row gets nb lanes, so a warp takes 6 rows of nb = 5 (8, 5, 4 of nb = 4, 6, 7, and 2 of
 * 15), and a lane computes one component of dr with all columns of each block. The rows of a warp
 * end together if they are equally long: inside windows of a colour, rows are taken in order of
 * their length. Advantage: nothing is summed between lanes, 30 of 32 lanes work, and the shuffles
 * of the solve serve six rows at once. Price: a load of the warp is one column from each of six
 * blocks, runs of 20 bytes whose lines the next column's load finds in L1; and the windows depart
 * a little from the order that suits the caches: windows of 960 rows are short enough.
 */
#include "config.h"
#include <algorithm>
#include "mcpi_cuda.cuh"

/* With this many threads per multiprocessor, in blocks of any size, a thread has 64 registers,
 * for the loads of two blocks; 128 for those of a large one. WINDOW: a whole number of warps,
 * whatever nb is. */
enum { MOST_THREADS = 512, BLOCKS = 2, WINDOW = 960 };

/* sorted: the rows in the order in which warps take them. */
template <class K>
__global__ void __launch_bounds__(MOST_THREADS, K::nb > MCPI_FIXED_NB ? 1 : BLOCKS)
    rows_kernel(const mcpi_arrays_t<K> a, const int32_t *__restrict__ sorted, int64_t first,
                int64_t last)
{
    constexpr int nb = K::nb, per_warp = 32 / nb;
    using A = typename K::A;
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    const int slot = lane / nb, i = lane % nb;
    const int64_t position =
        first + (blockIdx.x * static_cast<int64_t>(blockDim.x / 32) + warp) * per_warp + slot;
    /* lanes without a row take part in the shuffles */
    const bool mine = slot < per_warp && position < last;
    int64_t row = 0;
    double d[nb] = {}, y = 0;
    if (mine) {
        row = __ldg(sorted + position);
        mcpi_load_row<nb>(a.LU + row * K::nb2, i, d);
        y = __ldcs(a.R + row * nb + i);
        A sum = 0;
        const int32_t end = __ldg(a.start + row + 1);
#pragma unroll(nb > MCPI_FIXED_NB ? 1 : 2)
        for (int32_t b = __ldg(a.start + row); b < end; b++) {
            const typename K::O *block = a.O + static_cast<int64_t>(b) * K::nb2 + i;
            const typename K::X *x = a.dq + static_cast<int64_t>(__ldg(a.column + b)) * nb;
#pragma unroll
            for (int j = 0; j < nb; j++)
                sum += mcpi_stream<A>(block + j * nb) * mcpi_gather<A>(x + j);
        }
        y -= static_cast<double>(sum);
    }
    const int base = slot < per_warp ? slot * nb : 0;
    y = mcpi_solve_lanes<nb>(d, i, y, [base](double value, int j) {
        return __shfl_sync(MCPI_ALL_LANES, value, base + j);
    });
    if (mine)
        a.dq[row * nb + i] = static_cast<typename K::X>(y);
}

static void rows(const mcpi_view_t *view, int64_t first, int64_t last, void *dq)
{
    const int32_t *sorted = static_cast<const int32_t *>(view->data);
    mcpi_fixed_form(view, [&](auto form) {
        using K = decltype(form);
        const unsigned threads = mcpi_threads(view);
        const unsigned blocks = rt_blocks(last - first, threads / 32 * (32 / K::nb));
        rows_kernel<K>
            <<<blocks, threads, 0, rt_stream()>>>(mcpi_arrays_t<K>(view, dq), sorted, first, last);
    });
    RT_CUDA_LAUNCHED();
}

/* Makes view->data, `sorted` in device memory. Sorts long rows first, so that what ends late is
 * short, in each range that a call of `rows` may have. Equal lengths keep their order. */
static void set_up(mcpi_view_t *view)
{
    const int64_t *start = view->system->part->start;
    int32_t *sorted = RT_NEW(int32_t, view->rows, RT_HOST);
    for (int64_t row = 0; row < view->rows; row++)
        sorted[row] = static_cast<int32_t>(row);
    for (int half = 0; half < 2 * view->colours; half++) { /* boundary and interior rows */
        const int64_t middle = view->system->part->boundary_end[half / 2];
        const int64_t first = half % 2 ? middle : view->colour_start[half / 2];
        const int64_t last = half % 2 ? view->colour_start[half / 2 + 1] : middle;
        for (int64_t at = first; at < last; at += WINDOW)
            std::sort(sorted + at, sorted + std::min<int64_t>(at + WINDOW, last),
                      [start](int32_t p, int32_t q) {
                          const int64_t long_p = start[p + 1] - start[p];
                          const int64_t long_q = start[q + 1] - start[q];
                          return long_p != long_q ? long_p > long_q : p < q;
                      });
    }
    view->data = mcpi_upload(sorted, static_cast<size_t>(view->rows));
    RT_FREE(sorted, RT_HOST);
}

static void tear_down(mcpi_view_t *view)
{
    RT_FREE(view->data, RT_DEVICE);
}

static void memory(const mcpi_config_t *config, double bytes[RT_SPACES])
{
    const double sorted = sizeof(int32_t) * static_cast<double>(config->counts.local_rows);
    bytes[RT_DEVICE] += sorted;
    bytes[RT_HOST] += sorted;
}

extern "C" const mcpi_kernels_t mcpi_six_rows = {
    .rung = mcpi_rung_with(mcpi_to_512, 1),
    .rows = rows,
    .set_up = set_up,
    .tear_down = tear_down,
    .memory = memory,
};
