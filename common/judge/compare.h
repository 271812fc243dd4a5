/*
 * judge/compare.h - what all judges do with what a kernel made.
 */
#ifndef RT_COMPARE_H
#define RT_COMPARE_H

#include "judge/verify.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Returns the largest |got - want| / (unit size) of this rank; infinite if a value is not finite, or
 * differs where its size is 0. A size is what the kernel's definition makes of magnitudes in place of
 * values: rounding errors scale with it, so the result is a number of roundings. */
double rt_worst_error(int64_t n, const double *got, const double *want, const double *size,
                      double unit);
/* Checks a rung that claims the same bits: `run` does again what was done, and `differs` returns
 * whether its result has other bits, and erases it. On the host also while threads are stopped at
 * random (judge/perturb.h), so that races strike. Collective. */
void rt_compare_bits(void (*run)(void *bench), double (*differs)(void *bench), void *bench,
                     bool is_on_host, rt_verdict_t *v);

#ifdef __cplusplus
}
#endif
#endif
