/*
 * measure/ceiling.h - the best that this machine can do, measured in the same job as the app.
 *
 * A rate without its ceiling says nothing, and the ceiling of a data sheet is not the ceiling of
 * any real machine. So the driver measures ceilings before and after the run, on the processor that
 * the rung uses and at the run's own working-set size (bandwidth depends on it: what fits into the
 * L2 cache is faster).
 */
#ifndef RT_CEILING_H
#define RT_CEILING_H

#include <stddef.h>
#include "machine/device.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct {
    rt_kind_t kind;
    size_t working_set;  /* bytes that each bandwidth loop runs over on this rank, all arrays
                         * together: the size asked for, at most 90 % of what is free and, on a
                         * host, 8 GiB */
    double copy;         /* bytes/s, a[i] = b[i], 16 bytes moved per value */
    double triad;        /* bytes/s, a[i] = b[i] + s c[i], 24 bytes per value */
    double read;         /* bytes/s, mostly reads: sum of 7 arrays into one, 64 bytes per value */
    double fma64, fma32; /* flop/s, 2 per fused multiply-add */
    double latency;      /* seconds, half a ping-pong of 8 bytes, ranks 0 and 1; 0 with one rank */
    double message;      /* bytes/s, ping-pong of 1 MiB; 0 with one rank */
} rt_ceilings_t;

/* Measures all ceilings. Collective. Rates are per rank: the least over the ranks, which all
 * measure at the same time. Takes about `seconds` plus the time to fill the arrays, but makes at
 * least one pass of each loop. Kokkos rungs get the ceilings of the processor on which their
 * back-end runs; for a GPU that only Kokkos reaches all rates are 0, meaning unknown. Every loop
 * checks its own result. */
void rt_ceiling_measure(rt_kind_t kind, size_t working_set, double seconds, rt_ceilings_t *out);

/* Measures the roofline of Karp et al. (section V): `loads_and_stores` copies of an array of
 * `bytes` within the processor's memory, one for each time that an iteration of the app touches an
 * array. The `distinct` arrays are used in the rotation that the app would have; there are fewer if
 * memory does not allow so many. Collective. Returns seconds per iteration, *halved* because a copy
 * moves each byte twice; the most over the ranks. */
double rt_ceiling_replay(rt_kind_t kind, int loads_and_stores, int distinct, size_t bytes,
                         double seconds);

#ifdef __cplusplus
}
#endif
#endif
