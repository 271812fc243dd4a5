/*
 * halo/kernels.h - the loops of a halo; private to halo/.
 *
 * First part: the plan (which entries are copies of each other, as plain integers) and the table of
 * functions by which a processor works through it. Second part, if RT_HALO_T is defined: the work
 * on one group, written once for all processors. kernels_host.c includes it for each type,
 * kernels_cuda.cu and kernels_kokkos.cpp as a template; each of them adds only the loop.
 *
 * Advantage: one order of additions, so all processors give the same bits, and one text to read.
 * Price: a few macros.
 */
#ifndef RT_HALO_KERNELS_H
#define RT_HALO_KERNELS_H

#include <stdint.h>
#include "halo/halo.h"
#include "halo/transport.h"

RT_C_BEGIN

/* Groups of 2 to RT_HALO_PLANES copies on one rank are stored by size, so that kernels read no loop
 * bound: 2 on the faces between spectral elements, 4 on edges, 8 on corners. */
enum { RT_HALO_PLANES = 8, RT_HALO_CLASSES = RT_HALO_PLANES + 1 };

/* All arrays are in one block, in the space where the kernels run. A position is that of an entry
 * in the fields. Within a group the owner, if there are owners, is first. Groups are in the order
 * of their first entry, so neighbouring threads work on neighbouring memory. */
typedef struct {
    /* Groups on this rank alone, k copies each, k = 2..8. One plane per copy, so that neighbouring
     * threads read neighbouring indices: copy j of group g is at[k][j * count[k] + g]. */
    int32_t count[RT_HALO_CLASSES];
    int32_t *at[RT_HALO_CLASSES];
    /* Larger ones: the copies of group g are those from large_start[g] to large_start[g + 1]. */
    int32_t n_large;
    int32_t *large_start, *large;
    /* Groups that other ranks hold too: the copies here, and one slot in the buffers per other
     * rank, ascending with rank. The slot serves both directions. */
    int32_t n_shared;
    int32_t *copy_start, *copy, *slot_start, *slot;
    int32_t *source;  /* slot of the owner's rank, -1 if that is this rank; NULL without owners */
    int32_t own_slot; /* slots below this belong to lower ranks */
} rt_halo_plan_t;

/* One exchange. Buffers: component c of slot s is value s * components + c. */
typedef struct {
    rt_halo_op_t op;
    rt_field_t field;
    void *send;
    const void *recv; /* NULL: nothing came, each rank for itself */
} rt_halo_job_t;

/* The functions of a processor. All run on one queue, in order. If `asynchronous`, they return at
 * once, and wait(mark) returns when everything queued before mark() is done. */
typedef struct {
    const char *name;
    bool asynchronous;
    void *(*mark_new)(void);
    void (*mark_destroy)(void *mark);
    void (*mark)(void *mark);
    void (*wait)(void *mark);
    void (*pack)(const rt_halo_plan_t *plan, const rt_halo_job_t *job);
    void (*local)(const rt_halo_plan_t *plan, const rt_halo_job_t *job);
    void (*unpack)(const rt_halo_plan_t *plan, const rt_halo_job_t *job);
    void (*copy)(void *dst, rt_space_t dst_space, const void *src, rt_space_t src_space,
                 size_t bytes);
} RT_BY_NAME rt_halo_kernels_t;

/* For a transport that lets kernels of the application exchange sums themselves: returns the state
 * it has opened for `halo`, with the plan and the slots of each neighbour. From then on
 * rt_halo_begin refuses. Returns NULL, and changes nothing, if another transport serves the halo.
 */
void *rt_halo_hand_over(rt_halo_t *halo, const rt_transport_t *transport,
                        const rt_halo_plan_t **plan, const rt_halo_range_t **slots);

extern const rt_halo_kernels_t rt_halo_kernels_host;
extern const rt_halo_kernels_t rt_halo_kernels_cuda;   /* in builds with CUDA */
extern const rt_halo_kernels_t rt_halo_kernels_kokkos; /* in builds with Kokkos */

RT_C_END
#endif

/* ---- one group ---------------------------------------------------------------------------------
 *
 * RT_HALO_T         type of a value (16-bit floats travel as uint16_t and are only copied)
 * RT_HALO_FN        the start of a function: `static inline`, `template <class T> __device__`
 * RT_HALO_NAME(f)   name of a function for this type; RT_HALO_CALL(f) in a call
 * RT_HALO_READ(p)   how an index is read
 *
 * g: the group, c: the component of the job's field.
 */
#ifdef RT_HALO_T

#ifdef __cplusplus
#define RT_HALO_CALL(f) f<T>
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
#else
#define RT_HALO_CALL(f) RT_HALO_NAME(f)
#endif

/* Returns component c of the job's field, whose entries are `stride` apart. */
RT_HALO_FN RT_HALO_T *RT_HALO_NAME(component)(const rt_halo_job_t *job, int c, int64_t *stride)
{
    *stride = job->field.entry_stride;
    return (RT_HALO_T *)job->field.data + c * job->field.component_stride;
}

/* Gives all copies of a group, at[0], at[step], ..., their sum or the value of the first. */
RT_HALO_FN void RT_HALO_NAME(group)(const rt_halo_job_t *job, const int32_t *at, int64_t step,
                                    int32_t copies, int c)
{
    int64_t stride;
    RT_HALO_T *data = RT_HALO_CALL(component)(job, c, &stride);
    RT_HALO_T value = data[RT_HALO_READ(at) * stride];
    if (job->op == RT_HALO_SUM)
        for (int32_t j = 1; j < copies; j++)
            value += data[RT_HALO_READ(at + j * step) * stride];
    for (int32_t j = job->op == RT_HALO_SUM ? 0 : 1; j < copies; j++)
        data[RT_HALO_READ(at + j * step) * stride] = value;
}

/* Works on group g of those with `copies` copies. Called with a constant, so that the loop over the
 * copies is unrolled. */
RT_HALO_FN void RT_HALO_NAME(local_class)(const rt_halo_plan_t *plan, const rt_halo_job_t *job,
                                          const int copies, int32_t g, int c)
{
    RT_HALO_CALL(group)(job, plan->at[copies] + g, plan->count[copies], copies, c);
}

RT_HALO_FN void RT_HALO_NAME(local_large)(const rt_halo_plan_t *plan, const rt_halo_job_t *job,
                                          int32_t g, int c)
{
    const int32_t first = RT_HALO_READ(plan->large_start + g);
    const int32_t last = RT_HALO_READ(plan->large_start + g + 1);
    RT_HALO_CALL(group)(job, plan->large + first, 1, last - first, c);
}

/* Returns this rank's part of shared group g: the sum of its copies, or the value of the first. */
RT_HALO_FN RT_HALO_T RT_HALO_NAME(contribution)(const rt_halo_plan_t *plan,
                                                const rt_halo_job_t *job, int32_t g, int c)
{
    int64_t stride;
    const RT_HALO_T *data = RT_HALO_CALL(component)(job, c, &stride);
    const int32_t first = RT_HALO_READ(plan->copy_start + g);
    const int32_t last =
        job->op == RT_HALO_SUM ? RT_HALO_READ(plan->copy_start + g + 1) : first + 1;
    RT_HALO_T value = data[RT_HALO_READ(plan->copy + first) * stride];
    for (int32_t j = first + 1; j < last; j++)
        value += data[RT_HALO_READ(plan->copy + j) * stride];
    return value;
}

/* Packs shared group g into its slots of `send`: one partial sum per rank; for a copy only if the
 * owner is here. */
RT_HALO_FN void RT_HALO_NAME(pack)(const rt_halo_plan_t *plan, const rt_halo_job_t *job, int32_t g,
                                   int c)
{
    RT_HALO_T *send = (RT_HALO_T *)job->send;
    if (job->op == RT_HALO_COPY && RT_HALO_READ(plan->source + g) >= 0)
        return;
    const RT_HALO_T value = RT_HALO_CALL(contribution)(plan, job, g, c);
    const int32_t last = RT_HALO_READ(plan->slot_start + g + 1);
    for (int32_t s = RT_HALO_READ(plan->slot_start + g); s < last; s++)
        send[(int64_t)RT_HALO_READ(plan->slot + s) * job->field.components + c] = value;
}

/* Returns the sum over the ranks that hold group g. All of them add in order of rank, this rank's
 * part in its own position, so all get the same bits. */
RT_HALO_FN RT_HALO_T RT_HALO_NAME(total)(const rt_halo_plan_t *plan, const rt_halo_job_t *job,
                                         int32_t g, int c)
{
    const RT_HALO_T *recv = (const RT_HALO_T *)job->recv;
    const int components = job->field.components;
    const RT_HALO_T own = RT_HALO_CALL(contribution)(plan, job, g, c);
    if (!recv)
        return own;
    int32_t s = RT_HALO_READ(plan->slot_start + g);
    const int32_t last = RT_HALO_READ(plan->slot_start + g + 1);
    int32_t slot = RT_HALO_READ(plan->slot + s);
    RT_HALO_T value = own;
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
RT_HALO_FN void RT_HALO_NAME(unpack)(const rt_halo_plan_t *plan, const rt_halo_job_t *job,
                                     int32_t g, int c)
{
    int64_t stride;
    RT_HALO_T *data = RT_HALO_CALL(component)(job, c, &stride);
    int32_t j = RT_HALO_READ(plan->copy_start + g);
    const int32_t last = RT_HALO_READ(plan->copy_start + g + 1);
    RT_HALO_T value;
    if (job->op == RT_HALO_SUM) {
        value = RT_HALO_CALL(total)(plan, job, g, c);
    } else {
        const int32_t source = RT_HALO_READ(plan->source + g);
        if (source < 0)
            value = data[RT_HALO_READ(plan->copy + j++) * stride];
        else if (job->recv)
            value = ((const RT_HALO_T *)job->recv)[(int64_t)source * job->field.components + c];
        else
            return; /* nothing came from the owner */
    }
    for (; j < last; j++)
        data[RT_HALO_READ(plan->copy + j) * stride] = value;
}

#endif
