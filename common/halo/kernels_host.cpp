/*
 * halo/kernels_host.cpp - the halo's loops on the processor, over OpenMP threads.
 *
 * Advantage: no two threads touch the same group, so nothing is locked, and the result does not
 * depend on the number of threads.
 * Price: positions are gathered, so the loop runs at the speed of scattered reads.
 */
#include "config.h"
#include "halo/kernels.h"

#define RT_HALO_FN      template <class T> static inline
#define RT_HALO_READ(p) (*(p))
#define RT_HALO_LAMBDA  [=]
#include "halo/kernels.hpp"

namespace
{

enum { WORTH_THREADS = 8192 }; /* groups; for fewer, waking threads costs more than the loop */

struct host_t {
    template <class Body>
    static void each(const char *, int32_t groups, int components, const Body &body)
    {
#pragma omp parallel for schedule(static) if (groups > WORTH_THREADS)
        for (int32_t g = 0; g < groups; g++)
            for (int c = 0; c < components; c++)
                body(g, c);
    }

    /* The loops are done when they return. */
    static void wait()
    {
    }

    static constexpr auto copy = rt_copy; /* the device, if any, is the emulated one */
};

} // namespace

extern "C" const rt_halo_kernels_t rt_halo_kernels_host = rt_halo_loops<host_t>::table();
