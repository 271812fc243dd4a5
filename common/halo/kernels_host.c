/*
 * halo/kernels_host.c - the halo's loops on the processor, over OpenMP threads.
 *
 * Idea: a loop over groups around the shared text of halo/kernels.h. This file includes itself once
 * per type of value: its first part is the loops, its second part the rest. (It is named without its
 * folder there, so that its path is the same as that of the compiled file in every build.)
 * Advantage: no two threads touch the same group, so nothing is locked, and the result does not
 * depend on the number of threads.
 * Price: positions are gathered, so the loop runs at the speed of scattered reads.
 */
#ifdef RT_HALO_T

#include "halo/kernels.h"

/* Called with constant `copies`, so that the loop over them is unrolled. */
static inline void RT_HALO_NAME(all_class)(const rt_halo_plan_t *plan, const rt_halo_job_t *job,
                                           const int copies)
{
#pragma omp parallel for schedule(static) if (plan->count[copies] > WORTH_THREADS)
    for (int32_t g = 0; g < plan->count[copies]; g++)
        for (int c = 0; c < job->field.components; c++)
            RT_HALO_NAME(local_class)(plan, job, copies, g, c);
}

static void RT_HALO_NAME(all_local)(const rt_halo_plan_t *plan, const rt_halo_job_t *job)
{
    RT_HALO_NAME(all_class)(plan, job, 2);
    RT_HALO_NAME(all_class)(plan, job, 3);
    RT_HALO_NAME(all_class)(plan, job, 4);
    RT_HALO_NAME(all_class)(plan, job, 5);
    RT_HALO_NAME(all_class)(plan, job, 6);
    RT_HALO_NAME(all_class)(plan, job, 7);
    RT_HALO_NAME(all_class)(plan, job, 8);
#pragma omp parallel for schedule(static) if (plan->n_large > WORTH_THREADS)
    for (int32_t g = 0; g < plan->n_large; g++)
        for (int c = 0; c < job->field.components; c++)
            RT_HALO_NAME(local_large)(plan, job, g, c);
}

static void RT_HALO_NAME(all_pack)(const rt_halo_plan_t *plan, const rt_halo_job_t *job)
{
#pragma omp parallel for schedule(static) if (plan->n_shared > WORTH_THREADS)
    for (int32_t g = 0; g < plan->n_shared; g++)
        for (int c = 0; c < job->field.components; c++)
            RT_HALO_NAME(pack)(plan, job, g, c);
}

static void RT_HALO_NAME(all_unpack)(const rt_halo_plan_t *plan, const rt_halo_job_t *job)
{
#pragma omp parallel for schedule(static) if (plan->n_shared > WORTH_THREADS)
    for (int32_t g = 0; g < plan->n_shared; g++)
        for (int c = 0; c < job->field.components; c++)
            RT_HALO_NAME(unpack)(plan, job, g, c);
}

#else

#include "config.h"
#include "halo/kernels.h"

enum { WORTH_THREADS = 8192 }; /* groups; for fewer, waking threads costs more than the loop */

#define RT_HALO_FN      static inline
#define RT_HALO_READ(p) (*(p))

#define RT_HALO_T       double
#define RT_HALO_NAME(f) f##_f64
#include "kernels_host.c"
#undef RT_HALO_T
#undef RT_HALO_NAME

#define RT_HALO_T       float
#define RT_HALO_NAME(f) f##_f32
#include "kernels_host.c"
#undef RT_HALO_T
#undef RT_HALO_NAME

#define RT_HALO_T       uint16_t
#define RT_HALO_NAME(f) f##_f16
#include "kernels_host.c"

typedef void loop_t(const rt_halo_plan_t *plan, const rt_halo_job_t *job);

static void pack(const rt_halo_plan_t *plan, const rt_halo_job_t *job)
{
    static loop_t *const loop[] = {
        [RT_F64] = all_pack_f64, [RT_F32] = all_pack_f32, [RT_F16] = all_pack_f16};
    loop[job->field.type](plan, job);
}

static void local(const rt_halo_plan_t *plan, const rt_halo_job_t *job)
{
    static loop_t *const loop[] = {
        [RT_F64] = all_local_f64, [RT_F32] = all_local_f32, [RT_F16] = all_local_f16};
    loop[job->field.type](plan, job);
}

static void unpack(const rt_halo_plan_t *plan, const rt_halo_job_t *job)
{
    static loop_t *const loop[] = {
        [RT_F64] = all_unpack_f64, [RT_F32] = all_unpack_f32, [RT_F16] = all_unpack_f16};
    loop[job->field.type](plan, job);
}

static void *mark_new(void)
{
    return NULL;
}

/* The loops are done when they return, so there is nothing to mark or to wait for. */
static void mark_nothing(void *mark)
{
    (void)mark;
}

const rt_halo_kernels_t rt_halo_kernels_host = {
    .name = "host",
    .asynchronous = false,
    .mark_new = mark_new,
    .mark_destroy = mark_nothing,
    .mark = mark_nothing,
    .wait = mark_nothing,
    .pack = pack,
    .local = local,
    .unpack = unpack,
    .copy = rt_copy, /* the device, if any, is the emulated one */
};

#endif
