/*
 * nekbone_mutants.c - wrong programs, each of which the verification must find out; see mutants.h.
 *
 * The box is bent, or half of the faults would not be faults: with straight elements three of the
 * six geometric factors vanish and the others are equal. Faults of the solve itself are put into
 * the timed solve only, not into the kernels that are checked one by one, so that what is left
 * behind must give them away.
 */
#include "config.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "apps/nekbone/cpu/small.h"
#include "apps/nekbone/nekbone.h"
#include "rt_threads.h"
#include "tests/mutants/mutants.h"

typedef enum {
    HONEST,
    /* the operator of an element */
    TERM_DROPPED,
    D_TRANSPOSED,
    WRONG_INDEX,
    WRONG_FACTOR,
    DIRECTION_DROPPED,
    LAST_LAYER,
    LAST_ELEMENT,
    STALE_ELEMENT,
    ONE_N_WRONG,
    INFINITY_IN_AX,
    RACE,
    /* precision */
    FLOAT_AX,
    FLOAT_G,
    FLOAT_DOT,
    FLOAT_P,
    /* what is done with it: mask, lambda, weights, gather-scatter */
    MASK_MISSING,
    LAMBDA_MISSING,
    LAMBDA_FLOAT,
    WEIGHTS_MISSING,
    SUM_MISSING,
    SUM_TWICE,
    FACE_MISSING,
    GROUP_MISSING,
    MESSAGE_DROPPED,
    /* the conjugate gradients */
    BETA_ZERO,
    BETA_INVERTED,
    ALPHA_OLD,
    X_SKIPPED_ONCE,
    X_FLOAT,
    ONE_FEWER,
    HALF,
    HALF_IN_WINDOWS,
    NOTHING,
    NOTHING_SECOND,
    LEFT_OVER,
    NAN_IN_X,
    SCALED,
    ONE_POINT,
    /* the operator as small products */
    PRODUCT_SWAPPED,
    PRODUCT_TRANSPOSED,
    PRODUCT_NOT_ADDED,
    PRODUCT_ADDED,
    PRODUCT_OTHER_N,
    PRODUCT_LAST_LAYER,
    /* conjugate gradients in one pass */
    PASS_STALE_BETA,
    PASS_R_SKIPPED,
    PASS_X_SKIPPED,
    PASS_LAST_X,
    PASS_LAST_R,
    PASS_SUM_SKIPPED,
    PASS_PV_WEIGHTED,
    PASS_RV_OLD,
    PASS_VV_UNASSEMBLED,
    PASS_LAMBDA_EACH_COPY,
    PASS_MASK_MISSING,
    PASS_LAST_ELEMENT,
    PASS_THREADS
} fault_t;

/* Which program a mutant is: nek_solve's lines with one fault, that with an operator of small
 * products, or CG in one pass; the last in the short solve of verify.c too. */
enum { LINES, PRODUCTS, ONE_PASS, ONE_PASS_ALWAYS };

enum { BENT, BENT_7, STRAIGHT, LONG, PROBLEMS };
static const char *const settings[PROBLEMS] = {
    [BENT] = "elements=4x3x2 degree=5 deform=0.3 iterations=40",
    [BENT_7] = "elements=4x2x2 degree=6 deform=0.3 iterations=20",
    [STRAIGHT] = "elements=4x4x2 degree=9 iterations=60",
    /* far beyond convergence: two honest residual histories have nothing in common there */
    [LONG] = "elements=4x2x2 degree=4 deform=0.2 lambda=0 iterations=300"};

static const rt_mutant_t mutants[] = {
    {TERM_DROPPED, "one of the nine products with G dropped", BENT, false, 0},
    {D_TRANSPOSED, "D transposed in one direction", BENT, false, 0},
    {WRONG_INDEX, "row i of D where row j belongs", BENT, false, 0},
    {WRONG_FACTOR, "factor ss in place of tt", BENT, false, 0},
    {DIRECTION_DROPPED, "third direction missing in D^T", BENT, false, 0},
    {LAST_LAYER, "last layer of an element skipped", BENT, false, 0},
    {LAST_ELEMENT, "last element skipped", BENT, false, 0},
    {STALE_ELEMENT, "last element as in the call before", BENT, false, 0},
    {ONE_N_WRONG, "wrong for n = 7 only", BENT_7, false, 0},
    {INFINITY_IN_AX, "infinity in one point of the operator", BENT, false, 0},
    {RACE, "one value lost, one call in eight", BENT, false, 0},
    {FLOAT_AX, "derivatives in single precision", STRAIGHT, false, 0},
    {FLOAT_G, "factors in single precision", BENT, false, 0},
    {FLOAT_DOT, "inner products in single precision", STRAIGHT, false, 0},
    {FLOAT_P, "p in single precision", STRAIGHT, false, 0},
    {MASK_MISSING, "mask missing", STRAIGHT, false, 0},
    {LAMBDA_MISSING, "lambda missing", STRAIGHT, false, 0},
    {LAMBDA_FLOAT, "lambda rounded to single precision", STRAIGHT, false, 0},
    {WEIGHTS_MISSING, "shared points counted once a copy in p.Ap", BENT, false, 0},
    {SUM_MISSING, "gather-scatter missing", BENT, false, 0},
    {SUM_TWICE, "gather-scatter done twice", BENT, false, 0},
    {FACE_MISSING, "one face left out of the gather-scatter", STRAIGHT, false, 0},
    {GROUP_MISSING, "one point left out of the gather-scatter", STRAIGHT, false, 0},
    {MESSAGE_DROPPED, "one halo message dropped", BENT, false, 0},
    {BETA_ZERO, "beta = 0: steepest descent", BENT, false, 0},
    {BETA_INVERTED, "beta upside down", BENT, false, 0},
    {ALPHA_OLD, "alpha from the residual before", BENT, false, 0},
    {X_SKIPPED_ONCE, "x not updated in one iteration", BENT, false, 0},
    {X_SKIPPED_ONCE, "x not updated in one iteration of a long run", LONG, false, 0},
    {X_FLOAT, "updates of x in single precision", BENT, false, 0},
    {ONE_FEWER, "one iteration fewer, history completed by heart", BENT, false, 0},
    {HALF, "half of the iterations, history completed by heart", BENT, false, 0},
    {HALF, "half of the iterations of a long run", LONG, false, 0},
    {HALF_IN_WINDOWS, "half of the iterations once it is timed", BENT, true, 0},
    {NOTHING, "does nothing", BENT, false, 0},
    {NOTHING_SECOND, "does nothing after the warm-up", BENT, true, 0},
    {LEFT_OVER, "answer left over from the reference run", BENT, false, 0},
    {NAN_IN_X, "NaN in one point of x", BENT, false, 0},
    {SCALED, "x too large by 1e-9", BENT, false, 0},
    {SCALED, "x too large by 1e-9 after a long run", LONG, false, 0},
    {ONE_POINT, "x off by 1e-6 in one point", BENT, false, 0},
    {PRODUCT_SWAPPED, "a small product with its factors swapped", BENT, false, PRODUCTS},
    {PRODUCT_TRANSPOSED, "a small product with D transposed", BENT, false, PRODUCTS},
    {PRODUCT_NOT_ADDED, "a small product that forgets what was there", BENT, false, PRODUCTS},
    {PRODUCT_ADDED, "a small product added to what was there", BENT, false, PRODUCTS},
    {PRODUCT_OTHER_N, "a small product made for n - 1", BENT, false, PRODUCTS},
    {PRODUCT_LAST_LAYER, "small products of all layers but the last", BENT, false, PRODUCTS},
    {PASS_STALE_BETA, "one pass: beta of the iteration before, once", BENT, false, ONE_PASS},
    {PASS_R_SKIPPED, "one pass: r not updated in one iteration", BENT, false, ONE_PASS},
    {PASS_X_SKIPPED, "one pass: x that is late misses one p", BENT, false, ONE_PASS},
    {PASS_X_SKIPPED, "one pass: the same in a long run", LONG, false, ONE_PASS},
    {PASS_LAST_X, "one pass: last update of x forgotten", BENT, false, ONE_PASS},
    {PASS_LAST_R, "one pass: r left behind one iteration late", BENT, false, ONE_PASS},
    {PASS_SUM_SKIPPED, "one pass: no gather-scatter in one iteration", STRAIGHT, false, ONE_PASS},
    {PASS_PV_WEIGHTED, "one pass: p.v of an element weighted", BENT, false, ONE_PASS},
    {PASS_RV_OLD, "one pass: r.v of the iteration before", BENT, false, ONE_PASS},
    {PASS_VV_UNASSEMBLED, "one pass: v.v before the gather-scatter", BENT, false, ONE_PASS},
    {PASS_LAMBDA_EACH_COPY, "one pass: lambda p added at each copy", STRAIGHT, false, ONE_PASS},
    {PASS_MASK_MISSING, "one pass: v not zero on the boundary", STRAIGHT, false, ONE_PASS},
    {PASS_LAST_ELEMENT, "one pass: last element left out of r.v", BENT, false, ONE_PASS},
    {PASS_THREADS, "one pass: sums that depend on the threads", BENT, false, ONE_PASS_ALWAYS},
};

static fault_t fault; /* of the mutant that runs */
static int variant;   /* and which program it is */
static int solves;    /* that it has done */
static int ax_calls;

/* --- the operator --- */

static void gradient(int n, const double *D, const double *G, const double *u, double *grad)
{
    int n2 = n * n, n3 = n2 * n;
    for (int q = 0; q < n3; q++) {
        int i = q % n, j = q / n % n, k = q / n2;
        double r = 0, s = 0, t = 0, g[6];
        for (int l = 0; l < n; l++) {
            r += D[fault == D_TRANSPOSED ? l * n + i : i * n + l] * u[k * n2 + j * n + l];
            s += D[(fault == WRONG_INDEX ? i : j) * n + l] * u[k * n2 + l * n + i];
            t += D[k * n + l] * u[l * n2 + j * n + i];
        }
        for (int m = 0; m < 6; m++)
            g[m] = fault == FLOAT_G ? rt_rounded(G[m * n3 + q]) : G[m * n3 + q];
        if (fault == ONE_N_WRONG && n == 7 && k == 6)
            t = -t;
        if (fault == FLOAT_AX)
            r = rt_rounded(r), s = rt_rounded(s), t = rt_rounded(t);
        grad[q] = g[0] * r + g[1] * s + (fault == TERM_DROPPED ? 0 : g[2] * t);
        grad[n3 + q] = g[1] * r + g[3] * s + g[4] * t;
        grad[2 * n3 + q] = g[2] * r + g[4] * s + g[fault == WRONG_FACTOR ? 3 : 5] * t;
    }
}

static void divergence(int n, const double *D, const double *grad, double *w)
{
    int n2 = n * n, n3 = n2 * n;
    const double *ur = grad, *us = grad + n3, *ut = us + n3;
    for (int q = 0; q < (fault == LAST_LAYER ? n3 - n2 : n3); q++) {
        int i = q % n, j = q / n % n, k = q / n2;
        double sum = 0;
        for (int l = 0; l < n; l++) {
            sum += D[l * n + i] * ur[k * n2 + j * n + l] + D[l * n + j] * us[k * n2 + l * n + i];
            if (fault != DIRECTION_DROPPED)
                sum += D[l * n + k] * ut[l * n2 + j * n + i];
        }
        w[q] = sum;
    }
}

static void faulty_ax(const nek_mesh_t *m, const double *u, double *w)
{
    static double before[NEK_MAX_N3], grad[3 * NEK_MAX_N3];
    int n3 = m->n * m->n * m->n;
    int64_t last = (m->elements - 1) * n3;
    for (int64_t e = 0; e < m->elements - (fault == LAST_ELEMENT); e++) {
        gradient(m->n, m->D, m->G + e * 6 * n3, u + e * n3, grad);
        if (fault == LAST_LAYER) /* zero, not what happens to lie there */
            memset(w + e * n3, 0, (size_t)n3 * sizeof(double));
        divergence(m->n, m->D, grad, w + e * n3);
    }
    if (fault == LAST_ELEMENT)
        memset(w + last, 0, (size_t)n3 * sizeof(double));
    if (fault == STALE_ELEMENT)
        for (int q = 0; q < n3; q++) {
            double now = w[last + q];
            w[last + q] = ax_calls > 0 ? before[q] : now; /* the first call is right */
            before[q] = now;
        }
    if (fault == RACE && rt_hash((uint64_t)ax_calls, 3) % 8 == 0)
        w[last / 2 + 7] = 0;
    if (fault == INFINITY_IN_AX)
        w[last + n3 / 2] = INFINITY;
    ax_calls++;
}

/* The operator as cpu/scalar.c has it. */
static void faulty_products(const nek_mesh_t *m, const double *u, double *w)
{
    static double Dt[NEK_MAX_N * NEK_MAX_N], ur[NEK_MAX_N3], us[NEK_MAX_N3], ut[NEK_MAX_N3];
    const int n = m->n, n2 = n * n, n3 = n2 * n;
    const nek_product_t along_i = nek_product(NULL, NEK_TALL, n, false),
                        add_i = nek_product(NULL, NEK_TALL, n, fault == PRODUCT_ADDED),
                        along_j =
                            nek_product(NULL, NEK_SQUARE, n - (fault == PRODUCT_OTHER_N), false),
                        add_j = nek_product(NULL, NEK_SQUARE, n, true),
                        along_k = nek_product(NULL, NEK_LONG, n, false),
                        add_k = nek_product(NULL, NEK_LONG, n, fault != PRODUCT_NOT_ADDED);
    memset(us, 0, sizeof us); /* what a fault leaves out is zero, not what happens to lie there */
    for (int q = 0; q < n2; q++)
        Dt[q % n * n + q / n] = m->D[q];
    for (int64_t e = 0; e < m->elements; e++) {
        const double *ue = u + e * n3;
        double *we = w + e * n3;
        const int layers = n - (fault == PRODUCT_LAST_LAYER);
        along_i.run(&along_i, ue, Dt, ur);
        for (int k = 0; k < layers; k++) {
            const double *layer = ue + k * n2;
            bool swap = fault == PRODUCT_SWAPPED;
            along_j.run(&along_j, swap ? layer : m->D, swap ? m->D : layer, us + k * n2);
        }
        along_k.run(&along_k, fault == PRODUCT_TRANSPOSED ? Dt : m->D, ue, ut);
        nek_apply_factors(n3, m->G + e * 6 * n3, ur, us, ut);
        memset(we, 0, (size_t)n3 * sizeof *we);
        if (fault == PRODUCT_ADDED)
            memcpy(we, ue, (size_t)n3 * sizeof *we);
        add_i.run(&add_i, ur, m->D, we);
        for (int k = 0; k < n; k++)
            add_j.run(&add_j, Dt, us + k * n2, we + k * n2);
        add_k.run(&add_k, Dt, ut, we);
    }
}

/* --- vector work --- */

static double *copy_of(const double *x, int64_t points)
{
    double *copy = malloc((size_t)points * sizeof *copy);
    RT_EXPECT(copy, RT_MEMORY, "no memory for a copy of a vector");
    return memcpy(copy, x, (size_t)points * sizeof *copy);
}

static double faulty_sum(double sum)
{
    return fault == FLOAT_DOT ? rt_rounded(sum) : sum;
}

static rt_halo_t *own_halo; /* of the solver that runs */

static void faulty_update_p(const nek_mesh_t *m, double beta, const double *r, double *p)
{
    nek_vector_cpu.update_p(m, beta, r, p);
    for (int64_t q = 0; fault == FLOAT_P && q < m->points; q++)
        p[q] = rt_rounded(p[q]);
}

static double faulty_shift(const nek_mesh_t *m, double lambda, const double *p, double *w)
{
    if (fault == SUM_TWICE) {
        rt_field_t field = rt_field_f64(w);
        rt_halo_do(own_halo, RT_HALO_SUM, &field);
    }
    if (fault == LAMBDA_MISSING)
        lambda = 0;
    if (fault == LAMBDA_FLOAT)
        lambda = rt_rounded(lambda);
    double *unmasked = copy_of(w, m->points);
    double sum = nek_vector_cpu.shift(m, lambda, p, w);
    for (int64_t q = 0; fault == MASK_MISSING && q < m->points; q++)
        w[q] = unmasked[q] + lambda * p[q];
    free(unmasked);
    if (fault == WEIGHTS_MISSING) {
        sum = 0;
        for (int64_t q = 0; q < m->points; q++)
            sum += w[q] * p[q];
    }
    return faulty_sum(sum);
}

static double faulty_update_xr(const nek_mesh_t *m, double alpha, const double *p, const double *w,
                               double *x, double *r)
{
    return faulty_sum(nek_vector_cpu.update_xr(m, alpha, p, w, x, r));
}

static double faulty_dot(const nek_mesh_t *m, const double *x, const double *y)
{
    return faulty_sum(nek_vector_cpu.dot(m, x, y));
}

static int64_t partial_size(int64_t points)
{
    return nek_vector_cpu.partial_size(points);
}

/* --- gather-scatter --- */

/* Is this point left out? A face between the first two elements in x, or one point of it. */
static bool left_out(int64_t e, int n, int i, int j, int k)
{
    bool face = e == 0 && i == n - 1;
    return (fault == FACE_MISSING && face) ||
           (fault == GROUP_MISSING && face && j == n / 2 && k == n / 2);
}

static rt_halo_t *faulty_halo(const nek_config_t *cfg)
{
    int64_t *gid = malloc((size_t)cfg->points * sizeof *gid), q = 0;
    RT_EXPECT(gid, RT_MEMORY, "no memory for global ids");
    for (int64_t e = 0; e < cfg->local_elements; e++)
        for (int k = 0; k < cfg->n; k++)
            for (int j = 0; j < cfg->n; j++)
                for (int i = 0; i < cfg->n; i++)
                    gid[q++] =
                        left_out(e, cfg->n, i, j, k) ? -1 : nek_global_index(cfg, e, i, j, k);
    rt_halo_desc_t desc = {.n = cfg->points,
                           .gid = gid,
                           .max_components = 1,
                           .kind = RT_CPU,
                           .space = RT_HOST,
                           .transport = "staged"};
    rt_halo_force_transport(fault == MESSAGE_DROPPED ? &rt_transport_lossy : NULL);
    rt_halo_t *halo = rt_halo_new(&desc);
    rt_halo_force_transport(NULL);
    free(gid);
    return halo;
}

static void *faulty_solver_new(void *problem, const rt_rung_t *rung)
{
    nek_solver_t *s = nek_solver_new(problem, rung);
    if (fault == SUM_MISSING)
        s->halo = NULL;
    if (fault == FACE_MISSING || fault == GROUP_MISSING || fault == MESSAGE_DROPPED) {
        s->halo = faulty_halo(s->problem->config);
        s->own_halo = true;
    }
    own_halo = s->halo;
    return s;
}

/* --- conjugate gradients --- */

/* nek_solve with a fault in one line. */
static void faulty_cg(nek_solver_t *s)
{
    const nek_vector_t *v = s->kernels->vector;
    const nek_mesh_t *m = &s->mesh;
    size_t bytes = (size_t)m->points * sizeof(double);
    memcpy(s->r, s->b, bytes);
    memset(s->x, 0, bytes);
    memset(s->p, 0, bytes);
    double rr = v->dot(m, s->r, s->r), before = INFINITY;
    rt_comm_sum(&rr, 1);
    s->history[0] = sqrt(rr);
    for (int k = 0; k < s->iterations; k++) {
        double beta = rr / before;
        if (fault == BETA_ZERO || (fault == BETA_INVERTED && k == 0))
            beta = 0;
        else if (fault == BETA_INVERTED)
            beta = before / rr;
        v->update_p(m, beta, s->r, s->p);
        double pw = nek_apply(s, s->p, s->w);
        double alpha = pw > 0 ? (fault == ALPHA_OLD && k > 0 ? before : rr) / pw : 0;
        before = rr;
        double *x = copy_of(s->x, m->points);
        rr = v->update_xr(m, alpha, s->p, s->w, s->x, s->r);
        rt_comm_sum(&rr, 1);
        if (fault == X_SKIPPED_ONCE && k == 10)
            memcpy(s->x, x, bytes);
        for (int64_t q = 0; fault == X_FLOAT && q < m->points; q++)
            s->x[q] = x[q] + rt_rounded(alpha * s->p[q]);
        free(x);
        if (rr == 0)
            before = INFINITY;
        s->history[k + 1] = sqrt(rr);
        s->alpha[k] = alpha;
        s->beta[k] = beta;
    }
}

/* sum of c x y, or of x y if c is NULL, over the first `points`; in one go or, with the fault, in
 * as many pieces as there are threads. */
static double plain_sum(int64_t points, const double *c, const double *x, const double *y)
{
    const int64_t pieces = fault == PASS_THREADS ? rt_threads() : 1;
    double total = 0;
    for (int64_t i = 0; i < pieces; i++) {
        double sum = 0;
        for (int64_t q = points * i / pieces; q < points * (i + 1) / pieces; q++)
            sum += (c ? c[q] : 1) * x[q] * y[q];
        total += sum;
    }
    return total;
}

/* Scalars of a solve in one pass, of this iteration and the one before. */
typedef struct {
    double alpha, beta, old_alpha, old_beta, old_rv;
    bool late; /* x lacks old_alpha times the p of the iteration before the last, too */
} one_pass_t;

/* x, which is up to two iterations late: p before the last is (p - r) / beta. */
static void catch_up(nek_solver_t *s, one_pass_t *t, bool miss)
{
    const double more = t->late && !miss ? t->old_alpha / t->old_beta : 0;
    for (int64_t q = 0; q < s->mesh.points; q++)
        s->x[q] += t->alpha * s->p[q] + more * (s->p[q] - s->r[q]);
    t->late = false;
}

/* r, p and v of iteration k, the sums that need no assembled v, and the one that does. */
static void one_pass(nek_solver_t *s, const one_pass_t *t, int k, double sum[4])
{
    const nek_mesh_t *m = &s->mesh;
    const int64_t n3 = m->n * m->n * m->n;
    const bool add = s->halo && !(fault == PASS_SUM_SKIPPED && k == 10);
    double *v = s->w;
    for (int64_t q = 0; q < m->points; q++) {
        if (!(fault == PASS_R_SKIPPED && k == 10))
            s->r[q] -= t->alpha * v[q];
        s->p[q] = s->r[q] + t->beta * s->p[q];
    }
    nek_reference.ax(m, s->p, v);
    for (int64_t q = 0; q < m->points; q++) {
        const double share = fault == PASS_LAMBDA_EACH_COPY ? 1 : m->c[q];
        v[q] += s->lambda * share * s->p[q];
        if (m->c[q] == 0 && fault != PASS_MASK_MISSING)
            v[q] = 0;
    }
    sum[0] = plain_sum(m->points, m->c, s->r, s->r);
    sum[1] = plain_sum(m->points, fault == PASS_PV_WEIGHTED ? m->c : NULL, s->p, v);
    sum[2] = plain_sum(m->points - (fault == PASS_LAST_ELEMENT ? n3 : 0), NULL, s->r, v);
    sum[3] = plain_sum(m->points, m->c, v, v);
    rt_field_t field = rt_field_f64(v);
    if (add)
        rt_halo_do(s->halo, RT_HALO_SUM, &field);
    if (fault != PASS_VV_UNASSEMBLED)
        sum[3] = plain_sum(m->points, m->c, v, v);
    rt_comm_sum(sum, 4);
}

/* cpu/fused.c's algorithm, one line after the other. */
static void faulty_one_pass(nek_solver_t *s)
{
    const nek_mesh_t *m = &s->mesh;
    const size_t bytes = (size_t)m->points * sizeof(double);
    one_pass_t t = {0, 0, 0, 0, 0, false};
    memcpy(s->r, s->b, bytes);
    memset(s->x, 0, bytes);
    memset(s->p, 0, bytes);
    memset(s->w, 0, bytes);
    for (int k = 0; k < s->iterations; k++) {
        double sum[4];
        if (k > 0 && !t.late && t.beta > 0.05)
            t.late = true, t.old_alpha = t.alpha; /* and old_beta is the beta of this pass */
        else if (k > 0)
            catch_up(s, &t, fault == PASS_X_SKIPPED && k > 10 && k < 16);
        t.old_beta = t.beta;
        one_pass(s, &t, k, sum);
        const double rr = sum[0], rv = fault == PASS_RV_OLD && k > 0 ? t.old_rv : sum[2];
        const double alpha = sum[1] > 0 ? rr / sum[1] : 0;
        double next = rr - 2 * alpha * rv + alpha * alpha * sum[3];
        if (fault == HONEST && !(next > 0.06 * rr)) {
            double *r = copy_of(s->r, m->points);
            for (int64_t q = 0; q < m->points; q++)
                r[q] -= alpha * s->w[q];
            next = nek_vector_cpu.dot(m, r, r);
            rt_comm_sum(&next, 1);
            free(r);
        }
        s->history[k] = sqrt(rr);
        s->alpha[k] = t.alpha = alpha;
        s->beta[k] = t.beta;
        if (!(fault == PASS_STALE_BETA && k == 10))
            t.beta = rr > 0 ? next / rr : 0;
        t.old_rv = sum[2];
    }
    if (fault != PASS_LAST_X)
        catch_up(s, &t, false);
    double *r = copy_of(s->r, m->points);
    for (int64_t q = 0; q < m->points; q++)
        s->r[q] -= t.alpha * s->w[q];
    double rr = plain_sum(m->points, m->c, s->r, s->r);
    rt_comm_sum(&rr, 1);
    s->history[s->iterations] = sqrt(rr);
    if (fault == PASS_LAST_R)
        memcpy(s->r, r, bytes);
    free(r);
}

/* Only so many iterations; the history goes on as the reference's. */
static void cut_short(nek_solver_t *s, int iterations)
{
    int all = s->iterations;
    s->iterations = iterations;
    nek_solve(s);
    s->iterations = all;
    for (int k = iterations + 1; k <= all; k++)
        s->history[k] = s->problem->history_ref[k];
}

static void faulty_solve(void *solver)
{
    nek_solver_t *s = solver;
    const nek_problem_t *p = s->problem;
    size_t bytes = (size_t)s->mesh.points * sizeof(double);
    solves++;
    switch (fault) {
    case NOTHING:
        return;
    case NOTHING_SECOND:
        if (solves < 2)
            nek_solve(s);
        return;
    case LEFT_OVER: /* only for the right-hand side that the reference had */
        memcpy(s->x, p->x_ref, bytes);
        memcpy(s->history, p->history_ref, (size_t)(s->iterations + 1) * sizeof(double));
        return;
    case ONE_FEWER:
        cut_short(s, s->iterations - 1);
        return;
    case HALF:
        cut_short(s, s->iterations / 2);
        return;
    case HALF_IN_WINDOWS:
        cut_short(s, solves > 1 ? s->iterations / 2 : s->iterations);
        return;
    default:
        if (variant == ONE_PASS || variant == ONE_PASS_ALWAYS)
            faulty_one_pass(s);
        else
            faulty_cg(s);
    }
    if (fault == NAN_IN_X && rt_comm_rank() == 0)
        s->x[s->mesh.points / 2] = NAN;
    for (int64_t q = 0; fault == SCALED && q < s->mesh.points; q++)
        s->x[q] *= 1 + 1e-9;
    if (fault == ONE_POINT && rt_comm_rank() == 0) {
        int n = s->mesh.n; /* inside the first element */
        s->x[(n / 2 * n + n / 2) * n + n / 2] += 1e-6;
    }
}

/* --- the suite --- */

static const void *kernels(const rt_mutant_t *mutant)
{
    static const nek_vector_t vector = {.partial_size = partial_size,
                                        .update_p = faulty_update_p,
                                        .shift = faulty_shift,
                                        .update_xr = faulty_update_xr,
                                        .dot = faulty_dot};
    static const nek_kernels_t tables[] = {
        [LINES] = {.ax = faulty_ax, .vector = &vector},
        [PRODUCTS] = {.ax = faulty_products, .vector = &vector},
        [ONE_PASS] = {.ax = faulty_ax, .vector = &vector},
        [ONE_PASS_ALWAYS] = {.ax = faulty_ax, .vector = &vector, .cg = faulty_one_pass}};
    return &tables[mutant->variant];
}

static void begin(const rt_mutant_t *mutant, void *problem)
{
    (void)problem;
    fault = (fault_t)mutant->fault;
    variant = mutant->variant;
    solves = ax_calls = 0;
}

static void end(void)
{
    fault = HONEST;
}

static const rt_mutant_t honest[] = {
    {HONEST, "mutant without a fault", RT_EVERY_PROBLEM, true, 0},
    {ONE_N_WRONG, "wrong for n = 7, with n = 6", BENT, false, 0},
    {HONEST, "mutant of small products without a fault", RT_EVERY_PROBLEM, false, PRODUCTS},
    {HONEST, "mutant in one pass without a fault", RT_EVERY_PROBLEM, true, ONE_PASS_ALWAYS},
};

static const rt_mutants_t suite = {.app = &nek_app,
                                   .settings = settings,
                                   .problems = PROBLEMS,
                                   .mutants = mutants,
                                   .n_mutants = sizeof mutants / sizeof *mutants,
                                   .honest = honest,
                                   .n_honest = sizeof honest / sizeof *honest,
                                   .lost_message = MESSAGE_DROPPED,
                                   .solver_new = faulty_solver_new,
                                   .solve = faulty_solve,
                                   .kernels = kernels,
                                   .begin = begin,
                                   .end = end};

int main(int argc, char **argv)
{
    return rt_mutants_main(&suite, argc, argv);
}
