/*
 * judge.c - vectors on the host in double: see judge.h.
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

/* Is this a ghost that no exchange writes, beyond a face that is not periodic? */
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

void gfnn_judge_draw(const gfnn_box_t *box, const gfnn_grid_t *g, uint64_t seed, double *x)
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
                        own || is_outside(box, i, j, k) ? drawn(box, seed, c, i, j, k) : NAN;
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

gfnn_judged_t gfnn_judge_compare(const gfnn_grid_t *g, const double *want, const double *got,
                                 const double *bound, double factor)
{
    double worst = 0, largest = 0, difference = 0;
#pragma omp parallel for schedule(static) reduction(max : worst, largest, difference)
    for (int64_t k = 0; k < g->n[2]; k++)
        for (int c = 0; c < 3; c++)
            for (int64_t j = 0; j < g->n[1]; j++)
                for (int64_t i = 0; i < g->n[0]; i++) {
                    const int64_t at = c * g->plane + gfnn_at(g, i, j, k);
                    largest = fmax(largest, fabs(want[at]));
                    difference = fmax(difference, rt_error_over(got[at], want[at], 1));
                    if (bound)
                        worst = fmax(worst, rt_error_over(got[at], want[at], factor * bound[at]));
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
