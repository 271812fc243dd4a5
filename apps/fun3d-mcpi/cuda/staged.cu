/*
 * staged.cu - rows in records, fetched whole into shared memory; all sweeps in one kernel.
 *
 * Idea: a few consecutive rows are packed into one record: columns, blocks of O, LU and R, which
 * are all read once per sweep. A warp fetches a record with one bulk copy into its own ring, while
 * it works on the record before, so no warp waits for another. In shared memory a lane takes a
 * whole block, whose stride in banks is odd; no sum is split until the blocks of a row are added
 * up. A row of blocks of 8 to 15 may take several records, of few blocks each: a lane takes an
 * entry of a block, and keeps its sum until the row ends. Only dQ is gathered from memory, through
 * L1: the chunks of a multiprocessor are neighbours and need the same dQ again and again. With few
 * warps per multiprocessor no other warp hides a wait, so a warp requests early: while it adds up
 * and solves, dQ of the next record is being loaded into registers, and so is the position of the
 * record after that. Rows that other blocks wait for come first in a colour, and the kernel does
 * all sweeps without the host, on several GPUs as on one (staged_steps.cuh). Advantage: memory sees
 * long, regular reads, whatever the lengths of the rows. Price: O is packed at set-up and cannot be
 * shared with other rungs; a row of smaller blocks must fit into a record.
 */
#include "config.h"
#include <algorithm>
#include <cstring>
#include "machine/comm.h"
#include "staged.cuh"

/* The records of a chunk: those of a row that goes on have no row, and all K::blocks blocks; then
 * comes the last. */
template <class K> struct chunk_t {
    int64_t row, end, first, before, blocks; /* before: blocks in front of the last record's */
    uint64_t last_at;
    mcpi_record_layout_t last;

    chunk_t(const mcpi_part_t *part, const mcpi_chunks_t &chunks, int k)
        : row(chunks.first_row[k]), end(chunks.first_row[k + 1]), first(part->start[row])
    {
        const int64_t most = K::blocks, all = part->start[end] - first;
        before = all > most ? (all - 1) / most * most : 0;
        blocks = all - before;
        last_at = static_cast<uint64_t>(before / most) * 16 * K::part;
        last = layout_of(K::nb, K::size, K::stride, static_cast<unsigned>(end - row),
                         static_cast<unsigned>(blocks));
    }
};

/* Fills the offsets of the chunks in their order, in units of 16 bytes. */
template <class K> static void place_chunks(const mcpi_part_t *part, const mcpi_chunks_t &chunks)
{
    uint64_t units = 0;
    chunks.offset[0] = 0;
    for (int k = 0; k < chunks.chunks; k++) {
        const chunk_t<K> chunk(part, chunks, chunks.order[k]);
        units += (chunk.last_at + chunk.last.end) / 16;
        RT_EXPECT(units <= UINT32_MAX, RT_MEMORY, "records of more than 64 GiB on one rank: %s",
                  "use more ranks");
        chunks.offset[k + 1] = static_cast<uint32_t>(units);
    }
}

/* Packs a record of rows row .. end - 1 and of `blocks` blocks. */
template <class K>
static void pack(const mcpi_system_t *system, const mcpi_sends_t &sends, int64_t row, int64_t end,
                 int64_t first, int64_t blocks, unsigned char *record)
{
    const mcpi_part_t *part = system->part;
    const int32_t copy = sends.start ? sends.start[row] : 0;
    const mcpi_record_head_t head = {static_cast<int32_t>(row), static_cast<uint16_t>(end - row),
                                     static_cast<uint16_t>(blocks), copy,
                                     sends.start ? sends.start[end] - copy : 0};
    const mcpi_record_layout_t at =
        layout_of(K::nb, K::size, K::stride, static_cast<unsigned>(head.rows),
                  static_cast<unsigned>(head.blocks));
    memset(record, 0, at.end);
    memcpy(record, &head, sizeof head);
    for (int64_t r = row; r <= end && !K::split; r++)
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

/* Returns how many blocks of the kernel are resident. */
template <class K> static unsigned resident_blocks()
{
    const auto kernel = staged_sweeps<K>;
    int resident = 0;
    RT_CUDA(
        cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, K::shared_bytes));
    RT_CUDA(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&resident, kernel, 32 * K::warps,
                                                          K::shared_bytes));
    RT_EXPECT(resident > 0, RT_ENVIRONMENT,
              "this GPU has too little shared memory: %u bytes per block are needed",
              K::shared_bytes);
    return static_cast<unsigned>(resident * rt_device_gpu()->multiprocessors);
}

/* Packs the records, and uploads them and their positions. */
template <class K>
static void new_records(const mcpi_system_t *system, const mcpi_sends_t &sends,
                        mcpi_staged_data_t *data)
{
    const mcpi_part_t *part = system->part;
    const mcpi_chunks_t &chunks = data->chunks;
    const auto rows = static_cast<size_t>(part->rows);
    const size_t bytes = 16 * static_cast<size_t>(chunks.offset[chunks.chunks]);
    unsigned char *record = RT_NEW(unsigned char, bytes, RT_HOST);
    uint64_t *right_at = RT_NEW(uint64_t, rows, RT_HOST);
    uint64_t *O_at = RT_NEW(uint64_t, rows, RT_HOST), *LU_at = RT_NEW(uint64_t, rows, RT_HOST);
#pragma omp parallel for schedule(static)
    for (int k = 0; k < chunks.chunks; k++) {
        const chunk_t<K> chunk(part, chunks, chunks.order[k]);
        uint64_t at = 16 * static_cast<uint64_t>(chunks.offset[k]);
        for (int64_t b = 0; b < chunk.before; b += K::blocks, at += 16 * K::part)
            pack<K>(system, sends, chunk.row, chunk.row, chunk.first + b, K::blocks, record + at);
        pack<K>(system, sends, chunk.row, chunk.end, chunk.first + chunk.before, chunk.blocks,
                record + at);
        for (int64_t r = chunk.row; r < chunk.end; r++) {
            const auto of_chunk = sizeof(double) * static_cast<uint64_t>(r - chunk.row);
            const auto blocks = static_cast<uint64_t>(part->start[r] - chunk.first);
            right_at[r] = at + chunk.last.R + K::nb * of_chunk;
            O_at[r] = at + chunk.last.O + K::stride * K::size * blocks;
            LU_at[r] = at + chunk.last.LU + K::nb2 * of_chunk;
        }
    }
    data->bytes = bytes;
    data->lists.record = mcpi_upload(record, bytes);
    data->lists.offset = mcpi_upload(chunks.offset, static_cast<size_t>(chunks.chunks) + 1);
    data->right_at = mcpi_upload(right_at, rows);
    data->O_at = mcpi_upload(O_at, rows);
    data->LU_at = mcpi_upload(LU_at, rows);
    data->right = RT_NEW(double, rows *K::nb, RT_DEVICE);
    RT_FREE_ALL(RT_HOST, record, right_at, O_at, LU_at);
}

template <class K> static void set_up_of(mcpi_view_t *view)
{
    mcpi_staged_data_t *data = RT_NEW(mcpi_staged_data_t, 1, RT_HOST);
    *data = {};
    const mcpi_part_t *part = view->system->part;
    data->chunks = mcpi_cut_rows(part, K::rows, K::split ? INT64_MAX : K::blocks);
    place_chunks<K>(part, data->chunks);
    data->blocks = resident_blocks<K>();
    mcpi_sends_t sends = mcpi_staged_connect(view, data, sizeof(typename K::Q));
    place_chunks<K>(part, data->chunks);
    new_records<K>(view->system, sends, data);
    RT_FREE_ALL(RT_HOST, sends.start, sends.to, data->chunks.colour, data->chunks.interior,
                data->chunks.order, data->chunks.offset);
    view->data = data;
}

template <class K>
static void launch(const mcpi_view_t *view, int colours, int64_t sweeps, int first, int last,
                   void *dq)
{
    mcpi_staged_data_t *data = static_cast<mcpi_staged_data_t *>(view->data);
    typename K::Q *to = static_cast<typename K::Q *>(dq);
    mcpi_staged_lists_t lists = data->lists;
    unsigned begin = data->begin + 1;
    const auto kernel = staged_sweeps<K>;
    void *arguments[] = {&lists, &colours, &sweeps, &first, &last, &begin, &to};
    if (colours > 0) /* all ranks count alike */
        data->begin = begin + static_cast<unsigned>(colours * sweeps);
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
    mcpi_staged_lists_destroy(view, data);
    RT_FREE_ALL(RT_DEVICE, data->lists.record, data->lists.offset, data->right_at, data->O_at,
                data->LU_at, data->right);
    RT_FREE_ALL(RT_HOST, data->chunks.first_row, data);
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

/* A row lies in one record, and blocks have no gap if nb is odd (stride_of), as the nonlinear
 * step's 5 is. */
static mcpi_places_t places(mcpi_view_t *view)
{
    mcpi_staged_data_t *data = static_cast<mcpi_staged_data_t *>(view->data);
    RT_EXPECT(view->nb <= MCPI_FIXED_NB && view->nb % 2 == 1, RT_ENVIRONMENT,
              "blocks of %d have gaps", view->nb);
    return {const_cast<unsigned char *>(data->lists.record), data->bytes, data->O_at, data->LU_at,
            data->right_at};
}

/* Returns the chunk that begins with this row; chunks end where ranges do. */
static int chunk_of(const mcpi_staged_data_t *data, int64_t row)
{
    const int32_t *first_row = data->chunks.first_row;
    const int32_t *at = std::lower_bound(first_row, first_row + data->chunks.chunks, row);
    RT_EXPECT(*at == row, RT_ENVIRONMENT, "rows from %lld on are not a range of rows",
              static_cast<long long>(row));
    return static_cast<int>(at - first_row);
}

static void rows(const mcpi_view_t *view, int64_t first, int64_t last, void *dq)
{
    const mcpi_staged_data_t *data = static_cast<const mcpi_staged_data_t *>(view->data);
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

/* Records have what the system has, and 32 to 77 bytes each; a chunk has at least 2 or 3 rows, or
 * one, in records of at least 2560 bytes of O (staged_t). */
static void memory(const mcpi_config_t *config, double bytes[RT_SPACES])
{
    const double nb = static_cast<double>(config->nb),
                 rows = static_cast<double>(config->counts.local_rows),
                 blocks = static_cast<double>(config->counts.local_blocks),
                 size = static_cast<double>(
                     mcpi_type_size(static_cast<mcpi_type_t>(config->offdiagonal)));
    const bool split = config->nb > MCPI_FIXED_NB;
    const double padded = config->nb % 2 || split ? nb * nb : nb * nb + 2;
    const double heads = split ? rows * 77 + blocks * 77 * size * nb * nb / 2560 : rows * 32;
    const double records = blocks * (4 + size * padded) + rows * 8 * (nb * nb + nb) + heads;
    bytes[RT_DEVICE] += records + rows * 8 * (nb + 3) + rows * 4;
    bytes[RT_HOST] += records + rows * (3 * 8 + 4 * 4);
    if (config->counts.ghosts > 0) /* what ghosts request of their owners, and the answers */
        bytes[RT_HOST] += 3 * sizeof(double) * (rows + static_cast<double>(config->counts.ghosts));
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
