/*
 * test_physics.c - what the equations say of r, for every rung that can run here.
 *
 * Agreement of a rung with the reference shows only that both make the same mistakes. Here every
 * expected value comes from the equations: integrals, conservation laws, a known solution.
 *
 * Errors are in units of what rounding may do, as in judge/verify.c: STEPS roundings of the sum of
 * magnitudes of all terms, which the reference adds up. So an error must be at most 1. Each check has
 * a twin that is wrong on purpose and must not pass: a check that cannot fail shows nothing.
 */
#include "config.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "alya_test.h"

enum { STEPS = 64 };

/* Returns the unit roundoff of this rung's arithmetic. */
static double unit(const rt_rung_t *rung)
{
    const alya_kernels_t *kernels = (const alya_kernels_t *)rung->kernels;
    return kernels->tolerance == ALYA_TOLERANCE ? RT_EPS : 0x1p-24;
}

/* --- a rung, a problem, a velocity --- */

typedef struct {
    alya_problem_t *p;
    const alya_mesh_t *mesh;
    const rt_rung_t *rung;
    alya_physics_t physics;
    double *u, *r; /* [nodes][3] */
    double *size;  /* [nodes][2], see alya_reference_assemble */
} case_t;

/* Returns physics in which every term counts. */
static alya_physics_t all_terms(void)
{
    alya_physics_t physics = {
        .rho = 1.3, .mu = 2.5, .vreman = 0.1, .force = {0.3, -0.2, 0.5}, .form = ALYA_CONS};
    return physics;
}

static case_t case_new(alya_problem_t *p, const rt_rung_t *rung)
{
    const size_t nodes = (size_t)p->mesh->nodes;
    case_t c = {.p = p, .mesh = p->mesh, .rung = rung, .physics = all_terms()};
    c.u = RT_NEW(double, 3 * nodes, RT_HOST);
    c.r = RT_NEW(double, 3 * nodes, RT_HOST);
    c.size = RT_NEW(double, 2 * nodes, RT_HOST);
    alya_random_field(c.mesh, 7, c.u);
    return c;
}

static void case_destroy(case_t *c)
{
    RT_FREE_ALL(RT_HOST, c->u, c->r, c->size);
}

/* Computes the rung's r. */
static void run(case_t *c)
{
    alya_solver_t *s = alya_solver_new(c->p, c->rung);
    s->physics = c->physics;
    alya_put_velocity(s, c->u);
    alya_erase_r(s);
    alya_assemble(s);
    alya_get(s, s->r, s->kernels->r_stride, c->r);
    alya_solver_destroy(s);
}

/* Measures how much is added up at each node, for the present velocity of c. */
static void measure(case_t *c)
{
    double *r = RT_NEW(double, 3 * (size_t)c->mesh->nodes, RT_HOST);
    alya_reference_assemble(c->mesh, c->p->schedule, &c->physics, c->u, NULL, r, c->size);
    RT_FREE(r, RT_HOST);
}

/* Returns |error| / allowed; neither NaN nor an allowance of 0 counts as good. */
static double ratio(double error, double allowed)
{
    return !rt_finite(error) ? INFINITY : error == 0 ? 0 : fabs(error) / allowed;
}

static double norm(const double v[3])
{
    return sqrt(v[0] * v[0] + v[1] * v[1] + v[2] * v[2]);
}

/* Returns the largest |r| of the nodes without any of these flags, relative to their size. */
static double largest_r(const case_t *c, int flags)
{
    double most = 0;
    for (int64_t n = 0; n < c->mesh->nodes; n++)
        if (!(c->mesh->flags[n] & flags))
            most =
                fmax(most, ratio(norm(c->r + 3 * n), STEPS * unit(c->rung) * c->size[2 * n + 1]));
    return most;
}

/* Sets u = M (x - origin) + b. */
static void set_linear(case_t *c, double M[3][3], const double origin[3], const double b[3])
{
    for (int64_t n = 0; n < c->mesh->nodes; n++)
        for (int i = 0; i < 3; i++) {
            c->u[3 * n + i] = b[i];
            for (int j = 0; j < 3; j++)
                c->u[3 * n + i] += M[i][j] * (c->mesh->x[3 * n + j] - origin[j]);
        }
}

/* Leaves one element of the mesh, and gives it a shape. */
static void keep_one_element(alya_problem_t *p)
{
    static const double x[4][3] = {{1, 2, 3}, {2, 2.1, 3}, {1.2, 3, 3}, {1.1, 2.3, 4}};
    alya_mesh_t *mesh = p->mesh;
    for (int a = 0; a < 4; a++)
        memcpy(mesh->x + 3 * (int64_t)mesh->connectivity[a], x[a], sizeof x[a]);
    mesh->elements = 1;
    alya_schedule_destroy(p->schedule);
    p->schedule = alya_schedule_new(mesh, ALYA_CHUNK);
}

/* Returns a change of one value that a rung's class of error must show. */
static double small_change(const rt_rung_t *rung)
{
    const alya_kernels_t *kernels = (const alya_kernels_t *)rung->kernels;
    return kernels->tolerance > ALYA_TOLERANCE ? 1 : 1e-3;
}

static const double pi = 3.14159265358979323846;

/* --- a constant velocity --- */

/* Without force r = 0, since nothing is transported and there is no friction. The judge compares the
 * sum of r with force, and that for a linear velocity, with what they must be. */
static void constant_velocity(alya_problem_t *p, const rt_rung_t *rung)
{
    static double flat[3][3];
    const double b[3] = {0.7, -0.4, 0.2};
    for (int form = 0; form < ALYA_FORMS; form++) {
        case_t c = case_new(p, rung);
        c.physics.form = (alya_form_t)form;
        measure(&c); /* of a velocity that varies: what must cancel */
        set_linear(&c, flat, b, b);
        memset(c.physics.force, 0, sizeof c.physics.force);
        run(&c);
        CHECK(largest_r(&c, 0) <= 1);
        c.u[0] += small_change(rung); /* twin: nearly constant */
        run(&c);
        CHECK(largest_r(&c, 0) > 1);
        case_destroy(&c);
    }
}

/* --- a constant stress --- */

/* With rho = 0 only the viscous term remains. Inside, a constant stress pulls a node equally from
 * all sides; and a solid rotation has no stress anywhere. Twins: the boundary, where a stress does
 * show, and the subgrid viscosity, which differs from element to element. */
static void constant_stress(alya_problem_t *p, const rt_rung_t *rung)
{
    double slope[3][3] = {{0.3, -0.5, 0.2}, {0.7, 0.4, -0.6}, {-0.1, 0.8, 0.9}};
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
 * density of 1e-18 and c = 1e18 leave only the subgrid stress: r_a = -V mu_t (J + J^T) g_a, and the
 * sum of r_a x_a^T is -V mu_t (J + J^T). */
static double subgrid(case_t *c, double J[3][3], double filter)
{
    const int32_t *node = c->mesh->connectivity;
    double edge[3][3], dot = 0, square = 0;
    const double none[3] = {0}, *origin = c->mesh->x + 3 * (int64_t)node[0];
    alya_edges(c->mesh, node, edge);
    const double V = alya_determinant(edge) / 6;
    c->physics = (alya_physics_t){.rho = 1e-18, .vreman = 1e18, .filter = filter};
    set_linear(c, J, origin, none);
    run(c);
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++) {
            for (int k = 0; k < 3; k++)
                dot -= c->r[3 * (int64_t)node[k + 1] + i] * edge[k][j] * (J[i][j] + J[j][i]);
            square += pow(J[i][j] + J[j][i], 2);
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
    case_t c = case_new(p, rung);
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
    double before[32][2], twin[2], twin_before[2] = {0};
    CHECK((size_t)alya_app.n_rungs <= sizeof before / sizeof *before);
    for (int level = 0; level < levels; level++) {
        const int n = 8 << level;
        char settings[64];
        alya_test_t t;
        snprintf(settings, sizeof settings, "mesh=box cells=%dx%dx%d", n, n, n);
        alya_test_new(&t, &alya_app, settings);
        for (int i = 0; i < alya_app.n_rungs; i++) {
            double error[2];
            if (rt_rung_why_not(&alya_app.ladder[i]))
                continue;
            vortex_errors(t.problem, &alya_app.ladder[i], false, error);
            CHECK(as_wanted(error, level));
            for (int f = 0; f < 2 && level > 0; f++)
                CHECK(second_order(before[i][f], error[f], level));
            memcpy(before[i], error, sizeof error);
        }
        vortex_errors(t.problem, &alya_app.ladder[0], true, twin);
        CHECK(!as_wanted(twin, level));
        for (int f = 0; f < 2 && level > 0; f++)
            CHECK(!second_order(twin_before[f], twin[f], level));
        memcpy(twin_before, twin, sizeof twin);
        printf("n = %2d: errors of F1 %.4g, F2 %.4g; twin %.4g, %.4g\n", n, before[0][0],
               before[0][1], twin[0], twin[1]);
        alya_test_destroy(&t);
    }
}

static void each_rung(alya_problem_t *p, void (*check)(alya_problem_t *, const rt_rung_t *))
{
    for (int i = 0; i < alya_app.n_rungs; i++) {
        const int failed = check_state.failed;
        if (rt_rung_why_not(&alya_app.ladder[i]))
            continue;
        check(p, &alya_app.ladder[i]);
        if (check_state.failed > failed)
            fprintf(stderr, "    by %s\n", alya_app.ladder[i].name);
    }
}

int main(int argc, char **argv)
{
    app_test_start("test_physics", &argc, &argv);
    alya_test_t t;
    /* 1470 elements: three chunks, patches that are not full, and a group of 14 at the end */
    alya_test_new(&t, &alya_app, "cells=7x7x5 jitter=0.1");
    each_rung(t.problem, constant_velocity);
    each_rung(t.problem, constant_stress);
    each_rung(t.problem, conservation);
    keep_one_element(t.problem);
    each_rung(t.problem, subgrid_model);
    alya_test_destroy(&t);
    manufactured();
    return app_test_stop(check_done());
}
