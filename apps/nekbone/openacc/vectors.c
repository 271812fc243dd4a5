/*
 * vectors.c - the vector work of CG with directives: a parallel loop for each line of the
 * iteration.
 */
#include "config.h"
#include "machine/openacc.h"
#include "../kernel.h"

static int64_t partial_size(int64_t points)
{
    (void)points;
    return 0; /* the compiler has its own partial sums */
}

static void update_p(const nek_view_t *view, double beta, const double *r, double *p)
{
    const int64_t points = view->points;
    rt_openacc_begin();
#pragma acc parallel loop gang vector deviceptr(r, p)
    for (int64_t q = 0; q < points; q++)
        p[q] = r[q] + beta * p[q];
}

static double shift(const nek_view_t *view, double lambda, const double *p, double *w)
{
    const int64_t points = view->points;
    rt_openacc_begin();
    const double *c = view->c;
    double total = 0;
#pragma acc parallel loop gang vector deviceptr(c, p, w) reduction(+ : total)
    for (int64_t q = 0; q < points; q++) {
        const double s = c[q] != 0 ? w[q] + lambda * p[q] : 0;
        w[q] = s;
        total += c[q] * s * p[q];
    }
    return total;
}

static double update_xr(const nek_view_t *view, double alpha, const double *p, const double *w,
                        double *x, double *r)
{
    const int64_t points = view->points;
    rt_openacc_begin();
    const double *c = view->c;
    double total = 0;
#pragma acc parallel loop gang vector deviceptr(c, p, w, x, r) reduction(+ : total)
    for (int64_t q = 0; q < points; q++) {
        const double s = r[q] - alpha * w[q];
        x[q] += alpha * p[q];
        r[q] = s;
        total += c[q] * s * s;
    }
    return total;
}

const nek_vector_t nek_vector_openacc = {
    .partial_size = partial_size,
    .update_p = update_p,
    .shift = shift,
    .update_xr = update_xr,
};
