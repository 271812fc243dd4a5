/*
 * staged.cu - chunks of rows, fetched whole into shared memory; all sweeps in one kernel.
 *
 * Idea: a few consecutive rows are packed into one record: columns, blocks of O, LU and R, which
 * are all read once per sweep. A warp fetches a record with one bulk copy into its own ring, while
 * it works on the record before, so no warp waits for another. In shared memory a lane takes a
 * whole block, whose stride in banks is odd; no sum is split until the blocks of a row are added
 * up. Only dQ is gathered from memory, through L1: the chunks of a multiprocessor are neighbours
 * and need the same dQ again and again. With few warps per multiprocessor no other warp hides a
 * wait, so a warp asks early: during one record, dQ of the next is being loaded into registers, and
 * so is the place of the record after that. A colour waits for the one before only where there are
 * neighbours, and the kernel does all sweeps without the host. Advantage: memory sees long, regular
 * reads, whatever the lengths of the rows. Price: O is packed at set-up and cannot be shared with
 * other rungs; a row must fit into a record; blocks wait for each other once per colour.
 */
#include "config.h"
#include <cstring>
#include "staged.cuh"

struct mcpi_staged_data_t {
    mcpi_staged_lists_t lists; /* device memory */
    int chunks;
    int32_t *first_row;     /* [chunks + 1] host */
    uint64_t *right_at;     /* [rows] device: byte offset of the row's R in the records */
    uint64_t *O_at, *LU_at; /* the same of its blocks and factors; NULL: nobody asked */
    size_t bytes;           /* of the records */
    double *right;          /* [rows][nb] device: R on its way into the records */
    unsigned blocks;        /* of a grid that is resident */
};

/* Cuts the rows into chunks; fills first_row and colour where not NULL, and returns the number of
 * chunks. A chunk ends at its limits, and where a range of rows ends that `rows` may be called
 * for. */
template <class K> static int cut(const mcpi_part_t *part, int32_t *first_row, int32_t *colour)
{
    int chunks = 0;
    for (int c = 0; c < part->colours; c++) {
        const int64_t ends[2] = {part->boundary_end[c], part->colour_start[c + 1]};
        int64_t row = part->colour_start[c];
        if (colour)
            colour[c] = chunks;
        for (int half = 0; half < 2; half++)
            while (row < ends[half]) {
                int64_t next = row;
                while (next < ends[half] && next - row < K::rows &&
                       part->start[next + 1] - part->start[row] <= K::blocks)
                    next++;
                RT_EXPECT(next > row, RT_ENVIRONMENT,
                          "row %lld has %lld neighbours, and a record of the staged rung takes %u: "
                          "use --rung streamed",
                          static_cast<long long>(row),
                          static_cast<long long>(part->start[row + 1] - part->start[row]),
                          K::blocks);
                if (first_row)
                    first_row[chunks] = static_cast<int32_t>(row);
                chunks++;
                row = next;
            }
    }
    if (colour)
        colour[part->colours] = chunks;
    if (first_row)
        first_row[chunks] = static_cast<int32_t>(part->rows);
    return chunks;
}

template <class K>
static void pack(const mcpi_system_t *system, int64_t row, int64_t end, unsigned char *record)
{
    const mcpi_part_t *part = system->part;
    const int64_t first = part->start[row];
    const mcpi_record_head_t head = {static_cast<int32_t>(row), static_cast<int32_t>(end - row),
                                     static_cast<int32_t>(part->start[end] - first), 0};
    const mcpi_record_layout_t at =
        layout_of(K::nb, K::size, K::stride, static_cast<unsigned>(head.rows),
                  static_cast<unsigned>(head.blocks));
    memset(record, 0, at.end);
    memcpy(record, &head, sizeof head);
    for (int64_t r = row; r <= end; r++)
        reinterpret_cast<uint16_t *>(record + at.start)[r - row] =
            static_cast<uint16_t>(part->start[r] - first);
    if (head.blocks > 0)
        memcpy(record + at.column, part->column + first, 4 * static_cast<size_t>(head.blocks));
    const unsigned char *O = static_cast<const unsigned char *>(system->O);
    for (int64_t b = 0; b < head.blocks; b++)
        memcpy(record + at.O + static_cast<size_t>(b) * K::stride * K::size,
               O + static_cast<size_t>(first + b) * K::nb2 * K::size, K::nb2 * K::size);
    memcpy(record + at.LU, system->LU + row * K::nb2,
           sizeof(double) * K::nb2 * static_cast<size_t>(head.rows));
    memcpy(record + at.R, system->R + row * K::nb,
           sizeof(double) * K::nb * static_cast<size_t>(head.rows));
}

/* Finds which blocks of the grid have rows that are neighbours: data->lists.near. */
static void find_near(const mcpi_part_t *part, const int32_t *colour, mcpi_staged_data_t *data)
{
    const size_t blocks = data->blocks, rows = static_cast<size_t>(part->rows);
    uint16_t *owner = RT_NEW(uint16_t, rows, RT_HOST);
    uint8_t *is_near = RT_NEW(uint8_t, blocks * blocks, RT_HOST);
    int32_t *start = RT_NEW(int32_t, blocks + 1, RT_HOST);
    memset(is_near, 0, blocks * blocks);
    const auto rows_of = [&](int c, size_t block, int64_t *first, int64_t *end) {
        const int2 chunks = share_of(colour[c], colour[c + 1], static_cast<unsigned>(block),
                                     static_cast<unsigned>(blocks));
        *first = data->first_row[chunks.x];
        *end = data->first_row[chunks.y];
    };
    for (int c = 0; c < part->colours; c++)
        for (size_t b = 0; b < blocks; b++) {
            int64_t row, end;
            for (rows_of(c, b, &row, &end); row < end; row++)
                owner[row] = static_cast<uint16_t>(b);
        }
#pragma omp parallel for schedule(static)
    for (size_t b = 0; b < blocks; b++)
        for (int c = 0; c < part->colours; c++) {
            int64_t row, end;
            for (rows_of(c, b, &row, &end); row < end; row++)
                for (int64_t k = part->start[row]; k < part->start[row + 1]; k++)
                    if (part->column[k] < part->rows) /* else a ghost, which no kernel writes */
                        is_near[b * blocks + owner[part->column[k]]] = 1;
        }
    start[0] = 0;
    for (size_t b = 0; b < blocks; b++) {
        start[b + 1] = start[b];
        for (size_t other = 0; other < blocks; other++)
            start[b + 1] += other != b && is_near[b * blocks + other];
    }
    int32_t *near = RT_NEW(int32_t, static_cast<size_t>(start[blocks]), RT_HOST);
    int32_t *next = near;
    for (size_t b = 0; b < blocks; b++)
        for (size_t other = 0; other < blocks; other++)
            if (other != b && is_near[b * blocks + other])
                *next++ = static_cast<int32_t>(other);
    data->lists.near_start = mcpi_upload(start, blocks + 1);
    data->lists.near = mcpi_upload(near, static_cast<size_t>(start[blocks]));
    RT_FREE(near, RT_HOST);
    RT_FREE(start, RT_HOST);
    RT_FREE(is_near, RT_HOST);
    RT_FREE(owner, RT_HOST);
}

template <class K> static void set_up_of(mcpi_view_t *view)
{
    const mcpi_system_t *system = view->system;
    const mcpi_part_t *part = system->part;
    mcpi_staged_data_t *data = RT_NEW(mcpi_staged_data_t, 1, RT_HOST);
    *data = mcpi_staged_data_t();
    const int chunks = cut<K>(part, nullptr, nullptr);
    const auto n = static_cast<size_t>(chunks), rows = static_cast<size_t>(part->rows);
    data->chunks = chunks;
    data->first_row = RT_NEW(int32_t, n + 1, RT_HOST);
    int32_t *colour = RT_NEW(int32_t, static_cast<size_t>(part->colours) + 1, RT_HOST);
    uint32_t *offset = RT_NEW(uint32_t, n + 1, RT_HOST);
    cut<K>(part, data->first_row, colour);
    uint64_t units = 0;
    offset[0] = 0;
    for (int k = 0; k < chunks; k++) {
        const int64_t row = data->first_row[k], end = data->first_row[k + 1];
        units += layout_of(K::nb, K::size, K::stride, static_cast<unsigned>(end - row),
                           static_cast<unsigned>(part->start[end] - part->start[row]))
                     .end /
                 16;
        RT_EXPECT(units <= UINT32_MAX, RT_MEMORY, "records of more than 64 GiB on one rank: %s",
                  "use more ranks");
        offset[k + 1] = static_cast<uint32_t>(units);
    }
    unsigned char *record =
        RT_NEW(unsigned char, 16 * static_cast<size_t>(offset[chunks]), RT_HOST);
    uint64_t *right_at = RT_NEW(uint64_t, rows, RT_HOST);
#pragma omp parallel for schedule(static)
    for (int k = 0; k < chunks; k++) {
        const int64_t row = data->first_row[k], end = data->first_row[k + 1];
        const mcpi_record_layout_t at =
            layout_of(K::nb, K::size, K::stride, static_cast<unsigned>(end - row),
                      static_cast<unsigned>(part->start[end] - part->start[row]));
        pack<K>(system, row, end, record + 16 * static_cast<size_t>(offset[k]));
        for (int64_t r = row; r < end; r++)
            right_at[r] = 16 * static_cast<uint64_t>(offset[k]) + at.R +
                          sizeof(double) * K::nb * static_cast<uint64_t>(r - row);
    }
    data->lists.record = mcpi_upload(record, 16 * static_cast<size_t>(offset[chunks]));
    data->bytes = 16 * static_cast<size_t>(offset[chunks]);
    data->lists.offset = mcpi_upload(offset, n + 1);
    data->lists.colour = mcpi_upload(colour, static_cast<size_t>(part->colours) + 1);
    data->right_at = mcpi_upload(right_at, rows);
    data->right = RT_NEW(double, rows *K::nb, RT_DEVICE);
    RT_FREE(record, RT_HOST);
    RT_FREE(right_at, RT_HOST);
    RT_FREE(offset, RT_HOST);

    const auto kernel = staged_sweeps<K>;
    int resident = 0;
    RT_CUDA(
        cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, K::shared_bytes));
    RT_CUDA(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&resident, kernel, 32 * K::warps,
                                                          K::shared_bytes));
    RT_EXPECT(resident > 0, RT_ENVIRONMENT,
              "this GPU has too little shared memory: %u bytes per block are needed",
              K::shared_bytes);
    data->blocks = static_cast<unsigned>(resident * rt_device_gpu()->multiprocessors);
    data->lists.ended = RT_NEW(unsigned, data->blocks *MCPI_FLAG_APART, RT_DEVICE);
    find_near(part, colour, data);
    RT_FREE(colour, RT_HOST);
    view->data = data;
}

template <class K>
static void launch(const mcpi_view_t *view, int colours, int64_t sweeps, int first, int last,
                   void *dq)
{
    const mcpi_staged_data_t *data = static_cast<const mcpi_staged_data_t *>(view->data);
    typename K::Q *to = static_cast<typename K::Q *>(dq);
    mcpi_staged_lists_t lists = data->lists;
    const auto kernel = staged_sweeps<K>;
    RT_CUDA(cudaMemsetAsync(lists.ended, 0, data->blocks * MCPI_FLAG_APART * sizeof *lists.ended,
                            rt_stream()));
    void *arguments[] = {&lists, &colours, &sweeps, &first, &last, &to};
    /* cooperative: the launch fails unless all blocks are resident */
    RT_CUDA(cudaLaunchCooperativeKernel(kernel, dim3(data->blocks), dim3(32 * K::warps), arguments,
                                        K::shared_bytes, rt_stream()));
}

static void set_up(mcpi_view_t *view)
{
    mcpi_fixed_form(view, [&](auto form) { set_up_of<staged_t<decltype(form)>>(view); });
}

static void tear_down(mcpi_view_t *view)
{
    mcpi_staged_data_t *data = static_cast<mcpi_staged_data_t *>(view->data);
    if (!data)
        return;
    RT_FREE(data->lists.record, RT_DEVICE);
    RT_FREE(data->lists.offset, RT_DEVICE);
    RT_FREE(data->lists.colour, RT_DEVICE);
    RT_FREE(data->lists.ended, RT_DEVICE);
    RT_FREE(data->lists.near_start, RT_DEVICE);
    RT_FREE(data->lists.near, RT_DEVICE);
    RT_FREE(data->right_at, RT_DEVICE);
    RT_FREE(data->O_at, RT_DEVICE);
    RT_FREE(data->LU_at, RT_DEVICE);
    RT_FREE(data->right, RT_DEVICE);
    RT_FREE(data->first_row, RT_HOST);
    RT_FREE(data, RT_HOST);
    view->data = nullptr;
}

static __global__ void put_right(int64_t values, int nb, const double *R, const uint64_t *at,
                                 unsigned char *record)
{
    const int64_t k = blockIdx.x * static_cast<int64_t>(blockDim.x) + threadIdx.x;
    if (k < values)
        *reinterpret_cast<double *>(record + at[k / nb] + 8 * (k % nb)) = R[k];
}

static void put_r(const mcpi_view_t *view, const double *R)
{
    const mcpi_staged_data_t *data = static_cast<const mcpi_staged_data_t *>(view->data);
    const int64_t values = view->rows * view->nb;
    if (values == 0)
        return;
    rt_copy(data->right, RT_DEVICE, R, RT_HOST, static_cast<size_t>(values) * sizeof(double));
    put_right<<<static_cast<unsigned>((values + 255) / 256), 256, 0, rt_stream()>>>(
        values, view->nb, data->right, data->right_at,
        const_cast<unsigned char *>(data->lists.record));
    RT_CUDA_LAUNCHED();
}

/* Lists where the blocks and factors of each row are. */
template <class K> static void list_places(const mcpi_part_t *part, mcpi_staged_data_t *data)
{
    const auto rows = static_cast<size_t>(part->rows);
    uint64_t *O_at = RT_NEW(uint64_t, rows, RT_HOST), *LU_at = RT_NEW(uint64_t, rows, RT_HOST);
    uint64_t record = 0;
    for (int k = 0; k < data->chunks; k++) {
        const int64_t row = data->first_row[k], end = data->first_row[k + 1];
        const mcpi_record_layout_t at =
            layout_of(K::nb, K::size, K::stride, static_cast<unsigned>(end - row),
                      static_cast<unsigned>(part->start[end] - part->start[row]));
        for (int64_t r = row; r < end; r++) {
            O_at[r] =
                record + at.O +
                K::stride * K::size * static_cast<uint64_t>(part->start[r] - part->start[row]);
            LU_at[r] = record + at.LU + sizeof(double) * K::nb2 * static_cast<uint64_t>(r - row);
        }
        record += at.end;
    }
    data->O_at = mcpi_upload(O_at, rows);
    data->LU_at = mcpi_upload(LU_at, rows);
    RT_FREE(O_at, RT_HOST);
    RT_FREE(LU_at, RT_HOST);
}

/* Blocks have no gap if nb is odd (stride_of), as the nonlinear step's 5 is. */
static mcpi_places_t places(mcpi_view_t *view)
{
    mcpi_staged_data_t *data = static_cast<mcpi_staged_data_t *>(view->data);
    RT_EXPECT(view->nb % 2 == 1, RT_ENVIRONMENT, "blocks of %d have gaps", view->nb);
    if (!data->O_at)
        mcpi_fixed_form(view, [&](auto form) {
            list_places<staged_t<decltype(form)>>(view->system->part, data);
        });
    return {const_cast<unsigned char *>(data->lists.record), data->bytes, data->O_at, data->LU_at,
            data->right_at};
}

/* Returns the chunk that begins with this row; chunks end where ranges do. */
static int chunk_of(const mcpi_staged_data_t *data, int64_t row)
{
    int low = 0, high = data->chunks;
    while (low < high) {
        const int middle = (low + high) / 2;
        if (data->first_row[middle] < row)
            low = middle + 1;
        else
            high = middle;
    }
    RT_EXPECT(data->first_row[low] == row, RT_ENVIRONMENT,
              "rows from %lld on are not a range of rows", static_cast<long long>(row));
    return low;
}

static void rows(const mcpi_view_t *view, int64_t first, int64_t last, void *dq)
{
    const mcpi_staged_data_t *data = static_cast<const mcpi_staged_data_t *>(view->data);
    if (first == last)
        return;
    const int from = chunk_of(data, first), to = chunk_of(data, last);
    mcpi_fixed_form(view,
                    [&](auto form) { launch<staged_t<decltype(form)>>(view, 0, 1, from, to, dq); });
}

static void all_sweeps(const mcpi_view_t *view, int64_t sweeps, void *dq)
{
    if (view->rows == 0 || sweeps <= 0)
        return;
    mcpi_fixed_form(view, [&](auto form) {
        launch<staged_t<decltype(form)>>(view, view->colours, sweeps, 0, 0, dq);
    });
}

/* Records have what the system has, and 32 to 77 bytes per chunk of at least 2 or 3 rows. */
static void memory(const mcpi_config_t *config, double bytes[RT_SPACES])
{
    const double nb = static_cast<double>(config->nb),
                 rows = static_cast<double>(config->counts.local_rows),
                 blocks = static_cast<double>(config->counts.local_blocks),
                 size = static_cast<double>(
                     mcpi_type_size(static_cast<mcpi_type_t>(config->offdiagonal)));
    const double padded = config->nb % 2 ? nb * nb : nb * nb + 2;
    const double records = blocks * (4 + size * padded) + rows * 8 * (nb * nb + nb) + rows * 32;
    bytes[RT_DEVICE] += records + rows * 8 * (nb + 1) + rows * 4;
    bytes[RT_HOST] += records + rows * (8 + 4 + 4);
}

extern "C" const mcpi_kernels_t mcpi_staged = {
    .rung = {.precision = MCPI_PRECISION, .reproducible = true},
    .rows = rows,
    .sweeps = all_sweeps,
    .set_up = set_up,
    .tear_down = tear_down,
    .put_r = put_r,
    .places = places,
    .memory = memory,
    .own_layout = true,
};
