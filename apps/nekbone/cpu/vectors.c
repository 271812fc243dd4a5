/*
 * vectors.c - the vector work of CG on the CPU.
 *
 * Sums run over blocks of a fixed length, with one partial sum per block, and the partial sums are
 * added pairwise. So the result has the same bits for any number of threads, and its rounding error
 * grows with the logarithm of the length, not with the length. Where two sums are computed at once,
 * the partial sums of the second follow those of the first.
 */
#include "config.h"
#include "../kernel.h"

enum { BLOCK = 1024 };

static int64_t blocks(int64_t points)
{
    return (points + BLOCK - 1) / BLOCK;
}

static int64_t partial_size(int64_t points)
{
    return 2 * blocks(points);
}

static int64_t min_i64(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static void update_p(const nek_view_t *view, double beta, const double *restrict r,
                     double *restrict p)
{
#pragma omp parallel for simd schedule(static)
    for (int64_t q = 0; q < view->points; q++)
        p[q] = r[q] + beta * p[q];
}

static double shift(const nek_view_t *view, double lambda, const double *restrict p,
                    double *restrict w)
{
    const double *restrict c = view->c;
#pragma omp parallel for schedule(static)
    for (int64_t b = 0; b < blocks(view->points); b++) {
        double sum = 0;
        int64_t end = min_i64((b + 1) * BLOCK, view->points);
#pragma omp simd reduction(+ : sum)
        for (int64_t q = b * BLOCK; q < end; q++) {
            double s = c[q] != 0 ? w[q] + lambda * p[q] : 0;
            w[q] = s;
            sum += c[q] * s * p[q];
        }
        view->partial[b] = sum;
    }
    return rt_sum_pairwise(view->partial, blocks(view->points));
}

static double update_xr(const nek_view_t *view, double alpha, const double *restrict p,
                        const double *restrict w, double *restrict x, double *restrict r)
{
    const double *restrict c = view->c;
#pragma omp parallel for schedule(static)
    for (int64_t b = 0; b < blocks(view->points); b++) {
        double sum = 0;
        int64_t end = min_i64((b + 1) * BLOCK, view->points);
#pragma omp simd reduction(+ : sum)
        for (int64_t q = b * BLOCK; q < end; q++) {
            x[q] += alpha * p[q];
            double s = r[q] - alpha * w[q];
            r[q] = s;
            sum += c[q] * s * s;
        }
        view->partial[b] = sum;
    }
    return rt_sum_pairwise(view->partial, blocks(view->points));
}

static double dot(const nek_view_t *view, const double *x, const double *y)
{
    const double *restrict c = view->c;
#pragma omp parallel for schedule(static)
    for (int64_t b = 0; b < blocks(view->points); b++) {
        double sum = 0;
        int64_t end = min_i64((b + 1) * BLOCK, view->points);
#pragma omp simd reduction(+ : sum)
        for (int64_t q = b * BLOCK; q < end; q++)
            sum += c[q] * x[q] * y[q];
        view->partial[b] = sum;
    }
    return rt_sum_pairwise(view->partial, blocks(view->points));
}

static void update_p_z(const nek_view_t *view, double beta, const double *restrict r,
                       double *restrict p)
{
    const double *restrict inverse = view->inverse;
#pragma omp parallel for simd schedule(static)
    for (int64_t q = 0; q < view->points; q++)
        p[q] = inverse[q] * r[q] + beta * p[q];
}

static void update_xr_z(const nek_view_t *view, double alpha, const double *restrict p,
                        const double *restrict w, double *restrict x, double *restrict r,
                        double sum[2])
{
    const double *restrict c = view->c, *restrict inverse = view->inverse;
    const int64_t count = blocks(view->points);
#pragma omp parallel for schedule(static)
    for (int64_t b = 0; b < count; b++) {
        double rr = 0, rz = 0;
        int64_t end = min_i64((b + 1) * BLOCK, view->points);
#pragma omp simd reduction(+ : rr, rz)
        for (int64_t q = b * BLOCK; q < end; q++) {
            x[q] += alpha * p[q];
            double s = r[q] - alpha * w[q], square = c[q] * s * s;
            r[q] = s;
            rr += square;
            rz += inverse[q] * square;
        }
        view->partial[b] = rr;
        view->partial[count + b] = rz;
    }
    sum[0] = rt_sum_pairwise(view->partial, count);
    sum[1] = rt_sum_pairwise(view->partial + count, count);
}

const nek_vector_t nek_vector_cpu = {.partial_size = partial_size,
                                     .update_p = update_p,
                                     .shift = shift,
                                     .update_xr = update_xr,
                                     .dot = dot,
                                     .update_p_z = update_p_z,
                                     .update_xr_z = update_xr_z};
