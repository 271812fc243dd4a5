/*
 * test_symmetry.c - r moves and turns with the mesh, and depends neither on the order of the elements
 * nor on the number of parts, for every rung that can run here.
 */
#include "config.h"
#include "physics.h"

/* --- symmetries --- */

/* Rotates each of n vectors by 0.9 around (1, 2, 2) / 3. */
static void rotate(double *v, int64_t n)
{
    const double axis[3] = {1. / 3, 2. / 3, 2. / 3}, co = cos(0.9), si = sin(0.9);
    for (; n > 0; n--, v += 3) {
        const double old[3] = {v[0], v[1], v[2]};
        const double along = axis[0] * v[0] + axis[1] * v[1] + axis[2] * v[2];
        for (int d = 0; d < 3; d++)
            v[d] =
                co * old[d] + (1 - co) * along * axis[d] +
                si * (axis[(d + 1) % 3] * old[(d + 2) % 3] - axis[(d + 2) % 3] * old[(d + 1) % 3]);
    }
}

/* Returns the largest difference between two r at a node. */
static double difference(const case_t *a, const case_t *b)
{
    double most = 0;
    for (int64_t n = 0; n < a->mesh->nodes; n++) {
        double d[3];
        for (int i = 0; i < 3; i++)
            d[i] = a->r[3 * n + i] - b->r[3 * n + i];
        most = fmax(most, ratio(norm(d), STEPS * unit(a->rung) * a->size[2 * n + 1]));
    }
    return most;
}

static void symmetries(alya_problem_t *p, const rt_rung_t *rung)
{
    case_t c = case_new(p, rung);
    measure(&c);
    run(&c);

    alya_problem_t *moved = problem_copy(p);
    case_t m = case_new(moved, rung);
    for (int64_t v = 0; v < 3 * m.mesh->nodes; v++)
        m.mesh->x[v] += v % 3 == 0 ? 33.3 : -7.7;
    run(&m);
    CHECK(difference(&c, &m) <= 1);
    m.mesh->x[0] += small_change(rung); /* twin: one node moves farther */
    run(&m);
    CHECK(difference(&c, &m) > 1);
    case_destroy(&m);
    alya_problem_destroy(moved);

    moved = problem_copy(p);
    m = case_new(moved, rung);
    rotate(m.mesh->x, m.mesh->nodes);
    rotate(m.physics.force, 1);
    run(&m); /* twin: u stays as it was */
    rotate(c.r, c.mesh->nodes);
    CHECK(difference(&c, &m) > 1);
    rotate(m.u, m.mesh->nodes);
    run(&m);
    CHECK(difference(&c, &m) <= 1);
    case_destroy(&m);
    alya_problem_destroy(moved);

    run(&c);
    moved = problem_copy(p);
    m = case_new(moved, rung);
    for (int64_t e = 0; e < m.mesh->elements; e++) { /* a b c d -> b c a d: the same element */
        int32_t *node = m.mesh->connectivity + 4 * e, first = node[0];
        node[0] = node[1];
        node[1] = node[2];
        node[2] = first;
    }
    run(&m);
    CHECK(difference(&c, &m) <= 1);
    int32_t *node = m.mesh->connectivity, first = node[0];
    node[0] = node[1]; /* twin: one element inside out */
    node[1] = first;
    run(&m);
    CHECK(difference(&c, &m) > 1);
    case_destroy(&m);
    alya_problem_destroy(moved);
}

/* --- any order, any number of parts --- */

/* Adds the rung's r of this mesh, which it takes over, to sum[id]. */
static void add_by_id(const case_t *like, alya_mesh_t *mesh, double *sum)
{
    alya_problem_t *p = problem_of(like->p, mesh);
    case_t c = case_new(p, like->rung);
    run(&c);
    for (int64_t v = 0; v < 3 * mesh->nodes; v++)
        sum[3 * mesh->node_id[v / 3] + v % 3] += c.r[v];
    case_destroy(&c);
    alya_problem_destroy(p);
}

/* Returns the difference over what is allowed. An order or a partition changes only the order of
 * additions. Each of the m summands of a node takes part in at most m - 1 of them, each with
 * relative error eps, in both results. For a rung in single precision the summands may change too,
 * if it works from an origin per block. */
static double sum_difference(const case_t *c, const double *sum)
{
    const alya_mesh_t *mesh = c->mesh;
    double most = 0, *m = RT_NEW(double, (size_t)mesh->nodes, RT_HOST);
    memset(m, 0, (size_t)mesh->nodes * sizeof(double));
    for (int64_t i = 0; i < 4 * mesh->elements; i++)
        m[mesh->connectivity[i]]++;
    for (int64_t n = 0; n < mesh->nodes; n++) {
        double d[3], allowed = 2 * m[n] * RT_EPS * c->size[2 * n];
        if (unit(c->rung) > RT_EPS)
            allowed += STEPS * unit(c->rung) * c->size[2 * n + 1];
        for (int i = 0; i < 3; i++)
            d[i] = c->r[3 * n + i] - sum[3 * mesh->node_id[n] + i];
        most = fmax(most, ratio(norm(d), allowed));
    }
    RT_FREE(m, RT_HOST);
    return most;
}

static void orders_and_parts(const alya_test_t *t, const rt_rung_t *rung)
{
    const alya_box_t box = alya_box(t->config);
    case_t c = case_new(t->problem, rung);
    const size_t bytes = 3 * (size_t)c.mesh->nodes * sizeof(double);
    double *sum = RT_NEW(double, 3 * (size_t)c.mesh->nodes, RT_HOST);
    measure(&c);
    run(&c);
    for (int order = ALYA_NATURAL + 1; order < ALYA_ORDERS; order++) {
        alya_mesh_t *mesh = mesh_part(c.mesh, 0, c.mesh->elements);
        alya_mesh_reorder(mesh, (alya_order_t)order, 3);
        memset(sum, 0, bytes);
        add_by_id(&c, mesh, sum);
        CHECK(sum_difference(&c, sum) <= 1);
    }
    static const int parts[] = {2, 3, 7};
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        memset(sum, 0, bytes);
        for (int k = 0; k < parts[i]; k++) {
            CHECK(k == 0 || sum_difference(&c, sum) > 1); /* twin: a part is still missing */
            add_by_id(&c, alya_box_new(&box, k, parts[i]), sum);
        }
        CHECK(sum_difference(&c, sum) <= 1);
    }
    RT_FREE(sum, RT_HOST);
    case_destroy(&c);
}

int main(int argc, char **argv)
{
    app_test_start("test_symmetry", &argc, &argv);
    alya_test_t t;
    /* 1470 elements: three chunks, patches that are not full, and a group of 14 at the end */
    alya_test_new(&t, &alya_app, "cells=7x7x5 jitter=0.1");
    for (int i = 0; i < ALYA_RUNGS; i++) {
        const rt_rung_t *rung = &alya_ladder[i];
        if (rt_rung_why_not(rung))
            continue;
        const int failed = check_state.failed;
        symmetries(t.problem, rung);
        orders_and_parts(&t, rung);
        printf("%s: %d failed\n", rung->name, check_state.failed - failed);
    }
    alya_test_destroy(&t);
    return app_test_stop(check_done());
}
