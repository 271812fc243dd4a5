/*
 * verify.c - what a rung must show before its time counts.
 *
 * Before timing, on data drawn from a seed that no rung can know:
 *   each kernel against the reference, point by point, in units of the rounding error that the
 *   kernel's own sums allow; symmetry and positivity of the assembled operator; constants in the
 *   null space of the element operator; the diagonal that preconditions, against e.Ae of points e;
 *   a short solve with another right-hand side and number of iterations, and the same again with
 *   another number of threads.
 * After timing, on what the timed run left behind:
 *   the true residual b - A x recomputed by the reference operator, x itself, and the residual
 *   history, against the reference CG at the same iteration; and the residual that the recurrence
 *   left behind against b - A x, which holds however chaotic the recurrence has become.
 *
 * Bounds. A sum of K products has a rounding error of at most K eps times the sum of the absolute
 * products. One value of w = D^T G D u passes through n + 3 + 3n additions and 4 products, so a
 * kernel and the reference differ by at most 2 (4n + 8) eps |D^T| |G| |D| |u|, whatever the order
 * of their sums. In CG each step adds an error of that size relative to |r|, amplified by at most
 * sqrt(kappa) along the recurrence, and those of two inner products; kappa = eigen_max / eigen_min
 * comes from the reference's own Lanczos coefficients. This file is compiled with -fno-fast-math.
 *
 * With --precond jacobi, d = diag(A), CG is that of d^-1/2 A d^-1/2 on d^-1/2 r: the Lanczos
 * coefficients are of this matrix, and the recurrence amplifies by the root of its kappa. From
 * there to norms of r itself and back costs at most (d_max / d_min)^1/2; |A| is at most d_max times
 * its norm, and |A^-1| at most 1 / d_min times that of its inverse. Without a preconditioner d is
 * 1. z = r / d adds one rounding a value to the dozens of an operator application.
 */
#include "config.h"
#include "../nekbone.h"
#include "base/threads.h"
#include <math.h>
#include <string.h>

/* Additions and products that one value of the operator passes through. */
static double rounding_steps(int n)
{
    return 4 * n + 8;
}

/* --- the oracle: the reference kernels on the problem's host arrays --- */

/* w = A u by the reference; returns u.w. */
static double oracle_apply(const nek_problem_t *p, const double *u, double *w)
{
    nek_mesh_t mesh = p->mesh;
    mesh.partial = RT_NEW(double, (size_t)nek_vector_cpu.partial_size(mesh.points), RT_HOST);
    nek_reference.ax(&mesh, u, w);
    if (p->halo) {
        rt_field_t field = rt_field_f64(w);
        rt_halo_do(p->halo, RT_HALO_SUM, &field);
    }
    double sum = nek_vector_cpu.shift(&mesh, p->config->lambda, u, w);
    rt_comm_sum(&sum, 1);
    RT_FREE(mesh.partial, RT_HOST);
    return sum;
}

static double oracle_dot(const nek_problem_t *p, const double *u, const double *v)
{
    nek_mesh_t mesh = p->mesh;
    mesh.partial = RT_NEW(double, (size_t)nek_vector_cpu.partial_size(mesh.points), RT_HOST);
    double sum = nek_vector_cpu.dot(&mesh, u, v);
    rt_comm_sum(&sum, 1);
    RT_FREE(mesh.partial, RT_HOST);
    return sum;
}

/* size = |D^T| |G| |D| |u|, element by element: the magnitude that rounding errors scale with. */
static void operator_size(const nek_problem_t *p, const double *u, double *size)
{
    int n = p->mesh.n, n3 = n * n * n;
    double D[NEK_MAX_N * NEK_MAX_N];
    for (int q = 0; q < n * n; q++)
        D[q] = fabs(p->D[q]);
#pragma omp parallel
    {
        static _Thread_local double G[6 * NEK_MAX_N3], a[NEK_MAX_N3];
        nek_mesh_t one = {.n = n, .elements = 1, .points = n3, .D = D, .G = G};
#pragma omp for schedule(static)
        for (int64_t e = 0; e < p->mesh.elements; e++) {
            for (int q = 0; q < 6 * n3; q++)
                G[q] = fabs(p->G[e * 6 * n3 + q]);
            for (int q = 0; q < n3; q++)
                a[q] = fabs(u[e * n3 + q]);
            nek_reference.ax(&one, a, size + e * n3);
        }
    }
}

/* Largest |got - want| / (eps size) over all ranks; infinite if a value is not finite, or differs
 * where nothing was to be added. */
static double worst(int64_t points, const double *got, const double *want, const double *size)
{
    double most = 0, bad = (double)rt_count_nonfinite(got, (size_t)points);
    for (int64_t q = 0; q < points; q++) {
        double d = fabs(got[q] - want[q]);
        if (d > 0)
            most = fmax(most, size[q] > 0 ? d / (RT_EPS * size[q]) : INFINITY);
    }
    double both[2] = {most, bad};
    rt_comm_max(both, 2);
    return both[1] > 0 ? INFINITY : both[0];
}

/* --- host arrays of the checks, and the way to and from the rung's space --- */

typedef struct {
    nek_solver_t *s;
    nek_problem_t *p;
    int64_t points;
    double *u, *want, *size, *got;
    rt_verdict_t *verdict;
    uint64_t seed;
} bench_t;

static void put(const bench_t *t, const double *host, double *array)
{
    rt_copy(array, t->s->space, host, RT_HOST, (size_t)t->points * sizeof(double));
}

static void get(const bench_t *t, const double *array, double *host)
{
    rt_copy(host, RT_HOST, array, t->s->space, (size_t)t->points * sizeof(double));
}

static void poison(const bench_t *t, double *array)
{
    rt_fill(array, t->s->space, 0xff, (size_t)t->points * sizeof(double));
}

/* Relative difference of two sums whose terms have magnitude `size` in all, in units of eps. */
static double sum_error(double got, double want, double size)
{
    return got == want ? 0 : fabs(got - want) / (RT_EPS * size);
}

/* Rounding error of an inner product, in units of eps times the sum of the absolute terms. A sum in
 * blocks or a tree passes a term through a few dozen additions. The plainest loop, one addition
 * after the other, has K errors of up to eps times a partial sum that grows to the whole: a random
 * walk with standard deviation sqrt(K) / 3. Three of these, and ten times that, since an honest
 * program shall not come near. Single precision is off by 5e8. */
static double sum_steps(const nek_config_t *cfg)
{
    return 64 + 10 * sqrt((double)cfg->points * rt_comm_size());
}

/* The rung's w_e = D^T G D u_e of t->u against t->want, point by point. */
static void compare_operator(bench_t *t, const char *name)
{
    operator_size(t->p, t->u, t->size);
    put(t, t->u, t->s->p);
    poison(t, t->s->w);
    t->s->kernels->ax(&t->s->mesh, t->s->p, t->s->w);
    get(t, t->s->w, t->got);
    rt_verdict_check(t->verdict, name, worst(t->points, t->got, t->want, t->size),
                     2 * rounding_steps(t->p->mesh.n));
}

static void check_operator(bench_t *t)
{
    /* a field with jumps between elements, so that a value from the wrong element shows */
    for (int64_t q = 0; q < t->points; q++)
        t->u[q] = rt_random((uint64_t)q, t->seed);
    nek_reference.ax(&t->p->mesh, t->u, t->want);
    compare_operator(t, "operator = reference, point by point (eps |D'||G||D||u|)");

    /* constants: before mask and lambda they are the null space of every element */
    for (int64_t q = 0; q < t->points; q++) {
        t->u[q] = 1;
        t->want[q] = 0;
    }
    compare_operator(t, "constants in the null space (eps |D'||G||D| 1)");
}

/* Q Q^T |D^T| |G| |D| |u| + lambda |u| */
static void assembled_size(const bench_t *t, const double *u, double *size)
{
    const nek_problem_t *p = t->p;
    operator_size(p, u, size);
    if (p->halo) {
        rt_field_t field = rt_field_f64(size);
        rt_halo_do(p->halo, RT_HALO_SUM, &field);
    }
    for (int64_t q = 0; q < t->points; q++)
        size[q] += fabs(p->config->lambda * u[q]);
}

/* A = M (Q Q^T D^T G D + lambda) with its inner product; symmetric and positive. */
static void check_assembled(bench_t *t)
{
    nek_problem_t *p = t->p;
    nek_solver_t *s = t->s;
    double *x = t->u, *y = t->size; /* size is needed only in the first half */
    nek_random_field(p->config, t->seed + 1, x);
    double want = oracle_apply(p, x, t->want), total = 0;
    assembled_size(t, x, t->size);
    for (int64_t q = 0; q < t->points; q++)
        total += p->c[q] * t->size[q] * fabs(x[q]);
    rt_comm_sum(&total, 1);
    put(t, x, s->p);
    poison(t, s->w);
    double xAx = nek_apply(s, s->p, s->w);
    get(t, s->w, t->got);
    rt_verdict_check(t->verdict, "assembled operator = reference, point by point (eps size)",
                     worst(t->points, t->got, t->want, t->size),
                     2 * rounding_steps(p->mesh.n) + 16);
    rt_verdict_check(t->verdict, "x.Ax = reference (eps sum |terms|)", sum_error(xAx, want, total),
                     2 * rounding_steps(p->mesh.n) + sum_steps(p->config));
    rt_verdict_true(t->verdict, "A positive", xAx > 0);

    nek_random_field(p->config, t->seed + 2, y);
    double yAx = oracle_dot(p, y, t->got);
    put(t, y, s->p);
    poison(t, s->w);
    nek_apply(s, s->p, s->w);
    get(t, s->w, t->got);
    double xAy = oracle_dot(p, x, t->got);
    double scale = sqrt(oracle_dot(p, x, x)) * sqrt(oracle_dot(p, t->got, t->got));
    rt_verdict_check(t->verdict, "A symmetric: |x.Ay - y.Ax| (eps |x||Ay|)",
                     sum_error(xAy, yAx, scale), 16);
}

/*
 * The diagonal in force against the reference operator. e is 1 at the points of the mesh whose
 * global coordinates are those of one point modulo 2 degree, so that no two of them are in one
 * element, and e.Ae of each is found with one application. One point is drawn for each way to lie
 * inside an element, on a face, an edge, a corner between elements: the factors rs, rt, st come in
 * only there.
 */
static void check_diagonal(bench_t *t)
{
    const nek_config_t *cfg = t->p->config;
    const int64_t m = cfg->degree, n3 = (int64_t)cfg->n * cfg->n * cfg->n;
    const int64_t extent[3] = {cfg->elements[0] * m + 1, cfg->elements[1] * m + 1,
                               cfg->elements[2] * m + 1};
    double most = 0;
    rt_verdict_true(t->verdict, "the rung has a diagonal", t->s->mesh.inverse != NULL);
    if (!t->s->mesh.inverse)
        return;
    for (int way = 0; way < 8; way++) {
        int64_t at[3];
        for (int d = 0; d < 3; d++) {
            const uint64_t draw = rt_hash((uint64_t)(8 * way + d), t->seed + 8);
            const bool between = way >> d & 1 && cfg->elements[d] > 1;
            at[d] = between ? m * (1 + (int64_t)(draw % (uint64_t)(cfg->elements[d] - 1)))
                            : 1 + (int64_t)(draw % (uint64_t)(extent[d] - 2));
        }
        for (int64_t q = 0; q < t->points; q++) {
            const int in = (int)(q % n3), n = cfg->n;
            const int64_t g = nek_global_index(cfg, q / n3, in % n, in / n % n, in / (n * n));
            const int64_t here[3] = {g % extent[0], g / extent[0] % extent[1],
                                     g / (extent[0] * extent[1])};
            bool chosen = t->p->c[q] != 0;
            for (int d = 0; d < 3; d++)
                chosen = chosen && (here[d] - at[d]) % (2 * m) == 0;
            t->u[q] = chosen;
        }
        oracle_apply(t->p, t->u, t->want);
        assembled_size(t, t->u, t->size);
        get(t, t->s->mesh.inverse, t->got);
        for (int64_t q = 0; q < t->points; q++) {
            const double diag = 1 / t->got[q];
            t->got[q] = t->u[q] != 0 ? diag : 0;
            t->want[q] = t->u[q] != 0 ? t->want[q] : 0;
        }
        most = fmax(most, worst(t->points, t->got, t->want, t->size));
    }
    rt_verdict_check(t->verdict, "diagonal = e.Ae of points e (eps size)", most,
                     2 * rounding_steps(cfg->n) + 16);
}

/* The vector work: p = r + beta p; x += alpha p, r -= alpha w, r.r; with a preconditioner z =
 * r / diag(A) for the first r, and r.z.
 *
 * r + beta p is one product and one sum, each rounded once: an error of at most
 * eps |beta p| + eps |r + beta p| <= 2 eps (|r| + |beta p|), less if they are fused. Two honest
 * programs, one fused and one not, so come to 2 of these units (and do). VECTOR_STEPS is what a
 * kernel may use up in all: sixteen such updates, as if r or x were formed in pieces. One value in
 * single precision is off by 5e8 units, a coefficient off in its 13th digit by hundreds. */
enum { VECTOR_STEPS = 32 };

static void check_vectors(bench_t *t)
{
    nek_problem_t *p = t->p;
    nek_solver_t *s = t->s;
    const double *inverse = p->inverse;
    double beta = rt_random(1, t->seed), alpha = rt_random(2, t->seed);
    double total[2] = {0, 0}, want[2], sum[2];

    nek_random_field(p->config, t->seed + 3, t->u);   /* p */
    nek_random_field(p->config, t->seed + 4, t->got); /* r */
    put(t, t->u, s->p);
    put(t, t->got, s->r);
    for (int64_t q = 0; q < t->points; q++) {
        const double z = inverse ? inverse[q] * t->got[q] : t->got[q];
        t->want[q] = z + beta * t->u[q];
        t->size[q] = fabs(z) + fabs(beta * t->u[q]);
    }
    nek_update_p(s, beta, s->r, s->p);
    get(t, s->p, t->got);
    rt_verdict_check(t->verdict,
                     inverse ? "p = z + beta p (eps size)" : "p = r + beta p (eps size)",
                     worst(t->points, t->got, t->want, t->size), VECTOR_STEPS);

    nek_random_field(p->config, t->seed + 5, t->got); /* x, while r is still in s->r */
    put(t, t->u, s->p);
    put(t, t->u, s->w);
    put(t, t->got, s->x);
    for (int64_t q = 0; q < t->points; q++) {
        t->want[q] = t->got[q] + alpha * t->u[q];
        t->size[q] = fabs(t->got[q]) + fabs(alpha * t->u[q]);
    }
    nek_random_field(p->config, t->seed + 6, t->got); /* w */
    put(t, t->got, s->w);
    nek_update_xr(s, alpha, s->p, s->w, s->x, s->r, sum);
    get(t, s->x, t->got);
    double x_error = worst(t->points, t->got, t->want, t->size);

    nek_random_field(p->config, t->seed + 4, t->u);
    nek_random_field(p->config, t->seed + 6, t->got);
    for (int64_t q = 0; q < t->points; q++) {
        t->want[q] = t->u[q] - alpha * t->got[q];
        t->size[q] = fabs(t->u[q]) + fabs(alpha * t->got[q]);
        const double square = p->c[q] * t->size[q] * t->size[q];
        total[0] += square;
        total[1] += inverse ? inverse[q] * square : square;
    }
    want[0] = oracle_dot(p, t->want, t->want);
    rt_comm_sum(total, 2);
    get(t, s->r, t->got);
    rt_verdict_check(t->verdict, "x += alpha p, r -= alpha w (eps size)",
                     fmax(x_error, worst(t->points, t->got, t->want, t->size)), VECTOR_STEPS);
    rt_verdict_check(t->verdict, "r.r = reference (eps sum |terms|)",
                     sum_error(sum[0], want[0], total[0]), 8 + sum_steps(p->config));
    if (!inverse)
        return;
    for (int64_t q = 0; q < t->points; q++)
        t->got[q] = inverse[q] * t->want[q];
    want[1] = oracle_dot(p, t->want, t->got);
    rt_verdict_check(t->verdict, "r.z = reference (eps sum |terms|)",
                     sum_error(sum[1], want[1], total[1]), 8 + sum_steps(p->config));
}

/* --- the solve --- */

/* Number of eigenvalues below x of the symmetric tridiagonal matrix (d, off). */
static int sturm_count(int m, const double *d, const double *off, double x)
{
    int count = 0;
    double q = 1;
    for (int i = 0; i < m; i++) {
        q = d[i] - x - (i > 0 ? off[i - 1] * off[i - 1] / q : 0);
        if (q == 0)
            q = 1e-300;
        count += q < 0;
    }
    return count;
}

/* CG is Lanczos: its coefficients are a tridiagonal matrix whose extreme eigenvalues are estimates
 * of those of A, from inside. */
static void ritz_values(const nek_solver_t *s, double *least, double *most)
{
    int m = 0, capacity = s->iterations;
    double *d = RT_NEW(double, (size_t)capacity, RT_HOST), top = 0;
    double *off = RT_NEW(double, (size_t)capacity, RT_HOST);
    for (; m < capacity && s->alpha[m] > 0 && (m == 0 || s->beta[m] > 0); m++) {
        d[m] = 1 / s->alpha[m] + (m > 0 ? s->beta[m] / s->alpha[m - 1] : 0);
        if (m > 0)
            off[m - 1] = sqrt(s->beta[m]) / s->alpha[m - 1];
        top = fmax(top, 4 * d[m]); /* Gershgorin would be sharper and is not needed */
    }
    double bounds[2];
    for (int end = 0; end < 2; end++) {
        double low = 0, high = top;
        int target = end == 0 ? 1 : m;
        for (int step = 0; step < 100; step++) {
            double mid = (low + high) / 2;
            if (sturm_count(m, d, off, mid) >= target)
                high = mid;
            else
                low = mid;
        }
        bounds[end] = high;
    }
    *least = m > 0 ? bounds[0] : 1;
    *most = m > 0 ? bounds[1] : 1;
    RT_FREE(d, RT_HOST);
    RT_FREE(off, RT_HOST);
}

/* |b - A x| by the reference operator, x on the host; w is scratch. */
static double true_residual(const nek_problem_t *p, const double *b, const double *x, double *w)
{
    oracle_apply(p, x, w);
    for (int64_t q = 0; q < p->mesh.points; q++)
        w[q] = b[q] - w[q];
    return sqrt(oracle_dot(p, w, w));
}

static const rt_rung_t reference_rung = {.name = "reference",
                                         .kind = RT_CPU,
                                         .after = "",
                                         .idea = "the oracle",
                                         .kernels = &nek_reference.rung};

void nek_reference_solve(nek_problem_t *p)
{
    if (p->x_ref)
        return;
    size_t points = (size_t)p->mesh.points, iterations = (size_t)p->config->iterations;
    p->x_ref = RT_NEW(double, points, RT_HOST);
    p->history_ref = RT_NEW(double, iterations + 1, RT_HOST);
    nek_solver_t *s = nek_solver_new(p, &reference_rung);
    nek_solve(s);
    memcpy(p->x_ref, s->x, points * sizeof(double));
    memcpy(p->history_ref, s->history, (iterations + 1) * sizeof(double));
    ritz_values(s, &p->eigen_min, &p->eigen_max);
    p->residual_ref = true_residual(p, p->b, s->x, s->w);
    nek_solver_destroy(s);
}

/* First-order growth of rounding errors over k steps of CG, relative to |r|: one operator and two
 * inner products a step. */
static double step_bound(const nek_problem_t *p, int k)
{
    double kappa = fmax(p->eigen_max / p->eigen_min, 1e3);
    double step = rounding_steps(p->mesh.n) * sqrt(kappa) + 2 * sum_steps(p->config);
    return (k + 1) * step * RT_EPS * sqrt(p->diag_max / p->diag_min);
}

/* Inner products of the reference, each off by a random relative error of the size that the
 * plainest honest sum may have. */
static struct {
    double size;
    uint64_t calls;
} nudge;

static double nudged(double sum)
{
    return sum * (1 + nudge.size * rt_random(nudge.calls++, 0));
}

static double nudged_shift(const nek_mesh_t *m, double lambda, const double *p, double *w)
{
    return nudged(nek_vector_cpu.shift(m, lambda, p, w));
}

static double nudged_update_xr(const nek_mesh_t *m, double alpha, const double *p, const double *w,
                               double *x, double *r)
{
    return nudged(nek_vector_cpu.update_xr(m, alpha, p, w, x, r));
}

static void nudged_update_xr_z(const nek_mesh_t *m, double alpha, const double *p, const double *w,
                               double *x, double *r, double sum[2])
{
    nek_vector_cpu.update_xr_z(m, alpha, p, w, x, r, sum);
    sum[0] = nudged(sum[0]);
    sum[1] = nudged(sum[1]);
}

/* |x - want| / |want|; x is overwritten. */
static double relative_difference(const nek_problem_t *p, double *x, const double *want)
{
    for (int64_t q = 0; q < p->mesh.points; q++)
        x[q] -= want[q];
    return sqrt(oracle_dot(p, x, x) / oracle_dot(p, want, want));
}

/* The sensitivity is one sample of errors that two runs have drawn at random, at an iteration
 * where they may happen to cancel: what may move is this many times larger. */
enum { SAMPLE = 100 };

/* A reference solve with such inner products. */
static void nudged_solve(nek_solver_t *s)
{
    nek_vector_t vector = nek_vector_cpu;
    vector.shift = nudged_shift;
    vector.update_xr = nudged_update_xr;
    vector.update_xr_z = nudged_update_xr_z;
    const nek_kernels_t kernels = {.ax = nek_reference.ax, .vector = &vector}, *own = s->kernels;
    nudge.size = sum_steps(s->problem->config) * RT_EPS;
    nudge.calls = (uint64_t)rt_comm_rank() << 32;
    s->kernels = &kernels;
    nek_solve(s);
    s->kernels = own;
}

/* moves[k] = largest relative change of the residual norm up to iteration k. */
static void find_moves(int iterations, const double *h, const double *want, double *moves)
{
    double most = 0;
    for (int k = 0; k <= iterations; k++) {
        double change = fabs(h[k] - want[k]);
        if (change > 0)
            most = fmax(most, want[k] > 0 ? change / want[k] : 1);
        moves[k] = most;
    }
}

/* How far the reference itself moves when its inner products are off by their rounding error: the
 * largest relative change of the residual history up to each iteration, and last, as number
 * iterations + 1, the relative change of x. While the Krylov space is orthogonal to working
 * precision this is a few times that error. Once an eigenvalue has been found to half the digits
 * (Paige) the iteration amplifies any error, and beyond that two honest programs differ visibly.
 * That costs a second reference solve, so it is made only for a result that is not well within the
 * plain bounds. */
static const double *sensitivity(nek_problem_t *p)
{
    if (p->sensitivity)
        return p->sensitivity;
    size_t iterations = (size_t)p->config->iterations;
    p->sensitivity = RT_NEW(double, iterations + 2, RT_HOST);
    nek_solver_t *s = nek_solver_new(p, &reference_rung);
    nudged_solve(s);
    find_moves((int)iterations, s->history, p->history_ref, p->sensitivity);
    p->sensitivity[iterations + 1] = relative_difference(p, s->x, p->x_ref);
    nek_solver_destroy(s);
    return p->sensitivity;
}

/* Worst |h - want| over its bound on any rank: the growth of rounding errors; the error of one
 * operator application on |r_0|, below which the recurrence only goes through the motions; and, if
 * `moves` is given, SAMPLE times the sensitivity. */
static double history_error(const nek_problem_t *p, int iterations, const double *h,
                            const double *want, const double *moves)
{
    double most = 0, floor_ = rounding_steps(p->mesh.n) * RT_EPS * want[0];
    for (int k = 0; k <= iterations; k++) {
        double bound = step_bound(p, k) + (moves ? SAMPLE * moves[k] : 0);
        double error = fabs(h[k] - want[k]) / (bound * want[k] + floor_);
        most = fmax(most, rt_finite(h[k]) && rt_finite(error) ? error : INFINITY);
    }
    rt_comm_max(&most, 1); /* what follows is collective, so all ranks must see the same */
    return most;
}

/* A solve that nobody could have prepared: another right-hand side, another number of iterations.
 * A problem of a few unknowns is solved before that, and its history then as chaotic as a long
 * one's. */
enum { MOST_FEW = 12 };

/* The short solve again, by another number of threads: sums may not depend on it, nor on which
 * thread comes first. Kernels of GPUs and of Kokkos have their own threads, and are run again. */
static void check_bits(bench_t *t, int few)
{
    nek_solver_t *s = t->s;
    const size_t bytes = (size_t)(few + 1) * sizeof(double);
    const int threads = rt_threads();
    double first[MOST_FEW + 1];
    memcpy(first, s->history, bytes);
    nek_spoil(s);
    if (s->rung->kind == RT_CPU)
        rt_threads_set(threads > 1 ? 1 : 3);
    nek_solve(s);
    rt_threads_set(threads);
    double differ = memcmp(first, s->history, bytes) != 0;
    rt_comm_max(&differ, 1);
    rt_verdict_true(t->verdict, "short solve: the same bits by other threads", differ == 0);
}

static void check_short_solve(bench_t *t)
{
    nek_problem_t *p = t->p;
    nek_solver_t *s = t->s, *oracle = nek_solver_new(p, &reference_rung);
    int all = s->iterations;
    int few = 1 + (int)(rt_hash(0, t->seed) % (uint64_t)(all < MOST_FEW ? all : MOST_FEW));
    nek_random_field(p->config, t->seed + 7, oracle->b);
    put(t, oracle->b, s->b);
    oracle->iterations = s->iterations = few;
    nek_spoil(s);
    nek_solve(s);
    nek_solve(oracle);
    double error = history_error(p, few, s->history, oracle->history, NULL);
    get(t, s->x, oracle->w);
    double x_error = relative_difference(p, oracle->w, oracle->x), x_bound = step_bound(p, few);
    if (error > 0.1 || x_error > 0.1 * x_bound) {
        double want[MOST_FEW + 1], moves[MOST_FEW + 1];
        memcpy(want, oracle->history, (size_t)(few + 1) * sizeof(double));
        put(t, oracle->x, s->w); /* the rung's w is free, and no other array is */
        nudged_solve(oracle);
        get(t, s->w, oracle->w);
        x_bound += SAMPLE * relative_difference(p, oracle->w, oracle->x);
        find_moves(few, oracle->history, want, moves);
        error = history_error(p, few, s->history, want, moves);
    }
    rt_verdict_check(t->verdict, "short solve: residual history (of its rounding bound)", error, 1);
    rt_verdict_check(t->verdict, "short solve: |x - x_ref| / |x_ref|", x_error, x_bound);
    nek_solver_destroy(oracle);
    check_bits(t, few);
    s->iterations = all;
    put(t, p->b, s->b);
}

void nek_verify_before(void *solver, uint64_t seed, rt_verdict_t *verdict)
{
    nek_solver_t *s = solver;
    bench_t t = {
        .s = s, .p = s->problem, .points = s->mesh.points, .verdict = verdict, .seed = seed};
    nek_reference_solve(t.p);
    double **arrays[] = {&t.u, &t.want, &t.size, &t.got};
    for (int i = 0; i < 4; i++)
        *arrays[i] = RT_NEW(double, (size_t)t.points, RT_HOST);
    check_operator(&t);
    check_assembled(&t);
    if (t.p->inverse)
        check_diagonal(&t);
    check_vectors(&t);
    for (int i = 0; i < 4; i++)
        RT_FREE(*arrays[i], RT_HOST);
    check_short_solve(&t);
}

/* The residual history against the reference's. Returns how far the last residual may have moved
 * because the recurrence is chaotic by then, 0 if it is not. */
static double check_history(const nek_solver_t *s, rt_verdict_t *verdict)
{
    nek_problem_t *p = s->problem;
    int iterations = (int)p->config->iterations; /* what was asked for, whatever was done */
    double error = history_error(p, iterations, s->history, p->history_ref, NULL), moved = 0;
    if (error > 0.1) {
        const double *moves = sensitivity(p);
        error = history_error(p, iterations, s->history, p->history_ref, moves);
        moved = SAMPLE * moves[iterations];
    }
    rt_verdict_check(verdict, "residual history = reference CG (of its rounding bound)", error, 1);
    return moved;
}

/*
 * r of the recurrence and w = b - A x differ only by the rounding errors of each step, which add up
 * and are never amplified (Greenbaum 1997): at most (iterations + 1) eps times the steps of one
 * value times |A| max |x_k|, and |x_k| only grows. Orthogonality has no part in this, so it holds
 * where histories cannot be compared any more. A step missing in x, or an x from elsewhere, shows.
 * Overwrites r and w.
 */
static void check_gap(const nek_solver_t *s, double *r, double *w, double bound, double size,
                      rt_verdict_t *verdict)
{
    const nek_problem_t *p = s->problem;
    int iterations = (int)p->config->iterations;
    double last = s->history[iterations];
    double error = fabs(sqrt(oracle_dot(p, r, r)) - last) /
                   (RT_EPS * (last + rounding_steps(p->mesh.n) * RT_EPS * p->history_ref[0]));
    for (int64_t q = 0; q < p->mesh.points; q++)
        w[q] -= r[q];
    double both[2] = {error, sqrt(oracle_dot(p, w, w)) / size};
    rt_verdict_check(verdict, "last of the history = |r| (eps |r|)", both[0],
                     8 + sum_steps(p->config));
    rt_verdict_check(verdict, "r of the recurrence = b - Ax (|A||x|)", both[1], bound);
}

void nek_verify_after(void *solver, rt_verdict_t *verdict)
{
    nek_solver_t *s = solver;
    nek_problem_t *p = s->problem;
    size_t points = (size_t)p->mesh.points;
    double steps = (double)p->config->iterations + 1;
    double moved = check_history(s, verdict);

    double *x = RT_NEW(double, points, RT_HOST), *w = RT_NEW(double, points, RT_HOST);
    double *r = RT_NEW(double, points, RT_HOST);
    rt_copy(x, RT_HOST, s->x, s->space, points * sizeof(double));
    rt_copy(r, RT_HOST, s->r, s->space, points * sizeof(double));
    double bad = (double)rt_count_nonfinite(x, points);
    rt_comm_sum(&bad, 1);
    rt_verdict_check(verdict, "values of x that are not finite", bad, 0);

    const double residual = s->residual = true_residual(p, p->b, x, w);
    double size = p->eigen_max * p->diag_max * sqrt(oracle_dot(p, p->x_ref, p->x_ref));
    double rounding = rounding_steps(p->mesh.n) * steps * RT_EPS;
    rt_verdict_check(verdict, "true residual |b - Ax| against the reference's (1 %)",
                     fabs(residual - p->residual_ref) /
                         (fmax(0.01, moved) * p->residual_ref + rounding * size),
                     1);
    check_gap(s, r, w, rounding, size, verdict);

    /* the errors of the operator reach x through A^-1, those of the inner products as they are */
    double bound = rounding * p->eigen_max / p->eigen_min * p->diag_max / p->diag_min +
                   2 * sum_steps(p->config) * steps * RT_EPS;
    double error = relative_difference(p, x, p->x_ref);
    RT_FREE(x, RT_HOST); /* before another solver is made: the prediction has no room for both */
    RT_FREE(w, RT_HOST);
    RT_FREE(r, RT_HOST);
    if (error > 0.1 * bound)
        bound += SAMPLE * sensitivity(p)[p->config->iterations + 1];
    rt_verdict_check(verdict, "|x - x_ref| / |x_ref|", error, bound);
}
