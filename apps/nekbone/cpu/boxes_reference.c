/*
 * boxes_reference.c - the parts of the preconditioner as they are defined: patches,
 * transfers, and the solver of degree 1, in FP64. See solve_reference.c.
 */
#include "config.h"
#include "boxes_reference.h"
#include <string.h>

/* The most points of a box. */
enum { MOST = NEK_MOST_PATCH * NEK_MOST_PATCH * NEK_MOST_PATCH };

void nek_ref_add_boxes(const nek_level_t *level, nek_box_t kind, int size,
                       nek_ref_element_fn *element, const nek_ref_job_t *job, double *sum)
{
    enum { COLOURS = 3 }; /* boxes of degree 2 reach two elements on */
    const nek_grid_t *g = &level->grid;
    const int64_t layer = (int64_t)g->local[0] * g->local[1];
    memset(sum, 0, (size_t)g->nodes * sizeof *sum);
    for (int colour = 0; colour < COLOURS; colour++)
#pragma omp parallel for schedule(dynamic)
        for (int z = colour; z < g->local[2]; z += COLOURS) {
            double box[MOST];
            for (int64_t e = z * layer; e < (z + 1) * layer; e++) {
                double *to = sum + nek_grid_box(g, e, kind);
                element(job, e, box);
                for (int q = 0; q < size * size * size; q++)
                    to[nek_grid_in_box(g, size, q)] += box[q];
            }
        }
    if (level->halo) {
        rt_field_t field = rt_field_f64(sum);
        rt_halo_do(level->halo, RT_HALO_SUM, &field);
    }
    for (int64_t q = 0; q < g->nodes; q++)
        if (!nek_grid_is_inside(g, q))
            sum[q] = 0;
}

/* Computes out[k'][j'][i'] = sum X(i', i) Y(j', j) Z(k', k) in[k][j][i], matrices [to][from]; with
 * `transposed` the matrices are [from][to]. */
static void products(int to, int from, const double *const M[3], bool transposed, const double *in,
                     double *out)
{
    double one[MOST], two[MOST], *a = one, *b = two;
    int size[3] = {from, from, from};
    memcpy(a, in, (size_t)(from * from * from) * sizeof *a);
    for (int d = 0; d < 3; d++) {
        int stride = 1, count;
        for (int k = 0; k < d; k++)
            stride *= size[k];
        size[d] = to;
        count = size[0] * size[1] * size[2];
        for (int q = 0; q < count; q++) {
            const int m = q / stride % to, base = q / (stride * to) * stride * from + q % stride;
            double sum = 0;
            for (int l = 0; l < from; l++)
                sum += M[d][transposed ? l * to + m : m * from + l] * a[base + l * stride];
            b[q] = sum;
        }
        double *swap = a;
        a = b;
        b = swap;
    }
    memcpy(out, a, (size_t)(to * to * to) * sizeof *out);
}

void nek_ref_patch(const nek_ref_job_t *job, int64_t e, double *box)
{
    const nek_grid_t *g = &job->level->grid;
    const int P = g->patch;
    const double *S = job->level->S + e * 3 * P * P, *eigen = job->level->eigen + e * 3 * P;
    const double *in = job->in + nek_grid_box(g, e, NEK_PATCH);
    const double *const M[3] = {S, S + P * P, S + 2 * P * P};
    for (int q = 0; q < P * P * P; q++)
        box[q] = in[nek_grid_in_box(g, P, q)];
    products(P, P, M, true, box, box);
    for (int q = 0; q < P * P * P; q++)
        box[q] /= eigen[q % P] + eigen[P + q / P % P] + eigen[2 * P + q / (P * P)];
    products(P, P, M, false, box, box);
}

static void own_values(const nek_grid_t *g, const double *x, int64_t e, double *values)
{
    const double *in = x + nek_grid_box(g, e, NEK_OWN_BOX);
    for (int q = 0; q < g->n * g->n * g->n; q++)
        values[q] = in[nek_grid_in_box(g, g->n, q)];
}

static double share(int n, int q)
{
    return nek_share(n, q % n) * nek_share(n, q / n % n) * nek_share(n, q / (n * n));
}

void nek_ref_restrict(const nek_ref_job_t *job, int64_t e, double *box)
{
    const int n = job->level->grid.n, c = job->other->grid.n;
    const double *J = job->other->J, *const M[3] = {J, J, J};
    double u[NEK_MAX_N3];
    own_values(&job->level->grid, job->in, e, u);
    for (int q = 0; q < n * n * n; q++)
        u[q] *= share(n, q);
    products(c, n, M, true, u, box);
}

void nek_ref_prolong(const nek_level_t *coarse, const nek_level_t *fine, const double *from,
                     double *x)
{
    const int n = fine->grid.n;
    const double *const M[3] = {coarse->J, coarse->J, coarse->J};
    const nek_grid_t *g = &fine->grid;
    for (int64_t e = 0; e < (int64_t)g->local[0] * g->local[1] * g->local[2]; e++) {
        double values[NEK_MAX_N3], u[NEK_MAX_N3];
        const int end[3] = {e % g->local[0] == g->local[0] - 1,
                            e / g->local[0] % g->local[1] == g->local[1] - 1,
                            e / ((int64_t)g->local[0] * g->local[1]) == g->local[2] - 1};
        double *to = x + nek_grid_box(g, e, NEK_OWN_BOX);
        own_values(&coarse->grid, from, e, values);
        products(n, coarse->grid.n, M, false, values, u);
        for (int q = 0; q < n * n * n; q++) /* each point once */
            if ((q % n < n - 1 || end[0]) && (q / n % n < n - 1 || end[1]) &&
                (q / (n * n) < n - 1 || end[2]))
                to[nek_grid_in_box(g, n, q)] += u[q];
    }
}

/* --- degree 1 --- */

/* y = A x by the stencils. */
static void apply_stencil(const nek_levels_t *levels, const double *x, double *y)
{
    const nek_grid_t *g = &levels->level[levels->count - 1].grid;
    const int64_t row = g->points[0], plane = row * g->points[1];
#pragma omp parallel for schedule(static)
    for (int64_t q = 0; q < g->nodes; q++) {
        y[q] = 0;
        for (int s = 0; s < NEK_STENCIL && levels->coarse_inverse[q] > 0; s++)
            y[q] += levels->stencil[s * g->nodes + q] *
                    x[q + s % 3 - 1 + (s / 3 % 3 - 1) * row + (s / 9 - 1) * plane];
    }
}

/* Applies Chebyshev's polynomial of the inverse diagonal times the operator to r; overwrites r. */
void nek_ref_coarse(const nek_ref_data_t *data, double *r, double *x)
{
    const nek_levels_t *levels = data->levels;
    const int64_t nodes = levels->level[levels->count - 1].grid.nodes;
    const int K = levels->coarse_order;
    const double most = levels->coarse_largest, least = most / ((double)K * K);
    const double middle = (most + least) / 2, half = (most - least) / 2;
    double *d = data->coarse, *t = d + nodes, rho = half / middle;
    for (int64_t q = 0; q < nodes; q++)
        x[q] = d[q] = levels->coarse_inverse[q] * r[q] / middle;
    for (int k = 1; k < K; k++) {
        const double next = 1 / (2 * middle / half - rho);
        apply_stencil(levels, d, t);
        for (int64_t q = 0; q < nodes; q++) {
            r[q] -= t[q];
            d[q] = next * rho * d[q] + 2 * next / half * levels->coarse_inverse[q] * r[q];
            x[q] += d[q];
        }
        rho = next;
    }
}
