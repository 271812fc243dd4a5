/*
 * judge/verify.c - verdicts.
 *
 * Every check has one number, its severity: value / bound, or infinity where that quotient says
 * nothing (NaN, a negative value, a value against bound 0). Of two checks of one name the more severe
 * is kept.
 */
#include "config.h"
#include "judge/verify.h"

#include <math.h>
#include <string.h>
#include "base/error.h"
#include "base/numbers.h"

void rt_verdict_clear(rt_verdict_t *v)
{
    v->n = 0;
    v->valid = false;
}

/* A bound that is not finite was never derived, so no value holds against it. */
static bool check_holds(double value, double bound)
{
    return rt_finite(value) && rt_finite(bound) && value >= 0.0 && value <= bound;
}

static double check_severity(const rt_check_t *c)
{
    if (!rt_finite(c->value) || !rt_finite(c->bound) || c->value < 0.0 || c->bound < 0.0)
        return INFINITY;
    if (c->bound == 0.0)
        return c->value == 0.0 ? 0.0 : INFINITY;
    return c->value / c->bound;
}

static rt_check_t *verdict_find(rt_verdict_t *v, const char *name)
{
    for (int i = 0; i < v->n; i++)
        if (strcmp(v->check[i].name, name) == 0)
            return &v->check[i];
    return NULL;
}

/* Adds a check, or replaces a milder one of that name. Of two that are as bad, the one counts that
 * is no question of convergence. */
static void verdict_add(rt_verdict_t *v, rt_check_t made)
{
    rt_check_t *known = verdict_find(v, made.name);
    if (!known) {
        RT_EXPECT(v->n < RT_MAX_CHECKS, RT_INVALID, "no room for check '%s': raise RT_MAX_CHECKS",
                  made.name);
        v->check[v->n++] = made;
    } else {
        const double worse = check_severity(&made), before = check_severity(known);
        if (worse > before || (worse == before && known->convergence))
            *known = made;
    }
    v->valid = true;
    for (int i = 0; i < v->n; i++)
        v->valid = v->valid && v->check[i].held;
}

void rt_verdict_check(rt_verdict_t *v, const char *name, double value, double bound)
{
    const double noted = rt_finite(bound) ? bound : RT_NO_BOUND;
    verdict_add(v, (rt_check_t){name, value, noted, check_holds(value, bound), false});
}

void rt_verdict_true(rt_verdict_t *v, const char *name, bool truth)
{
    rt_verdict_check(v, name, truth ? 0.0 : 1.0, 0.0);
}

void rt_verdict_converged(rt_verdict_t *v, const char *name, bool reached)
{
    verdict_add(v, (rt_check_t){name, reached ? 0.0 : 1.0, 0.0, reached, true});
}

bool rt_verdict_not_converged(const rt_verdict_t *v)
{
    bool only = !v->valid && v->n > 0;
    for (int i = 0; i < v->n; i++)
        only = only && (v->check[i].held || v->check[i].convergence);
    return only;
}

void rt_verdict_print(const rt_verdict_t *v, FILE *out)
{
    int width = 0;
    for (int i = 0; i < v->n; i++) {
        int length = (int)strlen(v->check[i].name);
        width = length > width ? length : width;
    }
    for (int i = 0; i < v->n; i++) {
        const rt_check_t *c = &v->check[i];
        fprintf(out, "  %-*s  %9.2e  bound %9.2e  %s\n", width, c->name, c->value, c->bound,
                c->held          ? "held"
                : c->convergence ? "not converged"
                                 : "FAILED");
    }
}
