/*
 * judge/verify.h - verdicts. A verdict is a list of checks. Each check compares a measured value
 * with a bound that was derived before anything was measured. All checks must hold.
 *
 * judge/verify.c is compiled with -fno-fast-math whatever CFLAGS say: under -ffast-math a compiler
 * may assume that x != x is never true. So is base/numbers.c, which finds NaN and infinity.
 */
#ifndef RT_VERIFY_H
#define RT_VERIFY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include "base/numbers.h"

RT_C_BEGIN

#define RT_EPS 1.1102230246251565e-16 /* unit roundoff of double, 2^-53 */

enum { RT_MAX_CHECKS = 64 };
typedef struct {
    const char *name;    /* must outlive the verdict */
    double value, bound; /* RT_NO_BOUND: the bound was not finite, so nothing holds */
    bool held;
    bool convergence; /* rt_verdict_converged made it */
} rt_check_t;
#define RT_NO_BOUND (-1.0)
typedef struct {
    rt_check_t check[RT_MAX_CHECKS];
    int n;
    bool valid; /* false while the verdict is empty: nothing has been shown yet */
} rt_verdict_t;

void rt_verdict_clear(rt_verdict_t *v);
/* Adds a check, which holds if value and bound are finite and 0 <= value <= bound. Call on every
 * rank with the same (reduced) value. If the verdict already has a check of this name, the worse of
 * the two is kept. */
void rt_verdict_check(rt_verdict_t *v, const char *name, double value, double bound);
/* Adds a yes-or-no check: value 0 or 1 against bound 0. */
void rt_verdict_true(rt_verdict_t *v, const char *name, bool truth);
/* Adds whether an iteration reached its end, where the judge has seen that a right program could not
 * have done better within the limits that the user gave: if nothing else fails, the run is not wrong
 * but not converged. Where a right program ends, it is a check like any other: rt_verdict_true. */
void rt_verdict_converged(rt_verdict_t *v, const char *name, bool reached);
/* Returns whether checks failed, all of them of rt_verdict_converged. */
bool rt_verdict_not_converged(const rt_verdict_t *v);
/* Prints one line per check. */
void rt_verdict_print(const rt_verdict_t *v, FILE *out);

RT_C_END
#endif
