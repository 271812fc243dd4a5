/*
 * loops.cpp - the loops of a time step through Kokkos: an index per node; on a CPU, where the bits of
 * Kokkos' sums depend on the number of threads, per block of nodes.
 */
#include "config.h"
#include "machine/kokkos.hpp"
#include "../step/loops.hpp"

namespace
{

struct back_end_t : alya_loops_of<back_end_t> {
    template <class Body> static alya_sums_t run(const alya_flow_view_t &view, const Body &body)
    {
        using Range = Kokkos::RangePolicy<rt_kokkos::Exec, Kokkos::IndexType<int64_t>>;
        if (rt_kokkos::on_host) {
            const int64_t blocks = alya_blocks(view);
            rt_kokkos::host_for("alya step", blocks,
                                [=](int64_t block) { alya_run_block(view, body, block); });
            return Body::has_sums ? alya_add_up(view, blocks) : alya_sums_t{0, 0};
        }
        const Range all(rt_kokkos::exec(), 0, view.rows.nodes);
        alya_sums_t sums = {0, 0};
        if (Body::has_sums)
            Kokkos::parallel_reduce(
                "alya step", all,
                KOKKOS_LAMBDA(int64_t n, double &a, double &b) {
                    const alya_sums_t more = body(n);
                    a += more.a;
                    b += more.b;
                },
                sums.a, sums.b);
        else
            Kokkos::parallel_for(
                "alya step", all, KOKKOS_LAMBDA(int64_t n) { body(n); });
        return sums;
    }
};

} // namespace

RT_KOKKOS_TABLE(alya_loops_t, alya_loops_kokkos, back_end_t::table());
