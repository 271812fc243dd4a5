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
#include "base/numbers.h"

RT_C_BEGIN

typedef struct {
    uint64_t draw;
    double mean, range; /* range: a power of two */
} rt_draw_t;

/* Makes x[0 .. n-1] of base, both in `space`, and of doubles (size 8) or floats (size 4); x may be
 * base. On the device this is ordered on the stream, and may still be running on return. */
void rt_draw(void *x, rt_space_t space, const void *base, size_t n, size_t size, rt_draw_t draw);

/* Returns x of one value of the base. */
RT_ANYWHERE double rt_drawn(double base, rt_draw_t draw)
{
    uint64_t bits;
    memcpy(&bits, &base, sizeof bits);
    return base * (draw.mean + draw.range * rt_random(bits, draw.draw));
}

RT_C_END
#endif
