/*
 * verify.c - what a rung must prove before its time counts.
 *
 * Before timing: the judge's own sums over the copies of a node are right by the nodes' ids
 * (judge/exchange.h). On velocities and physics drawn from a seed that no rung can know: r against the
 * quadrature reference, node by node, for the run's physics and for another convective form,
 * density, viscosity, force and filter; the total force for a constant velocity; the total momentum
 * for a linear one, whose integral is known in closed form; the same bits twice where a rung claims
 * that. After timing: what three solves left behind, each for a velocity of its own (one drawn among
 * the timed ones, the last of them, and one more from the problem's velocity): the last r
 * everywhere, r of earlier assemblies at some nodes, and the number of assemblies.
 *
 * Bounds. A value of r_e is made of a few dozen sums and products of the terms force, convection
 * and viscosity. Its rounding error is at most STEPS eps times the sum of the magnitudes of all
 * terms (`size[1]`). STEPS = 96 is counted along the longest path through the baseline: 1 for e, 2
 * + 3 + 1 for cofactors, det and gradients, 4 for u at a Gauss point, 3 for u . grad N, 3 for the
 * factors, 20 for the sum that is a matrix element, 13 for its row: 50; and through the reference:
 * 7 for gradients, 4 for J, 5 for A, 3 for the factors, 24 for the sum over Gauss points, 3 for the
 * rest of mu_t: 46. The paper's own measure is sum |r_e| over the node's elements (`size[0]`).
 * 1e-13 of it must be enough unless terms cancel: in thin elements, or where the velocity is smooth
 * and the baseline multiplies u and not its differences; on the hill, |u| is up to a hundred times
 * |u_k - u_0|. max |r| would be the wrong measure: the largest cells dominate it, and it hides
 * errors. Errors are mostly a random walk, and reach a hundredth of the bound. This file is
 * compiled with -fno-fast-math.
 */
#include "config.h"
#include "../alya.h"
#include "judge/compare.h"
#include "judge/exchange.h"
#include <math.h>
#include <string.h>

enum { STEPS = 96 };

typedef struct {
    alya_solver_t *s;
    alya_problem_t *p;
    const alya_mesh_t *mesh;
    double *u, *want, *got, *size; /* [nodes][3]; size [nodes][2] */
    rt_verdict_t *verdict;
    uint64_t seed;
} bench_t;

static bench_t bench_new(alya_solver_t *s, uint64_t seed, rt_verdict_t *verdict)
{
    bench_t t = {
        .s = s, .p = s->problem, .mesh = s->problem->mesh, .verdict = verdict, .seed = seed};
    const size_t nodes = (size_t)t.mesh->nodes;
    t.u = RT_NEW(double, 3 * nodes, RT_HOST);
    t.want = RT_NEW(double, 3 * nodes, RT_HOST);
    t.size = RT_NEW(double, 2 * nodes, RT_HOST);
    return t;
}

static void bench_destroy(bench_t *t)
{
    RT_FREE_ALL(RT_HOST, t->u, t->want, t->size, t->got);
}

/* --- the oracle --- */

/* Computes want and size from all ranks' elements for the velocity t->u; at least where wanted. */
static void oracle(const bench_t *t, const alya_physics_t *physics, const double *wanted)
{
    alya_reference_assemble(t->mesh, t->p->schedule, physics, t->u, wanted, t->want, t->size);
    if (t->p->halo) {
        rt_field_t r = {t->want, RT_F64, 3, 3, 1}, size = {t->size, RT_F64, 2, 2, 1};
        rt_halo_do(t->p->halo, RT_HALO_SUM, &r);
        rt_halo_do(t->p->halo, RT_HALO_SUM, &size);
    }
}

static int64_t id_of_node(const void *bench, int64_t node)
{
    const bench_t *t = bench;
    return t->mesh->node_id[node];
}

static void sum_copies(const void *bench, double *x)
{
    const bench_t *t = bench;
    const rt_field_t field = rt_field_f64(x);
    if (t->p->halo)
        rt_halo_do(t->p->halo, RT_HALO_SUM, &field);
}

static double node_error(const double got[3], const double want[3], const double size[2])
{
    const double allowed = fmax(size[0], STEPS * RT_EPS / ALYA_TOLERANCE * size[1]);
    double d2 = 0;
    for (int d = 0; d < 3; d++) {
        if (!rt_finite(got[d]))
            return INFINITY;
        d2 += pow(got[d] - want[d], 2);
    }
    return d2 == 0 ? 0 : allowed > 0 ? sqrt(d2) / allowed : INFINITY;
}

/* Returns the largest error of got[nodes][3]. */
static double worst(const bench_t *t, const double *got)
{
    double most = 0;
#pragma omp parallel for schedule(static) reduction(max : most)
    for (int64_t n = 0; n < t->mesh->nodes; n++)
        most = fmax(most, node_error(got + 3 * n, t->want + 3 * n, t->size + 2 * n));
    rt_comm_max(&most, 1);
    return most;
}

/* Computes the rung's r for t->u into t->got; with_halo: from all ranks' elements. */
static void rung_r(const bench_t *t, const alya_physics_t *physics, bool with_halo)
{
    alya_solver_t *s = t->s;
    const alya_physics_t own = s->physics;
    alya_put_velocity(s, t->u);
    alya_erase_r(s);
    s->physics = *physics;
    if (with_halo)
        alya_assemble(s);
    else
        s->kernels->assemble(&s->view, physics, s->u, s->r);
    s->physics = own;
    alya_get(s, s->r, s->kernels->r_stride, t->got);
}

static void compare(const bench_t *t, const alya_physics_t *physics, const char *name)
{
    oracle(t, physics, NULL);
    rung_r(t, physics, true);
    rt_verdict_check(t->verdict, name, worst(t, t->got), t->s->kernels->tolerance);
}

/* --- checks --- */

/* Returns physics that differ from the run's in everything, of a size that makes all terms
 * matter. */
static alya_physics_t other_physics(const bench_t *t)
{
    alya_physics_t q = t->s->physics;
    q.form = (alya_form_t)((q.form + 1 + rt_hash(0, t->seed) % (ALYA_FORMS - 1)) % ALYA_FORMS);
    q.rho = 1.5 + rt_random(1, t->seed) / 2;
    q.mu = 0.5 + rt_random(2, t->seed) / 4;
    q.vreman = 0.2 + rt_random(3, t->seed) / 10;
    q.filter = q.filter > 0 ? 0 : 1.5 + rt_random(4, t->seed) / 2;
    for (int d = 0; d < 3; d++)
        q.force[d] = rt_random(5 + (uint64_t)d, t->seed);
    return q;
}

static void check_nodes(bench_t *t)
{
    const alya_physics_t other = other_physics(t);
    alya_physics_t run = t->s->physics;
    alya_random_field(t->mesh, t->seed, t->u);
    compare(t, &run, "r = quadrature, node by node (sum |r_e|)");
    compare(t, &other, "the same with other physics");
    memcpy(t->u, t->p->u, 3 * (size_t)t->mesh->nodes * sizeof(double));
    compare(t, &run, "the same with the run's velocity");
}

/* A sum that loses only its last bit (Neumaier): plain sums over 10^8 values drift. */
typedef struct {
    double sum, lost;
} exact_t;

static void add(exact_t *e, double x)
{
    double sum = e->sum + x;
    e->lost += fabs(e->sum) >= fabs(x) ? (e->sum - sum) + x : (x - sum) + e->sum;
    e->sum = sum;
}
#pragma omp declare reduction(exact:exact_t \
                              : add(&omp_out, omp_in.sum), omp_out.lost += omp_in.lost)

/* Returns the volume of element e; computes its centre. */
static double tetrahedron(const alya_mesh_t *mesh, int64_t e, double centre[3])
{
    const int32_t *node = mesh->connectivity + 4 * e;
    double edge[3][3];
    alya_edges(mesh, node, edge);
    for (int d = 0; d < 3; d++) {
        centre[d] = 0;
        for (int a = 0; a < 4; a++)
            centre[d] += mesh->x[3 * (int64_t)node[a] + d] / 4;
    }
    return alya_determinant(edge) / 6;
}

/* Sums over all ranks: V x_c (total[0..2]) and V of elements, r (total[4..6]) and size[1] of nodes. */
static void totals(const bench_t *t, double total[8])
{
    exact_t of_elements[4] = {{0, 0}}, of_nodes[4] = {{0, 0}};
#pragma omp parallel for schedule(static) reduction(exact : of_elements)
    for (int64_t e = 0; e < t->mesh->elements; e++) {
        double centre[3], V = tetrahedron(t->mesh, e, centre);
        add(&of_elements[3], V);
        for (int d = 0; d < 3; d++)
            add(&of_elements[d], V * centre[d]);
    }
#pragma omp parallel for schedule(static) reduction(exact : of_nodes)
    for (int64_t n = 0; n < t->mesh->nodes; n++) {
        for (int d = 0; d < 3; d++)
            add(&of_nodes[d], t->got[3 * n + d]);
        add(&of_nodes[3], t->size[2 * n + 1]);
    }
    for (int i = 0; i < 4; i++) {
        total[i] = of_elements[i].sum + of_elements[i].lost;
        total[4 + i] = of_nodes[i].sum + of_nodes[i].lost;
    }
    rt_comm_sum(total, 8);
}

/*
 * u = M x + b without subgrid model: sum_a r_a of an element is rho f V - rho A(M) (M x_c + b) V,
 * and so is the sum over the mesh with its volume and centre. With M = 0 only the force remains.
 * The sums here lose nothing, so they are as exact as r itself: STEPS eps is less than half the
 * tolerance.
 */
static void check_total(bench_t *t, bool linear, const char *name)
{
    double M[3][3] = {{0}}, A[3][3], b[3], trace = 0, total[8], worst_d = 0;
    alya_physics_t q = other_physics(t);
    q.vreman = 0;
    for (int i = 0; i < 3; i++) {
        b[i] = rt_random(20 + (uint64_t)i, t->seed);
        for (int j = 0; linear && j < 3; j++)
            M[i][j] = rt_random(30 + (uint64_t)(3 * i + j), t->seed) / 16;
        trace += M[i][i];
    }
    const double share = q.form == ALYA_CONV ? 0 : q.form == ALYA_SKEW ? 0.5 : 1;
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++)
            A[i][j] = M[i][j] + (q.form == ALYA_EMAC ? M[j][i] : 0) + (i == j ? share * trace : 0);
#pragma omp parallel for schedule(static)
    for (int64_t n = 0; n < t->mesh->nodes; n++)
        for (int i = 0; i < 3; i++) {
            t->u[3 * n + i] = b[i];
            for (int j = 0; j < 3; j++)
                t->u[3 * n + i] += M[i][j] * t->mesh->x[3 * n + j];
        }
    alya_reference_assemble(t->mesh, t->p->schedule, &q, t->u, NULL, t->want, t->size);
    rung_r(t, &q, false); /* copies of shared nodes must count once each */
    totals(t, total);
    for (int i = 0; i < 3; i++) {
        double want = q.rho * q.force[i] * total[3];
        for (int j = 0; j < 3; j++) {
            double Mx = b[j] * total[3];
            for (int k = 0; k < 3; k++)
                Mx += M[j][k] * total[k];
            want -= q.rho * A[i][j] * Mx;
        }
        worst_d = fmax(worst_d, rt_error_over(total[4 + i], want, total[7]));
    }
    rt_verdict_check(t->verdict, name, worst_d, t->s->kernels->tolerance / 2);
}

/* Returns whether every element comes once, and no node is in two chunks of a colour. */
static bool is_right(const alya_mesh_t *mesh, const alya_schedule_t *s)
{
    int64_t *chunk_of = RT_NEW(int64_t, (size_t)mesh->nodes, RT_HOST); /* the last one */
    uint8_t *times = RT_NEW(uint8_t, (size_t)mesh->elements, RT_HOST);
    bool right = s->first[0] == 0 && s->first[s->chunks] == mesh->elements && s->colour[0] == 0 &&
                 s->colour[s->colours] == s->chunks;
    if (mesh->elements > 0)
        memset(times, 0, (size_t)mesh->elements);
    for (int64_t n = 0; n < mesh->nodes; n++)
        chunk_of[n] = -1;
    for (int32_t c = 0; right && c < s->colours; c++)
        for (int64_t k = s->colour[c]; right && k < s->colour[c + 1]; k++)
            for (int64_t p = s->first[k]; right && p < s->first[k + 1]; p++) {
                const int64_t e = s->list ? s->list[p] : p;
                right = e >= 0 && e < mesh->elements && times[e]++ == 0;
                for (int a = 0; right && a < 4; a++) {
                    int64_t *last = chunk_of + mesh->connectivity[4 * e + a];
                    right = *last < s->colour[c] || *last == k;
                    *last = k;
                }
            }
    RT_FREE_ALL(RT_HOST, chunk_of, times);
    return right;
}

/* Chunks of one colour may be assembled at once, by the rung and by the reference alike. */
static void check_schedule(const bench_t *t)
{
    const alya_schedule_t *rung = t->s->view.schedule;
    const bool right = is_right(t->mesh, t->p->schedule) && (!rung || is_right(t->mesh, rung));
    double wrong = !right;
    rt_comm_max(&wrong, 1);
    rt_verdict_true(t->verdict, "no two chunks of one colour have a node in common", wrong == 0);
}

static void assemble(void *bench)
{
    const bench_t *t = bench;
    alya_assemble(t->s);
}

/* Returns whether r differs from t->want, and erases it. */
static double differs(void *bench)
{
    const bench_t *t = bench;
    alya_get(t->s, t->s->r, t->s->kernels->r_stride, t->got);
    alya_erase_r(t->s);
    return memcmp(t->want, t->got, 3 * (size_t)t->mesh->nodes * sizeof(double)) != 0;
}

static void check_claim(bench_t *t)
{
    if (!t->s->kernels->rung.reproducible)
        return;
    alya_random_field(t->mesh, t->seed + 1, t->u);
    rung_r(t, &t->s->physics, true);
    memcpy(t->want, t->got, 3 * (size_t)t->mesh->nodes * sizeof(double));
    rt_compare_bits(assemble, differs, t, t->s->rung->kind == RT_CPU, t->verdict);
}

/* --- assemblies --- */

/* Returns the nodes [nodes] that any rank watches: 1 or more, else 0. */
static double *watched_new(const bench_t *t, const alya_watch_t *watch)
{
    double *wanted = RT_NEW(double, (size_t)t->mesh->nodes, RT_HOST);
    rt_fill(wanted, RT_HOST, 0, (size_t)t->mesh->nodes * sizeof(double));
    for (int64_t i = 0; i < watch->count; i++)
        wanted[watch->first + i * watch->jump] = 1;
    sum_copies(t, wanted);
    return wanted;
}

/* Checks the last r everywhere, and that of the watched assemblies where it was kept: two random
 * ones of the earlier ones, so all of them if three were asked for. Keeping more would show in the
 * time of small runs. */
static void check_assemblies(bench_t *t, const alya_left_t *left)
{
    alya_solver_t *s = t->s;
    const alya_watch_t watch = alya_watch(s, left->draw);
    double most = 0;
    alya_draw(t->p, false, left->draw, t->u);
    oracle(t, &s->physics, NULL);
    rt_verdict_check(t->verdict, "r left behind = quadrature, node by node (sum |r_e|)",
                     worst(t, left->r), s->kernels->tolerance);
    double *wanted = watched_new(t, &watch);
    for (int w = 0; w < ALYA_WATCHED; w++) {
        if (watch.assembly[w] < 0)
            continue;
        const alya_physics_t physics = alya_physics(s, left->draw, watch.assembly[w]);
        oracle(t, &physics, wanted);
        for (int64_t i = 0; i < watch.count; i++) {
            const int64_t n = watch.first + i * watch.jump;
            most = fmax(most, node_error(left->witness + 3 * (w * ALYA_WITNESSES + i),
                                         t->want + 3 * n, t->size + 2 * n));
        }
    }
    RT_FREE(wanted, RT_HOST);
    rt_comm_max(&most, 1);
    if (watch.assembly[0] >= 0)
        rt_verdict_check(t->verdict, "r of earlier assemblies, at some nodes (sum |r_e|)", most,
                         s->kernels->tolerance);
}

/* Judges what a solve left, and frees it. */
static void judge_left(alya_solver_t *s, alya_left_t left, rt_verdict_t *verdict)
{
    if (s->flow) {
        alya_judge_step(s, &left, verdict);
    } else {
        bench_t t = bench_new(s, 0, verdict);
        rt_verdict_true(verdict, "as many assemblies as asked",
                        left.assembled == t.p->config->assemblies);
        check_assemblies(&t, &left);
        bench_destroy(&t);
    }
    alya_left_destroy(&left);
}

void alya_verify_before(void *solver, uint64_t seed, rt_verdict_t *verdict)
{
    alya_solver_t *s = solver;
    bench_t t = bench_new(s, seed, verdict);
    t.got = RT_NEW(double, 3 * (size_t)t.mesh->nodes, RT_HOST);
    check_schedule(&t);
    const rt_exchange_t exchange = {
        .data = &t, .n = t.mesh->nodes, .id = id_of_node, .sum = sum_copies};
    rt_exchange_check(&exchange, seed, t.u, verdict);
    check_nodes(&t);
    check_total(&t, false, "constant velocity: sum r = rho f V (sum of magnitudes)");
    check_total(&t, true, "linear velocity: sum r = rho (f - A (M x_c + b)) V");
    check_claim(&t);
    bench_destroy(&t);
    if (s->flow) {
        alya_spoil(s, seed, RT_KEEP_NOTHING);
        alya_solve(s);
        judge_left(s, alya_left_new(s), verdict);
    }
}

/* What is left now is copied when what was put aside is judged and freed: less memory. */
void alya_verify_after(void *solver, rt_verdict_t *verdict)
{
    alya_solver_t *s = solver;
    for (int k = 0; k < RT_KEEPS; k++) {
        if (s->kept[k].r || s->kept[k].u)
            judge_left(s, s->kept[k], verdict);
        s->kept[k] = (alya_left_t){0};
    }
    judge_left(s, alya_left_new(s), verdict);
}
