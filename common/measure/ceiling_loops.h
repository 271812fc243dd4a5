/*
 * measure/ceiling_loops.h - what a processor must offer so that measure/ceiling.c can measure it.
 * Private to measure/ceiling*.
 *
 * measure/ceiling.c decides how long, how often and on how much data; a table of loops knows how.
 * So all processors are measured by the same rules, and another one is one more table.
 */
#ifndef RT_CEILING_LOOPS_H
#define RT_CEILING_LOOPS_H

#include <stddef.h>
#include <stdint.h>
#include "base/mem.h"

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__CUDACC__) || defined(__HIPCC__)
#define RT_HOST_DEVICE __host__ __device__
#else
#define RT_HOST_DEVICE
#endif

/* array[0] is written, the others are read. */
typedef enum {
    RT_LOOP_COPY,  /* a0 = a1 */
    RT_LOOP_TRIAD, /* a0 = a1 + 3 a2 */
    RT_LOOP_READ,  /* a0 = a1 + a2 + ... + a7 */
    RT_LOOPS
} rt_loop_t;

enum { RT_LOOP_ARRAYS = 8, RT_TRIAD_SCALE = 3 };

typedef struct {
    double *array[RT_LOOP_ARRAYS]; /* [n] each, aligned to 256 bytes */
    size_t n;
} rt_streams_t;

/* Returns item i of the array with this label: 24 random-looking bits in [1, 2), since memory full
 * of zeros can be faster than real data. All sums that the loops form of these values are exact in
 * double, in any order, fused or not; so results are compared for equality. */
static inline RT_HOST_DEVICE double rt_loop_value(size_t i, int label)
{
    const uint32_t hash = ((uint32_t)i + 7919u * (uint32_t)label) * 2654435761u;
    return 1.0 + (double)(hash >> 8) * (1.0 / 16777216.0);
}

/* value(first) + scale * (value(first + 1) + ... + value(first + count - 1)) */
typedef struct {
    int first, count;
    double scale;
} rt_expected_t;

static inline RT_HOST_DEVICE double rt_loop_expected(size_t i, rt_expected_t e)
{
    double rest = 0;
    for (int k = 1; k < e.count; k++)
        rest += rt_loop_value(i, e.first + k);
    return rt_loop_value(i, e.first) + e.scale * rest;
}

/* Functions enqueue work (on the stream, for a GPU); `stop` waits for it. Any call may be followed
 * by any other. */
typedef struct {
    rt_space_t space;
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
} rt_loops_t;

/* The accumulators count steps when a = b = 1; float is exact up to 2^24. */
enum { RT_FMA_STEPS = 65536 };

extern const rt_loops_t rt_loops_host, rt_loops_cuda, rt_loops_kokkos;

#ifdef __cplusplus
}
#endif
#endif
