/* vectors.cpp - what is done to vectors through Kokkos: a RangePolicy over the nodes. */
#include "config.h"
#include "machine/kokkos.hpp"
#include "../kernel.h"

namespace
{

void copy(int64_t nodes, const double *from, int from_stride, double *to, int to_stride)
{
    using Range = Kokkos::RangePolicy<rt_kokkos::Exec, Kokkos::IndexType<int64_t>>;
    Kokkos::parallel_for(
        "alya copy", Range(rt_kokkos::exec(), 0, nodes), KOKKOS_LAMBDA(int64_t n) {
            for (int i = 0; i < 3; i++)
                to[n * to_stride + i] = from[n * from_stride + i];
        });
}

constexpr alya_vectors_t table()
{
    alya_vectors_t t = {};
    t.copy = copy;
    return t;
}

} // namespace

RT_KOKKOS_TABLE(alya_vectors_t, alya_vectors_kokkos, table());
