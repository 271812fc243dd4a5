/*
 * rt_halo_host.c - the halo's loops on the processor, over OpenMP threads.
 *
 * Idea: a loop over groups around the one text of rt_halo_kernels.h, compiled for each type.
 * Advantage: no group is touched by two threads, so there is nothing to lock, and the result does
 * not depend on the number of threads.
 * Price: positions are gathered, so the loop runs at the speed of scattered reads.
 */
#include "config.h"
#include "rt_halo_kernels.h"

enum { WORTH_THREADS = 8192 }; /* below this, waking threads costs more than the loop */

#define RT_HALO_FN static inline
#define RT_HALO_READ(p) (*(p))

#define RT_HALO_T double
#define RT_HALO_NAME(f) f##_f64
#include "rt_halo_kernels.h"
#undef RT_HALO_T
#undef RT_HALO_NAME

#define RT_HALO_T float
#define RT_HALO_NAME(f) f##_f32
#include "rt_halo_kernels.h"
#undef RT_HALO_T
#undef RT_HALO_NAME

#define RT_HALO_T uint16_t
#define RT_HALO_NAME(f) f##_f16
#include "rt_halo_kernels.h"
#undef RT_HALO_T
#undef RT_HALO_NAME

/* Runs `loop`(type, suffix) for the job's type. */
#define FOR_TYPE(job, loop)       \
    switch ((job)->field.type) {  \
    case RT_F64:                  \
        loop(double, f64);        \
        break;                    \
    case RT_F32:                  \
        loop(float, f32);         \
        break;                    \
    case RT_F16:                  \
        loop(uint16_t, f16);      \
        break;                    \
    }

#define PARALLEL_FOR _Pragma("omp parallel for schedule(static) if (n > WORTH_THREADS)")

/* `copies` is a constant at every call, so the loop over them is unrolled. */
static inline void local_class(const rt_halo_job_t *job, const int32_t *at, int32_t n,
                               const int32_t copies)
{
    const rt_field_t *f = &job->field;
#define LOOP(type, suffix)                                                                     \
    PARALLEL_FOR                                                                               \
    for (int32_t g = 0; g < n; g++)                                                            \
        for (int c = 0; c < f->components; c++)                                                \
            group_##suffix(job->op, (type *)f->data + c * f->component_stride, f->entry_stride, \
                           at + g, n, copies)
    FOR_TYPE(job, LOOP)
#undef LOOP
}

static void local_large(const rt_halo_plan_t *plan, const rt_halo_job_t *job)
{
    const rt_field_t *f = &job->field;
    const int32_t n = plan->n_large;
    const int32_t *start = plan->large_start;
#define LOOP(type, suffix)                                                                     \
    PARALLEL_FOR                                                                               \
    for (int32_t g = 0; g < n; g++)                                                            \
        for (int c = 0; c < f->components; c++)                                                \
            group_##suffix(job->op, (type *)f->data + c * f->component_stride, f->entry_stride, \
                           plan->large + start[g], 1, start[g + 1] - start[g])
    FOR_TYPE(job, LOOP)
#undef LOOP
}

static void local(const rt_halo_plan_t *plan, const rt_halo_job_t *job)
{
    local_class(job, plan->at[2], plan->count[2], 2);
    local_class(job, plan->at[3], plan->count[3], 3);
    local_class(job, plan->at[4], plan->count[4], 4);
    local_class(job, plan->at[5], plan->count[5], 5);
    local_class(job, plan->at[6], plan->count[6], 6);
    local_class(job, plan->at[7], plan->count[7], 7);
    local_class(job, plan->at[8], plan->count[8], 8);
    local_large(plan, job);
}

static void pack(const rt_halo_plan_t *plan, const rt_halo_job_t *job)
{
    const rt_field_t *f = &job->field;
    const int32_t n = plan->n_shared;
#define LOOP(type, suffix)                                                              \
    PARALLEL_FOR                                                                        \
    for (int32_t g = 0; g < n; g++)                                                     \
        for (int c = 0; c < f->components; c++)                                         \
            pack_##suffix(job->op, plan, g, (type *)f->data + c * f->component_stride,  \
                          f->entry_stride, (type *)job->send, f->components, c)
    FOR_TYPE(job, LOOP)
#undef LOOP
}

static void unpack(const rt_halo_plan_t *plan, const rt_halo_job_t *job)
{
    const rt_field_t *f = &job->field;
    const int32_t n = plan->n_shared;
#define LOOP(type, suffix)                                                               \
    PARALLEL_FOR                                                                         \
    for (int32_t g = 0; g < n; g++)                                                      \
        for (int c = 0; c < f->components; c++)                                          \
            unpack_##suffix(job->op, plan, g, (type *)f->data + c * f->component_stride, \
                            f->entry_stride, (const type *)job->recv, f->components, c)
    FOR_TYPE(job, LOOP)
#undef LOOP
}

static void *mark_new(void)
{
    return NULL;
}

/* Everything is done when it returns: nothing to mark or to wait for. */
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
