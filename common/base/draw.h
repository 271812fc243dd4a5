/*
 * base/draw.h - random fields made in the memory where they are used: one text for the host, CUDA
 * and Kokkos.
 *
 * The input of a timed solve must not follow from the inputs of earlier ones, or a kernel that keeps
 * an old answer, or combines several, is right without computing anything. So each solve has a
 * number, the draw, and its input is
 *
 *     x[i] = base[i] (mean + range h),   h = rt_random(bits of base[i], draw), in (-1, 1)
 *
 * Copies of a value, on whatever rank, get the same x, and 0 stays 0. With a range that is a power of
 * two all processors make the same bits: only the two products round.
 */
#ifndef RT_DRAW_H
#define RT_DRAW_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include "base/mem.h"

#if defined(__CUDACC__) || defined(__HIPCC__)
#define RT_DRAW_FN static inline __host__ __device__
#else
#define RT_DRAW_FN static inline
#endif

RT_C_BEGIN

typedef struct {
    uint64_t draw;
    double mean, range; /* range: a power of two */
} rt_draw_t;

/* Makes x[0 .. n-1] of base, both in `space`, and of doubles (size 8) or floats (size 4); x may be
 * base. On the device this is ordered on the stream, and may still be running on return. */
void rt_draw(void *x, rt_space_t space, const void *base, size_t n, size_t size, rt_draw_t draw);

/* Returns number `index` of the splitmix64 sequence that starts at `seed` (Steele, Lea and Flood,
 * OOPSLA 2014). The state only counts in steps of an odd constant, so any number can be computed
 * directly. */
RT_DRAW_FN uint64_t rt_hash_at(uint64_t index, uint64_t seed)
{
    uint64_t z = seed + (index + 1) * UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

/* Returns the same as a double: 52 bits j make the odd numbers 2j + 1 - 2^52, symmetric about zero,
 * never zero, never an end of the interval, and each an exact double after scaling. */
RT_DRAW_FN double rt_random_at(uint64_t index, uint64_t seed)
{
    const int64_t odd = 2 * (int64_t)(rt_hash_at(index, seed) >> 12) + 1 - (INT64_C(1) << 52);
    return (double)odd * 0x1p-52;
}

/* Returns x of one value of the base. */
RT_DRAW_FN double rt_drawn(double base, rt_draw_t draw)
{
    uint64_t bits;
    memcpy(&bits, &base, sizeof bits);
    return base * (draw.mean + draw.range * rt_random_at(bits, draw.draw));
}

RT_C_END
#endif
