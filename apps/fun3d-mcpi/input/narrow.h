/*
 * narrow.h - to the 16-bit types of O and back: one text for the C of the host and Kokkos.
 */
#ifndef MCPI_NARROW_H
#define MCPI_NARROW_H

#include <stdint.h>
#include <string.h>

#if defined(KOKKOS_FORCEINLINE_FUNCTION)
#define MCPI_NARROW_FN static KOKKOS_FORCEINLINE_FUNCTION
#else
#define MCPI_NARROW_FN static inline
#endif

MCPI_NARROW_FN float mcpi_float_of(uint32_t bits)
{
    float x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

/* Without an instruction for it: shifts the exponent, which is 112 higher in FP32, for denormals
 * too. O has no infinities. */
MCPI_NARROW_FN float mcpi_widen_fp16(uint16_t x)
{
    const uint32_t bits = x;
    const float two_to_112 = 5192296858534827628530496329220096.0f;
    return mcpi_float_of((bits & 0x8000) << 16 | (bits & 0x7fff) << 13) * two_to_112;
}

MCPI_NARROW_FN float mcpi_widen_bf16(uint16_t x)
{
    return mcpi_float_of((uint32_t)x << 16);
}

/* Rounds directly from FP64: through FP32 some values would be rounded twice, and wrongly.
 * `mantissa` bits are stored, and the largest finite exponent is `bias`. */
MCPI_NARROW_FN uint16_t mcpi_narrow(double x, int mantissa, int bias)
{
    const uint64_t hidden = (uint64_t)1 << 52, infinity = (uint64_t)0x7ff << 52;
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    const uint64_t sign = bits >> 63 << 15, top = (uint64_t)(2 * bias + 1) << mantissa;
    bits &= ~((uint64_t)1 << 63);
    if (bits > infinity) { /* a quiet NaN with the leading bits of its payload */
        const uint64_t payload = (bits & (hidden - 1)) >> (52 - mantissa);
        return (uint16_t)(sign | top | payload | (uint64_t)1 << (mantissa - 1));
    }
    const int exponent = (int)(bits >> 52) - 1023 + bias;
    if (exponent > 2 * bias)
        return (uint16_t)(sign | top);
    uint64_t value = (bits & (hidden - 1)) | (uint64_t)(exponent > 0 ? exponent : 0) << 52;
    int shift = 52 - mantissa;
    if (exponent <= 0) { /* a denormal: its leading bit is no longer hidden */
        value |= hidden;
        shift += 1 - exponent;
        if (shift > 53) /* less than half of the least denormal */
            return (uint16_t)sign;
    }
    /* to nearest, ties to even; a carry goes into the exponent, and at the top to infinity */
    value += ((uint64_t)1 << (shift - 1)) - 1 + (value >> shift & 1);
    return (uint16_t)(sign | value >> shift);
}

#endif
