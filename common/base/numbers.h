/*
 * base/numbers.h - small questions about numbers and names: whether a value is finite, reproducible
 * random data, and how a name ends.
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

RT_C_BEGIN

/* True unless x is NaN or infinite. */
bool rt_finite(double x);
/* Returns how many of x[0..n-1] (host) are NaN or infinite. */
size_t rt_count_nonfinite(const double *x, size_t n);

/* Hashes 64 bits to 64 bits (splitmix64). Random data made this way is a function of a global index
 * and a seed, so it is the same on every machine and for any number of ranks. */
uint64_t rt_hash(uint64_t index, uint64_t seed);
/* Returns the same as a double, uniform in (-1, 1), an exact multiple of 2^-52. */
double rt_random(uint64_t index, uint64_t seed);

/* True if `text` ends with `end`, or is equal to it. */
bool rt_ends_with(const char *text, const char *end);

RT_C_END
#endif
