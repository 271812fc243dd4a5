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
#include "base/text.h"
#include "machine/device.h"

RT_C_BEGIN

typedef struct {
    double joules;          /* of all ranks; each GPU and host once, however many ranks use it */
    double seconds;         /* between start and stop */
    double lowest, highest; /* watts of a sample: of a counter over about a second, the sum of the
                               lowest and of the highest of all meters; 0: not measured */
    double idle;            /* watts, by rt_energy_idle; 0: not measured */
    double samples;         /* readings since the start, of the meter with fewest */
    double apart;           /* of a file: the longest time between two samples */
    double begin, end, idle_begin, idle_end; /* seconds since 1970 on this rank's host */
    const char *source; /* "NVML", "ROCm SMI", "hwmon", "RAPL", "meter"; NULL: no figure */
} rt_energy_t;

#define RT_POWERCAP "/sys/class/powercap"
/* Finds the meters of a processor, RT_CPU, RT_CUDA or RT_KOKKOS; RAPL's in a folder. Returns whether
 * any rank has one. The first call may take a second. Collective. */
bool rt_energy_open(rt_kind_t processor, const char *powercap);
/* Sleeps for 3 s, and measures the power of the last 2. Not collective; all ranks call it, as a rank
 * that waits is not idle. */
void rt_energy_idle(void);
/* Starts measuring. A thread reads the counters once per second, for the lowest and the highest power,
 * and before one wraps. The energy is of the first reading and the last. Not collective. */
void rt_energy_start(void);
/* Fills *out on all ranks; source is NULL unless every rank's meter was read. Collective. */
void rt_energy_stop(rt_energy_t *out);

/* Reads the file of a power meter (docs/running.md) into *out, for the times in *when; waits up to 3 s
 * for the sample after them. out NULL: only sees whether its lines can be read. Returns false, and
 * why. Not collective. */
bool rt_power_read(const char *path, const rt_energy_t *when, rt_energy_t *out, rt_text_t *why);

/* Reads the counter of an Intel GPU in its folder, such as /sys/bus/pci/devices/0000:4d:00.0: that of
 * the whole device, which the driver i915 or xe has. False: there is none. */
bool rt_hwmon_read(const char *folder, double *joules);

/* Finds the AMD GPU with that PCI address by ROCm SMI, which is this library. */
bool rt_rocm_open(const char *library, const char *address);
bool rt_rocm_read(double *joules); /* of the GPU that was found last */

/* RAPL's domains in a folder such as /sys/class/powercap. */
enum { RT_RAPL_DOMAINS = 64 };
typedef struct {
    int n;
    struct {
        char path[128];
        uint64_t last, range; /* microjoules; the counter wraps after `range` */
    } domain[RT_RAPL_DOMAINS];
    double joules; /* so far */
} rt_rapl_t;
/* Opens the domains of packages and of their memory; parts of a package are included in its figure.
 * Returns false if there is none that can be read. */
bool rt_rapl_open(rt_rapl_t *rapl, const char *folder);
/* Returns false if a counter cannot be read. */
bool rt_rapl_sample(rt_rapl_t *rapl);

RT_C_END
#endif
