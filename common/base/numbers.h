/*
 * base/numbers.h - small questions about numbers and names: whether a value is finite, reproducible
 * random data, medians, sums, and how a name ends.
 *
 * NaN and infinity are found by their bit pattern, and numbers.c is compiled with -fno-fast-math
 * whatever CFLAGS say: with -ffast-math a compiler may assume that x != x is never true.
 */
#ifndef RT_NUMBERS_H
#define RT_NUMBERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/extern_c.h"

/* A function of the host and of kernels. */
#if defined(__CUDACC__) || defined(__HIPCC__)
#define RT_ANYWHERE static inline __host__ __device__
#else
#define RT_ANYWHERE static inline
#endif

RT_C_BEGIN

/* True unless x is NaN or infinite. */
bool rt_finite(double x);
/* Returns how many of x[0..n-1] (host) are NaN or infinite. */
size_t rt_count_nonfinite(const double *x, size_t n);

/* Hashes 64 bits to 64 bits: number `index` of the splitmix64 sequence that starts at `seed` (Steele,
 * Lea and Flood, OOPSLA 2014), whose state only counts in steps of an odd constant. Random data made
 * this way is a function of a global index and a seed, so it is the same on every machine and for any
 * number of ranks. */
RT_ANYWHERE uint64_t rt_hash(uint64_t index, uint64_t seed)
{
    uint64_t z = seed + (index + 1) * UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

/* Returns the same as a double: 52 bits j make the odd numbers 2j + 1 - 2^52, symmetric about zero,
 * never zero, never an end of (-1, 1), and each an exact double after scaling. */
RT_ANYWHERE double rt_random(uint64_t index, uint64_t seed)
{
    const int64_t odd = 2 * (int64_t)(rt_hash(index, seed) >> 12) + 1 - (INT64_C(1) << 52);
    return (double)odd * 0x1p-52;
}

/* Returns the median of x[0..n-1], n > 0, none of them NaN; sorts x, ascending. */
double rt_median(double *x, int n);
/* Returns the sum of x[0..n-1], added in a tree: its bits do not depend on how many threads made
 * the terms, and its rounding error grows with the logarithm of n. */
double rt_sum_pairwise(const double *x, int64_t n);

/* True if `text` ends with `end`, or is equal to it. */
bool rt_ends_with(const char *text, const char *end);

RT_C_END
#endif
