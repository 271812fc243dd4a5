/*
 * solve_cpu.c - the solve with the operator of `jammed` and the preconditioner in FP32.
 *
 * Idea: a preconditioner needs few digits, so it works in FP32, at half the bytes and twice the
 * values per vector register. A level's points are stored once, on a grid; a box of an element is
 * rows of it. Products with the small matrices of a box go by rows whose length the compiler knows,
 * as in `jammed`. The boxes are stored and added up afterwards, row by row: each row of the grid
 * knows the elements that it crosses.
 *
 * Advantage: no coloured loops, and the bits do not depend on the threads. Price: boxes go through
 * memory once, and there is code for every size of a patch.
 */
#include "config.h"
#include "../precond/boxes.h"
#include "tiles.h"
#include <string.h>

/* --- products of rows --- */

/* Computes out[m][i] = sum_l M[l by + m step] in[l][i] for rows of `length` values, P of them in and
 * out. */
NEK_INLINE void over_rows(const int P, const int length, const float *restrict M, const int by,
                          const int step, const float *restrict in, float *restrict out)
{
    for (int m = 0; m < P; m++) {
        float *restrict row = out + m * length;
        for (int i = 0; i < length; i++)
            row[i] = M[m * step] * in[i];
        for (int l = 1; l < P; l++) {
            const float a = M[l * by + m * step];
            for (int i = 0; i < length; i++)
                row[i] += a * in[l * length + i];
        }
    }
}

/* Computes out[j][m] = sum_l M[l][m] in[j][l] for `rows` rows of P values. */
NEK_INLINE void in_rows(const int P, const int rows, const float *restrict M,
                        const float *restrict in, float *restrict out)
{
    for (int j = 0; j < rows; j++) {
        float sum[NEK_MOST_PATCH];
        for (int m = 0; m < P; m++)
            sum[m] = 0;
        for (int l = 0; l < P; l++)
            for (int m = 0; m < P; m++)
                sum[m] += M[l * P + m] * in[j * P + l];
        for (int m = 0; m < P; m++)
            out[j * P + m] = sum[m];
    }
}

NEK_INLINE void load(const nek_grid_t *g, const int size, const float *restrict from,
                     float *restrict box)
{
    const int64_t row = g->points[0], plane = row * g->points[1];
    for (int k = 0; k < size; k++)
        for (int j = 0; j < size; j++)
            for (int i = 0; i < size; i++)
                box[(k * size + j) * size + i] = from[k * plane + j * row + i];
}

/* box = S (S' r / sums of eigenvalues); a and b hold P^3 values, T P^2. */
NEK_INLINE void patch(const int P, const nek_level_view_t *level, int64_t e, const float *r,
                      float *restrict box)
{
    const int P2 = P * P;
    const float *S = level->S + e * 3 * P2, *eigen = level->eigen + e * 3 * P;
    float a[NEK_MOST_PATCH * NEK_MOST_PATCH * NEK_MOST_PATCH] __attribute__((aligned(64)));
    float T[NEK_MOST_PATCH * NEK_MOST_PATCH];
    load(&level->grid, P, r + nek_grid_box(&level->grid, e, NEK_PATCH), box);
    in_rows(P, P2, S, box, a);
    for (int k = 0; k < P; k++)
        over_rows(P, P, S + P2, P, 1, a + k * P2, box + k * P2);
    over_rows(P, P2, S + 2 * P2, P, 1, box, a);
    for (int k = 0; k < P; k++)
        for (int j = 0; j < P; j++) {
            const float sum = eigen[P + j] + eigen[2 * P + k];
            for (int i = 0; i < P; i++)
                a[(k * P + j) * P + i] /= sum + eigen[i];
        }
    over_rows(P, P2, S + 2 * P2, 1, P, a, box);
    for (int k = 0; k < P; k++)
        over_rows(P, P, S + P2, 1, P, box + k * P2, a + k * P2);
    for (int q = 0; q < P2; q++)
        T[q % P * P + q / P] = S[q];
    in_rows(P, P2, T, a, box);
}

/* One function for each size, so that the constant reaches every loop bound above. */
typedef void element_fn(const nek_level_view_t *level, int64_t e, const float *x, float *box);
#define DEFINE(N)                                                                               \
    static void patch_##N(const nek_level_view_t *level, int64_t e, const float *x, float *box) \
    {                                                                                           \
        patch(N + 2, level, e, x, box);                                                         \
    }
NEK_FOR_EACH_N(DEFINE)
#define ENTRY(N) [N] = patch_##N,
static element_fn *const patch_of[NEK_MAX_N + 1] = {NEK_FOR_EACH_N(ENTRY)};

static void schwarz(const nek_view_t *view, const nek_level_view_t *level, const float *r,
                    float *boxes)
{
    const int size = level->grid.patch;
    element_fn *const element = patch_of[level->grid.n];
#pragma omp parallel for schedule(static)
    for (int64_t e = 0; e < view->elements; e++)
        element(level, e, r, boxes + e * size * size * size);
}

/* --- transfers --- */

/* Computes out[a][m][b] = sum_l M[l by + m step] in[a][l][b]. */
static void contract(int A, int L, int B, int most, const float *M, int by, int step,
                     const float *restrict in, float *restrict out)
{
    for (int a = 0; a < A; a++)
        for (int m = 0; m < most; m++) {
            float *restrict row = out + (a * most + m) * B;
            for (int b = 0; b < B; b++)
                row[b] = 0;
            for (int l = 0; l < L; l++)
                for (int b = 0; b < B; b++)
                    row[b] += M[l * by + m * step] * in[(a * L + l) * B + b];
        }
}

static void restrict_(const nek_view_t *view, const nek_level_view_t *fine,
                      const nek_level_view_t *coarse, const float *r, float *boxes)
{
    const int n = fine->grid.n, c = coarse->grid.n;
#pragma omp parallel for schedule(static)
    for (int64_t e = 0; e < view->elements; e++) {
        float a[NEK_MAX_N3], b[NEK_MAX_N3];
        load(&fine->grid, n, r + nek_grid_box(&fine->grid, e, NEK_OWN_BOX), a);
        for (int k = 0; k < n; k++)
            for (int j = 0; j < n; j++) {
                const float share = nek_share(n, j) * nek_share(n, k);
                for (int i = 0; i < n; i++)
                    a[(k * n + j) * n + i] *= share * nek_share(n, i);
            }
        contract(1, n, n * n, c, coarse->J, c, 1, a, b);
        contract(c, n, n, c, coarse->J, c, 1, b, a);
        contract(c * c, n, 1, c, coarse->J, c, 1, a, boxes + e * c * c * c);
    }
}

static void prolong(const nek_view_t *view, const nek_level_view_t *coarse,
                    const nek_level_view_t *fine, const float *from, float *x)
{
    const nek_grid_t *g = &fine->grid;
    const int n = g->n, c = coarse->grid.n;
    const int64_t row = g->points[0], plane = row * g->points[1];
#pragma omp parallel for schedule(static)
    for (int64_t e = 0; e < view->elements; e++) {
        float a[NEK_MAX_N3], b[NEK_MAX_N3];
        const int64_t z = e / ((int64_t)g->local[0] * g->local[1]);
        const int ni = n - (e % g->local[0] < g->local[0] - 1),
                  nj = n - (e / g->local[0] % g->local[1] < g->local[1] - 1),
                  nk = n - (z < g->local[2] - 1);
        float *to = x + nek_grid_box(g, e, NEK_OWN_BOX);
        load(&coarse->grid, c, from + nek_grid_box(&coarse->grid, e, NEK_OWN_BOX), a);
        contract(c * c, c, 1, n, coarse->J, 1, c, a, b);
        contract(c, c, n, n, coarse->J, 1, c, b, a);
        contract(1, c, n * n, n, coarse->J, 1, c, a, b);
        for (int k = 0; k < nk; k++)
            for (int j = 0; j < nj; j++) {
                float *line = to + k * plane + j * row;
                const float *values = b + (k * n + j) * n;
                for (int i = 0; i < ni; i++)
                    line[i] += values[i];
            }
    }
}

/* --- sums of boxes --- */

/* Adds up one row of the grid. */
static void collect_row(const nek_grid_t *g, int size, int ring, const float *boxes, int j, int k,
                        float *row)
{
    const int N = g->degree;
    int y0, y1, z0, z1;
    nek_elements_at(g, 1, size, ring, j, &y0, &y1);
    nek_elements_at(g, 2, size, ring, k, &z0, &z1);
    memset(row, 0, (size_t)g->points[0] * sizeof *row);
    if (!nek_is_inside(g, 1, j) || !nek_is_inside(g, 2, k))
        return;
    for (int z = z0; z <= z1; z++)
        for (int y = y0; y <= y1; y++)
            for (int x = 0; x < g->local[0]; x++) {
                const int64_t e = x + (int64_t)g->local[0] * (y + (int64_t)g->local[1] * z);
                const int bj = j - ring - (y + g->origin[1]) * N,
                          bk = k - ring - (z + g->origin[2]) * N;
                const float *box = boxes + ((e * size + bk) * size + bj) * size;
                float *to = row + (x + g->origin[0]) * N + ring;
                for (int i = 0; i < size; i++)
                    to[i] += box[i];
            }
    for (int i = 0; i < g->points[0]; i += i == 1 && g->points[0] > 4 ? g->points[0] - 3 : 1)
        if (!nek_is_inside(g, 0, i))
            row[i] = 0;
}

/* Each row of the grid knows the elements that it crosses. */
static void collect(const nek_view_t *view, const nek_level_view_t *level, nek_box_t kind,
                    const float *boxes, float *sum)
{
    const nek_grid_t *g = &level->grid;
    const int size = kind == NEK_PATCH ? g->patch : g->n;
    (void)view;
#pragma omp parallel for schedule(static) collapse(2)
    for (int k = 0; k < g->points[2]; k++)
        for (int j = 0; j < g->points[1]; j++)
            collect_row(g, size, kind == NEK_OWN_BOX, boxes, j, k,
                        sum + g->points[0] * (j + (int64_t)g->points[1] * k));
}

/* --- vectors --- */

/* Below this many points waking the threads takes longer than the work. */
enum { WORTH_THREADS = 8192 };

/* y = a x + b y, times the inverse diagonal if `inverse`; b 0: y is not read */
static void axpby(int64_t nodes, float a, const float *inverse, const float *restrict x, float b,
                  float *restrict y)
{
#pragma omp parallel for simd schedule(static) if (nodes > WORTH_THREADS)
    for (int64_t q = 0; q < nodes; q++)
        y[q] = a * (inverse ? inverse[q] * x[q] : x[q]) + (b != 0 ? b * y[q] : 0);
}

static void take(const nek_view_t *view, const nek_level_view_t *level, double scale,
                 const double *r, float *r32)
{
    const nek_grid_t *g = &level->grid;
    const int n = g->n;
    const int64_t row = g->points[0], plane = row * g->points[1];
    memset(r32, 0, (size_t)g->nodes * sizeof *r32);
    for (int colour = 0; colour < 2; colour++) /* both sides of a face write it */
#pragma omp parallel for schedule(static)
        for (int64_t z = colour; z < g->local[2]; z += 2)
            for (int64_t e = z * g->local[0] * g->local[1]; e < (z + 1) * g->local[0] * g->local[1];
                 e++) {
                float *to = r32 + nek_grid_box(g, e, NEK_OWN_BOX);
                for (int k = 0; k < n; k++)
                    for (int j = 0; j < n; j++)
                        for (int i = 0; i < n; i++)
                            to[k * plane + j * row + i] =
                                (float)(scale * r[((e * n + k) * n + j) * n + i]);
            }
    (void)view;
}

/* Sums run over a fixed number of parts of the elements, and the parts are added pairwise. */
static double dot(const nek_view_t *view, const nek_level_view_t *level, const double *r,
                  const float *z)
{
    const nek_grid_t *g = &level->grid;
    const int n = g->n;
    const int64_t row = g->points[0], plane = row * g->points[1];
    const int64_t room = nek_blocks(view->points);
    const int64_t parts = view->elements < room ? view->elements : room;
#pragma omp parallel for schedule(static)
    for (int64_t part = 0; part < parts; part++) {
        double sum = 0;
        for (int64_t e = view->elements * part / parts; e < view->elements * (part + 1) / parts;
             e++) {
            const float *from = z + nek_grid_box(g, e, NEK_OWN_BOX);
            for (int k = 0; k < n; k++)
                for (int j = 0; j < n; j++)
                    for (int i = 0; i < n; i++) {
                        const int64_t q = ((e * n + k) * n + j) * n + i;
                        sum += view->c[q] * r[q] * from[k * plane + j * row + i];
                    }
        }
        view->partial[part] = sum;
    }
    return rt_sum_pairwise(view->partial, parts);
}

static void update_p(const nek_view_t *view, const nek_level_view_t *level, double scale,
                     const float *z, double beta, double *p)
{
    const nek_grid_t *g = &level->grid;
    const int n = g->n;
    const int64_t row = g->points[0], plane = row * g->points[1];
#pragma omp parallel for schedule(static)
    for (int64_t e = 0; e < view->elements; e++) {
        const float *from = z + nek_grid_box(g, e, NEK_OWN_BOX);
        for (int k = 0; k < n; k++)
            for (int j = 0; j < n; j++)
                for (int i = 0; i < n; i++) {
                    const int64_t q = ((e * n + k) * n + j) * n + i;
                    p[q] = scale * from[k * plane + j * row + i] + beta * p[q];
                }
    }
}

/* --- degree 1 --- */

/* t = A d by the stencils */
static void apply_stencil(const nek_coarse_view_t *c, const float *d, float *t)
{
    const nek_grid_t *g = &c->grid;
    const int64_t row = g->points[0], plane = row * g->points[1];
#pragma omp parallel for schedule(static) if (g->nodes > WORTH_THREADS)
    for (int k = 1; k < g->points[2] - 1; k++)
        for (int j = 1; j < g->points[1] - 1; j++) {
            const int64_t at = k * plane + j * row;
            memset(t + at, 0, (size_t)row * sizeof *t);
            for (int s = 0; s < NEK_STENCIL; s++) {
                const float *A = c->stencil + s * g->nodes + at,
                            *from =
                                d + at + (s / 3 % 3 - 1) * row + (s / 9 - 1) * plane + s % 3 - 1;
                for (int i = 1; i < row - 1; i++)
                    t[at + i] += A[i] * from[i];
            }
        }
}

static void coarse(const nek_view_t *view, const nek_coarse_view_t *c, float *r, float *x)
{
    const int64_t nodes = c->grid.nodes;
    float *d = c->work, *t = d + nodes;
    (void)view;
    for (nek_steps_t s = nek_steps_begin(c); s.k < c->order; nek_steps_next(&s)) {
        if (s.k > 0) {
            apply_stencil(c, d, t);
            axpby(nodes, -1, NULL, t, 1, r);
        }
        axpby(nodes, s.a, c->inverse, r, s.b, d);
        axpby(nodes, 1, NULL, d, s.k > 0, x);
    }
}

static const nek_precond_ops_t ops = {.take = take,
                                      .schwarz = schwarz,
                                      .restrict_ = restrict_,
                                      .prolong = prolong,
                                      .collect = collect,
                                      .coarse = coarse,
                                      .dot = dot,
                                      .update_p = update_p};

const nek_kernels_t nek_solve_cpu = {
    .rung = {.precision = "FP64, preconditioner in FP32",
             .reproducible = true,
             .refuse = nek_refuse},
    .ax = nek_tiles_ax,
    .vector = &nek_vector_cpu,
    .preconditioner = &nek_precond_single,
    .precond_ops = &ops,
};
