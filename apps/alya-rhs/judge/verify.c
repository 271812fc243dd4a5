/*
 * verify.c - what a rung must show before its time counts.
 *
 * Before timing, on velocities and physics drawn from a seed that no rung can know: r against the
 * quadrature reference, node by node, for the run's physics and for one of another convective form,
 * density, viscosity, force and filter; the total force of a constant velocity; the total momentum
 * of a linear one, whose integral is known in closed form; the same bits twice where a rung claims
 * it. After timing: what the last solve left behind, for the velocity of that solve alone: its last
 * r everywhere, that of earlier assemblies at some nodes, and how many there were. Of steps: the
 * last one, made again by the reference; all of them if they are few; else a replay by the rung, in
 * which every assembly is judged at some nodes, and which must end where the timed run ended.
 *
 * Bounds. A value of r_e is made of a few dozen sums and products of the terms force, convection
 * and viscosity; its rounding error is at most STEPS eps times the sum of the magnitudes of all
 * that is added (`size[1]`). STEPS = 96, counted from the longest way through the baseline, 1 for
 * e, 2 + 3 + 1 for cofactors, det and gradients, 4 for u at a Gauss point, 3 for u . grad N, 3 for
 * the factors, 20 for the sum that is a matrix element, 13 for its row: 50; and through the
 * reference: 7 for gradients, 4 for J, 5 for A, 3 for the factors, 24 for the sum over Gauss
 * points, 3 for what is left of mu_t: 46. The paper's own measure is sum |r_e| over the node's
 * elements (`size[0]`): 1e-13 of it must do unless terms cancel, in elements that are thin, or
 * where the velocity is smooth and the baseline multiplies u and not its differences: on the hill,
 * |u| is up to a hundred times |u_k - u_0|. max |r| is no measure: it is dominated by the largest
 * cells and hides errors. Errors are mostly a random walk, and come to a hundredth of the bound.
 * This file is compiled with -fno-fast-math.
 */
#include "config.h"
#include "../alya.h"
#include <math.h>
#include <string.h>

enum { STEPS = 96 };

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

/* |got - want| of a node over what its elements allow, in units of the tolerance. */
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

/* The largest of all nodes. */
static double worst(const bench_t *t)
{
    double most = 0;
    for (int64_t n = 0; n < t->mesh->nodes; n++)
        most = fmax(most, node_error(t->got + 3 * n, t->want + 3 * n, t->size + 2 * n));
    rt_comm_max(&most, 1);
    return most;
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
 * The sums here lose nothing, so they are as exact as r itself: STEPS eps is less than half the
 * tolerance.
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
    rt_verdict_check(t->verdict, name, worst_d, t->s->kernels->tolerance / 2);
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

/* Largest |got - want| over the largest |want|; NaN counts as infinite. */
static double velocity_error(const bench_t *t, const double *got, const double *want)
{
    const size_t values = 3 * (size_t)t->mesh->nodes;
    double most[3] = {0, 0, (double)(rt_count_nonfinite(got, values))};
    most[2] += (double)rt_count_nonfinite(want, values);
    for (size_t v = 0; v < values; v++) {
        most[0] = fmax(most[0], fabs(got[v] - want[v]));
        most[1] = fmax(most[1], fabs(want[v]));
    }
    rt_comm_max(most, 3);
    return most[2] > 0 ? INFINITY : most[0] / most[1];
}

/* What a step may do to u, of max |u|: in three stages an error of r moves u by at most a few times
 * m |r_e| tolerance, and m sum |r_e| is of the order of u itself (Courant number): so some hundred
 * times the tolerance. */
static double step_bound(const bench_t *t)
{
    return 200 * t->s->kernels->tolerance;
}

/* The step that led from s->before to s->u, made again by the reference. */
static void check_step(const bench_t *t, const char *name)
{
    alya_get(t->s, t->s->before, 3, t->u);
    oracle_step(t);
    alya_get(t->s, t->s->u, t->s->u_stride, t->got);
    rt_verdict_check(t->verdict, name, velocity_error(t, t->got, t->u), step_bound(t));
}

/* Few steps are made again from the start: so a step that was left out shows. */
static void check_all(const bench_t *t)
{
    const int64_t steps = t->p->config->steps;
    for (int64_t v = 0; v < 3 * t->mesh->nodes; v++)
        t->u[v] = t->s->factor * t->p->u[v];
    for (int64_t k = 0; k < steps; k++)
        oracle_step(t);
    alya_get(t->s, t->s->u, t->s->u_stride, t->got);
    rt_verdict_check(t->verdict, "all steps = the reference's (max |u|)",
                     velocity_error(t, t->got, t->u), (double)steps * step_bound(t));
}

/* --- many steps --- */

enum { PICKS = 8, MOST_AROUND = ALYA_WATCHED * ALYA_WITNESSES };

/* The elements around a few nodes, as a mesh of its own; its first `picks` nodes are those. */
typedef struct {
    const bench_t *t;
    alya_mesh_t mesh;
    alya_schedule_t *schedule;
    int picks;
    int64_t *node; /* [mesh.nodes] number in the whole mesh */
    double *u, *want, *size;
    double worst;
} patch_t;

static void patch_destroy(patch_t *patch)
{
    alya_schedule_destroy(patch->schedule);
    RT_FREE(patch->mesh.connectivity, RT_HOST);
    RT_FREE(patch->mesh.x, RT_HOST);
    RT_FREE(patch->node, RT_HOST);
    RT_FREE(patch->u, RT_HOST);
    RT_FREE(patch->want, RT_HOST);
    RT_FREE(patch->size, RT_HOST);
}

/* Numbers up to `picks` nodes that no other rank or image has, at random, from 0 on. */
static void pick_nodes(patch_t *patch, int picks, int32_t *local)
{
    const alya_mesh_t *mesh = patch->t->mesh;
    const uint64_t seed = rt_hash(patch->t->s->solves, (uint64_t)patch->t->p->run->opt.seed + 96);
    patch->picks = 0;
    for (uint64_t i = 0; patch->picks < picks && i < 64 * (uint64_t)picks; i++) {
        const int64_t n = (int64_t)(rt_hash(i, seed) % (uint64_t)mesh->nodes);
        if (local[n] < 0 && !(mesh->flags[n] & ALYA_SHARED)) {
            patch->node[patch->picks] = n;
            local[n] = patch->picks++;
        }
    }
}

/* Takes all elements that have a picked node; false: they have too many nodes. */
static bool gather_elements(patch_t *patch, int32_t *local)
{
    const alya_mesh_t *mesh = patch->t->mesh;
    alya_mesh_t *part = &patch->mesh;
    part->nodes = patch->picks;
    part->elements = 0;
    for (int64_t e = 0; e < mesh->elements; e++) {
        const int32_t *node = mesh->connectivity + 4 * e;
        bool touches = false;
        for (int a = 0; a < 4; a++)
            touches = touches || (local[node[a]] >= 0 && local[node[a]] < patch->picks);
        if (!touches)
            continue;
        if (part->elements == 2 * MOST_AROUND || part->nodes + 4 > MOST_AROUND)
            return false;
        for (int a = 0; a < 4; a++) {
            if (local[node[a]] < 0) {
                patch->node[part->nodes] = node[a];
                local[node[a]] = (int32_t)part->nodes++;
            }
            part->connectivity[4 * part->elements + a] = local[node[a]];
        }
        part->elements++;
    }
    return true;
}

static void patch_new(const bench_t *t, patch_t *patch)
{
    const size_t nodes = (size_t)t->mesh->nodes;
    *patch = (patch_t){.t = t};
    patch->mesh.connectivity = RT_NEW(int32_t, 8 * MOST_AROUND, RT_HOST);
    patch->mesh.x = RT_NEW(double, 3 * MOST_AROUND, RT_HOST);
    patch->node = RT_NEW(int64_t, MOST_AROUND, RT_HOST);
    patch->u = RT_NEW(double, 3 * MOST_AROUND, RT_HOST);
    patch->want = RT_NEW(double, 3 * MOST_AROUND, RT_HOST);
    patch->size = RT_NEW(double, 2 * MOST_AROUND, RT_HOST);
    int32_t *local = RT_NEW(int32_t, nodes, RT_HOST);
    int picks = PICKS;
    do { /* a node of a poor mesh can have hundreds of neighbours: then fewer nodes */
        memset(local, 0xff, nodes * sizeof *local);
        pick_nodes(patch, picks, local);
        picks /= 2;
    } while (!gather_elements(patch, local));
    RT_FREE(local, RT_HOST);
    for (int64_t n = 0; n < patch->mesh.nodes; n++)
        memcpy(patch->mesh.x + 3 * n, t->mesh->x + 3 * patch->node[n], 3 * sizeof(double));
    patch->schedule = alya_schedule_new(&patch->mesh, ALYA_CHUNK);
}

/* `count` nodes of the patch from a field of the rung's; from a GPU through the witnesses. */
static void patch_get(patch_t *patch, const double *field, int stride, int64_t count)
{
    const alya_solver_t *s = patch->t->s;
    for (int64_t n = 0; n < count; n++) {
        const double *from = field + patch->node[n] * stride;
        if (s->space == RT_HOST)
            memcpy(patch->u + 3 * n, from, 3 * sizeof *from);
        else
            s->vector->scale(1, 1, from, stride, s->witness + 3 * n, 3);
    }
    if (s->space != RT_HOST)
        rt_copy(patch->u, RT_HOST, s->witness, s->space, 3 * (size_t)count * sizeof(double));
}

/* Before an assembly: what the patch should give; and nothing of the last r is left to be taken for
 * it. After it: did it? */
static void look(alya_solver_t *s, bool is_done)
{
    patch_t *patch = s->look_data;
    if (is_done) {
        patch_get(patch, s->r, s->kernels->r_stride, patch->picks);
        for (int n = 0; n < patch->picks; n++)
            patch->worst = fmax(patch->worst, node_error(patch->u + 3 * n, patch->want + 3 * n,
                                                         patch->size + 2 * n));
        return;
    }
    patch_get(patch, s->u, s->u_stride, patch->mesh.nodes);
    alya_reference_assemble(&patch->mesh, patch->schedule, &s->physics, patch->u, patch->want,
                            patch->size);
    rt_fill(s->r, s->space, 0xff,
            (size_t)s->view.nodes * (size_t)s->kernels->r_stride * sizeof(double));
}

/* The rung's steps once more, from a velocity that differs by 1e-9: where they end, to t->u. */
static const double change = 1e-9;
static void disturbed_steps(const bench_t *t)
{
    alya_solver_t *s = t->s;
    alya_random_field(t->mesh, s->solves, t->u);
    for (int64_t v = 0; v < 3 * t->mesh->nodes; v++)
        t->u[v] = s->factor * t->p->u[v] * (1 + change * t->u[v]);
    alya_put_velocity(s, t->u);
    for (int64_t k = 0; k < t->p->config->steps; k++)
        alya_step(s);
    alya_get(s, s->u, s->u_stride, t->u);
}

/*
 * The reference is too slow for many steps, and the last one shows nothing of those before it. So
 * the rung makes them again, untimed, and every assembly is judged at nodes that it cannot know;
 * then the timed run must have ended at the same velocity. A rung whose bits are always the same
 * has no excuse; another may differ by what the steps make of its rounding errors, which is
 * measured. Not shown: that no element is missing which touches none of those nodes, in a step
 * other than the last, if it is missing in the replay as in the timed run.
 */
static void check_replay(bench_t *t)
{
    alya_solver_t *s = t->s;
    patch_t patch;
    double *timed = t->want;
    alya_get(s, s->u, s->u_stride, timed);
    if (!s->kernels->reproducible)
        disturbed_steps(t);
    patch_new(t, &patch);
    s->vector->scale(s->view.nodes, s->factor, s->u0, 3, s->u, s->u_stride);
    s->look_data = &patch;
    s->look = look;
    for (int64_t k = 0; k < t->p->config->steps; k++)
        alya_step(s);
    s->look = NULL;
    rt_comm_max(&patch.worst, 1);
    rt_verdict_check(t->verdict,
                     "every assembly of a replay = quadrature at some nodes (sum |r_e|)",
                     patch.worst, s->kernels->tolerance);
    alya_get(s, s->u, s->u_stride, t->got);
    const double error = velocity_error(t, timed, t->got);
    if (s->kernels->reproducible)
        rt_verdict_true(t->verdict, "the timed steps end where the replay does, bit for bit",
                        error == 0);
    else
        rt_verdict_check(t->verdict, "the timed steps end where the replay does (max |u|)", error,
                         (double)t->p->config->steps * step_bound(t) *
                             fmax(1, velocity_error(t, t->u, t->got) / change));
    patch_destroy(&patch);
}

/* --- assemblies --- */

/* The last r everywhere, and that of the watched assemblies where it was kept: two at random of the
 * earlier ones, so all of them if three were asked. Keeping more would show in small runs. */
static void check_assemblies(bench_t *t)
{
    alya_solver_t *s = t->s;
    for (int64_t v = 0; v < 3 * t->mesh->nodes; v++)
        t->u[v] = s->factor * t->p->u[v];
    oracle(t, &s->physics);
    alya_get(s, s->r, s->kernels->r_stride, t->got);
    rt_verdict_check(t->verdict, "r left behind = quadrature, node by node (sum |r_e|)", worst(t),
                     s->kernels->tolerance);
    const size_t values = (size_t)3 * ALYA_WATCHED * ALYA_WITNESSES;
    double *kept = RT_NEW(double, values, RT_HOST), most = 0;
    rt_copy(kept, RT_HOST, s->witness, s->space, values * sizeof(double));
    for (int w = 0; w < ALYA_WATCHED; w++) {
        alya_physics_t physics = s->physics;
        if (s->watched[w] < 0)
            continue;
        physics.rho = alya_density(s, s->watched[w]);
        oracle(t, &physics);
        for (int64_t i = 0; i < s->witnesses; i++) {
            const int64_t n = s->first_witness + i * s->jump;
            most = fmax(most, node_error(kept + 3 * (w * ALYA_WITNESSES + i), t->want + 3 * n,
                                         t->size + 2 * n));
        }
    }
    RT_FREE(kept, RT_HOST);
    rt_comm_max(&most, 1);
    if (s->watched[0] >= 0)
        rt_verdict_check(t->verdict, "r of earlier assemblies, at some nodes (sum |r_e|)", most,
                         s->kernels->tolerance);
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
    const int64_t steps = t.p->config->steps;
    rt_verdict_true(verdict, "as many assemblies as asked",
                    s->assembled == (steps > 0 ? 3 * steps : t.p->config->assemblies));
    if (steps == 0) {
        check_assemblies(&t);
    } else {
        check_step(&t, "last step = the reference's (max |u|)");
        if (steps <= 8)
            check_all(&t);
        else
            check_replay(&t);
    }
    bench_destroy(&t);
}
