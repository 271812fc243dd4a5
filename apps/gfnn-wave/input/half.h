/*
 * half.h - 16-bit floats (IEEE binary16) as bits, on the host: any compiler, no branches, so that
 * loops over them become vectors.
 */
#ifndef GFNN_HALF_H
#define GFNN_HALF_H

#include <stdint.h>
#include <string.h>

static inline float gfnn_float_of(uint32_t bits)
{
    float x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

static inline uint32_t gfnn_bits_of(float x)
{
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

/* Exact. Exponent and fraction at their places in a float are a number 2^112 too small. */
static inline float gfnn_from_half(uint16_t half)
{
    const uint32_t size = half & 0x7fffu, sign = (uint32_t)(half & 0x8000u) << 16;
    const uint32_t bits = gfnn_bits_of(gfnn_float_of(size << 13) * 0x1p112f);
    const uint32_t infinite = size >= 0x7c00u ? 0x7f800000u : 0; /* and NaN */
    return gfnn_float_of(bits | infinite | sign);
}

/* To the nearest, ties to even; above 65504 infinite. */
static inline uint16_t gfnn_to_half(float x)
{
    const uint32_t bits = gfnn_bits_of(x), size = bits & 0x7fffffffu;
    const uint32_t normal = (size - (112u << 23) + 0xfffu + (size >> 13 & 1u)) >> 13;
    /* beside 0.5 a float's last bit is worth 2^-24, as that of a denormal half is */
    const uint32_t denormal = gfnn_bits_of(gfnn_float_of(size) + 0.5f) - 0x3f000000u;
    const uint32_t beyond = size > 0x7f800000u ? 0x7e00u : 0x7c00u;
    const uint32_t half = size >= 0x47800000u ? beyond : size < 0x38800000u ? denormal : normal;
    return (uint16_t)(half | (bits >> 16 & 0x8000u));
}

#endif
