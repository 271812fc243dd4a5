/*
 * halo/kernels_kokkos.cpp - the halo's loops through Kokkos, for processors that only Kokkos
 * reaches.
 *
 * Idea: one RangePolicy per class of groups, over (group, component), around the shared text of
 * halo/kernels.h.
 * Advantage: serves AMD and Intel GPUs without a line of their own.
 * Price: a launch per class instead of one for all, and a wait for the whole queue where CUDA waits
 * for an event: Kokkos has no events.
 *
 * Plain pointers are captured instead of Views, because rt_mem owns the memory.
 */
#include "config.h"
#include "machine/kokkos.hpp"
#include "halo/kernels.h"

#define RT_HALO_T       T
#define RT_HALO_NAME(f) f
#define RT_HALO_FN      template <class T> KOKKOS_INLINE_FUNCTION
#define RT_HALO_READ(p) (*(p))
#include "halo/kernels.h"

namespace
{

using range_t = Kokkos::RangePolicy<rt_kokkos::Exec, Kokkos::IndexType<int64_t>>;

/* Calls body(group, component) for all of them, components fastest. */
template <class Body> void for_each(const char *name, int64_t groups, int components, Body body)
{
    if (groups == 0)
        return;
    Kokkos::parallel_for(
        name, range_t(rt_kokkos::exec(), 0, groups * components), KOKKOS_LAMBDA(const int64_t i) {
            const int64_t g = i / components;
            body(static_cast<int32_t>(g), static_cast<int>(i - g * components));
        });
}

template <class T, int copies> void run_class(const rt_halo_plan_t &plan, const rt_halo_job_t &job)
{
    for_each(
        "halo local", plan.count[copies], job.field.components,
        KOKKOS_LAMBDA(int32_t g, int c) { local_class<T>(&plan, &job, copies, g, c); });
}

template <class T> void run_local(const rt_halo_plan_t &plan, const rt_halo_job_t &job)
{
    run_class<T, 2>(plan, job);
    run_class<T, 3>(plan, job);
    run_class<T, 4>(plan, job);
    run_class<T, 5>(plan, job);
    run_class<T, 6>(plan, job);
    run_class<T, 7>(plan, job);
    run_class<T, 8>(plan, job);
    for_each(
        "halo local large", plan.n_large, job.field.components,
        KOKKOS_LAMBDA(int32_t g, int c) { local_large<T>(&plan, &job, g, c); });
}

template <class T> void run_pack(const rt_halo_plan_t &plan, const rt_halo_job_t &job)
{
    for_each(
        "halo pack", plan.n_shared, job.field.components,
        KOKKOS_LAMBDA(int32_t g, int c) { pack<T>(&plan, &job, g, c); });
}

template <class T> void run_unpack(const rt_halo_plan_t &plan, const rt_halo_job_t &job)
{
    for_each(
        "halo unpack", plan.n_shared, job.field.components,
        KOKKOS_LAMBDA(int32_t g, int c) { unpack<T>(&plan, &job, g, c); });
}

} // namespace

extern "C" {

static void local_kokkos(const rt_halo_plan_t *plan, const rt_halo_job_t *job)
{
    RT_HALO_BY_TYPE(job, run_local<T>(*plan, *job));
}

static void pack_kokkos(const rt_halo_plan_t *plan, const rt_halo_job_t *job)
{
    RT_HALO_BY_TYPE(job, run_pack<T>(*plan, *job));
}

static void unpack_kokkos(const rt_halo_plan_t *plan, const rt_halo_job_t *job)
{
    RT_HALO_BY_TYPE(job, run_unpack<T>(*plan, *job));
}

/* Waits first, because rt_copy does not know Kokkos's queue. */
static void copy_kokkos(void *dst, rt_space_t dst_space, const void *src, rt_space_t src_space,
                        size_t bytes)
{
    rt_kokkos_fence();
    rt_copy(dst, dst_space, src, src_space, bytes);
}

static void *mark_new_kokkos(void)
{
    return NULL;
}

static void mark_nothing_kokkos(void *)
{
}

/* Waits for the packed values, and for everything else in the queue. */
static void wait_kokkos(void *)
{
    rt_kokkos_fence();
}

} // extern "C"

static constexpr rt_halo_kernels_t table()
{
    rt_halo_kernels_t t = {};
    t.name = "Kokkos";
    t.asynchronous = false; /* the local groups must come after the wait, not before it */
    t.mark_new = mark_new_kokkos;
    t.mark_destroy = mark_nothing_kokkos;
    t.mark = mark_nothing_kokkos;
    t.wait = wait_kokkos;
    t.pack = pack_kokkos;
    t.local = local_kokkos;
    t.unpack = unpack_kokkos;
    t.copy = copy_kokkos;
    return t;
}

RT_KOKKOS_TABLE(rt_halo_kernels_t, rt_halo_kernels_kokkos, table());
