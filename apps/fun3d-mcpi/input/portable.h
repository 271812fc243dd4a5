/*
 * portable.h - what C, CUDA and Kokkos have one text for: values of 16 bits, chunks of O, and D^-1.
 *
 * A file of Kokkos includes it after "machine/kokkos.hpp".
 */
#ifndef MCPI_PORTABLE_H
#define MCPI_PORTABLE_H

#include <stdint.h>
#include <string.h>

#if defined(KOKKOS_FORCEINLINE_FUNCTION)
#define MCPI_FN static KOKKOS_FORCEINLINE_FUNCTION
#elif defined(__CUDACC__)
#define MCPI_FN static __host__ __device__ __forceinline__
#else
#define MCPI_FN static inline __attribute__((always_inline))
#endif

#if defined(__CUDA_ARCH__) || defined(__clang__)
#define MCPI_UNROLL _Pragma("unroll")
#elif defined(__CUDACC__) /* the pass for the host knows neither */
#define MCPI_UNROLL
#else
#define MCPI_UNROLL _Pragma("GCC unroll 8")
#endif

/* --- to the 16-bit types of O and back --- */

MCPI_FN float mcpi_float_of(uint32_t bits)
{
    float x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

/* Without an instruction for it, and without branches, so that compilers make vectors of it: shifts the
 * exponent, which is 112 higher in FP32. A denormal of FP16, as entries of O often are, is a multiple of
 * 2^-24, the last bit of 0.5: it is set there, and 0.5 is subtracted. So none is a denormal of FP32 on
 * the way, for which a core takes a hundred cycles. O has no infinities. */
MCPI_FN float mcpi_widen_fp16(uint16_t x)
{
    const uint32_t size = x & 0x7fff, half = size < 0x400 ? 0x3f000000 : 0; /* 0.5 */
    const float value =
        mcpi_float_of(half ? half | size : (size << 13) + (112U << 23)) - mcpi_float_of(half);
    return x & 0x8000 ? -value : value;
}

MCPI_FN float mcpi_widen_bf16(uint16_t x)
{
    return mcpi_float_of((uint32_t)x << 16);
}

/* Rounds directly from FP64: through FP32 some values would be rounded twice, and wrongly.
 * `mantissa` bits are stored, and the largest finite exponent is `bias`. */
MCPI_FN uint16_t mcpi_narrow(double x, int mantissa, int bias)
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

/* --- chunks: where O lies for a rung with `chunked` (kernel.h) ---
 *
 * The entries of component i in a row, block after block and column after column, are a stream. It
 * is cut into chunks of 16 bytes, `width` entries each, and those of all nb components lie side by
 * side: threads that have a component each read neighbouring chunks. The stream of a row ends with
 * zeros. Rows begin so that width - 1 entries per row and component are enough for that, whatever
 * the lengths are, and no list of their places is needed. */

/* Bytes: of a chunk, and of those that the host makes at once. */
enum { MCPI_CHUNK = 16, MCPI_CHUNKS_MADE = 64 << 20 };

/* Returns the chunk with which a component's stream begins in this row, whose first block is number
 * `start`. */
MCPI_FN int64_t mcpi_first_chunk(int nb, int width, int64_t start, int64_t row)
{
    return (nb * start + (width - 1) * row) / width;
}

/* Returns the place in O of entry (i, j) of the row's block b. */
MCPI_FN int64_t mcpi_chunked_entry(int nb, int width, int64_t first_chunk, int64_t b, int j, int i)
{
    const int64_t at = b * nb + j;
    return ((first_chunk + at / width) * nb + i) * width + at % width;
}

/* --- D^-1 --- */

/* Computes y = U^-1 L^-1 y, nb values, with D of mcpi_system_t's LU. The loops are short, and each
 * step waits for the one before: with a constant nb they run in registers. */
MCPI_FN void mcpi_solve_lu(int nb, const double *__restrict__ LU, double *y)
{
    MCPI_UNROLL
    for (int j = 0; j < nb - 1; j++) {
        MCPI_UNROLL
        for (int i = j + 1; i < nb; i++)
            y[i] -= LU[j * nb + i] * y[j];
    }
    MCPI_UNROLL
    for (int j = nb - 1; j >= 0; j--) {
        y[j] *= LU[j * nb + j];
        MCPI_UNROLL
        for (int i = 0; i < j; i++)
            y[i] -= LU[j * nb + i] * y[j];
    }
}

#endif
