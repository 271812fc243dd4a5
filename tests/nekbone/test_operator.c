/*
 * test_operator.c - compares the operator of every rung with its definition and a known solution.
 *
 * `reference` is the oracle of all other rungs, so it needs an oracle of its own: here the weak
 * form is written once more, in another order and in long double. A sum can be right although the
 * equation is wrong, so the last test solves -div grad u = f for a known u. If a factor, a weight,
 * the mask or the gather-scatter does not match the equation, the error stops falling with the
 * degree.
 */
#include "config.h"
#include <math.h>
#include <string.h>
#include "apps/nekbone/cpu/small.h"
#include "apps/nekbone/cuda/trilinear.h"
#include "nek_test.h"
#include "tune/force.h"

/* Computes the weak form for one element: the sum of grad phi . G grad u, and the sum of its
 * absolute terms. Every test function phi = l_i l_j l_k has a gradient along three lines only, so w
 * is a sum over the points of those lines. */
static void weak_form(int n, const double *D, const double *G, const double *u, double *w,
                      double *size)
{
    static long double flux[3][NEK_MAX_N3], flux_size[3][NEK_MAX_N3];
    static const int factor[3][3] = {{0, 1, 2}, {1, 3, 4}, {2, 4, 5}};
    const int stride[3] = {1, n, n * n}, n3 = n * n * n;
    for (int q = 0; q < n3; q++) {
        long double grad[3] = {0}, grad_size[3] = {0};
        for (int d = 0; d < 3; d++)
            for (int l = 0; l < n; l++) {
                int at = q / stride[d] % n;
                long double term = (long double)D[at * n + l] * u[q + (l - at) * stride[d]];
                grad[d] += term;
                grad_size[d] += fabsl(term);
            }
        for (int d = 0; d < 3; d++) {
            flux[d][q] = flux_size[d][q] = 0;
            for (int f = 0; f < 3; f++) {
                flux[d][q] += G[factor[d][f] * n3 + q] * grad[f];
                flux_size[d][q] += fabs(G[factor[d][f] * n3 + q]) * grad_size[f];
            }
        }
    }
    for (int q = 0; q < n3; q++) {
        long double sum = 0, sum_size = 0;
        for (int d = 0; d < 3; d++)
            for (int l = 0; l < n; l++) {
                int at = q / stride[d] % n, other = q + (l - at) * stride[d];
                sum += D[l * n + at] * flux[d][other];
                sum_size += fabs(D[l * n + at]) * flux_size[d][other];
            }
        w[q] = (double)sum;
        size[q] = (double)sum_size;
    }
}

/* Compares the reference with the weak form. Catches any wrong index, factor or transpose in it. */
static void check_reference(nek_test_t *t)
{
    const nek_view_t *view = &t->problem->view;
    int n = view->n, n3 = n * n * n;
    size_t points = (size_t)view->points;
    double *u = RT_NEW(double, points, RT_HOST), *w = RT_NEW(double, points, RT_HOST);
    double *want = RT_NEW(double, points, RT_HOST), *size = RT_NEW(double, points, RT_HOST);
    for (size_t q = 0; q < points; q++)
        u[q] = rt_random(q, 11);
    nek_reference.ax(view, u, w);
    double most = 0;
    for (int64_t e = 0; e < view->elements; e++)
        weak_form(n, view->D, view->G + e * 6 * n3, u + e * n3, want + e * n3, size + e * n3);
    for (size_t q = 0; q < points; q++)
        most = fmax(most, fabs(w[q] - want[q]) / (RT_EPS * size[q]));
    CHECK(most <= 4 * n + 8); /* one rounding per sum and product, against none */
    RT_FREE(u, RT_HOST);
    RT_FREE(w, RT_HOST);
    RT_FREE(want, RT_HOST);
    RT_FREE(size, RT_HOST);
}

/* Verifies every version of the small products, in the rung that consists of them. */
static void check_versions(nek_test_t *t)
{
    const rt_rung_t *scalar = rt_app_rung(&nek_app, "scalar");
    for (int v = 1; v <= NEK_SMALL; v++) {
        const int choice[RT_TUNE_PARAMETERS] = {v, v, v};
        const char *why = rt_rung_refuse_choice(scalar, t->config, choice);
        rt_outcome_t out;
        CHECK(!why || strstr(why, "configure")); /* what this build lacks */
        if (why)
            continue;
        rt_force_choice(&t->run, scalar, choice);
        rt_run_rung(&t->run, t->problem, scalar, NULL, &out, NULL);
        CHECK(out.verdict.valid);
    }
}

/* Verifies every rung at every degree: the reference's values, symmetry, null space, a short and a
 * long solve. Catches an n whose instantiation, launch or run-time-n kernel is wrong. */
static void check_rungs(int degree, double deform)
{
    char settings[128];
    nek_test_t t;
    const char *elements = degree < 8 ? "3x2x2" : degree < 16 ? "2x2x1" : "2x1x1";
    snprintf(settings, sizeof settings, "elements=%s degree=%d deform=%g iterations=15", elements,
             degree, deform);
    nek_test_new(&t, &nek_app, settings);
    check_reference(&t);
    nek_test_rungs(&t, settings, 12); /* all checks were done */
    if (deform != 0)
        check_versions(&t);
    nek_test_destroy(&t);
}

/* --- a known solution --- */

/* Returns u = prod sin(pi x_d / L_d) at a point; sets -laplace u = sum (pi / L_d)^2 u. */
static double wave(const nek_config_t *cfg, const double x[3], double *minus_laplace)
{
    double u = 1, factor = 0;
    for (int d = 0; d < 3; d++) {
        double k = acos(-1) / (2.0 * (double)cfg->elements[d]);
        u *= sin(k * x[d]);
        factor += k * k;
    }
    *minus_laplace = factor * u;
    return u;
}

/* Returns the largest |x - u| after a solve with b = Q Q^T mass f; stores u in `u`. */
static double wave_error(nek_test_t *t, const rt_rung_t *rung, double *u)
{
    const nek_config_t *cfg = t->config;
    nek_problem_t *p = t->problem;
    int n3 = cfg->n * cfg->n * cfg->n;
    static double G[6 * NEK_MAX_N3], mass[NEK_MAX_N3], xyz[3 * NEK_MAX_N3];
    for (int64_t e = 0; e < cfg->local_elements; e++) {
        nek_geometry(cfg, e, G, mass, xyz);
        for (int q = 0; q < n3; q++) {
            const double x[3] = {xyz[q], xyz[n3 + q], xyz[2 * n3 + q]};
            double f;
            u[e * n3 + q] = wave(cfg, x, &f);
            p->b[e * n3 + q] = mass[q] * f;
        }
    }
    rt_field_t field = rt_field_f64(p->b);
    rt_halo_do(p->halo, RT_HALO_SUM, &field);
    for (int64_t q = 0; q < cfg->points; q++)
        if (p->c[q] == 0)
            p->b[q] = 0;
    nek_solver_t *s = nek_solver_new(p, rung);
    nek_solve(s);
    double *x = RT_NEW(double, (size_t)cfg->points, RT_HOST), most = 0;
    rt_copy(x, RT_HOST, s->x, s->space, (size_t)cfg->points * sizeof(double));
    for (int64_t q = 0; q < cfg->points; q++)
        most = fmax(most, fabs(x[q] - u[q]));
    RT_FREE(x, RT_HOST);
    nek_solver_destroy(s);
    return most;
}

/* Returns wave_error for that rung; 0 if the rung cannot run here, or cannot solve this problem. */
static double solve_wave(const rt_rung_t *rung, int degree, double deform)
{
    char settings[128];
    nek_test_t t;
    snprintf(settings, sizeof settings, "elements=2x3x2 degree=%d deform=%g lambda=0 iterations=%d",
             degree, deform, 60 + 20 * degree);
    nek_test_new(&t, &nek_app, settings);
    double *u = RT_NEW(double, (size_t)t.config->points, RT_HOST);
    double error = app_test_can_run(&t.run, rung) ? wave_error(&t, rung, u) : 0;
    RT_FREE(u, RT_HOST);
    nek_test_destroy(&t);
    return error;
}

/* Checks spectral convergence: the error against the degree. The bounds are measured values times
 * 1.5. The ratios show that the error falls by a factor with every degree, not as a power of it. A
 * wrong weight, factor or mask leaves an error that does not fall, usually one of order 1. On the
 * bent box the geometry is not a polynomial either, and even degrees gain less than odd ones. */
static void check_convergence(void)
{
    static const struct {
        int degree;
        double straight, bent;
    } table[] = {{2, 2.3e-02, 2.4e-02}, {3, 5.7e-04, 8.2e-04}, {4, 3.6e-05, 1.3e-04},
                 {5, 1.4e-06, 7.7e-06}, {6, 6.3e-08, 1.1e-06}, {7, 2.0e-09, 9.3e-08},
                 {8, 7.5e-11, 1.7e-08}, {9, 2.1e-12, 1.5e-09}, {10, 2.0e-13, 2.9e-10}};
    const rt_rung_t *rung = rt_app_rung(&nek_app, "jammed");
    double straight = INFINITY, bent = INFINITY;
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        double straight_before = straight, bent_before = bent;
        straight = solve_wave(rung, table[i].degree, 0);
        bent = solve_wave(rung, table[i].degree, 0.1);
        printf("degree %2d: error %.2e straight, %.2e bent\n", table[i].degree, straight, bent);
        CHECK(straight <= table[i].straight);
        CHECK(bent <= table[i].bent);
        CHECK(straight <= straight_before / 12);
        CHECK(bent <= bent_before / 4);
    }
    for (int i = 0; i < nek_app.n_rungs; i++) { /* the rungs agree on the solution */
        const nek_kernels_t *kernels =
            nek_kernels(&nek_app.ladder[i]); /* NULL: not in this build */
        const double rounding = kernels ? 1000 * kernels->roundoff : 0;
        CHECK(solve_wave(&nek_app.ladder[i], 7, 0.1) <= fmax(9.3e-08, rounding));
    }
}

/* --- an element given by its vertices --- */

/* Sets the columns of J = dx/d(r, s, t) of x = sum c[l] r^a s^b t^c at point p. */
static void jacobian(const double c[24], const double p[3], long double J[3][3])
{
    memset(J, 0, 9 * sizeof **J);
    for (int l = 0; l < 8; l++)
        for (int d = 0; d < 3; d++) {
            long double shape = l >> d & 1;
            for (int b = 0; b < 3; b++)
                shape *= b != d && l >> b & 1 ? p[b] : 1;
            for (int q = 0; q < 3; q++)
                J[d][q] += shape * c[3 * l + q];
        }
}

/* Compares G w at random points of elements that are bent cubes with weight / det C C^T w, the rows of
 * C being cross products. Catches a wrong sign or index in what the straight boxes of `trilinear` do
 * not use. About 40 roundings; each angle between edges may cost 1 / sin^2. */
static void check_trilinear(void)
{
    for (uint64_t trial = 0, at = 0; trial < 2000; trial++) {
        double c[24], p[3], w[3], got[3];
        long double J[3][3], C[3][3], det = 0, edges = 1;
        for (int q = 0; q < 24; q++)
            c[q] = (q / 3 == 1 << q % 3) + 0.2 * rt_random(at++, 5);
        for (int d = 0; d < 3; d++) {
            p[d] = rt_random(at++, 5);
            got[d] = w[d] = rt_random(at++, 5);
        }
        jacobian(c, p, J);
        for (int d = 0; d < 3; d++) {
            const long double *a = J[(d + 1) % 3], *b = J[(d + 2) % 3];
            for (int q = 0; q < 3; q++)
                C[d][q] = a[(q + 1) % 3] * b[(q + 2) % 3] - a[(q + 2) % 3] * b[(q + 1) % 3];
            edges *= J[d][0] * J[d][0] + J[d][1] * J[d][1] + J[d][2] * J[d][2];
        }
        for (int q = 0; q < 3; q++)
            det += J[0][q] * C[0][q];
        const nek_trilinear_t column = nek_trilinear_column(c, p[0], p[1], 0.7);
        nek_trilinear_apply(&column, p[2], 0.3, &got[0], &got[1], &got[2]);
        for (int a = 0; a < 3; a++) {
            long double want = 0, size = 0;
            for (int b = 0; b < 3; b++) {
                const long double g =
                    0.7L * 0.3L / det * (C[a][0] * C[b][0] + C[a][1] * C[b][1] + C[a][2] * C[b][2]);
                want += g * w[b];
                size += fabsl(g * w[b]);
            }
            CHECK(fabsl(got[a] - want) <= 40 * RT_EPS * size * edges / (det * det));
        }
    }
}

int main(int argc, char **argv)
{
    app_test_start_on(1, "test_operator", &argc, &argv);
    for (int degree = 1; degree < NEK_MAX_N; degree++) {
        if (degree < 10) /* three factors are zero, which some rungs exploit */
            check_rungs(degree, 0);
        check_rungs(degree, 0.2);
    }
    check_convergence();
    check_trilinear();
    return app_test_stop(check_done());
}
