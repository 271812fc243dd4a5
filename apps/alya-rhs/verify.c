/*
 * verify.c - what a rung must show before its time counts.
 *
 * Before timing, on velocities and physics drawn from a seed that no rung can know: r against the
 * quadrature reference, node by node, for the run's physics and for one of another convective form,
 * density, viscosity, force and filter; the total force of a constant velocity; the total momentum
 * of a linear one, whose integral is known in closed form; the same bits twice where a rung claims
 * it. After timing: what the last solve left behind, for the velocity of that solve alone.
 *
 * Bounds. A value of r_e is made of a few dozen sums and products of the terms force, convection
 * and viscosity; its rounding error is at most STEPS eps times the sum of the magnitudes of all
 * that is added (`size[1]`), STEPS = 64 counted from the closed form: 1 for e and w, 2 + 3 for
 * cofactors and det, 4 for J, 10 for mu_t, 6 for A u, 5 for the sum over nodes' elements, twice for
 * the two programs compared. The paper's own measure is sum |r_e| over the node's elements
 * (`size[0]`): 1e-13 of it must do unless elements are so thin that their terms cancel. max |r| is
 * no measure: it is dominated by the largest cells and hides errors. This file is compiled with
 * -fno-fast-math.
 */
#include "config.h"
#include "alya.h"
#include <math.h>
#include <string.h>

enum { STEPS = 64 };

typedef struct {
    alya_solver_t *s;
    alya_problem_t *p;
    const alya_mesh_t *mesh;
    double *u, *want, *size, *got; /* [nodes][3]; size [nodes][2] */
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
    t.got = RT_NEW(double, 3 * nodes, RT_HOST);
    return t;
}

static void bench_destroy(bench_t *t)
{
    RT_FREE(t->u, RT_HOST);
    RT_FREE(t->want, RT_HOST);
    RT_FREE(t->size, RT_HOST);
    RT_FREE(t->got, RT_HOST);
}

/* --- the oracle --- */

/* want and size of all ranks' elements for the velocity t->u. */
static void oracle(const bench_t *t, const alya_physics_t *physics)
{
    alya_reference_assemble(t->mesh, t->p->schedule, physics, t->u, t->want, t->size);
    if (t->p->halo) {
        rt_field_t r = {t->want, RT_F64, 3, 3, 1}, size = {t->size, RT_F64, 2, 2, 1};
        rt_halo_do(t->p->halo, RT_HALO_SUM, &r);
        rt_halo_do(t->p->halo, RT_HALO_SUM, &size);
    }
}

/* Largest |got - want| of a node over what its elements allow, in units of the tolerance. */
static double worst(const bench_t *t)
{
    const double per_term = STEPS * RT_EPS / ALYA_TOLERANCE;
    double most = 0, bad = (double)rt_count_nonfinite(t->got, 3 * (size_t)t->mesh->nodes);
    for (int64_t n = 0; n < t->mesh->nodes; n++) {
        double d2 = 0;
        for (int d = 0; d < 3; d++)
            d2 += pow(t->got[3 * n + d] - t->want[3 * n + d], 2);
        double size = fmax(t->size[2 * n], per_term * t->size[2 * n + 1]);
        if (d2 > 0)
            most = fmax(most, size > 0 ? sqrt(d2) / size : INFINITY);
    }
    double both[2] = {most, bad};
    rt_comm_max(both, 2);
    return both[1] > 0 ? INFINITY : both[0];
}

/* The rung's r for t->u into t->got; with_halo: of all ranks' elements. */
static void rung_r(const bench_t *t, const alya_physics_t *physics, bool with_halo)
{
    alya_solver_t *s = t->s;
    const alya_physics_t own = s->physics;
    alya_put_velocity(s, t->u);
    rt_fill(s->r, s->space, 0xff,
            (size_t)s->view.nodes * (size_t)s->kernels->r_stride * sizeof(double));
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
    oracle(t, physics);
    rung_r(t, physics, true);
    rt_verdict_check(t->verdict, name, worst(t), t->s->kernels->tolerance);
}

/* --- checks --- */

/* Values that differ from the run's in everything, of a size that makes all terms matter. */
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

/* A sum that loses nothing but its last bit (Neumaier): plain sums over 10^8 values drift. */
typedef struct {
    double sum, lost;
} exact_t;

static void add(exact_t *e, double x)
{
    double sum = e->sum + x;
    e->lost += fabs(e->sum) >= fabs(x) ? (e->sum - sum) + x : (x - sum) + e->sum;
    e->sum = sum;
}

static double tetrahedron(const alya_mesh_t *mesh, int64_t e, double centre[3])
{
    const int32_t *node = mesh->connectivity + 4 * e;
    const double *x[4];
    double c[3][3];
    for (int a = 0; a < 4; a++)
        x[a] = mesh->x + 3 * (int64_t)node[a];
    for (int d = 0; d < 3; d++) {
        centre[d] = (x[0][d] + x[1][d] + x[2][d] + x[3][d]) / 4;
        for (int k = 0; k < 3; k++)
            c[k][d] = x[k + 1][d] - x[0][d];
    }
    return (c[0][0] * (c[1][1] * c[2][2] - c[1][2] * c[2][1]) +
            c[0][1] * (c[1][2] * c[2][0] - c[1][0] * c[2][2]) +
            c[0][2] * (c[1][0] * c[2][1] - c[1][1] * c[2][0])) /
           6;
}

/* Sums over all ranks' elements of V and V x_c; over nodes of got and size[1]. */
static void totals(const bench_t *t, double *volume, double moment[3], double sum[3], double *size)
{
    exact_t exact[8] = {{0, 0}};
    double total[8];
    for (int64_t e = 0; e < t->mesh->elements; e++) {
        double centre[3], V = tetrahedron(t->mesh, e, centre);
        add(&exact[0], V);
        for (int d = 0; d < 3; d++)
            add(&exact[1 + d], V * centre[d]);
    }
    for (int64_t n = 0; n < t->mesh->nodes; n++) {
        for (int d = 0; d < 3; d++)
            add(&exact[4 + d], t->got[3 * n + d]);
        add(&exact[7], t->size[2 * n + 1]);
    }
    for (int i = 0; i < 8; i++)
        total[i] = exact[i].sum + exact[i].lost;
    rt_comm_sum(total, 8);
    *volume = total[0];
    *size = total[7];
    for (int d = 0; d < 3; d++) {
        moment[d] = total[1 + d];
        sum[d] = total[4 + d];
    }
}

/*
 * u = M x + b without subgrid model: sum_a r_a of an element is rho f V - rho A(M) (M x_c + b) V,
 * and so is the sum over the mesh with its volume and centre. With M = 0 only the force is left.
 * The sum over `nodes` values in the plainest order is a random walk of rounding errors: 10
 * sqrt(nodes) eps.
 */
static void check_total(bench_t *t, bool linear, const char *name)
{
    double M[3][3] = {{0}}, A[3][3], b[3], trace = 0, volume, moment[3], sum[3], size, worst_d = 0;
    alya_physics_t q = other_physics(t);
    q.vreman = 0;
    for (int i = 0; i < 3; i++) {
        b[i] = rt_random(20 + (uint64_t)i, t->seed);
        for (int j = 0; linear && j < 3; j++)
            M[i][j] = rt_random(30 + (uint64_t)(3 * i + j), t->seed) / 16;
        trace += M[i][i];
    }
    const double half = q.form == ALYA_CONV ? 0 : q.form == ALYA_SKEW ? 0.5 : 1;
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++)
            A[i][j] = M[i][j] + (q.form == ALYA_EMAC ? M[j][i] : 0) + (i == j ? half * trace : 0);
    for (int64_t n = 0; n < t->mesh->nodes; n++)
        for (int i = 0; i < 3; i++) {
            t->u[3 * n + i] = b[i];
            for (int j = 0; j < 3; j++)
                t->u[3 * n + i] += M[i][j] * t->mesh->x[3 * n + j];
        }
    alya_reference_assemble(t->mesh, t->p->schedule, &q, t->u, t->want, t->size);
    rung_r(t, &q, false); /* copies of shared nodes must count once each */
    totals(t, &volume, moment, sum, &size);
    for (int i = 0; i < 3; i++) {
        double want = q.rho * q.force[i] * volume;
        for (int j = 0; j < 3; j++) {
            double Mx = b[j] * volume;
            for (int k = 0; k < 3; k++)
                Mx += M[j][k] * moment[k];
            want -= q.rho * A[i][j] * Mx;
        }
        worst_d = fmax(worst_d, rt_finite(sum[i]) ? fabs(sum[i] - want) / size : INFINITY);
    }
    rt_verdict_check(t->verdict, name, worst_d,
                     t->s->kernels->tolerance * 0.5 +
                         10 * sqrt(t->p->config->total_nodes) * RT_EPS);
}

static void check_claim(bench_t *t)
{
    if (!t->s->kernels->reproducible)
        return;
    const size_t bytes = 3 * (size_t)t->mesh->nodes * sizeof(double);
    alya_random_field(t->mesh, t->seed + 1, t->u);
    rung_r(t, &t->p->physics, true);
    memcpy(t->want, t->got, bytes);
    rung_r(t, &t->p->physics, true);
    double differ = memcmp(t->want, t->got, bytes) != 0;
    rt_comm_max(&differ, 1);
    rt_verdict_true(t->verdict, "the same bits twice, as it claims", differ == 0);
}

/* --- steps --- */

/* One step of the reference from t->u, into t->u; uses all other arrays, and one more. */
static void oracle_step(const bench_t *t)
{
    static const double scheme[3][3] = {
        {0, 1, 1}, {3. / 4, 1. / 4, 1. / 4}, {1. / 3, 2. / 3, 2. / 3}};
    const size_t values = 3 * (size_t)t->mesh->nodes;
    double *start = RT_NEW(double, values, RT_HOST);
    memcpy(start, t->u, values * sizeof(double));
    for (int i = 0; i < 3; i++) {
        oracle(t, &t->p->physics);
        for (size_t v = 0; v < values; v++)
            t->u[v] = scheme[i][0] * start[v] + scheme[i][1] * t->u[v] +
                      scheme[i][2] * t->p->mass_step[v / 3] * t->want[v];
    }
    RT_FREE(start, RT_HOST);
}

/* The step that led from s->before to s->u, made again by the reference. In three stages an error
 * of r moves u by at most a few times m |r_e| tolerance, and m sum |r_e| is of the order of u
 * itself (Courant number): so some hundred times the tolerance of max |u|. */
static void check_step(const bench_t *t, const char *name)
{
    double both[2] = {0, 0};
    alya_get(t->s, t->s->before, 3, t->u);
    double bad = (double)rt_count_nonfinite(t->u, 3 * (size_t)t->mesh->nodes);
    oracle_step(t);
    alya_get(t->s, t->s->u, t->s->u_stride, t->got);
    bad += (double)rt_count_nonfinite(t->got, 3 * (size_t)t->mesh->nodes);
    for (int64_t v = 0; v < 3 * t->mesh->nodes; v++) {
        both[0] = fmax(both[0], fabs(t->got[v] - t->u[v]));
        both[1] = fmax(both[1], fabs(t->u[v]));
    }
    rt_comm_max(both, 2);
    rt_comm_max(&bad, 1);
    rt_verdict_check(t->verdict, name, bad > 0 ? INFINITY : both[0] / both[1],
                     200 * t->s->kernels->tolerance);
}

/* Few steps are made again from the start: so a step that was left out shows. */
static void check_all(const bench_t *t)
{
    double both[2] = {0, 0};
    const int64_t steps = t->p->config->steps, values = 3 * t->mesh->nodes;
    for (int64_t v = 0; v < values; v++)
        t->u[v] = t->s->factor * t->p->u[v];
    for (int64_t k = 0; k < steps; k++)
        oracle_step(t);
    alya_get(t->s, t->s->u, t->s->u_stride, t->got);
    double bad = (double)rt_count_nonfinite(t->got, (size_t)values);
    for (int64_t v = 0; v < values; v++) {
        both[0] = fmax(both[0], fabs(t->got[v] - t->u[v]));
        both[1] = fmax(both[1], fabs(t->u[v]));
    }
    rt_comm_max(both, 2);
    rt_comm_max(&bad, 1);
    rt_verdict_check(t->verdict, "all steps = the reference's (max |u|)",
                     bad > 0 ? INFINITY : both[0] / both[1],
                     200 * (double)steps * t->s->kernels->tolerance);
}

void alya_verify_before(void *solver, uint64_t seed, rt_verdict_t *verdict)
{
    alya_solver_t *s = solver;
    bench_t t = bench_new(s, seed, verdict);
    check_nodes(&t);
    check_total(&t, false, "constant velocity: sum r = rho f V (sum of magnitudes)");
    check_total(&t, true, "linear velocity: sum r = rho (f - A (M x_c + b)) V");
    check_claim(&t);
    if (t.p->config->steps > 0) {
        alya_spoil(s);
        alya_step(s);
        check_step(&t, "one step = the reference's (max |u|)");
    }
    bench_destroy(&t);
}

void alya_verify_after(void *solver, rt_verdict_t *verdict)
{
    alya_solver_t *s = solver;
    bench_t t = bench_new(s, 0, verdict);
    if (t.p->config->steps > 0) {
        check_step(&t, "last step = the reference's (max |u|)");
        if (t.p->config->steps <= 8)
            check_all(&t);
    } else {
        for (int64_t v = 0; v < 3 * t.mesh->nodes; v++)
            t.u[v] = s->factor * t.p->u[v];
        oracle(&t, &s->physics);
        alya_get(s, s->r, s->kernels->r_stride, t.got);
        rt_verdict_check(verdict, "r left behind = quadrature, node by node (sum |r_e|)", worst(&t),
                         s->kernels->tolerance);
    }
    bench_destroy(&t);
}
