/*
 * patch.cuh - the patch rung's kernel, for results in shared memory in double or float.
 *
 * A block goes from patch to patch, and its warps have three tasks. Most compute: one thread per
 * element, which leaves its 12 results in shared memory. A few sum: a warp takes 32 rows, adds up
 * what the lists name, and gives each sum to r with one atomic addition, or with a plain store
 * where nothing else adds to that node. The last warps fetch alternately: a patch's record with
 * one bulk copy, its nodes with many small ones. The tasks meet at barriers in shared memory
 * (mbarrier), so that a patch is computed while the one before is summed and the next is fetched,
 * and no barrier stops the whole block.
 *
 *     barrier      completes when                        and then
 *     record_full  the bulk copy has arrived             ids and lists may be read
 *     record_free  every summing thread has its sums     the next record may be fetched
 *     node_full    the node copies have arrived          elements may be computed
 *     node_free    every computing thread has its nodes  the next nodes may be fetched
 *     stage_full   every computing thread left results   sums may start
 *     stage_free   every summing thread has its sums     results may be overwritten
 *     computed     every thread of a computing warp has  the next warp of its chain may compute
 *                  its results in registers
 *
 * Use u of slot i is phase u of the barrier, and no task can be a whole phase ahead of one that
 * waits: what it would need for that is released by the waiting task, or after it. Every thread
 * arrives for itself. One arrival per warp would be correct, but is no faster, and compute-
 * sanitizer's racecheck reports what the other threads did as races.
 */
#ifndef ALYA_PATCH_CUH
#define ALYA_PATCH_CUH

#include "../patches/patches.h"
#include "element.cuh"
#include "machine/async.cuh"
#include "machine/cuda.cuh"

/* Shape of the patches, warps that sum and that fetch; computing warps of a scheduler that compute
 * at once, in turns (0: all, as it comes); blocks that share a multiprocessor; type in which results
 * are staged; registers of computing warps and of the others (0: of all the same). */
template <int most_elements, int most_nodes, int summing_warps, int fetching_warps,
          int most_at_once, int resident, class T, int more_registers = 0, int fewer_registers = 0>
struct alya_patch_kernel_t {
    using real = T;
    static constexpr int elements = most_elements, nodes = most_nodes, summing = summing_warps,
                         blocks = resident, computing = most_elements / 32,
                         fetching = fetching_warps, more = more_registers, fewer = fewer_registers,
                         threads = most_elements + 32 * (summing_warps + fetching);
    static constexpr int id_bytes = most_nodes <= 256 ? 1 : 2;
    static constexpr alya_patch_shape_t shape = {elements, nodes, id_bytes};
    static_assert(elements % 32 == 0 && threads <= 1024, "whole warps");
    static_assert(more == 0 || (computing % 4 == 0 && threads % 128 == 0), "fours of warps");
    static_assert(more * elements + fewer * (threads - elements) <=
                      65536 / blocks / threads / 8 * 8 * threads,
                  "as many registers as at the start, or computing warps wait for ever");

    static constexpr int records = 4, node_slots = 2, stages = 2, at_once = most_at_once;
    static constexpr unsigned stage = ALYA_PATCH_STAGE(elements); /* of one component */
    static constexpr unsigned record_bytes = alya_patch_most_bytes(shape);
    static constexpr unsigned node_bytes = 48 * nodes, stage_bytes = 3 * stage * sizeof(T);
    static constexpr unsigned at_node = records * record_bytes,
                              at_stage = at_node + node_slots * node_bytes,
                              at_barrier = at_stage + stages * stage_bytes,
                              shared_bytes = at_barrier + 8 * 2 * (records + node_slots + stages) +
                                             8 * computing;
};

/* --- the three tasks --- */

/* Shared memory of a block, and the block's patches: number i is patch blockIdx.x + i gridDim.x. */
template <class K> struct alya_patch_block_t {
    unsigned char *memory;
    uint64_t *record_full, *record_free, *node_full, *node_free, *stage_full, *stage_free,
        *computed;
    int count; /* of this block's patches */

    __device__ __forceinline__ alya_patch_block_t(unsigned char *shared, int64_t patches)
        : memory(shared), record_full(reinterpret_cast<uint64_t *>(shared + K::at_barrier)),
          record_free(record_full + K::records), node_full(record_free + K::records),
          node_free(node_full + K::node_slots), stage_full(node_free + K::node_slots),
          stage_free(stage_full + K::stages), computed(stage_free + K::stages),
          count(static_cast<int>((patches - blockIdx.x + gridDim.x - 1) / gridDim.x))
    {
    }
    __device__ __forceinline__ const unsigned char *record(int i) const
    {
        return memory + i % K::records * K::record_bytes;
    }
    __device__ __forceinline__ double *node(int i) const
    {
        return reinterpret_cast<double *>(memory + K::at_node + i % K::node_slots * K::node_bytes);
    }
    __device__ __forceinline__ typename K::real *stage(int i) const
    {
        return reinterpret_cast<typename K::real *>(memory + K::at_stage +
                                                    i % K::stages * K::stage_bytes);
    }
    /* Wait for the use of a slot by patch i to begin, or (free) for the previous use to end. */
    __device__ __forceinline__ void wait_full(uint64_t *barrier, int slots, int i) const
    {
        rt_barrier_wait(barrier + i % slots, i / slots % 2);
    }
    __device__ __forceinline__ void wait_free(uint64_t *barrier, int slots, int i) const
    {
        rt_barrier_wait(barrier + i % slots, (i / slots + 1) % 2); /* at first it is free */
    }
};

template <class K>
__device__ __forceinline__ alya_patch_layout_t alya_patch_read_head(const unsigned char *record,
                                                                    unsigned *nodes,
                                                                    unsigned *elements,
                                                                    unsigned *rows)
{
    const uint4 head = *reinterpret_cast<const uint4 *>(record);
    *nodes = head.x;
    *elements = head.y;
    *rows = head.w;
    return alya_patch_layout(head.x, head.y, head.w, K::id_bytes);
}

/* Loads the nodes of one element from shared memory. */
template <class K>
__device__ __forceinline__ void alya_patch_load(const unsigned char *local, const double *node,
                                                int e, double (&x)[4][3], double (&u)[4][3])
{
    int id[4];
    if (K::id_bytes == 1) {
        const uchar4 c = reinterpret_cast<const uchar4 *>(local)[e];
        id[0] = c.x, id[1] = c.y, id[2] = c.z, id[3] = c.w;
    } else {
        const ushort4 c = reinterpret_cast<const ushort4 *>(local)[e];
        id[0] = c.x, id[1] = c.y, id[2] = c.z, id[3] = c.w;
    }
#pragma unroll
    for (int a = 0; a < 4; a++) {
        const double2 *two = reinterpret_cast<const double2 *>(node + 6 * id[a]);
        const double2 p = two[0], q = two[1], s = two[2];
        x[a][0] = p.x, x[a][1] = p.y, x[a][2] = q.x;
        u[a][0] = q.y, u[a][1] = s.x, u[a][2] = s.y;
    }
}

template <int form, class K>
__device__ __forceinline__ void alya_patch_compute(const alya_patch_block_t<K> &block,
                                                   const alya_closed_t<typename K::real> &constants)
{
    using T = typename K::real;
    constexpr int chains = K::at_once > 0 ? K::at_once : 1;
    const int e = threadIdx.x, warp = threadIdx.x / 32;
    /* Warps w, w + 4, ... share a scheduler. Every `chains`-th of them are a chain; its first one
     * follows the last one's patch before. So no warp is two phases ahead of one that waits. */
    const int sharing = (K::computing - warp % 4 + 3) / 4, place = warp / 4;
    const bool first = place < chains;
    uint64_t *const previous =
        block.computed + warp + 4 * (first ? (sharing - 1 - place) / chains * chains : -chains);
#pragma unroll 1
    for (int i = 0; i < block.count; i++) {
        unsigned nodes, elements, rows;
        block.wait_full(block.record_full, K::records, i);
        const alya_patch_layout_t at =
            alya_patch_read_head<K>(block.record(i), &nodes, &elements, &rows);
        block.wait_full(block.node_full, K::node_slots, i);
        double x[4][3], u[4][3];
        T r[4][3];
        /* without a branch, which would cost registers: a thread too many computes element 0 */
        alya_patch_load<K>(block.record(i) + at.local, block.node(i), e < elements ? e : 0, x, u);
        rt_barrier_arrive(block.node_free + i % K::node_slots);
        if constexpr (K::at_once > 0)
            rt_barrier_wait(previous, (i + first) % 2);
        alya_element_closed<form, T>(x, u, constants, r);
        if constexpr (K::at_once > 0)
            rt_barrier_arrive(block.computed + warp);
        block.wait_free(block.stage_free, K::stages, i);
        if (e < elements) {
            T *stage = block.stage(i) + e;
#pragma unroll
            for (int a = 0; a < 4; a++)
#pragma unroll
                for (int c = 0; c < 3; c++)
                    stage[c * K::stage + a * K::elements] = r[a][c];
        }
        rt_barrier_arrive(block.stage_full + i % K::stages);
    }
}

/* Adds the sums of 32 rows, one per thread, to r. One sum per component: with two the compiler has
 * four loads in flight in 48 registers, not the six of a pair. */
template <class K>
__device__ __forceinline__ void alya_patch_sum(const unsigned char *record,
                                               const alya_patch_layout_t &at, int rows, int slice,
                                               const typename K::real *stage, double *r)
{
    using T = typename K::real;
    const int lane = threadIdx.x % 32, row = 32 * slice + lane;
    const uint16_t *start = reinterpret_cast<const uint16_t *>(record + at.start);
    const int first = start[slice], pairs = start[slice + 1] - first;
    const uint32_t *list = reinterpret_cast<const uint32_t *>(record + at.list) + 32 * first + lane;
    const int local = row < rows ? reinterpret_cast<const uint16_t *>(record + at.row)[row] : 0;
    const uint32_t id = reinterpret_cast<const uint32_t *>(record + at.node)[local];
    T sum[3] = {0, 0, 0};
    uint32_t next = list[0];
#pragma unroll 2
    for (int k = 0; k < pairs; k++) {
        const uint32_t two = next;
        next = list[32 * (k + 1)]; /* in the end one of another slice, or nothing */
        const T *one = stage + (two & 0xffff), *other = stage + (two >> 16);
#pragma unroll
        for (int c = 0; c < 3; c++)
            sum[c] += one[c * K::stage] + other[c * K::stage];
    }
    if (row >= rows)
        return;
    double *to = r + 3 * static_cast<size_t>(id & ~ALYA_PATCH_ALONE);
    if (id & ALYA_PATCH_ALONE) {
        for (int c = 0; c < 3; c++)
            to[c] = sum[c];
    } else {
        for (int c = 0; c < 3; c++)
            atomicAdd(to + c, static_cast<double>(sum[c]));
    }
}

/* Runs warp w of those that sum. Slices are dealt out one by one, patch after patch. */
template <class K>
__device__ __forceinline__ void alya_patch_summing(const alya_patch_block_t<K> &block, int w,
                                                   double *__restrict__ r)
{
    int slice = w;
#pragma unroll 1
    for (int i = 0; i < block.count; i++) {
        unsigned nodes, elements, rows;
        block.wait_full(block.stage_full, K::stages, i);
        const alya_patch_layout_t at =
            alya_patch_read_head<K>(block.record(i), &nodes, &elements, &rows);
        const int slices = alya_patch_slices(rows);
#pragma unroll 1
        for (; slice < slices; slice += K::summing)
            alya_patch_sum<K>(block.record(i), at, rows, slice, block.stage(i), r);
        slice -= slices;
        rt_barrier_arrive(block.stage_free + i % K::stages);
        rt_barrier_arrive(block.record_free + i % K::records);
    }
}

template <class K>
__device__ __forceinline__ void alya_patch_fetching(const alya_patch_block_t<K> &block,
                                                    const alya_patch_lists_t &lists, int w,
                                                    const double *__restrict__ packed)
{
    constexpr int ahead = K::records - 2; /* the sums of the patch before may take their time */
    constexpr int batch = 8;
    const int lane = threadIdx.x % 32, part = lane % 3;
    uint32_t from, end; /* of the next record to be fetched: read early */
    const auto find_record = [&](int i) {
        if (i >= block.count)
            return;
        const int64_t patch = blockIdx.x + static_cast<int64_t>(i) * gridDim.x;
        from = lists.offset[patch];
        end = lists.offset[patch + 1];
    };
    const auto fetch_record = [&](int i) {
        if (i >= block.count)
            return;
        block.wait_free(block.record_free, K::records, i);
        rt_bulk_copy<false>(const_cast<unsigned char *>(block.record(i)),
                            lists.record + 16 * static_cast<size_t>(from), 16 * (end - from),
                            block.record_full + i % K::records, lane);
    };
    for (int i = w; i < ahead; i += K::fetching) {
        find_record(i);
        fetch_record(i);
    }
#pragma unroll 1
    for (int i = w; i < block.count; i += K::fetching) {
        unsigned nodes, elements, rows;
        find_record(i + ahead);
        block.wait_full(block.record_full, K::records, i);
        const alya_patch_layout_t at =
            alya_patch_read_head<K>(block.record(i), &nodes, &elements, &rows);
        const uint32_t *id = reinterpret_cast<const uint32_t *>(block.record(i) + at.node);
        double *to = block.node(i) + 2 * part;
        block.wait_free(block.node_free, K::node_slots, i);
        /* 10 nodes at a time, 3 lanes each; a neighbour in another patch is found in L2. Ids are
         * read together, some of them beyond the last. */
#pragma unroll 1
        for (unsigned n = lane < 30 ? lane / 3 : nodes; n < nodes; n += 10 * batch) {
            uint32_t node[batch];
#pragma unroll
            for (int k = 0; k < batch; k++)
                node[k] = id[n + 10 * k] & ~ALYA_PATCH_ALONE;
#pragma unroll
            for (int k = 0; k < batch; k++)
                if (n + 10 * k < nodes)
                    rt_copy16(to + 6 * (n + 10 * k),
                              packed + 6 * static_cast<size_t>(node[k]) + 2 * part);
        }
        rt_copies_arrive(block.node_full + i % K::node_slots);
        fetch_record(i + ahead);
    }
}

template <int form, class K>
__global__ void __launch_bounds__(K::threads, K::blocks)
    alya_patch_assemble(const __grid_constant__ alya_patch_lists_t lists,
                        const __grid_constant__ alya_closed_t<typename K::real> constants,
                        const double *__restrict__ packed, double *__restrict__ r)
{
    extern __shared__ __align__(128) unsigned char alya_patch_shared[];
    const alya_patch_block_t<K> block(alya_patch_shared, lists.patches);
    if (threadIdx.x == 0) {
        for (int i = 0; i < K::records; i++) {
            rt_barrier_init(block.record_full + i, RT_BULK_ARRIVALS);
            rt_barrier_init(block.record_free + i, 32 * K::summing);
        }
        for (int i = 0; i < K::node_slots; i++) {
            rt_barrier_init(block.node_full + i, 32);
            rt_barrier_init(block.node_free + i, 32 * K::computing);
        }
        for (int i = 0; i < K::stages; i++) {
            rt_barrier_init(block.stage_full + i, 32 * K::computing);
            rt_barrier_init(block.stage_free + i, 32 * K::summing);
        }
        for (int i = 0; i < K::computing; i++)
            rt_barrier_init(block.computed + i, 32);
        rt_barriers_made();
    }
    for (int k = threadIdx.x; k < K::stages * 3 * ALYA_PATCH_BANKS; k += K::threads)
        block.stage(k / (3 * ALYA_PATCH_BANKS))[k / ALYA_PATCH_BANKS % 3 * K::stage +
                                                4 * K::elements + k % ALYA_PATCH_BANKS] = 0;
    __syncthreads();
    const int warp = threadIdx.x / 32;
    if (warp < K::computing) {
        rt_set_registers<K::more, true>();
        return alya_patch_compute<form, K>(block, constants);
    }
    rt_set_registers<K::fewer, false>();
    if (warp < K::computing + K::summing)
        alya_patch_summing<K>(block, warp - K::computing, r);
    else
        alya_patch_fetching<K>(block, lists, warp - K::computing - K::summing, packed);
}

#endif
