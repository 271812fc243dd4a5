/*
 * vectors.c - the loops of a time step that have neither A nor P, on the CPU; those of conjugate
 * gradients are in cg_rows.inc, for FP64 here and for FP32 in vectors32.c. rows.h says how threads share the box, and how sums are added.
 */
#include "config.h"
#include <math.h>
#include "rows.h"
#define VALUE    double
#define AT(line) (line).fine
#define GRID     fine
#include "cg_rows.inc"

/* --- FP64 --- */

static void fill(const gfnn_view_t *view, double value, double *x)
{
    const gfnn_box_t *box = view->box;
#pragma omp parallel for schedule(static)
    for (int64_t l = 0; l < gfnn_lines(box); l++) {
        const gfnn_line_t line = gfnn_line(box, l);
        for (int64_t i = 0; i < line.n; i++)
            x[line.fine + i] = value;
    }
}

static double dot(const gfnn_view_t *view, const double *x, const double *y)
{
    const gfnn_box_t *box = view->box;
    const gfnn_rows_data_t *data = view->data;
#pragma omp parallel for schedule(static)
    for (int64_t l = 0; l < gfnn_lines(box); l++) {
        const gfnn_line_t line = gfnn_line(box, l);
        data->sums[l] = dot_row(line.n, x + line.fine, y + line.fine);
    }
    return rt_sum_pairwise(data->sums, gfnn_lines(box));
}

/* As in BLAS, y is not read if b = 0: it may be NaN. */
INLINE void axpby_row(bool with_y, int64_t n, double a, const double *restrict x, double b,
                      double *restrict y)
{
#pragma omp simd
    for (int64_t i = 0; i < n; i++)
        y[i] = with_y ? a * x[i] + b * y[i] : a * x[i];
}

static void axpby(const gfnn_view_t *view, double a, const double *x, double b, double *y)
{
    const gfnn_box_t *box = view->box;
#pragma omp parallel for schedule(static)
    for (int64_t l = 0; l < gfnn_lines(box); l++) {
        const gfnn_line_t line = gfnn_line(box, l);
        if (b != 0)
            axpby_row(true, line.n, a, x + line.fine, b, y + line.fine);
        else
            axpby_row(false, line.n, a, x + line.fine, 0, y + line.fine);
    }
}

static void add(const gfnn_view_t *view, int64_t at, double value, double *x)
{
    (void)view;
    x[at] += value;
}

/* Not in the loop of an iteration. */
static void start(const gfnn_view_t *view, gfnn_cg_t *cg, const gfnn_method_t *method,
                  const double *f)
{
    const gfnn_box_t *box = view->box;
    const gfnn_rows_data_t *data = view->data;
    double most = 0;
#pragma omp parallel for schedule(static) reduction(max : most)
    for (int64_t l = 0; l < gfnn_lines(box); l++) {
        const gfnn_line_t line = gfnn_line(box, l);
        for (int64_t i = line.fine; i < line.fine + line.n; i++)
            most = fabs(f[i]) > most ? fabs(f[i]) : most;
        data->sums[l] = dot_row(line.n, f + line.fine, f + line.fine);
    }
    cg->method = *method;
    cg->sums[0] = rt_sum_pairwise(data->sums, gfnn_lines(box));
    cg->sums[1] = most;
}

/* x is du itself. */
static void arrive(const gfnn_view_t *view, const gfnn_cg_t *cg, bool first, const void *x,
                   const void *p, double *du)
{
    (void)first;
    (void)x;
    if (cg->due != 0)
        axpby(view, cg->due, p, 1, du);
}

/* --- FP32 --- */

static void fill32(const gfnn_view_t *view, float value, float *z)
{
    const gfnn_box_t *box = view->box;
#pragma omp parallel for schedule(static)
    for (int64_t l = 0; l < gfnn_lines(box); l++) {
        const gfnn_line_t line = gfnn_line(box, l);
        for (int64_t i = 0; i < line.n; i++)
            z[line.wide + i] = value;
    }
}

static double dot32(const gfnn_view_t *view, const float *x, const float *y)
{
    const gfnn_box_t *box = view->box;
    const gfnn_rows_data_t *data = view->data;
#pragma omp parallel for schedule(static)
    for (int64_t l = 0; l < gfnn_lines(box); l++) {
        const gfnn_line_t line = gfnn_line(box, l);
        double sum = 0;
#pragma omp simd reduction(+ : sum)
        for (int64_t i = line.wide; i < line.wide + line.n; i++)
            sum += (double)x[i] * (double)y[i];
        data->sums[l] = sum;
    }
    return rt_sum_pairwise(data->sums, gfnn_lines(box));
}

static void to_half(const gfnn_view_t *view, const float *x, void *low)
{
    const gfnn_box_t *box = view->box;
    uint16_t *to = low;
#pragma omp parallel for schedule(static)
    for (int64_t l = 0; l < gfnn_lines(box); l++) {
        const gfnn_line_t line = gfnn_line(box, l);
#pragma omp simd
        for (int64_t i = line.wide; i < line.wide + line.n; i++)
            to[i] = gfnn_to_half(x[i]);
    }
}

/* --- Newmark --- */

static void newmark_before(const gfnn_view_t *view, double dt, double rayleigh_a, double rayleigh_b,
                           const double *restrict u, const double *restrict v,
                           const double *restrict a, double *restrict x1, double *restrict x2)
{
    const gfnn_box_t *box = view->box;
    const double of_v = 4 / dt + rayleigh_a;
#pragma omp parallel for schedule(static)
    for (int64_t l = 0; l < gfnn_lines(box); l++) {
        const gfnn_line_t line = gfnn_line(box, l);
#pragma omp simd
        for (int64_t i = line.fine; i < line.fine + line.n; i++)
            gfnn_before(of_v, rayleigh_b, u[i], v[i], a[i], x1 + i, x2 + i);
    }
}

static void newmark_after(const gfnn_view_t *view, double dt, const double *restrict du,
                          double *restrict u, double *restrict v, double *restrict a)
{
    const gfnn_box_t *box = view->box;
    const double f1 = 2 / dt, f2 = 4 / (dt * dt);
#pragma omp parallel for schedule(static)
    for (int64_t l = 0; l < gfnn_lines(box); l++) {
        const gfnn_line_t line = gfnn_line(box, l);
#pragma omp simd
        for (int64_t i = line.fine; i < line.fine + line.n; i++)
            gfnn_after(f1, f2, du[i], u + i, v + i, a + i);
    }
}

/* --- set up --- */

static void set_up(gfnn_view_t *view, const gfnn_form_t *form)
{
    gfnn_rows_data_t *data = RT_NEW(gfnn_rows_data_t, 1, RT_HOST);
    data->inverse = gfnn_cpu_inverse_new(view, form);
    data->sums = RT_NEW(double, 2 * (size_t)gfnn_lines(view->box), RT_HOST);
    view->data = data;
}

static void tear_down(gfnn_view_t *view)
{
    gfnn_rows_data_t *data = view->data;
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
    bytes[RT_HOST] += sizeof(gfnn_rows_data_t) +
                      GFNN_BLOCK * sizeof(float) * (double)box->bare.plane +
                      2 * sizeof(double) * (double)gfnn_lines(box);
}

static const gfnn_loops_t loops = {.renew = renew,
                                   .update = update,
                                   .update_bj = update_bj,
                                   .dots = dots,
                                   .direction = direction,
                                   .direction_plain = direction_plain,
                                   .arrive = arrive};
const gfnn_vectors_t gfnn_vectors_cpu = {.scalars = &gfnn_scalars_host,
                                         .loops = {&loops, &gfnn_cpu_loops32},
                                         .fill = fill,
                                         .fill32 = fill32,
                                         .dot = dot,
                                         .axpby = axpby,
                                         .add = add,
                                         .start = start,
                                         .smooth32 = gfnn_cpu_smooth32,
                                         .dot32 = dot32,
                                         .to_half = to_half,
                                         .newmark_before = newmark_before,
                                         .newmark_after = newmark_after,
                                         .hold = gfnn_cpu_hold,
                                         .wrap = gfnn_cpu_wrap,
                                         .set_up = set_up,
                                         .tear_down = tear_down,
                                         .memory = memory};
