/*
 * streamed.cu - a row's blocks as one stream of 16-byte loads.
 *
 * Idea: the rungs before it read one entry per load; here a warp reads vectors of 16 bytes, from
 * one end of the row to the other, across the ends of blocks. As many vectors as a block has
 * entries are a whole number of blocks, so in every such period a lane's vectors hold entries of
 * the same components, and each of its sums stays in one place. dQ is gathered once per block into
 * shared memory, where every lane finds what its entries multiply. While a row's sums are added up
 * and solved, the first vectors of the warp's next row are being loaded. Advantage: fewest loads
 * for the bytes, long in flight. Price: O is copied with each row padded to 16 bytes; a few lanes
 * idle where a period is not a multiple of 32; the gather of dQ still waits for its columns.
 */
#include "config.h"
#include <cstring>
#include "mcpi_cuda.cuh"

enum { WARPS = 8 };

template <class Form> struct mcpi_streamed_t : Form {
    using typename Form::A;
    using typename Form::O;
    static constexpr int vector = 16 / sizeof(O);    /* entries; and blocks per period */
    static constexpr int period = Form::nb2;         /* vectors */
    static constexpr int slots = (period + 31) / 32; /* vectors of a lane per period */
    /* Periods that are fetched at once: 8 vectors per lane, but no more than 32 blocks. */
    static constexpr int in_flight = 8 / slots, enough = (32 + vector - 1) / vector,
                         periods = in_flight < enough ? in_flight : enough,
                         blocks = periods * vector;
    static_assert(periods >= 1 && blocks <= 32, "a lane per column");
};

/* Device memory; `offset` in vectors. */
struct mcpi_streamed_rows_t {
    const int32_t *start, *column;
    const uint32_t *offset; /* [rows + 1] of each row's O */
    const uint4 *O;
    const double *LU;
    double *R;
};

template <class K>
__device__ __forceinline__ void add_vector(const uint4 &v, const typename K::A *x, int slot,
                                           typename K::A (&sum)[K::vector])
{
    using A = typename K::A;
    typename K::O entry[K::vector];
    memcpy(entry, &v, sizeof v);
#pragma unroll
    for (int t = 0; t < K::vector; t++) {
        const int e = slot * K::vector + t; /* entry of the period */
        sum[t] += static_cast<A>(mcpi_widen(entry[t])) * x[e / K::nb2 * K::nb + e % K::nb2 / K::nb];
    }
}

/* What a lane has loaded of a row before it is needed. */
template <class K> struct mcpi_ahead_t {
    int32_t begin, end;
    uint32_t offset, vectors;
    int32_t column; /* of block begin + lane */
    uint4 v[K::periods][K::slots];
    double d[K::nb], R; /* row `lane` of LU, and of R */
};

/* Loads vectors and columns of the `blocks` blocks from begin + done on. */
template <class K>
__device__ __forceinline__ void fetch(const mcpi_streamed_rows_t &a, mcpi_ahead_t<K> &row, int done,
                                      int lane)
{
    const int block = row.begin + done + lane;
    row.column = lane < K::blocks && block < row.end ? __ldcs(a.column + block) : -1;
#pragma unroll
    for (int p = 0; p < K::periods; p++)
#pragma unroll
        for (int m = 0; m < K::slots; m++) {
            const int slot = lane + 32 * m;
            const uint32_t k = static_cast<uint32_t>((done / K::vector + p) * K::period + slot);
            row.v[p][m] = slot < K::period && k < row.vectors ? __ldcs(a.O + row.offset + k)
                                                              : make_uint4(0, 0, 0, 0);
        }
}

template <class K>
__device__ __forceinline__ void fetch_row(const mcpi_streamed_rows_t &a, mcpi_ahead_t<K> &row,
                                          int64_t r, int lane)
{
    row.begin = __ldg(a.start + r);
    row.end = __ldg(a.start + r + 1);
    row.offset = __ldg(a.offset + r);
    row.vectors = __ldg(a.offset + r + 1) - row.offset;
    fetch<K>(a, row, 0, lane);
    if (lane < K::nb) {
        mcpi_load_row<K::nb>(a.LU + r * K::nb2, lane, row.d);
        row.R = __ldcs(a.R + r * K::nb + lane);
    }
}

template <class K>
__global__ void __launch_bounds__(32 * WARPS)
    streamed_rows(const mcpi_streamed_rows_t a, int64_t first, int64_t last, typename K::X *dq)
{
    using A = typename K::A;
    __shared__ A gathered[WARPS][K::blocks * K::nb];
    __shared__ A sums[WARPS][K::period * K::vector];
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    const int64_t stride = static_cast<int64_t>(gridDim.x) * WARPS;
    A *x = gathered[warp], *together = sums[warp];
    int64_t r = first + static_cast<int64_t>(blockIdx.x) * WARPS + warp;
    if (r >= last)
        return;
    mcpi_ahead_t<K> row = {};
    fetch_row<K>(a, row, r, lane);
    for (; r < last; r += stride) {
        A sum[K::slots][K::vector] = {};
        const int blocks = row.end - row.begin;
        for (int done = 0;; done += K::blocks) {
            __syncwarp(); /* x is no longer in use */
#pragma unroll
            for (int k = 0; k < (K::blocks * K::nb + 31) / 32; k++) {
                const int t = 32 * k + lane, b = t / K::nb;
                const int32_t column = __shfl_sync(~0u, row.column, b < 32 ? b : 31);
                if (t < K::blocks * K::nb)
                    x[t] =
                        column < 0
                            ? A(0)
                            : mcpi_gather<A>(dq + static_cast<int64_t>(column) * K::nb + t % K::nb);
            }
            __syncwarp();
#pragma unroll
            for (int p = 0; p < K::periods; p++)
#pragma unroll
                for (int m = 0; m < K::slots; m++)
                    if (lane + 32 * m < K::period)
                        add_vector<K>(row.v[p][m], x + p * K::vector * K::nb, lane + 32 * m,
                                      sum[m]);
            if (done + K::blocks >= blocks)
                break;
            fetch<K>(a, row, done + K::blocks, lane);
        }
        double d[K::nb];
#pragma unroll
        for (int j = 0; j < K::nb; j++)
            d[j] = row.d[j];
        const double R = row.R;
        if (r + stride < last)
            fetch_row<K>(a, row, r + stride, lane);

#pragma unroll
        for (int m = 0; m < K::slots; m++)
            if (lane + 32 * m < K::period)
#pragma unroll
                for (int t = 0; t < K::vector; t++)
                    together[(lane + 32 * m) * K::vector + t] = sum[m][t];
        __syncwarp();
        double y = 0;
        if (lane < K::nb) { /* entry k is of component k % nb */
            A all = 0;
            for (int k = lane; k < K::period * K::vector; k += K::nb)
                all += together[k];
            y = R - static_cast<double>(all);
        }
        y = mcpi_solve_lanes<K::nb>(d, lane, y,
                                    [](double of, int j) { return __shfl_sync(~0u, of, j); });
        if (lane < K::nb)
            dq[r * K::nb + lane] = static_cast<typename K::X>(y);
    }
}

/* --- host --- */

struct mcpi_streamed_data_t {
    mcpi_streamed_rows_t rows;
    int64_t values; /* of R */
    int64_t blocks; /* of a grid that is resident */
};

static void rows(const mcpi_view_t *view, int64_t first, int64_t last, void *dq)
{
    const mcpi_streamed_data_t *data = static_cast<const mcpi_streamed_data_t *>(view->data);
    if (first == last)
        return;
    mcpi_fixed_form(view, [&](auto form) {
        using K = mcpi_streamed_t<decltype(form)>;
        const int64_t needed = (last - first + WARPS - 1) / WARPS;
        streamed_rows<K>
            <<<static_cast<unsigned>(needed < data->blocks ? needed : data->blocks), 32 * WARPS, 0,
               rt_stream()>>>(data->rows, first, last, static_cast<typename K::X *>(dq));
    });
    RT_CUDA_LAUNCHED();
}

static int64_t resident_blocks(const mcpi_view_t *view)
{
    int resident = 0;
    mcpi_fixed_form(view, [&](auto form) {
        RT_CUDA(cudaOccupancyMaxActiveBlocksPerMultiprocessor(
            &resident, streamed_rows<mcpi_streamed_t<decltype(form)>>, 32 * WARPS, 0));
    });
    return static_cast<int64_t>(resident) * rt_device_gpu()->multiprocessors;
}

static void set_up(mcpi_view_t *view)
{
    const mcpi_system_t *system = view->system;
    const mcpi_part_t *part = system->part;
    const size_t block =
                     static_cast<size_t>(system->nb * system->nb) * mcpi_type_size(system->type),
                 rows = static_cast<size_t>(part->rows);
    mcpi_streamed_data_t *data = RT_NEW(mcpi_streamed_data_t, 1, RT_HOST);
    *data = mcpi_streamed_data_t();
    uint32_t *offset = RT_NEW(uint32_t, rows + 1, RT_HOST);
    int32_t *start = RT_NEW(int32_t, rows + 1, RT_HOST);
    uint64_t vectors = 0;
    for (size_t r = 0; r <= rows; r++) {
        offset[r] = static_cast<uint32_t>(vectors);
        start[r] = static_cast<int32_t>(part->start[r]);
        if (r < rows)
            vectors += (static_cast<size_t>(part->start[r + 1] - part->start[r]) * block + 15) / 16;
        RT_EXPECT(vectors <= UINT32_MAX, RT_MEMORY, "O of more than 64 GiB on one rank: %s",
                  "use more ranks");
    }
    unsigned char *O = RT_NEW(unsigned char, 16 * static_cast<size_t>(vectors), RT_HOST);
#pragma omp parallel for schedule(static)
    for (int64_t r = 0; r < part->rows; r++) {
        unsigned char *to = O + 16 * static_cast<size_t>(offset[r]);
        const size_t bytes = static_cast<size_t>(part->start[r + 1] - part->start[r]) * block;
        if (bytes == 0)
            continue;
        memcpy(to,
               static_cast<const unsigned char *>(system->O) +
                   static_cast<size_t>(part->start[r]) * block,
               bytes);
        memset(to + bytes, 0, (16 - bytes % 16) % 16);
    }
    data->values = part->rows * system->nb;
    data->blocks = resident_blocks(view);
    const size_t nb = static_cast<size_t>(system->nb);
    data->rows.start = mcpi_upload(start, rows + 1);
    data->rows.offset = mcpi_upload(offset, rows + 1);
    data->rows.column = mcpi_upload(part->column, static_cast<size_t>(part->start[rows]));
    data->rows.O =
        reinterpret_cast<const uint4 *>(mcpi_upload(O, 16 * static_cast<size_t>(vectors)));
    data->rows.LU = mcpi_upload(system->LU, rows * nb * nb);
    data->rows.R = mcpi_upload(system->R, rows * nb);
    RT_FREE(O, RT_HOST);
    RT_FREE(offset, RT_HOST);
    RT_FREE(start, RT_HOST);
    view->data = data;
}

static void tear_down(mcpi_view_t *view)
{
    mcpi_streamed_data_t *data = static_cast<mcpi_streamed_data_t *>(view->data);
    if (!data)
        return;
    RT_FREE(data->rows.start, RT_DEVICE);
    RT_FREE(data->rows.offset, RT_DEVICE);
    RT_FREE(data->rows.column, RT_DEVICE);
    RT_FREE(data->rows.O, RT_DEVICE);
    RT_FREE(data->rows.LU, RT_DEVICE);
    RT_FREE(data->rows.R, RT_DEVICE);
    RT_FREE(data, RT_HOST);
    view->data = nullptr;
}

static void put_r(const mcpi_view_t *view, const double *R)
{
    const mcpi_streamed_data_t *data = static_cast<const mcpi_streamed_data_t *>(view->data);
    rt_copy(data->rows.R, RT_DEVICE, R, RT_HOST, static_cast<size_t>(data->values) * sizeof *R);
}

static void memory(const mcpi_config_t *config, double bytes[RT_SPACES])
{
    const double nb = static_cast<double>(config->nb),
                 rows = static_cast<double>(config->counts.local_rows),
                 blocks = static_cast<double>(config->counts.local_blocks);
    const double O =
        blocks * nb * nb *
            static_cast<double>(mcpi_type_size(static_cast<mcpi_type_t>(config->offdiagonal))) +
        15 * rows;
    bytes[RT_DEVICE] += O + 4 * blocks + 8 * (rows + 1) + 8 * rows * nb * (nb + 1);
    bytes[RT_HOST] += O + 8 * (rows + 1) + sizeof(mcpi_streamed_data_t);
}

extern "C" const mcpi_kernels_t mcpi_streamed = {
    .rung = {.precision = MCPI_PRECISION, .reproducible = true, .refuse = mcpi_fixed_refuse},
    .rows = rows,
    .set_up = set_up,
    .tear_down = tear_down,
    .put_r = put_r,
    .memory = memory,
    .own_layout = true,
};
