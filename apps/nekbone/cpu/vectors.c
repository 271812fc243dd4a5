/*
 * vectors.c - the vector work of CG on the CPU.
 *
 * Sums run over blocks of a fixed length, with one partial sum per block, and the partial sums are
 * added pairwise. So the result has the same bits for any number of threads, and its rounding error
 * grows with the logarithm of the length, not with the length.
 */
#include "config.h"
#include "points.h"

/* Runs `body` for each block: the points from q on, as many as `count`. */
#define EACH_BLOCK(body)                                                                     \
    do {                                                                                     \
        _Pragma("omp parallel for schedule(static)") for (int64_t b = 0;                     \
                                                          b < nek_blocks(view->points); b++) \
        {                                                                                    \
            const int64_t q = b * NEK_BLOCK, left = view->points - q;                        \
            const int count = left < NEK_BLOCK ? (int)left : NEK_BLOCK;                      \
            body;                                                                            \
        }                                                                                    \
    } while (0)

static double total(const nek_view_t *view)
{
    return rt_sum_pairwise(view->partial, nek_blocks(view->points));
}

static void update_p(const nek_view_t *view, double beta, const double *r, double *p)
{
    EACH_BLOCK(nek_points_p(count, beta, r + q, p + q));
}

static double shift(const nek_view_t *view, double lambda, const double *p, double *w)
{
    EACH_BLOCK(view->partial[b] = nek_points_shift(count, lambda, view->c + q, p + q, w + q));
    return total(view);
}

static double update_xr(const nek_view_t *view, double alpha, const double *p, const double *w,
                        double *x, double *r)
{
    EACH_BLOCK(view->partial[b] =
                   nek_points_xr(count, alpha, view->c + q, p + q, w + q, x + q, r + q));
    return total(view);
}

double nek_dot(const nek_view_t *view, const double *x, const double *y)
{
    EACH_BLOCK(view->partial[b] = nek_points_dot(count, view->c + q, x + q, y + q));
    return total(view);
}

const nek_vector_t nek_vector_cpu = {.update_p = update_p, .shift = shift, .update_xr = update_xr};
