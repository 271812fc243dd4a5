/*
 * halo/mail.cuh - sums of a few doubles over the GPUs of one host, inside a kernel.
 *
 * Idea: every rank has a box into which the others write through NVLink (or PCIe). A value travels
 * in 16 bytes stored at once, each half with the number of the turn. The number tells the reader
 * that the half is new, so no fence and no second message is needed. Each rank adds the values in
 * its box in order of rank, so all ranks get the same bits.
 * Advantage: about two microseconds, where a message on the stream takes five to ten and two more
 * launches; the block that added its rank's partial sums simply continues.
 * Price: one host, at most RT_PEER_RANKS ranks, and a block that waits for the other GPUs.
 *
 * A box has two slots per sender, for even and odd turns. A rank cannot be a turn ahead of one that
 * has not written, and a rank that has written has read the other slot.
 */
#ifndef RT_MAIL_CUH
#define RT_MAIL_CUH

#include "machine/cuda.cuh"
#include "halo/mail.h"
#include "halo/peer_memory.h"

enum { RT_MAIL_VALUES = 8 };

struct rt_mail {
    int rank, ranks;
    uint4 *box[RT_PEER_RANKS];   /* of each rank: [2][ranks][RT_MAIL_VALUES] */
    unsigned turn;               /* of the last sum */
    unsigned long long patience; /* nanoseconds; a value that takes longer becomes a NaN */
};

__device__ __forceinline__ void rt_mail_store(uint4 *to, uint4 value)
{
    asm volatile("st.volatile.global.v4.u32 [%0], {%1, %2, %3, %4};" ::"l"(to), "r"(value.x),
                 "r"(value.y), "r"(value.z), "r"(value.w)
                 : "memory");
}

__device__ __forceinline__ uint4 rt_mail_load(const uint4 *from)
{
    uint4 value;
    asm volatile("ld.volatile.global.v4.u32 {%0, %1, %2, %3}, [%4];"
                 : "=r"(value.x), "=r"(value.y), "=r"(value.z), "=r"(value.w)
                 : "l"(from)
                 : "memory");
    return value;
}

__device__ __forceinline__ unsigned long long rt_mail_clock()
{
    unsigned long long now;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
    return now;
}

/* Packs eight bytes into sixteen, and back. */
__device__ __forceinline__ uint4 rt_mail_pack(unsigned long long word, unsigned turn)
{
    return make_uint4(static_cast<unsigned>(word), turn, static_cast<unsigned>(word >> 32), turn);
}

__device__ __forceinline__ unsigned long long rt_mail_unpack(uint4 got)
{
    return static_cast<unsigned long long>(got.z) << 32 | got.x;
}

__device__ __forceinline__ bool rt_mail_is_new(uint4 got, unsigned turn)
{
    return got.y == turn && got.w == turn;
}

__device__ __forceinline__ void rt_mail_put(uint4 *to, double value, unsigned turn)
{
    const long long bits = __double_as_longlong(value);
    rt_mail_store(to, rt_mail_pack(static_cast<unsigned long long>(bits), turn));
}

__device__ __forceinline__ double rt_mail_value(uint4 got)
{
    return __longlong_as_double(static_cast<long long>(rt_mail_unpack(got)));
}

/* Replaces a value that did not come. */
__device__ __forceinline__ double rt_mail_nothing()
{
    return __longlong_as_double(-1); /* a NaN */
}

/* Waits for the word of this turn; returns false if it takes longer than `patience` nanoseconds. */
__device__ __forceinline__ bool rt_mail_wait(const uint4 *from, unsigned turn,
                                             unsigned long long patience, uint4 *got)
{
    const unsigned long long begun = rt_mail_clock();
    *got = rt_mail_load(from);
    while (!rt_mail_is_new(*got, turn)) {
        if (rt_mail_clock() - begun > patience)
            return false;
        *got = rt_mail_load(from);
    }
    return true;
}

__device__ __forceinline__ double rt_mail_take(const uint4 *from, unsigned turn,
                                               unsigned long long patience)
{
    uint4 got;
    return rt_mail_wait(from, turn, patience, &got) ? rt_mail_value(got) : rt_mail_nothing();
}

/* Replaces thread 0's sum by the sum over ranks; with `largest` the last of them by the largest. All
 * threads of the block must call; one block at a time on a GPU. */
template <int count, bool largest = false>
__device__ __forceinline__ void rt_mail_sum(rt_mail *m, double (&sum)[count])
{
    static_assert(count <= RT_MAIL_VALUES, "one place per value");
    __shared__ double mine[count];
    __shared__ double of[RT_PEER_RANKS * count];
    const int rank = m->rank, ranks = m->ranks;
    const unsigned turn = m->turn + 1;
    const size_t place = static_cast<size_t>(turn % 2) * ranks;
    if (threadIdx.x == 0) {
#pragma unroll
        for (int q = 0; q < count; q++)
            mine[q] = sum[q];
    }
    __syncthreads();
    for (int t = threadIdx.x; t < ranks * count; t += blockDim.x)
        rt_mail_put(m->box[t / count] + (place + rank) * RT_MAIL_VALUES + t % count,
                    mine[t % count], turn);
    for (int t = threadIdx.x; t < ranks * count; t += blockDim.x)
        of[t] = rt_mail_take(m->box[rank] + (place + t / count) * RT_MAIL_VALUES + t % count, turn,
                             m->patience);
    __syncthreads();
    if (threadIdx.x != 0)
        return;
    m->turn = turn;
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
