/*
 * measure/plausible.h - could the machine have done that? A rung that seems to move more bytes, or
 * to do more arithmetic, than the loops that did nothing else in the same job, has left out work,
 * or counts work that it does not do, or was timed wrongly. It is INVALID until that is explained.
 *
 * The bytes are the least bytes of the work model, so an honest rung comes out too low, never too
 * high. There are two exceptions, and for their sake the ceilings are measured once more before a
 * rung is judged:
 * - A shared machine may have been slow when the ceilings were measured, and fast when the rung
 * was.
 * - What one kernel touches can be in a cache that the whole working set does not fit. So the
 * second measurement is over the bytes that the largest kernel touches in a call. For kernels that
 * fit the innermost cache no ceiling is measured: of these the arithmetic alone is judged. Cost:
 * half a second, only for a suspicious rung.
 */
#ifndef RT_PLAUSIBLE_H
#define RT_PLAUSIBLE_H

#include <stdbool.h>
#include "base/arithmetic.h"
#include "measure/ceiling.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What a rung seems to have done, on each rank. */
typedef struct {
    double bytes, flops; /* per second */
    rt_arithmetic_t arithmetic;
    size_t touched;       /* bytes that its largest kernel touches in one call */
    double timed_seconds; /* all windows together */
} rt_claim_t;

/* Returns the highest bandwidth of the loops in bytes/s; 0: unknown. */
double rt_bandwidth_ceiling(const rt_ceilings_t *ceilings);
/* Returns the flop/s of that arithmetic; 0: unknown. */
double rt_arithmetic_ceiling(const rt_ceilings_t *ceilings, rt_arithmetic_t arithmetic);
/* Returns the higher rates of both: what disturbed one measurement must not flatter the rungs. */
rt_ceilings_t rt_ceilings_best(const rt_ceilings_t *a, const rt_ceilings_t *b);

/* The largest share of a ceiling that passes: a ceiling is the best of a few seconds, and has noise
 * of its own. */
#define RT_MOST_SHARE 1.02

typedef enum {
    RT_SHARE_UNKNOWN, /* it was timed too shortly to be judged, or there is no ceiling */
    RT_SHARE_MEASURED,
    RT_SHARE_AGAIN /* judged by what was measured again: *again */
} rt_share_t;
/* Computes the claim's largest share of the ceilings. If it is above RT_MOST_SHARE, measures the
 * ceilings of `kind` again and judges by the best of both. Collective. */
rt_share_t rt_plausible_share(rt_kind_t kind, const rt_claim_t *claim,
                              const rt_ceilings_t *measured, double *share, rt_ceilings_t *again);

#ifdef __cplusplus
}
#endif
#endif
