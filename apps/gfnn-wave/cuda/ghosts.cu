/*
 * ghosts.cu - the ghosts of a vector on the GPU: across periodic faces of the box, and those of
 * other GPUs of the host.
 *
 * Idea: vectors are in memory that the other GPUs have mapped (halo/peer_memory.h), and the boxes
 * are cut along planes. So a rank stores its nodes straight into the places where its neighbours
 * have them as ghosts: one kernel per exchange, nothing is packed, and values are stored once, in
 * the order of the array.
 *
 * Advantage: no buffers and no lists of nodes; an exchange costs its bytes and two flags. Price: one
 * host, a GPU per rank, and blocks that hold their multiprocessor while they wait.
 *
 * Flags. The neighbours' ghosts may still be read by their kernels. So this kernel begins by telling
 * them `ready`: all older kernels of this rank have ended. It stores into a neighbour's memory when
 * that one is ready. Then the last of its blocks says `done`, and waits until all neighbours are
 * done. A flag holds the number of the exchange, which the GPU counts, so a replayed graph keeps
 * counting. A rank cannot be two exchanges ahead, so a flag is never overwritten before it is read.
 *
 * Why it ends. The first block sends `ready` before it waits for anything, and blocks that wait are
 * few enough to run at once. A kernel that waits longer than RT_FLAG_PATIENCE fails, so a rank left
 * alone ends with CUDA's error.
 */
#include "config.h"
#include "halo/peer_memory.h"
#include "halo/signal.cuh"
#include "rows.cuh"
#include "apps/gfnn-wave/box/ghosts.h"

namespace
{

/* MOST: patches. BLOCKS: most per multiprocessor that wait for others. AT_ONCE: nodes in flight per
 * thread. */
enum { THREADS = 256, BLOCKS = 4, AT_ONCE = 2, MOST = 512 };

/* Patches of one kind of vector, with a share of the blocks each. */
struct part_t {
    gfnn_patch_t patch;
    unsigned first_block, end_block;
};
struct plan_t {
    part_t *part; /* device */
    int parts;
    unsigned blocks, remote_blocks; /* the first ones store into other ranks' memory */
};

/* What a GPU counts; device memory. */
struct count_t {
    unsigned epoch, ticket;
};
enum { READY, DONE, KINDS };

/* What a kernel gets. flag[r]: those of rank r, [KINDS][ranks][RT_FLAG_APART]. */
struct exchange_t {
    const part_t *part;
    int parts;
    unsigned remote_blocks;
    gfnn_lines_t lines;
    int rank, ranks;
    unsigned neighbours; /* a bit per rank */
    count_t *count;
    unsigned *flag[RT_PEER_RANKS];
    void *there[RT_PEER_RANKS]; /* the vector on each rank */
};

/* Returns rank `owner`'s flag that rank `from` puts. */
__device__ __forceinline__ unsigned *flag_of(const exchange_t &e, int owner, int kind, int from)
{
    return e.flag[owner] + (kind * e.ranks + from) * RT_FLAG_APART;
}

/* Copies this block's share of a patch. */
template <class T>
__device__ __forceinline__ void store_part(const exchange_t &e, const part_t &part, const T *x,
                                           T *there)
{
    const gfnn_patch_t &p = part.patch;
    const unsigned nx = p.n[0], ny = p.n[1], count = nx * ny * p.n[2];
    const unsigned step = (part.end_block - part.first_block) * THREADS;
    const unsigned id = (blockIdx.x - part.first_block) * THREADS + threadIdx.x;
    for (unsigned first = id; first < count; first += AT_ONCE * step) {
        T value[AT_ONCE][3];
        T *to[AT_ONCE];
#pragma unroll
        for (int a = 0; a < AT_ONCE; a++) {
            const unsigned t = first + a * step, row = t / nx;
            const int i = t % nx, j = row % ny, k = row / ny;
            const int64_t from = p.from + k * e.lines.slab + j * e.lines.pitch + i;
            to[a] = there + (p.to + k * p.to_slab + j * p.to_pitch + i);
#pragma unroll
            for (int c = 0; c < 3 && t < count; c++)
                value[a][c] = x[from + c * e.lines.plane];
        }
#pragma unroll
        for (int a = 0; a < AT_ONCE; a++)
#pragma unroll
            for (int c = 0; c < 3 && first + a * step < count; c++)
                to[a][c * p.to_plane] = value[a][c];
    }
}

/* Ends an exchange, in the last block that stored into other ranks' memory. */
__device__ __forceinline__ void end_exchange(const exchange_t &e, unsigned epoch)
{
    const int rank = threadIdx.x;
    __threadfence_system();
    if (rank < e.ranks && (e.neighbours >> rank & 1)) {
        rt_flag_put<RT_ONE_HOST>(flag_of(e, rank, DONE, e.rank), epoch);
        rt_flag_wait<RT_ONE_HOST>(flag_of(e, e.rank, DONE, rank), epoch);
    }
    __syncthreads();
    if (threadIdx.x != 0)
        return;
    e.count->ticket = 0;
    e.count->epoch = epoch;
}

/* Returns the number of this block's part. The lanes of a warp look at 32 parts at once: one after
 * the other they take microseconds. */
__device__ __forceinline__ int part_of_block(const exchange_t &e)
{
    int number = 0;
    for (int first = 0; first < e.parts; first += 32) {
        const int at = first + threadIdx.x % 32;
        const bool before = at < e.parts && blockIdx.x >= e.part[at].end_block;
        number += __popc(__ballot_sync(0xffffffffu, before));
    }
    return number;
}

template <class T>
__global__ void __launch_bounds__(THREADS) exchange_kernel(const __grid_constant__ exchange_t e)
{
    __shared__ bool last;
    T *const x = static_cast<T *>(e.there[e.rank]);
    const part_t part = e.part[part_of_block(e)];
    if (blockIdx.x >= e.remote_blocks) {
        store_part(e, part, x, x);
        return;
    }
    const unsigned epoch = __ldcg(&e.count->epoch) + 1;
    if (blockIdx.x == 0 && threadIdx.x < e.ranks && (e.neighbours >> threadIdx.x & 1))
        rt_flag_put<RT_ONE_HOST>(flag_of(e, threadIdx.x, READY, e.rank), epoch);
    if (threadIdx.x == 0)
        rt_flag_wait<RT_ONE_HOST>(flag_of(e, e.rank, READY, part.patch.rank), epoch);
    __syncthreads();
    store_part(e, part, x, static_cast<T *>(e.there[part.patch.rank]));
    __syncthreads();
    if (threadIdx.x == 0) {
        __threadfence_system(); /* what the block stored is there before the count is */
        last = atomicAdd(&e.count->ticket, 1u) == e.remote_blocks - 1;
    }
    __syncthreads();
    if (last)
        end_exchange(e, epoch);
}

} // namespace

/* Kinds of vectors: on `fine`, 1 deep; on `wide`, 1 deep and as deep as the reach. */
enum { FINE, NEAR, FAR, VECTORS, MOST_SHARED = 16 };

/* A vector, on all ranks. */
struct gfnn_shared_vector_t {
    rt_peer_memory_t memory;
    size_t bytes;
};

struct gfnn_ghosts_t {
    plan_t plan[VECTORS];
    unsigned neighbours;
    count_t *count;        /* device; NULL: nothing is shared */
    rt_peer_memory_t flag; /* [KINDS][ranks][RT_FLAG_APART] */
    gfnn_shared_vector_t shared[MOST_SHARED];
    int n_shared;
};

static double nodes_of(const gfnn_patch_t &patch)
{
    return static_cast<double>(patch.n[0]) * patch.n[1] * patch.n[2];
}

/* Makes a plan. Blocks that store into this rank's memory wait for nothing: there are as many as it
 * takes. The others must all run at once. */
static void make_plan(gfnn_ghosts_t *ghosts, const gfnn_view_t *view, int kind)
{
    plan_t *plan = &ghosts->plan[kind];
    gfnn_patch_t *patch = RT_NEW(gfnn_patch_t, MOST, RT_HOST);
    part_t *part = RT_NEW(part_t, MOST, RT_HOST);
    const int me = rt_comm_rank();
    const int width = kind == FAR ? static_cast<int>(view->config->reach) : 1;
    const int count = gfnn_ghosts_list(view->config, me, kind != FINE, width, MOST, patch);
    RT_EXPECT(count <= MOST, RT_ENVIRONMENT, "%d patches of ghosts", count);
    double remote = 0;
    for (int i = 0; i < count; i++)
        remote += patch[i].rank != me ? nodes_of(patch[i]) : 0;
    const double most = static_cast<double>(BLOCKS) * rt_device_gpu()->multiprocessors;
    const double share = fmax(static_cast<double>(THREADS), ceil(remote / most));
    for (int i = 0; i < count; i++) {
        const unsigned first = plan->blocks;
        const double each = patch[i].rank != me ? share : static_cast<double>(THREADS);
        plan->blocks += static_cast<unsigned>(ceil(nodes_of(patch[i]) / each));
        part[i] = {patch[i], first, plan->blocks};
        if (patch[i].rank != me)
            plan->remote_blocks = plan->blocks;
        if (patch[i].rank != me && patch[i].rank < RT_PEER_RANKS)
            ghosts->neighbours |= 1u << patch[i].rank;
    }
    plan->parts = count;
    plan->part =
        static_cast<part_t *>(rt_clone(part, static_cast<size_t>(count), sizeof *part, RT_DEVICE));
    RT_FREE(patch, RT_HOST);
    RT_FREE(part, RT_HOST);
}

/* Tells where a vector is on each rank; false: it is not shared. */
static bool find_shared(const gfnn_ghosts_t *ghosts, const void *x, exchange_t *e)
{
    for (int i = 0; i < ghosts->n_shared; i++) {
        const gfnn_shared_vector_t &vector = ghosts->shared[i];
        const char *base = static_cast<const char *>(vector.memory.of[e->rank]);
        const ptrdiff_t at = static_cast<const char *>(x) - base;
        if (at < 0 || at >= static_cast<ptrdiff_t>(vector.bytes))
            continue;
        for (int r = 0; r < e->ranks; r++)
            e->there[r] = static_cast<char *>(vector.memory.of[r]) + at;
        return true;
    }
    return false;
}

extern "C" {

gfnn_ghosts_t *gfnn_cuda_ghosts_new(const gfnn_view_t *view)
{
    auto *ghosts = new gfnn_ghosts_t();
    for (int kind = 0; kind < VECTORS; kind++)
        make_plan(ghosts, view, kind);
    return ghosts;
}

void gfnn_cuda_ghosts_destroy(gfnn_ghosts_t *ghosts)
{
    if (ghosts->count) {
        RT_FREE(ghosts->count, RT_DEVICE);
        rt_peer_destroy(&ghosts->flag);
    }
    for (plan_t &plan : ghosts->plan)
        RT_FREE(plan.part, RT_DEVICE);
    delete ghosts;
}

void gfnn_cuda_wrap(const gfnn_view_t *view, int width, rt_type_t type, void *x)
{
    gfnn_ghosts_t *ghosts = gfnn_vectors_data(view)->ghosts;
    const int kind = type == RT_F64 ? FINE : width == 1 ? NEAR : FAR;
    const plan_t *plan = &ghosts->plan[kind];
    exchange_t e = {plan->part,
                    plan->parts,
                    plan->remote_blocks,
                    gfnn_lines_t(type == RT_F64 ? view->box->fine : view->box->wide),
                    rt_comm_rank(),
                    rt_comm_size(),
                    ghosts->neighbours,
                    ghosts->count,
                    {},
                    {}};
    e.there[e.rank] = x;
    for (int r = 0; ghosts->count && r < e.ranks; r++)
        e.flag[r] = static_cast<unsigned *>(ghosts->flag.of[r]);
    RT_EXPECT(plan->remote_blocks == 0 || find_shared(ghosts, x, &e), RT_USAGE,
              "a vector that is not shared");
    if (plan->blocks == 0)
        return;
    const auto kernel = type == RT_F64   ? exchange_kernel<uint64_t>
                        : type == RT_F32 ? exchange_kernel<uint32_t>
                                         : exchange_kernel<uint16_t>;
    kernel<<<plan->blocks, THREADS, 0, rt_stream()>>>(e);
    RT_CUDA_LAUNCHED();
}

/* The flags come with the first vector. */
void *gfnn_cuda_share(const gfnn_view_t *view, size_t bytes)
{
    gfnn_ghosts_t *ghosts = gfnn_vectors_data(view)->ghosts;
    const size_t flags =
        static_cast<size_t>(KINDS) * static_cast<size_t>(rt_comm_size()) * RT_FLAG_APART;
    const count_t begin = {0, 0};
    char text[RT_PEER_LINE] = "";
    if (!ghosts->count) {
        if (!rt_peer_new(&ghosts->flag, flags * sizeof(unsigned), text))
            rt_refuse(RT_ENVIRONMENT, "--transport peer: %s; use nccl or staged", text);
        ghosts->count = static_cast<count_t *>(rt_clone(&begin, 1, sizeof begin, RT_DEVICE));
    }
    RT_EXPECT(ghosts->n_shared < MOST_SHARED, RT_ENVIRONMENT, "more than %d vectors to share",
              static_cast<int>(MOST_SHARED));
    gfnn_shared_vector_t *vector = &ghosts->shared[ghosts->n_shared++];
    vector->bytes = bytes;
    if (!rt_peer_new(&vector->memory, bytes, text))
        rt_refuse(RT_ENVIRONMENT, "--transport peer: %s; use nccl or staged", text);
    return vector->memory.of[rt_comm_rank()];
}

void gfnn_cuda_unshare(const gfnn_view_t *view, void *x)
{
    gfnn_ghosts_t *ghosts = gfnn_vectors_data(view)->ghosts;
    for (int i = 0; i < ghosts->n_shared; i++)
        if (ghosts->shared[i].memory.of[rt_comm_rank()] == x) {
            rt_peer_destroy(&ghosts->shared[i].memory);
            ghosts->shared[i] = ghosts->shared[--ghosts->n_shared];
            return;
        }
}

} // extern "C"
