/*
 * vectors.c - the loops of conjugate gradients that are neither A nor P, on the CPU.
 *
 * Threads share the rows (j, k) of the box. A thread takes its rows of all three components, as the
 * operators do, so it finds its layers in its own memory. A row is one vector loop over the
 * arithmetic of node.h. Each row has its own partial sum, and these are added pairwise: the result
 * has the same bits for any number of threads.
 *
 * The 3x3 blocks D are sums over the eight elements around a node. Their inverses are kept, FP32, 6
 * values per node: a lookup by eight ids would cost in gathers what they cost in traffic, and bj is
 * not what this app is about.
 */
#include "config.h"
#include <math.h>
#include "cpu.h"
#include "apps/gfnn-wave/node.h"

#define INLINE static inline __attribute__((always_inline))

typedef struct {
    float *inverse; /* [GFNN_BLOCK][bare.plane] */
    double *sums;   /* [2][rows] */
} data_t;

static int64_t rows_of(const gfnn_box_t *box)
{
    return box->n[1] * box->n[2];
}

static int64_t row_at(const gfnn_grid_t *g, int64_t row)
{
    return gfnn_at(g, 0, row % g->n[1], row / g->n[1]);
}

/* Where component c of a row begins on `fine` and on `wide`. */
static int64_t fine_at(const gfnn_box_t *box, int64_t row, int c)
{
    return row_at(&box->fine, row) + c * box->fine.plane;
}

static int64_t wide_at(const gfnn_box_t *box, int64_t row, int c)
{
    return row_at(&box->wide, row) + c * box->wide.plane;
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
    const gfnn_box_t *box = view->box;
#pragma omp parallel for schedule(static)
    for (int64_t row = 0; row < rows_of(box); row++)
        for (int c = 0; c < 3; c++) {
            const int64_t at = wide_at(box, row, c);
            if (y)
                narrow_row(true, box->n[0], scale, x + at, y + at, (uint16_t *)low + at);
            else
                narrow_row(false, box->n[0], scale, x + at, NULL, (uint16_t *)low + at);
        }
}

/* --- FP64 --- */

static void fill(const gfnn_view_t *view, double value, double *x)
{
    const gfnn_box_t *box = view->box;
#pragma omp parallel for schedule(static)
    for (int64_t row = 0; row < rows_of(box); row++)
        for (int c = 0; c < 3; c++)
            for (int64_t i = 0, at = fine_at(box, row, c); i < box->n[0]; i++)
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
    const gfnn_box_t *box = view->box;
    const data_t *data = view->data;
#pragma omp parallel for schedule(static)
    for (int64_t row = 0; row < rows_of(box); row++) {
        double sum = 0;
        for (int c = 0; c < 3; c++) {
            const int64_t at = fine_at(box, row, c);
            sum += dot_row(box->n[0], x + at, y + at);
        }
        data->sums[row] = sum;
    }
    return rt_sum_pairwise(data->sums, rows_of(box));
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
    const gfnn_box_t *box = view->box;
#pragma omp parallel for schedule(static)
    for (int64_t row = 0; row < rows_of(box); row++)
        for (int c = 0; c < 3; c++) {
            const int64_t at = fine_at(box, row, c);
            if (b != 0)
                axpby_row(box->n[0], a, x + at, b, y + at);
            else
                for (int64_t i = 0; i < box->n[0]; i++)
                    y[at + i] = a * x[at + i];
        }
}

static void add(const gfnn_view_t *view, int64_t at, double value, double *x)
{
    (void)view;
    x[at] += value;
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

static void update(const gfnn_view_t *view, gfnn_cg_t *cg, const double *q, double *r,
                   int precision, void *low)
{
    const gfnn_box_t *box = view->box;
    const data_t *data = view->data;
    const double alpha = cg->alpha, scale = cg->scale;
    if (gfnn_cg_has_ended(&cg->told))
        return;
#pragma omp parallel for schedule(static)
    for (int64_t row = 0; row < rows_of(box); row++) {
        double sum = 0;
        for (int c = 0; c < 3; c++) {
            const int64_t at = fine_at(box, row, c);
            sum += update_row(box->n[0], alpha, q + at, r + at);
            if (low)
                lower_row(box->n[0], scale, r + at, precision, wide_at(box, row, c), low);
        }
        data->sums[row] = sum;
    }
    cg->sums[0] = rt_sum_pairwise(data->sums, rows_of(box));
    cg->sums[1] = 0;
}

static double bj_row(int64_t n, const float *restrict inverse, int64_t bare, double scale,
                     const double *restrict r, int64_t fine, float *restrict z, int64_t wide)
{
    double sum = 0;
#pragma omp simd reduction(+ : sum)
    for (int64_t i = 0; i < n; i++)
        sum += gfnn_bj(inverse + i, bare, scale, r + i, fine, z + i, wide);
    return sum;
}

/* A row is still in the cache when its z is made. */
static void update_bj(const gfnn_view_t *view, gfnn_cg_t *cg, bool first, const double *q,
                      double *r, float *z)
{
    const gfnn_box_t *box = view->box;
    const data_t *data = view->data;
    const double alpha = cg->alpha, scale = cg->scale;
    const int64_t rows = rows_of(box), n = box->n[0];
    if (gfnn_cg_has_ended(&cg->told))
        return;
#pragma omp parallel for schedule(static)
    for (int64_t row = 0; row < rows; row++) {
        double sum = 0;
        for (int c = 0; c < 3; c++) {
            const int64_t at = fine_at(box, row, c);
            sum += first ? dot_row(n, r + at, r + at) : update_row(n, alpha, q + at, r + at);
        }
        data->sums[row] = sum;
        data->sums[rows + row] = bj_row(n, data->inverse + row_at(&box->bare, row), box->bare.plane,
                                        scale, r + fine_at(box, row, 0), box->fine.plane,
                                        z + wide_at(box, row, 0), box->wide.plane);
    }
    cg->sums[0] = rt_sum_pairwise(data->sums, rows);
    cg->sums[1] = rt_sum_pairwise(data->sums + rows, rows);
}

/* This is not in the loop of an iteration. */
static double largest_row(int64_t n, const double *r)
{
    double most = 0;
    for (int64_t i = 0; i < n; i++) {
        const double size = fabs(r[i]);
        most = size > most ? size : most;
    }
    return most;
}

static void start(const gfnn_view_t *view, gfnn_cg_t *cg, const gfnn_method_t *method,
                  const double *f, double *r, double *x)
{
    const gfnn_box_t *box = view->box;
    const data_t *data = view->data;
    double most = 0;
#pragma omp parallel for schedule(static) reduction(max : most)
    for (int64_t row = 0; row < rows_of(box); row++) {
        double sum = 0;
        for (int c = 0; c < 3; c++) {
            const int64_t at = fine_at(box, row, c);
            const double size = largest_row(box->n[0], f + at);
            most = size > most ? size : most;
            sum += dot_row(box->n[0], f + at, f + at);
            for (int64_t i = at; i < at + box->n[0]; i++) {
                r[i] = f[i];
                x[i] = 0;
            }
        }
        data->sums[row] = sum;
    }
    cg->method = *method;
    cg->sums[0] = rt_sum_pairwise(data->sums, rows_of(box));
    cg->sums[1] = most;
}

static void pack(const gfnn_view_t *view, const gfnn_cg_t *cg, const double *r, int precision,
                 void *low)
{
    const gfnn_box_t *box = view->box;
#pragma omp parallel for schedule(static)
    for (int64_t row = 0; row < rows_of(box); row++)
        for (int c = 0; c < 3; c++)
            lower_row(box->n[0], cg->scale, r + fine_at(box, row, c), precision,
                      wide_at(box, row, c), low);
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

static void dots(const gfnn_view_t *view, gfnn_cg_t *cg, const float *z, const double *r,
                 const double *q)
{
    const gfnn_box_t *box = view->box;
    const data_t *data = view->data;
    const int64_t rows = rows_of(box);
#pragma omp parallel for schedule(static)
    for (int64_t row = 0; row < rows; row++) {
        double zr = 0, zq = 0;
        for (int c = 0; c < 3; c++) {
            const int64_t at = fine_at(box, row, c);
            const float *from = z + wide_at(box, row, c);
            zr += mixed_dot_row(box->n[0], from, r + at);
            zq += q ? mixed_dot_row(box->n[0], from, q + at) : 0;
        }
        data->sums[row] = zr;
        data->sums[rows + row] = zq;
    }
    cg->sums[0] = rt_sum_pairwise(data->sums, rows);
    cg->sums[1] = rt_sum_pairwise(data->sums + rows, rows);
}

/* z, or r without a preconditioner. */
INLINE void direction_row(int64_t n, bool plain, bool first, double alpha, double *restrict x,
                          double scale, const float *restrict z, const double *restrict r,
                          double beta, double *restrict p)
{
#pragma omp simd
    for (int64_t i = 0; i < n; i++)
        gfnn_turn(first, alpha, plain ? r[i] : scale * (double)z[i], beta, x + i, p + i);
}

static void direction(const gfnn_view_t *view, const gfnn_cg_t *cg, bool first, double *x,
                      const float *z, double *p)
{
    const gfnn_box_t *box = view->box;
    const double alpha = cg->alpha, beta = cg->beta, scale = 1 / cg->scale;
    if (gfnn_cg_has_ended(&cg->told))
        return;
#pragma omp parallel for schedule(static)
    for (int64_t row = 0; row < rows_of(box); row++)
        for (int c = 0; c < 3; c++) {
            const int64_t at = fine_at(box, row, c);
            const float *from = z + wide_at(box, row, c);
            if (first)
                direction_row(box->n[0], false, true, 0, x + at, scale, from, NULL, 0, p + at);
            else
                direction_row(box->n[0], false, false, alpha, x + at, scale, from, NULL, beta,
                              p + at);
        }
}

static void direction_plain(const gfnn_view_t *view, const gfnn_cg_t *cg, bool first, double *x,
                            const double *r, double *p)
{
    const gfnn_box_t *box = view->box;
    const double alpha = cg->alpha, beta = cg->beta;
    if (gfnn_cg_has_ended(&cg->told))
        return;
#pragma omp parallel for schedule(static)
    for (int64_t row = 0; row < rows_of(box); row++)
        for (int c = 0; c < 3; c++) {
            const int64_t at = fine_at(box, row, c);
            if (first)
                direction_row(box->n[0], true, true, 0, x + at, 1, NULL, r + at, 0, p + at);
            else
                direction_row(box->n[0], true, false, alpha, x + at, 1, NULL, r + at, beta, p + at);
        }
}

static void arrive(const gfnn_view_t *view, const gfnn_cg_t *cg, const double *p, double *x)
{
    if (cg->told.progress >= 2)
        axpby(view, cg->alpha, p, 1, x);
}

/* --- FP32 --- */

static void fill32(const gfnn_view_t *view, float value, float *z)
{
    const gfnn_box_t *box = view->box;
#pragma omp parallel for schedule(static)
    for (int64_t row = 0; row < rows_of(box); row++)
        for (int c = 0; c < 3; c++)
            for (int64_t i = 0, at = wide_at(box, row, c); i < box->n[0]; i++)
                z[at + i] = value;
}

/* As axpby. */
static void axpby32(const gfnn_view_t *view, float a, const float *x, float b, float *y)
{
    const gfnn_box_t *box = view->box;
#pragma omp parallel for schedule(static)
    for (int64_t row = 0; row < rows_of(box); row++)
        for (int c = 0; c < 3; c++) {
            const float *restrict from = x + wide_at(box, row, c);
            float *restrict to = y + wide_at(box, row, c);
            if (b != 0)
#pragma omp simd
                for (int64_t i = 0; i < box->n[0]; i++)
                    to[i] = a * from[i] + b * to[i];
            else
                for (int64_t i = 0; i < box->n[0]; i++)
                    to[i] = a * from[i];
        }
}

static double dot32(const gfnn_view_t *view, const float *x, const float *y)
{
    const gfnn_box_t *box = view->box;
    const data_t *data = view->data;
#pragma omp parallel for schedule(static)
    for (int64_t row = 0; row < rows_of(box); row++) {
        double sum = 0;
        for (int c = 0; c < 3; c++) {
            const int64_t at = wide_at(box, row, c);
#pragma omp simd reduction(+ : sum)
            for (int64_t i = at; i < at + box->n[0]; i++)
                sum += (double)x[i] * (double)y[i];
        }
        data->sums[row] = sum;
    }
    return rt_sum_pairwise(data->sums, rows_of(box));
}

/* A loop for each choice of what there is. out may be z or old, so none of them is `restrict`. */
typedef void smooth_row_t(int64_t n, const float *inverse, int64_t bare, const float *z, float a,
                          const float *old, float omega, const float *r, const float *y,
                          int64_t wide, float *out);
#define DEFINE_SMOOTH(NAME, Z, OLD, Y)                                                            \
    static void NAME(int64_t n, const float *inverse, int64_t bare, const float *z, float a,      \
                     const float *old, float omega, const float *r, const float *y, int64_t wide, \
                     float *out)                                                                  \
    {                                                                                             \
        _Pragma("omp simd") for (int64_t i = 0; i < n; i++) gfnn_smooth(                          \
            Z, OLD, Y, inverse + i, bare, z + i, a, old + i, omega, r + i, y + i, wide, out + i); \
    }
DEFINE_SMOOTH(smooth_r, 0, 0, 0)
DEFINE_SMOOTH(smooth_ry, 0, 0, 1)
DEFINE_SMOOTH(smooth_o, 0, 1, 0)
DEFINE_SMOOTH(smooth_oy, 0, 1, 1)
DEFINE_SMOOTH(smooth_z, 1, 0, 0)
DEFINE_SMOOTH(smooth_zy, 1, 0, 1)
DEFINE_SMOOTH(smooth_zo, 1, 1, 0)
DEFINE_SMOOTH(smooth_zoy, 1, 1, 1)

/* What is absent points to r and is not read. */
static void smooth32(const gfnn_view_t *view, const float *z, float a, const float *old,
                     float omega, const float *r, const float *y, float *out)
{
    static smooth_row_t *const of_row[8] = {smooth_r, smooth_ry, smooth_o,  smooth_oy,
                                            smooth_z, smooth_zy, smooth_zo, smooth_zoy};
    const gfnn_box_t *box = view->box;
    const data_t *data = view->data;
    const bool with_old = old && a != 0;
    smooth_row_t *const smooth = of_row[4 * (z != NULL) + 2 * with_old + (y != NULL)];
    const float *of_z = z ? z : r, *of_old = with_old ? old : r, *of_y = y ? y : r;
#pragma omp parallel for schedule(static)
    for (int64_t row = 0; row < rows_of(box); row++) {
        const int64_t at = wide_at(box, row, 0);
        smooth(box->n[0], data->inverse + row_at(&box->bare, row), box->bare.plane, of_z + at, a,
               of_old + at, omega, r + at, of_y + at, box->wide.plane, out + at);
    }
}

/* --- Newmark --- */

static void before_row(int64_t n, double of_v, double rayleigh_b, const double *restrict u,
                       const double *restrict v, const double *restrict a, double *restrict x1,
                       double *restrict x2)
{
#pragma omp simd
    for (int64_t i = 0; i < n; i++)
        gfnn_before(of_v, rayleigh_b, u[i], v[i], a[i], x1 + i, x2 + i);
}

static void newmark_before(const gfnn_view_t *view, double dt, double rayleigh_a, double rayleigh_b,
                           const double *u, const double *v, const double *a, double *x1,
                           double *x2)
{
    const gfnn_box_t *box = view->box;
#pragma omp parallel for schedule(static)
    for (int64_t row = 0; row < rows_of(box); row++)
        for (int c = 0; c < 3; c++) {
            const int64_t at = fine_at(box, row, c);
            before_row(box->n[0], 4 / dt + rayleigh_a, rayleigh_b, u + at, v + at, a + at, x1 + at,
                       x2 + at);
        }
}

static void after_row(int64_t n, double dt, const double *restrict du, double *restrict u,
                      double *restrict v, double *restrict a)
{
    const double f1 = 2 / dt, f2 = 4 / (dt * dt);
#pragma omp simd
    for (int64_t i = 0; i < n; i++)
        gfnn_after(f1, f2, du[i], u + i, v + i, a + i);
}

static void newmark_after(const gfnn_view_t *view, double dt, const double *du, double *u,
                          double *v, double *a)
{
    const gfnn_box_t *box = view->box;
#pragma omp parallel for schedule(static)
    for (int64_t row = 0; row < rows_of(box); row++)
        for (int c = 0; c < 3; c++) {
            const int64_t at = fine_at(box, row, c);
            after_row(box->n[0], dt, du + at, u + at, v + at, a + at);
        }
}

/* --- mirror faces --- */

static void hold_layer(const gfnn_box_t *box, int d, int layer, double *x, float *z)
{
    const gfnn_grid_t *fine = &box->fine, *wide = &box->wide;
    const int64_t n = box->n[d == 0 ? 1 : 0], nodes = n * box->n[d == 2 ? 1 : 2];
    for (int64_t node = 0; node < nodes; node++) {
        int at[3];
        gfnn_on_layer(d, layer, (int)(node % n), (int)(node / n), at);
        if (x)
            x[d * fine->plane + gfnn_at(fine, at[0], at[1], at[2])] = 0;
        if (z)
            z[d * wide->plane + gfnn_at(wide, at[0], at[1], at[2])] = 0;
    }
}

/* Zeroes on each face the component that is normal to it. */
static void hold(const gfnn_view_t *view, double *x, float *z)
{
    const gfnn_held_t held = gfnn_held(view->box);
    for (int face = 0; face < 6; face++)
        if (held.at[face])
            hold_layer(view->box, face / 2, face % 2 ? (int)view->box->n[face / 2] - 1 : 0, x, z);
}

/* --- ghosts --- */

/* Fills a row of a component with its ghosts, from the row of own values that it is or mirrors. */
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

/* Row (j, k) of a component; size: bytes of a value, a constant for each case. */
static void wrap_at(const gfnn_grid_t *g, int width, int size, int j, int k, char *x)
{
    const int64_t to = gfnn_at(g, 0, j, k);
    const int64_t from =
        gfnn_at(g, 0, gfnn_wrapped(j, (int)g->n[1]), gfnn_wrapped(k, (int)g->n[2]));
    if (size == 8)
        wrap_row(8, g->n[0], width, x + 8 * from, x + 8 * to);
    else if (size == 4)
        wrap_row(4, g->n[0], width, x + 4 * from, x + 4 * to);
    else
        wrap_row(2, g->n[0], width, x + 2 * from, x + 2 * to);
}

/* A thread takes the ghosts of its own rows. Rows that are all ghosts are dealt out one by one:
 * first those in layers below and above, then those at the sides. */
static void wrap(const gfnn_view_t *view, int width, rt_type_t type, void *x)
{
    const gfnn_grid_t *g = type == RT_F64 ? &view->box->fine : &view->box->wide;
    const int size = type == RT_F64 ? 8 : type == RT_F32 ? 4 : 2, both = 2 * width;
    const int n1 = (int)g->n[1], n2 = (int)g->n[2];
#pragma omp parallel
    for (int c = 0; c < 3; c++) {
        char *const y = (char *)x + size * c * g->plane;
#pragma omp for schedule(static) nowait
        for (int row = 0; row < n1 * n2; row++)
            wrap_at(g, width, size, row % n1, row / n1, y);
#pragma omp for schedule(static, 1) nowait
        for (int row = 0; row < both * (n1 + both); row++)
            wrap_at(g, width, size, row / both - width, gfnn_beyond(row % both, width, n2), y);
#pragma omp for schedule(static, 1) nowait
        for (int row = 0; row < both * n2; row++)
            wrap_at(g, width, size, gfnn_beyond(row % both, width, n1), row / both, y);
    }
}

/* --- diagonal blocks --- */

static void invert_node(const gfnn_view_t *view, const gfnn_corners_t *part,
                        const gfnn_held_t *held, int i, int j, int k, float *inverse)
{
    const gfnn_box_t *box = view->box;
    const gfnn_materials_t *materials = view->materials;
    const bool here[3] = {gfnn_is_held(held, 0, i, (int)box->n[0]),
                          gfnn_is_held(held, 1, j, (int)box->n[1]),
                          gfnn_is_held(held, 2, k, (int)box->n[2])};
    double D[GFNN_BLOCK] = {0};
    for (int a = 0; a < 8; a++) { /* the element whose corner a is this node */
        const int64_t at = gfnn_at(&box->wide, i - (a & 1), j - (a >> 1 & 1), k - (a >> 2));
        const uint8_t id = view->id[at];
        gfnn_add_corner(part, a, materials->w[id], materials->square[id], D);
    }
    gfnn_invert(D, here, inverse, box->bare.plane);
}

static void set_up(gfnn_view_t *view, const gfnn_form_t *form)
{
    const gfnn_grid_t *bare = &view->box->bare;
    const size_t rows = (size_t)rows_of(view->box), plane = (size_t)bare->plane;
    const gfnn_corners_t part = gfnn_corners(form);
    const gfnn_held_t held = gfnn_held(view->box);
    data_t *data = RT_NEW(data_t, 1, RT_HOST);
    data->inverse = RT_NEW(float, plane *GFNN_BLOCK, RT_HOST);
    data->sums = RT_NEW(double, 2 * rows, RT_HOST);
    view->data = data;
#pragma omp parallel for schedule(static)
    for (int64_t row = 0; row < rows_of(view->box); row++)
        for (int i = 0; i < bare->n[0]; i++)
            invert_node(view, &part, &held, i, (int)(row % bare->n[1]), (int)(row / bare->n[1]),
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

static void memory(const gfnn_config_t *config, const gfnn_box_t *box, double bytes[RT_SPACES])
{
    (void)config;
    bytes[RT_HOST] += sizeof(data_t) + GFNN_BLOCK * sizeof(float) * (double)box->bare.plane +
                      2 * sizeof(double) * (double)rows_of(box);
}

const gfnn_vectors_t gfnn_vectors_cpu = {.scalars = &gfnn_scalars_host,
                                         .fill = fill,
                                         .fill32 = fill32,
                                         .dot = dot,
                                         .axpby = axpby,
                                         .add = add,
                                         .start = start,
                                         .pack = pack,
                                         .update = update,
                                         .update_bj = update_bj,
                                         .dots = dots,
                                         .direction = direction,
                                         .direction_plain = direction_plain,
                                         .arrive = arrive,
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
