/* base/stats.c - small statistics. */
#include "config.h"
#include "base/stats.h"
#include <stdlib.h>

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
