/* base/stats.h - small statistics. */
#ifndef RT_STATS_H
#define RT_STATS_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Returns the median of x[0..n-1], n > 0; sorts x. */
double rt_median(double *x, int n);

#ifdef __cplusplus
}
#endif
#endif
