/*
 * verify.c - what a rung must show before its time counts: its operator (operator.c), its predictor
 * (predictor.c), and solves.
 *
 * A solve: its first step against the oracle's (oracle.c), whatever the preconditioner; f - A du by
 * the reference. After a solve: the state after all steps and the last du against the oracle's; and
 * the last step's f, computed again from the state before it (Newmark run backwards), whose f - A du
 * must be as small as the solver says. That difference is how far the final state is from
 * equilibrium, whatever du is: a wrong du would pass, and a large one would make |f| large, by which
 * it is divided. So du is compared too.
 *
 * What timed solves left is judged in the same way. They have other inputs (solve.c), which the judge
 * makes again. A solve has started with other velocities, for which the oracle has no solution, so a
 * random functional of the state after all steps is compared instead (oracle.c).
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
#include "judge.h"

static const double SOLUTION = 1e-7; /* of |du| */
/* How far a recurrence over a few dozen iterations drifts from the residual; and what running
 * Newmark backwards loses, where a is the difference of larger terms. */
static const double RECURRENCE = 1e-13, BACKWARDS = 1e-11;

/* Returns a zero vector, which lives until the end of the check. */
static double *fine(gfnn_bench_t *b)
{
    return gfnn_judge_scratch(&b->scratch, &b->box->fine);
}

static size_t bytes_of(const gfnn_bench_t *b)
{
    return 3 * (size_t)b->box->fine.plane * sizeof(double);
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

/* Returns the bound after n steps: each may add the error of one, and the next carries it
 * on. */
static double solution_bound(const gfnn_bench_t *b, int64_t steps)
{
    const double tolerance = b->p->config->tolerance;
    return (double)(steps + 1) * fmax(10 * tolerance, fmin(SOLUTION, 100 * tolerance));
}

/* Returns whether a right program would reach the tolerance in every step: its first step did, and
 * the oracle's later steps take no more iterations than its first, in proportion; or the oracle does,
 * with blocks as its preconditioner. */
static bool could_reach(const gfnn_bench_t *b)
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
static bool check_reached(const gfnn_bench_t *b, const char *name, double residual)
{
    const bool reached = residual < b->p->config->tolerance;
    if (!reached && rt_finite(residual) && !could_reach(b))
        rt_verdict_converged(b->verdict, name, false);
    else
        rt_verdict_true(b->verdict, name, reached);
    return reached;
}

/* Checks |f - A du| of a step by the definition: below the tolerance, or what the solver saw. */
static void check_residual(const gfnn_bench_t *b, const char *name, double seen, double left,
                           double spare)
{
    const double most = fmax(b->p->config->tolerance, seen);
    rt_verdict_true(b->verdict, name, left <= 1.01 * most + spare);
}

/* Checks A x = f for the first step's f, by the rung, with its preconditioner. */
static void verify_first_step(gfnn_bench_t *b)
{
    gfnn_solver_t *s = b->s;
    const gfnn_grid_t *g = &b->box->fine;
    const gfnn_oracle_t *oracle = oracle_of(b->p);
    double *f = fine(b), *du = fine(b), *t = fine(b);
    const gfnn_state_t at_rest = {fine(b), fine(b), fine(b)};
    gfnn_oracle_force(b->p, &at_rest, b->p->config->dt, f);
    rt_copy(s->f, s->space, f, RT_HOST, bytes_of(b));
    const int64_t iterations = gfnn_cg(s);
    s->judged_iterations = s->residual < b->p->config->tolerance ? iterations : 0;
    rt_copy(du, RT_HOST, s->x, s->space, bytes_of(b));
    rt_verdict_check(b->verdict, "the oracle's operator (of its rounding bound)",
                     oracle->operator_error, 1);
    if (check_reached(b, "converged", s->residual))
        rt_verdict_check(b->verdict, "du of the first step = the oracle's (of |du|)",
                         gfnn_judge_apart(g, du, oracle->du, t) / oracle->norm,
                         solution_bound(b, 1));
    check_residual(b, "|f - A du| by the definition, below the tolerance or as the solver saw it",
                   s->residual, gfnn_oracle_residual(b->p, f, du, t), RECURRENCE);
    gfnn_judge_release(&b->scratch, 0);
}

/* Checks the last step's f, from the state before it: Newmark run backwards. */
static void verify_last_step(gfnn_bench_t *b, const gfnn_kept_t *kept, const gfnn_state_t *end,
                             double *du)
{
    gfnn_state_t before = {fine(b), fine(b), fine(b)};
    double *f = fine(b), *t = fine(b);
    gfnn_judge_before(b->p, end, du, &before);
    gfnn_oracle_force(b->p, &before, (double)kept->steps * b->p->config->dt, f);
    check_residual(b, "the same of the last step", kept->residual,
                   gfnn_oracle_residual(b->p, f, du, t), BACKWARDS);
    gfnn_judge_release(&b->scratch, 0);
}

/* Compares the state after all steps of the problem itself. */
static void verify_state(gfnn_bench_t *b, const gfnn_state_t *end, const double *du)
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
    gfnn_judge_release(&b->scratch, 0);
}

/* Compares g of the state after all steps of a draw. The start, and what the source brings, say how
 * large the errors of honest solves are. */
static void verify_functional(gfnn_bench_t *b, const gfnn_state_t *end, uint64_t draw)
{
    const gfnn_grid_t *g = &b->box->fine;
    const gfnn_oracle_t *oracle = transposed_of(b->p);
    double *w = fine(b);
    rt_draw(w, RT_HOST, b->p->noise, bytes_of(b) / sizeof *w, sizeof *w, gfnn_draw(draw));
    const double got = gfnn_oracle_functional(b->p, oracle->seed, end),
                 without = gfnn_oracle_functional(b->p, oracle->seed, &oracle->end),
                 size = b->p->config->dt / 2 * gfnn_judge_norm(g, w) +
                        fmax(oracle->most_u, oracle->most_du);
    rt_verdict_check(b->verdict, "the state after all steps of timed solves (of the largest |u|)",
                     fabs(got - without - gfnn_judge_dot(g, oracle->per_v, w)) / size,
                     solution_bound(b, b->p->config->steps));
    gfnn_judge_release(&b->scratch, 0);
}

static void verify_solve_left(gfnn_bench_t *b, const gfnn_kept_t *kept)
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

static gfnn_bench_t bench(void *solver, uint64_t seed, rt_verdict_t *verdict)
{
    gfnn_solver_t *s = solver;
    return (gfnn_bench_t){s, s->problem, &s->problem->box, verdict, seed, {{NULL}, 0}};
}

void gfnn_verify_before(void *solver, uint64_t seed, rt_verdict_t *verdict)
{
    gfnn_bench_t b = bench(solver, seed, verdict);
    if (b.s->kernels->ladder != GFNN_LADDER_PREDICTOR)
        gfnn_verify_operator(&b);
    if (b.s->kernels->ladder != GFNN_LADDER_OPERATOR && b.p->weights)
        gfnn_verify_predictor(&b);
    if (b.s->kernels->ladder == GFNN_LADDER_SOLVE) {
        verify_first_step(&b);
        if (b.p->run->opt.seconds > 0)
            transposed_of(b.p); /* now: nothing of solves is kept yet, so there is memory */
    }
}

void gfnn_verify_after(void *solver, rt_verdict_t *verdict)
{
    static void (*const verify[])(gfnn_bench_t *, const gfnn_kept_t *) = {
        [GFNN_LADDER_OPERATOR] = gfnn_verify_operator_left,
        [GFNN_LADDER_PREDICTOR] = gfnn_verify_predictor_left,
        [GFNN_LADDER_SOLVE] = verify_solve_left};
    gfnn_bench_t b = bench(solver, 0, verdict);
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
