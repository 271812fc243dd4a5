/*
 * machine/energy.h - energy in joules, if the machine has a meter that we may read.
 *
 * GPUs: the counter of the whole board, of NVML (NVIDIA), ROCm SMI (AMD), or hwmon in sysfs (Intel). A
 * library is loaded on first use, so that no build depends on it. Those of AMD and Intel GPUs have run
 * with stand-ins only. CPUs: RAPL's counters of packages and memory, as Linux shows them (on most systems only to
 * root). A counter changes 10 to 1000 times per second, so a short run says little. A meter that is
 * missing or counts backwards gives no figure rather than a wrong one.
 */
#ifndef RT_ENERGY_H
#define RT_ENERGY_H

#include <stdbool.h>
#include <stdint.h>
#include "machine/device.h"

RT_C_BEGIN

typedef struct {
    double joules;      /* of all ranks; each GPU and host once, however many ranks use it */
    double seconds;     /* between start and stop */
    const char *source; /* "NVML", "ROCm SMI", "hwmon" or "RAPL"; NULL: no figure */
} rt_energy_t;

/* Finds the meters of a processor, RT_CPU, RT_CUDA or RT_KOKKOS. The first call may take a second.
 * Collective. */
void rt_energy_open(rt_kind_t processor);
/* Starts measuring. Not collective. */
void rt_energy_start(void);
/* Reads the counters. Call it every few minutes so that no counter wraps unnoticed: the counter of
 * a package wraps after ten minutes or more. Not collective. */
void rt_energy_sample(void);
/* Fills *out on all ranks; source is NULL unless every rank's meter was read. Collective. */
void rt_energy_stop(rt_energy_t *out);

/* Reads the counter of an Intel GPU in its folder, such as /sys/bus/pci/devices/0000:4d:00.0: that of
 * the whole device, which the driver i915 or xe has. False: there is none. */
bool rt_hwmon_read(const char *folder, double *joules);

/* Finds the AMD GPU with that PCI address by ROCm SMI, which is this library. */
bool rt_rocm_open(const char *library, const char *address, uint32_t *device);
bool rt_rocm_read(uint32_t device, double *joules);

/* RAPL's domains in a folder such as /sys/class/powercap. */
enum { RT_RAPL_DOMAINS = 64 };
typedef struct {
    int n;
    struct {
        char path[128];
        uint64_t last, range; /* microjoules; the counter wraps after `range` */
    } domain[RT_RAPL_DOMAINS];
    double joules; /* so far */
    bool broken;   /* a counter could not be read */
} rt_rapl_t;
/* Opens the domains of packages and of their memory; parts of a package are included in its figure.
 * Returns false if there is none that can be read. */
bool rt_rapl_open(rt_rapl_t *rapl, const char *folder);
void rt_rapl_sample(rt_rapl_t *rapl);

RT_C_END
#endif
