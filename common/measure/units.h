/*
 * measure/units.h - what else can bound a rung, beside memory and multiply-adds: caches, tensor
 * cores, atomics, launches, barriers and sums over ranks. Measured once per job and processor.
 */
#ifndef RT_UNITS_H
#define RT_UNITS_H

#include <stdbool.h>

/* Sets that are read come first. */
typedef enum {
    RT_UNIT_L1,
    RT_UNIT_L2,
    RT_UNIT_LLC,      /* last-level cache */
    RT_UNIT_SHARED,   /* a GPU's shared memory */
    RT_UNIT_TENSOR64, /* as mma.sync reaches them */
    RT_UNIT_TENSOR16,
    RT_UNIT_ATOMICS, /* additions in FP64, to neighbouring addresses within L2 */
    RT_UNIT_LAUNCH,  /* of a kernel, many in a row */
    RT_UNIT_GRAPH_NODE,
    RT_UNIT_HOST_WAIT, /* a launch and the wait for its end */
    RT_UNIT_GRID_BARRIER,
    RT_UNIT_THREAD_BARRIER,
    RT_UNIT_ALLREDUCE, /* rt_comm_sum of one double */
    RT_UNITS
} rt_unit_t;

/* Rates, and seconds from RT_UNIT_LAUNCH on: the member in JSON; in text, as GB/s and the like. */
extern const struct rt_unit_name {
    const char *member, *said, *in;
} rt_unit_names[RT_UNITS];

static inline bool rt_unit_is_time(int unit)
{
    return unit >= RT_UNIT_LAUNCH;
}

#endif
