/*
 * measure/ceiling_loops.h - what a processor must offer so that measure/ceiling.c can measure it.
 * Private to measure/ceiling*.
 *
 * measure/ceiling.c decides how long, how often and on how much data; a table of loops knows how.
 * So all processors are measured by the same rules, and another one is one more table.
 */
#ifndef RT_CEILING_LOOPS_H
#define RT_CEILING_LOOPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/by_name.h"
#include "base/mem.h"
#include "base/numbers.h"
#include "measure/ceiling.h"

RT_C_BEGIN

enum { RT_LOOP_ARRAYS = 8, RT_TRIAD_SCALE = 3 };

typedef struct {
    double *array[RT_LOOP_ARRAYS]; /* [n] each, aligned to 256 bytes */
    size_t n;
} rt_streams_t;

/* Returns item i of the array with this label: 24 random-looking bits in [1, 2), since memory full
 * of zeros can be faster than real data. All sums that the loops form of these values are exact in
 * double, in any order, fused or not; so results are compared for equality. */
RT_ANYWHERE double rt_loop_value(size_t i, int label)
{
    const uint32_t hash = ((uint32_t)i + 7919u * (uint32_t)label) * 2654435761u;
    return 1.0 + (double)(hash >> 8) * (1.0 / 16777216.0);
}

/* value(first) + scale * (value(first + 1) + ... + value(first + count - 1)) */
typedef struct {
    int first, count;
    double scale;
} rt_expected_t;

RT_ANYWHERE double rt_loop_expected(size_t i, rt_expected_t e)
{
    double rest = 0;
    for (int k = 1; k < e.count; k++)
        rest += rt_loop_value(i, e.first + k);
    return rt_loop_value(i, e.first) + e.scale * rest;
}

/* Returns word i of a set that is read: such sums stay exact. */
RT_ANYWHERE uint32_t rt_unit_word(size_t i)
{
    return (uint32_t)i * 2654435761u >> 24;
}

/* How a unit is measured. It may have several rows, of which the best counts; the larger set comes
 * first. */
typedef struct {
    rt_unit_t unit;
    int level;                  /* of a cache */
    double (*begin)(int level); /* returns the bytes, flops or calls of a run; 0: cannot */
    void (*run)(void *unused);  /* enqueues them */
    bool (*right)(void);        /* after the first run: whether its results show all of its work */
    void (*end)(void);          /* frees what `begin` took */
} rt_unit_row_t;
extern const rt_unit_row_t rt_units_host[], rt_units_cuda[]; /* the last one has no `run` */

/* Functions enqueue work (on the stream, for a GPU); `stop` waits for it. Any call may be followed
 * by any other. */
typedef struct {
    rt_space_t space;
    bool write_allocate;    /* a store reads what it overwrites: RT_LOOP_UPDATE counts too */
    int shapes, fma_shapes; /* ways to run a loop (launch shapes, vector widths); the best counts */
    void (*open)(void);
    void (*close)(void);
    void (*start)(void);
    double (*stop)(void); /* seconds that all work since `start` took */

    void (*set)(double *x, size_t n, int label); /* x[i] = rt_loop_value(i, label) */
    /* Returns the number of items that are not what is expected. Waits. */
    double (*wrong)(const double *x, size_t n, rt_expected_t expected);
    void (*pass)(rt_loop_t loop, int shape, const rt_streams_t *streams);
    void (*copy)(double *dst, const double *src, size_t n); /* as a program copies an array */

    /* x = a x + b, `steps` times (a multiple of 16, at most RT_FMA_STEPS), in fma_lanes independent
     * accumulators of `bits` = 64 or 32 that start at small whole numbers. */
    void (*fma)(int bits, int shape, double a, double b, int steps);
    double (*fma_lanes)(int bits, int shape);
    double (*fma_sum)(void); /* of all accumulators of the last fma; waits */

    const rt_unit_row_t *units; /* NULL: none */
} RT_BY_NAME rt_loops_t;

/* The accumulators count steps when a = b = 1; float is exact up to 2^24. */
enum { RT_FMA_STEPS = 65536 };

extern const rt_loops_t rt_loops_host, rt_loops_cuda, rt_loops_kokkos;

/* --- ceiling.c, for meter.c --- */

/* A loop that is measured, in registers or over arrays that fill the working set. */
typedef struct {
    const rt_loops_t *loops;
    int what;             /* whose rate it is */
    int shape;            /* the fastest so far */
    double rate;          /* in that shape, the highest so far */
    rt_streams_t streams; /* in the block; NULL: none */
    char *block;
    size_t bytes; /* of the block */
} rt_task_t;
enum { RT_CEILING_TRIES = 3 }; /* what is disturbed is measured at most so many times */

/* Returns the loops for the processor on which rungs of this kind run. An emulated device is the
 * host. */
const rt_loops_t *rt_loops_of(rt_kind_t kind);
/* Returns `wanted`, or less: what may be taken while the app's own arrays are allocated. */
size_t rt_loops_affordable(const rt_loops_t *loops, size_t wanted);
/* Measures all loops in all shapes. Leaves the fastest over memory, which owns arrays, and the
 * arithmetic in *keep, if there is a keep: rt_fastest_destroy it. Collective, as is the next. */
void rt_loops_measure(const rt_loops_t *loops, size_t working_set, double seconds,
                      double rate[RT_RATES], rt_task_t keep[RT_SAMPLED]);
/* Measures them again, and raises their rates to what they show. */
void rt_fastest_measure(rt_task_t fastest[RT_SAMPLED], double budget, double rate[RT_RATES]);
void rt_fastest_destroy(rt_task_t fastest[RT_SAMPLED]);
/* Raises the ceilings to these rates. */
void rt_ceilings_raise(rt_ceilings_t *ceilings, const double rate[RT_RATES]);

/* Work that can be repeated. */
typedef struct {
    void (*once)(void *what);
    void *what;
} rt_repeat_t;
/* Returns the least seconds per repeat, over windows of many repeats that together last about
 * `budget`. There is at least one warm-up and one window of one repeat. */
double rt_best_time(const rt_loops_t *loops, rt_repeat_t work, double budget);

/* --- units.c --- */

/* Measures the units of a processor in about `seconds`. Leaves out those that cannot be measured,
 * or were contradicted each time. Collective. */
void rt_units_measure(const rt_loops_t *loops, double seconds, rt_ceilings_t *ceilings);

/* --- meter.c --- */

/* Measures a ping-pong of ranks 0 and 1: half a round trip of 8 bytes in seconds, and the bytes per
 * second of 1 MiB. Both are 0 with one rank. Collective. */
void rt_messages_measure(double *latency, double *bandwidth);
/* Returns the seconds of a sum over ranks of one number, 0 with one rank. Collective. */
double rt_sum_measure(void);
/* Makes a meter of these loops; rt_meter_new chooses them by the processor. */
rt_meter_t *rt_meter_of(const rt_loops_t *loops, rt_kind_t kind, size_t working_set,
                        double seconds);

RT_C_END
#endif
