/*
 * nekbone_mutants.c - wrong programs, each of which the verification must detect; see mutants.h.
 *
 * The box is bent, otherwise half of the faults would not be faults: with straight elements three
 * of the six geometric factors vanish and the others are equal. Faults in the solve itself are in
 * the timed solve only, not in the kernels that are checked one by one, so they must be detected
 * from what the solve leaves behind.
 *
 * The algorithms of GPU rungs are here line by line on host memory: x and |r|^2 late as in
 * onepass.cu, p.v by recurrence as in resident.cu, boundaries that arrive late. In addition real
 * rungs are wrapped: they solve, and the wrapper changes what they read or leave behind. By default
 * these are CPU rungs; `nekbone_mutants --device 0` wraps GPU rungs.
 */
#include "config.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "apps/nekbone/cpu/small.h"
#include "apps/nekbone/nekbone.h"
#include "base/threads.h"
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
    /* after the operator: mask, lambda, weights, gather-scatter */
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
    KEPT,
    KEPT_SCALED,
    KEPT_COMBINED,
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
    PASS_THREADS,
    PASS_RR_NOT_SUMMED,
    PASS_X_THIRD,
    PASS_STALE_BOUNDARY,
    /* A p by recurrence */
    TWO_PV_WRONG,
    TWO_SUMS_OLD,
    TWO_S_SKIPPED,
    TWO_STALE_BOUNDARY,
    /* Jacobi's preconditioner */
    DIAGONAL_CROSS,
    DIAGONAL_UNASSEMBLED,
    DIAGONAL_LAMBDA,
    DIAGONAL_ELEMENT,
    DIAGONAL_FLOAT,
    DIAGONAL_NONE,
    JACOBI_MISSING,
    JACOBI_HISTORY,
    JACOBI_RR,
    JACOBI_Z_OLD,
    /* around a real rung */
    WRAP_X_MISSES_STEP,
    WRAP_R_LATE,
    WRAP_B_STALE_COPY,
    WRAP_FACTOR_STALE,
    WRAP_X_FLOAT,
    WRAP_HISTORY_FLOAT
} fault_t;

/* The program that a mutant changes. LINES: the lines of nek_solve. PRODUCTS: the same with an
 * operator of small products. ONE_PASS: CG in one pass; ONE_PASS_ALWAYS: also in the short solve of
 * verify.c. TWO_SUMS: CG with A p by recurrence. From WRAPPED on: a real rung, wrapped[variant -
 * WRAPPED]. */
enum { LINES, PRODUCTS, ONE_PASS, ONE_PASS_ALWAYS, TWO_SUMS, WRAPPED };
static const char *const wrapped_on_host[] = {"jammed", "cpu-fused", NULL};
static const char *const wrapped_on_device[] = {"packed", "fused", "onepass", "resident", NULL};
static const char *const *wrapped = wrapped_on_host;

enum { MOST_MUTANTS = 160 };
enum { BENT, BENT_7, STRAIGHT, LONG, JACOBI, PROBLEMS };
static const char *const settings[PROBLEMS] = {
    [BENT] = "elements=3x3x2 degree=5 deform=0.3 iterations=40",
    [BENT_7] = "elements=4x2x2 degree=6 deform=0.3 iterations=20",
    [STRAIGHT] = "elements=3x3x2 degree=9 iterations=20",
    /* Far beyond convergence, where two honest residual histories have nothing in common. */
    [LONG] = "elements=4x2x2 degree=4 deform=0.2 lambda=0 iterations=300",
    [JACOBI] = "elements=4x3x2 degree=5 deform=0.3 iterations=20 precond=jacobi"};

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
    {KEPT, "answer kept from the first solve", BENT, true, 0},
    {KEPT_SCALED, "answer kept from the first solve, scaled", BENT, true, 0},
    {KEPT_COMBINED, "answers kept from two solves, combined", BENT, true, 0},
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
    {PASS_RR_NOT_SUMMED, "one pass: |r|^2 never summed, only carried", BENT, false, ONE_PASS},
    {PASS_X_THIRD, "one pass: x in every third pass, not every second", BENT, false, ONE_PASS},
    {PASS_STALE_BOUNDARY, "one pass: a boundary of the iteration before", BENT, false, ONE_PASS},
    {TWO_PV_WRONG, "two sums: p.v by the alpha of the wrong turn, once", BENT, false, TWO_SUMS},
    {TWO_SUMS_OLD, "two sums: r.w of the turn before, once", BENT, false, TWO_SUMS},
    {TWO_S_SKIPPED, "two sums: A p not carried on, once", BENT, false, TWO_SUMS},
    {TWO_STALE_BOUNDARY, "two sums: a boundary of the turn before", BENT, false, TWO_SUMS},
    {DIAGONAL_CROSS, "diagonal without rs, rt, st", JACOBI, false, LINES},
    {DIAGONAL_UNASSEMBLED, "diagonal of elements, not assembled", JACOBI, false, LINES},
    {DIAGONAL_LAMBDA, "diagonal without lambda", JACOBI, false, LINES},
    {DIAGONAL_ELEMENT, "diagonal of the first element in the last", JACOBI, false, LINES},
    {DIAGONAL_FLOAT, "diagonal in single precision", JACOBI, false, LINES},
    {DIAGONAL_NONE, "no diagonal", JACOBI, false, LINES},
    {JACOBI_MISSING, "no preconditioner in the timed solve", JACOBI, false, LINES},
    {JACOBI_HISTORY, "no preconditioner, history by heart", JACOBI, false, LINES},
    {JACOBI_RR, "r.r in the place of r.z", JACOBI, false, LINES},
    {JACOBI_Z_OLD, "z of the iteration before, once", JACOBI, false, LINES},
};

/* Faults around a real rung: each of these applies to each rung of `wrapped`. */
static const rt_mutant_t wrappings[] = {
    {ONE_FEWER, "one iteration fewer, history by heart", BENT, false, 0},
    {NOTHING_SECOND, "nothing after the warm-up", BENT, true, 0},
    {LEFT_OVER, "answer left over from the reference run", BENT, false, 0},
    {NAN_IN_X, "NaN in one point of x", BENT, false, 0},
    {SCALED, "x too large by 1e-9", BENT, false, 0},
    {WRAP_X_MISSES_STEP, "x misses one alpha p", BENT, false, 0},
    {WRAP_R_LATE, "r left behind one iteration late", BENT, false, 0},
    {WRAP_B_STALE_COPY, "one copy of a shared point stale", BENT, false, 0},
    {WRAP_FACTOR_STALE, "one factor of an element as in the one before", BENT, false, 0},
    {WRAP_X_FLOAT, "x in single precision", BENT, false, 0},
    {WRAP_HISTORY_FLOAT, "history in single precision", BENT, false, 0},
};

static fault_t fault; /* of the current mutant */
static int variant;   /* the program that it changes */
static int solves;    /* solves that it has done */
static int ax_calls;
/* Arrays of the mutant's problem, allocated from `begin` to `end`: the faulty diagonal, and the
 * values of the previous iteration before and after the gather-scatter. */
static double *own_inverse, *old_local, *old_sum;

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

static void faulty_ax(const nek_view_t *view, const double *u, double *w)
{
    static double before[NEK_MAX_N3], grad[3 * NEK_MAX_N3];
    int n3 = view->n * view->n * view->n;
    int64_t last = (view->elements - 1) * n3;
    for (int64_t e = 0; e < view->elements - (fault == LAST_ELEMENT); e++) {
        gradient(view->n, view->D, view->G + e * 6 * n3, u + e * n3, grad);
        if (fault == LAST_LAYER) /* zero, not what happens to be there */
            memset(w + e * n3, 0, (size_t)n3 * sizeof(double));
        divergence(view->n, view->D, grad, w + e * n3);
    }
    if (fault == LAST_ELEMENT)
        memset(w + last, 0, (size_t)n3 * sizeof(double));
    if (fault == STALE_ELEMENT)
        for (int q = 0; q < n3; q++) {
            double now = w[last + q];
            w[last + q] = ax_calls > 0 ? before[q] : now; /* the first call is correct */
            before[q] = now;
        }
    if (fault == RACE && rt_hash((uint64_t)ax_calls, 3) % 8 == 0)
        w[last / 2 + 7] = 0;
    if (fault == INFINITY_IN_AX)
        w[last + n3 / 2] = INFINITY;
    ax_calls++;
}

/* Applies the operator as cpu/scalar.c does. */
static void faulty_products(const nek_view_t *view, const double *u, double *w)
{
    static double Dt[NEK_MAX_N * NEK_MAX_N], ur[NEK_MAX_N3], us[NEK_MAX_N3], ut[NEK_MAX_N3];
    const int n = view->n, n2 = n * n, n3 = n2 * n;
    const nek_product_t along_i = nek_product(NULL, NEK_TALL, n, false),
                        add_i = nek_product(NULL, NEK_TALL, n, fault == PRODUCT_ADDED),
                        along_j =
                            nek_product(NULL, NEK_SQUARE, n - (fault == PRODUCT_OTHER_N), false),
                        add_j = nek_product(NULL, NEK_SQUARE, n, true),
                        along_k = nek_product(NULL, NEK_LONG, n, false),
                        add_k = nek_product(NULL, NEK_LONG, n, fault != PRODUCT_NOT_ADDED);
    memset(us, 0, sizeof us); /* what a fault leaves out is zero, not what happens to be there */
    for (int q = 0; q < n2; q++)
        Dt[q % n * n + q / n] = view->D[q];
    for (int64_t e = 0; e < view->elements; e++) {
        const double *ue = u + e * n3;
        double *we = w + e * n3;
        const int layers = n - (fault == PRODUCT_LAST_LAYER);
        along_i.run(&along_i, ue, Dt, ur);
        for (int k = 0; k < layers; k++) {
            const double *layer = ue + k * n2;
            bool swap = fault == PRODUCT_SWAPPED;
            along_j.run(&along_j, swap ? layer : view->D, swap ? view->D : layer, us + k * n2);
        }
        along_k.run(&along_k, fault == PRODUCT_TRANSPOSED ? Dt : view->D, ue, ut);
        nek_apply_factors(n3, view->G + e * 6 * n3, ur, us, ut);
        memset(we, 0, (size_t)n3 * sizeof *we);
        if (fault == PRODUCT_ADDED)
            memcpy(we, ue, (size_t)n3 * sizeof *we);
        add_i.run(&add_i, ur, view->D, we);
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

static rt_halo_t *own_halo; /* of the current solver */

static void faulty_update_p(const nek_view_t *view, double beta, const double *r, double *p)
{
    nek_vector_cpu.update_p(view, beta, r, p);
    for (int64_t q = 0; fault == FLOAT_P && q < view->points; q++)
        p[q] = rt_rounded(p[q]);
}

static double faulty_shift(const nek_view_t *view, double lambda, const double *p, double *w)
{
    if (fault == SUM_TWICE) {
        rt_field_t field = rt_field_f64(w);
        rt_halo_do(own_halo, RT_HALO_SUM, &field);
    }
    if (fault == LAMBDA_MISSING)
        lambda = 0;
    if (fault == LAMBDA_FLOAT)
        lambda = rt_rounded(lambda);
    double *unmasked = copy_of(w, view->points);
    double sum = nek_vector_cpu.shift(view, lambda, p, w);
    for (int64_t q = 0; fault == MASK_MISSING && q < view->points; q++)
        w[q] = unmasked[q] + lambda * p[q];
    free(unmasked);
    if (fault == WEIGHTS_MISSING) {
        sum = 0;
        for (int64_t q = 0; q < view->points; q++)
            sum += w[q] * p[q];
    }
    return faulty_sum(sum);
}

static double faulty_update_xr(const nek_view_t *view, double alpha, const double *p,
                               const double *w, double *x, double *r)
{
    return faulty_sum(nek_vector_cpu.update_xr(view, alpha, p, w, x, r));
}

static void faulty_update_p_z(const nek_view_t *view, double beta, const double *r, double *p)
{
    nek_vector_cpu.update_p_z(view, beta, r, p);
}

static void faulty_update_xr_z(const nek_view_t *view, double alpha, const double *p,
                               const double *w, double *x, double *r, double sum[2])
{
    nek_vector_cpu.update_xr_z(view, alpha, p, w, x, r, sum);
}

static double faulty_dot(const nek_view_t *view, const double *x, const double *y)
{
    return faulty_sum(nek_vector_cpu.dot(view, x, y));
}

static int64_t partial_size(int64_t points)
{
    return nek_vector_cpu.partial_size(points);
}

/* --- gather-scatter --- */

/* Returns whether this point is left out: a face between the first two elements in x, or one point
 * of it. */
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
    if (s->view.inverse && s->space == RT_HOST)
        s->view.inverse = fault == DIAGONAL_NONE ? NULL : own_inverse;
    own_halo = s->halo;
    return s;
}

/* --- conjugate gradients --- */

/* Computes 1 / diagonal with the current fault. */
static void fill_inverse(const nek_problem_t *p, double *inverse)
{
    const nek_config_t *cfg = p->config;
    const int n = cfg->n, n2 = n * n, n3 = n2 * n;
    for (int64_t e = 0; e < cfg->local_elements; e++) {
        const int64_t from = fault == DIAGONAL_ELEMENT && e == cfg->local_elements - 1 ? 0 : e;
        const double *G = p->G + from * 6 * n3, *D = p->D;
        double *diag = inverse + e * n3;
        nek_element_diagonal(n, D, G, diag);
        for (int q = 0; fault == DIAGONAL_CROSS && q < n3; q++) {
            const double i = D[q % n * (n + 1)], j = D[q / n % n * (n + 1)],
                         k = D[q / n2 * (n + 1)];
            diag[q] -= 2 * (G[n3 + q] * i * j + G[2 * n3 + q] * i * k + G[4 * n3 + q] * j * k);
        }
    }
    if (p->halo && fault != DIAGONAL_UNASSEMBLED) {
        rt_field_t field = rt_field_f64(inverse);
        rt_halo_do(p->halo, RT_HALO_SUM, &field);
    }
    for (int64_t q = 0; q < cfg->points; q++) {
        const double diag = inverse[q] + (fault == DIAGONAL_LAMBDA ? 0 : cfg->lambda);
        const double one_over = fault == DIAGONAL_FLOAT ? rt_rounded(1 / diag) : 1 / diag;
        inverse[q] = p->c[q] != 0 ? one_over : 0;
    }
}

/* Solves as nek_solve does, with a fault in one line. */
static void faulty_cg(nek_solver_t *s)
{
    const nek_view_t *view = &s->view;
    const double *inverse = view->inverse;
    size_t bytes = (size_t)view->points * sizeof(double);
    memcpy(s->r, s->b, bytes);
    memset(s->x, 0, bytes);
    memset(s->p, 0, bytes);
    double sum[2], before = INFINITY;
    if (fault == JACOBI_MISSING || fault == JACOBI_HISTORY)
        s->view.inverse = NULL;
    nek_update_xr(s, 0, s->p, s->p, s->x, s->r, sum);
    s->history[0] = sqrt(sum[0]);
    double *old_r = copy_of(s->r, view->points);
    for (int k = 0; k < s->iterations; k++) {
        const double rz = sum[fault == JACOBI_RR ? 0 : 1];
        double beta = rz / before;
        if (fault == BETA_ZERO || (fault == BETA_INVERTED && k == 0))
            beta = 0;
        else if (fault == BETA_INVERTED)
            beta = before / rz;
        nek_update_p(s, beta, fault == JACOBI_Z_OLD && k == 10 ? old_r : s->r, s->p);
        double pw = nek_apply(s, s->p, s->w);
        double alpha = pw > 0 ? (fault == ALPHA_OLD && k > 0 ? before : rz) / pw : 0;
        before = rz;
        double *x = copy_of(s->x, view->points);
        memcpy(old_r, s->r, bytes);
        nek_update_xr(s, alpha, s->p, s->w, s->x, s->r, sum);
        if (fault == X_SKIPPED_ONCE && k == 10)
            memcpy(s->x, x, bytes);
        for (int64_t q = 0; fault == X_FLOAT && q < view->points; q++)
            s->x[q] = x[q] + rt_rounded(alpha * s->p[q]);
        free(x);
        if (sum[1] == 0)
            before = INFINITY;
        s->history[k + 1] = sqrt(sum[0]);
        s->alpha[k] = alpha;
        s->beta[k] = beta;
    }
    free(old_r);
    s->view.inverse = inverse;
    if (fault == JACOBI_HISTORY)
        memcpy(s->history, s->problem->reference.history,
               (size_t)(s->iterations + 1) * sizeof *s->history);
}

/* Computes Q Q^T v. If `stale`, the contributions of other elements and ranks are those of the
 * previous call. */
static void gather(nek_solver_t *s, double *v, bool stale)
{
    const size_t bytes = (size_t)s->view.points * sizeof(double);
    rt_field_t field = rt_field_f64(v);
    double *local = copy_of(v, s->view.points);
    rt_halo_do(s->halo, RT_HALO_SUM, &field);
    double *now = copy_of(v, s->view.points);
    for (int64_t q = 0; stale && q < s->view.points; q++)
        v[q] = local[q] + (old_sum[q] - old_local[q]);
    memcpy(old_local, local, bytes);
    memcpy(old_sum, now, bytes);
    free(local);
    free(now);
}

/* Returns the sum of c x y, or of x y if c is NULL, over the first `points` points. With the fault
 * it adds up as many pieces as there are threads. */
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

/* The scalars of a solve in one pass, of this iteration and the previous one. */
typedef struct {
    double alpha, beta, old_alpha, old_beta, old_rv;
    bool late; /* x also lacks old_alpha times the p before the last */
} one_pass_t;

/* Updates x, which is up to two iterations late: the p before the last is (p - r) / beta. */
static void catch_up(nek_solver_t *s, one_pass_t *t, bool miss)
{
    const double more = t->late && !miss ? t->old_alpha / t->old_beta : 0;
    for (int64_t q = 0; q < s->view.points; q++)
        s->x[q] += t->alpha * s->p[q] + more * (s->p[q] - s->r[q]);
    t->late = false;
}

/* Computes r, p and v of iteration k, the sums that need no assembled v, and the one that does. */
static void one_pass(nek_solver_t *s, const one_pass_t *t, int k, double sum[4])
{
    const nek_view_t *view = &s->view;
    const int64_t n3 = view->n * view->n * view->n;
    const bool add = s->halo && !(fault == PASS_SUM_SKIPPED && k == 10);
    double *v = s->w;
    for (int64_t q = 0; q < view->points; q++) {
        if (!(fault == PASS_R_SKIPPED && k == 10))
            s->r[q] -= t->alpha * v[q];
        s->p[q] = s->r[q] + t->beta * s->p[q];
    }
    nek_reference.ax(view, s->p, v);
    for (int64_t q = 0; q < view->points; q++) {
        const double share = fault == PASS_LAMBDA_EACH_COPY ? 1 : view->c[q];
        v[q] += s->lambda * share * s->p[q];
        if (view->c[q] == 0 && fault != PASS_MASK_MISSING)
            v[q] = 0;
    }
    sum[0] = plain_sum(view->points, view->c, s->r, s->r);
    sum[1] = plain_sum(view->points, fault == PASS_PV_WEIGHTED ? view->c : NULL, s->p, v);
    sum[2] = plain_sum(view->points - (fault == PASS_LAST_ELEMENT ? n3 : 0), NULL, s->r, v);
    sum[3] = plain_sum(view->points, view->c, v, v);
    if (add)
        gather(s, v, fault == PASS_STALE_BOUNDARY && k == 10);
    if (fault != PASS_VV_UNASSEMBLED)
        sum[3] = plain_sum(view->points, view->c, v, v);
    rt_comm_sum(sum, 4);
}

/* Solves with the algorithm of cpu/cpu_fused.c, one line after another. */
static void faulty_one_pass(nek_solver_t *s)
{
    const nek_view_t *view = &s->view;
    const size_t bytes = (size_t)view->points * sizeof(double);
    one_pass_t t = {0, 0, 0, 0, 0, false};
    double carried = 0; /* |r|^2 of the recurrence */
    memcpy(s->r, s->b, bytes);
    memset(s->x, 0, bytes);
    memset(s->p, 0, bytes);
    memset(s->w, 0, bytes);
    for (int k = 0; k < s->iterations; k++) {
        double sum[4];
        const bool must = fault == PASS_X_THIRD ? k % 3 == 0 : t.late;
        if (k > 0 && !must && t.beta > 0.05)
            t.late = true, t.old_alpha = t.alpha; /* old_beta is the beta of this pass */
        else if (k > 0)
            catch_up(s, &t, fault == PASS_X_SKIPPED && k > 10 && k < 16);
        t.old_beta = t.beta;
        one_pass(s, &t, k, sum);
        const double rr = fault == PASS_RR_NOT_SUMMED && k > 0 ? carried : sum[0],
                     rv = fault == PASS_RV_OLD && k > 0 ? t.old_rv : sum[2];
        const double alpha = sum[1] > 0 ? rr / sum[1] : 0;
        double next = rr - 2 * alpha * rv + alpha * alpha * sum[3];
        if (fault == HONEST && !(next > 0.06 * rr)) {
            double *r = copy_of(s->r, view->points);
            for (int64_t q = 0; q < view->points; q++)
                r[q] -= alpha * s->w[q];
            next = nek_vector_cpu.dot(view, r, r);
            rt_comm_sum(&next, 1);
            free(r);
        }
        carried = next;
        s->history[k] = sqrt(rr);
        s->alpha[k] = t.alpha = alpha;
        s->beta[k] = t.beta;
        if (!(fault == PASS_STALE_BETA && k == 10))
            t.beta = rr > 0 ? next / rr : 0;
        t.old_rv = sum[2];
    }
    if (fault != PASS_LAST_X)
        catch_up(s, &t, false);
    double *r = copy_of(s->r, view->points);
    for (int64_t q = 0; q < view->points; q++)
        s->r[q] -= t.alpha * s->w[q];
    double rr = plain_sum(view->points, view->c, s->r, s->r);
    rt_comm_sum(&rr, 1);
    s->history[s->iterations] = sqrt(rr);
    if (fault == PASS_LAST_R)
        memcpy(s->r, r, bytes);
    free(r);
}

/* Solves with the algorithm of resident.cu: A p follows from A r by recurrence, so an iteration has
 * both its sums at one point. */
static void faulty_two_sums(nek_solver_t *s)
{
    const nek_view_t *view = &s->view;
    const size_t bytes = (size_t)view->points * sizeof(double);
    memcpy(s->r, s->b, bytes);
    memset(s->x, 0, bytes);
    memset(s->p, 0, bytes);
    double *Ap = copy_of(s->p, view->points), gamma = 0, delta = 0, alpha[3] = {1, 1, 1};
    for (int k = 0; k <= s->iterations; k++) {
        const double old_gamma = gamma, old_delta = delta;
        nek_reference.ax(view, s->r, s->w);
        if (s->halo)
            gather(s, s->w, fault == TWO_STALE_BOUNDARY && k == 10);
        double sum[2] = {nek_vector_cpu.dot(view, s->r, s->r), 0};
        sum[1] = nek_vector_cpu.shift(view, s->lambda, s->r, s->w);
        rt_comm_sum(sum, 2);
        gamma = sum[0];
        delta = fault == TWO_SUMS_OLD && k == 10 ? old_delta : sum[1];
        s->history[k] = sqrt(gamma);
        if (k == s->iterations)
            break;
        const double beta = k > 0 ? gamma / old_gamma : 0;
        const double by = alpha[fault == TWO_PV_WRONG && k == 10 ? 1 : 0];
        alpha[1] = alpha[0];
        alpha[0] = gamma / (delta - beta * gamma / by);
        for (int64_t q = 0; q < view->points; q++) {
            s->p[q] = s->r[q] + beta * s->p[q];
            if (!(fault == TWO_S_SKIPPED && k == 10))
                Ap[q] = s->w[q] + beta * Ap[q];
            s->x[q] += alpha[0] * s->p[q];
            s->r[q] -= alpha[0] * Ap[q];
        }
        s->alpha[k] = alpha[0];
        s->beta[k] = beta;
    }
    free(Ap);
}

/* Solves with that many iterations only, and completes the history from the reference's. */
static void cut_short(nek_solver_t *s, int iterations)
{
    int all = s->iterations;
    s->iterations = iterations;
    nek_solve(s);
    s->iterations = all;
    for (int k = iterations + 1; k <= all; k++)
        s->history[k] = s->problem->reference.history[k];
}

/* --- around a real rung, wherever its arrays are --- */

static double *fetched(const nek_solver_t *s, const double *array)
{
    const size_t points = (size_t)s->view.points;
    double *copy = malloc(points * sizeof *copy);
    RT_EXPECT(copy, RT_MEMORY, "no memory for a copy of a vector");
    rt_copy(copy, RT_HOST, array, s->space, points * sizeof *copy);
    return copy;
}

/* Copies `copy` back to `array` and frees it. */
static void put_back(const nek_solver_t *s, double *array, double *copy)
{
    rt_copy(array, s->space, copy, RT_HOST, (size_t)s->view.points * sizeof *copy);
    free(copy);
}

/* Returns a copy of the array after that many iterations. */
static double *after(nek_solver_t *s, const double *array, int iterations)
{
    const int all = s->iterations;
    s->iterations = iterations;
    nek_solve(s);
    s->iterations = all;
    return fetched(s, array);
}

/* Changes what the rung reads while it solves: n values of an array from `at` on become the values
 * `from` places before them, or 0 if `from` is 0. */
static void solve_with(nek_solver_t *s, const double *array, int64_t at, int64_t n, int64_t from)
{
    const size_t bytes = (size_t)n * sizeof(double);
    double *honest = malloc(2 * bytes), *wrong = honest + n;
    RT_EXPECT(honest, RT_MEMORY, "no memory for %lld values", (long long)n);
    double *here = (double *)array + at;
    rt_copy(honest, RT_HOST, here, s->space, bytes);
    memset(wrong, 0, bytes);
    if (from)
        rt_copy(wrong, RT_HOST, here - from, s->space, bytes);
    rt_copy(here, s->space, wrong, RT_HOST, bytes);
    nek_solve(s);
    rt_copy(here, s->space, honest, RT_HOST, bytes);
    free(honest);
}

static void wrapped_solve(nek_solver_t *s)
{
    const int64_t points = s->view.points;
    const int n = s->view.n, n3 = n * n * n, middle = (n / 2 * n + n / 2) * n;
    if (fault == WRAP_B_STALE_COPY) { /* the face that the first two elements share */
        solve_with(s, s->b, middle + n - 1, 1, 0);
        return;
    }
    if (fault == WRAP_FACTOR_STALE) {
        solve_with(s, s->view.G, 6 * (s->view.elements - 1) * (int64_t)n3, n3, 6 * (int64_t)n3);
        return;
    }
    if (fault == WRAP_X_MISSES_STEP) { /* alpha p of the tenth iteration */
        double *less = after(s, s->x, 9), *more = after(s, s->x, 10),
               *x = after(s, s->x, s->iterations);
        for (int64_t q = 0; q < points; q++)
            x[q] -= more[q] - less[q];
        put_back(s, s->x, x);
        free(less);
        free(more);
        return;
    }
    double *r = fault == WRAP_R_LATE ? after(s, s->r, s->iterations - 1) : NULL;
    nek_solve(s);
    if (r)
        put_back(s, s->r, r);
    for (int k = 0; fault == WRAP_HISTORY_FLOAT && k <= s->iterations; k++)
        s->history[k] = rt_rounded(s->history[k]);
    if (fault == WRAP_X_FLOAT) {
        double *x = fetched(s, s->x);
        for (int64_t q = 0; q < points; q++)
            x[q] = rt_rounded(x[q]);
        put_back(s, s->x, x);
    }
}

/* --- what is timed --- */

static void honest_solve(nek_solver_t *s)
{
    if (variant >= WRAPPED)
        wrapped_solve(s);
    else if (variant == TWO_SUMS)
        faulty_two_sums(s);
    else if (variant == ONE_PASS || variant == ONE_PASS_ALWAYS)
        faulty_one_pass(s);
    else
        faulty_cg(s);
}

static rt_recall_t recall;

static void spoil_x(nek_solver_t *s)
{
    const int n = s->view.n;
    double *x = fetched(s, s->x);
    if (fault == NAN_IN_X && rt_comm_rank() == 0)
        x[s->view.points / 2] = NAN;
    for (int64_t q = 0; fault == SCALED && q < s->view.points; q++)
        x[q] *= 1 + 1e-9;
    if (fault == ONE_POINT && rt_comm_rank() == 0) /* inside the first element */
        x[(n / 2 * n + n / 2) * n + n / 2] += 1e-6;
    put_back(s, s->x, x);
}

static void remembered_solve(nek_solver_t *s)
{
    const size_t points = (size_t)s->view.points;
    const rt_piece_t b = {s->b, points}, out[] = {{s->x, points},
                                                  {s->r, points},
                                                  {s->history, (size_t)s->iterations + 1}};
    if (rt_recall(&recall, (rt_recall_how_t)(fault - KEPT), b, out, 3))
        return;
    honest_solve(s);
    rt_recall_keep(&recall, b, out, 3);
}

static void faulty_solve(void *solver)
{
    nek_solver_t *s = solver;
    const nek_problem_t *p = s->problem;
    size_t bytes = (size_t)s->view.points * sizeof(double);
    solves++;
    switch (fault) {
    case NOTHING:
        return;
    case NOTHING_SECOND:
        if (solves < 2)
            nek_solve(s);
        return;
    case LEFT_OVER: /* only for the reference's right-hand side */
        rt_copy(s->x, s->space, p->reference.x, RT_HOST, bytes);
        memcpy(s->history, p->reference.history, (size_t)(s->iterations + 1) * sizeof(double));
        return;
    case KEPT:
    case KEPT_SCALED:
    case KEPT_COMBINED:
        remembered_solve(s);
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
        honest_solve(s);
    }
    if (fault == NAN_IN_X || fault == SCALED || fault == ONE_POINT)
        spoil_x(s);
}

/* --- the suite --- */

static const rt_kernels_t *kernels(const rt_mutant_t *mutant)
{
    static const nek_vector_t vector = {.partial_size = partial_size,
                                        .update_p = faulty_update_p,
                                        .shift = faulty_shift,
                                        .update_xr = faulty_update_xr,
                                        .dot = faulty_dot,
                                        .update_p_z = faulty_update_p_z,
                                        .update_xr_z = faulty_update_xr_z};
    static const nek_kernels_t tables[] = {
        [LINES] = {.ax = faulty_ax, .vector = &vector},
        [PRODUCTS] = {.ax = faulty_products, .vector = &vector},
        [ONE_PASS] = {.ax = faulty_ax, .vector = &vector},
        [ONE_PASS_ALWAYS] = {.ax = faulty_ax, .vector = &vector, .cg = faulty_one_pass},
        [TWO_SUMS] = {.ax = faulty_ax, .vector = &vector}};
    if (mutant->variant >= WRAPPED)
        return rt_ladder_find(nek_ladder, NEK_RUNGS, wrapped[mutant->variant - WRAPPED])->kernels;
    return &tables[mutant->variant].rung;
}

static void begin(const rt_mutant_t *mutant, void *problem)
{
    const nek_problem_t *p = problem;
    const size_t points = (size_t)p->config->points;
    fault = (fault_t)mutant->fault;
    variant = mutant->variant;
    solves = ax_calls = 0;
    double **arrays[] = {&own_inverse, &old_local, &old_sum};
    for (int i = 0; i < 3; i++) {
        *arrays[i] = RT_NEW(double, points, RT_HOST);
        memset(*arrays[i], 0, points * sizeof(double));
    }
    if (p->inverse)
        fill_inverse(p, own_inverse);
}

static void end(void)
{
    fault = HONEST;
    rt_recall_forget(&recall);
    RT_FREE(own_inverse, RT_HOST);
    RT_FREE(old_local, RT_HOST);
    RT_FREE(old_sum, RT_HOST);
}

static const rt_mutant_t honest[] = {
    {HONEST, "mutant without a fault", RT_EVERY_PROBLEM, true, 0},
    {ONE_N_WRONG, "wrong for n = 7, with n = 6", BENT, false, 0},
    {HONEST, "mutant of small products without a fault", RT_EVERY_PROBLEM, false, PRODUCTS},
    {HONEST, "mutant in one pass without a fault", BENT, true, ONE_PASS_ALWAYS},
    {HONEST, "the same", BENT_7, true, ONE_PASS_ALWAYS},
    {HONEST, "the same", STRAIGHT, true, ONE_PASS_ALWAYS},
    {HONEST, "the same", LONG, true, ONE_PASS_ALWAYS},
    {HONEST, "mutant of two sums without a fault", BENT, false, TWO_SUMS},
};
static const rt_mutant_t wrapped_honest = {HONEST, "without a fault", BENT, true, 0};

/* Adds each of the n faults in `wrapping` for each rung of `wrapped` that this build has. Returns
 * the new length of the list. */
static int add_wrapped(const rt_mutant_t *wrapping, int n, rt_mutant_t *list, int count)
{
    for (int r = 0; wrapped[r]; r++)
        for (int i = 0; i < n; i++) {
            char *name = malloc(80);
            RT_EXPECT(name && count < MOST_MUTANTS, RT_MEMORY, "no room for mutant %d", count);
            snprintf(name, 80, "%s: %s", wrapped[r], wrapping[i].name);
            list[count] = wrapping[i];
            list[count].name = name;
            list[count++].variant = WRAPPED + r;
        }
    return count;
}

int main(int argc, char **argv)
{
    enum { WRAPPINGS = sizeof wrappings / sizeof *wrappings };
    static rt_mutant_t all[MOST_MUTANTS], good[MOST_MUTANTS];
    rt_mutants_t suite = {.app = &nek_app,
                          .only = "iteration",
                          .settings = settings,
                          .problems = PROBLEMS,
                          .mutants = all,
                          .honest = good,
                          .lost_message = MESSAGE_DROPPED,
                          .solver_new = faulty_solver_new,
                          .solve = faulty_solve,
                          .kernels = kernels,
                          .begin = begin,
                          .end = end};
    if (argc > 1 && strcmp(argv[1], "--device") == 0) {
        wrapped = wrapped_on_device;
        suite.kind = RT_CUDA;
    } else {
        memcpy(all, mutants, sizeof mutants);
        memcpy(good, honest, sizeof honest);
        suite.n_mutants = sizeof mutants / sizeof *mutants;
        suite.n_honest = sizeof honest / sizeof *honest;
    }
    suite.n_mutants = add_wrapped(wrappings, WRAPPINGS, all, suite.n_mutants);
    suite.n_honest = add_wrapped(&wrapped_honest, 1, good, suite.n_honest);
    const int status = rt_mutants_main(&suite, argc, argv);
    for (int i = 0; i < MOST_MUTANTS; i++) {
        if (all[i].variant >= WRAPPED)
            free((char *)all[i].name);
        if (good[i].variant >= WRAPPED)
            free((char *)good[i].name);
    }
    return status;
}
