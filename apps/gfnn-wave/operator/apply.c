/*
 * apply.c - A and P over a rung's function tables, with the ghosts they read.
 */
#include "config.h"
#include "apps/gfnn-wave/gfnn.h"

/* Works on a region of a product, whose own dot product is number `number`. */
static void on_region(const gfnn_solver_t *s, const gfnn_product_t *a, const gfnn_region_t *region,
                      int number)
{
    gfnn_product_t part = *a;
    part.region = *region;
    if (part.dot)
        part.dot += number;
    s->kernels->op->apply(&s->view_op, &part);
}

/* Finds the nodes that read neither ghosts nor values that other ranks have as ghosts: between
 * begin and end of a halo these must not even be read. Returns false if there are none. */
static bool interior(const gfnn_box_t *box, gfnn_region_t *inner)
{
    const bool wraps = box->faces == GFNN_PERIODIC;
    bool any = true;
    for (int d = 0; d < 3; d++) {
        inner->lo[d] = wraps || box->place[d] > 0 ? 2 : 0;
        inner->hi[d] = box->n[d] - (wraps || box->place[d] < box->ranks[d] - 1 ? 2 : 0);
        any = any && inner->lo[d] < inner->hi[d];
    }
    return any;
}

/* Works on what is left of `all` around the interior, slab by slab; returns the number of regions
 * so far. */
static int boundary(const gfnn_solver_t *s, const gfnn_product_t *a, const gfnn_region_t *inner,
                    gfnn_region_t all, int regions)
{
    for (int d = 2; d >= 0; d--) {
        gfnn_region_t low = all, high = all;
        low.hi[d] = all.lo[d] = inner->lo[d];
        high.lo[d] = all.hi[d] = inner->hi[d];
        if (low.lo[d] < low.hi[d])
            on_region(s, a, &low, regions++);
        if (high.lo[d] < high.hi[d])
            on_region(s, a, &high, regions++);
    }
    return regions;
}

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

/* Returns the number of regions. Messages come first, but between GPUs those through the host travel
 * during the work on the interior: the slabs around it take 80 us for a box of 104^3, and on a CPU,
 * where their rows fill no vector, as long as the interior. */
static int product(gfnn_solver_t *s, gfnn_product_t *a)
{
    const gfnn_box_t *box = &s->problem->box;
    const gfnn_region_t all = {{0, 0, 0}, {box->n[0], box->n[1], box->n[2]}};
    const bool single = a->type == GFNN_SINGLE;
    const ghosts_t ghosts = single
                                ? (ghosts_t){s->halo_wide1, 1, gfnn_field(&box->wide, a->x, RT_F32)}
                                : (ghosts_t){s->halo_fine, 1, gfnn_field(&box->fine, a->x, RT_F64)};
    const char *name = a->sweep ? "sweep" : single ? "operator FP32" : "operator";
    gfnn_region_t inner;
    int regions = 1;
    if (!ghosts.halo || s->space == RT_HOST || rt_halo_on_stream(ghosts.halo) ||
        s->kernels->op->whole || !interior(box, &inner)) {
        if (s->shared || ghosts.halo || !s->kernels->op->wraps ||
            !s->kernels->op->wraps(&s->view_op))
            bring(s, &ghosts);
        gfnn_start(s, name);
        on_region(s, a, &all, 0);
        rt_timer_stop(name);
    } else {
        gfnn_start(s, name);
        a->cg = NULL;
        rt_halo_begin(ghosts.halo, RT_HALO_COPY, &ghosts.field);
        on_region(s, a, &inner, 0);
        gfnn_start(s, "halo");
        rt_halo_end(ghosts.halo);
        rt_timer_stop("halo");
        regions = boundary(s, a, &inner, all, 1);
        rt_timer_stop(name);
    }
    return regions;
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
                        .dot = s->dots};
    if (s->kernels->op->sums_on_device && scalars->on_device)
        a.cg = s->scalars.cg;
    const int regions = product(s, &a);
    gfnn_start(s, "vectors");
    if (!a.cg && s->dots)
        scalars->gather(&s->view_vec, s->dots, regions, &s->scalars);
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
