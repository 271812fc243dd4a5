/*
 * loops.cpp - the loops of a time step on the CPU: OpenMP's threads share the blocks of nodes.
 */
#include "config.h"
#include "../step/loops.hpp"

namespace
{

struct back_end_t : alya_loops_of<back_end_t> {
    template <class Body> static alya_sums_t run(const alya_flow_view_t &view, const Body &body)
    {
        const int64_t blocks = alya_blocks(view);
#pragma omp parallel
        {
            const Body own = body; /* which stores cannot change */
#pragma omp for schedule(static)
            for (int64_t block = 0; block < blocks; block++)
                alya_run_block(view, own, block);
        }
        return Body::has_sums ? alya_add_up(view, blocks) : alya_sums_t{0, 0};
    }
};

} // namespace

extern "C" const alya_loops_t alya_loops_cpu = back_end_t::table();
