/*
 * physics.h - shared by the tests of the equations: a rung on a mesh or on a part of one, and errors
 * in units of what rounding may do, as in judge/verify.c: STEPS roundings of the sum of magnitudes of
 * all terms, which the reference adds up. So an error must be at most 1.
 *
 * Each check has a twin that is wrong on purpose (another form, a missing element, a viscosity that
 * varies) and must not pass: a check that cannot fail shows nothing.
 */
#ifndef ALYA_PHYSICS_H
#define ALYA_PHYSICS_H

#include <math.h>
#include <string.h>
#include "alya_test.h"

enum { STEPS = 64 };

/* Returns the unit roundoff of this rung's arithmetic. */
static inline double unit(const rt_rung_t *rung)
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
static inline alya_physics_t all_terms(void)
{
    alya_physics_t physics = {
        .rho = 1.3, .mu = 2.5, .vreman = 0.1, .force = {0.3, -0.2, 0.5}, .form = ALYA_CONS};
    return physics;
}

static inline case_t case_new(alya_problem_t *p, const rt_rung_t *rung)
{
    const size_t nodes = (size_t)p->mesh->nodes;
    case_t c = {.p = p, .mesh = p->mesh, .rung = rung, .physics = all_terms()};
    c.u = RT_NEW(double, 3 * nodes, RT_HOST);
    c.r = RT_NEW(double, 3 * nodes, RT_HOST);
    c.size = RT_NEW(double, 2 * nodes, RT_HOST);
    alya_random_field(c.mesh, 7, c.u);
    return c;
}

static inline void case_destroy(case_t *c)
{
    RT_FREE(c->u, RT_HOST);
    RT_FREE(c->r, RT_HOST);
    RT_FREE(c->size, RT_HOST);
}

/* Computes the rung's r. */
static inline void run(case_t *c)
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
static inline void measure(case_t *c)
{
    double *r = RT_NEW(double, 3 * (size_t)c->mesh->nodes, RT_HOST);
    alya_reference_assemble(c->mesh, c->p->schedule, &c->physics, c->u, r, c->size);
    RT_FREE(r, RT_HOST);
}

/* Returns |error| / allowed; neither NaN nor an allowance of 0 counts as good. */
static inline double ratio(double error, double allowed)
{
    return !rt_finite(error) ? INFINITY : error == 0 ? 0 : fabs(error) / allowed;
}

static inline double norm(const double v[3])
{
    return sqrt(v[0] * v[0] + v[1] * v[1] + v[2] * v[2]);
}

/* Returns the largest |r| of the nodes without any of these flags, relative to their size. */
static inline double largest_r(const case_t *c, int flags)
{
    double most = 0;
    for (int64_t n = 0; n < c->mesh->nodes; n++)
        if (!(c->mesh->flags[n] & flags))
            most =
                fmax(most, ratio(norm(c->r + 3 * n), STEPS * unit(c->rung) * c->size[2 * n + 1]));
    return most;
}

/* Returns |sum r - want| relative to the sum of sizes. */
static inline double sum_error(const case_t *c, const double want[3])
{
    double sum[3] = {-want[0], -want[1], -want[2]}, size = 0;
    for (int64_t n = 0; n < c->mesh->nodes; n++) {
        for (int d = 0; d < 3; d++)
            sum[d] += c->r[3 * n + d];
        size += c->size[2 * n + 1];
    }
    return ratio(norm(sum), STEPS * unit(c->rung) * size);
}

/* Sets u = M (x - origin) + b. */
static inline void set_linear(case_t *c, double M[3][3], const double origin[3], const double b[3])
{
    for (int64_t n = 0; n < c->mesh->nodes; n++)
        for (int i = 0; i < 3; i++) {
            c->u[3 * n + i] = b[i];
            for (int j = 0; j < 3; j++)
                c->u[3 * n + i] += M[i][j] * (c->mesh->x[3 * n + j] - origin[j]);
        }
}

/* --- geometry, and parts of a mesh --- */

/* Returns the volume of an element; computes its centre and, if g is not NULL, the gradients of its
 * shape functions. */
static inline double geometry(const alya_mesh_t *mesh, int64_t e, double centre[3], double g[4][3])
{
    double edge[3][3], det = 0;
    const int32_t *node = mesh->connectivity + 4 * e;
    for (int d = 0; d < 3; d++) {
        const double first = mesh->x[3 * (int64_t)node[0] + d];
        centre[d] = first;
        for (int k = 0; k < 3; k++) {
            edge[k][d] = mesh->x[3 * (int64_t)node[k + 1] + d] - first;
            centre[d] += edge[k][d] / 4;
        }
    }
    double c[3][3];
    for (int k = 0; k < 3; k++)
        for (int d = 0; d < 3; d++) {
            const double *a = edge[(k + 1) % 3], *b = edge[(k + 2) % 3];
            c[k][d] = a[(d + 1) % 3] * b[(d + 2) % 3] - a[(d + 2) % 3] * b[(d + 1) % 3];
        }
    for (int d = 0; d < 3; d++)
        det += edge[0][d] * c[0][d];
    for (int d = 0; g && d < 3; d++) {
        g[0][d] = -(c[0][d] + c[1][d] + c[2][d]) / det;
        for (int k = 0; k < 3; k++)
            g[k + 1][d] = c[k][d] / det;
    }
    return det / 6;
}

static inline double total_volume(const alya_mesh_t *mesh)
{
    double centre[3], sum = 0;
    for (int64_t e = 0; e < mesh->elements; e++)
        sum += geometry(mesh, e, centre, NULL);
    return sum;
}

/* Makes a problem of this mesh, which it takes over; no halo. */
static inline alya_problem_t *problem_of(const alya_problem_t *like, alya_mesh_t *mesh)
{
    alya_problem_t *p = RT_NEW(alya_problem_t, 1, RT_HOST);
    memset(p, 0, sizeof *p);
    p->run = like->run;
    p->config = like->config;
    p->physics = like->physics;
    p->mesh = mesh;
    p->schedule = alya_schedule_new(mesh, ALYA_CHUNK);
    p->u = RT_NEW(double, 3 * (size_t)mesh->nodes, RT_HOST);
    memset(p->u, 0, 3 * (size_t)mesh->nodes * sizeof(double));
    return p;
}

/* Copies all nodes, and `count` elements from `first` on. */
static inline alya_mesh_t *mesh_part(const alya_mesh_t *mesh, int64_t first, int64_t count)
{
    const size_t nodes = (size_t)mesh->nodes;
    alya_mesh_t *part = RT_NEW(alya_mesh_t, 1, RT_HOST);
    part->elements = count;
    part->nodes = mesh->nodes;
    part->connectivity =
        rt_clone(mesh->connectivity + 4 * first, 4 * (size_t)count, sizeof(int32_t), RT_HOST);
    part->x = rt_clone(mesh->x, 3 * nodes, sizeof(double), RT_HOST);
    part->node_id = rt_clone(mesh->node_id, nodes, sizeof(int64_t), RT_HOST);
    part->flags = rt_clone(mesh->flags, nodes, sizeof(uint8_t), RT_HOST);
    return part;
}

static inline alya_problem_t *problem_part(const alya_problem_t *whole, int64_t first,
                                           int64_t count)
{
    return problem_of(whole, mesh_part(whole->mesh, first, count));
}

static inline alya_problem_t *problem_copy(const alya_problem_t *whole)
{
    return problem_part(whole, 0, whole->mesh->elements);
}

/* Returns a change of one value that a rung's class of error must show. */
static inline double small_change(const rt_rung_t *rung)
{
    const alya_kernels_t *kernels = (const alya_kernels_t *)rung->kernels;
    return kernels->tolerance > ALYA_TOLERANCE ? 1 : 1e-3;
}

#endif
