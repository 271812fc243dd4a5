/*
 * machine/watch.h - what else happened while windows were timed: how long they were by two other
 * clocks, and who else used the cores.
 *
 * A clock that somebody slows down gives figures that are too good, so a result also gives its
 * windows' length by CLOCK_MONOTONIC_RAW, which is never adjusted, and by a GPU's own clock. A thread that
 * waited for a core, or a core that the hypervisor gave to somebody else, makes a figure too bad:
 * Linux counts both.
 */
#ifndef RT_WATCH_H
#define RT_WATCH_H

#include "machine/device.h"

RT_C_BEGIN

typedef struct {
    double host;   /* seconds by CLOCK_MONOTONIC_RAW */
    double gpu;    /* seconds by the GPU's events; 0: not on a GPU */
    double waited; /* share of the time that a thread was ready to run and had no core: the thread
                    * that waited longest, of all ranks */
    double stolen; /* share of the time of the host's cores that a hypervisor gave to others */
} rt_watch_t;

/* Start and stop watching; a second start restarts. `processor`: RT_CPU or RT_CUDA. */
void rt_watch_start(rt_kind_t processor);
/* Collective. The clocks are this rank's; waited and stolen are the most of all ranks. What the
 * system does not tell is 0. */
void rt_watch_stop(rt_watch_t *out);

RT_C_END
#endif
