/*
 * test_precond.c - tests the preconditioner of the ladder `solve`.
 *
 * Iterations are compared with a study of the same method in another language (NumPy): random
 * right-hand sides, relative residual 1e-8, Dirichlet conditions, lambda = 0, degree 9. All else
 * that can be exact is compared with what it must be.
 */
#include "config.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "nek_test.h"
#include "apps/nekbone/precond/grid.h"

static const rt_rung_t *rung_of(const char *name)
{
    return rt_app_rung(&nek_app, name);
}

static int iterations(const char *settings, const char *rung)
{
    nek_test_t t;
    nek_test_new(&t, &nek_app, settings);
    nek_solver_t *s = nek_solver_new(t.problem, rung_of(rung));
    nek_solve(s);
    const int done = s->done;
    nek_solver_destroy(s);
    nek_test_destroy(&t);
    return done;
}

/* Catches anything that makes the preconditioner weaker and leaves it one: a weight, a level, an
 * interval. */
static void check_iterations(void)
{
    static const struct {
        const char *mesh;
        int want[2]; /* by 4^3 and 8^3 elements */
    } study[] = {{"", {16, 16}}, {"ripple=0.3", {25, 26}}, {"stretch=8", {26, 30}}};
    const char *longer = getenv("RT_CHECK_LONG");
    const int sizes = longer && *longer && strcmp(longer, "0") != 0 ? 2 : 1;
    for (int m = sizes > 1 ? 0 : 1; m < 3; m++) /* short: what is bent or stretched */
        for (int size = 0; size < sizes; size++) {
            char settings[200];
            snprintf(settings, sizeof settings, "elements=%d lambda=0 precond=schwarz %s",
                     size ? 8 : 4, study[m].mesh);
            const int got = iterations(settings, "solve-cpu"), want = study[m].want[size];
            CHECK(abs(got - want) <= 1);
            if (abs(got - want) > 1)
                printf("%s: %d iterations, the study has %d\n", settings, got, want);
        }
}

/* Verifies every rung on every kind of problem: degrees with and without a level between, one
 * element, one layer of elements, and lambda. */
static void check_problems(void)
{
    static const char *const problems[] = {
        "elements=3x2x4 degree=7 precond=schwarz ripple=0.3 tolerance=1e-4",
        "elements=3x3x3 degree=2 precond=schwarz lambda=0",
        "elements=3x4x3 degree=4 precond=schwarz ripple=0.2",
        "elements=4x3x3 degree=1 precond=schwarz lambda=0",
        "elements=4x5x3 degree=1 precond=schwarz stretch=3",
        "elements=1x1x1 degree=5 precond=schwarz",
        "elements=5x1x2 degree=4 precond=schwarz stretch=5 lambda=3",
        "elements=2x3x2 degree=6 precond=schwarz deform=0.2",
        "elements=2x1x1 degree=17 precond=schwarz tolerance=1e-4",
        "elements=2x1x1 degree=23 precond=schwarz tolerance=1e-2",
        NULL};
    nek_test_problems(problems);
}

/* The reference in FP64 is symmetric and linear to rounding, far below what FP32 allows. */
static void check_symmetry(const char *settings)
{
    nek_test_t t;
    nek_test_new(&t, &nek_app, settings);
    nek_solver_t *s = nek_solver_new(t.problem, rung_of("solve-reference"));
    const size_t points = (size_t)t.config->points;
    double *z = RT_NEW(double, points, RT_HOST), yz = 0, xz = 0, xx = 0, zz = 0;
    nek_random_field(t.config, 5, s->p);
    nek_random_field(t.config, 6, s->w);
    const double positive = s->kernels->preconditioner->apply(s, 1, s->p);
    memcpy(z, s->z, points * sizeof *z);
    s->kernels->preconditioner->apply(s, 1, s->w);
    for (size_t q = 0; q < points; q++) {
        const double c = s->view.c[q];
        yz += c * s->w[q] * z[q];
        xz += c * s->p[q] * s->z[q];
        xx += c * s->p[q] * s->p[q];
        zz += c * s->z[q] * s->z[q];
    }
    CHECK(positive > 0);
    CHECK(fabs(yz - xz) <= 1e-14 * sqrt(xx * zz));
    RT_FREE(z, RT_HOST);
    nek_solver_destroy(s);
    nek_test_destroy(&t);
}

/* One element with Dirichlet conditions all around: its patch is the whole problem, and fast
 * diagonalisation solves it exactly. */
static void check_one_element(void)
{
    nek_test_t t;
    nek_test_new(&t, &nek_app, "elements=1 degree=4 lambda=0 precond=schwarz");
    nek_solver_t *s = nek_solver_new(t.problem, rung_of("solve-reference"));
    nek_solve(s);
    CHECK(s->done == 1 && s->history[1] <= 1e-12 * s->history[0]);
    nek_solver_destroy(s);
    nek_test_destroy(&t);
}

/* Interpolation of a level's polynomials is exact. */
static void check_interpolation(void)
{
    nek_test_t t;
    nek_test_new(&t, &nek_app, "elements=2 degree=23 precond=schwarz");
    const nek_levels_t *levels = nek_levels(t.problem, nek_kernels(rung_of("solve-reference")));
    for (int l = 1; l < levels->count; l++) {
        const int n = levels->level[l - 1].grid.n, c = levels->level[l].grid.n;
        double y[NEK_MAX_N], x[NEK_MAX_N], w[NEK_MAX_N], D[NEK_MAX_N * NEK_MAX_N];
        nek_gll(n, y, w, D);
        nek_gll(c, x, w, D);
        for (int power = 0; power < c; power++)
            for (int i = 0; i < n; i++) {
                double sum = 0;
                for (int k = 0; k < c; k++)
                    sum += levels->level[l].J[i * c + k] * pow(x[k], power);
                CHECK(fabs(sum - pow(y[i], power)) <= 1e-13);
            }
    }
    nek_test_destroy(&t);
}

/* Returns the edge of layer k of elements in z, 2 in x and y. */
static double edge(const nek_config_t *config, int d, int k)
{
    return d < 2 ? 2 : 2 / config->stretch * pow(config->growth, k);
}

/* On a box that is not bent, with linear elements and lumped masses m, second differences of a
 * quadratic are exact: the stencils make of f(x) f(y) f(z), f(x) = x (X - x), which is 0 on the
 * boundary, m m m times minus its Laplacian, and lambda N^3 of it. */
static void check_coarse(const char *settings)
{
    nek_test_t t;
    nek_test_new(&t, &nek_app, settings);
    const nek_config_t *config = t.config;
    const nek_levels_t *levels = nek_levels(t.problem, nek_kernels(rung_of("solve-reference")));
    const nek_grid_t *g = &levels->level[levels->count - 1].grid;
    const int64_t X = g->points[0], Y = g->points[1];
    double *u = RT_NEW(double, (size_t)g->nodes, RT_HOST), f[3][16] = {{0}}, m[3][16] = {{0}};
    for (int d = 0; d < 3; d++) {
        double at = 0, length = 0;
        for (int k = 0; k < config->elements[d]; k++)
            length += edge(config, d, k);
        for (int k = 1; k < config->elements[d]; k++) { /* point k is k + 1 of the grid */
            at += edge(config, d, k - 1);
            f[d][k + 1] = at * (length - at);
            m[d][k + 1] = (edge(config, d, k - 1) + edge(config, d, k)) / 2;
        }
    }
    for (int64_t q = 0; q < g->nodes; q++)
        u[q] = f[0][q % X] * f[1][q / X % Y] * f[2][q / (X * Y)];
    for (int64_t q = 0; q < g->nodes; q++) {
        const int64_t i = q % X, j = q / X % Y, k = q / (X * Y);
        const double a = f[0][i], b = f[1][j], c = f[2][k];
        const double want = m[0][i] * m[1][j] * m[2][k] * 2 * (b * c + a * c + a * b) +
                            config->lambda * pow((double)config->degree, 3) * u[q];
        double sum = 0, size = 0;
        if (!nek_grid_is_inside(g, q))
            continue;
        for (int s = 0; s < NEK_STENCIL; s++) {
            const double term = levels->stencil[s * g->nodes + q] *
                                u[q + s % 3 - 1 + (s / 3 % 3 - 1) * X + (s / 9 - 1) * X * Y];
            sum += term;
            size += fabs(term);
        }
        CHECK(size > 0 && fabs(sum - want) <= 1e-13 * size);
    }
    RT_FREE(u, RT_HOST);
    nek_test_destroy(&t);
}

/* Layers that grow by nek_growth fill the box, and the first is as thin as was asked. */
static void check_stretch(void)
{
    for (int64_t layers = 2; layers <= 64; layers *= 2)
        for (double stretch = 1.5; stretch < 100; stretch *= 4) {
            const double growth = nek_growth(layers, stretch);
            double sum = 0;
            for (int64_t k = 0; k < layers; k++)
                sum += 2 / stretch * pow(growth, (double)k);
            CHECK(growth > 1 && fabs(sum - 2 * (double)layers) <= 1e-9 * (double)layers);
        }
}

static void check_charged(void)
{
    nek_test_t t;
    nek_test_new(&t, &nek_app, "elements=2x3x2 degree=6 precond=schwarz");
    const double charged = app_test_charged(&nek_app, t.problem, "solve-cpu"),
                 levels = t.problem->levels->seconds, halo = t.problem->halo_seconds;
    CHECK(levels > 0 && halo > 0 && fabs(charged - levels - halo) < 1e-12);
    nek_test_destroy(&t);
}

int main(int argc, char **argv)
{
    app_test_start_on(1, "test_precond", &argc, &argv);
    check_interpolation();
    check_stretch();
    check_one_element();
    check_coarse("elements=4x3x5 degree=5 precond=schwarz lambda=0");
    check_coarse("elements=4x3x5 degree=5 precond=schwarz lambda=0.7");
    check_coarse("elements=3x4x6 degree=3 precond=schwarz stretch=6 lambda=0");
    check_symmetry("elements=3x4x3 degree=7 precond=schwarz ripple=0.3 lambda=0");
    check_symmetry("elements=3x2x3 degree=4 precond=schwarz stretch=3");
    check_problems();
    check_iterations();
    check_charged();
    nek_test_memory("elements=3x3x3 degree=9 precond=schwarz lambda=0 tolerance=0.1", NULL, 0);
    nek_test_memory("elements=3x4x3 degree=14 precond=schwarz tolerance=0.1", NULL, 0);
    return app_test_stop(check_done());
}
