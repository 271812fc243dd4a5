/*
 * halo/signal.cuh - how a kernel learns that another block or another GPU is done: put and wait.
 *
 * Both forms carry an epoch, the number of the exchange, counted on the GPU so that a replayed
 * graph keeps counting. A reader waits for its own epoch, so nothing has to be cleared.
 *
 *     word   a value of 8 bytes and its epoch in 16 bytes stored at once. Each half has the epoch,
 *            which tells the reader that the half is new: no fence and no second message. For few
 *            values, or where twice the bytes cost less than waiting for the last block.
 *     flag   an epoch alone, after data of any size that was stored before it.
 *
 * nekbone's rung resident keeps pairs of its own, within one GPU: its sums leave no room for an
 * epoch, and it reads a pair in one 16-byte load that is relaxed, not volatile.
 */
#ifndef RT_SIGNAL_CUH
#define RT_SIGNAL_CUH

#include "machine/cuda.cuh"

__device__ __forceinline__ unsigned long long rt_device_clock() /* ns */
{
    unsigned long long now;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
    return now;
}

/* --- words --- */

__device__ __forceinline__ void rt_word_store(uint4 *to, uint4 value)
{
    asm volatile("st.volatile.global.v4.u32 [%0], {%1, %2, %3, %4};" ::"l"(to), "r"(value.x),
                 "r"(value.y), "r"(value.z), "r"(value.w)
                 : "memory");
}

__device__ __forceinline__ uint4 rt_word_load(const uint4 *from)
{
    uint4 value;
    asm volatile("ld.volatile.global.v4.u32 {%0, %1, %2, %3}, [%4];"
                 : "=r"(value.x), "=r"(value.y), "=r"(value.z), "=r"(value.w)
                 : "l"(from)
                 : "memory");
    return value;
}

/* Packs eight bytes into sixteen, and back. */
__device__ __forceinline__ uint4 rt_word_pack(unsigned long long word, unsigned epoch)
{
    return make_uint4(static_cast<unsigned>(word), epoch, static_cast<unsigned>(word >> 32), epoch);
}

__device__ __forceinline__ unsigned long long rt_word_unpack(uint4 got)
{
    return static_cast<unsigned long long>(got.z) << 32 | got.x;
}

__device__ __forceinline__ bool rt_word_is_of(uint4 got, unsigned epoch)
{
    return got.y == epoch && got.w == epoch;
}

__device__ __forceinline__ void rt_word_put(uint4 *to, double value, unsigned epoch)
{
    const long long bits = __double_as_longlong(value);
    rt_word_store(to, rt_word_pack(static_cast<unsigned long long>(bits), epoch));
}

/* Waits for the word of this epoch. One that takes longer than *patience nanoseconds is a NaN, and
 * *patience becomes 0. */
__device__ __forceinline__ double rt_word_wait(const uint4 *from, unsigned epoch,
                                               unsigned long long *patience)
{
    const unsigned long long begun = rt_device_clock(), limit = __ldcg(patience);
    uint4 got = rt_word_load(from);
    while (!rt_word_is_of(got, epoch)) {
        if (rt_device_clock() - begun > limit) {
            *patience = 0;
            return __longlong_as_double(-1);
        }
        got = rt_word_load(from);
    }
    return __longlong_as_double(static_cast<long long>(rt_word_unpack(got)));
}

/* --- flags --- */

enum rt_reach_t { RT_ONE_GPU, RT_ONE_HOST };

enum { RT_FLAG_APART = 8 }; /* unsigned: each flag has a sector of its own */

/* A rank may be late because its host is late. One that died must not hang the others. */
constexpr unsigned long long RT_FLAG_PATIENCE = 30000000000ULL; /* ns */

/* What this thread has stored or seen is there for those that wait for the flag. */
template <rt_reach_t reach>
__device__ __forceinline__ void rt_flag_put(unsigned *flag, unsigned epoch)
{
    if constexpr (reach == RT_ONE_GPU)
        asm volatile("st.release.gpu.global.u32 [%0], %1;" ::"l"(flag), "r"(epoch) : "memory");
    else
        asm volatile("st.release.sys.global.u32 [%0], %1;" ::"l"(flag), "r"(epoch) : "memory");
}

/* Waits for this epoch or a later one; a kernel that waits too long for another GPU fails. */
template <rt_reach_t reach>
__device__ __forceinline__ void rt_flag_wait(const unsigned *flag, unsigned epoch)
{
    const unsigned long long begun = reach == RT_ONE_GPU ? 0 : rt_device_clock();
    for (;;) {
        unsigned seen;
        if constexpr (reach == RT_ONE_GPU)
            asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(seen) : "l"(flag) : "memory");
        else
            asm volatile("ld.acquire.sys.global.u32 %0, [%1];" : "=r"(seen) : "l"(flag) : "memory");
        if (static_cast<int>(seen - epoch) >= 0)
            return;
        if (reach == RT_ONE_HOST && rt_device_clock() - begun > RT_FLAG_PATIENCE)
            __trap();
    }
}

#endif
