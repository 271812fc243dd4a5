/*
 * head.c - a head of nested ellipsoids: scalp, skull, fluid, grey and white matter, and in these
 * the two ventricles and the brain stem.
 *
 * The surfaces of grey and white matter are folded, so that patches of all kinds of interfaces
 * occur.
 */
#include "config.h"
#include "input.h"
#include <math.h>

/* A point on a surface is outside. The margin is far above rounding, so that no compiler's order of
 * additions decides where such a point lies. */
static const double margin = 1e-12;

/* sum of (x / radius)^2 */
static double reach(const double x[3], const double radius[3])
{
    const double u = x[0] / radius[0], v = x[1] / radius[1], w = x[2] / radius[2];
    return u * u + v * v + w * w;
}

static bool within(const double point[3], const double radius[3], const double at[3])
{
    const double x[3] = {point[0] - at[0], point[1] - at[1], point[2] - at[2]};
    return reach(x, radius) < 1 - margin;
}

/* Returns whether the point is inside the ellipsoid with folds of at most `depth`. The sines are
 * computed only where they decide. */
static bool folded(const double x[3], const double radius[3], double depth, double phase_xy,
                   double phase_z)
{
    const double s = reach(x, radius);
    if (s < 1 - depth - margin || s > 1 + depth)
        return s < 1;
    const double fold = sin(9 * atan2(x[1], x[0]) + phase_xy) * sin(14 * x[2] + phase_z);
    return s < 1 + depth * fold - margin;
}

int gfnn_head_id(double x, double y, double z)
{
    enum { VOID, SCALP, SKULL, FLUID, GREY, WHITE, VENTRICLE, STEM };
    static const double scalp[3] = {.80, .92, .86}, skull[3] = {.74, .86, .80},
                        fluid[3] = {.65, .77, .71}, grey[3] = {.60, .72, .66},
                        white[3] = {.8 * .60, .8 * .72, .8 * .66}, stem[3] = {.16, .13, .3},
                        ventricle[3] = {.10, .28, .12};
    static const double middle[3] = {0, 0, 0}, left[3] = {-.13, 0, .08}, right[3] = {.13, 0, .08},
                        below[3] = {0, .15, -.62};
    const double point[3] = {x, y, z};
    if (within(point, stem, below))
        return STEM;
    if (within(point, ventricle, left) || within(point, ventricle, right))
        return VENTRICLE;
    return folded(point, white, .12, 1, .5) ? WHITE
           : folded(point, grey, .05, 0, 0) ? GREY
           : within(point, fluid, middle)   ? FLUID
           : within(point, skull, middle)   ? SKULL
           : within(point, scalp, middle)   ? SCALP
                                            : VOID;
}
