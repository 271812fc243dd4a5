/*
 * judge/compare.h - what all judges do with what a kernel made.
 */
#ifndef RT_COMPARE_H
#define RT_COMPARE_H

#include <math.h>
#include "judge/verify.h"

/* Returns |got - want| over its bound; infinite if one is not finite, or they differ and the bound is
 * 0. For files in judge/, which have strict floating-point flags. */
static inline double rt_error_over(double got, double want, double bound)
{
    const double error = fabs(got - want);
    if (!rt_finite(error))
        return INFINITY;
    return error == 0 ? 0 : bound > 0 ? error / bound : INFINITY;
}
/* Returns the largest of these errors of n values with the bounds unit times size, on this rank. A
 * size is what the kernel's definition makes of magnitudes in place of values: rounding errors scale
 * with it, so the result is a number of roundings. */
double rt_worst_error(int64_t n, const double *got, const double *want, const double *size,
                      double unit);
/* Returns whether a race can strike in this run: some rank works with several threads. Collective. */
bool rt_compare_races(void);
/* Checks a rung that claims the same bits: `run` does again what was done, and `differs` returns
 * whether its result has other bits, and erases it. On the host also while threads are stopped at
 * random (judge/perturb.h), so that races strike. Collective. */
void rt_compare_bits(void (*run)(void *bench), double (*differs)(void *bench), void *bench,
                     bool is_on_host, rt_verdict_t *v);

#endif
