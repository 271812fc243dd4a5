/*
 * measure/steady.h - was the machine left alone while a rung was timed? A figure from a disturbed
 * machine says more about the disturbance than about the machine. So the rung is UNSTEADY: its
 * answer is right, and it has no figure of merit.
 *
 * A clock that somebody slows down gives figures that are too good, so a result also gives its
 * windows' length by CLOCK_MONOTONIC_RAW, which is never adjusted, and by a GPU's own clock. A thread that
 * waited for a core, or a core that the hypervisor gave to somebody else, makes a figure too bad:
 * Linux counts both.
 */
#ifndef RT_STEADY_H
#define RT_STEADY_H

#include <stdbool.h>
#include "base/text.h"
#include "machine/device.h"
#include "measure/ceiling.h"

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

/* The most of each that a steady machine shows. */
#define RT_MOST_SPREAD 0.10             /* of windows: (longest - shortest) / median */
#define RT_MOST_WAITED 0.03             /* of a thread's time, ready to run and without a core */
#define RT_MOST_STOLEN 0.03             /* of the cores' time, taken by a hypervisor */
#define RT_MOST_SLOWED RT_CEILING_NOISE /* of the ceilings: how far below the job's highest */

/* What disturbed a rung, as shares; 0: nothing, or not known. */
typedef struct {
    double spread, waited, stolen, slowed;
    double
        share; /* of a ceiling, where neither measuring longer nor measuring again explained it */
} rt_unrest_t;

enum { RT_UNRESTS = 5 };
/* Writes a text for each disturbance that exceeds its limit ("windows differ by 14.2 %"); returns
 * how many there are. 0: the machine was steady. */
int rt_unrest_said(const rt_unrest_t *unrest, rt_text_t said[RT_UNRESTS]);
bool rt_steady(const rt_unrest_t *unrest);

RT_C_END
#endif
