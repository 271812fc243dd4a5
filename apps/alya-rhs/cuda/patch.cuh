/*
 * patch.cuh - the patch rung's kernel, for results in shared memory in double or float.
 *
 * A block goes from patch to patch, and its warps have three tasks. Most compute: a thread an
 * element, whose 12 results it leaves in shared memory. A few sum: a warp takes 32 rows, adds up
 * what the lists name, and gives each sum to r with one atomic addition, or a plain store where
 * nothing else adds to that node. The last warps fetch, each every so manieth patch: its record
 * with one bulk copy, its nodes with many small ones. The tasks meet at barriers in shared memory
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
 *
 * Use u of place i is phase u of the barrier, and no task can be a whole phase ahead of one that
 * waits: what it needs for that is given out by the one that waits, or after it. Every thread
 * arrives for itself. One for its warp would do, but is no faster, and compute-sanitizer's
 * racecheck takes what the other threads did for races.
 */
#ifndef ALYA_PATCH_CUH
#define ALYA_PATCH_CUH

#include "../patches.h"
#include "element.cuh"
#include "machine/async.cuh"
#include "machine/cuda.cuh"

/* Shape of the patches, warps that sum and that fetch; blocks that share a multiprocessor; what
 * results are staged in. */
template <int most_elements, int most_nodes, int summing_warps, int fetching_warps, int resident,
          class T>
struct alya_patch_kernel_t {
    using real = T;
    static constexpr int elements = most_elements, nodes = most_nodes, summing = summing_warps,
                         blocks = resident, computing = most_elements / 32,
                         fetching = fetching_warps,
                         threads = most_elements + 32 * (summing_warps + fetching);
    static constexpr int id_bytes = most_nodes <= 256 ? 1 : 2;
    static constexpr alya_patch_shape_t shape = {elements, nodes, id_bytes};
    static_assert(elements % 32 == 0 && threads <= 1024, "whole warps");

    static constexpr int records = 4, node_places = 2, stages = 2;
    static constexpr unsigned stage = ALYA_PATCH_STAGE(elements); /* of one component */
    static constexpr unsigned record_bytes = alya_patch_most_bytes(shape);
    static constexpr unsigned node_bytes = 48 * nodes, stage_bytes = 3 * stage * sizeof(T);
    static constexpr unsigned at_node = records * record_bytes,
                              at_stage = at_node + node_places * node_bytes,
                              at_barrier = at_stage + stages * stage_bytes,
                              shared_bytes = at_barrier + 8 * 2 * (records + node_places + stages);
};

/* What a kernel gets of the patches. */
typedef struct {
    int64_t patches;
    const uint32_t *offset;
    const unsigned char *record;
} alya_patch_lists_t;

/* --- the three tasks --- */

/* Shared memory of a block, and the block's patches: number i is patch blockIdx.x + i gridDim.x. */
template <class K> struct alya_patch_block_t {
    unsigned char *memory;
    uint64_t *record_full, *record_free, *node_full, *node_free, *stage_full, *stage_free;
    int count; /* of this block's patches */

    __device__ __forceinline__ alya_patch_block_t(unsigned char *shared, int64_t patches)
        : memory(shared), record_full(reinterpret_cast<uint64_t *>(shared + K::at_barrier)),
          record_free(record_full + K::records), node_full(record_free + K::records),
          node_free(node_full + K::node_places), stage_full(node_free + K::node_places),
          stage_free(stage_full + K::stages),
          count(static_cast<int>((patches - blockIdx.x + gridDim.x - 1) / gridDim.x))
    {
    }
    __device__ __forceinline__ const unsigned char *record(int i) const
    {
        return memory + i % K::records * K::record_bytes;
    }
    __device__ __forceinline__ double *node(int i) const
    {
        return reinterpret_cast<double *>(memory + K::at_node + i % K::node_places * K::node_bytes);
    }
    __device__ __forceinline__ typename K::real *stage(int i) const
    {
        return reinterpret_cast<typename K::real *>(memory + K::at_stage +
                                                    i % K::stages * K::stage_bytes);
    }
    /* For the use of a place that patch i makes, and (free) for the end of the use before. */
    __device__ __forceinline__ void wait_full(uint64_t *barrier, int places, int i) const
    {
        rt_barrier_wait(barrier + i % places, i / places % 2);
    }
    __device__ __forceinline__ void wait_free(uint64_t *barrier, int places, int i) const
    {
        rt_barrier_wait(barrier + i % places, (i / places + 1) % 2); /* at first it is free */
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

/* The nodes of one element, from shared memory. */
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
    const int e = threadIdx.x;
#pragma unroll 1
    for (int i = 0; i < block.count; i++) {
        unsigned nodes, elements, rows;
        block.wait_full(block.record_full, K::records, i);
        const alya_patch_layout_t at =
            alya_patch_read_head<K>(block.record(i), &nodes, &elements, &rows);
        block.wait_full(block.node_full, K::node_places, i);
        T r[4][3];
        if (e < elements) {
            double x[4][3], u[4][3];
            alya_patch_load<K>(block.record(i) + at.local, block.node(i), e, x, u);
            alya_element_closed<form, T>(x, u, constants, r);
        }
        rt_barrier_arrive(block.node_free + i % K::node_places);
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

/* The sums of 32 rows, a thread each, to r. */
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
    const int place = row < rows ? reinterpret_cast<const uint16_t *>(record + at.row)[row] : 0;
    const uint32_t id = reinterpret_cast<const uint32_t *>(record + at.node)[place];
    T even[3] = {0, 0, 0}, odd[3] = {0, 0, 0};
#pragma unroll 4
    for (int k = 0; k < pairs; k++) {
        const uint32_t two = list[32 * k];
        const T *one = stage + (two & 0xffff), *other = stage + (two >> 16);
#pragma unroll
        for (int c = 0; c < 3; c++) {
            even[c] += one[c * K::stage];
            odd[c] += other[c * K::stage];
        }
    }
    if (row >= rows)
        return;
    double *to = r + 3 * static_cast<size_t>(id & ~ALYA_PATCH_ALONE);
#pragma unroll
    for (int c = 0; c < 3; c++)
        if (id & ALYA_PATCH_ALONE)
            to[c] = even[c] + odd[c];
        else
            atomicAdd(to + c, static_cast<double>(even[c] + odd[c]));
}

/* Warp w of those that sum. Slices are dealt out in turn, patch after patch. */
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
    const int lane = threadIdx.x % 32, part = lane % 3;
    const auto fetch_record = [&](int i) {
        if (i >= block.count)
            return;
        block.wait_free(block.record_free, K::records, i);
        const int64_t patch = blockIdx.x + static_cast<int64_t>(i) * gridDim.x;
        const uint32_t from = lists.offset[patch], bytes = 16 * (lists.offset[patch + 1] - from);
        rt_bulk_copy<false>(const_cast<unsigned char *>(block.record(i)),
                            lists.record + 16 * static_cast<size_t>(from), bytes,
                            block.record_full + i % K::records, lane);
    };
    for (int i = w; i < ahead; i += K::fetching)
        fetch_record(i);
#pragma unroll 1
    for (int i = w; i < block.count; i += K::fetching) {
        unsigned nodes, elements, rows;
        block.wait_full(block.record_full, K::records, i);
        const alya_patch_layout_t at =
            alya_patch_read_head<K>(block.record(i), &nodes, &elements, &rows);
        const uint32_t *id = reinterpret_cast<const uint32_t *>(block.record(i) + at.node);
        double *to = block.node(i) + 2 * part;
        block.wait_free(block.node_free, K::node_places, i);
        /* 10 nodes at a time, 3 lanes each; a neighbour in another patch is found in L2 */
#pragma unroll 8
        for (unsigned n = lane < 30 ? lane / 3 : nodes; n < nodes; n += 10)
            rt_copy16(to + 6 * n,
                      packed + 6 * static_cast<size_t>(id[n] & ~ALYA_PATCH_ALONE) + 2 * part);
        rt_copies_arrive(block.node_full + i % K::node_places);
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
        for (int i = 0; i < K::node_places; i++) {
            rt_barrier_init(block.node_full + i, 32);
            rt_barrier_init(block.node_free + i, 32 * K::computing);
        }
        for (int i = 0; i < K::stages; i++) {
            rt_barrier_init(block.stage_full + i, 32 * K::computing);
            rt_barrier_init(block.stage_free + i, 32 * K::summing);
        }
        rt_barriers_made();
    }
    for (int k = threadIdx.x; k < K::stages * 3 * ALYA_PATCH_BANKS; k += K::threads)
        block.stage(k / (3 * ALYA_PATCH_BANKS))[k / ALYA_PATCH_BANKS % 3 * K::stage +
                                                4 * K::elements + k % ALYA_PATCH_BANKS] = 0;
    __syncthreads();
    const int warp = threadIdx.x / 32;
    if (warp < K::computing)
        alya_patch_compute<form, K>(block, constants);
    else if (warp < K::computing + K::summing)
        alya_patch_summing<K>(block, warp - K::computing, r);
    else
        alya_patch_fetching<K>(block, lists, warp - K::computing - K::summing, packed);
}

/* --- host --- */

/* What set_up keeps in view->data. */
typedef struct {
    alya_patch_lists_t lists; /* device memory */
    int variant;
    unsigned blocks;
} alya_patch_data_t;

/* Blocks that the device holds at once: each then takes every so manieth patch. 0: it has too
 * little shared memory. */
template <class K> unsigned alya_patch_resident()
{
    const auto kernel = alya_patch_assemble<ALYA_EMAC, K>;
    int device = 0, most = 0, blocks = 0;
    RT_CUDA(cudaGetDevice(&device));
    RT_CUDA(cudaDeviceGetAttribute(&most, cudaDevAttrMaxSharedMemoryPerBlockOptin, device));
    if (K::shared_bytes > static_cast<unsigned>(most))
        return 0;
    RT_CUDA(
        cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, K::shared_bytes));
    RT_CUDA(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, kernel, K::threads,
                                                          K::shared_bytes));
    return static_cast<unsigned>(blocks * rt_device_gpu()->multiprocessors);
}

template <int form, class K>
void alya_patch_launch(const alya_patch_data_t &data, const alya_physics_t &physics,
                       const double *packed, double *r)
{
    const auto kernel = alya_patch_assemble<form, K>;
    RT_CUDA(
        cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, K::shared_bytes));
    kernel<<<data.blocks, K::threads, K::shared_bytes, rt_stream()>>>(
        data.lists, alya_closed_constants<typename K::real>(physics), packed, r);
    RT_CUDA_LAUNCHED();
}

template <class K>
void alya_patch_launch_form(const alya_patch_data_t &data, const alya_physics_t &physics,
                            const double *packed, double *r)
{
    switch (physics.form) {
    case ALYA_CONV:
        return alya_patch_launch<ALYA_CONV, K>(data, physics, packed, r);
    case ALYA_SKEW:
        return alya_patch_launch<ALYA_SKEW, K>(data, physics, packed, r);
    case ALYA_CONS:
        return alya_patch_launch<ALYA_CONS, K>(data, physics, packed, r);
    default:
        return alya_patch_launch<ALYA_EMAC, K>(data, physics, packed, r);
    }
}

/* One line of a rung's table of kernels. */
typedef struct {
    alya_patch_shape_t shape;
    unsigned (*resident)();
    void (*launch)(const alya_patch_data_t &data, const alya_physics_t &physics,
                   const double *packed, double *r);
} alya_patch_variant_t;

template <class K> constexpr alya_patch_variant_t alya_patch_variant()
{
    return {K::shape, alya_patch_resident<K>, alya_patch_launch_form<K>};
}

/* What a shape costs on this mesh, for each element: its place in a patch, taken or not, and the
 * patch nodes, each fetched and added to r. A place and a node cost about the same: on an H200 17
 * ps (FP64 at its peak) and 14 ps (three additions at the rate of atomics on whole sectors). So a
 * shape is good if it is full and has few nodes; one whose limit of nodes is too low for the order
 * loses on both. */
inline double alya_patch_cost(const alya_mesh_t *mesh, const alya_patch_shape_t &shape)
{
    const alya_patch_count_t count = alya_patches_count(mesh, &shape);
    const double places = static_cast<double>(count.patches) * shape.elements;
    return (places + static_cast<double>(count.patch_nodes)) /
           static_cast<double>(mesh->elements > 0 ? mesh->elements : 1);
}

/* The patches of the cheapest shape, on the device. */
inline void alya_patch_set_up(alya_view_t *view, const alya_patch_variant_t *variants, int n)
{
    alya_patch_data_t *data = RT_NEW(alya_patch_data_t, 1, RT_HOST);
    data->variant = -1;
    double least = 0;
    for (int v = 0; v < n; v++) {
        if (variants[v].resident() == 0)
            continue;
        const double cost = alya_patch_cost(view->host, variants[v].shape);
        if (data->variant < 0 || cost < least) {
            least = cost;
            data->variant = v;
        }
    }
    RT_EXPECT(data->variant >= 0, RT_ENVIRONMENT, "this GPU has too little shared memory");
    const alya_patch_variant_t &variant = variants[data->variant];
    alya_patches_t *patches = alya_patches_new(view->host, &variant.shape);
    const auto count = static_cast<size_t>(patches->count.patches);
    const unsigned resident = variant.resident();
    data->blocks = count < resident ? static_cast<unsigned>(count) : resident;
    data->lists.patches = patches->count.patches;
    data->lists.offset = static_cast<const uint32_t *>(
        rt_clone(patches->offset, count + 1, sizeof(uint32_t), RT_DEVICE));
    data->lists.record = static_cast<const unsigned char *>(
        rt_clone(patches->record, patches->offset[count], ALYA_PATCH_UNIT, RT_DEVICE));
    alya_patches_destroy(patches);
    view->data = data;
}

inline void alya_patch_tear_down(alya_view_t *view)
{
    alya_patch_data_t *data = static_cast<alya_patch_data_t *>(view->data);
    if (!data)
        return;
    RT_FREE(data->lists.offset, RT_DEVICE);
    RT_FREE(data->lists.record, RT_DEVICE);
    RT_FREE(data, RT_HOST);
    view->data = nullptr;
}

/* The dearest shape counts. Records are made in host memory, and then copied. */
inline void alya_patch_memory(int64_t elements, int64_t nodes, const alya_patch_variant_t *variants,
                              int n, double bytes[RT_SPACES])
{
    double most = 0, most_making = 0;
    for (int v = 0; v < n; v++) {
        double making;
        const double held = alya_patches_memory(elements, nodes, &variants[v].shape, &making);
        most = held > most ? held : most;
        most_making = making > most_making ? making : most_making;
    }
    bytes[RT_DEVICE] += most;
    bytes[RT_HOST] += most + most_making + sizeof(alya_patch_data_t);
}

/* Nodes that no patch has must be zero, and so must all that get atomic additions. */
inline void alya_patch_run(const alya_view_t *view, const alya_physics_t *physics, double *r,
                           const alya_patch_variant_t *variants)
{
    const alya_patch_data_t *data = static_cast<const alya_patch_data_t *>(view->data);
    if (view->nodes > 0)
        RT_CUDA(cudaMemsetAsync(r, 0, 3 * sizeof(double) * static_cast<size_t>(view->nodes),
                                rt_stream()));
    if (data->blocks > 0)
        variants[data->variant].launch(*data, *physics, view->x, r);
}

#endif
