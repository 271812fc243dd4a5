/* base/stats.h - small statistics. */
#ifndef RT_STATS_H
#define RT_STATS_H

#include <stdint.h>
#include "base/extern_c.h"

RT_C_BEGIN

/* Returns the median of x[0..n-1], n > 0, none of them NaN; sorts x, ascending. */
double rt_median(double *x, int n);
/* Returns the sum of x[0..n-1], added in a tree: its bits do not depend on how many threads made
 * the terms, and its rounding error grows with the logarithm of n. */
double rt_sum_pairwise(const double *x, int64_t n);

RT_C_END
#endif
