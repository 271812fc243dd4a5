/*
 * measure/ceiling.h - what this machine can do at best, measured in the same job as the app.
 *
 * A rate without its ceiling says nothing; a ceiling from a data sheet is nobody's machine. So the
 * driver measures these before and after the run, on the processor that the rung used, at the
 * run's own working-set size (bandwidth depends on it: what fits the L2 cache is faster).
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
    size_t working_set; /* bytes that each bandwidth loop runs over, all arrays together, this rank:
                           what was asked for, or less: 90 % of what is free, 8 GiB on a host */
    double copy;        /* bytes/s, a[i] = b[i], 16 bytes moved a value */
    double triad;       /* bytes/s, a[i] = b[i] + s c[i], 24 bytes a value */
    double read;        /* bytes/s, read-mostly: sum of 7 arrays into an eighth, 64 bytes a value */
    double fma64, fma32; /* flop/s, 2 a fused multiply-add */
    double latency;      /* seconds, half a ping-pong of 8 bytes, ranks 0 and 1; 0 with one rank */
    double message;      /* bytes/s, ping-pong of 1 MiB; 0 with one rank */
} rt_ceilings_t;

/* Collective; rates are of one rank, the least over ranks, who run side by side. Takes about
 * `seconds` (and the time to fill the arrays), at least one pass of each. Kokkos rungs take the
 * ceilings of the processor on which their back-end runs; of a GPU that only Kokkos reaches all
 * rates are 0, for unknown. Every loop checks its own result. */
void rt_ceiling_measure(rt_kind_t kind, size_t working_set, double seconds, rt_ceilings_t *out);

/* The measured roofline of Karp et al. (section V): `loads_and_stores` arrays of `bytes` each,
 * every one copied once within the processor's memory, as often as an iteration of the app touches
 * one. Arrays are distinct as far as memory allows, in the rotation the app would have. Collective.
 * Returns seconds an iteration, *halved*: a copy moves each byte twice; the most over ranks. */
double rt_ceiling_replay(rt_kind_t kind, int loads_and_stores, int distinct, size_t bytes,
                         double seconds);

#ifdef __cplusplus
}
#endif
#endif
