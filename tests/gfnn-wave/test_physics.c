/*
 * test_physics.c - plane waves travel as fast as the discrete equations say, energy is conserved,
 * and damping reduces it.
 *
 * A plane wave along x is an eigenvector of M and K: with theta = k ds the consistent mass and the
 * stiffness of a row of elements give
 *
 *     w_h^2 = (c / ds)^2 6 (1 - cos theta) / (2 + cos theta),
 *
 * and Newmark's (1/4, 1/2) turns it by w = (2 / dt) atan(w_h dt / 2) per unit of time, exactly.
 * So after hundreds of steps the phase is known to the last digits, except for rounding and the
 * solver's tolerance; a wrong matrix, density, coefficient of the step or order of updates shows.
 */
#include "config.h"
#include <math.h>
#include "gfnn_test.h"

enum { WAVE = 20, STEPS = 200 };
static const double PI = 3.14159265358979323846;

/* Sets the state of a wave of WAVE nodes per wavelength that travels in x, at t = 0. */
static void put_wave(gfnn_problem_t *p, int component, double wh)
{
    const gfnn_grid_t *g = &p->box.fine;
    for (int64_t k = 0; k < g->n[2]; k++)
        for (int64_t j = 0; j < g->n[1]; j++)
            for (int64_t i = 0; i < g->n[0]; i++) {
                const int64_t at = component * g->plane + gfnn_at(g, i, j, k);
                const double phase = 2 * PI * (double)i / WAVE;
                p->start.u[at] = cos(phase);
                p->start.v[at] = wh * sin(phase);
                p->start.a[at] = -wh * wh * cos(phase);
            }
}

static double discrete_frequency(const gfnn_config_t *config, double c)
{
    const double theta = 2 * PI / WAVE;
    return c / config->ds * sqrt(6 * (1 - cos(theta)) / (2 + cos(theta)));
}

/* v . M v + u . K u, over rho ds^3. */
static double energy(const gfnn_problem_t *p, double *u, double *v)
{
    const gfnn_grid_t *g = &p->box.fine;
    const size_t values = 3 * (size_t)g->plane;
    double *t = RT_NEW(double, 2 * values, RT_HOST), sum = 0;
    memset(t, 0, 2 * values * sizeof *t);
    gfnn_oracle_apply(p, &p->step.M, false, v, t);
    gfnn_oracle_apply(p, &p->step.K, false, u, t + values);
    for (int c = 0; c < 3; c++)
        for (int64_t k = 0; k < g->n[2]; k++)
            for (int64_t j = 0; j < g->n[1]; j++)
                for (int64_t i = 0; i < g->n[0]; i++) {
                    const int64_t at = c * g->plane + gfnn_at(g, i, j, k);
                    sum += v[at] * t[at] + u[at] * t[values + (size_t)at];
                }
    RT_FREE(t, RT_HOST);
    return sum;
}

/* A solve starts from a multiple of the problem's state. */
static void unscale(gfnn_solver_t *s)
{
    for (int64_t i = 0; i < 3 * s->problem->box.fine.plane; i++) {
        s->u[i] /= s->scale;
        s->v[i] /= s->scale;
    }
}

static void run_wave(int component, double speed, const char *name, double expected)
{
    gfnn_test_t c;
    gfnn_test_new(&c, "elements=20x4x4 model=uniform vs=50 source=plane damping=0 "
                      "precond=bj tolerance=1e-13 steps=200");
    gfnn_problem_t *p = c.problem;
    const gfnn_grid_t *g = &p->box.fine;
    const double dt = p->config->dt, wh = discrete_frequency(p->config, speed);
    const double w = 2 / dt * atan(wh * dt / 2);
    memset(p->start.u, 0, 3 * (size_t)g->plane * sizeof(double));
    memset(p->start.v, 0, 3 * (size_t)g->plane * sizeof(double));
    memset(p->start.a, 0, 3 * (size_t)g->plane * sizeof(double));
    put_wave(p, component, wh);
    const double before = energy(p, p->start.u, p->start.v);

    gfnn_solver_t *s = gfnn_test_solver(&c, "solve-simd");
    gfnn_solve(s);
    unscale(s);
    const double drift = fabs(energy(p, s->u, s->v) / before - 1);
    double worst = 0;
    for (int64_t k = 0; k < g->n[2]; k++)
        for (int64_t j = 0; j < g->n[1]; j++)
            for (int64_t i = 0; i < g->n[0]; i++) {
                const int64_t at = component * g->plane + gfnn_at(g, i, j, k);
                worst =
                    fmax(worst, fabs(s->u[at] - cos(2 * PI * (double)i / WAVE - w * STEPS * dt)));
            }
    const double theta = 2 * PI / WAVE, ratio = w / (theta / p->config->ds) / speed;
    printf("%s wave: energy drifts by %.1e, off by %.1e after %d steps, speed %.4f of c\n", name,
           drift, worst, STEPS, ratio);
    CHECK(s->steps == STEPS);
    CHECK(drift < 1e-12);
    CHECK(worst < 2e-11);
    CHECK(fabs(ratio - expected) < 5e-5);
    gfnn_test_destroy(&c);
}

/* With damping the energy falls as the damping ratio at that frequency says: within a few per
 * cent exp(-2 h_eff w t), h_eff = (a / w + b w) / 2. */
static void run_damped(void)
{
    gfnn_test_t c;
    gfnn_test_new(&c, "elements=20x4x4 model=uniform vs=50 source=plane damping=0.05 "
                      "precond=bj tolerance=1e-12 steps=100");
    gfnn_problem_t *p = c.problem;
    const double dt = p->config->dt, wh = discrete_frequency(p->config, 50);
    const double w = 2 / dt * atan(wh * dt / 2);
    const size_t values = 3 * (size_t)p->box.fine.plane;
    memset(p->start.u, 0, values * sizeof(double));
    memset(p->start.v, 0, values * sizeof(double));
    memset(p->start.a, 0, values * sizeof(double));
    put_wave(p, 1, wh);
    const double before = energy(p, p->start.u, p->start.v);
    gfnn_solver_t *s = gfnn_test_solver(&c, "solve-simd");
    gfnn_solve(s);
    unscale(s);
    const double left = energy(p, s->u, s->v) / before;
    const double share = (p->step.rayleigh_a / wh + p->step.rayleigh_b * wh) / 2;
    const double expected = exp(-2 * share * w * 100 * dt);
    printf("damped: %.4f of the energy left, %.4f expected\n", left, expected);
    CHECK(left < 1 && fabs(left / expected - 1) < 0.05);
    gfnn_test_destroy(&c);
}

int main(int argc, char **argv)
{
    rt_error_set_program("test_physics");
    rt_comm_init(&argc, &argv);
    rt_device_select("cpu", true, 1);
    run_wave(0, 200, "P", 0.8958);
    run_wave(1, 50, "S", 0.9959);
    run_damped();
    rt_device_release();
    rt_comm_finish();
    return check_done();
}
