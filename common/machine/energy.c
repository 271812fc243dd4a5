/*
 * machine/energy.c - the meters: NVML by dlopen, RAPL by reading files.
 *
 * The few functions of NVML that we need are declared here, with the ABI they have had since 2018.
 * So building Rooftop needs neither NVML's header nor its library.
 */
#include "config.h"
#include "machine/energy.h"

#include <dirent.h>
#include <dlfcn.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "machine/comm.h"
#include "base/error.h"
#include "machine/timer.h"

/* ---- RAPL --------------------------------------------------------------------------------- */

static bool read_line(const char *folder, const char *file, char *line, int len)
{
    char path[256];
    snprintf(path, sizeof path, "%s/%s", folder, file);
    FILE *f = fopen(path, "r");
    const bool ok = f && fgets(line, len, f);
    if (f)
        fclose(f);
    if (ok)
        line[strcspn(line, "\n")] = '\0';
    return ok;
}

static bool read_count(const char *folder, const char *file, uint64_t *count)
{
    char line[64];
    return read_line(folder, file, line, sizeof line) && sscanf(line, "%" SCNu64, count) == 1;
}

bool rt_rapl_open(rt_rapl_t *rapl, const char *folder)
{
    memset(rapl, 0, sizeof *rapl);
    DIR *all = opendir(folder);
    for (struct dirent *entry; all && (entry = readdir(all)) && rapl->n < RT_RAPL_DOMAINS;) {
        char path[128], name[64];
        /* intel-rapl-mmio shows the same packages again */
        if (strncmp(entry->d_name, "intel-rapl:", strlen("intel-rapl:")) != 0)
            continue;
        if (snprintf(path, sizeof path, "%s/%.64s", folder, entry->d_name) >= (int)sizeof path)
            continue;
        if (!read_line(path, "name", name, sizeof name) ||
            (strncmp(name, "package", strlen("package")) != 0 && strcmp(name, "dram") != 0))
            continue;
        if (!read_count(path, "energy_uj", &rapl->domain[rapl->n].last)) {
            rapl->n = 0; /* the sum would be too small without one of them */
            break;
        }
        if (!read_count(path, "max_energy_range_uj", &rapl->domain[rapl->n].range))
            rapl->domain[rapl->n].range = 0;
        memcpy(rapl->domain[rapl->n++].path, path, sizeof path);
    }
    if (all)
        closedir(all);
    return rapl->n > 0;
}

void rt_rapl_sample(rt_rapl_t *rapl)
{
    for (int i = 0; i < rapl->n; i++) {
        uint64_t now = 0, last = rapl->domain[i].last, range = rapl->domain[i].range;
        const bool read = read_count(rapl->domain[i].path, "energy_uj", &now);
        const bool wrapped = now < last;
        if (!read || (wrapped && range < last)) {
            rapl->broken = true;
            return;
        }
        rapl->joules += (double)(wrapped ? range - last + now : now - last) * 1e-6;
        rapl->domain[i].last = now;
    }
}

/* ---- NVML --------------------------------------------------------------------------------- */

typedef struct nvmlDevice_st *nvml_device_t;
static struct {
    bool tried, ready;
    int (*init)(void); /* all return 0 for success */
    int (*by_uuid)(const char *uuid, nvml_device_t *device);
    int (*energy)(nvml_device_t device, unsigned long long *millijoules);
} nvml;

/* Finds a function by its name; in POSIX both kinds of pointers are alike. */
static bool nvml_find(void *library, const char *name, void *function)
{
    void *found = dlsym(library, name);
    memcpy(function, &found, sizeof found);
    return found != NULL;
}

/* Loads NVML once. It stays loaded, because opening and closing the driver takes seconds. */
static bool nvml_ready(void)
{
    if (nvml.tried)
        return nvml.ready;
    nvml.tried = true;
    void *library = dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
    nvml.ready = library && nvml_find(library, "nvmlInit_v2", &nvml.init) &&
                 nvml_find(library, "nvmlDeviceGetHandleByUUID", &nvml.by_uuid) &&
                 nvml_find(library, "nvmlDeviceGetTotalEnergyConsumption", &nvml.energy) &&
                 nvml.init() == 0;
    return nvml.ready;
}

static bool nvml_read(nvml_device_t device, double *joules)
{
    unsigned long long millijoules = 0;
    if (nvml.energy(device, &millijoules) != 0)
        return false;
    *joules = (double)millijoules * 1e-3;
    return true;
}

/* ---- what a rank reads -------------------------------------------------------------------- */

static struct {
    rt_kind_t processor;
    bool mine, works; /* this rank is to read a meter; so far it could */
    double begin;     /* rt_clock */
    rt_rapl_t rapl;
    nvml_device_t device;
    double first; /* joules of the GPU's counter */
} meter;

/* True on the first of the ranks that share a GPU; that rank reads its meter. Collective. */
static bool first_on_gpu(const rt_gpu_t *gpu)
{
    typedef struct {
        char uuid[sizeof gpu->uuid];
    } card_t;
    card_t mine, *all = calloc((size_t)rt_comm_local_size(), sizeof *all);
    RT_EXPECT(all, RT_MEMORY, "no memory for the GPUs of %d ranks", rt_comm_local_size());
    memset(&mine, 0, sizeof mine);
    if (gpu)
        memcpy(mine.uuid, gpu->uuid, sizeof mine.uuid);
    rt_comm_local_allgather(&mine, sizeof mine, all);
    bool first = true;
    for (int r = 0; r < rt_comm_local_rank(); r++)
        first = first && memcmp(&all[r], &mine, sizeof mine) != 0;
    free(all);
    return first;
}

void rt_energy_open(rt_kind_t processor)
{
    const rt_gpu_t *gpu = rt_device_gpu();
    memset(&meter, 0, sizeof meter);
    meter.processor = processor;
    if (processor == RT_CPU) {
        meter.mine = rt_comm_local_rank() == 0;
        meter.works = meter.mine && rt_rapl_open(&meter.rapl, "/sys/class/powercap");
    } else {
        meter.mine = first_on_gpu(gpu);
        meter.works =
            meter.mine && gpu && nvml_ready() && nvml.by_uuid(gpu->uuid, &meter.device) == 0;
    }
}

void rt_energy_start(void)
{
    if (meter.works && meter.processor == RT_CPU) {
        rt_rapl_sample(&meter.rapl);
        meter.rapl.joules = 0;
    } else if (meter.works) {
        meter.works = nvml_read(meter.device, &meter.first);
    }
    meter.begin = rt_clock();
}

void rt_energy_sample(void)
{
    if (meter.works && meter.processor == RT_CPU)
        rt_rapl_sample(&meter.rapl);
}

void rt_energy_stop(rt_energy_t *out)
{
    const bool cpu = meter.processor == RT_CPU;
    double last = 0, joules = 0, missing;
    memset(out, 0, sizeof *out);
    rt_energy_sample();
    if (meter.works)
        meter.works =
            cpu ? !meter.rapl.broken : nvml_read(meter.device, &last) && last >= meter.first;
    if (meter.works)
        joules = cpu ? meter.rapl.joules : last - meter.first;
    out->seconds = rt_clock() - meter.begin;
    missing = meter.mine && !meter.works;
    rt_comm_max(&missing, 1);
    rt_comm_sum(&joules, 1);
    rt_comm_max(&out->seconds, 1);
    out->joules = joules;
    if (missing == 0 && joules > 0)
        out->source = cpu ? "RAPL" : "NVML";
}
