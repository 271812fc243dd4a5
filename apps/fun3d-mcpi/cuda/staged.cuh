/*
 * staged.cuh - the kernel of rung staged.
 */
#ifndef MCPI_STAGED_CUH
#define MCPI_STAGED_CUH

#include <cstring>
#include "staged_record.cuh"
#include "staged_steps.cuh"
#include "machine/async.cuh"

/* --- loads of dQ --- */

/* Loads through L1, and not as a constant: dQ changes from colour to colour. The compiler does not
 * move it across barriers, which are volatile too. */
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

/* --- one block of O times its dQ, from shared memory --- */

/* Returns two values of 16 bits, the lower half of the word first. */
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
        /* Word by word; the first value of an odd block is the upper half of a word. */
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

/* Starts to load all dQ that a record multiplies: value 32 k + lane goes to x[k]. */
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

/* Computes dQ of the rows of a record, whose values of dQ are in product, a lane per block; it goes
 * to `right`. Calls next() when the blocks are multiplied. */
template <class K, class Next>
__device__ __forceinline__ void whole_rows(const unsigned char *record, mcpi_record_layout_t at,
                                           mcpi_record_head_t head, typename K::Sum *product,
                                           double *right, int lane, Next next)
{
    using Sum = typename K::Sum;
    constexpr int nb = K::nb;
    const uint16_t *start = reinterpret_cast<const uint16_t *>(record + at.start);
    const typename K::O *O = reinterpret_cast<const typename K::O *>(record + at.O);
    const double *LU = reinterpret_cast<const double *>(record + at.LU);
    const double *R = reinterpret_cast<const double *>(record + at.R);
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
    next();
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
        mcpi_solve_lu(nb, LU + lane * K::nb2, y);
#pragma unroll
        for (int i = 0; i < nb; i++)
            right[lane * nb + i] = y[i];
    }
}

/* The same of a part of a row, a lane per entry of a block. sum: this lane's, from record to
 * record; 0 after the last of a row, which alone computes dQ. */
template <class K, class Next>
__device__ __forceinline__ void part_of_row(const unsigned char *record, mcpi_record_layout_t at,
                                            mcpi_record_head_t head, const typename K::Sum *product,
                                            double *right, typename K::Sum &sum, int lane,
                                            Next next)
{
    using Sum = typename K::Sum;
    constexpr int nb = K::nb;
    const typename K::O *O = reinterpret_cast<const typename K::O *>(record + at.O);
    const auto *x_of_lane =
        reinterpret_cast<const typename K::vector_t *>(product) + lane / nb * K::vectors;
    if (lane < K::L::used)
#pragma unroll 2
        for (int b = 0; b < head.blocks; b++) {
            typename K::vector_t x[K::vectors];
#pragma unroll
            for (int q = 0; q < K::vectors; q++)
                x[q] = x_of_lane[b * K::L::columns * K::vectors + q];
            mcpi_add_block<K>(
                sum, lane, [&](int k) { return static_cast<Sum>(mcpi_widen(O[b * K::nb2 + k])); },
                [&](int p) { return x[p / K::vector].at[p % K::vector]; });
        }
    next();
    if (head.rows == 0)
        return;
    const double *LU = reinterpret_cast<const double *>(record + at.LU);
    const double *R = reinterpret_cast<const double *>(record + at.R);
    const int i = lane < nb ? lane : 0; /* all lanes take part in the shuffles */
    double d[nb];
#pragma unroll
    for (int j = 0; j < nb; j++)
        d[j] = LU[j * nb + i];
    double y = R[i] - static_cast<double>(mcpi_sum_columns<K>(sum, lane));
    y = mcpi_solve_lanes<nb>(
        d, lane, y, [](double mine, int j) { return __shfl_sync(MCPI_ALL_LANES, mine, j); });
    if (lane < nb)
        right[lane] = y;
    sum = 0;
}

/* Computes dQ of the rows of a record that is in shared memory, from the dQ in x. Calls next() when
 * x is free and the blocks are multiplied: the next record has had that time to arrive. copies: NULL
 * stores nothing on other GPUs. */
template <class K, class Next>
__device__ __forceinline__ void
sweep_record(const unsigned char *record, typename K::Sum *product, double *right,
             typename K::Q *dq, const typename K::Q (&x)[K::loads], typename K::Sum &sum,
             const mcpi_copy_t *copies, int lane, Next next)
{
    constexpr int nb = K::nb;
    const mcpi_record_head_t head = *reinterpret_cast<const mcpi_record_head_t *>(record);
    const mcpi_record_layout_t at =
        layout_of(nb, K::size, K::stride, static_cast<unsigned>(head.rows),
                  static_cast<unsigned>(head.blocks));
    const int n_copies = copies ? head.copies : 0;
    mcpi_copy_t copy = {}; /* wanted at the end, so asked for now */
    if (lane < n_copies)
        copy = copies[head.copy + lane];
#pragma unroll
    for (int k = 0; k < static_cast<int>(K::loads); k++) {
        const int t = 32 * k + lane;
        if (t < head.blocks * nb)
            product[K::place(t)] = static_cast<typename K::Sum>(x[k]);
    }
    __syncwarp();
    if constexpr (K::split)
        part_of_row<K>(record, at, head, product, right, sum, lane, next);
    else
        whole_rows<K>(record, at, head, product, right, lane, next);
    __syncwarp();
    typename K::Q *to = dq + static_cast<size_t>(head.row) * nb;
    for (int t = lane; t < head.rows * nb; t += 32)
        __stcg(to + t, static_cast<typename K::Q>(right[t]));
    store_ghosts<nb, typename K::Q>(copies + head.copy, n_copies, copy, right, lane);
}

/* Fills the block's share of each colour; with colours == 0, of the chunks first .. last - 1. */
__device__ __forceinline__ void fetch_shares(const mcpi_staged_lists_t &lists, int colours,
                                             int first, int last, mcpi_share_t *share)
{
    for (int c = threadIdx.x; c < colours; c += blockDim.x)
        share[c] = lists.share[blockIdx.x * colours + c];
    if (colours == 0 && threadIdx.x == 0) {
        const int64_t n = last - first, block = blockIdx.x, blocks = gridDim.x;
        const int from = first + static_cast<int>(n * block / blocks);
        share[0] = {from, 0, from, first + static_cast<int>(n * (block + 1) / blocks) - from, 0};
    }
}

/* With colours == 0: chunks first .. last - 1, once, and other GPUs learn nothing of it. begin: the
 * number of the launch; its steps have the numbers that follow. */
template <class K>
__global__ void __launch_bounds__(32 * K::warps, 1)
    staged_sweeps(const mcpi_staged_lists_t lists, int colours, int64_t sweeps, int first, int last,
                  unsigned begin, typename K::Q *dq)
{
    extern __shared__ __align__(128) unsigned char staged_shared[];
    __shared__ mcpi_share_t share[MCPI_MAX_COLOURS];
    __shared__ unsigned done_awaited; /* awaited_done's */
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    unsigned char *mine = staged_shared + warp * K::warp_bytes;
    typename K::Sum *product =
        reinterpret_cast<typename K::Sum *>(mine + K::ring * K::record_bytes);
    double *right = reinterpret_cast<double *>(mine + K::ring * K::record_bytes + K::product_bytes);
    uint64_t *full = reinterpret_cast<uint64_t *>(right + K::rows * K::nb);
    const int phases = colours == 0 ? 1 : colours;
    const bool flags = colours > 0; /* and some of other GPUs: */
    const mcpi_watch_t watch = flags ? watch_near(lists) : mcpi_watch_t{};
    const bool far = watch.raise < watch.raise_end;
    fetch_shares(lists, colours, first, last, share);
    if (threadIdx.x == 0)
        done_awaited = 0;
    if (lane == 0) {
        for (unsigned k = 0; k < K::ring; k++)
            rt_barrier_init(full + k, RT_BULK_ARRIVALS);
        rt_barriers_made();
    }
    __syncthreads();

    /* The next record to fetch, perhaps of a later colour or sweep. Its position is looked up one
     * record before it is fetched. */
    mcpi_staged_walk_t ahead(share, phases, sweeps, warp);
    uint32_t from = 0, to = 0;
    const auto look_up = [&]() {
        while (ahead.sweeps > 0 && !ahead.has_chunk())
            ahead.next_colour();
        if (ahead.sweeps > 0) {
            from = __ldg(lists.offset + ahead.chunk());
            to = __ldg(lists.offset + ahead.chunk() + 1);
        }
    };
    const auto fetch = [&](unsigned slot) {
        const uint32_t left = to - from,
                       n = K::split && left > K::record_bytes / 16 ? K::part : left;
        if (ahead.sweeps > 0)
            rt_bulk_copy<true>(mine + slot * K::record_bytes,
                               lists.record + 16 * static_cast<size_t>(from), 16 * n, full + slot,
                               lane);
        from += n;
        if (K::split && from < to) /* the row goes on */
            return;
        ahead.position += K::warps;
        look_up();
    };
    look_up();
    for (unsigned k = 0; k < K::ring; k++)
        fetch(k);
    if (far) {
        if (warp == 0)
            raise_flags(lists, watch, begin);
        wait_for_blocks(lists, watch, begin, true);
        __syncthreads();
    }

    const mcpi_copy_t *copies = far ? lists.copy : nullptr;
    typename K::Q x[K::loads];
    typename K::Sum sum = 0;
    unsigned done = 0, step = begin;
    const auto gather_next = [&]() {
        const unsigned slot = done % K::ring;
        rt_barrier_wait(full + slot, done / K::ring % 2);
        gather_record<K>(mine + slot * K::record_bytes, dq, x, lane);
    };
    for (mcpi_staged_walk_t here(share, phases, sweeps, warp);;) {
        step++;
        const unsigned due = (step - begin) * K::warps;
        if (flags && here.position >= here.now.awaited)
            awaited_done(lists, watch, &done_awaited, due, step);
        if (here.has_chunk())
            gather_next();
        while (here.has_chunk()) {
            const unsigned slot = done % K::ring;
            const unsigned char *record = mine + slot * K::record_bytes;
            const bool ends =
                !K::split || reinterpret_cast<const mcpi_record_head_t *>(record)->rows > 0;
            const bool awaited = ends && here.position < here.now.awaited;
            here.position += ends ? K::warps : 0;
            done++;
            sweep_record<K>(record, product, right, dq, x, sum, copies, lane, [&]() {
                if (here.has_chunk())
                    gather_next();
            });
            __syncwarp(); /* all lanes have read the record */
            fetch(slot);
            if (awaited && here.position >= here.now.awaited)
                awaited_done(lists, watch, &done_awaited, due, step);
        }
        here.next_colour();
        if (here.sweeps == 0)
            break;
        wait_for_blocks(lists, watch, step, false);
        __syncthreads();
    }
    if (far)
        wait_for_blocks(lists, watch, step, true);
}

#endif
