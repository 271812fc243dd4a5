/*
 * measure/ceiling_kokkos.cpp - how the loops of measure/ceiling_gpu.hpp are launched on a GPU that
 * Kokkos alone reaches. Price: the host's clock times the loops, which includes their launches.
 */
#include "config.h"
#include "machine/kokkos.hpp"
#include "machine/timer.h"
#include "measure/ceiling_gpu.hpp"

namespace
{

using teams_t = Kokkos::TeamPolicy<rt_kokkos::Exec>;
using range_t = Kokkos::RangePolicy<rt_kokkos::Exec, Kokkos::IndexType<size_t>>;

struct kokkos_gpu {
    static constexpr bool on_host = rt_kokkos::on_host;
    static inline double begun;

    template <class Body> static void launch(unsigned blocks, unsigned threads, const Body &body)
    {
        Kokkos::parallel_for(
            "ceiling stream",
            teams_t(rt_kokkos::exec(), static_cast<int>(blocks), static_cast<int>(threads)),
            KOKKOS_LAMBDA(const teams_t::member_type &team) {
                body(static_cast<unsigned>(team.league_rank()),
                     static_cast<unsigned>(team.league_size()),
                     static_cast<unsigned>(team.team_rank()),
                     static_cast<unsigned>(team.team_size()));
            });
    }

    template <class Body> static void each(size_t n, const Body &body)
    {
        Kokkos::parallel_for("ceiling each", range_t(rt_kokkos::exec(), 0, n), body);
    }

    template <class Body> static double sum(size_t n, const Body &body)
    {
        double all = 0;
        Kokkos::parallel_reduce(
            "ceiling sum", range_t(rt_kokkos::exec(), 0, n),
            KOKKOS_LAMBDA(const size_t i, double &part) { part += body(i); }, all);
        return all;
    }

    static void copy(double *dst, const double *src, size_t n)
    {
        using to_t = Kokkos::View<double *, rt_kokkos::Memory, Kokkos::MemoryUnmanaged>;
        using from_t = Kokkos::View<const double *, rt_kokkos::Memory, Kokkos::MemoryUnmanaged>;
        Kokkos::deep_copy(rt_kokkos::exec(), to_t(dst, n), from_t(src, n));
    }

    static void open()
    {
    }

    static void close()
    {
    }

    static void start()
    {
        begun = rt_window_begin();
    }

    static double stop()
    {
        return rt_window_end(begun);
    }
};

} // namespace

RT_KOKKOS_TABLE(rt_loops_t, rt_loops_kokkos, gpu_loops<kokkos_gpu>::table());
