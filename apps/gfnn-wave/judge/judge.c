/*
 * judge.c - vectors on the host in double, on their way to a rung and back: see judge.h.
 *
 * Like all of judge/, compiled with strict floating point: what is not finite must stay so.
 */
#include "config.h"
#include <math.h>
#include "judge.h"
#include "judge/compare.h"

double *gfnn_judge_vector(const gfnn_grid_t *g)
{
    const size_t values = 3 * (size_t)g->plane;
    double *x = RT_NEW(double, values, RT_HOST);
    rt_fill(x, RT_HOST, 0, values * sizeof *x);
    return x;
}

double *gfnn_judge_scratch(gfnn_scratch_t *scratch, const gfnn_grid_t *g)
{
    RT_EXPECT(scratch->n < GFNN_MOST_SCRATCH, RT_MEMORY, "more than %d vectors of a check",
              GFNN_MOST_SCRATCH);
    return scratch->x[scratch->n++] = gfnn_judge_vector(g);
}

void gfnn_judge_release(gfnn_scratch_t *scratch, int left)
{
    for (; scratch->n > left; scratch->n--)
        RT_FREE(scratch->x[scratch->n - 1], RT_HOST);
}

/* --- to a rung and back --- */

/* Rounds x, below 2^15 in magnitude, to the nearest 16-bit float; returns its bits. Independent of
 * node.h, which it judges. */
static uint16_t half_bits(double *x)
{
    int exponent;
    const double magnitude = fabs(*x);
    const uint16_t sign = signbit(*x) ? 0x8000 : 0;
    if (!rt_finite(*x))
        return 0x7e00;
    if (magnitude == 0)
        return sign;
    frexp(magnitude, &exponent); /* in 2^(exponent - 1) .. 2^exponent */
    const int step = exponent - 11 > -24 ? exponent - 11 : -24;
    const double rounded = rint(ldexp(magnitude, -step));
    *x = copysign(ldexp(rounded, step), *x);
    /* a mantissa that was rounded up to 2^11 correctly carries into the exponent */
    const uint16_t bits =
        step == -24 ? (uint16_t)rounded : (uint16_t)(((step + 24) << 10) + (int)rounded);
    return (uint16_t)(sign | bits);
}

void gfnn_judge_round(const gfnn_grid_t *g, rt_type_t type, double *x)
{
#pragma omp parallel for schedule(static)
    for (int64_t i = 0; i < 3 * g->plane; i++)
        if (type == RT_F32)
            x[i] = (double)(float)x[i];
        else if (type == RT_F16)
            half_bits(&x[i]);
}

void gfnn_judge_put(const gfnn_solver_t *s, const gfnn_grid_t *g, rt_type_t type, double *x,
                    void *to)
{
    const size_t values = 3 * (size_t)g->plane;
    gfnn_judge_round(g, type, x);
    if (type == RT_F64)
        return rt_copy(to, s->space, x, RT_HOST, values * sizeof *x);
    float *rounded = RT_NEW(float, values, RT_HOST);
    uint16_t *bits = (uint16_t *)rounded;
#pragma omp parallel for schedule(static)
    for (size_t i = 0; i < values; i++)
        if (type == RT_F32)
            rounded[i] = (float)x[i];
        else
            bits[i] = half_bits(&x[i]);
    rt_copy(to, s->space, rounded, RT_HOST,
            values * (type == RT_F32 ? sizeof *rounded : sizeof *bits));
    RT_FREE(rounded, RT_HOST);
}

void gfnn_judge_get(const gfnn_solver_t *s, const gfnn_grid_t *g, rt_type_t type, const void *from,
                    double *x)
{
    const size_t values = 3 * (size_t)g->plane;
    if (type == RT_F64)
        return rt_copy(x, RT_HOST, from, s->space, values * sizeof *x);
    float *got = RT_NEW(float, values, RT_HOST);
    rt_copy(got, RT_HOST, from, s->space, values * sizeof *got);
#pragma omp parallel for schedule(static)
    for (size_t i = 0; i < values; i++)
        x[i] = got[i];
    RT_FREE(got, RT_HOST);
}

/* --- own nodes --- */

/* Returns whether this is a ghost that no exchange writes, beyond a face that is not periodic. */
static bool is_outside(const gfnn_box_t *box, int64_t i, int64_t j, int64_t k)
{
    const int64_t at[3] = {i, j, k};
    if (box->faces == GFNN_PERIODIC)
        return false;
    for (int d = 0; d < 3; d++)
        if (box->first[d] + at[d] < 0 || box->first[d] + at[d] >= box->N[d])
            return true;
    return false;
}

/* Returns what is drawn for a node, wherever it is stored: 0 beyond a face. */
static double drawn(const gfnn_box_t *box, uint64_t seed, int c, int64_t i, int64_t j, int64_t k)
{
    const int64_t at[3] = {i, j, k};
    int64_t node = 0;
    if (is_outside(box, i, j, k))
        return 0;
    for (int d = 2; d >= 0; d--) {
        const int64_t N = box->N[d], place = (box->first[d] + at[d]) % N;
        node = node * N + (place + N) % N;
    }
    return rt_random((uint64_t)(3 * node + c), seed);
}

void gfnn_judge_draw(const gfnn_box_t *box, const gfnn_grid_t *g, uint64_t seed, double scale,
                     double ghosts, double *x)
{
    const int64_t h = g->halo;
    rt_fill(x, RT_HOST, 0, 3 * (size_t)g->plane * sizeof *x);
#pragma omp parallel for schedule(static) collapse(2)
    for (int c = 0; c < 3; c++)
        for (int64_t k = -h; k < g->n[2] + h; k++)
            for (int64_t j = -h; j < g->n[1] + h; j++)
                for (int64_t i = -h; i < g->n[0] + h; i++) {
                    const bool own =
                        i >= 0 && i < g->n[0] && j >= 0 && j < g->n[1] && k >= 0 && k < g->n[2];
                    x[c * g->plane + gfnn_at(g, i, j, k)] =
                        own || is_outside(box, i, j, k) ? scale * drawn(box, seed, c, i, j, k)
                                                        : ghosts;
                }
}

bool gfnn_judge_ghosts(const gfnn_box_t *box, const gfnn_grid_t *g, uint64_t seed, const double *x)
{
    double wrong = 0;
#pragma omp parallel for schedule(static) collapse(2) reduction(+ : wrong)
    for (int c = 0; c < 3; c++)
        for (int64_t k = -1; k <= g->n[2]; k++)
            for (int64_t j = -1; j <= g->n[1]; j++)
                for (int64_t i = -1; i <= g->n[0]; i++)
                    wrong += x[c * g->plane + gfnn_at(g, i, j, k)] != drawn(box, seed, c, i, j, k);
    rt_comm_max(&wrong, 1);
    return wrong == 0;
}

gfnn_judged_t gfnn_judge_compare(const gfnn_grid_t *g, const double *want,
                                 const gfnn_grid_t *of_got, const double *got, const double *bound,
                                 double factor)
{
    double worst = 0, largest = 0, difference = 0;
#pragma omp parallel for schedule(static) reduction(max : worst, largest, difference)
    for (int64_t k = 0; k < g->n[2]; k++)
        for (int c = 0; c < 3; c++)
            for (int64_t j = 0; j < g->n[1]; j++)
                for (int64_t i = 0; i < g->n[0]; i++) {
                    const int64_t at = c * g->plane + gfnn_at(g, i, j, k);
                    const double have = got[c * of_got->plane + gfnn_at(of_got, i, j, k)];
                    largest = fmax(largest, fabs(want[at]));
                    difference = fmax(difference, rt_error_over(have, want[at], 1));
                    if (bound)
                        worst = fmax(worst, rt_error_over(have, want[at], factor * bound[at]));
                }
    double all[3] = {worst, largest, difference};
    rt_comm_max(all, 3);
    return (gfnn_judged_t){all[0], all[1], all[2]};
}

double gfnn_judge_dot(const gfnn_grid_t *g, const double *x, const double *y)
{
    double *layer = RT_NEW(double, (size_t)g->n[2], RT_HOST), sum = 0;
#pragma omp parallel for schedule(static)
    for (int64_t k = 0; k < g->n[2]; k++) {
        double of_layer = 0;
        for (int c = 0; c < 3; c++)
            for (int64_t j = 0; j < g->n[1]; j++) {
                const int64_t row = c * g->plane + gfnn_at(g, 0, j, k);
                for (int64_t i = row; i < row + g->n[0]; i++)
                    of_layer += x[i] * y[i];
            }
        layer[k] = of_layer;
    }
    for (int64_t k = 0; k < g->n[2]; k++)
        sum += layer[k];
    RT_FREE(layer, RT_HOST);
    rt_comm_sum(&sum, 1);
    return sum;
}

double gfnn_judge_norm(const gfnn_grid_t *g, const double *x)
{
    return sqrt(gfnn_judge_dot(g, x, x));
}

double gfnn_judge_apart(const gfnn_grid_t *g, const double *x, const double *y, double *scratch)
{
#pragma omp parallel for schedule(static)
    for (int64_t i = 0; i < 3 * g->plane; i++)
        scratch[i] = x[i] - y[i];
    return gfnn_judge_norm(g, scratch);
}

void gfnn_judge_before(const gfnn_problem_t *p, const gfnn_state_t *end, const double *du,
                       gfnn_state_t *before)
{
    const double dt = p->config->dt;
#pragma omp parallel for schedule(static)
    for (int64_t i = 0; i < 3 * p->box.fine.plane; i++) {
        before->u[i] = end->u[i] - du[i];
        const double v = 2 * du[i] / dt - end->v[i];
        before->a[i] = 4 * du[i] / (dt * dt) - 4 * v / dt - end->a[i];
        before->v[i] = v;
    }
}
