/*
 * judge/verify.c - verdicts, finiteness by bit pattern, and reproducible random data.
 *
 * Every check has one number, its severity: value / bound, or infinity where that quotient says
 * nothing (NaN, a negative value, a value against bound 0). Merging, margin and excess all follow
 * from it.
 */
#include "config.h"
#include "judge/verify.h"

#include <math.h>
#include <string.h>
#include "base/error.h"

bool rt_finite(double x)
{
    /* All ones in the exponent is infinity or NaN. No floating-point operation takes part, so no
     * promise that NaN never occurs (-ffinite-math-only) can touch it. */
    const uint64_t exponent = UINT64_C(0x7ff0000000000000);
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    return (bits & exponent) != exponent;
}

size_t rt_count_nonfinite(const double *x, size_t n)
{
    size_t bad = 0;
#ifdef _OPENMP
#pragma omp parallel for reduction(+ : bad) if (n > 65536)
#endif
    for (size_t i = 0; i < n; i++)
        bad += !rt_finite(x[i]);
    return bad;
}

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

void rt_verdict_check(rt_verdict_t *v, const char *name, double value, double bound)
{
    const rt_check_t made = {name, value, bound, check_holds(value, bound)};
    rt_check_t *known = verdict_find(v, name);
    if (!known) {
        RT_EXPECT(v->n < RT_MAX_CHECKS, RT_INVALID, "no room for check '%s': raise RT_MAX_CHECKS",
                  name);
        v->check[v->n++] = made;
    } else if (check_severity(&made) > check_severity(known)) {
        *known = made;
    }
    v->valid = true;
    for (int i = 0; i < v->n; i++)
        v->valid = v->valid && v->check[i].held;
}

void rt_verdict_true(rt_verdict_t *v, const char *name, bool truth)
{
    rt_verdict_check(v, name, truth ? 0.0 : 1.0, 0.0);
}

void rt_verdict_add(rt_verdict_t *v, const rt_verdict_t *from)
{
    for (int i = 0; i < from->n; i++)
        rt_verdict_check(v, from->check[i].name, from->check[i].value, from->check[i].bound);
}

double rt_verdict_margin(const rt_verdict_t *v)
{
    double worst = 0.0;
    for (int i = 0; i < v->n; i++)
        if (v->check[i].bound != 0.0)
            worst = fmax(worst, check_severity(&v->check[i]));
    return worst == 0.0 ? INFINITY : 1.0 / worst;
}

double rt_verdict_excess(const rt_verdict_t *v)
{
    double worst = 0.0;
    for (int i = 0; i < v->n; i++)
        if (!v->check[i].held)
            worst = fmax(worst, check_severity(&v->check[i]));
    return worst;
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
                c->held ? "held" : "FAILED");
    }
}

/* Number `index` of the splitmix64 sequence that starts at `seed` (Steele, Lea and Flood, OOPSLA
 * 2014): the state only counts in steps of an odd constant, so any number can be had directly. */
uint64_t rt_hash(uint64_t index, uint64_t seed)
{
    uint64_t z = seed + (index + 1) * UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

double rt_random(uint64_t index, uint64_t seed)
{
    /* 52 bits j make the odd numbers 2j + 1 - 2^52: symmetric about zero, never zero, never an
     * end of the interval, and each an exact double after scaling. */
    int64_t odd = 2 * (int64_t)(rt_hash(index, seed) >> 12) + 1 - (INT64_C(1) << 52);
    return (double)odd * 0x1p-52;
}
