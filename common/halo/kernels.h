/*
 * halo/kernels.h - the plan of a halo (which entries are copies of each other, as plain integers), and
 * the table of functions by which a processor works through it. Private to halo/.
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
 * once, and wait() returns when everything queued before the last mark() is done. */
typedef struct {
    bool asynchronous;
    void (*mark)(void);
    void (*wait)(void);
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
