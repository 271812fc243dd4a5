/* base/numbers.c - finiteness by bit pattern, small statistics, ends of names. */
#include "config.h"
#include "base/numbers.h"

#include <stdlib.h>
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
#pragma omp parallel for reduction(+ : bad) if (n > 65536)
    for (size_t i = 0; i < n; i++)
        bad += !rt_finite(x[i]);
    return bad;
}

static int compare(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

double rt_median(double *x, int n)
{
    qsort(x, (size_t)n, sizeof *x, compare);
    return n % 2 ? x[n / 2] : (x[n / 2 - 1] + x[n / 2]) / 2;
}

double rt_sum_pairwise(const double *x, int64_t n)
{
    if (n <= 2)
        return n == 2 ? x[0] + x[1] : n == 1 ? x[0] : 0;
    return rt_sum_pairwise(x, n / 2) + rt_sum_pairwise(x + n / 2, n - n / 2);
}

bool rt_ends_with(const char *text, const char *end)
{
    const size_t n = strlen(text), m = strlen(end);
    return n >= m && strcmp(text + n - m, end) == 0;
}
