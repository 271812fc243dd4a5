/*
 * halo/direct.cuh - a sum over ranks inside a kernel of the application.
 *
 * Idea: transport `peer` needs no kernel of its own. A kernel that works on the array anyway first
 * stores its rank's parts of shared groups into the neighbours' inboxes, then does its own work,
 * which takes longer than NVLink, and then reads what has arrived:
 *
 *     const rt_halo_group_t mine = rt_halo_group(d, g);   where; before the array is known
 *     const unsigned epoch = rt_halo_epoch(d);              when it is
 *     const double own = rt_halo_send(d, mine, v, epoch);  for all groups of the block
 *     ...                                                 work on other entries
 *     rt_halo_take(d, mine, v, epoch, own)                 the sum, now in all copies here
 *     rt_halo_end_epoch(d, epoch);                         all threads, at the end
 *
 * Advantage: no packing, no buffers, no second stream, no kernel that must follow two others; an
 * exchange costs its bytes.
 * Price: the kernel's whole grid must fit on the GPU at once, because its blocks wait for blocks of
 * another GPU that may wait for them.
 *
 * halo/peer.cu explains words, epochs, and why nothing is overwritten. Sums are in order of rank, as
 * in a halo, so all copies get the same bits.
 */
#ifndef RT_HALO_DIRECT_CUH
#define RT_HALO_DIRECT_CUH

#include "halo/halo.h"
#include "halo/peer_memory.h"
#include "halo/signal.cuh"

/* For fields of one double per entry. Lists are those of rt_halo_plan_t. */
typedef struct {
    int32_t groups; /* 0: no halo */
    const int32_t *copy_start, *copy, *slot_start, *slot;
    int32_t own_slot; /* slots below this belong to lower ranks */
    struct {
        int32_t end; /* slots of this link end here and begin at the end of the previous one */
        uint4 *there, *here; /* the word of slot s is at [s] */
        int64_t words;       /* between its two slots */
    } link[RT_PEER_RANKS];
    unsigned *epoch;              /* [blocks] of the last exchange */
    unsigned long long *patience; /* 0 when something was lost */
} rt_halo_direct_t;

/* Where a group's copies on this rank and its slots are: list positions, and the first of each. */
typedef struct {
    int32_t copy, copies_end, slot, slots_end;
    int32_t first_copy, first_slot;
} rt_halo_group_t;

/* Hands the exchanges of `halo` over to kernels of that many blocks; from then on rt_halo_begin
 * refuses. Returns false, and changes nothing, where another transport serves it. d lives as long
 * as the halo. Collective. */
bool rt_halo_direct(rt_halo_t *halo, unsigned blocks, rt_halo_direct_t *d);

__device__ __forceinline__ rt_halo_group_t rt_halo_group(const rt_halo_direct_t &d, int g)
{
    rt_halo_group_t of;
    of.copy = __ldg(d.copy_start + g);
    of.copies_end = __ldg(d.copy_start + g + 1);
    of.slot = __ldg(d.slot_start + g);
    of.slots_end = __ldg(d.slot_start + g + 1);
    of.first_copy = __ldg(d.copy + of.copy);
    of.first_slot = __ldg(d.slot + of.slot);
    return of;
}

/* Returns the epoch of the exchange that begins; the previous kernel must have ended. */
__device__ __forceinline__ unsigned rt_halo_epoch(const rt_halo_direct_t &d)
{
    return __ldcg(d.epoch + blockIdx.x) + 1;
}

__device__ __forceinline__ int rt_halo_link(const rt_halo_direct_t &d, int32_t slot)
{
    int m = 0;
    while (slot >= d.link[m].end)
        m++;
    return m;
}

/* Returns the sum of the copies on this rank. */
__device__ __forceinline__ double rt_halo_own(const rt_halo_direct_t &d, const rt_halo_group_t &of,
                                              const double *v)
{
    double own = __ldcg(v + of.first_copy);
    for (int32_t j = of.copy + 1; j < of.copies_end; j++)
        own += __ldcg(v + __ldg(d.copy + j));
    return own;
}

/* Sends that sum to the other ranks and returns it. */
__device__ __forceinline__ double rt_halo_send(const rt_halo_direct_t &d, const rt_halo_group_t &of,
                                               const double *v, unsigned epoch)
{
    const double own = rt_halo_own(d, of, v);
    for (int32_t s = of.slot; s < of.slots_end; s++) {
        const int32_t slot = s == of.slot ? of.first_slot : __ldg(d.slot + s);
        const auto &link = d.link[rt_halo_link(d, slot)];
        rt_word_put(link.there + epoch % 2 * link.words + slot, own, epoch);
    }
    return own;
}

__device__ __forceinline__ double rt_halo_receive(const rt_halo_direct_t &d, int32_t slot,
                                                  unsigned epoch)
{
    const auto &link = d.link[rt_halo_link(d, slot)];
    const uint4 *const word = link.here + epoch % 2 * link.words + slot;
    return rt_word_wait(word, epoch, d.patience);
}

/* Writes the sum over ranks, added in order of rank, into all copies here; returns it. */
__device__ __forceinline__ double rt_halo_take(const rt_halo_direct_t &d, const rt_halo_group_t &of,
                                               double *v, unsigned epoch, double own)
{
    double sum = 0;
    bool added = false; /* own */
    for (int32_t s = of.slot; s < of.slots_end; s++) {
        const int32_t slot = s == of.slot ? of.first_slot : __ldg(d.slot + s);
        if (!added && slot >= d.own_slot) {
            sum += own;
            added = true;
        }
        sum += rt_halo_receive(d, slot, epoch);
    }
    if (!added)
        sum += own;
    v[of.first_copy] = sum;
    for (int32_t j = of.copy + 1; j < of.copies_end; j++)
        v[__ldg(d.copy + j)] = sum;
    return sum;
}

/* Ends the epoch. All threads of the block must call, after their last rt_halo_take. */
__device__ __forceinline__ void rt_halo_end_epoch(const rt_halo_direct_t &d, unsigned epoch)
{
    __syncthreads(); /* all threads have read the old epoch */
    if (threadIdx.x == 0)
        d.epoch[blockIdx.x] = epoch;
}

#endif
