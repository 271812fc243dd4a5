/*
 * judge/verify.h - judging. A verdict is a list of checks, each a measured value and a bound that was
 * derived before anything was measured. All must hold.
 *
 * judge/verify.c is compiled with -fno-fast-math whatever CFLAGS say: with -ffast-math a compiler may
 * take x != x as never true. So is base/numbers.c, which finds NaN and infinity.
 */
#ifndef RT_VERIFY_H
#define RT_VERIFY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include "base/numbers.h"

#ifdef __cplusplus
extern "C" {
#endif

#define RT_EPS 1.1102230246251565e-16 /* unit roundoff of double, 2^-53 */

enum { RT_MAX_CHECKS = 64 };
typedef struct {
    const char *name; /* string that outlives the verdict */
    double value, bound;
    bool held;
} rt_check_t;
typedef struct {
    rt_check_t check[RT_MAX_CHECKS];
    int n;
    bool valid; /* of an empty verdict: false, for nothing was shown */
} rt_verdict_t;

void rt_verdict_clear(rt_verdict_t *v);
/* Holds if value is finite, not negative, and value <= bound. Call on every rank with the same
 * (reduced) value. A name that the verdict has already keeps the worse of both. */
void rt_verdict_check(rt_verdict_t *v, const char *name, double value, double bound);
/* A yes-or-no check: value 0 or 1 against bound 0. */
void rt_verdict_true(rt_verdict_t *v, const char *name, bool truth);
/* All checks of `from`, as if made on v. */
void rt_verdict_add(rt_verdict_t *v, const rt_verdict_t *from);
/* Least factor between bound and value over the checks that have a non-zero bound: how far from
 * failing an honest run is. */
double rt_verdict_margin(const rt_verdict_t *v);
/* Largest value / bound over failed checks (infinite for NaN and for yes-or-no checks): how plainly
 * a wrong run was caught. 0 if none failed. */
double rt_verdict_excess(const rt_verdict_t *v);
/* One line a check. */
void rt_verdict_print(const rt_verdict_t *v, FILE *out);

#ifdef __cplusplus
}
#endif
#endif
