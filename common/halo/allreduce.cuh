/*
 * halo/allreduce.cuh - sums of a few doubles over the GPUs of one host, inside a kernel.
 *
 * Idea: every rank has a box into which the others put words (halo/signal.cuh) through NVLink (or
 * PCIe). Each rank adds the values in its box in order of rank, so all ranks get the same bits.
 * Advantage: about two microseconds, where a message on the stream takes five to ten and two more
 * launches; the block that added its rank's partial sums simply continues.
 * Price: one host, at most RT_PEER_RANKS ranks, and a block that waits for the other GPUs.
 *
 * A box has two slots per sender, for even and odd epochs. A rank cannot be an epoch ahead of one that
 * has not written, and a rank that has written has read the other slot.
 */
#ifndef RT_ALLREDUCE_CUH
#define RT_ALLREDUCE_CUH

#include "halo/allreduce.h"
#include "halo/peer_memory.h"
#include "halo/signal.cuh"

enum { RT_ALLREDUCE_VALUES = 8 };

struct rt_device_allreduce_t {
    int rank, ranks;
    uint4 *box[RT_PEER_RANKS];   /* of each rank: [2][ranks][RT_ALLREDUCE_VALUES] */
    unsigned epoch;              /* of the last sum */
    unsigned long long patience; /* nanoseconds; a value that takes longer becomes a NaN */
};

/* Replaces thread 0's sum by the sum over ranks; with `largest` the last of them by the largest. All
 * threads of the block must call; one block at a time on a GPU. */
template <int count, bool largest = false>
__device__ __forceinline__ void rt_device_allreduce(rt_device_allreduce_t *m, double (&sum)[count])
{
    static_assert(count <= RT_ALLREDUCE_VALUES, "one slot per value");
    __shared__ double mine[count];
    __shared__ double of[RT_PEER_RANKS * count];
    const int rank = m->rank, ranks = m->ranks;
    const unsigned epoch = m->epoch + 1;
    const size_t slot = static_cast<size_t>(epoch % 2) * ranks;
    if (threadIdx.x == 0) {
#pragma unroll
        for (int q = 0; q < count; q++)
            mine[q] = sum[q];
    }
    __syncthreads();
    for (int t = threadIdx.x; t < ranks * count; t += blockDim.x)
        rt_word_put(m->box[t / count] + (slot + rank) * RT_ALLREDUCE_VALUES + t % count,
                    mine[t % count], epoch);
    for (int t = threadIdx.x; t < ranks * count; t += blockDim.x)
        of[t] = rt_word_wait(m->box[rank] + (slot + t / count) * RT_ALLREDUCE_VALUES + t % count,
                             epoch, &m->patience);
    __syncthreads();
    if (threadIdx.x != 0)
        return;
    m->epoch = epoch;
#pragma unroll
    for (int q = 0; q < count; q++) {
        sum[q] = of[q];
        for (int r = 1; r < ranks; r++) {
            const double other = of[r * count + q];
            if (!largest || q < count - 1)
                sum[q] += other;
            else if (!(sum[q] >= other))
                sum[q] = other;
        }
    }
}

#endif
