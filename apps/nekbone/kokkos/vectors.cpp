/*
 * vectors.cpp - the vector work of CG through Kokkos: a RangePolicy for each line of the iteration.
 *
 * On a GPU a Kokkos reduction returns its value to the host when it is complete, which is what the
 * host needs. On a CPU its last bits would depend on the number of threads, and it adds value by
 * value: there the blocks of cpu/vectors.c serve, each with a sum of its own.
 */
#include "config.h"
#include "machine/kokkos.hpp"
#include "../cpu/points.h"

namespace
{

using Range = Kokkos::RangePolicy<rt_kokkos::Exec, Kokkos::IndexType<int64_t>>;

Range all(const nek_view_t *view)
{
    return Range(rt_kokkos::exec(), 0, view->points);
}

/* Calls body(b, q, count) for each block on the CPU: the points from q on. */
template <class Body> void each_block(const char *name, const nek_view_t *view, const Body &body)
{
    const int64_t points = view->points;
    rt_kokkos::host_for(name, nek_blocks(points), [=](int64_t b) {
        const int64_t q = b * NEK_BLOCK, left = points - q;
        body(b, q, left < NEK_BLOCK ? static_cast<int>(left) : NEK_BLOCK);
    });
}

/* Returns the sum of sum(q, count), the points from q on, over all points. */
template <class Sum> double add_up(const char *name, const nek_view_t *view, const Sum &sum)
{
    double *partial = view->partial, total = 0;
    if (rt_kokkos::on_host) {
        each_block(name, view,
                   [=](int64_t b, int64_t q, int count) { partial[b] = sum(q, count); });
        return rt_sum_pairwise(partial, nek_blocks(view->points));
    }
    Kokkos::parallel_reduce(
        name, all(view), KOKKOS_LAMBDA(int64_t q, double &to) { to += sum(q, 1); }, total);
    return total;
}

void update_p(const nek_view_t *view, double beta, const double *r, double *p)
{
    if (rt_kokkos::on_host)
        each_block("update_p", view,
                   [=](int64_t, int64_t q, int count) { nek_points_p(count, beta, r + q, p + q); });
    else
        Kokkos::parallel_for(
            "update_p", all(view),
            KOKKOS_LAMBDA(int64_t q) { nek_points_p(1, beta, r + q, p + q); });
}

double shift(const nek_view_t *view, double lambda, const double *p, double *w)
{
    const double *c = view->c;
    return add_up(
        "shift", view, KOKKOS_LAMBDA(int64_t q, int count) {
            return nek_points_shift(count, lambda, c + q, p + q, w + q);
        });
}

double update_xr(const nek_view_t *view, double alpha, const double *p, const double *w, double *x,
                 double *r)
{
    const double *c = view->c;
    return add_up(
        "update_xr", view, KOKKOS_LAMBDA(int64_t q, int count) {
            return nek_points_xr(count, alpha, c + q, p + q, w + q, x + q, r + q);
        });
}

constexpr nek_vector_t table()
{
    nek_vector_t t = {};
    t.update_p = update_p;
    t.shift = shift;
    t.update_xr = update_xr;
    return t;
}

} // namespace

RT_KOKKOS_TABLE(nek_vector_t, nek_vector_kokkos, table());
