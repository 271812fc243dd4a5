/*
 * halo/kernels_kokkos.cpp - the halo's loops through Kokkos, for processors that only Kokkos
 * reaches.
 *
 * Idea: one RangePolicy per class of groups, over (group, component).
 * Advantage: serves AMD and Intel GPUs without a line of their own.
 * Price: a launch per class instead of one for all, and a wait for the whole queue where CUDA waits
 * for an event: Kokkos has no events.
 *
 * Plain pointers are captured instead of Views, because rt_mem owns the memory.
 */
#include "config.h"
#include "machine/kokkos.hpp"

#define RT_HALO_FN      template <class T> KOKKOS_INLINE_FUNCTION
#define RT_HALO_READ(p) (*(p))
#define RT_HALO_LAMBDA  KOKKOS_LAMBDA
#include "halo/kernels.hpp"

/* A namespace with a name: nvcc repeats the types of a kernel in another file. */
namespace rt_halo_kokkos
{

struct kokkos_t {
    /* Components are the fastest. */
    template <class Body>
    static void each(const char *name, int64_t groups, int components, const Body &body)
    {
        using range_t = Kokkos::RangePolicy<rt_kokkos::Exec, Kokkos::IndexType<int64_t>>;
        if (groups == 0)
            return;
        Kokkos::parallel_for(
            name, range_t(rt_kokkos::exec(), 0, groups * components),
            KOKKOS_LAMBDA(const int64_t i) {
                const int64_t g = i / components;
                body(static_cast<int32_t>(g), static_cast<int>(i - g * components));
            });
    }

    /* Waits for the packed values, and for everything else in the queue. */
    static void wait()
    {
        rt_kokkos_fence();
    }

    /* Waits first, because rt_copy does not know Kokkos's queue. */
    static void copy(void *dst, rt_space_t dst_space, const void *src, rt_space_t src_space,
                     size_t bytes)
    {
        rt_kokkos_fence();
        rt_copy(dst, dst_space, src, src_space, bytes);
    }
};

} // namespace rt_halo_kokkos

RT_KOKKOS_TABLE(rt_halo_kernels_t, rt_halo_kernels_kokkos,
                rt_halo_loops<rt_halo_kokkos::kokkos_t>::table());
