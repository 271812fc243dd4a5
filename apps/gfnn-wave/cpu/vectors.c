/*
 * vectors.c - the loops of conjugate gradients that are neither A nor P, on the CPU.
 *
 * Threads share the rows (j, k) of the box, and one takes its rows of all three components, as the
 * operators do, so that a thread finds its layers in its own memory. A row is one vector loop. Each
 * row has its own partial sum and these are added pairwise: the result has the same bits for any
 * number of threads.
 *
 * The 3x3 blocks D are sums over the eight elements around a node. Their inverses are kept, FP32,
 * 6 values a node: what they cost in traffic a lookup by eight ids would cost in gathers, and bj is
 * not what this app is about.
 */
#include "config.h"
#include "../gfnn.h"
#include <math.h>
#include <string.h>
#include "../input/half.h"

#define INLINE static inline __attribute__((always_inline))

enum { BLOCK = 6 }; /* xx yy zz xy yz zx of a symmetric 3x3 block */

typedef struct {
    float *inverse; /* [BLOCK][bare.plane] */
    double *sums;   /* [2][rows] */
} data_t;

static int64_t rows_of(const gfnn_grid_t *g)
{
    return g->n[1] * g->n[2];
}

static int64_t row_at(const gfnn_grid_t *g, int64_t row)
{
    return gfnn_at(g, 0, row % g->n[1], row / g->n[1]);
}

static double sum_pairwise(const double *x, int64_t n)
{
    if (n <= 2)
        return n == 2 ? x[0] + x[1] : n == 1 ? x[0] : 0;
    return sum_pairwise(x, n / 2) + sum_pairwise(x + n / 2, n - n / 2);
}

/* --- what the preconditioner gets --- */

/* low[at ..] = scale x[0 .. n - 1] */
static void lower_row(int64_t n, double scale, const double *restrict x, int precision, int64_t at,
                      void *low)
{
    if (precision == GFNN_FP16) {
        uint16_t *restrict y = (uint16_t *)low + at;
#pragma omp simd
        for (int64_t i = 0; i < n; i++)
            y[i] = gfnn_to_half((float)(scale * x[i]));
    } else {
        float *restrict y = (float *)low + at;
#pragma omp simd
        for (int64_t i = 0; i < n; i++)
            y[i] = (float)(scale * x[i]);
    }
}

INLINE void narrow_row(bool with_y, int64_t n, float scale, const float *restrict x,
                       const float *restrict y, uint16_t *restrict low)
{
#pragma omp simd
    for (int64_t i = 0; i < n; i++)
        low[i] = gfnn_to_half(scale * (with_y ? x[i] - y[i] : x[i]));
}

static void narrow(const gfnn_view_t *view, float scale, const float *x, const float *y, void *low)
{
    const gfnn_grid_t *g = &view->box->wide;
#pragma omp parallel for schedule(static)
    for (int64_t row = 0; row < rows_of(g); row++)
        for (int c = 0; c < 3; c++) {
            const int64_t at = row_at(g, row) + c * g->plane;
            if (y)
                narrow_row(true, g->n[0], scale, x + at, y + at, (uint16_t *)low + at);
            else
                narrow_row(false, g->n[0], scale, x + at, NULL, (uint16_t *)low + at);
        }
}

/* --- FP64 --- */

static void fill(const gfnn_view_t *view, double value, double *x)
{
    const gfnn_grid_t *g = &view->box->fine;
#pragma omp parallel for schedule(static)
    for (int64_t row = 0; row < rows_of(g); row++)
        for (int c = 0; c < 3; c++)
            for (int64_t i = 0, at = row_at(g, row) + c * g->plane; i < g->n[0]; i++)
                x[at + i] = value;
}

static double dot_row(int64_t n, const double *restrict x, const double *restrict y)
{
    double sum = 0;
#pragma omp simd reduction(+ : sum)
    for (int64_t i = 0; i < n; i++)
        sum += x[i] * y[i];
    return sum;
}

static double dot(const gfnn_view_t *view, const double *x, const double *y)
{
    const gfnn_grid_t *g = &view->box->fine;
    const data_t *data = view->data;
#pragma omp parallel for schedule(static)
    for (int64_t row = 0; row < rows_of(g); row++) {
        double sum = 0;
        for (int c = 0; c < 3; c++) {
            const int64_t at = row_at(g, row) + c * g->plane;
            sum += dot_row(g->n[0], x + at, y + at);
        }
        data->sums[row] = sum;
    }
    return sum_pairwise(data->sums, rows_of(g));
}

static void axpby_row(int64_t n, double a, const double *restrict x, double b, double *restrict y)
{
#pragma omp simd
    for (int64_t i = 0; i < n; i++)
        y[i] = a * x[i] + b * y[i];
}

/* As in BLAS, y is not read if b = 0: it may be NaN. */
static void axpby(const gfnn_view_t *view, double a, const double *x, double b, double *y)
{
    const gfnn_grid_t *g = &view->box->fine;
#pragma omp parallel for schedule(static)
    for (int64_t row = 0; row < rows_of(g); row++)
        for (int c = 0; c < 3; c++) {
            const int64_t at = row_at(g, row) + c * g->plane;
            if (b != 0)
                axpby_row(g->n[0], a, x + at, b, y + at);
            else
                for (int64_t i = 0; i < g->n[0]; i++)
                    y[at + i] = a * x[at + i];
        }
}

static double update_row(int64_t n, double alpha, const double *restrict q, double *restrict r)
{
    double sum = 0;
#pragma omp simd reduction(+ : sum)
    for (int64_t i = 0; i < n; i++) {
        const double value = r[i] - alpha * q[i];
        r[i] = value;
        sum += value * value;
    }
    return sum;
}

static double update(const gfnn_view_t *view, double alpha, const double *q, double *r,
                     double scale, int precision, void *low)
{
    const gfnn_grid_t *g = &view->box->fine, *wide = &view->box->wide;
    const data_t *data = view->data;
#pragma omp parallel for schedule(static)
    for (int64_t row = 0; row < rows_of(g); row++) {
        double sum = 0;
        for (int c = 0; c < 3; c++) {
            const int64_t at = row_at(g, row) + c * g->plane;
            sum += update_row(g->n[0], alpha, q + at, r + at);
            if (low)
                lower_row(g->n[0], scale, r + at, precision, row_at(wide, row) + c * wide->plane,
                          low);
        }
        data->sums[row] = sum;
    }
    return sum_pairwise(data->sums, rows_of(g));
}

/* z = scale D^-1 r in FP32; returns z . r. */
static double bj_row(int64_t n, const float *restrict inverse, int64_t bare, double scale,
                     const double *restrict r, int64_t fine, float *restrict z, int64_t wide)
{
    const float *restrict xx = inverse, *restrict yy = inverse + bare;
    const float *restrict zz = inverse + 2 * bare, *restrict xy = inverse + 3 * bare;
    const float *restrict yz = inverse + 4 * bare, *restrict zx = inverse + 5 * bare;
    const double *restrict r1 = r + fine, *restrict r2 = r + 2 * fine;
    float *restrict z1 = z + wide, *restrict z2 = z + 2 * wide;
    double sum = 0;
#pragma omp simd reduction(+ : sum)
    for (int64_t i = 0; i < n; i++) {
        const float s0 = (float)(scale * r[i]), s1 = (float)(scale * r1[i]);
        const float s2 = (float)(scale * r2[i]);
        const float d0 = xx[i] * s0 + xy[i] * s1 + zx[i] * s2;
        const float d1 = xy[i] * s0 + yy[i] * s1 + yz[i] * s2;
        const float d2 = zx[i] * s0 + yz[i] * s1 + zz[i] * s2;
        z[i] = d0;
        z1[i] = d1;
        z2[i] = d2;
        sum += (double)d0 * r[i] + (double)d1 * r1[i] + (double)d2 * r2[i];
    }
    return sum;
}

/* A row is still in the cache when its z is made. */
static void update_bj(const gfnn_view_t *view, double alpha, const double *q, double *r,
                      double scale, float *z, double sums[2])
{
    const gfnn_grid_t *g = &view->box->fine, *wide = &view->box->wide, *bare = &view->box->bare;
    const data_t *data = view->data;
    const int64_t rows = rows_of(g), n = g->n[0];
#pragma omp parallel for schedule(static)
    for (int64_t row = 0; row < rows; row++) {
        double sum = 0;
        for (int c = 0; c < 3; c++) {
            const int64_t at = row_at(g, row) + c * g->plane;
            sum += alpha != 0 ? update_row(n, alpha, q + at, r + at) : dot_row(n, r + at, r + at);
        }
        data->sums[row] = sum;
        data->sums[rows + row] =
            bj_row(n, data->inverse + row_at(bare, row), bare->plane, scale, r + row_at(g, row),
                   g->plane, z + row_at(wide, row), wide->plane);
    }
    sums[0] = sum_pairwise(data->sums, rows);
    sums[1] = sum_pairwise(data->sums + rows, rows);
}

/* Not in the loop of an iteration. */
static double largest_row(int64_t n, const double *r)
{
    double most = 0;
    for (int64_t i = 0; i < n; i++) {
        const double size = fabs(r[i]);
        most = size > most ? size : most;
    }
    return most;
}

static double pack(const gfnn_view_t *view, const double *r, double scale, int precision, void *low)
{
    const gfnn_grid_t *g = &view->box->fine, *wide = &view->box->wide;
    double most = 0;
#pragma omp parallel for schedule(static) reduction(max : most)
    for (int64_t row = 0; row < rows_of(g); row++)
        for (int c = 0; c < 3; c++) {
            const double *from = r + row_at(g, row) + c * g->plane;
            const double size = largest_row(g->n[0], from);
            most = size > most ? size : most;
            lower_row(g->n[0], scale, from, precision, row_at(wide, row) + c * wide->plane, low);
        }
    return most;
}

/* --- FP64 with FP32 --- */

static double mixed_dot_row(int64_t n, const float *restrict z, const double *restrict r)
{
    double sum = 0;
#pragma omp simd reduction(+ : sum)
    for (int64_t i = 0; i < n; i++)
        sum += (double)z[i] * r[i];
    return sum;
}

static void dots(const gfnn_view_t *view, const float *z, const double *r, const double *q,
                 double sums[2])
{
    const gfnn_grid_t *g = &view->box->fine, *wide = &view->box->wide;
    const data_t *data = view->data;
    const int64_t rows = rows_of(g);
#pragma omp parallel for schedule(static)
    for (int64_t row = 0; row < rows; row++) {
        double zr = 0, zq = 0;
        for (int c = 0; c < 3; c++) {
            const int64_t at = row_at(g, row) + c * g->plane;
            const float *from = z + row_at(wide, row) + c * wide->plane;
            zr += mixed_dot_row(g->n[0], from, r + at);
            zq += q ? mixed_dot_row(g->n[0], from, q + at) : 0;
        }
        data->sums[row] = zr;
        data->sums[rows + row] = zq;
    }
    sums[0] = sum_pairwise(data->sums, rows);
    sums[1] = sum_pairwise(data->sums + rows, rows);
}

/* All is read before anything is written: where pages begin alike, a store seems to meet a load. */
INLINE void direction_row(int64_t n, bool plain, bool first, double alpha, double *restrict x,
                          double scale, const float *restrict z, const double *restrict r,
                          double beta, double *restrict p)
{
#pragma omp simd
    for (int64_t i = 0; i < n; i++) {
        const double next = plain ? r[i] : scale * (double)z[i];
        const double before = first ? 0 : p[i], moved = first ? 0 : x[i] + alpha * before;
        if (!first)
            x[i] = moved;
        p[i] = first ? next : next + beta * before;
    }
}

static void direction(const gfnn_view_t *view, double alpha, double *x, double scale,
                      const float *z, double beta, double *p)
{
    const gfnn_grid_t *g = &view->box->fine, *wide = &view->box->wide;
    const bool first = alpha == 0 && beta == 0;
#pragma omp parallel for schedule(static)
    for (int64_t row = 0; row < rows_of(g); row++)
        for (int c = 0; c < 3; c++) {
            const int64_t at = row_at(g, row) + c * g->plane;
            const float *from = z + row_at(wide, row) + c * wide->plane;
            if (first)
                direction_row(g->n[0], false, true, 0, NULL, scale, from, NULL, 0, p + at);
            else
                direction_row(g->n[0], false, false, alpha, x + at, scale, from, NULL, beta,
                              p + at);
        }
}

static void direction_plain(const gfnn_view_t *view, double alpha, double *x, const double *r,
                            double beta, double *p)
{
    const gfnn_grid_t *g = &view->box->fine;
    const bool first = alpha == 0 && beta == 0;
#pragma omp parallel for schedule(static)
    for (int64_t row = 0; row < rows_of(g); row++)
        for (int c = 0; c < 3; c++) {
            const int64_t at = row_at(g, row) + c * g->plane;
            if (first)
                direction_row(g->n[0], true, true, 0, NULL, 1, NULL, r + at, 0, p + at);
            else
                direction_row(g->n[0], true, false, alpha, x + at, 1, NULL, r + at, beta, p + at);
        }
}

/* --- FP32 --- */

static void fill32(const gfnn_view_t *view, float value, float *z)
{
    const gfnn_grid_t *g = &view->box->wide;
#pragma omp parallel for schedule(static)
    for (int64_t row = 0; row < rows_of(g); row++)
        for (int c = 0; c < 3; c++)
            for (int64_t i = 0, at = row_at(g, row) + c * g->plane; i < g->n[0]; i++)
                z[at + i] = value;
}

/* As axpby. */
static void axpby32(const gfnn_view_t *view, float a, const float *x, float b, float *y)
{
    const gfnn_grid_t *g = &view->box->wide;
#pragma omp parallel for schedule(static)
    for (int64_t row = 0; row < rows_of(g); row++)
        for (int c = 0; c < 3; c++) {
            const float *restrict from = x + row_at(g, row) + c * g->plane;
            float *restrict to = y + row_at(g, row) + c * g->plane;
            if (b != 0)
#pragma omp simd
                for (int64_t i = 0; i < g->n[0]; i++)
                    to[i] = a * from[i] + b * to[i];
            else
                for (int64_t i = 0; i < g->n[0]; i++)
                    to[i] = a * from[i];
        }
}

static double dot32(const gfnn_view_t *view, const float *x, const float *y)
{
    const gfnn_grid_t *g = &view->box->wide;
    const data_t *data = view->data;
#pragma omp parallel for schedule(static)
    for (int64_t row = 0; row < rows_of(g); row++) {
        double sum = 0;
        for (int c = 0; c < 3; c++) {
            const int64_t at = row_at(g, row) + c * g->plane;
#pragma omp simd reduction(+ : sum)
            for (int64_t i = at; i < at + g->n[0]; i++)
                sum += (double)x[i] * (double)y[i];
        }
        data->sums[row] = sum;
    }
    return sum_pairwise(data->sums, rows_of(g));
}

INLINE float from_to(bool with_z, const float *z, float a, bool with_old, const float *old,
                     int64_t at)
{
    const float here = with_z ? z[at] : 0;
    return here + a * (here - (with_old ? old[at] : 0));
}

/* out may be z or old, so none of these three is `restrict`; a value depends on its own place
 * alone, which is all that simd asks for. */
INLINE void smooth_row(bool with_z, bool with_old, bool with_y, int64_t n, const float *inverse,
                       int64_t bare, const float *z, float a, const float *old, float omega,
                       const float *r, const float *y, int64_t wide, float *out)
{
    const float *xx = inverse, *yy = xx + bare, *zz = yy + bare;
    const float *xy = zz + bare, *yz = xy + bare, *zx = yz + bare;
    const int64_t next = 2 * wide;
#pragma omp simd
    for (int64_t i = 0; i < n; i++) {
        const float d0 = r[i] - (with_y ? y[i] : 0);
        const float d1 = r[i + wide] - (with_y ? y[i + wide] : 0);
        const float d2 = r[i + next] - (with_y ? y[i + next] : 0);
        const float s0 = from_to(with_z, z, a, with_old, old, i);
        const float s1 = from_to(with_z, z, a, with_old, old, i + wide);
        const float s2 = from_to(with_z, z, a, with_old, old, i + next);
        out[i] = s0 + omega * (xx[i] * d0 + xy[i] * d1 + zx[i] * d2);
        out[i + wide] = s1 + omega * (xy[i] * d0 + yy[i] * d1 + yz[i] * d2);
        out[i + next] = s2 + omega * (zx[i] * d0 + yz[i] * d1 + zz[i] * d2);
    }
}

/* A loop for every choice of what there is. */
typedef void smooth_row_t(int64_t n, const float *inverse, int64_t bare, const float *z, float a,
                          const float *old, float omega, const float *r, const float *y,
                          int64_t wide, float *out);
#define DEFINE_SMOOTH(NAME, Z, OLD, Y)                                                            \
    static void NAME(int64_t n, const float *inverse, int64_t bare, const float *z, float a,      \
                     const float *old, float omega, const float *r, const float *y, int64_t wide, \
                     float *out)                                                                  \
    {                                                                                             \
        smooth_row(Z, OLD, Y, n, inverse, bare, z, a, old, omega, r, y, wide, out);               \
    }
DEFINE_SMOOTH(smooth_r, 0, 0, 0)
DEFINE_SMOOTH(smooth_ry, 0, 0, 1)
DEFINE_SMOOTH(smooth_o, 0, 1, 0)
DEFINE_SMOOTH(smooth_oy, 0, 1, 1)
DEFINE_SMOOTH(smooth_z, 1, 0, 0)
DEFINE_SMOOTH(smooth_zy, 1, 0, 1)
DEFINE_SMOOTH(smooth_zo, 1, 1, 0)
DEFINE_SMOOTH(smooth_zoy, 1, 1, 1)

static void smooth32(const gfnn_view_t *view, const float *z, float a, const float *old,
                     float omega, const float *r, const float *y, float *out)
{
    static smooth_row_t *const of_row[8] = {smooth_r, smooth_ry, smooth_o,  smooth_oy,
                                            smooth_z, smooth_zy, smooth_zo, smooth_zoy};
    const gfnn_grid_t *wide = &view->box->wide, *bare = &view->box->bare;
    const data_t *data = view->data;
    const bool with_old = old && a != 0;
    smooth_row_t *const smooth = of_row[4 * (z != NULL) + 2 * with_old + (y != NULL)];
#pragma omp parallel for schedule(static)
    for (int64_t row = 0; row < rows_of(wide); row++) {
        const int64_t at = row_at(wide, row);
        smooth(wide->n[0], data->inverse + row_at(bare, row), bare->plane, z ? z + at : NULL, a,
               with_old ? old + at : NULL, omega, r + at, y ? y + at : NULL, wide->plane, out + at);
    }
}

/* --- Newmark --- */

static void before_row(int64_t n, double of_v, double rayleigh_b, const double *restrict u,
                       const double *restrict v, const double *restrict a, double *restrict x1,
                       double *restrict x2)
{
#pragma omp simd
    for (int64_t i = 0; i < n; i++) {
        x1[i] = a[i] + of_v * v[i];
        x2[i] = rayleigh_b * v[i] - u[i];
    }
}

static void newmark_before(const gfnn_view_t *view, double dt, double rayleigh_a, double rayleigh_b,
                           const double *u, const double *v, const double *a, double *x1,
                           double *x2)
{
    const gfnn_grid_t *g = &view->box->fine;
#pragma omp parallel for schedule(static)
    for (int64_t row = 0; row < rows_of(g); row++)
        for (int c = 0; c < 3; c++) {
            const int64_t at = row_at(g, row) + c * g->plane;
            before_row(g->n[0], 4 / dt + rayleigh_a, rayleigh_b, u + at, v + at, a + at, x1 + at,
                       x2 + at);
        }
}

static void after_row(int64_t n, double dt, const double *restrict du, double *restrict u,
                      double *restrict v, double *restrict a)
{
    const double f1 = 2 / dt, f2 = 4 / (dt * dt);
#pragma omp simd
    for (int64_t i = 0; i < n; i++) {
        u[i] += du[i];
        a[i] = f2 * du[i] - 2 * f1 * v[i] - a[i];
        v[i] = f1 * du[i] - v[i];
    }
}

static void newmark_after(const gfnn_view_t *view, double dt, const double *du, double *u,
                          double *v, double *a)
{
    const gfnn_grid_t *g = &view->box->fine;
#pragma omp parallel for schedule(static)
    for (int64_t row = 0; row < rows_of(g); row++)
        for (int c = 0; c < 3; c++) {
            const int64_t at = row_at(g, row) + c * g->plane;
            after_row(g->n[0], dt, du + at, u + at, v + at, a + at);
        }
}

/* --- mirror faces --- */

static bool is_held(const gfnn_box_t *box, int c, int64_t at)
{
    const int64_t node = box->first[c] + at;
    return box->faces == GFNN_MIRROR && (node == 0 || node == box->N[c] - 1);
}

/* The component normal to a face, on the face. */
static void hold(const gfnn_view_t *view, double *x, float *z)
{
    const gfnn_box_t *box = view->box;
    const gfnn_grid_t *fine = &box->fine, *wide = &box->wide;
    if (box->faces != GFNN_MIRROR)
        return;
    for (int c = 0; c < 3; c++)
        for (int64_t layer = 0; layer<box->n[c]; layer += box->n[c]> 1 ? box->n[c] - 1 : 1) {
            if (!is_held(box, c, layer))
                continue;
            int64_t lo[3] = {0}, hi[3] = {box->n[0], box->n[1], box->n[2]};
            lo[c] = layer;
            hi[c] = layer + 1;
            for (int64_t k = lo[2]; k < hi[2]; k++)
                for (int64_t j = lo[1]; j < hi[1]; j++)
                    for (int64_t i = lo[0]; i < hi[0]; i++) {
                        if (x)
                            x[c * fine->plane + gfnn_at(fine, i, j, k)] = 0;
                        if (z)
                            z[c * wide->plane + gfnn_at(wide, i, j, k)] = 0;
                    }
        }
}

/* --- ghosts --- */

/* A row of a component with its ghosts, from the row of own values that it is or is an image of. */
INLINE void wrap_row(size_t size, int64_t n, int width, const char *from, char *to)
{
    const int64_t step = (int64_t)size;
    if (to != from)
        memcpy(to, from, (size_t)n * size);
    for (int64_t i = 1; i <= width; i++) {
        memcpy(to - i * step, from + (n - i) * step, size);
        memcpy(to + (n + i - 1) * step, from + (i - 1) * step, size);
    }
}

static void wrap_row64(int64_t n, int width, const char *from, char *to)
{
    wrap_row(8, n, width, from, to);
}

static void wrap_row32(int64_t n, int width, const char *from, char *to)
{
    wrap_row(4, n, width, from, to);
}

static void wrap_row16(int64_t n, int width, const char *from, char *to)
{
    wrap_row(2, n, width, from, to);
}

static int64_t wrapped(int64_t i, int64_t n)
{
    return i < 0 ? i + n : i >= n ? i - n : i;
}

/* Of the 2 width places before and after 0 .. n - 1, number i. */
static int64_t beyond(int64_t i, int width, int64_t n)
{
    return i < width ? i - width : i - width + n;
}

/* Row (j, k) of a component. */
typedef void wrap_row_t(int64_t n, int width, const char *from, char *to);
static void wrap_at(const gfnn_grid_t *g, int width, wrap_row_t *of_row, int64_t size, int64_t j,
                    int64_t k, char *x)
{
    const int64_t to = gfnn_at(g, 0, j, k);
    const int64_t from = gfnn_at(g, 0, wrapped(j, g->n[1]), wrapped(k, g->n[2]));
    of_row(g->n[0], width, x + size * from, x + size * to);
}

/* A thread has the ghosts of its own rows; rows that are all ghosts, first those in layers below
 * and above, then those beside, are dealt out one by one. */
static void wrap(const gfnn_view_t *view, int width, rt_type_t type, void *x)
{
    const gfnn_grid_t *g = type == RT_F64 ? &view->box->fine : &view->box->wide;
    wrap_row_t *const of_row = type == RT_F64   ? wrap_row64
                               : type == RT_F32 ? wrap_row32
                                                : wrap_row16;
    const int64_t size = type == RT_F64 ? 8 : type == RT_F32 ? 4 : 2, both = 2 * width;
    const int64_t n1 = g->n[1], n2 = g->n[2];
#pragma omp parallel
    for (int c = 0; c < 3; c++) {
        char *const y = (char *)x + size * c * g->plane;
#pragma omp for schedule(static) nowait
        for (int64_t row = 0; row < n1 * n2; row++)
            wrap_at(g, width, of_row, size, row % n1, row / n1, y);
#pragma omp for schedule(static, 1) nowait
        for (int64_t row = 0; row < both * (n1 + both); row++)
            wrap_at(g, width, of_row, size, row / both - width, beyond(row % both, width, n2), y);
#pragma omp for schedule(static, 1) nowait
        for (int64_t row = 0; row < both * n2; row++)
            wrap_at(g, width, of_row, size, beyond(row % both, width, n1), row / both, y);
    }
}

/* --- diagonal blocks --- */

/* By corner: block = sum over the eight elements of w fixed + Vs^2 shear. */
typedef struct {
    double fixed[8][BLOCK], shear[8][BLOCK];
} corners_t;

static corners_t corners(const gfnn_form_t *form)
{
    static const int row[BLOCK] = {0, 1, 2, 0, 1, 2}, column[BLOCK] = {0, 1, 2, 1, 2, 0};
    double fixed[24][24], shear[24][24];
    corners_t result;
    gfnn_element_matrix(form, 1, 0, fixed);
    gfnn_element_matrix(form, 0, 1, shear);
    for (int a = 0; a < 8; a++)
        for (int b = 0; b < BLOCK; b++) {
            result.fixed[a][b] = fixed[3 * a + row[b]][3 * a + column[b]];
            result.shear[a][b] = shear[3 * a + row[b]][3 * a + column[b]];
        }
    return result;
}

/* Inverse of the block of the components that are not held; the others, which are 0 in r, are
 * apart. */
static void invert(const double B[BLOCK], const bool held[3], double inverse[BLOCK])
{
    double D[BLOCK];
    memcpy(D, B, sizeof D);
    for (int c = 0; c < 3; c++)
        if (held[c]) {
            D[c] = 1;
            D[3 + c] = D[3 + (c + 2) % 3] = 0; /* xy yz zx: with the next, and the one before */
        }
    const double xx = D[1] * D[2] - D[4] * D[4];
    const double xy = D[4] * D[5] - D[3] * D[2];
    const double zx = D[3] * D[4] - D[1] * D[5];
    const double det = D[0] * xx + D[3] * xy + D[5] * zx;
    inverse[0] = xx / det;
    inverse[1] = (D[0] * D[2] - D[5] * D[5]) / det;
    inverse[2] = (D[0] * D[1] - D[3] * D[3]) / det;
    inverse[3] = xy / det;
    inverse[4] = (D[3] * D[5] - D[0] * D[4]) / det;
    inverse[5] = zx / det;
}

static void invert_node(const gfnn_view_t *view, const corners_t *part, int64_t i, int64_t j,
                        int64_t k, float *inverse)
{
    const gfnn_box_t *box = view->box;
    const gfnn_materials_t *materials = view->materials;
    const bool held[3] = {is_held(box, 0, i), is_held(box, 1, j), is_held(box, 2, k)};
    double D[BLOCK] = {0}, result[BLOCK];
    for (int a = 0; a < 8; a++) { /* the element of which this node is corner a */
        const int64_t at = gfnn_at(&box->wide, i - (a & 1), j - (a >> 1 & 1), k - (a >> 2));
        const double w = materials->w[view->id[at]], square = materials->square[view->id[at]];
        for (int b = 0; b < BLOCK; b++)
            D[b] += w * part->fixed[a][b] + square * part->shear[a][b];
    }
    invert(D, held, result);
    for (int b = 0; b < BLOCK; b++)
        inverse[b * box->bare.plane] = (float)result[b];
}

static void set_up(gfnn_view_t *view, const gfnn_form_t *form)
{
    const gfnn_grid_t *bare = &view->box->bare;
    const corners_t part = corners(form);
    data_t *data = RT_NEW(data_t, 1, RT_HOST);
    data->inverse = RT_NEW(float, BLOCK *(size_t)bare->plane, RT_HOST);
    data->sums = RT_NEW(double, 2 * (size_t)rows_of(bare), RT_HOST);
    view->data = data;
#pragma omp parallel for schedule(static)
    for (int64_t row = 0; row < rows_of(bare); row++)
        for (int64_t i = 0; i < bare->n[0]; i++)
            invert_node(view, &part, i, row % bare->n[1], row / bare->n[1],
                        data->inverse + row_at(bare, row) + i);
}

static void tear_down(gfnn_view_t *view)
{
    data_t *data = view->data;
    if (data) {
        RT_FREE(data->inverse, RT_HOST);
        RT_FREE(data->sums, RT_HOST);
    }
    RT_FREE(data, RT_HOST);
    view->data = NULL;
}

static void memory(const gfnn_config_t *cfg, const gfnn_box_t *box, double bytes[RT_SPACES])
{
    (void)cfg;
    bytes[RT_HOST] += sizeof(data_t) + BLOCK * sizeof(float) * (double)box->bare.plane +
                      2 * sizeof(double) * (double)rows_of(&box->bare);
}

const gfnn_vectors_t gfnn_vectors_cpu = {.fill = fill,
                                         .fill32 = fill32,
                                         .dot = dot,
                                         .axpby = axpby,
                                         .update = update,
                                         .update_bj = update_bj,
                                         .pack = pack,
                                         .dots = dots,
                                         .direction = direction,
                                         .direction_plain = direction_plain,
                                         .smooth32 = smooth32,
                                         .axpby32 = axpby32,
                                         .dot32 = dot32,
                                         .narrow = narrow,
                                         .newmark_before = newmark_before,
                                         .newmark_after = newmark_after,
                                         .hold = hold,
                                         .wrap = wrap,
                                         .set_up = set_up,
                                         .tear_down = tear_down,
                                         .memory = memory};
