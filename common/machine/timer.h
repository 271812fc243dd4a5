/*
 * machine/timer.h - named, nested timers.
 *
 * A timer on the device's stream uses CUDA events, so it measures the work and not its launch; a
 * timer on the host uses the monotonic clock. Each is an NVTX range of the same name. Timers are
 * off unless rt_timer_enable(true): the driver times whole windows without them, and then makes one
 * more pass with them on to say where the time went, so that looking does not disturb the figure.
 */
#ifndef RT_TIMER_H
#define RT_TIMER_H

#include <stdbool.h>
#include <stdio.h>
#include "machine/device.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Seconds on a monotonic clock. */
double rt_clock(void);

typedef struct rt_timer rt_timer_t;

/* The timer of this name below the one now running (the same name under two parents is two
 * timers). start and stop nest like brackets (checked). `kind` RT_CPU: host clock, which waits for
 * the device at both ends, so that it may stand around device work; else the device's stream, or
 * the host clock where there is no GPU. Cheap when off. */
void rt_timer_start(const char *name, rt_kind_t kind);
void rt_timer_stop(const char *name);
/* Work done inside the running timer of that name: adds to its totals. */
void rt_timer_work(double bytes, double flops);
/* Work known beforehand (a work model): so much in each call so far of every timer of that name. */
void rt_timer_credit(const char *name, double bytes, double flops);

void rt_timer_enable(bool on);
bool rt_timer_enabled(void);
void rt_timer_reset(void); /* forget all */

typedef struct {
    const char *name;
    int depth;
    long calls;
    double min, max, sum; /* seconds a call: least, most, total on this rank */
    double bytes, flops;  /* total of this rank */
} rt_timer_result_t;
/* Result i of this rank in depth-first order; false past the end. Waits for the device. */
bool rt_timer_result(int i, rt_timer_result_t *out);

/* Table over ranks, of the timers that rank 0 has: calls of all ranks, shortest and longest call
 * @rank, average call, total of the slowest rank, GB/s and GFlop/s of all ranks together, and the
 * share of `bandwidth` (bytes/s of one rank; 0: column left out). Collective; rank 0 prints. */
void rt_timer_print(FILE *out, double bandwidth);

/* A stopwatch for whole windows: seconds of work on the stream (or host) between the two calls,
 * the device idle at both ends. */
double rt_window_begin(void);
double rt_window_end(double begin);

#ifdef __cplusplus
}
#endif
#endif
