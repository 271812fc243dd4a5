/*
 * vectors.c - the vector work of CG with directives: a parallel loop for each line of the iteration
 * (../cpu/points.h). The compiler has its own partial sums.
 */
#include "config.h"
#include "machine/openacc.h"
#include "../cpu/points.h"

static void update_p(const nek_view_t *view, double beta, const double *r, double *p)
{
    rt_openacc_begin();
    nek_points_p((int)view->points, beta, r, p);
}

static double shift(const nek_view_t *view, double lambda, const double *p, double *w)
{
    rt_openacc_begin();
    return nek_points_shift((int)view->points, lambda, view->c, p, w);
}

static double update_xr(const nek_view_t *view, double alpha, const double *p, const double *w,
                        double *x, double *r)
{
    rt_openacc_begin();
    return nek_points_xr((int)view->points, alpha, view->c, p, w, x, r);
}

const nek_vector_t nek_vector_openacc = {
    .update_p = update_p, .shift = shift, .update_xr = update_xr};
