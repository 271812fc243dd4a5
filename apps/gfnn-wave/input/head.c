/*
 * head.c - a head of nested ellipsoids: scalp, skull, fluid, grey and white matter, and in these
 * the two ventricles and the brain stem.
 *
 * The surfaces of grey and white matter are folded, so that patches of all kinds of interfaces
 * occur. Seed 0 is the nominal head, on which iterations are compared; any other seed is a head of
 * its own: moved a little, longer or shorter along each axis, layers thicker and thinner (never so
 * much that they would cross), folds elsewhere.
 */
#include "config.h"
#include "input.h"
#include <math.h>

/* A point on a surface is outside. The margin is far above rounding, so that no compiler's order of
 * additions decides where such a point lies. */
static const double margin = 1e-12;

/* The state while a point is placed in the head of one seed. */
typedef struct {
    uint64_t seed;
    double x[3];     /* of the point, from the head's middle, mapped to the nominal shape */
    uint64_t number; /* of the next random figure */
} head_t;

/* Returns a random value in (-most, most); 0 for the nominal head. */
static double jitter(head_t *h, double most)
{
    return h->seed == 0 ? 0 : most * rt_random(h->number++, h->seed);
}

/* sum of (x / radius)^2 */
static double reach(const double x[3], double a, double b, double c)
{
    const double u = x[0] / a, v = x[1] / b, w = x[2] / c;
    return u * u + v * v + w * w;
}

static bool within(const head_t *h, double a, double b, double c, const double at[3])
{
    const double x[3] = {h->x[0] - at[0], h->x[1] - at[1], h->x[2] - at[2]};
    return reach(x, a, b, c) < 1 - margin;
}

/* Is the point inside the ellipsoid with folds of at most `depth`? The sines are computed only
 * where they decide. */
static bool folded(head_t *h, const double radius[3], double depth, double phase_xy, double phase_z)
{
    const double grown = 1 + jitter(h, 0.015), turned = jitter(h, 3), shifted = jitter(h, 3);
    const double s = reach(h->x, grown * radius[0], grown * radius[1], grown * radius[2]);
    if (s < 1 - depth - margin || s > 1 + depth)
        return s < 1;
    const double fold = sin(9 * atan2(h->x[1], h->x[0]) + phase_xy + turned) *
                        sin(14 * h->x[2] + phase_z + shifted);
    return s < 1 + depth * fold - margin;
}

static bool smooth(head_t *h, double a, double b, double c)
{
    static const double middle[3] = {0, 0, 0};
    const double grown = 1 + jitter(h, 0.015);
    return within(h, grown * a, grown * b, grown * c, middle);
}

int gfnn_head_id(double x, double y, double z, uint64_t seed)
{
    enum { VOID, SCALP, SKULL, FLUID, GREY, WHITE, VENTRICLE, STEM };
    static const double grey[3] = {.60, .72, .66}, white[3] = {.8 * .60, .8 * .72, .8 * .66};
    static const double left[3] = {-.13, 0, .08}, right[3] = {.13, 0, .08},
                        stem[3] = {0, .15, -.62};
    head_t h = {.seed = seed};
    const double point[3] = {x, y, z};
    for (int d = 0; d < 3; d++) {
        const double moved = jitter(&h, 0.02), longer = 1 + jitter(&h, 0.04);
        h.x[d] = (point[d] - moved) / longer;
    }
    /* The inner tissues are tested first. All random values are drawn in any case, in the same
     * order. */
    const bool in_white = folded(&h, white, .12, 1, .5);
    const bool in_grey = folded(&h, grey, .05, 0, 0);
    const bool in_fluid = smooth(&h, .65, .77, .71);
    const bool in_skull = smooth(&h, .74, .86, .80);
    const bool in_scalp = smooth(&h, .80, .92, .86);
    if (within(&h, .16, .13, .3, stem))
        return STEM;
    if (within(&h, .10, .28, .12, left) || within(&h, .10, .28, .12, right))
        return VENTRICLE;
    return in_white   ? WHITE
           : in_grey  ? GREY
           : in_fluid ? FLUID
           : in_skull ? SKULL
           : in_scalp ? SCALP
                      : VOID;
}
