/*
 * machine/timer.h - named, nested timers.
 *
 * A timer on the device's stream uses CUDA events, so it measures the work and not its launch; a
 * timer on the host uses the monotonic clock. Each is an NVTX range, and a region of Caliper, of the same name.
 * Timers are off unless rt_timer_enable(true) is called: the driver times whole windows without
 * them, and then makes one more pass with them to show where the time went. So measuring the parts
 * does not disturb the result.
 */
#ifndef RT_TIMER_H
#define RT_TIMER_H

#include <stdbool.h>
#include "machine/device.h"

RT_C_BEGIN

/* Returns seconds of a monotonic clock. */
double rt_clock(void);

/* Start and stop the timer of this name below the one that is running (the same name under two
 * parents is two timers). Start and stop nest like brackets (checked). `kind` RT_CPU uses the host
 * clock and waits for the device at both ends, so that it may enclose device work. Other kinds use
 * the device's stream, or the host clock if there is no GPU. Cheap when timers are off. */
void rt_timer_start(const char *name, rt_kind_t kind);
void rt_timer_stop(const char *name);
/* Adds work to the totals of the innermost running timer. */
void rt_timer_work(double bytes, double flops);
/* Adds work that is known from a model: so much for each call so far of every timer of that
 * name. */
void rt_timer_credit(const char *name, double bytes, double flops);

void rt_timer_enable(bool on);
bool rt_timer_enabled(void);
void rt_timer_reset(void); /* forgets all timers */

typedef struct {
    const char *path, *name; /* "solve/operator/halo", "halo" */
    int depth;
    long calls;
    double min, max, sum; /* seconds: shortest and longest call, total on this rank */
    double bytes, flops;  /* totals of this rank */
} rt_timer_result_t;
/* Returns result i of this rank in depth-first order; false past the end. Waits for the device. */
bool rt_timer_result(int i, rt_timer_result_t *out);

/* Charges the rung that is being set up with a part of its set-up that solver_new does not make again,
 * because rungs share it: the seconds that it took on this rank when it was made. Below 0: of input
 * that solver_new draws, which is no set-up. take returns the sum, and begins another. */
void rt_setup_charge(double seconds);
double rt_setup_take(void);

/* A stopwatch for whole windows. The end returns the seconds of work on the stream (or host) since
 * begin; the device is idle at both ends. */
double rt_window_begin(void);
double rt_window_end(double begin);

RT_C_END
#endif
