/*
 * report.c - what a march says of itself: one line, and the history in the JSON.
 */
#include "config.h"
#include "march.h"
#include <math.h>

/* Steps that are reported of a run, at most about. */
enum { MOST_SAMPLES = 500 };

void mcpi_march_forces(const mcpi_march_t *m, double *drag, double *lift)
{
    const mcpi_geometry_t *g = m->problem->geometry;
    const double *stream = m->field.gas.stream, *u = stream + 1;
    const double square = u[0] * u[0] + u[1] * u[1] + u[2] * u[2], speed = sqrt(square);
    double *w = mcpi_march_take(m, m->field.w, MCPI_Q * g->rows), force[3] = {0};
    for (int64_t i = 0; i < g->rows; i++)
        for (int d = 0; d < 3 && g->side_of[i] >= 0; d++)
            force[d] += (w[MCPI_Q * i + 4] - stream[4]) * g->side[g->side_of[i]].wall[d];
    RT_FREE(w, RT_HOST);
    rt_comm_sum(force, 3);
    const double unit = stream[0] * square / 2 * g->length * g->length;
    *drag = (force[0] * u[0] + force[2] * u[2]) / speed / unit;
    *lift = (force[2] * u[0] - force[0] * u[2]) / speed / unit;
}

/* Returns how many residuals are known: one more than steps if the last state was measured. */
static int64_t known(const mcpi_march_t *m)
{
    return m->steps + (m->end != MCPI_DIVERGED && m->problem->config->tolerance > 0);
}

static void say(const mcpi_march_t *m, rt_text_t *line)
{
    const mcpi_tally_t sum = mcpi_march_tally(m);
    const double orders = -log10(m->history[known(m) > 0 ? known(m) - 1 : 0].norm);
    if (m->end == MCPI_DIVERGED)
        rt_text(line, "diverged in step %lld at vertex %lld: try a smaller --courant",
                (long long)m->steps, (long long)m->lost);
    else
        rt_text(
            line,
            "%lld steps, %lld of them taken back, of %lld to %lld sweeps, Courant number %.4g to "
            "%.4g; the residual fell by %.1f orders%s; %lld updates of rows were scaled to keep "
            "density and pressure positive",
            (long long)m->steps, (long long)sum.back, (long long)m->problem->config->sweeps,
            (long long)sum.sweeps_most, sum.cfl[0], sum.cfl[1], orders,
            m->end == MCPI_CONVERGED ? ", as far as asked" : "", (long long)sum.scaled);
}

static void put_history(const mcpi_march_t *m, json_t *json)
{
    const int64_t n = known(m), apart = 1 + n / MOST_SAMPLES;
    json_t *history = rt_json_array(json, "steps");
    for (int64_t k = 0; k < n; k++) {
        const mcpi_step_t *s = m->history + k;
        if ((k % apart != 0 && k != n - 1) || !rt_finite(s->norm))
            continue;
        json_t *o = rt_json_append_object(history);
        rt_json_int(o, "step", k);
        rt_json_real(o, "residual", s->norm);
        if (k < m->steps) {
            rt_json_real(o, "courant", s->cfl);
            rt_json_int(o, "sweeps", s->sweeps);
            rt_json_int(o, "scaled", s->scaled);
            rt_json_bool(o, "taken_back", s->back);
        }
    }
}

void mcpi_march_result(const void *march, rt_result_t *out)
{
    const mcpi_march_t *m = march;
    const mcpi_problem_t *p = m->problem;
    if (m->end != MCPI_DIVERGED)
        mcpi_march_work_done(m, out->work);
    say(m, &out->line);
    if (!out->json)
        return;
    rt_json_text(out->json, "ladder", "flow");
    rt_json_text(out->json, "sweeps", m->phases->sweeps);
    rt_json_int(out->json, "rows", p->counts.rows);
    rt_json_int(out->json, "off_diagonal_blocks", p->counts.blocks);
    rt_json_int(out->json, "steps_done", m->steps);
    put_history(m, out->json);
    if (rt_finite(m->drag) && rt_finite(m->lift)) {
        rt_json_real(out->json, "drag", m->drag);
        rt_json_real(out->json, "lift", m->lift);
    }
}
