/* measure/plausible.c - could the machine have done that? */
#include "config.h"
#include "measure/plausible.h"
#include <math.h>

static const double least_seconds = 0.2; /* a shorter measurement is mostly noise */
static const double again_seconds = 0.5;

double rt_bandwidth_ceiling(const rt_ceilings_t *c)
{
    return fmax(c->copy, fmax(c->triad, c->read));
}

double rt_arithmetic_ceiling(const rt_ceilings_t *c, rt_arithmetic_t arithmetic)
{
    switch (arithmetic) {
    case RT_FMA64:
        return c->fma64;
    case RT_FMA32:
        return c->fma32;
    case RT_MMA16:
    case RT_MIXED:
        break;
    }
    return 0;
}

rt_ceilings_t rt_ceilings_best(const rt_ceilings_t *a, const rt_ceilings_t *b)
{
    rt_ceilings_t best = *a;
    best.copy = fmax(a->copy, b->copy);
    best.triad = fmax(a->triad, b->triad);
    best.read = fmax(a->read, b->read);
    best.fma64 = fmax(a->fma64, b->fma64);
    best.fma32 = fmax(a->fma32, b->fma32);
    return best;
}

/* Returns the larger share of the ceilings that are known; bandwidth 0: unknown. */
static double share_of(const rt_claim_t *claim, const rt_ceilings_t *c, double bandwidth)
{
    const double arithmetic = rt_arithmetic_ceiling(c, claim->arithmetic);
    double share = 0;
    if (bandwidth > 0)
        share = claim->bytes / bandwidth;
    if (arithmetic > 0)
        share = fmax(share, claim->flops / arithmetic);
    return share;
}

rt_share_t rt_plausible_share(rt_kind_t kind, const rt_claim_t *claim,
                              const rt_ceilings_t *measured, double *share, rt_ceilings_t *again)
{
    *share = 0;
    if (claim->timed_seconds < least_seconds || rt_bandwidth_ceiling(measured) <= 0)
        return RT_SHARE_UNKNOWN;
    *share = share_of(claim, measured, rt_bandwidth_ceiling(measured));
    if (*share <= RT_MOST_SHARE)
        return RT_SHARE_MEASURED;
    rt_ceiling_measure(kind, claim->touched, again_seconds, again);
    const rt_ceilings_t best = rt_ceilings_best(measured, again);
    const bool known = again->working_set <= claim->touched; /* the measurement has a least size */
    *share = share_of(claim, &best, known ? rt_bandwidth_ceiling(&best) : 0);
    return RT_SHARE_AGAIN;
}
