/*
 * verify.c - what a rung must show before its time counts.
 *
 * Operator: y = A x on random x against the definition, for the form of a time step and for mass
 * and stiffness alone (which detects mixed-up coefficients), the same bits twice where that is
 * claimed, ghosts of y untouched, FP32 and the fused dot product where they exist. Ghosts
 * of x are filled with NaN first, so any valid value must have come through the halo.
 *
 * Predictor: z = P r on random r, rounded as the rung gets it, against the definition in double.
 *
 * Solve: its operator and its predictor as above; its first step against the oracle's (oracle.c),
 * whatever the preconditioner; f - A du by the reference. After a solve: the state after all steps
 * and the last du against the oracle's; and the last step's f, computed again from the state before
 * it (Newmark run backwards), whose f - A du must be as small as the solver says. That difference is
 * how far the final state is from equilibrium, whatever du is: a wrong du would pass, and a large one
 * would make |f| large, by which it is divided. So du is compared too.
 *
 * What timed solves left is judged in the same way. They have other inputs (solve.c), which the judge
 * makes again. A solve has started with other velocities, for which the oracle has no solution, so a
 * random functional of the state after all steps is compared instead (oracle.c).
 *
 * Bounds. A component of y is a sum of 8 x 24 products. In any order, and also through the sums and
 * differences of a Hadamard transform, whose intermediate values are at most 8 times as large,
 * fewer than 256 roundings of |A| |x| occur. The definition itself makes 192. The predictor sums
 * 1029 products per kernel in FP32; with FP16 kernels each product has a relative error of up to
 * 2^-11, and r is the same for both. In addition, the worst value may be off by 1e-5 (FP32; more if
 * --reach is above 3) or 5e-3 (FP16) of the largest, as a yes-or-no check, because honest errors
 * come within a factor of 7; and P r as a whole by that share of |P r|.
 *
 * With a residual of tol |f| a step's du has an error of tol |A^-1 r| |f| / |r|: measured with
 * point sources, up to 5 tol |du|, and 8 in small boxes with free faces. u carries it on, v 2 / dt
 * and a 4 / dt^2 times that, also when the wave has gone and they are small: so each is compared
 * with the largest |u| or |du| that there was. The bound is 1e-7 where tol is 1e-8; it grows with
 * looser tolerances, and is 100 tol for tighter ones, so that no step on the way is much worse than
 * the last, whose residual is checked.
 *
 * Like all of judge/, compiled with strict floating point.
 */
#include "config.h"
#include <math.h>
#include <string.h>
#include "judge.h"
#include "judge/compare.h"
#include "judge/perturb.h"

static const double SOLUTION = 1e-7;            /* of |du| */
static const double SINGLE = 1e-5, HALF = 5e-3; /* of |z|, by precision of r */
/* How far a recurrence over a few dozen iterations drifts from the residual; and what running
 * Newmark backwards loses, where a is the difference of larger terms. */
static const double RECURRENCE = 1e-13, BACKWARDS = 1e-11;

/* Random vectors: the verifier's seed plus one of these. */
enum { SALT_A = 1, SALT_M, SALT_K, SALT_FUSED = 21, SALT_SINGLE = 31, SALT_R = 41, SALT_PART = 51 };

/* The vectors of the check that is running. */
enum { MOST_VECTORS = 16 };
typedef struct {
    double *x[MOST_VECTORS];
    int n;
} vectors_t;

typedef struct {
    gfnn_solver_t *s;
    gfnn_problem_t *p;
    const gfnn_box_t *box;
    rt_verdict_t *verdict;
    uint64_t seed;
    size_t fine, wide; /* values of a vector */
    vectors_t *made;
} bench_t;

static bench_t bench(void *solver, uint64_t seed, rt_verdict_t *verdict, vectors_t *made)
{
    gfnn_solver_t *s = solver;
    bench_t b = {s, s->problem, &s->problem->box, verdict, seed, 0, 0, made};
    b.fine = 3 * (size_t)b.box->fine.plane;
    b.wide = 3 * (size_t)b.box->wide.plane;
    return b;
}

/* Returns a zero vector, which lives until release. */
static double *fine(const bench_t *b)
{
    return b->made->x[b->made->n++] = gfnn_judge_vector(&b->box->fine);
}

static double *wide(const bench_t *b)
{
    return b->made->x[b->made->n++] = gfnn_judge_vector(&b->box->wide);
}

static void release(const bench_t *b)
{
    for (int i = 0; i < b->made->n; i++)
        RT_FREE(b->made->x[i], RT_HOST);
    b->made->n = 0;
}

/* --- the operator --- */

/* y = A x by the rung. Ghosts of x are unusable, and so is y beforehand, except its ghosts, which
 * hold a mark. Returns whether the mark is still there. */
static bool rung_apply(const bench_t *b, const gfnn_form_t *form, const double *x, double *y)
{
    const gfnn_grid_t *g = &b->box->fine;
    gfnn_solver_t *s = b->s;
    const double mark = 0x1.5p7;
#pragma omp parallel for schedule(static)
    for (size_t i = 0; i < b->fine; i++)
        y[i] = mark;
#pragma omp parallel for schedule(static) collapse(2)
    for (int c = 0; c < 3; c++)
        for (int64_t k = 0; k < g->n[2]; k++)
            for (int64_t j = 0; j < g->n[1]; j++)
                for (int64_t i = 0; i < g->n[0]; i++)
                    y[c * g->plane + gfnn_at(g, i, j, k)] = NAN;
    rt_copy(s->x, s->space, x, RT_HOST, b->fine * sizeof *x);
    rt_copy(s->q, s->space, y, RT_HOST, b->fine * sizeof *y);
    gfnn_apply(s, form, s->x, s->q);
    rt_copy(y, RT_HOST, s->q, s->space, b->fine * sizeof *y);
    double changed = 0;
#pragma omp parallel for schedule(static) reduction(+ : changed)
    for (size_t i = 0; i < b->fine; i++)
        changed += y[i] != mark;
    double wrong = changed != 3 * (double)g->n[0] * (double)g->n[1] * (double)g->n[2];
    rt_comm_max(&wrong, 1);
    return wrong == 0;
}

/* The rounding of one application, see the file's comment. */
static const double ROUNDINGS = 256;

/* The operator on a small part of the box while its threads are stopped at random: few rows are
 * enough to disagree about, and are done often in the time. */
typedef struct {
    const bench_t *b;
    gfnn_product_t product;
    const double *want, *bound;
} disturbed_t;

static void apply_disturbed(void *data)
{
    const disturbed_t *d = data;
    const gfnn_solver_t *s = d->b->s;
    s->kernels->op->apply(&s->view_op, &d->product);
}

/* Returns the worst error of the part over its bound. */
static double disturbed_error(void *data)
{
    const disturbed_t *d = data;
    const gfnn_grid_t *g = &d->b->box->fine;
    const gfnn_solver_t *s = d->b->s;
    const gfnn_region_t *part = &d->product.region;
    double most = 0;
    for (int c = 0; c < 3; c++)
        for (int64_t k = part->lo[2]; k < part->hi[2]; k++)
            for (int64_t j = part->lo[1]; j < part->hi[1]; j++)
                for (int64_t i = part->lo[0]; i < part->hi[0]; i++) {
                    const int64_t at = c * g->plane + gfnn_at(g, i, j, k);
                    most = fmax(most, rt_error_over(s->q[at], d->want[at],
                                                    ROUNDINGS * RT_EPS * d->bound[at]));
                    s->q[at] = NAN;
                }
    return most;
}

static void verify_disturbed(const bench_t *b)
{
    enum { MOST_EXTENT = 12 };
    const gfnn_grid_t *g = &b->box->fine;
    double *x = fine(b), *want = fine(b), *bound = fine(b);
    disturbed_t d = {.b = b,
                     .product = {.form = &b->p->step.A, .x = b->s->x, .y = b->s->q},
                     .want = want,
                     .bound = bound};
    gfnn_region_t *part = &d.product.region;
    for (int dim = 0; dim < 3; dim++) {
        const int64_t n = g->n[dim], extent = n < MOST_EXTENT ? n : MOST_EXTENT;
        part->lo[dim] =
            (int64_t)(rt_hash((uint64_t)dim, b->seed + SALT_PART) % (uint64_t)(n - extent + 1));
        part->hi[dim] = part->lo[dim] + extent;
    }
    gfnn_judge_draw(b->box, g, b->seed + SALT_A, x);
    rung_apply(b, &b->p->step.A, x, want);                  /* brings the ghosts of the rung's x */
    gfnn_oracle_apply(b->p, &b->p->step.A, false, x, want); /* and of this one */
    gfnn_oracle_apply(b->p, &b->p->step.A, true, x, bound);
    rt_verdict_check(b->verdict, "A x while threads are stopped at random (of its rounding bound)",
                     rt_perturb(apply_disturbed, disturbed_error, &d), 1);
    release(b);
}

/* Checks got = A x by the definition, with vectors whose roundings are `unit`; brings x's ghosts. */
static void check_product(const bench_t *b, const gfnn_form_t *form, const char *name, double *x,
                          const double *got, double unit)
{
    double *want = fine(b), *bound = fine(b);
    gfnn_oracle_apply(b->p, form, false, x, want);
    gfnn_oracle_apply(b->p, form, true, x, bound);
    rt_verdict_check(b->verdict, name,
                     gfnn_judge_compare(&b->box->fine, want, got, bound, ROUNDINGS * unit).worst,
                     1);
}

static void verify_form(const bench_t *b, const gfnn_form_t *form, const char *name, uint64_t salt)
{
    const gfnn_grid_t *g = &b->box->fine;
    double *x = fine(b), *got = fine(b), *again = fine(b);
    gfnn_judge_draw(b->box, g, b->seed + salt, x);
    const bool whole = rung_apply(b, form, x, got);
    check_product(b, form, name, x, got, RT_EPS);
    rt_verdict_true(b->verdict, "the judge's own ghosts are what is drawn for their nodes",
                    gfnn_judge_ghosts(b->box, g, b->seed + salt, x));
    rt_verdict_true(b->verdict, "no ghost of y touched", whole);
    if (b->s->kernels->rung.reproducible) {
        rung_apply(b, form, x, again);
        rt_verdict_true(b->verdict, "the same bits twice, as it claims",
                        gfnn_judge_compare(g, got, again, NULL, 0).difference == 0);
    }
    release(b);
}

/* Makes y = A x of all own nodes by one call of the rung, without halo, and checks x.Ax, which that
 * call leaves; x_host is x and y_host A x. */
static void check_fused(const bench_t *b, const char *name, gfnn_type_t type, void *x, void *y,
                        const double *x_host, const double *y_host)
{
    gfnn_solver_t *s = b->s;
    const int64_t *n = b->box->n;
    const gfnn_grid_t *g = &b->box->fine;
    double got = NAN, *sum = RT_NEW(double, 1, s->space);
    const gfnn_product_t product = {.form = &b->p->step.A,
                                    .region = {{0, 0, 0}, {n[0], n[1], n[2]}},
                                    .type = type,
                                    .x = x,
                                    .y = y,
                                    .dot = sum};
    rt_copy(sum, s->space, &got, RT_HOST, sizeof got);
    s->kernels->op->apply(&s->view_op, &product);
    rt_copy(&got, RT_HOST, sum, s->space, sizeof got);
    rt_comm_sum(&got, 1);
    RT_FREE(sum, s->space);
    const double want = gfnn_judge_dot(g, x_host, y_host),
                 size = gfnn_judge_norm(g, x_host) * gfnn_judge_norm(g, y_host);
    rt_verdict_check(b->verdict, name, fabs(got - want) / size,
                     ROUNDINGS * (type == GFNN_SINGLE ? 0x1p-24 : RT_EPS));
}

/* Checks A x and x.Ax of one call. */
static void verify_fused(const bench_t *b)
{
    gfnn_solver_t *s = b->s;
    double *x = fine(b), *y = fine(b);
    gfnn_judge_draw(b->box, &b->box->fine, b->seed + SALT_FUSED, x);
    rung_apply(b, &b->p->step.A, x, y); /* x's ghosts are up to date now */
    rt_fill(s->q, s->space, 0xff, b->fine * sizeof *y);
    check_fused(b, "x.Ax with it (of |x| |Ax|)", GFNN_DOUBLE, s->x, s->q, x, y);
    rt_copy(y, RT_HOST, s->q, s->space, b->fine * sizeof *y);
    check_product(b, &b->p->step.A, "A x with x.Ax (of its rounding bound)", x, y, RT_EPS);
    release(b);
}

/* Takes own values of a vector on `wide` into one on `fine`. */
static void widen(const bench_t *b, const float *low, double *x)
{
    const gfnn_grid_t *f = &b->box->fine, *w = &b->box->wide;
#pragma omp parallel for schedule(static) collapse(2)
    for (int c = 0; c < 3; c++)
        for (int64_t k = 0; k < f->n[2]; k++)
            for (int64_t j = 0; j < f->n[1]; j++)
                for (int64_t i = 0; i < f->n[0]; i++)
                    x[c * f->plane + gfnn_at(f, i, j, k)] = low[c * w->plane + gfnn_at(w, i, j, k)];
}

/* A in FP32: of vectors that are FP32, or of the preconditioner. */
static void verify_single(const bench_t *b)
{
    gfnn_solver_t *s = b->s;
    const bool of_cg = gfnn_is_single(b->p->config);
    float *x32 = of_cg ? s->cg.p : s->z, *y32 = of_cg ? s->cg.q : s->t32;
    const size_t bytes = b->wide * sizeof(float);
    float *low = RT_NEW(float, b->wide, RT_HOST);
    double *x = fine(b), *got = fine(b), *drawn = wide(b);
    gfnn_judge_draw(b->box, &b->box->wide, b->seed + SALT_SINGLE, drawn);
#pragma omp parallel for schedule(static)
    for (size_t i = 0; i < b->wide; i++)
        low[i] = (float)drawn[i];
    widen(b, low, x);
    rt_copy(x32, s->space, low, RT_HOST, bytes);
    rt_fill(y32, s->space, 0xff, bytes);
    gfnn_apply32(s, &b->p->step.A, x32, y32);
    rt_copy(low, RT_HOST, y32, s->space, bytes);
    widen(b, low, got);
    check_product(b, &b->p->step.A, "A x in FP32 (of its rounding bound)", x, got, 0x1p-24);
    if (of_cg && s->kernels->op->sums)
        check_fused(b, "x.Ax in FP32 with it (of |x| |Ax|)", GFNN_SINGLE, x32, y32, x, got);
    rt_fill(x32, s->space, 0, bytes);
    rt_fill(y32, s->space, 0, bytes);
    RT_FREE(low, RT_HOST);
    release(b);
}

/* Zeroes x and y of the solver after a test: ghosts of x beyond faces must be zero again. */
static void clean(const bench_t *b)
{
    gfnn_solver_t *s = b->s;
    rt_fill(s->x, s->space, 0, b->fine * sizeof(double));
    rt_fill(s->q, s->space, 0, b->fine * sizeof(double));
}

static void verify_operator(const bench_t *b)
{
    const gfnn_step_t *step = &b->p->step;
    verify_form(b, &step->A, "A x (of its rounding bound)", SALT_A);
    verify_form(b, &step->M, "M x (of its rounding bound)", SALT_M);
    verify_form(b, &step->K, "K x (of its rounding bound)", SALT_K);
    if (b->s->rung->kind == RT_CPU)
        verify_disturbed(b);
    if (b->s->kernels->op->sums)
        verify_fused(b);
    if (b->s->t32 || (b->s->cg.p && gfnn_is_single(b->p->config)))
        verify_single(b);
    clean(b);
}

/* --- the predictor --- */

/* Rounds x, below 2^15 in magnitude, to the nearest 16-bit float; returns its bits. Independent of
 * node.h, which it judges. */
static uint16_t half_bits(double *x)
{
    int exponent;
    const double magnitude = fabs(*x);
    const uint16_t sign = signbit(*x) ? 0x8000 : 0;
    if (magnitude == 0)
        return sign;
    frexp(magnitude, &exponent); /* in 2^(exponent - 1) .. 2^exponent */
    const int step = exponent - 11 > -24 ? exponent - 11 : -24;
    const double rounded = rint(ldexp(magnitude, -step));
    *x = copysign(ldexp(rounded, step), *x);
    /* a mantissa that was rounded up to 2^11 correctly carries into the exponent */
    const uint16_t bits =
        step == -24 ? (uint16_t)rounded : (uint16_t)(((step + 24) << 10) + (int)rounded);
    return (uint16_t)(sign | bits);
}

/* z = P r by the rung, r random; rounds r as the rung gets it. */
static void rung_predict(const bench_t *b, double *r, double *z)
{
    gfnn_solver_t *s = b->s;
    const bool half = s->network.precision == GFNN_FP16;
    float *low = RT_NEW(float, b->wide, RT_HOST);
    uint16_t *bits = (uint16_t *)low;
    for (size_t i = 0; i < b->wide; i++)
        if (half)
            bits[i] = rt_finite(r[i]) ? half_bits(&r[i]) : 0x7e00;
        else
            r[i] = low[i] = (float)r[i];
    rt_copy(half ? s->low : (void *)s->r32, s->space, low, RT_HOST,
            b->wide * (half ? sizeof *bits : sizeof *low));
    rt_fill(s->z, s->space, 0xff, b->wide * sizeof *low);
    gfnn_predict(s);
    rt_copy(low, RT_HOST, s->z, s->space, b->wide * sizeof *low);
#pragma omp parallel for schedule(static)
    for (size_t i = 0; i < b->wide; i++)
        z[i] = low[i];
    RT_FREE(low, RT_HOST);
}

/* Brings the ghosts of a host array on `wide`. */
static void bring_wide(const bench_t *b, double *r)
{
    rt_halo_t *halo =
        gfnn_halo_new(b->box, &b->box->wide, b->s->network.reach, "staged", RT_CPU, RT_HOST);
    if (!halo)
        return;
    const rt_field_t field = gfnn_field(&b->box->wide, r, RT_F64);
    rt_halo_do(halo, RT_HALO_COPY, &field);
    rt_halo_destroy(halo);
}

/* Returns the share of |z| that honest rungs stay below. Roundings of longer kernels have random
 * signs too, so they grow like the square root of the number of terms. */
static double share_of_z(const gfnn_network_t *network)
{
    const double longer = sqrt((double)gfnn_stencil(network->reach) / GFNN_STENCIL);
    return network->precision == GFNN_FP16 ? HALF : SINGLE * longer;
}

/* Checks got = P r by the definition, for r as the rung got it: as a whole, by its worst value and, if
 * it has a name, by the rounding bound. Brings r's ghosts; want is scratch. */
static void check_z(const bench_t *b, double *r, const double *got, const char *rounding,
                    const char *whole, const char *worst, double *want)
{
    const gfnn_grid_t *g = &b->box->wide;
    gfnn_network_t host = b->s->network;
    /* K in 16 bits: half a unit of 11 digits, and as much again for values below 2^-14 of the
     * largest, which have fewer */
    const double roundings = ((double)gfnn_stencil(host.reach) * 3 + 16) * 0x1p-24 +
                             (host.precision == GFNN_FP16 ? 0x1p-10 : 0);
    const double share = share_of_z(&host);
    double *bound = wide(b);
    host.c = b->p->coef;
    bring_wide(b, r);
    gfnn_predict_reference(b->box, &host, false, r, want);
    if (rounding)
        gfnn_predict_reference(b->box, &host, true, r, bound);
    const gfnn_judged_t t = gfnn_judge_compare(g, want, got, rounding ? bound : NULL, roundings);
    if (rounding)
        rt_verdict_check(b->verdict, rounding, t.worst, 1);
    rt_verdict_check(b->verdict, whole,
                     gfnn_judge_apart(g, got, want, bound) / gfnn_judge_norm(g, want), share);
    rt_verdict_true(b->verdict, worst, t.difference <= share * t.largest);
}

static void verify_predictor(const bench_t *b)
{
    gfnn_solver_t *s = b->s;
    const gfnn_grid_t *g = &b->box->wide;
    double *r = wide(b), *got = wide(b), *want = wide(b);
    gfnn_judge_draw(b->box, g, b->seed + SALT_R, r);
    rung_predict(b, r, got);
    check_z(b, r, got, "P r (of its rounding bound)", "P r (of |P r|)",
            "P r, one value (of the largest)", want);
    if (s->kernels->rung.reproducible) {
        rung_predict(b, r, want);
        rt_verdict_true(b->verdict, "the same bits twice, as it claims",
                        gfnn_judge_compare(g, got, want, NULL, 0).difference == 0);
    }
    rt_fill(s->z, s->space, 0, b->wide * sizeof(float));
    release(b);
}

/* --- the solve --- */

static gfnn_oracle_t *oracle_of(gfnn_problem_t *p)
{
    if (!p->oracle)
        p->oracle = gfnn_oracle_new(p);
    return p->oracle;
}

static const gfnn_oracle_t *transposed_of(gfnn_problem_t *p)
{
    gfnn_oracle_t *oracle = oracle_of(p);
    uint64_t seed = rt_hash(0, (uint64_t)(rt_clock() * 1e9)) | 1; /* another one in every run */
    rt_comm_bcast(&seed, sizeof seed, 0);
    if (oracle->seed == 0)
        gfnn_oracle_transpose(p, seed, oracle);
    return oracle;
}

/* Returns |f - A du| / |f| by the definition; brings du's ghosts. */
static double true_residual(const bench_t *b, const double *f, double *du, double *scratch)
{
    const gfnn_grid_t *g = &b->box->fine;
    gfnn_oracle_apply(b->p, &b->p->step.A, false, du, scratch);
    return gfnn_judge_apart(g, f, scratch, scratch) / gfnn_judge_norm(g, f);
}

/* Brings a vector of the solver to the host. */
static void get(const bench_t *b, const double *from, double *to)
{
    rt_copy(to, RT_HOST, from, b->s->space, b->fine * sizeof *to);
}

/* Returns the bound after n steps: each may add the error of one, and the next carries it
 * on. */
static double solution_bound(const bench_t *b, int64_t steps)
{
    const double tolerance = b->p->config->tolerance;
    return (double)(steps + 1) * fmax(10 * tolerance, fmin(SOLUTION, 100 * tolerance));
}

/* Returns whether a right program would reach the tolerance in every step: its first step did, and
 * the oracle's later steps take no more iterations than its first, in proportion; or the oracle does,
 * with blocks as its preconditioner. */
static bool could_reach(const bench_t *b)
{
    const gfnn_config_t *config = b->p->config;
    const gfnn_oracle_t *oracle = oracle_of(b->p);
    const int64_t first = oracle->iterations_bj, most = oracle->most_iterations,
                  limit = config->max_iterations;
    const int64_t judged = b->s->judged_iterations;
    return first > 0 && (2 * most <= limit || (judged > 0 && judged * most <= limit * first));
}

/* Checks that steps reached the tolerance, by the largest residual that the solver saw; returns
 * whether they did. */
static bool check_reached(const bench_t *b, const char *name, double residual)
{
    const bool reached = residual < b->p->config->tolerance;
    if (!reached && rt_finite(residual) && !could_reach(b))
        rt_verdict_converged(b->verdict, name, false);
    else
        rt_verdict_true(b->verdict, name, reached);
    return reached;
}

/* Checks |f - A du| of a step by the definition: below the tolerance, or what the solver saw. */
static void check_residual(const bench_t *b, const char *name, double seen, double left,
                           double spare)
{
    const double most = fmax(b->p->config->tolerance, seen);
    rt_verdict_true(b->verdict, name, left <= 1.01 * most + spare);
}

/* Checks A x = f for the first step's f, by the rung, with its preconditioner. */
static void verify_first_step(const bench_t *b)
{
    gfnn_solver_t *s = b->s;
    const gfnn_grid_t *g = &b->box->fine;
    const gfnn_oracle_t *oracle = oracle_of(b->p);
    double *f = fine(b), *du = fine(b), *t = fine(b);
    gfnn_oracle_force(b->p, &b->p->start, b->p->config->dt, f);
    rt_copy(s->f, s->space, f, RT_HOST, b->fine * sizeof *f);
    const int64_t iterations = gfnn_cg(s);
    s->judged_iterations = s->residual < b->p->config->tolerance ? iterations : 0;
    get(b, s->x, du);
    rt_verdict_check(b->verdict, "the oracle's operator (of its rounding bound)",
                     oracle->operator_error, 1);
    if (check_reached(b, "converged", s->residual))
        rt_verdict_check(b->verdict, "du of the first step = the oracle's (of |du|)",
                         gfnn_judge_apart(g, du, oracle->du, t) / oracle->norm,
                         solution_bound(b, 1));
    check_residual(b, "|f - A du| by the definition, below the tolerance or as the solver saw it",
                   s->residual, true_residual(b, f, du, t), RECURRENCE);
    release(b);
}

/* Checks the last step's f, from the state before it: Newmark run backwards. */
static void verify_last_step(const bench_t *b, const gfnn_kept_t *kept, const gfnn_state_t *end,
                             double *du)
{
    const double dt = b->p->config->dt;
    gfnn_state_t before = {fine(b), fine(b), fine(b)};
    double *f = fine(b), *t = fine(b);
#pragma omp parallel for schedule(static)
    for (size_t i = 0; i < b->fine; i++) {
        before.u[i] = end->u[i] - du[i];
        before.v[i] = 2 * du[i] / dt - end->v[i];
        before.a[i] = 4 * du[i] / (dt * dt) - 4 * before.v[i] / dt - end->a[i];
    }
    gfnn_oracle_force(b->p, &before, (double)kept->steps * dt, f);
    check_residual(b, "the same of the last step", kept->residual, true_residual(b, f, du, t),
                   BACKWARDS);
    release(b);
}

/* Compares the state after all steps of the problem itself. */
static void verify_state(const bench_t *b, const gfnn_state_t *end, const double *du)
{
    static const char *const names[4] = {
        "u after all steps = the oracle's (of the largest |u|)",
        "v after all steps = the oracle's (of 2 |du| / dt)",
        "a after all steps = the oracle's (of 4 |du| / dt^2)",
        "du of the last step = the oracle's (of the largest |du|)"};
    const gfnn_grid_t *g = &b->box->fine;
    const gfnn_oracle_t *oracle = oracle_of(b->p);
    double *t = fine(b);
    const double *got[4] = {end->u, end->v, end->a, du},
                 *want[4] = {oracle->end.u, oracle->end.v, oracle->end.a, oracle->last};
    const double dt = b->p->config->dt, step = oracle->most_du;
    const double size[4] = {oracle->most_u, 2 * step / dt, 4 * step / (dt * dt), step};
    for (int i = 0; i < 4; i++)
        rt_verdict_check(b->verdict, names[i], gfnn_judge_apart(g, got[i], want[i], t) / size[i],
                         solution_bound(b, b->p->config->steps));
    release(b);
}

/* Compares g of the state after all steps of a draw. The start, and what the source brings, say how
 * large the errors of honest solves are. */
static void verify_functional(const bench_t *b, const gfnn_state_t *end, uint64_t draw)
{
    const gfnn_grid_t *g = &b->box->fine;
    const gfnn_oracle_t *oracle = transposed_of(b->p);
    double *w = fine(b);
    rt_draw(w, RT_HOST, b->p->noise, b->fine, sizeof *w, gfnn_draw(draw));
    const double got = gfnn_oracle_functional(b->p, oracle->seed, end),
                 without = gfnn_oracle_functional(b->p, oracle->seed, &oracle->end),
                 size = b->p->config->dt / 2 * gfnn_judge_norm(g, w) +
                        fmax(oracle->most_u, oracle->most_du);
    rt_verdict_check(b->verdict, "the state after all steps of timed solves (of the largest |u|)",
                     fabs(got - without - gfnn_judge_dot(g, oracle->per_v, w)) / size,
                     solution_bound(b, b->p->config->steps));
    release(b);
}

static void verify_solve_left(const bench_t *b, const gfnn_kept_t *kept)
{
    double *const *left = (double *const *)kept->left;
    const gfnn_state_t end = {left[0], left[1], left[2]};
    const int64_t asked = b->p->config->steps;
    const bool reached =
        check_reached(b, "every step converged, as the solver saw it", kept->residual);
    if (reached && kept->draw == 0)
        verify_state(b, &end, left[3]);
    else if (reached)
        verify_functional(b, &end, kept->draw);
    verify_last_step(b, kept, &end, left[3]);
    rt_verdict_true(b->verdict, "as many steps as asked, or up to one that did not converge",
                    kept->steps == asked || (!reached && kept->steps > 0 && kept->steps < asked));
}

/* --- before and after --- */

static bool uses_network(const gfnn_solver_t *s)
{
    return s->kernels->ladder != GFNN_LADDER_OPERATOR && s->problem->coef;
}

void gfnn_verify_before(void *solver, uint64_t seed, rt_verdict_t *verdict)
{
    vectors_t made = {.n = 0};
    const bench_t b = bench(solver, seed, verdict, &made);
    if (b.s->kernels->ladder != GFNN_LADDER_PREDICTOR)
        verify_operator(&b);
    if (uses_network(b.s))
        verify_predictor(&b);
    if (b.s->kernels->ladder == GFNN_LADDER_SOLVE) {
        verify_first_step(&b);
        if (b.p->run->opt.seconds > 0)
            transposed_of(b.p); /* now: nothing of solves is kept yet, so there is memory */
    }
}

/* What an application left: A or P of the input that a draw makes. */
static void verify_operator_left(const bench_t *b, const gfnn_kept_t *kept)
{
    double *x = fine(b);
    gfnn_input(b->s, kept->draw, x);
    check_product(b, &b->p->step.A, "A x left behind (of its rounding bound)", x, kept->left[0],
                  RT_EPS);
    release(b);
}

static void verify_predictor_left(const bench_t *b, const gfnn_kept_t *kept)
{
    const bool half = b->s->network.precision == GFNN_FP16;
    double *r = wide(b), *got = wide(b);
    const float *z = kept->left[0];
    gfnn_input(b->s, kept->draw, r);
#pragma omp parallel for schedule(static)
    for (size_t i = 0; i < b->wide; i++) {
        if (half)
            half_bits(&r[i]);
        got[i] = z[i];
    }
    check_z(b, r, got, NULL, "P r left behind (of |P r|)",
            "P r left behind, one value (of the largest)", wide(b));
    release(b);
}

void gfnn_verify_after(void *solver, rt_verdict_t *verdict)
{
    static void (*const verify[])(const bench_t *, const gfnn_kept_t *) = {
        [GFNN_LADDER_OPERATOR] = verify_operator_left,
        [GFNN_LADDER_PREDICTOR] = verify_predictor_left,
        [GFNN_LADDER_SOLVE] = verify_solve_left};
    vectors_t made = {.n = 0};
    const bench_t b = bench(solver, 0, verdict, &made);
    for (int i = RT_KEEPS - 1; i >= 0; i--) {
        gfnn_kept_t *kept = &b.s->kept[i];
        if (i == RT_KEEP_NOTHING) /* what the solver holds is judged like what was put aside */
            gfnn_keep(b.s, kept);
        if (kept->left[0])
            verify[b.s->kernels->ladder](&b, kept);
        gfnn_forget(kept);
    }
    if (b.s->kernels->ladder == GFNN_LADDER_SOLVE)
        gfnn_verify_replay(b.s, verdict);
}
