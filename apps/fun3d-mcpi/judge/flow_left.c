/*
 * flow_left.c - judges what a timed solve of the ladder "flow" left behind.
 *
 * With a fixed number of steps: the state and the residuals on the way against those
 * of the oracle's steps (flow_oracle.c). With --tolerance: the residual of the state that is left,
 * by the definition, has fallen as far as was asked; that needs no path. In both: ghosts are what
 * their owners have, and density and pressure are positive. A rung that diverged, or that has used up
 * its steps, has not converged if flow-reference with the same options does no better; else it is
 * wrong.
 */
#include "config.h"
#include <math.h>
#include <string.h>
#include "flow_judge.h"

enum { NB = MCPI_Q };
/* In addition: R and A are sums in another order than the oracle's. */
static const double own_roundings = 2e-12;

static void check_ghosts(mcpi_march_t *m, rt_verdict_t *verdict)
{
    const int64_t all = NB * (m->field.rows + m->field.ghosts);
    double *before = mcpi_flow_take(m, m->field.w, all);
    mcpi_march_ghosts(m);
    double *after = mcpi_flow_take(m, m->field.w, all);
    double differ = memcmp(before, after, (size_t)all * sizeof *after) != 0;
    rt_comm_max(&differ, 1);
    rt_verdict_true(verdict, "ghosts of the state are what their owners have", differ == 0);
    RT_FREE(before, RT_HOST);
    RT_FREE(after, RT_HOST);
}

static void check_positive(const mcpi_march_t *m, const double *w, rt_verdict_t *verdict)
{
    double wrong = 0;
    for (int64_t i = 0; i < m->field.rows; i++)
        wrong += !(w[NB * i] > 0 && w[NB * i + 4] > 0);
    rt_comm_max(&wrong, 1);
    rt_verdict_true(verdict, "density and pressure are positive", wrong == 0);
}

static void check_path(mcpi_march_t *m, const double *w, rt_verdict_t *verdict)
{
    const double u = mcpi_flow_unit(m);
    const mcpi_flow_oracle_t *o = mcpi_flow_oracle_get(m);
    double most = 0;
    rt_verdict_true(verdict, "as many steps as asked", m->steps == o->steps);
    rt_verdict_check(verdict, "state after all steps = the oracle's (of the effect of roundings)",
                     mcpi_flow_difference(m->field.rows, w, m->scale, o->state, 1),
                     mcpi_flow_sample * o->effect * u + own_roundings);
    for (int64_t k = 0; k < m->steps && k < MCPI_ORACLE_STEPS; k++)
        most = fmax(most, fabs(m->history[k].norm / o->norm[k] - 1));
    rt_verdict_check(verdict, "residuals on the way = the oracle's", most,
                     u <= RT_EPS ? 1e-10 : 1e-4);
}

/* Returns whether flow-reference ends as it should with these options, and with a few steps to
 * spare. */
static bool reference_ends(const mcpi_march_t *m)
{
    const double spare = 0.15;
    const mcpi_config_t *config = m->problem->config;
    mcpi_march_t *ref = mcpi_flow_reference_new(m);
    mcpi_march_spoil(ref);
    mcpi_march_solve(ref);
    const bool ends = config->tolerance > 0
                          ? ref->end == MCPI_CONVERGED &&
                                (1 + spare) * (double)ref->steps + 1 < (double)config->steps
                          : ref->end != MCPI_DIVERGED;
    mcpi_march_destroy(ref);
    return ends;
}

static void check_end(const mcpi_march_t *m, const char *name, bool right, rt_verdict_t *verdict)
{
    if (right || reference_ends(m))
        rt_verdict_true(verdict, name, right);
    else
        rt_verdict_converged(verdict, name, false);
}

/* Judges the state of a solve with a tolerance, by the residual of the definition. */
static void check_converged(mcpi_march_t *m, const double *w, rt_verdict_t *verdict)
{
    const mcpi_problem_t *p = m->problem;
    mcpi_march_t *ref = mcpi_flow_reference_new(m);
    const size_t bytes = (size_t)(NB * (m->field.rows + m->field.ghosts)) * sizeof(double);
    ref->field.gas = mcpi_march_gas(p->config, p->geometry, 1);
    rt_copy(ref->field.w, RT_HOST, ref->start, RT_HOST, bytes);
    mcpi_march_ghosts(ref);
    mcpi_march_residual(ref);
    const double first = mcpi_march_norm(ref);
    ref->field.gas = mcpi_march_gas(p->config, p->geometry, m->scale);
    memcpy(ref->field.w, w, bytes);
    mcpi_march_residual(ref);
    /* yes or no: an honest run stops just below the tolerance */
    const double left = mcpi_march_norm(ref) / first;
    const double seen = m->history[m->steps].norm;
    const bool ended = m->end == MCPI_CONVERGED;
    check_end(m, "residual has fallen as far as asked", ended, verdict);
    rt_verdict_true(verdict, "residual of what is left, by the definition: as low as asked or seen",
                    left <= fmax(p->config->tolerance, ended ? 0 : seen) * (1 + 1e-3) + 1e-14);
    rt_verdict_check(verdict, "first residual = the definition's", fabs(m->first_norm / first - 1),
                     1e-10);
    mcpi_march_destroy(ref);
}

void mcpi_march_verify_after(void *march, rt_verdict_t *verdict)
{
    mcpi_march_t *m = march;
    const bool diverged = m->end == MCPI_DIVERGED;
    check_end(m, "did not diverge", !diverged, verdict);
    if (diverged)
        return;
    double *w = mcpi_flow_take(m, m->field.w, NB * (m->field.rows + m->field.ghosts));
    check_positive(m, w, verdict);
    if (m->problem->config->tolerance > 0)
        check_converged(m, w, verdict);
    else
        check_path(m, w, verdict);
    check_ghosts(m, verdict);
    mcpi_march_forces(m, &m->drag, &m->lift);
    mcpi_march_time_phases(m);
    /* what was judged, for the picture */
    rt_copy(m->field.w, m->space, w, RT_HOST,
            (size_t)(NB * (m->field.rows + m->field.ghosts)) * sizeof *w);
    RT_FREE(w, RT_HOST);
}
