/*
 * measure/ceiling.h - the best that this machine can do, measured in the same job as the app.
 *
 * A rate without its ceiling says nothing, and the ceiling of a data sheet is not the ceiling of
 * any real machine. So a meter measures the ceilings in the same job, on the processor that a rung
 * uses and at the run's own working-set size (bandwidth depends on it: what fits into the L2 cache
 * is faster). Other work on the machine can only slow a measurement down. So the meter takes samples
 * between the timed windows too, the highest of all counts, and the lowest tells how steady the
 * machine was. Which loop is the fastest, and how it is launched, is found out at the beginning and
 * once more at the end, so no moment decides it alone.
 */
#ifndef RT_CEILING_H
#define RT_CEILING_H

#include <stddef.h>
#include "base/mem.h"
#include "machine/device.h"
#include "measure/units.h"

RT_C_BEGIN

/* The smallest working set, in bytes, that bandwidth is measured over. */
enum { RT_LEAST_SET = 65536 };

/* Loops over arrays of doubles, of which a0 is written. Each value that is read or written counts 8
 * bytes. */
typedef enum {
    RT_LOOP_COPY,   /* a0 = a1 */
    RT_LOOP_TRIAD,  /* a0 = a1 + 3 a2 */
    RT_LOOP_READ,   /* a0 = a1 + a2 + ... + a7 */
    RT_LOOP_UPDATE, /* a0 = a1 - a0; only where a store reads what it overwrites */
    RT_LOOPS
} rt_loop_t;
/* The rates of all loops: those over memory in bytes/s, then the arithmetic in flop/s. */
enum { RT_RATE_FMA64 = RT_LOOPS, RT_RATE_FMA32, RT_RATES };

typedef struct {
    rt_kind_t kind;
    size_t working_set; /* bytes that each bandwidth loop runs over on this rank, all arrays
                         * together: the size asked for, at most 90 % of what is free and, on a
                         * host, 8 GiB */
    /* bytes/s of the loops over memory, update 0 on a GPU; flop/s, 2 per fused multiply-add */
    double rate[RT_RATES];
    double unit[RT_UNITS]; /* rates and seconds of other units, per rank; 0: not measured */
    double latency;    /* seconds, half a ping-pong of 8 bytes, ranks 0 and 1; 0: not measured */
    double message;    /* bytes/s, ping-pong of 1 MiB; 0: not measured */
    int samples;       /* measurements that these are the highest of */
    double spread;     /* of the bandwidth of the samples: (highest - lowest) / highest */
    double fma_spread; /* the same of the arithmetic, FP64 or FP32 */
} rt_ceilings_t;

/* How much measurements of a ceiling may differ. What differs more is measured again. */
#define RT_CEILING_NOISE 0.10

/* Returns the highest bandwidth of the loops in bytes/s; 0: unknown. */
double rt_bandwidth_ceiling(const rt_ceilings_t *ceilings);

/* Measures all ceilings but messages and other units, once. Collective. Rates are per rank: the least over the ranks, which all
 * measure at the same time. Takes about `seconds` plus the time to fill the arrays, but makes at
 * least one pass of each loop. Kokkos rungs get the ceilings of the processor on which their
 * back-end runs; for a GPU that only Kokkos reaches all rates are 0, meaning unknown. Every loop
 * checks its own result. */
void rt_ceiling_measure(rt_kind_t kind, size_t working_set, double seconds, rt_ceilings_t *out);

typedef struct rt_meter rt_meter_t;
enum { RT_SAMPLED = 3 };
typedef struct {
    double rate[RT_SAMPLED]; /* bytes/s of the fastest loop, flop/s in FP64 and FP32; 0: unknown */
    double seconds;          /* that the sample took, on the slowest rank */
} rt_sample_t;

/* Measures all ceilings, and keeps the arrays of the fastest loop for the samples to come.
 * Collective, as are the functions below that measure, and rt_meter_destroy. */
rt_meter_t *rt_meter_new(rt_kind_t kind, size_t working_set, double seconds);
/* Measures the fastest loop and the arithmetic once more, in about 20 ms, but at least one pass, and
 * up to three times if it is far below what was seen before. */
void rt_meter_sample(rt_meter_t *meter, rt_sample_t *out);
/* Takes over the arithmetic of ceilings that were measured besides. */
void rt_meter_learn(rt_meter_t *meter, const rt_ceilings_t *again);
/* Measures all loops in all shapes again, until that shows what was known before, up to three times.
 * Frees the arrays: no samples can be taken after it. */
void rt_meter_confirm(rt_meter_t *meter);
/* Returns how far a sample is below the highest that the same loops have shown so far. */
double rt_meter_slowed(const rt_meter_t *meter, const rt_sample_t *sample);
/* Returns the highest rates of all samples so far; valid until the meter is destroyed. */
const rt_ceilings_t *rt_meter_best(const rt_meter_t *meter);
/* Returns the bytes that the meter keeps in a space. */
size_t rt_meter_bytes(const rt_meter_t *meter, rt_space_t space);
void rt_meter_destroy(rt_meter_t *meter); /* NULL is allowed */

/* Measures the roofline of Karp et al. (section V): `loads_and_stores` copies of an array of
 * `bytes` within the processor's memory, one for each time that an iteration of the app touches an
 * array. The `distinct` arrays are used in the rotation that the app would have; there are fewer if
 * memory does not allow them. Collective. Returns seconds per iteration, *halved* because a copy
 * moves each byte twice; the most over the ranks. */
double rt_ceiling_replay(rt_kind_t kind, int loads_and_stores, int distinct, size_t bytes,
                         double seconds);

RT_C_END
#endif
