/*
 * staged_steps.cuh - how the blocks of rung staged go through colours and sweeps together, on one
 * GPU or on several.
 *
 * Idea: all blocks go through the same steps, one per colour. Rows whose neighbours another block
 * updates come first in a step, and then the block raises a flag. Another block begins the next
 * step when its neighbours have raised theirs: they have then written all that it reads, and read
 * all that it overwrites, because being neighbours is mutual. A block that is late in one colour
 * may be early in the next: no block waits for the slowest of all.
 *
 * The same holds for blocks of other GPUs. A block stores dQ of a boundary row into the ghosts of
 * the GPUs that need it, through NVLink or PCIe, and raises a flag that lies in their memory, so
 * that they poll their own: it travels while the block updates its other rows. Ghosts are read and
 * written for boundary rows alone.
 * Advantage: no kernel, no message and no host per colour.
 * Price: GPUs of one host; a block that waits for another GPU.
 *
 * Steps are numbered on from launch to launch, so no flag is ever reset. The first number of a
 * launch tells the other GPUs that it has begun, and so that the host is done with the ghosts; a
 * launch ends when its last ghosts have arrived.
 */
#ifndef MCPI_STAGED_STEPS_CUH
#define MCPI_STAGED_STEPS_CUH

#include "near.h"
#include "../kernel.h"
#include "halo/peer_memory.h"
#include "halo/signal.cuh"

/* Where a boundary row's dQ goes: its ghost on another GPU, and its position in the record. */
struct mcpi_copy_t {
    void *to;
    int32_t row, zero;
};

/* The lists that a kernel gets, in device memory. */
struct mcpi_staged_lists_t {
    const unsigned char *record;
    const uint32_t *offset;    /* [chunks + 1] in units of 16 bytes */
    const mcpi_share_t *share; /* [blocks][colours] */
    /* [blocks of all ranks * RT_FLAG_APART] last step in which each is done with awaited rows;
     * those of other ranks are stored by that rank */
    unsigned *ended;
    int own;                    /* number of this rank's first block */
    const int32_t *start, *far; /* mcpi_near_t */
    const int32_t *near;        /* likewise */
    const int32_t *raise_start; /* block b has flags raise[raise_start[b]] .. on other GPUs */
    unsigned *const *raise;
    const mcpi_copy_t *copy; /* of all records */
};

/* The flags that a thread waits for: those of near blocks `first`, first + blockDim.x, .. up to
 * `end`; and those on other GPUs that its block raises. Looked up once: in a step, after an acquire,
 * each would come from L2. */
struct mcpi_watch_t {
    int first, far, end;  /* from `far` on they are of other GPUs */
    const unsigned *flag; /* the first */
    int raise, raise_end;
};

__device__ __forceinline__ mcpi_watch_t watch_near(const mcpi_staged_lists_t &lists)
{
    mcpi_watch_t watch;
    watch.first = lists.start[blockIdx.x] + static_cast<int>(threadIdx.x);
    watch.far = lists.far[blockIdx.x];
    watch.end = lists.start[blockIdx.x + 1];
    watch.flag =
        watch.first < watch.end ? lists.ended + lists.near[watch.first] * RT_FLAG_APART : nullptr;
    watch.raise = lists.raise_start[blockIdx.x];
    watch.raise_end = lists.raise_start[blockIdx.x + 1];
    return watch;
}

/* Called by all threads: waits for the flags of the near blocks; only_far: those of other GPUs
 * alone. What threads read later is not older than what the acquire saw, as it invalidates L1. */
__device__ __forceinline__ void wait_for_blocks(const mcpi_staged_lists_t &lists,
                                                const mcpi_watch_t &watch, unsigned step,
                                                bool only_far)
{
    const unsigned *flag = watch.flag;
    for (int k = watch.first; k < watch.end;) {
        if (k >= watch.far)
            rt_flag_wait<RT_ONE_HOST>(flag, step);
        else if (!only_far)
            rt_flag_wait<RT_ONE_GPU>(flag, step);
        k += static_cast<int>(blockDim.x);
        if (k < watch.end)
            flag = lists.ended + lists.near[k] * RT_FLAG_APART;
    }
}

/* Called by one warp: tells other blocks that this one is done with its awaited rows of a step. The
 * release covers what this block's threads wrote before, here and there. */
__device__ __forceinline__ void raise_flags(const mcpi_staged_lists_t &lists,
                                            const mcpi_watch_t &watch, unsigned step)
{
    __syncwarp();
    if (threadIdx.x % 32 == 0)
        rt_flag_put<RT_ONE_GPU>(lists.ended + (lists.own + blockIdx.x) * RT_FLAG_APART, step);
    for (int k = watch.raise + static_cast<int>(threadIdx.x % 32); k < watch.raise_end; k += 32)
        rt_flag_put<RT_ONE_HOST>(lists.raise[k], step);
}

/* Called once per step by each warp, when it is done with awaited records: the last one raises the
 * flags. done: calls in this launch, in shared memory; due: as many as there are up to this step. */
__device__ __forceinline__ void awaited_done(const mcpi_staged_lists_t &lists,
                                             const mcpi_watch_t &watch, unsigned *done,
                                             unsigned due, unsigned step)
{
    unsigned before = 0;
    __syncwarp();
    if (threadIdx.x % 32 == 0) {
        __threadfence_block();
        before = atomicAdd(done, 1);
        __threadfence_block();
    }
    if (__shfl_sync(0xffffffffu, before, 0) + 1 == due)
        raise_flags(lists, watch, step);
}

/* Stores dQ of a record's rows into their ghosts, whose dQ has nb values each. Lane k has copy k; a
 * record with more copies than lanes reads the others here. */
template <int nb, class Q>
__device__ __forceinline__ void store_ghosts(const mcpi_copy_t *copy, int copies, mcpi_copy_t mine,
                                             const double *right, int lane)
{
    for (int first = 0; first < copies; first += 32) {
        const int n = copies - first < 32 ? copies - first : 32;
        if (first > 0 && lane < n)
            mine = copy[first + lane];
        for (int from = 0; from < n * nb; from += 32) {
            const int t = from + lane, k = t < n * nb ? t / nb : 0;
            const unsigned long long to =
                __shfl_sync(0xffffffffu, reinterpret_cast<unsigned long long>(mine.to), k);
            const int row = __shfl_sync(0xffffffffu, mine.row, k);
            if (t < n * nb)
                __stcg(reinterpret_cast<Q *>(to) + t % nb,
                       static_cast<Q>(right[row * nb + t % nb]));
        }
    }
}

/* Goes through the chunks of this block, in the order of all its sweeps, as one warp of it meets
 * them: every n-th, across the ends of colours and sweeps. */
struct mcpi_staged_walk_t {
    const mcpi_share_t *share; /* [colours] shared memory */
    mcpi_share_t now;          /* of this colour */
    int colours;
    int64_t sweeps; /* left, this one included; 0: at the end */
    int at;         /* colour */
    int position;   /* of the share; beyond its chunks: none is left in this colour */

    __device__ __forceinline__ mcpi_staged_walk_t(const mcpi_share_t *share_, int colours_,
                                                  int64_t sweeps_, int first)
        : share(share_), now(share_[0]), colours(colours_), sweeps(sweeps_), at(0), position(first)
    {
    }
    __device__ __forceinline__ bool has_chunk() const
    {
        return position < now.chunks;
    }
    __device__ __forceinline__ int chunk() const
    {
        return position +
               (position < now.boundaries ? now.boundary : now.interior - now.boundaries);
    }
    __device__ __forceinline__ void next_colour()
    {
        position -= now.chunks;
        if (++at == colours) {
            at = 0;
            sweeps--;
        }
        now = share[at];
    }
};

/* --- the host: what rung staged keeps, and its lists (staged_lists.cu) --- */

struct mcpi_staged_data_t {
    mcpi_staged_lists_t lists; /* device memory */
    mcpi_chunks_t chunks;      /* host; without costs once the lists are made */
    uint64_t *right_at;        /* [rows] device: byte offset of the row's R in the records */
    uint64_t *O_at, *LU_at;    /* the same of its blocks and factors */
    size_t bytes;              /* of the records */
    double *right;             /* [rows][nb] device: R on its way into the records */
    unsigned blocks;           /* of a grid that is resident */
    unsigned begin;            /* number of the next launch of sweeps */
    /* Several ranks that exchange by stores: the flags of all blocks, then dQ, of each rank. */
    rt_peer_memory_t memory;
    size_t flag_bytes;
};

/* Opens the memory of the other ranks' GPUs, and makes view->dq there, if they can be reached. Then,
 * as with one rank, makes the lists for `sweeps`. Returns where rows are ghosts, arrays of the
 * caller; NULLs without messages. Collective. */
mcpi_sends_t mcpi_staged_connect(mcpi_view_t *view, mcpi_staged_data_t *data, size_t value_bytes);
void mcpi_staged_lists_destroy(mcpi_view_t *view, mcpi_staged_data_t *data);

#endif
