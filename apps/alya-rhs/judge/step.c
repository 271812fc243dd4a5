/*
 * step.c - the last step of a solve, by its definition (step/step.h), element by element.
 *
 * u* is made of the velocity before the step by three assemblies of the reference. The pressure is
 * not solved for again: L p = -(rho/dt) D u* must hold with the pressure that was left, and u must
 * be what that pressure makes of u*.
 *
 * Bounds. Velocity, |.| the largest of all nodes: an assembly errs by STEPS eps size or the rung's
 * tolerance (verify.c), which is dt / (rho V_a) times that in a stage; a stage multiplies the error of
 * the one before by at most 1 + dt |dk/du| < 8 for dt below the limit of stability, and adds GROWTH =
 * 8^2 times; so 64 times the sum over the stages. With p the projection adds a sum of 15 products, to
 * be rounded in 24 steps of its magnitudes. The residual may exceed the solver's tolerance by a
 * tenth, as that stops by a residual that it updates, and by the rounding of D u*.
 */
#include "config.h"
#include "../alya.h"
#include "judge/compare.h"
#include <math.h>
#include <string.h>

enum { STEPS = 96, GROWTH = 64, ROUNDINGS = 24 };

typedef struct {
    const alya_problem_t *p;
    const alya_mesh_t *mesh;
    int64_t nodes;
    double *u, *r, *size, *volume, *copies; /* [nodes][3], [3], [2], [1], [1] */
    double *b, *Lp, *Gp; /* [nodes], [nodes], [nodes][4]: G p and its magnitude */
    double allowed;      /* error of u*, m/s */
    double largest_x;
} bench_t;

static void sum(const bench_t *t, double *x, int components)
{
    for (int c = 0; c < components && t->p->halo; c++) {
        const rt_field_t field = {x + c, RT_F64, 1, components, 1};
        rt_halo_do(t->p->halo, RT_HALO_SUM, &field);
    }
}

/* Computes g_a, as cofactors of the matrix of edges; returns V. */
static double shapes(const alya_mesh_t *mesh, const int32_t *node, double g[4][3])
{
    double e[3][3], det = 0;
    alya_edges(mesh, node, e);
    memset(g[0], 0, sizeof g[0]);
    for (int k = 0; k < 3; k++)
        for (int i = 0; i < 3; i++) {
            const int k1 = (k + 1) % 3, k2 = (k + 2) % 3, i1 = (i + 1) % 3, i2 = (i + 2) % 3;
            g[k + 1][i] = e[k1][i1] * e[k2][i2] - e[k1][i2] * e[k2][i1];
            det += k == 0 ? e[0][i] * g[1][i] : 0;
        }
    for (int k = 1; k < 4; k++)
        for (int i = 0; i < 3; i++) {
            g[k][i] /= det;
            g[0][i] -= g[k][i];
        }
    return det / 6;
}

/* Adds all elements' V/4. */
static void add_masses(const bench_t *t)
{
    for (int64_t e = 0; e < t->mesh->elements; e++) {
        const int32_t *node = t->mesh->connectivity + 4 * e;
        double g[4][3];
        const double V = shapes(t->mesh, node, g);
        for (int a = 0; a < 4; a++)
            t->volume[node[a]] += V / 4;
    }
    sum(t, t->volume, 1);
}

/* Adds all elements' V/4 div u, L p and G p. */
static void add_elements(const bench_t *t, const double *p)
{
    for (int64_t e = 0; e < t->mesh->elements; e++) {
        const int32_t *node = t->mesh->connectivity + 4 * e;
        double g[4][3], div = 0, slope[3] = {0, 0, 0}, steepest = 0;
        const double V = shapes(t->mesh, node, g);
        for (int a = 0; a < 4; a++)
            for (int i = 0; i < 3; i++) {
                div += g[a][i] * t->u[3 * (int64_t)node[a] + i];
                slope[i] += g[a][i] * p[node[a]];
                steepest += fabs(g[a][i] * p[node[a]]);
            }
        for (int a = 0; a < 4; a++) {
            const int64_t n = node[a];
            t->b[n] += V / 4 * div;
            t->Gp[4 * n + 3] += V / 4 * steepest;
            for (int i = 0; i < 3; i++) {
                t->Lp[n] += V * g[a][i] * slope[i];
                t->Gp[4 * n + i] += V / 4 * slope[i];
            }
        }
    }
    sum(t, t->b, 1);
    sum(t, t->Lp, 1);
    sum(t, t->Gp, 4);
}

/* Advances t->u from begin by three stages. */
static void predict(bench_t *t, const alya_solver_t *s, const double *begin)
{
    static const double old[3] = {0, 3. / 4, 1. / 3};
    const alya_physics_t *physics = &s->physics;
    const uint8_t *fixed = t->p->flow->rows.fixed;
    const double share = fmax(s->kernels->tolerance, ALYA_TOLERANCE);
    memcpy(t->u, begin, 3 * (size_t)t->nodes * sizeof(double));
    for (int k = 0; k < 3; k++) {
        double worst = 0;
        alya_reference_assemble(t->mesh, t->p->schedule, physics, t->u, NULL, t->r, t->size);
        sum(t, t->r, 3);
        sum(t, t->size, 2);
        for (int64_t n = 0; n < t->nodes; n++) {
            const double scale = s->flow->dt / (physics->rho * t->volume[n]);
            for (int i = 0; i < 3; i++) {
                double *u = t->u + 3 * n + i;
                if (fixed[n] >> i & 1)
                    continue;
                *u = old[k] * begin[3 * n + i] + (1 - old[k]) * (*u + scale * t->r[3 * n + i]);
                worst = fmax(worst, fabs(*u) * 4 * RT_EPS);
            }
            worst = fmax(worst,
                         scale * fmax(share * t->size[2 * n], STEPS * RT_EPS * t->size[2 * n + 1]));
        }
        rt_comm_max(&worst, 1);
        t->allowed += GROWTH * worst;
    }
}

static bench_t bench_new(const alya_problem_t *p)
{
    bench_t t = {.p = p, .mesh = p->mesh, .nodes = p->mesh->nodes};
    double **array[] = {&t.u, &t.r, &t.size, &t.volume, &t.copies, &t.b, &t.Lp, &t.Gp};
    const size_t values[] = {3, 3, 2, 1, 1, 1, 1, 4};
    for (int i = 0; i < 8; i++) {
        *array[i] = RT_NEW(double, values[i] * (size_t)t.nodes, RT_HOST);
        memset(*array[i], 0, values[i] * (size_t)t.nodes * sizeof(double));
    }
    for (int64_t n = 0; n < t.nodes; n++)
        t.copies[n] = 1;
    sum(&t, t.copies, 1);
    t.largest_x = -INFINITY;
    for (int64_t n = 0; n < t.nodes; n++)
        t.largest_x = fmax(t.largest_x, t.mesh->x[3 * n]);
    rt_comm_max(&t.largest_x, 1);
    return t;
}

static void bench_destroy(bench_t *t)
{
    RT_FREE_ALL(RT_HOST, t->u, t->r, t->size, t->volume, t->copies, t->b, t->Lp, t->Gp);
}

/* Returns what must be fixed at a node, by where it is. */
static int must_be_fixed(const bench_t *t, int64_t n)
{
    const double *x = t->mesh->x + 3 * n, tiny = 1e-9;
    if (t->p->config->from_file) {
        if (!(t->mesh->flags[n] & ALYA_BOUNDARY))
            return 0;
        return x[0] < t->largest_x ? 7 : ALYA_PRESSURE_FIXED;
    }
    if (!t->p->config->is_hill)
        return t->mesh->node_id[n] == 0 ? ALYA_PRESSURE_FIXED : 0;
    const bool solid = x[0] < -200 + tiny || x[2] - alya_hill(x[0], x[1]) < tiny;
    return (solid ? 7 : 0) | (fabs(x[1]) > 200 - tiny ? 2 : 0) | (x[2] > 120 - tiny ? 4 : 0) |
           (x[0] > 400 - tiny ? ALYA_PRESSURE_FIXED : 0);
}

/* Returns whether boundaries are where they must be, and the first velocity of the hill agrees. */
static bool boundaries_right(const bench_t *t)
{
    const alya_config_t *config = t->p->config;
    const int compared = config->from_file ? 7 : 15; /* p may be fixed inside: no outflow */
    double wrong = 0;
    for (int64_t n = 0; n < t->nodes; n++) {
        const double *x = t->mesh->x + 3 * n, *u = t->p->flow->u + 3 * n;
        const int fixed = must_be_fixed(t, n);
        const double wind = 0.4 / 0.41 * log1p(fmax(0, x[2] - alya_hill(x[0], x[1])) / 0.03);
        wrong += ((t->p->flow->rows.fixed[n] ^ fixed) & compared) != 0;
        for (int i = 0; i < 3 && config->is_hill; i++)
            if (fixed >> i & 1)
                wrong += !(fabs(u[i] - (i == 0 ? wind : 0)) <= 1e-12);
    }
    rt_comm_max(&wrong, 1);
    return wrong == 0;
}

/* Returns whether u before the step was the one drawn (of a later step: finite), and whether what is
 * fixed stayed. */
static bool starts_right(const alya_solver_t *s, const alya_left_t *left, bench_t *t)
{
    const size_t values = 3 * (size_t)t->nodes;
    double wrong = (double)rt_count_nonfinite(left->begin, values);
    alya_draw(t->p, true, left->draw, t->u);
    if (s->problem->config->steps == 1)
        wrong += memcmp(t->u, left->begin, values * sizeof(double)) != 0;
    for (int64_t n = 0; n < t->nodes; n++)
        for (int i = 0; i < 3; i++)
            if (t->p->flow->rows.fixed[n] >> i & 1)
                wrong += left->u[3 * n + i] != t->u[3 * n + i];
    rt_comm_max(&wrong, 1);
    return wrong == 0;
}

/* Returns |L p - b| / |b| over the nodes where p is not fixed; at the others p must be 0. */
static double residual(const bench_t *t, const double *p, double per_step)
{
    double sums[3] = {0, 0, 0};
    for (int64_t n = 0; n < t->nodes; n++) {
        const double b = -per_step * t->b[n];
        if (t->p->flow->rows.fixed[n] & ALYA_PRESSURE_FIXED) {
            sums[2] += p[n] != 0;
        } else {
            sums[0] += pow(t->Lp[n] - b, 2) / t->copies[n];
            sums[1] += b * b / t->copies[n];
        }
    }
    rt_comm_sum(sums, 3);
    return sums[2] == 0 && rt_finite(sums[0]) && sums[1] > 0 ? sqrt(sums[0] / sums[1]) : INFINITY;
}

/* Returns the largest error of u over its bound. */
static double worst(const bench_t *t, const double *u, double per_step)
{
    double most = 0;
    for (int64_t n = 0; n < t->nodes; n++)
        for (int i = 0; i < 3; i++) {
            const double scale = 1 / (per_step * t->volume[n]);
            const bool fixed = t->p->flow->rows.fixed[n] >> i & 1;
            const double want = t->u[3 * n + i] - (fixed ? 0 : scale * t->Gp[4 * n + i]);
            const double allowed = t->allowed + ROUNDINGS * RT_EPS * scale * t->Gp[4 * n + 3];
            most = fmax(most, rt_error_over(u[3 * n + i], want, allowed));
        }
    rt_comm_max(&most, 1);
    return most;
}

void alya_judge_step(alya_solver_t *s, const alya_left_t *left, rt_verdict_t *verdict)
{
    bench_t t = bench_new(s->problem);
    const double per_step = s->physics.rho / s->flow->dt;
    const int64_t steps = s->problem->config->steps;
    rt_verdict_true(verdict, "as many steps and assemblies as asked",
                    left->steps == steps && left->assembled == 3 * steps);
    rt_verdict_true(verdict, "boundaries are where the mesh ends", boundaries_right(&t));
    rt_verdict_true(verdict, "the step starts from its velocity, boundaries stay",
                    starts_right(s, left, &t));
    add_masses(&t);
    predict(&t, s, left->begin);
    add_elements(&t, left->p);
    rt_verdict_true(verdict, "|L p - b| <= tolerance |b|, b = -(rho/dt) D u* of the reference",
                    residual(&t, left->p, per_step) <= 1.1 * s->flow->tolerance);
    rt_verdict_check(verdict, "u = u* of the reference - (dt/rho) G p / V, node by node (bounds)",
                     worst(&t, left->u, per_step), 1);
    bench_destroy(&t);
}
