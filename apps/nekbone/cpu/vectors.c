/*
 * vectors.c - the vector work of CG on the CPU.
 *
 * Sums run over blocks of a fixed length, one partial sum a block, and the partial sums are added
 * pairwise: the result has the same bits for any number of threads, and its rounding error grows
 * with the logarithm of the length, not with the length. Where two sums are wanted at once, the
 * partial sums of the second follow those of the first.
 */
#include "config.h"
#include "../nekbone.h"

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

double nek_sum_pairwise(const double *x, int64_t n)
{
    if (n <= 2)
        return n == 2 ? x[0] + x[1] : n == 1 ? x[0] : 0;
    return nek_sum_pairwise(x, n / 2) + nek_sum_pairwise(x + n / 2, n - n / 2);
}

static void update_p(const nek_mesh_t *m, double beta, const double *restrict r, double *restrict p)
{
#pragma omp parallel for simd schedule(static)
    for (int64_t q = 0; q < m->points; q++)
        p[q] = r[q] + beta * p[q];
}

static double shift(const nek_mesh_t *m, double lambda, const double *restrict p,
                    double *restrict w)
{
    const double *restrict c = m->c;
#pragma omp parallel for schedule(static)
    for (int64_t b = 0; b < blocks(m->points); b++) {
        double sum = 0;
        int64_t end = min_i64((b + 1) * BLOCK, m->points);
#pragma omp simd reduction(+ : sum)
        for (int64_t q = b * BLOCK; q < end; q++) {
            double s = c[q] != 0 ? w[q] + lambda * p[q] : 0;
            w[q] = s;
            sum += c[q] * s * p[q];
        }
        m->partial[b] = sum;
    }
    return nek_sum_pairwise(m->partial, blocks(m->points));
}

static double update_xr(const nek_mesh_t *m, double alpha, const double *restrict p,
                        const double *restrict w, double *restrict x, double *restrict r)
{
    const double *restrict c = m->c;
#pragma omp parallel for schedule(static)
    for (int64_t b = 0; b < blocks(m->points); b++) {
        double sum = 0;
        int64_t end = min_i64((b + 1) * BLOCK, m->points);
#pragma omp simd reduction(+ : sum)
        for (int64_t q = b * BLOCK; q < end; q++) {
            x[q] += alpha * p[q];
            double s = r[q] - alpha * w[q];
            r[q] = s;
            sum += c[q] * s * s;
        }
        m->partial[b] = sum;
    }
    return nek_sum_pairwise(m->partial, blocks(m->points));
}

static double dot(const nek_mesh_t *m, const double *x, const double *y)
{
    const double *restrict c = m->c;
#pragma omp parallel for schedule(static)
    for (int64_t b = 0; b < blocks(m->points); b++) {
        double sum = 0;
        int64_t end = min_i64((b + 1) * BLOCK, m->points);
#pragma omp simd reduction(+ : sum)
        for (int64_t q = b * BLOCK; q < end; q++)
            sum += c[q] * x[q] * y[q];
        m->partial[b] = sum;
    }
    return nek_sum_pairwise(m->partial, blocks(m->points));
}

static void update_p_z(const nek_mesh_t *m, double beta, const double *restrict r,
                       double *restrict p)
{
    const double *restrict inverse = m->inverse;
#pragma omp parallel for simd schedule(static)
    for (int64_t q = 0; q < m->points; q++)
        p[q] = inverse[q] * r[q] + beta * p[q];
}

static void update_xr_z(const nek_mesh_t *m, double alpha, const double *restrict p,
                        const double *restrict w, double *restrict x, double *restrict r,
                        double sum[2])
{
    const double *restrict c = m->c, *restrict inverse = m->inverse;
    const int64_t count = blocks(m->points);
#pragma omp parallel for schedule(static)
    for (int64_t b = 0; b < count; b++) {
        double rr = 0, rz = 0;
        int64_t end = min_i64((b + 1) * BLOCK, m->points);
#pragma omp simd reduction(+ : rr, rz)
        for (int64_t q = b * BLOCK; q < end; q++) {
            x[q] += alpha * p[q];
            double s = r[q] - alpha * w[q], square = c[q] * s * s;
            r[q] = s;
            rr += square;
            rz += inverse[q] * square;
        }
        m->partial[b] = rr;
        m->partial[count + b] = rz;
    }
    sum[0] = nek_sum_pairwise(m->partial, count);
    sum[1] = nek_sum_pairwise(m->partial + count, count);
}

const nek_vector_t nek_vector_cpu = {.partial_size = partial_size,
                                     .update_p = update_p,
                                     .shift = shift,
                                     .update_xr = update_xr,
                                     .dot = dot,
                                     .update_p_z = update_p_z,
                                     .update_xr_z = update_xr_z};
