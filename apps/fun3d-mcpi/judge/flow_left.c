/*
 * flow_left.c - judges what a timed solve of the ladder "flow" left behind.
 *
 * With a fixed number of steps: the state and the residuals on the way against those
 * of the oracle's steps (flow_oracle.c). With --tolerance: the residual of the state that is left,
 * by the definition, has fallen as far as was asked; that needs no path. In both: ghosts are what
 * their owners have, and density and pressure are positive. So it is for a solve drawn among the
 * timed ones and for the last of them, each with its own input, and for a solve of the problem.
 * A rung that diverged, or that has used up its steps, has not converged if flow-reference with the
 * same options does no better; else it is wrong.
 */
#include "config.h"
#include <math.h>
#include <string.h>
#include "judge.h"

enum { NB = MCPI_Q };
/* In addition: R and A are sums in another order than the oracle's. */
static const double own_roundings = 2e-12;

typedef struct {
    const mcpi_march_t *m;         /* the rung */
    mcpi_march_t *ref;             /* flow-reference on the same problem */
    const mcpi_state_left_t *left; /* what a solve left */
    rt_verdict_t *verdict;
} bench_t;

static void check_positive(const bench_t *b)
{
    double wrong = 0;
    for (int64_t i = 0; i < b->m->field.rows; i++)
        wrong += !(b->left->w[NB * i] > 0 && b->left->w[NB * i + 4] > 0);
    rt_comm_max(&wrong, 1);
    rt_verdict_true(b->verdict, "density and pressure are positive", wrong == 0);
}

static void check_path(const bench_t *b)
{
    const mcpi_state_left_t *left = b->left;
    mcpi_problem_t *p = b->m->problem;
    void *own = NULL;
    const mcpi_flow_oracle_t *of_problem = mcpi_flow_oracle_get(b->ref, 0, &p->flow_oracle), *o;
    o = left->draw == 0 ? of_problem : mcpi_flow_oracle_get(b->ref, left->draw, &own);
    const double u = mcpi_flow_unit(b->m);
    const double scale = mcpi_march_gas(p->config, p->geometry, left->draw).stream[0];
    double most = 0;
    rt_verdict_true(b->verdict, "as many steps as asked", left->steps == p->config->steps);
    rt_verdict_check(b->verdict,
                     "state after all steps = the oracle's (of the effect of roundings)",
                     mcpi_flow_difference(b->m->field.rows, left->w, o->state, scale),
                     mcpi_flow_sample * of_problem->effect * u + own_roundings);
    for (int64_t k = 0; k < left->steps && k < MCPI_JUDGED_STEPS; k++)
        most = fmax(most, fabs(left->norm[k] / o->norm[k] - 1));
    rt_verdict_check(b->verdict, "residuals on the way = the oracle's", most,
                     u <= RT_EPS ? 1e-10 : 1e-4);
    rt_free(own, RT_HOST);
}

/* Returns whether flow-reference ends as it should with this input and these options, and with a few
 * steps to spare. */
static bool reference_ends(const bench_t *b)
{
    const double spare = 0.15;
    const mcpi_config_t *config = b->m->problem->config;
    mcpi_march_t *ref = b->ref;
    mcpi_march_spoil(ref, b->left->draw, RT_KEEP_NOTHING);
    mcpi_march_solve(ref);
    if (config->tolerance > 0)
        return ref->end == MCPI_CONVERGED &&
               (1 + spare) * (double)ref->steps + 1 < (double)config->steps;
    return ref->end != MCPI_DIVERGED;
}

static void check_end(const bench_t *b, const char *name, bool right)
{
    if (right || reference_ends(b))
        rt_verdict_true(b->verdict, name, right);
    else
        rt_verdict_converged(b->verdict, name, false);
}

/* Judges the state of a solve with a tolerance, by the residual of the definition. */
static void check_converged(const bench_t *b)
{
    mcpi_march_t *ref = b->ref;
    mcpi_march_spoil(ref, b->left->draw, RT_KEEP_NOTHING);
    mcpi_march_residual(ref);
    const double first = mcpi_march_norm(ref);
    memcpy(ref->field.w, b->left->w,
           (size_t)(NB * (ref->field.rows + ref->field.ghosts)) * sizeof(double));
    mcpi_march_residual(ref);
    /* yes or no: an honest run stops just below the tolerance */
    const double left = mcpi_march_norm(ref) / first;
    const bool ended = b->left->end == MCPI_CONVERGED;
    const double seen = ended ? 0 : b->left->last_norm, asked = b->m->problem->config->tolerance;
    rt_verdict_true(b->verdict,
                    "residual of what is left, by the definition: as low as asked or seen",
                    left <= fmax(asked, seen) * (1 + 1e-3) + 1e-14);
    rt_verdict_check(b->verdict, "first residual = the definition's",
                     fabs(b->left->first_norm / first - 1), 1e-10);
    check_end(b, "residual has fallen as far as asked", ended);
}

static void check_left(const bench_t *b)
{
    const bool diverged = b->left->end == MCPI_DIVERGED;
    check_end(b, "did not diverge", !diverged);
    if (diverged)
        return;
    check_positive(b);
    if (b->m->problem->config->tolerance > 0)
        check_converged(b);
    else
        check_path(b);
    mcpi_check_ghosts(b->m->problem, NB, b->left->w,
                      "ghosts of the state are what their owners have", b->verdict);
}

void mcpi_march_verify_after(void *march, rt_verdict_t *verdict)
{
    mcpi_march_t *m = march;
    mcpi_march_t *ref = mcpi_march_new(m->problem, rt_app_rung(&mcpi_app, "flow-reference"));
    mcpi_march_keep(m, RT_KEEP_NOTHING); /* what is there now */
    for (int why = 0; why < RT_KEEPS; why++)
        if (m->left[why].w)
            check_left(&(bench_t){m, ref, &m->left[why], verdict});
    mcpi_march_destroy(ref);
    if (m->end != MCPI_DIVERGED)
        mcpi_march_forces(m, &m->drag, &m->lift);
    for (int why = 0; why < RT_KEEPS; why++)
        RT_FREE(m->left[why].w, RT_HOST);
}
