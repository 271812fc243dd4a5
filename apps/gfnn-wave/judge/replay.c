/*
 * replay.c - repeats the last solve, untimed, and judges every step of it.
 *
 * What a timed solve leaves shows the state after all steps, and the residual of the last one. A step
 * on the way that is four times less accurate changes the end by less than honest rungs differ. So
 * the rung makes the same steps again. After each of them the judge finds the state before it
 * (Newmark run backwards), its f, and |f - A du| by the definition. Then the timed solve must have
 * ended at the same bits, with the same residuals; a rung that does not claim the same bits is judged by its replay alone.
 */
#include "config.h"
#include <math.h>
#include <string.h>
#include "judge.h"
#include "judge/digest.h"

enum { MOST_STEPS = 8 };               /* that are judged by their residual */
static const double BACKWARDS = 1e-11; /* what running Newmark backwards loses */
static const double FIRST = 1e-6;      /* of |r| = |f|, r in FP32 */

typedef struct {
    gfnn_solver_t *s;
    const gfnn_box_t *box;
    size_t values; /* of a vector */
    gfnn_state_t state;
    double *du, *f, *t;
    double left;   /* |f - A du| / |f| of the last step */
    bool accurate; /* so far */
    gfnn_scratch_t scratch;
} replay_t;

/* What a solve left, to be compared with that of its replay. */
typedef struct {
    rt_items_t state; /* an item per vector and own node */
    double residual[GFNN_MOST_RESIDUALS];
    int64_t residuals;
} left_t;

static void get(const replay_t *r, const double *from, double *to)
{
    rt_copy(to, RT_HOST, from, r->s->space, r->values * sizeof *to);
}

/* --- a step --- */

static void check_residual(replay_t *r)
{
    const gfnn_problem_t *p = r->s->problem;
    gfnn_judge_before(p, &r->state, r->du, &r->state);
    gfnn_oracle_force(p, &r->state, (double)r->s->steps * p->config->dt, r->f);
    r->left = gfnn_oracle_residual(p, r->f, r->du, r->t);
    r->accurate =
        r->accurate && r->left <= 1.01 * fmax(p->config->tolerance, r->s->residual) + BACKWARDS;
}

/* After a step of the replay. */
static void judge_step(void *replay)
{
    replay_t *r = replay;
    const int64_t steps = r->s->problem->config->steps,
                  parts = (steps + MOST_STEPS - 1) / MOST_STEPS;
    if (r->s->steps % parts != steps % parts) /* the last one is judged whatever the number */
        return;
    get(r, r->s->u, r->state.u);
    get(r, r->s->v, r->state.v);
    get(r, r->s->a, r->state.a);
    get(r, r->s->x, r->du);
    check_residual(r);
}

/* --- what is left --- */

static void take_left(const replay_t *r, left_t *left)
{
    const gfnn_solver_t *s = r->s;
    const double *const state[] = {s->u, s->v, s->a, s->x};
    const int64_t all = s->last_iterations + 1;
    const gfnn_grid_t *g = &r->box->fine;
    rt_items_t items = {0, {0}};
    for (size_t i = 0; i < sizeof state / sizeof *state; i++) {
        get(r, state[i], r->t);
#pragma omp parallel for collapse(2) schedule(static) reduction(rt_items : items)
        for (int64_t k = 0; k < g->n[2]; k++)
            for (int64_t j = 0; j < g->n[1]; j++)
                for (int64_t n = gfnn_at(g, 0, j, k); n < gfnn_at(g, g->n[0], j, k); n++) {
                    uint64_t item[4] = {(uint64_t)n * 4 + i};
                    for (int c = 0; c < 3; c++)
                        memcpy(&item[1 + c], r->t + c * g->plane + n, sizeof *item);
                    rt_items_add(&items, item, 4);
                }
    }
    left->state = items;
    memset(left->residual, 0, sizeof left->residual);
    left->residuals = all < GFNN_MOST_RESIDUALS ? all : GFNN_MOST_RESIDUALS;
    memcpy(left->residual, s->scalars.history, (size_t)left->residuals * sizeof *left->residual);
}

static void check(rt_verdict_t *verdict, const char *name, bool right)
{
    double wrong = !right;
    rt_comm_max(&wrong, 1);
    rt_verdict_true(verdict, name, wrong == 0);
}

/* The history begins with f itself, for du is 0 then, and ends with the residual that is left. */
static void check_history(const replay_t *r, const left_t *left, rt_verdict_t *verdict)
{
    const double *h = left->residual, last = h[left->residuals - 1];
    const bool whole = r->s->last_iterations < GFNN_MOST_RESIDUALS;
    if (!rt_finite(h[0])) /* f is 0 */
        return;
    check(verdict, "residual history: from |f| to what is left by the definition",
          fabs(h[0] - 1) <= FIRST &&
              (!whole || (last == r->s->residual &&
                          fabs(last - r->left) <=
                              0.01 * fmax(r->s->problem->config->tolerance, last) + BACKWARDS)));
}

void gfnn_verify_replay(gfnn_solver_t *s, rt_verdict_t *verdict)
{
    const gfnn_grid_t *g = &s->problem->box.fine;
    replay_t r = {
        .s = s, .box = &s->problem->box, .values = 3 * (size_t)g->plane, .accurate = true};
    double **const vectors[] = {&r.state.u, &r.state.v, &r.state.a, &r.du, &r.f, &r.t};
    left_t timed, again;
    for (size_t i = 0; i < sizeof vectors / sizeof *vectors; i++)
        *vectors[i] = gfnn_judge_scratch(&r.scratch, g);
    take_left(&r, &timed);
    gfnn_spoil(s, s->draw, RT_KEEP_NOTHING);
    s->after_step = judge_step;
    s->after_step_data = &r;
    s->problem->run->app->solve(s);
    s->after_step = NULL;
    take_left(&r, &again);
    check(verdict, "every step of a replay, as the last step", r.accurate);
    check_history(&r, &timed, verdict);
    if (s->kernels->rung.reproducible) {
        check(verdict, "the timed steps end where the replay does, bit for bit",
              memcmp(&timed.state, &again.state, sizeof again.state) == 0);
        check(verdict, "and with its residuals",
              timed.residuals == again.residuals &&
                  memcmp(timed.residual, again.residual, sizeof again.residual) == 0);
    }
    gfnn_judge_release(&r.scratch, 0);
}
