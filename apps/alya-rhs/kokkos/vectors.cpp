/*
 * vectors.cpp - the vector work of a time step through Kokkos: a RangePolicy over the nodes.
 */
#include "config.h"
#include "machine/kokkos.hpp"
#include "../kernel.h"

namespace
{

using Range = Kokkos::RangePolicy<rt_kokkos::Exec, Kokkos::IndexType<int64_t>>;

void update(int64_t nodes, double a, double b, double c, const double *u0, const double *m,
            const double *r, int r_stride, double *u, int u_stride)
{
    Kokkos::parallel_for(
        "alya update", Range(rt_kokkos::exec(), 0, nodes), KOKKOS_LAMBDA(int64_t n) {
            const double share = c * m[n];
            for (int i = 0; i < 3; i++)
                u[n * u_stride + i] =
                    a * u0[3 * n + i] + b * u[n * u_stride + i] + share * r[n * r_stride + i];
        });
}

void scale(int64_t nodes, double factor, const double *from, int from_stride, double *to,
           int to_stride)
{
    Kokkos::parallel_for(
        "alya scale", Range(rt_kokkos::exec(), 0, nodes), KOKKOS_LAMBDA(int64_t n) {
            for (int i = 0; i < 3; i++)
                to[n * to_stride + i] = factor * from[n * from_stride + i];
        });
}

constexpr alya_vectors_t table()
{
    alya_vectors_t t = {};
    t.update = update;
    t.scale = scale;
    return t;
}

} // namespace

RT_KOKKOS_TABLE(alya_vectors_t, alya_vectors_kokkos, table());
