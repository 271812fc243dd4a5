/*
 * solve.c - the job that is timed: time steps, or applications of one kernel.
 *
 * This file, solve/, precond/ and operator/apply.c never see a device: where arrays are and what
 * works on them is in the function tables.
 */
#include "config.h"
#include <math.h>
#include "gfnn.h"

/* --- the job --- */

void gfnn_solve(void *solver)
{
    gfnn_solver_t *s = solver;
    const gfnn_ladder_id_t ladder = s->kernels->ladder;
    if (ladder == GFNN_LADDER_SOLVE)
        gfnn_time_steps(s);
    else if (ladder == GFNN_LADDER_OPERATOR)
        gfnn_apply(s, &s->problem->step.A, s->x, s->q);
    else
        gfnn_predict(s, false);
}

/* --- between solves --- */

void gfnn_forget(gfnn_kept_t *kept)
{
    for (int i = 0; i < GFNN_MOST_LEFT; i++)
        rt_free(kept->left[i], RT_HOST);
    *kept = (gfnn_kept_t){.draw = 0};
}

void gfnn_keep(gfnn_solver_t *s, gfnn_kept_t *kept)
{
    const gfnn_ladder_id_t ladder = s->kernels->ladder;
    const gfnn_box_t *box = &s->problem->box;
    const bool single = ladder == GFNN_LADDER_PREDICTOR;
    const size_t values = 3 * (size_t)(single ? box->wide.plane : box->fine.plane);
    const size_t size = single ? sizeof *s->z : sizeof *s->q;
    const void *left[GFNN_MOST_LEFT] = {single ? (void *)s->z : s->q};
    if (ladder == GFNN_LADDER_SOLVE)
        left[0] = s->u, left[1] = s->v, left[2] = s->a, left[3] = s->x;
    gfnn_forget(kept);
    *kept = (gfnn_kept_t){.draw = s->draw,
                          .steps = s->steps,
                          .residual = s->worst > s->residual ? s->worst : s->residual};
    for (int i = 0; i < GFNN_MOST_LEFT && left[i]; i++) {
        kept->left[i] = rt_alloc(values, size, RT_HOST);
        rt_copy(kept->left[i], RT_HOST, left[i], s->space, values * size);
    }
}

/* Makes own nodes unusable; ghosts beyond faces stay 0. */
static void spoil_vectors(gfnn_solver_t *s)
{
    const gfnn_vectors_t *v = s->vectors;
    const bool is_operator = s->kernels->ladder == GFNN_LADDER_OPERATOR;
    double *const fine[] = {s->q, is_operator ? NULL : s->x, is_operator ? NULL : s->f};
    void *const of_cg[] = {s->cg.x, s->cg.r, s->cg.p, s->cg.q};
    for (size_t i = 0; i < sizeof fine / sizeof *fine; i++)
        if (fine[i])
            v->fill(&s->view_vec, GFNN_DOUBLE, NAN, fine[i]);
    for (size_t i = 0; i < sizeof of_cg / sizeof *of_cg; i++)
        if (of_cg[i])
            v->fill(&s->view_vec, (gfnn_type_t)s->problem->config->vectors, NAN, of_cg[i]);
    if (s->z)
        v->fill(&s->view_vec, GFNN_SINGLE, NAN, s->z);
}

/* Makes the input of a draw. z is not in use yet. */
static void new_input(gfnn_solver_t *s)
{
    const gfnn_box_t *box = &s->problem->box;
    const size_t fine = 3 * (size_t)box->fine.plane, wide = 3 * (size_t)box->wide.plane;
    const rt_draw_t draw = gfnn_draw(s->draw);
    if (s->kernels->ladder == GFNN_LADDER_OPERATOR) {
        rt_draw(s->x, s->space, s->f, fine, sizeof *s->x, draw);
    } else if (s->low) {
        rt_draw(s->z, s->space, s->s32, wide, sizeof *s->z, draw);
        s->vectors->to_half(&s->view_vec, s->z, s->low);
    } else {
        rt_draw(s->r32, s->space, s->s32, wide, sizeof *s->r32, draw);
    }
}

/* Makes the initial state of a draw: at rest, with other velocities unless the draw is 0. */
static void new_start(gfnn_solver_t *s)
{
    const size_t values = 3 * (size_t)s->problem->box.fine.plane, bytes = values * sizeof(double);
    rt_fill(s->u, s->space, 0, bytes);
    rt_fill(s->v, s->space, 0, bytes);
    rt_fill(s->a, s->space, 0, bytes);
    if (s->draw == 0)
        return;
    rt_draw(s->q, s->space, s->noise, values, sizeof *s->q, gfnn_draw(s->draw));
    s->vectors->axpby(&s->view_vec, 1, s->q, 1, s->v);
}

void gfnn_spoil(void *solver, uint64_t draw, rt_keep_t keep)
{
    gfnn_solver_t *s = solver;
    if (keep != RT_KEEP_NOTHING)
        gfnn_keep(s, &s->kept[keep]);
    if (keep == RT_KEEP_LAST)
        s->timed_iterations = s->iterations;
    s->draw = draw;
    if (s->kernels->ladder == GFNN_LADDER_SOLVE)
        new_start(s);
    else
        new_input(s);
    spoil_vectors(s);
    s->steps = s->iterations = s->last_iterations = 0;
    s->residual = NAN;
    s->worst = 0;
    for (int i = 0; i < GFNN_MAX_HISTORY; i++) {
        s->history[i] = -1;
        s->residuals[i] = NAN;
    }
}
