/*
 * vectors.cpp - the loops of loops/ on the CPU: OpenMP's threads share the rows.
 */
#include "config.h"
#include "../loops/blocks.hpp"
#include "../loops/table.hpp"
#include "cpu.h"

namespace
{

struct for_t {
    template <class Body> static void each(int64_t n, const Body &body)
    {
#pragma omp parallel
        {
            const Body own = body; /* which stores cannot change */
#pragma omp for schedule(static)
            for (int64_t i = 0; i < n; i++)
                own(i);
        }
    }
};

struct back_end_t : gfnn_host_loops_t<for_t>,
                    gfnn_runs_of<back_end_t>,
                    gfnn_blocks_of<back_end_t>,
                    gfnn_ghosts_of<back_end_t> {
    static constexpr bool on_host = true;

    static void add(const gfnn_view_t *, int64_t at, double value, double *x)
    {
        x[at] += value;
    }
    static void fence()
    {
    }
};

} // namespace

extern "C" const gfnn_vectors_t gfnn_vectors_cpu = gfnn_vectors_of_back_end<back_end_t>::table();
