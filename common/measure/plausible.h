/*
 * measure/plausible.h - could the machine have done that? A rung that seems to move more bytes, or
 * to do more arithmetic, than the loops that did nothing else in the same job, has left out work,
 * or counts work that it does not do, or was timed wrongly. It is INVALID until that is explained.
 *
 * The bytes are the least bytes of the work model, so an honest rung comes out too low, never too
 * high. There are two exceptions. For their sake the driver measures a suspicious rung and the
 * ceilings again, longer each time, until one of them explains the other:
 * - A shared machine may have been slow when the ceilings were measured, and fast when the rung
 *   was. A machine that stays unsteady makes the rung UNSTEADY, not INVALID.
 * - What one kernel touches can be in a cache that the whole working set does not fit. So these
 *   ceilings are over the bytes that the largest kernel touches in a call, and if those fit some
 *   cache, over parts of them too. For kernels that touch less than 1 MiB per thread, or 4 MiB on a GPU, no
 *   ceiling is known: of these the arithmetic alone is judged.
 */
#ifndef RT_PLAUSIBLE_H
#define RT_PLAUSIBLE_H

#include <stdbool.h>
#include "base/arithmetic.h"
#include "measure/ceiling.h"

RT_C_BEGIN

/* The largest share of a ceiling that passes: a ceiling is the best of a few seconds, and has noise
 * of its own. */
#define RT_MOST_SHARE 1.02

/* What a rung seems to have done, on each rank. */
typedef struct {
    double bytes, flops; /* per second */
    rt_arithmetic_t arithmetic;
    size_t touched; /* bytes that its largest kernel touches in one call */
    size_t least;   /* of `touched`: below, start and end of a loop hide what a cache can do */
} rt_claim_t;

/* Returns the flop/s of that arithmetic; 0: unknown. */
double rt_arithmetic_ceiling(const rt_ceilings_t *ceilings, rt_arithmetic_t arithmetic);
/* Returns the higher rates of both: what disturbed one measurement must not flatter the rungs. */
rt_ceilings_t rt_ceilings_best(const rt_ceilings_t *a, const rt_ceilings_t *b);
/* Returns the claim's largest share of the ceilings that are known. `again`: those that were
 * measured over claim->touched, or NULL. Kernels that touch less than their working set, or
 * than claim->least, may work in a cache that no ceiling is known of: bandwidth does not bound
 * them. */
double rt_share_of(const rt_claim_t *claim, const rt_ceilings_t *ceilings,
                   const rt_ceilings_t *again);

RT_C_END
#endif
