/* measure/plausible.c - could the machine have done that? */
#include "config.h"
#include "measure/plausible.h"
#include <math.h>

double rt_arithmetic_ceiling(const rt_ceilings_t *c, rt_arithmetic_t arithmetic)
{
    switch (arithmetic) {
    case RT_FMA64:
        return c->rate[RT_RATE_FMA64];
    case RT_FMA32:
        return c->rate[RT_RATE_FMA32];
    case RT_MMA16:
    case RT_MIXED:
        break;
    }
    return 0;
}

/* Returns the spread of the samples of two rates. */
static double joint_spread(double a, double spread_a, double b, double spread_b)
{
    return 1 - fmin((1 - spread_a) * a, (1 - spread_b) * b) / fmax(a, b);
}

rt_ceilings_t rt_ceilings_best(const rt_ceilings_t *a, const rt_ceilings_t *b)
{
    rt_ceilings_t best = *a;
    for (int i = 0; i < RT_RATES; i++)
        best.rate[i] = fmax(a->rate[i], b->rate[i]);
    best.samples = a->samples + b->samples;
    best.spread =
        joint_spread(rt_bandwidth_ceiling(a), a->spread, rt_bandwidth_ceiling(b), b->spread);
    best.fma_spread =
        joint_spread(a->rate[RT_RATE_FMA64], a->fma_spread, b->rate[RT_RATE_FMA64], b->fma_spread);
    return best;
}

double rt_share_of(const rt_claim_t *claim, const rt_ceilings_t *ceilings,
                   const rt_ceilings_t *again)
{
    const rt_ceilings_t best = again ? rt_ceilings_best(ceilings, again) : *ceilings;
    const bool in_cache =
        claim->touched < claim->least || (again && again->working_set > claim->touched);
    const double bandwidth = in_cache ? 0 : rt_bandwidth_ceiling(&best);
    const double arithmetic = rt_arithmetic_ceiling(&best, claim->arithmetic);
    double share = 0;
    if (bandwidth > 0)
        share = claim->bytes / bandwidth;
    if (arithmetic > 0)
        share = fmax(share, claim->flops / arithmetic);
    return share;
}
