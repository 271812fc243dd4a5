/*
 * test_physics.c - what the equations say of r, for every rung that can run here.
 *
 * Agreement of a rung with the reference shows only that both make the same mistakes. Here every
 * expected value comes from the equations: integrals, conservation laws, a known solution.
 */
#include "config.h"
#include <stdlib.h>
#include "physics.h"

static const double pi = 3.14159265358979323846;

/* --- a constant velocity --- */

static double flat[3][3];

/* sum r = rho f V; and without force r = 0, since nothing is transported and there is no
 * friction. */
static void constant_velocity(alya_problem_t *p, const rt_rung_t *rung)
{
    alya_problem_t *fewer = problem_part(p, 1, p->mesh->elements - 1);
    for (int form = 0; form < ALYA_FORMS; form++) {
        case_t c = case_new(p, rung), dropped = case_new(fewer, rung);
        const double b[3] = {0.7, -0.4, 0.2}, *force = c.physics.force;
        c.physics.form = dropped.physics.form = (alya_form_t)form;
        double want[3];
        for (int d = 0; d < 3; d++)
            want[d] = c.physics.rho * force[d] * total_volume(p->mesh);
        measure(&c); /* of a velocity that varies: what must cancel */
        set_linear(&c, flat, b, b);
        run(&c);
        CHECK(sum_error(&c, want) <= 1);
        memset(c.physics.force, 0, sizeof c.physics.force);
        run(&c);
        CHECK(largest_r(&c, 0) <= 1);
        c.u[0] += small_change(rung); /* twin: nearly constant */
        run(&c);
        CHECK(largest_r(&c, 0) > 1);

        measure(&dropped); /* twin: an element less */
        set_linear(&dropped, flat, b, b);
        run(&dropped);
        CHECK(sum_error(&dropped, want) > 1);
        case_destroy(&c);
        case_destroy(&dropped);
    }
    alya_problem_destroy(fewer);
}

/* --- a linear velocity, element by element --- */

static double slope[3][3] = {{0.3, -0.5, 0.2}, {0.7, 0.4, -0.6}, {-0.1, 0.8, 0.9}};

/* Computes rho f V - rho A(M) b V, where b is the velocity at the centre. */
static void element_sum(const alya_physics_t *q, const double b[3], double V, double sum[3])
{
    const double share = q->form == ALYA_CONV ? 0 : q->form == ALYA_SKEW ? 0.5 : 1;
    const double trace = slope[0][0] + slope[1][1] + slope[2][2];
    for (int i = 0; i < 3; i++) {
        sum[i] = q->rho * V * (q->force[i] - share * trace * b[i]);
        for (int j = 0; j < 3; j++)
            sum[i] -= q->rho * V * b[j] * (slope[i][j] + (q->form == ALYA_EMAC ? slope[j][i] : 0));
    }
}

static void linear_velocity(alya_problem_t *p, const rt_rung_t *rung)
{
    for (int i = 0; i < 5; i++) { /* the first, the last, and between */
        alya_problem_t *one = problem_part(p, i * (p->mesh->elements - 1) / 4, 1);
        case_t c = case_new(one, rung);
        double centre[3], want[3], V = geometry(one->mesh, 0, centre, NULL);
        const double b[3] = {5, -3, 8};
        c.physics.vreman = 0;
        set_linear(&c, slope, centre, b);
        for (int form = 0; form < ALYA_FORMS; form++) {
            c.physics.form = (alya_form_t)form;
            measure(&c);
            run(&c);
            element_sum(&c.physics, b, V, want);
            CHECK(sum_error(&c, want) <= 1);
            c.physics.form = (alya_form_t)((form + 1) % ALYA_FORMS); /* twin: another form */
            element_sum(&c.physics, b, V, want);
            CHECK(sum_error(&c, want) > 1);
        }
        case_destroy(&c);
        alya_problem_destroy(one);
    }
}

/* --- a constant stress --- */

/* With rho = 0 only the viscous term remains. Inside, a constant stress pulls a node equally from
 * all sides; and a solid rotation has no stress anywhere. Twins: the boundary, where a stress does
 * show, and the subgrid viscosity, which differs from element to element. */
static void constant_stress(alya_problem_t *p, const rt_rung_t *rung)
{
    case_t c = case_new(p, rung);
    const double origin[3] = {100, 0, 60}, none[3] = {0};
    double spin[3][3] = {{0, -0.5, 0.3}, {0.5, 0, -0.7}, {-0.3, 0.7, 0}};
    set_linear(&c, slope, origin, none);
    c.physics = (alya_physics_t){.rho = 0, .mu = 1};
    measure(&c);
    run(&c);
    CHECK(largest_r(&c, ALYA_BOUNDARY) <= 1);
    CHECK(largest_r(&c, 0) > 1); /* not because r is 0 everywhere */
    set_linear(&c, spin, origin, none);
    run(&c);
    CHECK(largest_r(&c, 0) <= 1);

    set_linear(&c, slope, origin, none);
    c.physics = (alya_physics_t){.rho = 1e-18, .vreman = 1e18}; /* no inertia, but mu_t */
    measure(&c);
    run(&c);
    CHECK(largest_r(&c, ALYA_BOUNDARY) > 1);
    case_destroy(&c);
}

/* --- what each form conserves --- */

enum { ENERGY, MOMENTUM, ANGULAR, LAWS };

/* Sums u.r, r and x cross r over the nodes, each relative to the sum of its terms' magnitudes. */
static void conserved(const case_t *c, double drift[LAWS])
{
    double energy[2] = {0}, momentum[3][2] = {{0}}, angular[3][2] = {{0}};
    for (int64_t n = 0; n < c->mesh->nodes; n++) {
        const double *x = c->mesh->x + 3 * n, *u = c->u + 3 * n, *r = c->r + 3 * n;
        for (int d = 0; d < 3; d++) {
            const int d1 = (d + 1) % 3, d2 = (d + 2) % 3;
            energy[0] += u[d] * r[d];
            energy[1] += fabs(u[d] * r[d]);
            momentum[d][0] += r[d];
            momentum[d][1] += fabs(r[d]);
            angular[d][0] += x[d1] * r[d2] - x[d2] * r[d1];
            angular[d][1] += fabs(x[d1] * r[d2]) + fabs(x[d2] * r[d1]);
        }
    }
    drift[ENERGY] = fabs(energy[0]) / energy[1];
    drift[MOMENTUM] = drift[ANGULAR] = 0;
    for (int d = 0; d < 3; d++) {
        drift[MOMENTUM] = fmax(drift[MOMENTUM], fabs(momentum[d][0]) / momentum[d][1]);
        drift[ANGULAR] = fmax(drift[ANGULAR], fabs(angular[d][0]) / angular[d][1]);
    }
}

/* The forms that do not conserve a quantity are the twins of those that do. */
static void conservation(alya_problem_t *p, const rt_rung_t *rung)
{
    static const bool keeps[ALYA_FORMS][LAWS] = {[ALYA_CONV] = {false, false, false},
                                                 [ALYA_SKEW] = {true, false, false},
                                                 [ALYA_CONS] = {false, true, true},
                                                 [ALYA_EMAC] = {true, true, true}};
    const alya_kernels_t *kernels = (const alya_kernels_t *)rung->kernels;
    case_t c = case_new(p, rung);
    for (int64_t n = 0; n < c.mesh->nodes; n++)
        if (c.mesh->flags[n] & ALYA_BOUNDARY)
            memset(c.u + 3 * n, 0, 3 * sizeof(double));
    for (int form = 0; form < ALYA_FORMS; form++) {
        double drift[LAWS];
        c.physics = (alya_physics_t){.rho = 1.3, .form = (alya_form_t)form};
        run(&c);
        conserved(&c, drift);
        for (int law = 0; law < LAWS; law++)
            CHECK(keeps[form][law] ? drift[law] <= kernels->tolerance : drift[law] > 1e-3);
    }
    case_destroy(&c);
}

/* --- the subgrid model --- */

/* Returns nu_t / (c Delta^2) of the velocity gradient J in the one element of c, from its r. A
 * density of 1e-18 and c = 1e18 leave only the subgrid stress: r_a = -V mu_t (J + J^T) g_a. */
static double subgrid(case_t *c, double J[3][3], double filter)
{
    const int32_t *node = c->mesh->connectivity;
    double centre[3], g[4][3], dot = 0, square = 0;
    const double none[3] = {0}, V = geometry(c->mesh, 0, centre, g);
    c->physics = (alya_physics_t){.rho = 1e-18, .vreman = 1e18, .filter = filter};
    set_linear(c, J, centre, none);
    run(c);
    for (int a = 0; a < 4; a++)
        for (int i = 0; i < 3; i++) {
            double traction = 0;
            for (int j = 0; j < 3; j++)
                traction += (J[i][j] + J[j][i]) * g[a][j];
            dot -= c->r[3 * (int64_t)node[a] + i] * traction;
            square += traction * traction;
        }
    const double width = filter > 0 ? filter : cbrt(V);
    return dot / (V * square) / (width * width);
}

static void subgrid_model(alya_problem_t *p, const rt_rung_t *rung)
{
    /* A solid rotation has no stress to measure, so it is stretched a little along its axis, which
     * changes nu_t by 3/4 of the square of that. */
    const double little = cbrt(unit(rung));
    const struct {
        double J[3][3], want, error;
    } table[] = {{{{0, 1, 0}, {0, 0, 0}, {0, 0, 0}}, 0, 0},
                 {{{0, -1, 0}, {1, 0, 0}, {0, 0, little}},
                  sqrt(0.5),
                  little * little + STEPS * unit(rung) / little},
                 {{{1, 0, 0}, {0, 1, 0}, {0, 0, 1}}, 1, 0},
                 {{{1, 0, 0}, {0, -1, 0}, {0, 0, 0}}, sqrt(0.5), 0},
                 {{{1, 0, 0}, {0, -0.5, 0}, {0, 0, -0.5}}, sqrt(0.375), 0}};
    alya_problem_t *one = problem_part(p, p->mesh->elements / 2, 1);
    case_t c = case_new(one, rung);
    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        for (double filter = 0; filter < 3; filter += 2.5) {
            double J[3][3];
            const double allowed = table[i].error + STEPS * unit(rung);
            memcpy(J, table[i].J, sizeof J);
            CHECK(ratio(subgrid(&c, J, filter) - table[i].want, allowed) <= 1);
            J[2][2] += 0.1; /* twin: another gradient */
            CHECK(ratio(subgrid(&c, J, filter) - table[i].want, allowed) > 1);
        }
    case_destroy(&c);
    alya_problem_destroy(one);
}

/* --- a manufactured solution --- */

/* Computes the errors of F1 = sum sin(2 x) r_x -> -rho pi^3 and F2 = sum u.r -> -6 pi^3 mu, rho = 1
 * and mu = 0.1, for the Taylor-Green vortex in the periodic box; images of a node are not counted.
 * wrong: another density, and a viscosity that varies. */
static void vortex_errors(alya_problem_t *p, const rt_rung_t *rung, bool wrong, double error[2])
{
    const alya_physics_t right = {.rho = 1, .mu = 0.1, .form = ALYA_CONS};
    case_t c = case_new(p, rung);
    c.physics = right;
    if (wrong) {
        c.physics.rho = 1.5;
        c.physics.vreman = 0.1;
        c.physics.filter = 1;
    }
    for (int64_t n = 0; n < c.mesh->nodes; n++) {
        const double *x = c.mesh->x + 3 * n;
        c.u[3 * n] = sin(x[0]) * cos(x[1]) * cos(x[2]);
        c.u[3 * n + 1] = -cos(x[0]) * sin(x[1]) * cos(x[2]);
        c.u[3 * n + 2] = 0;
    }
    run(&c);
    error[0] = pi * pi * pi * right.rho;
    error[1] = 6 * pi * pi * pi * right.mu;
    for (int64_t n = 0; n < c.mesh->nodes; n++) {
        const double *x = c.mesh->x + 3 * n, end = 2 * pi - 1e-6;
        if (x[0] > end || x[1] > end || x[2] > end)
            continue;
        error[0] += sin(2 * x[0]) * c.r[3 * n];
        for (int d = 0; d < 3; d++)
            error[1] += c.u[3 * n + d] * c.r[3 * n + d];
    }
    case_destroy(&c);
}

/* Is the error a quarter where cells are half as wide? On coarse meshes, less closely. */
static bool second_order(double before, double error, int level)
{
    static const double within[] = {0, 1.2, 0.35, 0.15};
    return fabs(before / error - 4) <= within[level];
}

static bool as_wanted(const double error[2], int level)
{
    static const double wanted[] = {12.8, 3.77, 0.982, 0.248}; /* F1 of an independent prototype */
    return fabs(error[0] / wanted[level] - 1) < 0.005;
}

/* All forms tend to the same F1: div u = 0, and the gradient of u^2/2 in emac is orthogonal to sin
 * 2x. So the twin has other physics, with which both sums tend elsewhere. */
static void manufactured(void)
{
    const int levels = getenv("RT_CHECK_LONG") ? 4 : 3;
    double before[ALYA_RUNGS][2], twin[2], twin_before[2] = {0};
    for (int level = 0; level < levels; level++) {
        const int n = 8 << level;
        char settings[64];
        alya_test_t t;
        snprintf(settings, sizeof settings, "mesh=box cells=%dx%dx%d", n, n, n);
        alya_test_new(&t, &alya_app, settings);
        for (int i = 0; i < ALYA_RUNGS; i++) {
            double error[2];
            if (rt_rung_why_not(&alya_ladder[i]))
                continue;
            vortex_errors(t.problem, &alya_ladder[i], false, error);
            CHECK(as_wanted(error, level));
            for (int f = 0; f < 2 && level > 0; f++)
                CHECK(second_order(before[i][f], error[f], level));
            memcpy(before[i], error, sizeof error);
        }
        vortex_errors(t.problem, &alya_ladder[0], true, twin);
        CHECK(!as_wanted(twin, level));
        for (int f = 0; f < 2 && level > 0; f++)
            CHECK(!second_order(twin_before[f], twin[f], level));
        memcpy(twin_before, twin, sizeof twin);
        printf("n = %2d: errors of F1 %.4g, F2 %.4g; twin %.4g, %.4g\n", n, before[0][0],
               before[0][1], twin[0], twin[1]);
        alya_test_destroy(&t);
    }
}

int main(int argc, char **argv)
{
    app_test_start("test_physics", &argc, &argv);
    alya_test_t t;
    /* 1470 elements: three chunks, patches that are not full, and a group of 14 at the end */
    alya_test_new(&t, &alya_app, "cells=7x7x5 jitter=0.1");
    for (int i = 0; i < ALYA_RUNGS; i++) {
        const rt_rung_t *rung = &alya_ladder[i];
        if (rt_rung_why_not(rung))
            continue;
        const int failed = check_state.failed;
        constant_velocity(t.problem, rung);
        linear_velocity(t.problem, rung);
        constant_stress(t.problem, rung);
        conservation(t.problem, rung);
        subgrid_model(t.problem, rung);
        printf("%s: %d failed\n", rung->name, check_state.failed - failed);
    }
    alya_test_destroy(&t);
    manufactured();
    return app_test_stop(check_done());
}
