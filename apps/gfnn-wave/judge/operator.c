/*
 * operator.c - what the operator of a rung must show.
 *
 * y = A x on random x against the definition, for the form of a time step and for mass and stiffness
 * alone (which detects mixed-up coefficients), the same bits twice where that is claimed, ghosts of y
 * untouched, FP32 and the fused dot product where they exist. Ghosts of x are filled with NaN first,
 * so any valid value must have come through the halo.
 *
 * Bounds. A component of y is a sum of 8 x 24 products. In any order, and also through the sums and
 * differences of a Hadamard transform, whose intermediate values are at most 8 times as large,
 * fewer than 256 roundings of |A| |x| occur. The definition itself makes 192.
 */
#include "config.h"
#include <math.h>
#include "judge.h"
#include "judge/compare.h"
#include "judge/perturb.h"

static const double ROUNDINGS = 256; /* of one application */

/* Random vectors: the verifier's seed plus one of these. */
enum { SALT_A = 1, SALT_M, SALT_K, SALT_FUSED = 21, SALT_SINGLE = 31, SALT_PART = 51 };

/* A product's vectors in the rung's memory. */
typedef struct {
    gfnn_type_t type;
    rt_type_t value;
    const gfnn_grid_t *grid;
    double unit; /* roundoff */
    void *x, *y;
} operands_t;

/* FP32: of vectors that are FP32, or of the preconditioner. */
static operands_t operands(const gfnn_bench_t *b, gfnn_type_t type)
{
    const gfnn_solver_t *s = b->s;
    if (type == GFNN_DOUBLE)
        return (operands_t){type, RT_F64, &b->box->fine, RT_EPS, s->x, s->q};
    const bool of_cg = gfnn_is_single(b->p->config);
    return (operands_t){
        type, RT_F32, &b->box->wide, 0x1p-24, of_cg ? s->cg.p : s->z, of_cg ? s->cg.q : s->t32};
}

/* Returns random values on a grid, as a type has them; ghosts that the halo is to bring are NaN. */
static double *drawn(gfnn_bench_t *b, const gfnn_grid_t *g, rt_type_t type, uint64_t salt)
{
    double *x = gfnn_judge_scratch(&b->scratch, g);
    gfnn_judge_draw(b->box, g, b->seed + salt, 1, NAN, x);
    gfnn_judge_round(g, type, x);
    return x;
}

/* Gives the rung the x of drawn(). */
static void give_x(gfnn_bench_t *b, const operands_t *o, uint64_t salt)
{
    const int before = b->scratch.n;
    gfnn_judge_put(b->s, o->grid, o->value, drawn(b, o->grid, o->value, salt), o->x);
    gfnn_judge_release(&b->scratch, before);
}

/* y = A x by the rung, for the x that it has. y holds a mark beforehand. dot NULL: with halo; else
 * by one call, which leaves x . y, and without halo. Returns whether ghosts of y still hold the
 * mark, and own values do not. */
static bool rung_apply(const gfnn_bench_t *b, const operands_t *o, const gfnn_form_t *form,
                       double *y, double *dot)
{
    const gfnn_grid_t *g = o->grid;
    const double mark = 0x1.5p7;
    gfnn_solver_t *s = b->s;
#pragma omp parallel for schedule(static)
    for (int64_t i = 0; i < 3 * g->plane; i++)
        y[i] = mark;
    gfnn_judge_put(s, g, o->value, y, o->y);
    if (dot) {
        double *sum = rt_clone(dot, 1, sizeof *dot, s->space);
        gfnn_product_t product = {.form = form, .type = o->type, .x = o->x, .y = o->y, .dot = sum};
        s->kernels->op->apply(&s->view_op, &product);
        rt_copy(dot, RT_HOST, sum, s->space, sizeof *dot);
        rt_comm_sum(dot, 1);
        RT_FREE(sum, s->space);
    } else if (o->type == GFNN_SINGLE) {
        gfnn_apply32(s, form, o->x, o->y);
    } else {
        gfnn_apply(s, form, o->x, o->y);
    }
    gfnn_judge_get(s, g, o->value, o->y, y);
    double changed = 0;
#pragma omp parallel for schedule(static) reduction(+ : changed)
    for (int64_t i = 0; i < 3 * g->plane; i++)
        changed += y[i] != mark;
    double wrong = changed != 3 * (double)g->n[0] * (double)g->n[1] * (double)g->n[2];
    rt_comm_max(&wrong, 1);
    return wrong == 0;
}

/* Checks got = A x by the definition, x on `fine`, with vectors whose roundings are `unit`; brings
 * x's ghosts. */
static void check_product(gfnn_bench_t *b, const gfnn_form_t *form, const char *name, double *x,
                          const gfnn_grid_t *of_got, const double *got, double unit)
{
    const gfnn_grid_t *g = &b->box->fine;
    double *want = gfnn_judge_scratch(&b->scratch, g), *bound = gfnn_judge_scratch(&b->scratch, g);
    gfnn_oracle_apply(b->p, form, false, x, want);
    gfnn_oracle_apply(b->p, form, true, x, bound);
    rt_verdict_check(b->verdict, name,
                     gfnn_judge_compare(g, want, of_got, got, bound, ROUNDINGS * unit).worst, 1);
}

static void verify_form(gfnn_bench_t *b, gfnn_type_t type, const gfnn_form_t *form,
                        const char *name, uint64_t salt)
{
    const operands_t o = operands(b, type);
    const gfnn_grid_t *g = &b->box->fine;
    double *got = gfnn_judge_scratch(&b->scratch, o.grid);
    give_x(b, &o, salt);
    rt_verdict_true(b->verdict, "no ghost of y touched", rung_apply(b, &o, form, got, NULL));
    if (b->s->kernels->rung.reproducible) {
        double *again = gfnn_judge_scratch(&b->scratch, o.grid);
        rung_apply(b, &o, form, again, NULL);
        rt_verdict_true(b->verdict, "the same bits twice, as it claims",
                        gfnn_judge_compare(o.grid, got, o.grid, again, NULL, 0).difference == 0);
        gfnn_judge_release(&b->scratch, 1);
    }
    double *x = drawn(b, g, o.value, salt);
    check_product(b, form, name, x, o.grid, got, o.unit);
    if (type == GFNN_DOUBLE)
        rt_verdict_true(b->verdict, "the judge's own ghosts are what is drawn for their nodes",
                        gfnn_judge_ghosts(b->box, g, b->seed + salt, x));
    gfnn_judge_release(&b->scratch, 0);
}

/* Checks A x of all own nodes and x.Ax, which one call of the rung leaves. */
static void verify_fused(gfnn_bench_t *b, gfnn_type_t type, const char *name, const char *dot)
{
    const operands_t o = operands(b, type);
    double *y = gfnn_judge_scratch(&b->scratch, o.grid), got = NAN;
    give_x(b, &o, SALT_FUSED);
    rung_apply(b, &o, &b->p->step.A, y, NULL); /* brings the ghosts of x */
    rung_apply(b, &o, &b->p->step.A, y, &got);
    const double *x = drawn(b, o.grid, o.value, SALT_FUSED);
    rt_verdict_check(b->verdict, dot,
                     fabs(got - gfnn_judge_dot(o.grid, x, y)) /
                         (gfnn_judge_norm(o.grid, x) * gfnn_judge_norm(o.grid, y)),
                     ROUNDINGS * o.unit);
    gfnn_judge_release(&b->scratch, 1);
    check_product(b, &b->p->step.A, name, drawn(b, &b->box->fine, o.value, SALT_FUSED), o.grid, y,
                  o.unit);
    gfnn_judge_release(&b->scratch, 0);
}

/* The operator on a small part of the box while its threads are stopped at random: few rows are
 * enough to disagree about, and are done often in the time. To the rung the part is a box of its
 * own, whose ghosts are the nodes around it. */
typedef struct {
    const gfnn_operator_t *op;
    gfnn_view_t view;
    gfnn_box_t part;
    gfnn_product_t product;
    const double *want, *bound;
} disturbed_t;

static void apply_disturbed(void *data)
{
    const disturbed_t *d = data;
    d->op->apply(&d->view, &d->product);
}

static double disturbed_error(void *data)
{
    const disturbed_t *d = data;
    const gfnn_grid_t *g = &d->part.fine;
    return gfnn_judge_compare(g, d->want, g, d->product.y, d->bound, ROUNDINGS * RT_EPS).worst;
}

static void verify_disturbed(gfnn_bench_t *b)
{
    enum { MOST_EXTENT = 12 };
    const operands_t o = operands(b, GFNN_DOUBLE);
    const gfnn_grid_t *g = o.grid;
    double *want = gfnn_judge_scratch(&b->scratch, g), *bound = gfnn_judge_scratch(&b->scratch, g);
    const gfnn_product_t product = {.form = &b->p->step.A, .x = o.x, .y = o.y};
    disturbed_t d = {b->s->kernels->op, b->s->view_op, *b->box, product, want, bound};
    gfnn_box_t *part = &d.part;
    int64_t first[3];
    for (int dim = 0; dim < 3; dim++) {
        const int64_t n = g->n[dim], extent = n < MOST_EXTENT ? n : MOST_EXTENT;
        first[dim] =
            (int64_t)(rt_hash((uint64_t)dim, b->seed + SALT_PART) % (uint64_t)(n - extent + 1));
        part->n[dim] = part->fine.n[dim] = part->wide.n[dim] = extent;
    }
    part->fine.origin = gfnn_at(&b->box->fine, first[0], first[1], first[2]);
    part->wide.origin = gfnn_at(&b->box->wide, first[0], first[1], first[2]);
    d.view.box = part;
    give_x(b, &o, SALT_A);
    rung_apply(b, &o, &b->p->step.A, want, NULL); /* brings the ghosts of the rung's x */
    double *x = drawn(b, g, o.value, SALT_A);
    gfnn_oracle_apply(b->p, &b->p->step.A, false, x, want);
    gfnn_oracle_apply(b->p, &b->p->step.A, true, x, bound);
    rt_verdict_check(b->verdict, "A x while threads are stopped at random (of its rounding bound)",
                     rt_perturb(apply_disturbed, disturbed_error, &d), 1);
    gfnn_judge_release(&b->scratch, 0);
}

/* --- before and after --- */

/* Zeroes vectors after a test: ghosts of x beyond faces must be zero again. */
static void clean(const gfnn_bench_t *b, gfnn_type_t type)
{
    const operands_t o = operands(b, type);
    const size_t bytes = 3 * (size_t)o.grid->plane * (type == GFNN_SINGLE ? 4 : 8);
    rt_fill(o.x, b->s->space, 0, bytes);
    rt_fill(o.y, b->s->space, 0, bytes);
}

void gfnn_verify_operator(gfnn_bench_t *b)
{
    const gfnn_step_t *step = &b->p->step;
    const bool of_cg = b->s->cg.p && gfnn_is_single(b->p->config), sums = b->s->kernels->op->sums;
    verify_form(b, GFNN_DOUBLE, &step->A, "A x (of its rounding bound)", SALT_A);
    verify_form(b, GFNN_DOUBLE, &step->M, "M x (of its rounding bound)", SALT_M);
    verify_form(b, GFNN_DOUBLE, &step->K, "K x (of its rounding bound)", SALT_K);
    if (b->s->rung->kind == RT_CPU && rt_compare_races())
        verify_disturbed(b);
    if (sums)
        verify_fused(b, GFNN_DOUBLE, "A x with x.Ax (of its rounding bound)",
                     "x.Ax with it (of |x| |Ax|)");
    clean(b, GFNN_DOUBLE);
    if (!b->s->t32 && !of_cg)
        return;
    verify_form(b, GFNN_SINGLE, &step->A, "A x in FP32 (of its rounding bound)", SALT_SINGLE);
    if (of_cg && sums)
        verify_fused(b, GFNN_SINGLE, "A x in FP32 with x.Ax (of its rounding bound)",
                     "x.Ax in FP32 with it (of |x| |Ax|)");
    clean(b, GFNN_SINGLE);
}

void gfnn_verify_operator_left(gfnn_bench_t *b, const gfnn_kept_t *kept)
{
    double *x = gfnn_judge_scratch(&b->scratch, &b->box->fine);
    gfnn_input(b->s, kept->draw, x);
    check_product(b, &b->p->step.A, "A x left behind (of its rounding bound)", x, &b->box->fine,
                  kept->left[0], RT_EPS);
    gfnn_judge_release(&b->scratch, 0);
}
