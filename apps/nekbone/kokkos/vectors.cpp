/*
 * vectors.cpp - the vector work of CG through Kokkos: a RangePolicy for each line of the iteration.
 *
 * A Kokkos reduction returns its value to the host when it is complete, which is what the host
 * needs.
 */
#include "config.h"
#include "machine/kokkos.hpp"
#include "../kernel.h"

namespace
{

using Range = Kokkos::RangePolicy<rt_kokkos::Exec, Kokkos::IndexType<int64_t>>;

Range all(const nek_view_t *view)
{
    return Range(rt_kokkos::exec(), 0, view->points);
}

int64_t partial_size(int64_t)
{
    return 0; /* Kokkos has its own partial sums */
}

void update_p(const nek_view_t *view, double beta, const double *r, double *p)
{
    Kokkos::parallel_for(
        "update_p", all(view), KOKKOS_LAMBDA(int64_t q) { p[q] = r[q] + beta * p[q]; });
}

double shift(const nek_view_t *view, double lambda, const double *p, double *w)
{
    const double *c = view->c;
    double total = 0;
    Kokkos::parallel_reduce(
        "shift", all(view),
        KOKKOS_LAMBDA(int64_t q, double &sum) {
            const double s = c[q] != 0 ? w[q] + lambda * p[q] : 0;
            w[q] = s;
            sum += c[q] * s * p[q];
        },
        total);
    return total;
}

double update_xr(const nek_view_t *view, double alpha, const double *p, const double *w, double *x,
                 double *r)
{
    const double *c = view->c;
    double total = 0;
    Kokkos::parallel_reduce(
        "update_xr", all(view),
        KOKKOS_LAMBDA(int64_t q, double &sum) {
            const double s = r[q] - alpha * w[q];
            x[q] += alpha * p[q];
            r[q] = s;
            sum += c[q] * s * s;
        },
        total);
    return total;
}

double dot(const nek_view_t *view, const double *x, const double *y)
{
    const double *c = view->c;
    double total = 0;
    Kokkos::parallel_reduce(
        "dot", all(view), KOKKOS_LAMBDA(int64_t q, double &sum) { sum += c[q] * x[q] * y[q]; },
        total);
    return total;
}

void update_p_z(const nek_view_t *view, double beta, const double *r, double *p)
{
    const double *inverse = view->inverse;
    Kokkos::parallel_for(
        "update_p_z", all(view),
        KOKKOS_LAMBDA(int64_t q) { p[q] = inverse[q] * r[q] + beta * p[q]; });
}

void update_xr_z(const nek_view_t *view, double alpha, const double *p, const double *w, double *x,
                 double *r, double sum[2])
{
    const double *c = view->c, *inverse = view->inverse;
    Kokkos::parallel_reduce(
        "update_xr_z", all(view),
        KOKKOS_LAMBDA(int64_t q, double &rr, double &rz) {
            const double s = r[q] - alpha * w[q], square = c[q] * s * s;
            x[q] += alpha * p[q];
            r[q] = s;
            rr += square;
            rz += inverse[q] * square;
        },
        sum[0], sum[1]);
}

constexpr nek_vector_t table()
{
    nek_vector_t t = {};
    t.partial_size = partial_size;
    t.update_p = update_p;
    t.shift = shift;
    t.update_xr = update_xr;
    t.dot = dot;
    t.update_p_z = update_p_z;
    t.update_xr_z = update_xr_z;
    return t;
}

} // namespace

extern "C" const nek_vector_t nek_vector_kokkos = table();
