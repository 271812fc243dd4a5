/*
 * solve_reference.c - the preconditioner as it is defined, level by level, in FP64.
 *
 * Idea: none; this is the definition (precond.h). For each element its box is taken from the grid,
 * worked on by plain loops, and added to the grid. Advantage: it can be checked against a textbook,
 * and it judges every other rung of the ladder `solve`; it shares with them the matrices of
 * levels.c and no loop. Price: FP64 where FP32 is enough, no loop bound that the compiler knows, and
 * boxes that wait for each other: layers of elements are added in three colours, so that the bits
 * do not depend on the threads.
 */
#include "config.h"
#include "../precond/grid.h"
#include <math.h>
#include <string.h>

typedef struct {
    double *r, *x; /* [nodes] of a level */
} fields_t;
typedef struct {
    const nek_levels_t *levels;
    fields_t field[NEK_MOST_LEVELS];
    double *coarse; /* [2][nodes] of the last level */
} data_t;

/* What is made of an element's box of field `in`. */
typedef struct {
    const nek_level_t *level, *other; /* other: the coarser one of a transfer */
    const double *in;
} job_t;
typedef void element_fn(const job_t *job, int64_t e, double *box);

/* --- parts of a level --- */

/* The most points of a box. */
enum { MOST = NEK_MOST_PATCH * NEK_MOST_PATCH * NEK_MOST_PATCH };

/* Sets sum to the sum of what `element` makes of each element's box of that size, on all ranks. */
static void add_boxes(const nek_level_t *level, nek_box_t kind, int size, element_fn *element,
                      const job_t *job, double *sum)
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

/* box = S (S' r / sums of eigenvalues) */
static void solve_patch(const job_t *job, int64_t e, double *box)
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

/* box = J' (share of r) */
static void restrict_box(const job_t *job, int64_t e, double *box)
{
    const int n = job->level->grid.n, c = job->other->grid.n;
    const double *J = job->other->J, *const M[3] = {J, J, J};
    double u[NEK_MAX_N3];
    own_values(&job->level->grid, job->in, e, u);
    for (int q = 0; q < n * n * n; q++)
        u[q] *= nek_share(n, q % n) * nek_share(n, q / n % n) * nek_share(n, q / (n * n));
    products(c, n, M, true, u, box);
}

/* x += J (coarse x) on the points of the elements. */
static void prolong(const nek_level_t *coarse, const nek_level_t *fine, const double *from,
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

/* x = Chebyshev's polynomial of the inverse diagonal times the operator, of r; overwrites r. */
static void coarse(const data_t *data, double *r, double *x)
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

/* --- the preconditioner --- */

/* x of level 0 = the sum over the levels, of its r. */
static void add_levels(const data_t *data)
{
    const nek_levels_t *levels = data->levels;
    const int last = levels->count - 1;
    for (int l = 0; l < last; l++) {
        const nek_level_t *level = &levels->level[l];
        const job_t job = {.level = level, .other = level + 1, .in = data->field[l].r};
        add_boxes(level + 1, NEK_OWN_BOX, level[1].grid.n, restrict_box, &job,
                  data->field[l + 1].r);
    }
    coarse(data, data->field[last].r, data->field[last].x);
    for (int l = last - 1; l >= 0; l--) {
        const nek_level_t *level = &levels->level[l];
        const fields_t *f = &data->field[l];
        const job_t job = {.level = level, .in = f->r};
        add_boxes(level, NEK_PATCH, level->grid.patch, solve_patch, &job, f->x);
        prolong(level + 1, level, f[1].x, f->x);
    }
}

/* --- what CG sees --- */

static double reference_apply(nek_solver_t *s, double norm, const double *r)
{
    const data_t *data = s->precond;
    const nek_level_t *level = data->levels->level;
    const fields_t *f = &data->field[0];
    double *z = s->z;
    (void)norm; /* FP64 needs no scale */
    memset(f->r, 0, (size_t)level->grid.nodes * sizeof *f->r);
    for (int64_t q = 0; q < s->view.points; q++)
        f->r[nek_grid_at_point(&level->grid, q)] = r[q];
    if (level->halo) {
        rt_field_t field = rt_field_f64(f->r);
        rt_halo_do(level->halo, RT_HALO_COPY, &field);
    }
    add_levels(data);
    for (int64_t q = 0; q < s->view.points; q++)
        z[q] = f->x[nek_grid_at_point(&level->grid, q)];
    return nek_dot(&s->view, r, z);
}

static double *zeroed(size_t n)
{
    double *x = RT_NEW(double, n, RT_HOST);
    memset(x, 0, n * sizeof *x);
    return x;
}

static void set_up(nek_solver_t *s)
{
    data_t *data = s->precond = RT_NEW(data_t, 1, RT_HOST);
    const nek_levels_t *levels = nek_levels(s->problem, s->kernels);
    *data = (data_t){.levels = levels};
    for (int l = 0; l < levels->count; l++) {
        const size_t nodes = (size_t)levels->level[l].grid.nodes;
        data->field[l] = (fields_t){zeroed(nodes), zeroed(nodes)};
    }
    data->coarse = zeroed(2 * (size_t)levels->level[levels->count - 1].grid.nodes);
    s->z = RT_NEW(double, (size_t)s->view.points, RT_HOST);
}

static void tear_down(nek_solver_t *s)
{
    data_t *data = s->precond;
    for (int l = 0; l < data->levels->count; l++)
        RT_FREE_ALL(RT_HOST, data->field[l].r, data->field[l].x);
    RT_FREE_ALL(RT_HOST, data->coarse, s->z, s->precond);
}

const nek_preconditioner_t nek_precond_reference = {
    .set_up = set_up, .tear_down = tear_down, .apply = reference_apply};

const nek_kernels_t nek_solve_reference = {
    .rung = {.precision = "FP64", .reproducible = true, .refuse = nek_refuse},
    .ax = nek_reference_ax,
    .vector = &nek_vector_cpu,
    .preconditioner = &nek_precond_reference,
};
