/*
 * flow_verify.c - what a rung of the ladder "flow" must show before its time counts.
 *
 * Before timing, on a state, a step and updates drawn from a seed that no rung can know: slopes, R,
 * rate, norm, the blocks of A, L U = D, the right-hand side, sweeps, and the update, each against
 * the definition (flow/flow.h) with what the rung's own phase before it made.
 *
 * flow_left.c judges what a timed solve leaves behind.
 *
 * Bounds. The definition returns the sum of the magnitudes of what a value adds up. Each of these
 * terms goes through fewer than 64 roundings on either side (Roe's mean 20, |A| 30, and as many
 * additions as a row has faces), so a value may be off by 128 eps of that sum. The
 * slopes are M^-1 b: by the inverse a rung has, off by cond(M) eps |M^-1| |b| and 32 roundings.
 * O must be what a value within that bound is rounded to.
 */
#include "config.h"
#include <math.h>
#include <string.h>
#include "base/threads.h"
#include "judge.h"
#include "judge/compare.h"

enum { NB = MCPI_Q, BLOCK = MCPI_Q * MCPI_Q };
enum { ROUNDINGS = 128, SLOPE_ROUNDINGS = 64, SHORT_SWEEPS = 2 };
/* Added to the seed. */
enum { STATE_SEED = 1, STEP_SEED = 2, UPDATE_SEED = 3, DISTURBANCE_SEED = 4 };

typedef struct {
    mcpi_march_t *m;
    mcpi_field_t host; /* the rung's arrays, copied to the host as they are made */
    int64_t rows, all;
    uint64_t seed;
    rt_verdict_t *verdict;
} bench_t;

/* Adds a check of the worst ratio of all ranks to its bound. */
static void judge(const bench_t *b, const char *name, double worst)
{
    rt_comm_max(&worst, 1);
    rt_verdict_check(b->verdict, name, worst, 1);
}

/* --- a random state --- */

static void put_state(bench_t *b)
{
    mcpi_march_t *m = b->m;
    const mcpi_problem_t *p = m->problem;
    const mcpi_geometry_t *g = p->geometry;
    double *w = RT_NEW(double, (size_t)(NB * b->all), RT_HOST);
    static const double size = 0.05;
    for (int64_t i = 0; i < b->all; i++)
        for (int v = 0; v < NB; v++) {
            const uint64_t at = (uint64_t)p->part->vertex[i] * NB + (uint64_t)v;
            const bool scaled = v == 0 || v == NB - 1;
            const double stream = m->field.gas.stream[v];
            const double random = size * rt_random(at, b->seed + STATE_SEED);
            w[NB * i + v] = scaled ? stream * (1 + random) : stream + random;
            if (i < b->rows && g->side_of[i] >= 0 && g->side[g->side_of[i]].held > 0 && !scaled)
                w[NB * i + v] = 0;
        }
    rt_copy(m->field.w, m->space, w, RT_HOST, (size_t)(NB * b->all) * sizeof *w);
    rt_free(w, RT_HOST);
    mcpi_march_ghosts(m);
    m->field.cfl = exp2(4 + 3 * rt_random(0, b->seed + STEP_SEED));
}

/* Makes a field on the host that sees the geometry, and copies of the rung's state. */
static void take_state(bench_t *b)
{
    const mcpi_geometry_t *g = b->m->problem->geometry;
    const mcpi_part_t *part = b->m->problem->part;
    b->host = b->m->field;
    b->host.start = part->short_start;
    b->host.column = part->column;
    b->host.x = g->x;
    b->host.n = g->n;
    b->host.viscous = g->viscous;
    b->host.diagonal = g->diagonal;
    b->host.surface = g->surface;
    b->host.side_of = g->side_of;
    b->host.side = g->side;
    b->host.outside = mcpi_march_take(b->m, b->m->outside, NB * b->rows);
    b->host.w = mcpi_march_take(b->m, b->m->field.w, NB * b->all);
}

/* --- slopes and residual --- */

static double inverse_norm(double M[3][3])
{
    double most = 0;
    for (int c = 0; c < 3; c++) {
        double unit[3] = {0}, x[3];
        unit[c] = 1;
        mcpi_reference_solve3(M, unit, x);
        most = fmax(most, fabs(x[0]) + fabs(x[1]) + fabs(x[2]));
    }
    return most;
}

static void check_slopes(bench_t *b)
{
    mcpi_march_t *m = b->m;
    double worst = 0;
    b->host.gradient = mcpi_march_take(m, m->field.gradient, 3 * NB * b->all);
#pragma omp parallel for schedule(static) reduction(max : worst)
    for (int64_t i = 0; i < b->rows; i++) {
        double M[3][3], right[NB][3], size[NB][3], norm = 0;
        mcpi_reference_normal(&b->host, i, M, right, size);
        for (int c = 0; c < 3; c++)
            norm = fmax(norm, fabs(M[c][0]) + fabs(M[c][1]) + fabs(M[c][2]));
        const double inverse = inverse_norm(M), cond = norm * inverse;
        for (int v = 0; v < NB; v++) {
            double want[3], terms = 0;
            mcpi_reference_solve3(M, right[v], want);
            for (int c = 0; c < 3; c++)
                terms = fmax(terms, size[v][c]);
            const double bound =
                SLOPE_ROUNDINGS * RT_EPS *
                (cond * fmax(fmax(fabs(want[0]), fabs(want[1])), fabs(want[2])) + inverse * terms);
            for (int c = 0; c < 3; c++)
                worst = fmax(worst,
                             rt_error_over(b->host.gradient[3 * (NB * i + v) + c], want[c], bound));
        }
    }
    judge(b, "slopes = those of the normal equations (of their rounding bound)", worst);
}

static void check_residual(bench_t *b)
{
    mcpi_march_t *m = b->m;
    double *R = mcpi_march_take(m, m->field.R, NB * b->rows);
    double *rate = mcpi_march_take(m, m->field.rate, b->rows);
    double worst[2] = {0, 0}, sum = 0;
#pragma omp parallel for schedule(static) reduction(max : worst[:2]) reduction(+ : sum)
    for (int64_t i = 0; i < b->rows; i++) {
        double want[NB], size[NB];
        const double of_rate = mcpi_reference_residual(&b->host, i, want, size);
        for (int v = 0; v < NB; v++) {
            worst[0] =
                fmax(worst[0], rt_error_over(R[NB * i + v], want[v], ROUNDINGS * RT_EPS * size[v]));
            const double part = R[NB * i + v] / (b->host.surface[i] * b->host.gas.stream[0]);
            sum += part * part;
        }
        worst[1] = fmax(worst[1], rt_error_over(rate[i], of_rate, ROUNDINGS * RT_EPS * of_rate));
    }
    judge(b, "R = what flows in, by the definition (of its rounding bound)", worst[0]);
    judge(b, "rate = speeds over all faces (of its rounding bound)", worst[1]);
    rt_comm_sum(&sum, 1);
    const double want = sqrt(sum / (NB * (double)m->problem->counts.rows));
    judge(b, "norm of R (of its rounding bound)",
          rt_error_over(mcpi_march_norm(m), want, 1e-12 * want));
    b->host.R = R;
    b->host.rate = rate;
}

/* --- blocks --- */

/* Returns the error of a value of O over its bound: in FP64 that of its terms. In another type it
 * is what something within that bound is rounded to, or it is wrong. */
static double block_error(double got, double want, double bound, mcpi_type_t type)
{
    if (type == MCPI_FP64)
        return rt_error_over(got, want, bound);
    return got >= mcpi_rounded(want - bound, type) && got <= mcpi_rounded(want + bound, type)
               ? 0
               : INFINITY;
}

typedef struct {
    void *O;
    double *D, *LU, *scale;
} blocks_t;

static void check_row(const bench_t *b, const blocks_t *made, int64_t i, double *scratch,
                      double worst[3])
{
    const mcpi_field_t *f = &b->host;
    const int64_t first = f->start[i], values = (f->start[i + 1] - first) * BLOCK;
    double D[BLOCK], size_D[BLOCK], *O = scratch, *size_O = scratch + values;
    mcpi_reference_row_blocks(f, i, O, D, size_O, size_D);
    const double scale = made->scale[i];
    for (int64_t k = 0; k < values; k++) {
        const double want = scale * O[k], exact = ROUNDINGS * RT_EPS * scale * size_O[k];
        const double got = mcpi_value(made->O, f->offdiagonal, first * BLOCK + k);
        worst[0] = fmax(worst[0], block_error(got, want, exact, f->offdiagonal));
    }
    for (int k = 0; k < BLOCK; k++)
        worst[1] = fmax(worst[1], rt_error_over(made->D[BLOCK * i + k], scale * D[k],
                                                ROUNDINGS * RT_EPS * scale * size_D[k]));
    worst[2] = fmax(worst[2], scale != ldexp(1, -ilogb(f->rate[i])));
}

static void check_blocks(bench_t *b, blocks_t *made)
{
    mcpi_march_t *m = b->m;
    const mcpi_field_t *f = &m->field;
    double worst[3] = {0}, factors = 0;
    m->phases->jacobian(f);
    made->O = mcpi_flow_take_O(m);
    made->D = mcpi_flow_take_rows(m, f->LU, f->LU_at, BLOCK);
    made->scale = mcpi_march_take(m, f->scale, b->rows);
    const size_t each = (size_t)(2 * m->problem->part->longest) * BLOCK;
    double *scratch = RT_NEW(double, (size_t)rt_threads() * each, RT_HOST);
#pragma omp parallel reduction(max : worst[:3])
    {
#pragma omp for schedule(static)
        for (int64_t i = 0; i < b->rows; i++)
            check_row(b, made, i, scratch + (size_t)rt_thread() * each, worst);
    }
    RT_FREE(scratch, RT_HOST);
    judge(b, "O = the Jacobian, rounded as asked (of its rounding bound)", worst[0]);
    judge(b, "D = the Jacobian and the step (of its rounding bound)", worst[1]);
    rt_comm_max(worst + 2, 1);
    rt_verdict_true(b->verdict, "rows scaled by the power of two of the rate", worst[2] == 0);
    m->phases->factor(f);
    made->LU = mcpi_flow_take_rows(m, f->LU, f->LU_at, BLOCK);
    for (int64_t i = 0; i < b->rows; i++)
        factors =
            fmax(factors, mcpi_factor_error(NB, made->LU + BLOCK * i, made->D + BLOCK * i, 1));
    judge(b, "L U = D, in FP64 (of its rounding bound)", factors);
}

/* --- sweeps --- */

/* Sweeps by the definition over the rung's own O, factors and right-hand side; u > 0: each value is
 * off by a random share of up to 8 u. */
static void reference_sweeps(const bench_t *b, const blocks_t *made, double u, double *dq)
{
    const mcpi_problem_t *p = b->m->problem;
    const mcpi_part_t *part = p->part;
    const mcpi_system_t system = {.nb = NB,
                                  .type = b->host.offdiagonal,
                                  .part = part,
                                  .O = made->O,
                                  .LU = made->LU,
                                  .R = (double *)b->host.right};
    memset(dq, 0, (size_t)(NB * b->all) * sizeof *dq);
    for (int sweep = 0; sweep < SHORT_SWEEPS; sweep++)
        for (int c = 0; c < part->colours; c++) {
            const int64_t first = part->colour_start[c], last = part->colour_start[c + 1];
            mcpi_reference_rows(&system, system.R, first, last, dq, NULL);
            for (int64_t v = NB * first; u > 0 && v < NB * last; v++)
                dq[v] *= 1 + 8 * u * rt_random((uint64_t)v, b->seed + DISTURBANCE_SEED);
            mcpi_halo_copy(p->halo, part->colours, c, NB, dq);
        }
}

static void check_sweeps(bench_t *b, const blocks_t *made)
{
    mcpi_march_t *m = b->m;
    const size_t values = (size_t)(NB * b->all);
    double *want = RT_NEW(double, values, RT_HOST), *off = RT_NEW(double, values, RT_HOST);
    double *got = RT_NEW(double, values, RT_HOST), most[2] = {0, 0}, differ = 0, change = 0;
    m->phases->right(&m->field);
    b->host.right = mcpi_flow_take_rows(m, m->field.right, m->field.right_at, NB);
    for (int64_t k = 0; k < NB * b->rows; k++)
        differ += ((const double *)b->host.right)[k] != made->scale[k / NB] * b->host.R[k];
    rt_comm_max(&differ, 1);
    rt_verdict_true(b->verdict, "right-hand side = R, scaled", differ == 0);
    memset(got, 0, values * sizeof *got);
    mcpi_put_dq(m->sweeper, got);
    mcpi_sweeps(m->sweeper, SHORT_SWEEPS - 1);
    rt_device_synchronize();
    mcpi_get_dq(m->sweeper, off);
    const double changed = mcpi_march_sweep_more(m, 1);
    mcpi_get_dq(m->sweeper, got);
    for (int64_t k = 0; k < NB * b->rows; k++)
        change += (got[k] - off[k]) * (got[k] - off[k]);
    rt_comm_sum(&change, 1);
    change = sqrt(change / (NB * (double)m->problem->counts.rows));
    judge(b, "norm of what a sweep changes (of its rounding bound)",
          rt_error_over(changed, change, 1e-12 * change));
    reference_sweeps(b, made, 0, want);
    reference_sweeps(b, made, mcpi_flow_unit(m), off);
    for (int64_t k = 0; k < NB * b->rows; k++) {
        const double d = fabs(got[k] - want[k]);
        most[0] = rt_finite(d) ? fmax(most[0], d) : INFINITY;
        most[1] = fmax(most[1], fabs(off[k] - want[k]));
    }
    rt_comm_max(most, 2);
    rt_verdict_check(b->verdict, "sweeps over A = the reference's (of the effect of roundings)",
                     most[0], mcpi_flow_sample * most[1]);
    RT_FREE_ALL(RT_HOST, want, off, got);
}

/* --- update --- */

/* Moves by random dQ, some of which would empty a cell; that of row 0 surely does. */
static void check_update(bench_t *b)
{
    mcpi_march_t *m = b->m;
    double *dq = RT_NEW(double, (size_t)(NB * b->all), RT_HOST), worst = 0, scaled[2] = {0, 0};
    for (int64_t k = 0; k < NB * b->all; k++) {
        const double random = rt_random((uint64_t)k, b->seed + UPDATE_SEED);
        const bool large = rt_hash((uint64_t)(k / NB), b->seed) % 16 == 0;
        dq[k] = m->scale * (k == 0 ? -2 : random * (large ? 2 : 0.1));
    }
    mcpi_put_dq(m->sweeper, dq);
    mcpi_get_dq(m->sweeper, dq); /* as it was rounded */
    scaled[0] = (double)m->phases->update(&m->field).scaled;
    double *got = mcpi_march_take(m, m->field.w, NB * b->rows);
    for (int64_t i = 0; i < b->rows; i++) {
        double want[NB], size = 0;
        memcpy(want, b->host.w + NB * i, sizeof want);
        scaled[1] += mcpi_reference_update(want, dq + NB * i) > 0;
        for (int v = 0; v < NB; v++)
            size = fmax(size, fabs(want[v] / b->host.gas.stream[v == 0 || v == 4 ? v : 0]) *
                                  (v == 0 || v == 4 ? 1 : m->scale));
        for (int v = 0; v < NB; v++) {
            const bool is_scaled = v == 0 || v == 4;
            worst = fmax(worst, rt_error_over(got[NB * i + v], want[v],
                                              ROUNDINGS * RT_EPS * (1 + size * size) * 10 *
                                                  (is_scaled ? m->scale : 1)));
        }
    }
    judge(b, "update = q + dQ, or as much as keeps it positive (of its rounding bound)", worst);
    rt_comm_sum(scaled, 2);
    rt_verdict_true(b->verdict, "rows whose update was scaled: as many as need it",
                    scaled[0] == scaled[1] && scaled[1] > 0);
    RT_FREE_ALL(RT_HOST, got, dq);
}

void mcpi_march_verify_before(void *march, uint64_t seed, rt_verdict_t *verdict)
{
    mcpi_march_t *m = march;
    bench_t b = {.m = m,
                 .rows = m->field.rows,
                 .all = m->field.rows + m->field.ghosts,
                 .seed = seed,
                 .verdict = verdict};
    blocks_t made = {0};
    mcpi_march_spoil(m, seed | 1, RT_KEEP_NOTHING); /* another gas than the problem's */
    put_state(&b);
    mcpi_march_residual(m);
    take_state(&b);
    check_slopes(&b);
    check_residual(&b);
    check_blocks(&b, &made);
    check_sweeps(&b, &made);
    check_update(&b);
    RT_FREE_ALL(RT_HOST, made.O, made.D, made.LU, made.scale, b.host.outside, b.host.w, b.host.R,
                b.host.rate, b.host.right, b.host.gradient);
    mcpi_march_spoil(m, 0, RT_KEEP_NOTHING);
}
