/*
 * precond.c - the preconditioner over a rung's kernels, in FP32 inside the FP64 of CG.
 *
 * r is scaled by a power of two to about 1 before it is rounded, so that its values stay far from
 * the ends of FP32's range, and z is scaled back. Vectors of a level, each on its grid, are
 * r, the right-hand side, and x, the level's answer.
 *
 * This file does not know about devices; the kernels are in nek_precond_ops_t.
 */
#include "config.h"
#include "precond.h"
#include "machine/streams.h"
#include <math.h>
#include <string.h>

/* --- operations on a level --- */

static void exchange(const nek_single_level_t *level, rt_halo_op_t op, float *x)
{
    const rt_field_t field = {x, RT_F32, 1, 1, 0};
    if (level->halo)
        rt_halo_do(level->halo, op, &field);
}

/* sum = sums of boxes, on all ranks */
static void collect(const nek_solver_t *s, const nek_single_level_t *level, nek_box_t kind,
                    const float *boxes, float *sum)
{
    const nek_single_t *d = s->precond;
    d->ops->collect(&s->view, &level->view, kind, boxes, sum);
    exchange(level, RT_HALO_SUM, sum);
}

/* x = the sum of the patches' answers to r */
static void solve_patches(const nek_solver_t *s, const nek_single_level_t *level, float *boxes)
{
    const nek_single_t *d = s->precond;
    d->ops->schwarz(&s->view, &level->view, level->r, boxes);
    collect(s, level, NEK_PATCH, boxes, level->x);
}

/* r of the next level = J' r */
static void restrict_to_next(const nek_solver_t *s, const nek_single_level_t *level)
{
    const nek_single_t *d = s->precond;
    d->ops->restrict_(&s->view, &level->view, &level[1].view, level->r, d->low);
    collect(s, level + 1, NEK_OWN_BOX, d->low, level[1].r);
}

/* --- the preconditioner --- */

/* x of level 1 = the sum over the levels from there on, where the last one's may still be under way
 * on the side stream. The first patches run beside it; then the side stream goes on by itself. */
static void raise_levels(const nek_solver_t *s)
{
    const nek_single_t *d = s->precond;
    const nek_precond_ops_t *ops = d->ops;
    const int first = d->count - 2;
    ops->schwarz(&s->view, &d->level[first].view, d->level[first].r, d->low);
    rt_side_begin();
    for (int l = first; l > 0; l--) {
        const nek_single_level_t *level = &d->level[l];
        if (l < first)
            ops->schwarz(&s->view, &level->view, level->r, d->low);
        ops->raise(&s->view, &level[1].view, &level->view, d->low, level[1].x, level->x);
        exchange(level, RT_HALO_SUM, level->x);
    }
    rt_side_end();
}

/* x of level 1 = the sum over the levels from there on, of its r and, in `low`, the boxes of which
 * that is the sum. */
static void add_lower_levels(const nek_solver_t *s)
{
    const nek_single_t *d = s->precond;
    const nek_precond_ops_t *ops = d->ops;
    const int last = d->count - 1;
    for (int l = 1; l < last; l++) {
        const nek_single_level_t *level = &d->level[l];
        if (l < last - 1 || !ops->restrict_last) {
            restrict_to_next(s, level);
            continue;
        }
        ops->restrict_last(&s->view, &level->view, &level[1].view, d->low, level[1].r);
        exchange(level + 1, RT_HALO_SUM, level[1].r);
    }
    ops->coarse(&s->view, &d->coarse, d->level[last].r, d->level[last].x);
    if (ops->raise && last > 1) {
        raise_levels(s);
        return;
    }
    for (int l = 1; l < last; l++)
        solve_patches(s, &d->level[l], d->low);
    for (int l = last; l > 1; l--)
        ops->prolong(&s->view, &d->level[l].view, &d->level[l - 1].view, d->level[l].x,
                     d->level[l - 1].x);
}

/* x of level 0 = the sum over the levels. */
static void add_levels(const nek_solver_t *s)
{
    const nek_single_t *d = s->precond;
    const nek_single_level_t *level = d->level;
    if (d->count > 1)
        restrict_to_next(s, level);
    add_lower_levels(s);
    if (d->count == 1)
        return;
    solve_patches(s, level, d->boxes);
    d->ops->prolong(&s->view, &level[1].view, &level->view, level[1].x, level->x);
}

/* The same where level 0 begins and ends in kernels of the rung. The lower levels, whose many small
 * steps leave most of a GPU idle, run beside the patches; of the exchanges one at a time is under
 * way. Without exchanges they begin before the patches, which then wait for two small kernels and the
 * patches of the level between, but the longest path gets shorter. */
static void add_levels_below_top(nek_solver_t *s)
{
    const nek_single_t *d = s->precond;
    const nek_single_level_t *level = d->level;
    const bool beside = level->halo;
    if (d->count == 1) {
        add_lower_levels(s);
        d->ops->top(s, NULL, NULL, NULL, level->x);
        return;
    }
    if (beside)
        rt_side_begin();
    collect(s, level + 1, NEK_OWN_BOX, d->low, level[1].r);
    add_lower_levels(s);
    if (beside)
        rt_side_end();
    d->ops->schwarz(&s->view, &level->view, level->r, d->boxes);
    d->ops->top(s, d->boxes, &level[1].view, level[1].x, level->x);
}

void nek_single_levels(nek_solver_t *s)
{
    const nek_single_t *d = s->precond;
    exchange(d->level, RT_HALO_COPY, d->level->r);
    if (d->ops->top)
        add_levels_below_top(s);
    else
        add_levels(s);
}

static double apply(nek_solver_t *s, double norm, const double *r)
{
    nek_single_t *d = s->precond;
    const nek_single_level_t *level = &d->level[0];
    int exponent;
    frexp(norm / sqrt((double)s->view.points * rt_comm_size()), &exponent);
    d->scale = ldexp(1, norm > 0 ? -exponent : 0);
    d->ops->take(&s->view, &level->view, d->scale, r, level->r);
    nek_single_levels(s);
    return d->ops->dot(&s->view, &level->view, r, level->x) / d->scale;
}

static void update_p(nek_solver_t *s, double beta, double *p)
{
    const nek_single_t *d = s->precond;
    d->ops->update_p(&s->view, &d->level[0].view, 1 / d->scale, d->level[0].x, beta, p);
}

/* --- a rung's copy of the levels --- */

/* Returns a copy of x[n] in FP32 in the rung's space; NULL if x is NULL. */
static float *rounded(const nek_solver_t *s, const double *x, size_t n)
{
    if (!x)
        return NULL;
    float *host = RT_NEW(float, n, RT_HOST);
    for (size_t i = 0; i < n; i++)
        host[i] = (float)x[i];
    float *copy = rt_clone(host, n, sizeof *host, s->space);
    RT_FREE(host, RT_HOST);
    return copy;
}

static float *zeroed(const nek_solver_t *s, size_t n)
{
    float *x = RT_NEW(float, n, s->space);
    rt_fill(x, s->space, 0, n * sizeof *x);
    return x;
}

static void new_level(const nek_solver_t *s, const nek_level_t *from, nek_single_level_t *to)
{
    const nek_config_t *config = s->problem->config;
    const nek_grid_t *g = &from->grid;
    const size_t elements = (size_t)config->local_elements, n = (size_t)g->n,
                 patch = (size_t)g->patch, nodes = (size_t)g->nodes;
    *to = (nek_single_level_t){
        .view = {.grid = *g,
                 .S = rounded(s, from->S, elements * 3 * patch * patch),
                 .eigen = rounded(s, from->eigen, elements * 3 * patch),
                 .J = rounded(s, from->J, from->J ? (size_t)from[-1].grid.n * n : 0)},
        .halo = nek_grid_halo(config, g, s->problem->run->opt.transport, s->rung->kind, s->space),
        .r = zeroed(s, nodes),
        .x = zeroed(s, nodes)};
}

static void new_coarse(const nek_solver_t *s, const nek_levels_t *levels, nek_coarse_view_t *to)
{
    const nek_grid_t *g = &levels->level[levels->count - 1].grid;
    const size_t nodes = (size_t)g->nodes;
    const double most = levels->coarse_largest,
                 least = most / ((double)levels->coarse_order * levels->coarse_order);
    *to = (nek_coarse_view_t){.grid = *g,
                              .stencil = rounded(s, levels->stencil, NEK_STENCIL * nodes),
                              .inverse = rounded(s, levels->coarse_inverse, nodes),
                              .largest = (float)most,
                              .smallest = (float)least,
                              .order = levels->coarse_order,
                              .work = zeroed(s, 4 * nodes)};
}

void nek_single_set_up(nek_solver_t *s)
{
    const nek_levels_t *levels = nek_levels(s->problem, s->kernels);
    nek_single_t *d = s->precond = RT_NEW(nek_single_t, 1, RT_HOST);
    memset(d, 0, sizeof *d);
    d->ops = s->kernels->precond_ops;
    d->count = levels->count;
    for (int l = 0; l < d->count; l++)
        new_level(s, &levels->level[l], &d->level[l]);
    new_coarse(s, levels, &d->coarse);
    float **boxes[] = {&d->boxes, &d->low};
    for (int l = 0; l < 2 && l < d->count; l++) {
        const size_t patch = (size_t)levels->level[l].grid.patch;
        *boxes[l] = RT_NEW(float, (size_t)s->view.elements *patch *patch *patch, s->space);
    }
}

void nek_single_tear_down(nek_solver_t *s)
{
    nek_single_t *d = s->precond;
    for (int l = 0; l < d->count; l++) {
        nek_single_level_t *level = &d->level[l];
        RT_FREE_ALL(s->space, level->view.S, level->view.eigen, level->view.J, level->r, level->x);
        rt_halo_destroy(level->halo);
    }
    RT_FREE_ALL(s->space, d->coarse.stencil, d->coarse.inverse, d->coarse.work, d->boxes, d->low);
    RT_FREE(s->precond, RT_HOST);
}

const nek_preconditioner_t nek_precond_single = {.set_up = nek_single_set_up,
                                                 .tear_down = nek_single_tear_down,
                                                 .apply = apply,
                                                 .update_p = update_p};
