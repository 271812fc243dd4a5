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
 *
 * A point source sends out what Stokes found for an infinite medium (1849; Aki and Richards,
 * "Quantitative Seismology", eq. 4.23): a wave of each kind, and between them the near field. A wrong
 * force, direction or place shows, which a plane wave does not have.
 */
#include "config.h"
#include <math.h>
#include "gfnn_test.h"

enum { WAVE = 20, STEPS = 200 };
static const double PI = 3.14159265358979323846;

/* Sets the state of a wave of WAVE nodes per wavelength that travels in x, at t = 0. */
static void put_wave(gfnn_solver_t *s, int component, double wh)
{
    const gfnn_grid_t *g = &s->problem->box.fine;
    for (int64_t k = 0; k < g->n[2]; k++)
        for (int64_t j = 0; j < g->n[1]; j++)
            for (int64_t i = 0; i < g->n[0]; i++) {
                const int64_t at = component * g->plane + gfnn_at(g, i, j, k);
                const double phase = 2 * PI * (double)i / WAVE;
                s->u[at] = cos(phase);
                s->v[at] = wh * sin(phase);
                s->a[at] = -wh * wh * cos(phase);
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

static void run_wave(int component, double speed, const char *name, double expected)
{
    gfnn_test_t c;
    gfnn_test_new(&c, "elements=20x4x4 model=uniform:50 damping=0 "
                      "precond=bj tolerance=1e-13 steps=200");
    gfnn_problem_t *p = c.problem;
    const gfnn_grid_t *g = &p->box.fine;
    const double dt = p->config->dt, wh = discrete_frequency(p->config, speed);
    const double w = 2 / dt * atan(wh * dt / 2);
    gfnn_solver_t *s = gfnn_test_solver(&c, "solve-simd");
    gfnn_test_no_source(s);
    put_wave(s, component, wh);
    const double before = energy(p, s->u, s->v);
    gfnn_solve(s);
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
    gfnn_test_new(&c, "elements=20x4x4 model=uniform:50 damping=0.05 "
                      "precond=bj tolerance=1e-12 steps=100");
    gfnn_problem_t *p = c.problem;
    const double dt = p->config->dt, wh = discrete_frequency(p->config, 50);
    const double w = 2 / dt * atan(wh * dt / 2);
    gfnn_solver_t *s = gfnn_test_solver(&c, "solve-simd");
    gfnn_test_no_source(s);
    put_wave(s, 1, wh);
    const double before = energy(p, s->u, s->v);
    gfnn_solve(s);
    const double left = energy(p, s->u, s->v) / before;
    const double share = (p->step.rayleigh_a / wh + p->step.rayleigh_b * wh) / 2;
    const double expected = exp(-2 * share * w * 100 * dt);
    printf("damped: %.4f of the energy left, %.4f expected\n", left, expected);
    CHECK(left < 1 && fabs(left / expected - 1) < 0.05);
    gfnn_test_destroy(&c);
}

/* --- a point source in a uniform medium --- */

enum { EDGE = 36, SHOTS = 36, PLACES = 3 };
static const double VP = 200, VS = 140, DS = 1e-3, RHO = 1000, SHOT_DT = 5e-6, FREQUENCY = 8000;

/* The force of 1 N that step.c describes. */
static double ricker(double t)
{
    const double phase = PI * (FREQUENCY * t - 1);
    return t < 0 ? 0 : (1 - 2 * phase * phase) * exp(-phase * phase);
}

/* Computes u at `at` (from the source, m) and time t, for a force along z. */
static void stokes(const double at[3], double t, double u[3])
{
    enum { PARTS = 400 };
    const double r = sqrt(at[0] * at[0] + at[1] * at[1] + at[2] * at[2]);
    const double first = r / VP, last = r / VS, h = (last - first) / PARTS;
    double near = 0; /* the integral of tau F(t - tau), by trapezoids */
    for (int i = 0; i <= PARTS; i++) {
        const double tau = first + i * h;
        near += (i == 0 || i == PARTS ? 0.5 : 1) * h * tau * ricker(t - tau);
    }
    for (int c = 0; c < 3; c++) {
        const double both = at[c] * at[2] / (r * r), same = c == 2 ? 1 : 0;
        u[c] = ((3 * both - same) * near / (r * r * r) + both * ricker(t - first) / (VP * VP * r) +
                (same - both) * ricker(t - last) / (VS * VS * r)) /
               (4 * PI * RHO);
    }
}

/*
 * Until the P wave of the nearest image comes (the box is periodic, and a wavelet is weak before a
 * quarter of its period) the box is infinite. The two leading errors are the source's, which is as
 * wide as an element, (ds / r)^2, and the dispersion of linear elements, theta^2 / 24 of the phase
 * that the S wave has come, theta = w ds / Vs.
 */
typedef struct {
    gfnn_solver_t *s;
    int64_t at[PLACES]; /* index on box->fine */
    double u[SHOTS][PLACES][3];
} records_t;

/* After a step. */
static void record(void *data)
{
    records_t *records = data;
    const gfnn_solver_t *s = records->s;
    for (int k = 0; k < PLACES; k++)
        for (int d = 0; d < 3; d++)
            records->u[s->steps - 1][k][d] = s->u[d * s->problem->box.fine.plane + records->at[k]];
}

static void check_source(void)
{
    static const int offset[PLACES][3] = {{6, 0, 0}, {0, 0, 6}, {4, -4, 3}};
    static const double place[3] = GFNN_SOURCE_AT;
    static records_t records;
    char settings[256];
    gfnn_test_t c;
    snprintf(settings, sizeof settings,
             "elements=%d model=uniform:%g dt=%g frequency=%g steps=%d "
             "damping=0 precond=bj",
             EDGE, VS, SHOT_DT, FREQUENCY, SHOTS);
    gfnn_test_new(&c, settings);
    gfnn_solver_t *s = records.s = gfnn_test_solver(&c, "solve-simd");
    for (int k = 0; k < PLACES; k++) {
        int64_t node[3];
        for (int d = 0; d < 3; d++)
            node[d] = (int64_t)(place[d] * EDGE + 0.5) + offset[k][d];
        records.at[k] = gfnn_at(&s->problem->box.fine, node[0], node[1], node[2]);
    }
    s->after_step = record;
    s->after_step_data = &records;
    gfnn_solve(s);
    CHECK(s->steps == SHOTS);
    for (int k = 0; k < PLACES; k++) {
        double at[3], most = 0, worst = 0, far = 0, u[3];
        for (int d = 0; d < 3; d++) {
            at[d] = DS * offset[k][d];
            far = fmax(far, fabs(at[d]));
        }
        const double image = (DS * EDGE - far) / VP + 0.25 / FREQUENCY;
        for (int i = 0; i < SHOTS && SHOT_DT * (i + 1) < image; i++) {
            stokes(at, SHOT_DT * (i + 1), u);
            for (int d = 0; d < 3; d++) {
                const double got = records.u[i][k][d];
                most = fmax(most, fabs(u[d]));
                worst = fmax(worst, fabs(got - u[d]));
            }
        }
        const double r = sqrt(at[0] * at[0] + at[1] * at[1] + at[2] * at[2]);
        const double w = 2 * PI * FREQUENCY, theta = w * DS / VS;
        const double bound = DS * DS / (r * r) + theta * theta / 24 * w * r / VS;
        printf("source: %.1f elements away u is off by %.4f of its largest, bound %.4f\n", r / DS,
               worst / most, bound);
        CHECK(most > 1e-7 && worst < bound * most);
    }
    gfnn_test_destroy(&c);
}

int main(int argc, char **argv)
{
    app_test_start_on(1, "test_physics", &argc, &argv);
    run_wave(0, 200, "P", 0.8958);
    run_wave(1, 50, "S", 0.9959);
    run_damped();
    check_source();
    return app_test_stop(check_done());
}
