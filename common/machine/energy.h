/*
 * machine/energy.h - joules, where the machine has a meter that may be read.
 *
 * GPUs: NVML's counter of the whole board, loaded when it is first needed, so that no build depends
 * on it. CPUs: RAPL's counters of packages and memory, as Linux shows them (on most systems to root
 * alone). A counter moves 10 to 1000 times a second, so a short run says little; a meter that is
 * not there or that counts backwards gives no figure rather than a wrong one.
 */
#ifndef RT_ENERGY_H
#define RT_ENERGY_H

#include <stdbool.h>
#include <stdint.h>
#include "machine/device.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct {
    double joules;      /* of all ranks: a GPU and a host once each, however many ranks use it */
    double seconds;     /* between start and stop */
    const char *source; /* "NVML" or "RAPL"; NULL: there is no figure */
} rt_energy_t;

/* Finds the meters of a processor, RT_CPU or RT_CUDA; the first time, that may take a second.
 * Collective. */
void rt_energy_open(rt_kind_t processor);
/* From here on. Not collective. */
void rt_energy_start(void);
/* From time to time, that no counter wraps round unseen: a package's does after ten minutes and
 * more. Not collective. */
void rt_energy_sample(void);
/* Fills *out, on all ranks; source NULL unless every rank's meter was read. Collective. */
void rt_energy_stop(rt_energy_t *out);

/* RAPL's domains in a folder like /sys/class/powercap. */
enum { RT_RAPL_DOMAINS = 64 };
typedef struct {
    int n;
    struct {
        char path[128];
        uint64_t last, range; /* microjoules; the counter wraps round after `range` */
    } domain[RT_RAPL_DOMAINS];
    double joules; /* so far */
    bool broken;   /* a counter could not be read any more */
} rt_rapl_t;
/* False if there is none that can be read. Packages and the memory beside them; what is a part of a
 * package is in its figure. */
bool rt_rapl_open(rt_rapl_t *rapl, const char *folder);
void rt_rapl_sample(rt_rapl_t *rapl);

#ifdef __cplusplus
}
#endif
#endif
