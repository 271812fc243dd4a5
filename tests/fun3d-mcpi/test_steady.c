/*
 * test_steady.c - steps until the flow is steady: order of accuracy by a manufactured solution, and
 * a sheared layer with an exact solution.
 */
#include "config.h"
#include "march_test.h"

/* --- solving --- */

/* Steps until the residual has fallen to `to`; returns the steps, or -1. */
static int solve(flow_t *t, double courant, double to)
{
    const mcpi_system_t system = {
        .nb = NB, .type = MCPI_FP64, .part = t->part, .O = t->f.O, .LU = t->f.LU, .R = t->f.right};
    double first = 0;
    for (int step = 0; step < 400; step++) {
        residual(t);
        const double norm = sqrt(simd()->norm(&t->f, NULL));
        first = step == 0 ? norm : first;
        if (norm <= to * first)
            return step;
        t->f.cfl = courant * first / norm;
        simd()->jacobian(&t->f);
        simd()->factor(&t->f);
        simd()->right(&t->f);
        memset(t->dq, 0, (size_t)(NB * t->f.rows) * sizeof(double));
        for (int sweep = 0; sweep < 10; sweep++)
            mcpi_reference_rows(&system, t->f.right, 0, t->f.rows, t->dq, NULL);
        simd()->update(&t->f);
    }
    return -1;
}

/* --- order of accuracy, by a manufactured solution --- */

static void exact(const double *x, double *w)
{
    const double s = sin(2 * x[0] + x[1] - 0.5 * x[2]), c = cos(x[0] - 1.5 * x[1] + x[2]);
    w[0] = 1 + 0.1 * s;
    w[1] = 0.4 + 0.05 * c;
    w[2] = 0.1 + 0.05 * s;
    w[3] = -0.1 + 0.04 * c * s;
    w[4] = (1 + 0.1 * c) / MCPI_GAMMA;
}

/* The divergence of the exact flux, by central differences of fourth order. */
static void divergence(const double *x, double *S)
{
    static const double h = 1e-2, weight[4] = {1. / 12, -2. / 3, 2. / 3, -1. / 12};
    static const int at[4] = {-2, -1, 1, 2};
    memset(S, 0, NB * sizeof *S);
    for (int d = 0; d < 3; d++)
        for (int k = 0; k < 4; k++) {
            double y[3], w[NB], area[3] = {0};
            memcpy(y, x, sizeof y);
            y[d] += at[k] * h;
            area[d] = 1;
            exact(y, w);
            mcpi_add_flux(w, area, weight[k] / h, S);
        }
}

/* Returns the volume of the dual cell of row i. A dual face towards j consists of triangles that contain
 * the middle of the edge, and faces at the boundary contain the vertex itself: sum n.d / 6. */
static double volume_of(const flow_t *t, int64_t i)
{
    double volume = 0;
    for (int32_t k = t->f.start[i]; k < t->f.start[i + 1]; k++)
        for (int d = 0; d < 3; d++)
            volume += t->f.n[3 * (int64_t)k + d] *
                      (t->f.x[3 * (int64_t)t->f.column[k] + d] - t->f.x[3 * i + d]) / 6;
    return volume;
}

/* Returns the error of the density in the mean square, on a cube of n cells. */
static double manufactured(int n, bool second)
{
    rt_mesh_t *mesh = cube(n, false);
    flow_t t = flow_new(mesh, "none", "none", 0);
    double *source = array(NB * t.f.rows), *outside = array(NB * t.f.rows), sum = 0, volume = 0;
    t.first_order = !second;
    for (int64_t i = 0; i < t.f.rows; i++) {
        exact(t.f.x + 3 * i, outside + NB * i);
        divergence(t.f.x + 3 * i, source + NB * i);
        for (int v = 0; v < NB; v++)
            source[NB * i + v] *= volume_of(&t, i);
    }
    t.f.source = source;
    t.f.outside = outside;
    set_stream(&t, 0);
    CHECK(solve(&t, 100, 1e-7) > 0);
    for (int64_t i = 0; i < t.f.rows; i++) {
        const double d = t.f.w[NB * i] - outside[NB * i];
        sum += volume_of(&t, i) * d * d;
        volume += volume_of(&t, i);
    }
    CHECK(fabs(volume - 1) < 1e-12);
    flow_destroy(&t);
    rt_mesh_destroy(mesh);
    return sqrt(sum);
}

static void test_order(void)
{
    enum { FINE = 16 };
    for (int second = 0; second < 2; second++) {
        const double coarse = manufactured(FINE / 2, second), better = manufactured(FINE, second);
        const double order = log2(coarse / better);
        printf("order of accuracy %d: %.3f (%.3g, %.3g)\n", 1 + second, order, coarse, better);
        CHECK(fabs(order - (1 + second)) < (second ? 0.1 : 0.25));
    }
}

/* --- a sheared layer --- */

/* Couette flow between a wall at rest and one that moves with speed U, no energy passing either of
 * them: u = U z, and the conducted |u|^2/2 + (gamma / Pr) e is the same everywhere. */
static void couette(const double *x, double *w)
{
    static const double U = 0.5;
    const double e0 = 1 / (MCPI_GAMMA * (MCPI_GAMMA - 1)), u = U * x[2];
    const double e = e0 + MCPI_PRANDTL / MCPI_GAMMA * (U * U - u * u) / 2;
    w[1] = u;
    w[2] = w[3] = 0;
    w[4] = 1 / MCPI_GAMMA;
    w[0] = w[4] / ((MCPI_GAMMA - 1) * e);
}

/* Returns the largest error of the velocity, and in *heat that of e over its variation, which a
 * wrong Prandtl number or friction without heat would make 1. */
static double sheared(int n, double *heat)
{
    rt_mesh_t *mesh = cube(n, false);
    flow_t t = flow_new(mesh, "none", "none", 0.1);
    double *outside = array(NB * t.f.rows), most[2] = {0, 0};
    for (int64_t i = 0; i < t.f.rows; i++) {
        const double z = t.f.x[3 * i + 2];
        couette(t.f.x + 3 * i, outside + NB * i);
        if (t.f.side_of[i] < 0)
            continue;
        mcpi_side_t *side = t.geometry->side + t.f.side_of[i];
        side->held = z < 1e-9 || z > 1 - 1e-9;
        side->wall[2] = z < 1e-9 || z > 1 - 1e-9 ? side->far[2] : 0;
        side->far[2] -= side->wall[2];
        side->slip[1] = side->far[1];
        side->far[1] = 0;
    }
    t.f.outside = outside;
    memcpy(t.f.w, outside, (size_t)(NB * t.f.rows) * sizeof(double));
    for (int64_t i = 0; i < t.f.rows; i++)
        if (!mcpi_is_held(&t.f, i)) { /* far from the solution, but at the walls */
            t.f.w[NB * i + 1] = 0.25;
            t.f.w[NB * i] = 1;
        }
    CHECK(solve(&t, 100, 1e-7) > 0);
    for (int64_t i = 0; i < t.f.rows; i++) {
        const double *w = t.f.w + NB * i, *want = outside + NB * i;
        const double e = w[4] / w[0] / (MCPI_GAMMA - 1),
                     e_want = want[4] / want[0] / (MCPI_GAMMA - 1);
        most[0] = fmax(most[0], fabs(w[1] - want[1]));
        most[1] = fmax(most[1], fabs(e - e_want));
    }
    *heat = most[1] / (MCPI_PRANDTL / MCPI_GAMMA * 0.125);
    flow_destroy(&t);
    rt_mesh_destroy(mesh);
    return most[0];
}

static void test_sheared(void)
{
    double heat[2], velocity[2];
    for (int k = 0; k < 2; k++) {
        velocity[k] = sheared(4 << k, heat + k);
        printf("Couette: velocity off by %.3g, heat by %.3g\n", velocity[k], heat[k]);
    }
    /* of first order where walls and side faces meet, so in the largest error */
    CHECK(velocity[1] < 0.02 && velocity[1] < velocity[0] / 1.5);
    CHECK(heat[1] < 0.15 && heat[1] < heat[0] / 1.5);
}

int main(void)
{
    test_order();
    test_sheared();
    return check_done();
}
