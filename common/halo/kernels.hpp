/*
 * halo/kernels.hpp - the work of a halo on one group, written once for all processors, and the loops
 * over groups of those that have no better ones: the host and Kokkos. Private to halo/kernels_*.
 *
 * Advantage: one order of additions, so all processors give the same bits, and one text to read.
 * Price: a few macros, which are defined before this is included:
 *
 * RT_HALO_FN         what goes before a function: `static inline`, `static __device__`
 * RT_HALO_READ(p)    how an index is read
 * RT_HALO_LAMBDA     start of a loop's body, which copies what it uses; only for the loops
 *
 * T: type of a value (16-bit floats travel as uint16_t and are only copied). g: the group, c: the
 * component of the job's field.
 */
#ifndef RT_HALO_KERNELS_HPP
#define RT_HALO_KERNELS_HPP

#include "halo/kernels.h"

/* Calls a function template with T the type of the job's values. */
#define RT_HALO_BY_TYPE(job, call) \
    switch ((job)->field.type) {   \
    case RT_F64: {                 \
        using T = double;          \
        return call;               \
    }                              \
    case RT_F32: {                 \
        using T = float;           \
        return call;               \
    }                              \
    case RT_F16: {                 \
        using T = uint16_t;        \
        return call;               \
    }                              \
    }

/* ---- one group ---- */

/* Returns component c of the job's field, whose entries are `stride` apart. */
RT_HALO_FN T *component(const rt_halo_job_t *job, int c, int64_t *stride)
{
    *stride = job->field.entry_stride;
    return (T *)job->field.data + c * job->field.component_stride;
}

/* Gives all copies of a group, at[0], at[step], ..., their sum or the value of the first. */
RT_HALO_FN void group(const rt_halo_job_t *job, const int32_t *at, int64_t step, int32_t copies,
                      int c)
{
    int64_t stride;
    T *data = component<T>(job, c, &stride);
    T value = data[RT_HALO_READ(at) * stride];
    if (job->op == RT_HALO_SUM)
        for (int32_t j = 1; j < copies; j++)
            value += data[RT_HALO_READ(at + j * step) * stride];
    for (int32_t j = job->op == RT_HALO_SUM ? 0 : 1; j < copies; j++)
        data[RT_HALO_READ(at + j * step) * stride] = value;
}

/* Works on group g of those with `copies` copies. Called with a constant, so that the loop over the
 * copies is unrolled. */
RT_HALO_FN void local_class(const rt_halo_plan_t *plan, const rt_halo_job_t *job, const int copies,
                            int32_t g, int c)
{
    group<T>(job, plan->at[copies] + g, plan->count[copies], copies, c);
}

RT_HALO_FN void local_large(const rt_halo_plan_t *plan, const rt_halo_job_t *job, int32_t g, int c)
{
    const int32_t first = RT_HALO_READ(plan->large_start + g);
    const int32_t last = RT_HALO_READ(plan->large_start + g + 1);
    group<T>(job, plan->large + first, 1, last - first, c);
}

/* Returns this rank's part of shared group g: the sum of its copies, or the value of the first. */
RT_HALO_FN T contribution(const rt_halo_plan_t *plan, const rt_halo_job_t *job, int32_t g, int c)
{
    int64_t stride;
    const T *data = component<T>(job, c, &stride);
    const int32_t first = RT_HALO_READ(plan->copy_start + g);
    const int32_t last =
        job->op == RT_HALO_SUM ? RT_HALO_READ(plan->copy_start + g + 1) : first + 1;
    T value = data[RT_HALO_READ(plan->copy + first) * stride];
    for (int32_t j = first + 1; j < last; j++)
        value += data[RT_HALO_READ(plan->copy + j) * stride];
    return value;
}

/* Packs shared group g into its slots of `send`: one partial sum per rank; for a copy only if the
 * owner is here. */
RT_HALO_FN void pack(const rt_halo_plan_t *plan, const rt_halo_job_t *job, int32_t g, int c)
{
    T *send = (T *)job->send;
    if (job->op == RT_HALO_COPY && RT_HALO_READ(plan->source + g) >= 0)
        return;
    const T value = contribution<T>(plan, job, g, c);
    const int32_t last = RT_HALO_READ(plan->slot_start + g + 1);
    for (int32_t s = RT_HALO_READ(plan->slot_start + g); s < last; s++)
        send[(int64_t)RT_HALO_READ(plan->slot + s) * job->field.components + c] = value;
}

/* Returns the sum over the ranks that hold group g. All of them add in order of rank, this rank's
 * part in its own position, so all get the same bits. */
RT_HALO_FN T total(const rt_halo_plan_t *plan, const rt_halo_job_t *job, int32_t g, int c)
{
    const T *recv = (const T *)job->recv;
    const int components = job->field.components;
    const T own = contribution<T>(plan, job, g, c);
    if (!recv)
        return own;
    int32_t s = RT_HALO_READ(plan->slot_start + g);
    const int32_t last = RT_HALO_READ(plan->slot_start + g + 1);
    int32_t slot = RT_HALO_READ(plan->slot + s);
    T value = own;
    if (slot < plan->own_slot) {
        value = recv[(int64_t)slot * components + c];
        for (s++; s < last && (slot = RT_HALO_READ(plan->slot + s)) < plan->own_slot; s++)
            value += recv[(int64_t)slot * components + c];
        value += own;
    }
    for (; s < last; s++)
        value += recv[(int64_t)RT_HALO_READ(plan->slot + s) * components + c];
    return value;
}

/* Gives the copies of shared group g here the total, or the owner's value. */
RT_HALO_FN void unpack(const rt_halo_plan_t *plan, const rt_halo_job_t *job, int32_t g, int c)
{
    int64_t stride;
    T *data = component<T>(job, c, &stride);
    int32_t j = RT_HALO_READ(plan->copy_start + g);
    const int32_t last = RT_HALO_READ(plan->copy_start + g + 1);
    T value;
    if (job->op == RT_HALO_SUM) {
        value = total<T>(plan, job, g, c);
    } else {
        const int32_t source = RT_HALO_READ(plan->source + g);
        if (source < 0)
            value = data[RT_HALO_READ(plan->copy + j++) * stride];
        else if (job->recv)
            value = ((const T *)job->recv)[(int64_t)source * job->field.components + c];
        else
            return; /* nothing came from the owner */
    }
    for (; j < last; j++)
        data[RT_HALO_READ(plan->copy + j) * stride] = value;
}

/* ---- loops ---- */

#ifdef RT_HALO_LAMBDA

/* The loops of a processor with functions each(name, groups, components, body), which calls
 * body(group, component) for all of them; wait and copy, as in rt_halo_kernels_t. */
template <class Processor> struct rt_halo_loops {
    template <class T, int copies>
    static void run_class(const rt_halo_plan_t &plan, const rt_halo_job_t &job)
    {
        Processor::each(
            "halo local", plan.count[copies], job.field.components,
            RT_HALO_LAMBDA(int32_t g, int c) { local_class<T>(&plan, &job, copies, g, c); });
    }

    template <class T> static void run_local(const rt_halo_plan_t &plan, const rt_halo_job_t &job)
    {
        run_class<T, 2>(plan, job);
        run_class<T, 3>(plan, job);
        run_class<T, 4>(plan, job);
        run_class<T, 5>(plan, job);
        run_class<T, 6>(plan, job);
        run_class<T, 7>(plan, job);
        run_class<T, 8>(plan, job);
        Processor::each(
            "halo local large", plan.n_large, job.field.components,
            RT_HALO_LAMBDA(int32_t g, int c) { local_large<T>(&plan, &job, g, c); });
    }

    template <class T> static void run_pack(const rt_halo_plan_t &plan, const rt_halo_job_t &job)
    {
        Processor::each(
            "halo pack", plan.n_shared, job.field.components,
            RT_HALO_LAMBDA(int32_t g, int c) { pack<T>(&plan, &job, g, c); });
    }

    template <class T> static void run_unpack(const rt_halo_plan_t &plan, const rt_halo_job_t &job)
    {
        Processor::each(
            "halo unpack", plan.n_shared, job.field.components,
            RT_HALO_LAMBDA(int32_t g, int c) { unpack<T>(&plan, &job, g, c); });
    }

    static void local_all(const rt_halo_plan_t *plan, const rt_halo_job_t *job)
    {
        RT_HALO_BY_TYPE(job, run_local<T>(*plan, *job));
    }

    static void pack_all(const rt_halo_plan_t *plan, const rt_halo_job_t *job)
    {
        RT_HALO_BY_TYPE(job, run_pack<T>(*plan, *job));
    }

    static void unpack_all(const rt_halo_plan_t *plan, const rt_halo_job_t *job)
    {
        RT_HALO_BY_TYPE(job, run_unpack<T>(*plan, *job));
    }

    /* There is nothing to mark: what was queued is done when wait() returns. */
    static void mark()
    {
    }

    static constexpr rt_halo_kernels_t table()
    {
        rt_halo_kernels_t t = {};
        t.asynchronous = false; /* the local groups come after the wait for what was packed */
        t.mark = mark;
        t.wait = Processor::wait;
        t.pack = pack_all;
        t.local = local_all;
        t.unpack = unpack_all;
        t.copy = Processor::copy;
        return t;
    }
};

#endif
#endif
