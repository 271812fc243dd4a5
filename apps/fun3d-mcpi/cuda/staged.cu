/*
 * staged.cu - chunks of rows, fetched whole into shared memory; all sweeps in one kernel.
 *
 * Idea: a few rows that follow each other are packed into one record: columns, blocks of O, LU and
 * R, all that is read once and never again. A warp fetches a record with one bulk copy, the next
 * one while it works on this one, into a ring of its own, so no warp waits for another. Out of
 * shared memory a lane takes a whole block, whose stride in banks is odd; no sum is split until the
 * blocks of a row are added up. Only dQ is gathered from memory, through L1: the chunks of a
 * multiprocessor are neighbours, and ask for the same dQ again and again. With few warps on a
 * multiprocessor nobody else hides what a warp waits for, so it asks early: dQ of the next record
 * is on its way to registers during this one, and so is where the record after that lies. A
 * colour waits for the one before, but only where neighbours are: the kernel goes through all
 * sweeps without the host. Advantage: the memory sees long, regular reads, whatever the rows'
 * lengths are. Price: O is packed at set-up and cannot be shared with other rungs; a row must fit
 * into a record; blocks wait for each other once a colour.
 */
#include "config.h"
#include <cstring>
#include "mcpi_cuda.cuh"
#include "machine/async.cuh"

/* --- the record --- */

/* Parts, each at a multiple of 16 bytes: head; where each row's blocks begin (uint16_t, rows + 1);
 * columns; O, block after block at a stride that is odd in banks; LU and then R of each row. */
struct mcpi_record_head_t {
    int32_t row, rows, blocks, zero;
};

struct mcpi_record_layout_t {
    unsigned start, column, O, LU, R, end;
};

__host__ __device__ static constexpr unsigned round16(unsigned bytes)
{
    return (bytes + 15) / 16 * 16;
}

/* Values from one block to the next: an odd number of banks (8 bytes wide for FP64, 4 bytes else),
 * but for 16 bits and odd nb, where blocks follow each other without a gap and two share a word. */
static constexpr unsigned stride_of(int nb, unsigned size)
{
    const unsigned n = static_cast<unsigned>(nb * nb);
    if (size == 2)
        return nb % 2 ? n : (n / 2 % 2 ? n : n + 2);
    return n % 2 ? n : n + 1;
}

__host__ __device__ static constexpr unsigned column_at(unsigned rows)
{
    return static_cast<unsigned>(sizeof(mcpi_record_head_t)) + round16(2 * (rows + 1));
}

__host__ __device__ static constexpr mcpi_record_layout_t
layout_of(int nb, unsigned size, unsigned stride, unsigned rows, unsigned blocks)
{
    mcpi_record_layout_t at = {};
    at.start = sizeof(mcpi_record_head_t);
    at.column = column_at(rows);
    at.O = at.column + round16(4 * blocks);
    at.LU = at.O + round16(size * stride * blocks);
    at.R = at.LU + static_cast<unsigned>(8 * nb * nb) * rows;
    at.end = round16(at.R + static_cast<unsigned>(8 * nb) * rows);
    return at;
}

template <class Form> struct staged_t {
    using O = typename Form::O;
    using Q = typename Form::X;
    using Sum = typename Form::A;
    static constexpr int nb = Form::nb, nb2 = Form::nb2;
    static constexpr unsigned size = sizeof(O), stride = stride_of(nb, size);
    /* Blocks of 5x5: 96 of 16 bits, 64 in FP32, 40 in FP64, fewer if they are larger, so that about
     * 12 warps find room; rows of meshes must fit, most of which have 15 neighbours and more. */
    static constexpr unsigned O_bytes = size == 2 ? 4800 : size == 4 ? 6400 : 8000;
    static constexpr unsigned wanted = O_bytes / (size * stride) / 8 * 8;
    static constexpr unsigned blocks = wanted < 32   ? 32
                                       : wanted > 96 ? 96
                                                     : wanted,
                              rows = (blocks + 15) / 16;
    static constexpr unsigned record_bytes = layout_of(nb, size, stride, rows, blocks).end;
    static constexpr unsigned ring = 2;                        /* records of a warp */
    static constexpr unsigned loads = (blocks * nb + 31) / 32; /* of a lane, of dQ of a record */
    static constexpr unsigned product_bytes = round16(blocks * nb * sizeof(Sum)),
                              right_bytes = round16(rows * nb * 8),
                              warp_bytes = ring * record_bytes + product_bytes + right_bytes + 16;
    /* More than 190 KB of shared memory would take L1 from the gather. */
    static constexpr unsigned fitting = 190 * 1024 / warp_bytes;
    static constexpr unsigned warps = fitting > 12 ? 12 : fitting;
    static constexpr unsigned shared_bytes = warps * warp_bytes;
    static_assert(warps >= 2 && warp_bytes % 16 == 0,
                  "a block has a few warps, copies are aligned");
};

/* What a kernel gets. */
struct mcpi_staged_lists_t {
    const unsigned char *record;
    const uint32_t *offset; /* [chunks + 1] in units of 16 bytes */
    const int32_t *colour;  /* [colours + 1] first chunk of each */
    unsigned *ended;        /* [blocks * MCPI_FLAG_APART] steps that a block has ended */
    /* Neighbours of block b, those who have rows whose dQ it reads:
     * near[near_start[b]] .. near[near_start[b + 1] - 1]. */
    const int32_t *near_start, *near;
};

/* Flags lie in sectors of their own. */
enum { MCPI_FLAG_APART = 8 };

/* --- between colours --- */

/* Blocks of the grid go through the same steps, a colour each. A block begins step k when those
 * whose rows are neighbours of its own have ended step k - 1: they have then written all that it
 * reads, and read all that it overwrites, for neighbours are so mutually. Others may be steps
 * behind: nobody waits for the slowest of all. What the threads of a block wrote before is in its
 * release; what they read later is not older than what the acquire saw, L1 has forgotten. */
__device__ __forceinline__ void end_step(const mcpi_staged_lists_t &lists, unsigned step)
{
    __syncthreads();
    if (threadIdx.x < 32) {
        if (threadIdx.x == 0)
            asm volatile("st.release.gpu.global.u32 [%0], %1;" ::"l"(lists.ended +
                                                                     blockIdx.x * MCPI_FLAG_APART),
                         "r"(step)
                         : "memory");
        const int end = lists.near_start[blockIdx.x + 1];
        for (int k = lists.near_start[blockIdx.x] + static_cast<int>(threadIdx.x); k < end;
             k += 32) {
            const unsigned *flag = lists.ended + lists.near[k] * MCPI_FLAG_APART;
            unsigned ended;
            do
                asm volatile("ld.acquire.gpu.global.u32 %0, [%1];"
                             : "=r"(ended)
                             : "l"(flag)
                             : "memory");
            while (ended < step);
        }
    }
    __syncthreads();
}

/* Through L1, and not taken for constant: it changes from colour to colour. The compiler leaves it
 * where it stands among barriers, which are volatile too. */
__device__ __forceinline__ float gather(const float *p)
{
    float x;
    asm volatile("ld.global.ca.f32 %0, [%1];" : "=f"(x) : "l"(p));
    return x;
}
__device__ __forceinline__ double gather(const double *p)
{
    double x;
    asm volatile("ld.global.ca.f64 %0, [%1];" : "=d"(x) : "l"(p));
    return x;
}

/* --- one block of O times its dQ, out of shared memory --- */

/* Two values of 16 bits, the lower half of the word first. */
template <class O> __device__ __forceinline__ float2 unpack(uint32_t two);
template <> __device__ __forceinline__ float2 unpack<__half>(uint32_t two)
{
    __half2 pair;
    memcpy(&pair, &two, sizeof pair);
    return __half22float2(pair);
}
template <> __device__ __forceinline__ float2 unpack<__nv_bfloat16>(uint32_t two)
{
    return make_float2(__uint_as_float(two << 16), __uint_as_float(two & 0xffff0000u));
}

template <class K>
__device__ __forceinline__ void multiply(const typename K::O *O, unsigned block,
                                         const typename K::Sum (&x)[K::nb],
                                         typename K::Sum (&sum)[K::nb])
{
    using Sum = typename K::Sum;
    if constexpr (K::size == 2) {
        /* Word by word; of an odd block the first value is the upper half of a word. */
        constexpr int words = (K::nb2 + 1) / 2;
        const unsigned first = block * K::stride, shift = first % 2 * 16;
        const uint32_t *word = reinterpret_cast<const uint32_t *>(O) + first / 2;
        uint32_t w[words + 1];
#pragma unroll
        for (int k = 0; k < words; k++)
            w[k] = word[k];
        w[words] = 0;
#pragma unroll
        for (int k = 0; k < words; k++) {
            const uint32_t two = __funnelshift_r(w[k], w[k + 1], shift);
            const float2 v = unpack<typename K::O>(two);
            sum[2 * k % K::nb] += static_cast<Sum>(v.x) * x[2 * k / K::nb];
            if (2 * k + 1 < K::nb2)
                sum[(2 * k + 1) % K::nb] += static_cast<Sum>(v.y) * x[(2 * k + 1) / K::nb];
        }
    } else {
        const typename K::O *o = O + block * K::stride;
#pragma unroll
        for (int j = 0; j < K::nb; j++)
#pragma unroll
            for (int i = 0; i < K::nb; i++)
                sum[i] += static_cast<Sum>(o[j * K::nb + i]) * x[j];
    }
}

/* --- the kernel --- */

/* Asks for all dQ that a record multiplies: value 32 k + lane is on its way to x[k]. */
template <class K>
__device__ __forceinline__ void gather_record(const unsigned char *record, const typename K::Q *dq,
                                              typename K::Q (&x)[K::loads], int lane)
{
    constexpr int nb = K::nb;
    const mcpi_record_head_t head = *reinterpret_cast<const mcpi_record_head_t *>(record);
    const int32_t *column =
        reinterpret_cast<const int32_t *>(record + column_at(static_cast<unsigned>(head.rows)));
#pragma unroll
    for (int k = 0; k < static_cast<int>(K::loads); k++) {
        const int t = 32 * k + lane;
        if (t < head.blocks * nb)
            x[k] = gather(dq + static_cast<size_t>(column[t / nb]) * nb + t % nb);
    }
}

/* A record that is in shared memory, and dQ that it multiplies: dQ of its rows. Calls next() as
 * soon as x is free. */
template <class K, class Next>
__device__ __forceinline__ void
sweep_record(const unsigned char *record, typename K::Sum *product, double *right,
             typename K::Q *dq, const typename K::Q (&x)[K::loads], int lane, Next next)
{
    using Sum = typename K::Sum;
    constexpr int nb = K::nb;
    const mcpi_record_head_t head = *reinterpret_cast<const mcpi_record_head_t *>(record);
    const mcpi_record_layout_t at =
        layout_of(nb, K::size, K::stride, static_cast<unsigned>(head.rows),
                  static_cast<unsigned>(head.blocks));
    const uint16_t *start = reinterpret_cast<const uint16_t *>(record + at.start);
    const typename K::O *O = reinterpret_cast<const typename K::O *>(record + at.O);
    const double *LU = reinterpret_cast<const double *>(record + at.LU);
    const double *R = reinterpret_cast<const double *>(record + at.R);
#pragma unroll
    for (int k = 0; k < static_cast<int>(K::loads); k++) {
        const int t = 32 * k + lane;
        if (t < head.blocks * nb)
            product[t] = static_cast<Sum>(x[k]);
    }
    next();
    __syncwarp();
    for (int b = lane; b < head.blocks; b += 32) {
        Sum in[nb], sum[nb];
#pragma unroll
        for (int i = 0; i < nb; i++) {
            in[i] = product[b * nb + i];
            sum[i] = 0;
        }
        multiply<K>(O, static_cast<unsigned>(b), in, sum);
#pragma unroll
        for (int i = 0; i < nb; i++)
            product[b * nb + i] = sum[i];
    }
    __syncwarp();
    for (int t = lane; t < head.rows * nb; t += 32) {
        const int end = start[t / nb + 1];
        Sum sum = 0;
#pragma unroll 6
        for (int b = start[t / nb]; b < end; b++)
            sum += product[b * nb + t % nb];
        right[t] = R[t] - static_cast<double>(sum);
    }
    __syncwarp();
    if (lane < head.rows) {
        double y[nb];
#pragma unroll
        for (int i = 0; i < nb; i++)
            y[i] = right[lane * nb + i];
        mcpi_solve<nb>(LU + lane * K::nb2, y);
#pragma unroll
        for (int i = 0; i < nb; i++)
            right[lane * nb + i] = y[i];
    }
    __syncwarp();
    typename K::Q *to = dq + static_cast<size_t>(head.row) * nb;
    for (int t = lane; t < head.rows * nb; t += 32)
        __stcg(to + t, static_cast<typename K::Q>(right[t]));
}

/* Chunks of a colour that a block takes: a range, so that they are neighbours. */
__host__ __device__ __forceinline__ int2 share_of(int first, int last, unsigned block,
                                                  unsigned blocks)
{
    const int64_t n = last - first;
    return make_int2(first + static_cast<int>(n * block / blocks),
                     first + static_cast<int>(n * (block + 1) / blocks));
}

__device__ __forceinline__ int2 share(int first, int last)
{
    return share_of(first, last, blockIdx.x, gridDim.x);
}

/* The chunks of this block, in the order of all its sweeps, as one warp of it meets them: every
 * K::warps-th, across the ends of colours and sweeps. */
struct mcpi_staged_walk_t {
    const int *colour; /* [colours + 1] shared memory */
    int colours;
    int64_t sweeps; /* left, this one included: 0 at the end */
    int at;         /* colour */
    int2 chunks;    /* of the colour */
    int chunk;      /* >= chunks.y: none is left in this colour */

    __device__ __forceinline__ mcpi_staged_walk_t(const int *colour_, int colours_, int64_t sweeps_,
                                                  int first)
        : colour(colour_), colours(colours_), sweeps(sweeps_), at(0),
          chunks(share(colour[0], colour[1])), chunk(chunks.x + first)
    {
    }

    __device__ __forceinline__ void next_colour()
    {
        const int beyond = chunk - chunks.y;
        if (++at == colours) {
            at = 0;
            sweeps--;
        }
        chunks = share(colour[at], colour[at + 1]);
        chunk = chunks.x + beyond;
    }
};

/* With colours == 0: chunks first .. last - 1, once. */
template <class K>
__global__ void __launch_bounds__(32 * K::warps, 1)
    staged_sweeps(const mcpi_staged_lists_t lists, int colours, int64_t sweeps, int first, int last,
                  typename K::Q *dq)
{
    extern __shared__ __align__(128) unsigned char staged_shared[];
    __shared__ int colour_start[MCPI_MAX_COLOURS + 1];
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    unsigned char *mine = staged_shared + warp * K::warp_bytes;
    typename K::Sum *product =
        reinterpret_cast<typename K::Sum *>(mine + K::ring * K::record_bytes);
    double *right = reinterpret_cast<double *>(mine + K::ring * K::record_bytes + K::product_bytes);
    uint64_t *full = reinterpret_cast<uint64_t *>(right + K::rows * K::nb);
    const int phases = colours == 0 ? 1 : colours;
    for (int c = threadIdx.x; c <= phases; c += blockDim.x)
        colour_start[c] = colours > 0 ? lists.colour[c] : c == 0 ? first : last;
    if (lane == 0) {
        for (unsigned k = 0; k < K::ring; k++)
            rt_barrier_init(full + k, RT_BULK_ARRIVALS);
        rt_barriers_made();
    }
    __syncthreads();

    /* The next record to fetch, of a later colour or of the next sweep it may be, and where it
     * lies: looked up one record before that is asked for. */
    mcpi_staged_walk_t ahead(colour_start, phases, sweeps, warp);
    uint32_t from = 0, to = 0;
    const auto look_up = [&]() {
        while (ahead.sweeps > 0 && ahead.chunk >= ahead.chunks.y)
            ahead.next_colour();
        if (ahead.sweeps > 0) {
            from = __ldg(lists.offset + ahead.chunk);
            to = __ldg(lists.offset + ahead.chunk + 1);
        }
    };
    const auto fetch = [&](unsigned slot) {
        if (ahead.sweeps > 0)
            rt_bulk_copy<true>(mine + slot * K::record_bytes,
                               lists.record + 16 * static_cast<size_t>(from), 16 * (to - from),
                               full + slot, lane);
        ahead.chunk += K::warps;
        look_up();
    };
    look_up();
    for (unsigned k = 0; k < K::ring; k++)
        fetch(k);

    typename K::Q x[K::loads];
    unsigned done = 0, step = 0;
    const auto gather_next = [&]() {
        const unsigned slot = done % K::ring;
        rt_barrier_wait(full + slot, done / K::ring % 2);
        gather_record<K>(mine + slot * K::record_bytes, dq, x, lane);
    };
    for (mcpi_staged_walk_t here(colour_start, phases, sweeps, warp);;) {
        if (here.chunk < here.chunks.y)
            gather_next();
        while (here.chunk < here.chunks.y) {
            const unsigned slot = done % K::ring;
            here.chunk += K::warps;
            done++;
            sweep_record<K>(mine + slot * K::record_bytes, product, right, dq, x, lane, [&]() {
                if (here.chunk < here.chunks.y)
                    gather_next();
            });
            __syncwarp(); /* everybody has read the record */
            fetch(slot);
        }
        here.next_colour();
        if (here.sweeps == 0)
            break;
        end_step(lists, ++step);
    }
}

/* --- host --- */

struct mcpi_staged_data_t {
    mcpi_staged_lists_t lists; /* device memory */
    int chunks;
    int32_t *first_row; /* [chunks + 1] host */
    uint64_t *right_at; /* [rows] device: byte offset of the row's R in the records */
    double *right;      /* [rows][nb] device: R on its way into them */
    unsigned blocks;    /* of a grid that is resident */
};

/* A chunk ends where a range of rows does that `rows` may be called for, or at a limit. */
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

/* Which blocks of the grid have rows that are neighbours: data->lists.near. */
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
                    if (part->column[k] < part->rows) /* else a ghost: no kernel writes it */
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
    data->lists.near_start =
        static_cast<const int32_t *>(rt_clone(start, blocks + 1, sizeof *start, RT_DEVICE));
    data->lists.near = static_cast<const int32_t *>(
        rt_clone(near, static_cast<size_t>(start[blocks]), sizeof *near, RT_DEVICE));
    RT_FREE(near, RT_HOST);
    RT_FREE(start, RT_HOST);
    RT_FREE(is_near, RT_HOST);
    RT_FREE(owner, RT_HOST);
}

template <class K> static void staged_set_up_of(mcpi_view_t *view)
{
    const mcpi_system_t *system = view->system;
    const mcpi_part_t *part = system->part;
    mcpi_staged_data_t *data = RT_NEW(mcpi_staged_data_t, 1, RT_HOST);
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
    data->lists.record = static_cast<const unsigned char *>(
        rt_clone(record, 16 * static_cast<size_t>(offset[chunks]), 1, RT_DEVICE));
    data->lists.offset =
        static_cast<const uint32_t *>(rt_clone(offset, n + 1, sizeof *offset, RT_DEVICE));
    data->lists.colour = static_cast<const int32_t *>(
        rt_clone(colour, static_cast<size_t>(part->colours) + 1, sizeof *colour, RT_DEVICE));
    data->right_at = static_cast<uint64_t *>(rt_clone(right_at, rows, sizeof *right_at, RT_DEVICE));
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
              "this GPU has too little shared memory: %u bytes a block", K::shared_bytes);
    data->blocks = static_cast<unsigned>(resident * rt_device_gpu()->multiprocessors);
    data->lists.ended = RT_NEW(unsigned, data->blocks *MCPI_FLAG_APART, RT_DEVICE);
    find_near(part, colour, data);
    RT_FREE(colour, RT_HOST);
    view->data = data;
}

template <class K>
static void staged_launch(const mcpi_view_t *view, int colours, int64_t sweeps, int first, int last,
                          void *dq)
{
    const mcpi_staged_data_t *data = static_cast<const mcpi_staged_data_t *>(view->data);
    typename K::Q *to = static_cast<typename K::Q *>(dq);
    mcpi_staged_lists_t lists = data->lists;
    const auto kernel = staged_sweeps<K>;
    RT_CUDA(cudaMemsetAsync(lists.ended, 0, data->blocks * MCPI_FLAG_APART * sizeof *lists.ended,
                            rt_stream()));
    void *arguments[] = {&lists, &colours, &sweeps, &first, &last, &to};
    /* cooperative: all blocks are resident, or the launch fails */
    RT_CUDA(cudaLaunchCooperativeKernel(kernel, dim3(data->blocks), dim3(32 * K::warps), arguments,
                                        K::shared_bytes, rt_stream()));
}

static void staged_set_up(mcpi_view_t *view)
{
    mcpi_fixed_form(view, [&](auto form) { staged_set_up_of<staged_t<decltype(form)>>(view); });
}

static void staged_tear_down(mcpi_view_t *view)
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

static void staged_put_r(const mcpi_view_t *view, const double *R)
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

/* The chunk that begins with this row: chunks end where ranges do. */
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
    RT_EXPECT(data->first_row[low] == row, RT_ENVIRONMENT, "rows from %lld on are no range of rows",
              static_cast<long long>(row));
    return low;
}

static void staged_rows(const mcpi_view_t *view, int64_t first, int64_t last, void *dq)
{
    const mcpi_staged_data_t *data = static_cast<const mcpi_staged_data_t *>(view->data);
    if (first == last)
        return;
    const int from = chunk_of(data, first), to = chunk_of(data, last);
    mcpi_fixed_form(view, [&](auto form) {
        staged_launch<staged_t<decltype(form)>>(view, 0, 1, from, to, dq);
    });
}

static void staged_sweeps_all(const mcpi_view_t *view, int64_t sweeps, void *dq)
{
    if (view->rows == 0 || sweeps <= 0)
        return;
    mcpi_fixed_form(view, [&](auto form) {
        staged_launch<staged_t<decltype(form)>>(view, view->colours, sweeps, 0, 0, dq);
    });
}

/* Records: what the system has, and 32 to 77 bytes a chunk, of 2 or 3 rows at the least. */
static void staged_memory(const mcpi_config_t *config, double bytes[RT_SPACES])
{
    const double nb = static_cast<double>(config->nb),
                 rows = static_cast<double>(config->local_rows),
                 blocks = static_cast<double>(config->local_blocks),
                 size = static_cast<double>(
                     mcpi_type_size(static_cast<mcpi_type_t>(config->offdiagonal)));
    const double padded = config->nb % 2 ? nb * nb : nb * nb + 2;
    const double records = blocks * (4 + size * padded) + rows * 8 * (nb * nb + nb) + rows * 32;
    bytes[RT_DEVICE] += records + rows * 8 * (nb + 1) + rows * 4;
    bytes[RT_HOST] += records + rows * (8 + 4 + 4);
}

extern "C" const mcpi_kernels_t mcpi_staged = {staged_rows,
                                               staged_sweeps_all,
                                               staged_set_up,
                                               staged_tear_down,
                                               staged_put_r,
                                               staged_memory,
                                               true,
                                               false,
                                               true,
                                               0,
                                               0};
