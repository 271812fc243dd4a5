/* base/numbers.c - finiteness by bit pattern, hashes, pairwise sums. */
#include "config.h"
#include "base/numbers.h"

#include <string.h>

bool rt_finite(double x)
{
    /* All ones in the exponent means infinity or NaN. No floating-point operation takes part, so
     * the compiler cannot remove the test by assuming that NaN never occurs
     * (-ffinite-math-only). */
    const uint64_t exponent = UINT64_C(0x7ff0000000000000);
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    return (bits & exponent) != exponent;
}

size_t rt_count_nonfinite(const double *x, size_t n)
{
    size_t bad = 0;
#ifdef _OPENMP
#pragma omp parallel for reduction(+ : bad) if (n > 65536)
#endif
    for (size_t i = 0; i < n; i++)
        bad += !rt_finite(x[i]);
    return bad;
}

/* Returns number `index` of the splitmix64 sequence that starts at `seed` (Steele, Lea and Flood,
 * OOPSLA 2014). The state only counts in steps of an odd constant, so any number can be computed
 * directly. */
uint64_t rt_hash(uint64_t index, uint64_t seed)
{
    uint64_t z = seed + (index + 1) * UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

double rt_random(uint64_t index, uint64_t seed)
{
    /* 52 bits j make the odd numbers 2j + 1 - 2^52: symmetric about zero, never zero, never an
     * end of the interval, and each an exact double after scaling. */
    int64_t odd = 2 * (int64_t)(rt_hash(index, seed) >> 12) + 1 - (INT64_C(1) << 52);
    return (double)odd * 0x1p-52;
}

bool rt_ends_with(const char *text, const char *end)
{
    const size_t n = strlen(text), m = strlen(end);
    return n >= m && strcmp(text + n - m, end) == 0;
}
