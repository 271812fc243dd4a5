/*
 * apply.c - A and P over a rung's function tables, with the ghosts they read.
 */
#include "config.h"
#include "apps/gfnn-wave/gfnn.h"

/* A vector that needs its ghosts, `width` deep. */
typedef struct {
    rt_halo_t *halo; /* NULL on one rank */
    int width;
    rt_field_t field;
} ghosts_t;

static void bring(const gfnn_solver_t *s, const ghosts_t *g)
{
    if (!g->halo && !s->shared && s->problem->box.faces != GFNN_PERIODIC)
        return;
    gfnn_start(s, "halo");
    if (g->halo)
        rt_halo_do(g->halo, RT_HALO_COPY, &g->field);
    else
        s->vectors->wrap(&s->view_vec, g->width, g->field.type, g->field.data);
    rt_timer_stop("halo");
}

static void product(gfnn_solver_t *s, const gfnn_product_t *a)
{
    const gfnn_box_t *box = &s->problem->box;
    const gfnn_operator_t *op = s->kernels->op;
    const bool single = a->type == GFNN_SINGLE;
    const ghosts_t ghosts = single
                                ? (ghosts_t){s->halo_wide1, 1, gfnn_field(&box->wide, a->x, RT_F32)}
                                : (ghosts_t){s->halo_fine, 1, gfnn_field(&box->fine, a->x, RT_F64)};
    const char *name = a->sweep ? "sweep" : single ? "operator FP32" : "operator";
    if (s->shared || ghosts.halo || !op->wraps || !op->wraps(&s->view_op))
        bring(s, &ghosts);
    gfnn_start(s, name);
    op->apply(&s->view_op, a);
    rt_timer_stop(name);
}

void gfnn_apply(gfnn_solver_t *s, const gfnn_form_t *form, double *x, double *y)
{
    product(s, &(gfnn_product_t){.form = form, .type = GFNN_DOUBLE, .x = x, .y = y});
}

void gfnn_apply32(gfnn_solver_t *s, const gfnn_form_t *form, float *x, float *y)
{
    product(s, &(gfnn_product_t){.form = form, .type = GFNN_SINGLE, .x = x, .y = y});
}

bool gfnn_sweeps(const gfnn_solver_t *s)
{
    const gfnn_operator_t *op = s->kernels->op;
    return op->sweeps && op->sweeps(&s->view_op);
}

void gfnn_sweep(gfnn_solver_t *s, float *z, const gfnn_sweep_t *sweep)
{
    product(s, &(gfnn_product_t){.form = &s->problem->step.A,
                                 .type = GFNN_SINGLE,
                                 .x = z,
                                 .y = sweep->out,
                                 .sweep = sweep});
}

void gfnn_apply_p(gfnn_solver_t *s)
{
    const gfnn_vectors_t *vectors = s->vectors;
    const gfnn_scalars_t *scalars = vectors->scalars;
    gfnn_product_t a = {.form = &s->problem->step.A,
                        .type = gfnn_is_single(s->problem->config) ? GFNN_SINGLE : GFNN_DOUBLE,
                        .x = s->cg.p,
                        .y = s->cg.q,
                        .dot = s->dot};
    if (s->kernels->op->sums_on_device && scalars->on_device)
        a.cg = s->scalars.cg;
    product(s, &a);
    gfnn_start(s, "vectors");
    if (!a.cg && a.dot)
        rt_copy(s->scalars.cg->sums, RT_HOST, a.dot, s->space, sizeof *a.dot);
    else if (!a.cg)
        s->scalars.cg->sums[0] = vectors->dot(&s->view_vec, a.type, a.x, a.y);
    scalars->settle(&s->scalars, GFNN_APPLIED);
    rt_timer_stop("vectors");
}

void gfnn_predict(gfnn_solver_t *s, bool low)
{
    const gfnn_grid_t *wide = &s->problem->box.wide;
    const bool half = s->network.precision == GFNN_FP16;
    void *r = half ? s->low : s->r32;
    const ghosts_t ghosts = {half ? s->halo_low : s->halo_wide3, s->network.reach,
                             gfnn_field(wide, r, half ? RT_F16 : RT_F32)};
    const gfnn_predictor_t *predictor = s->kernels->predictor[s->network.precision];
    if (!low || !predictor->wraps || !predictor->wraps(&s->view_net))
        bring(s, &ghosts);
    gfnn_start(s, "predictor");
    if (low)
        predictor->apply_low(&s->view_net, &s->network, r, (uint16_t *)s->z);
    else
        predictor->apply(&s->view_net, &s->network, r, s->z);
    rt_timer_stop("predictor");
}
