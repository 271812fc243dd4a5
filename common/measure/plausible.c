/*
 * measure/plausible.c - could the machine have done that? A rung that seems to move more bytes, or to do
 * more arithmetic, than the loops that did nothing else in the same job, has either left out work,
 * or counts work that it does not do, or was timed wrongly. It is INVALID until that is explained.
 *
 * The bytes are the least bytes of the work model, so an honest rung comes out too low, never too
 * high; but for two things, which is why the ceilings are measured once more before a rung is
 * judged. A shared machine may have been slow when they were measured, and fast when the rung was.
 * And what one kernel touches can be in a cache that the whole working set does not fit: so the
 * second measurement is over the bytes that the largest kernel touches in a call; of kernels that
 * fit the innermost cache, for which no ceiling is measured, the arithmetic alone is judged. Price:
 * half a second, for a rung that is suspected.
 */
#include "config.h"
#include <math.h>
#include "rt.h"
#include "driver/driver.h"

static const double most_share = 1.02;   /* noise of a ceiling that is the best of a few seconds */
static const double least_seconds = 0.2; /* what was timed for less is noise itself */
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

/* What disturbed one measurement must not flatter the rungs. */
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

/* The larger of its shares of the ceilings that are known; bandwidth 0: unknown. */
static double share_of(const rt_outcome_t *out, const rt_ceilings_t *c, double bandwidth)
{
    const double seconds = out->seconds_per_unit;
    const double arithmetic = rt_arithmetic_ceiling(c, out->work.arithmetic);
    double share = 0;
    if (bandwidth > 0)
        share = rt_work_bytes(&out->work) / seconds / rt_comm_size() / bandwidth;
    if (arithmetic > 0)
        share = fmax(share, rt_work_flops(&out->work) / seconds / rt_comm_size() / arithmetic);
    return share;
}

/* Bytes on a rank that the largest kernel touches in one call. */
static size_t largest_kernel(const rt_work_t *work)
{
    double most = 0;
    for (int i = 0; i < work->n; i++)
        most = fmax(most, work->line[i].read + work->line[i].written);
    return (size_t)(most / rt_comm_size());
}

bool rt_plausible_judge(rt_outcome_t *out, const rt_ceilings_t *measured, rt_ceilings_t *again)
{
    bool repeated = false;
    if (!out->verdict.valid || out->timed_seconds < least_seconds ||
        rt_bandwidth_ceiling(measured) <= 0)
        return false;
    double share = share_of(out, measured, rt_bandwidth_ceiling(measured));
    if (share > most_share) {
        const size_t touched = largest_kernel(&out->work);
        rt_ceiling_measure(out->rung->kind, touched, again_seconds, again);
        const rt_ceilings_t best = rt_ceilings_best(measured, again);
        const bool known = again->working_set <= touched; /* it has a least size */
        share = share_of(out, &best, known ? rt_bandwidth_ceiling(&best) : 0);
        repeated = true;
    }
    rt_verdict_check(&out->verdict, "plausible: at most 102 % of the measured ceiling", share,
                     most_share);
    out->plausible = share <= most_share ? RT_PLAUSIBLE : RT_IMPLAUSIBLE;
    return repeated;
}
