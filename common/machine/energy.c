/*
 * machine/energy.c - the meters: NVML and ROCm SMI by dlopen, RAPL and hwmon by reading files.
 *
 * The few functions of these libraries that we need are declared here, those of NVML with the ABI they
 * have had since 2018. So building Rooftop needs neither their headers nor the libraries.
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

/* ---- hwmon -------------------------------------------------------------------------------- */

bool rt_hwmon_read(const char *folder, double *joules)
{
    char path[128];
    bool found = false;
    if (snprintf(path, sizeof path, "%s/hwmon", folder) >= (int)sizeof path)
        return false;
    DIR *all = opendir(path);
    for (struct dirent *entry; all && !found && (entry = readdir(all));) {
        char one[200], name[64];
        uint64_t microjoules;
        if (snprintf(one, sizeof one, "%s/%.64s", path, entry->d_name) >= (int)sizeof one ||
            !read_line(one, "name", name, sizeof name))
            continue;
        /* xe_gt0 and the like are parts of the device */
        found = (strcmp(name, "i915") == 0 || strcmp(name, "xe") == 0) &&
                read_count(one, "energy1_input", &microjoules);
        if (found)
            *joules = (double)microjoules * 1e-6;
    }
    if (all)
        closedir(all);
    return found;
}

/* ---- libraries ---------------------------------------------------------------------------- */

/* Finds a function by its name; in POSIX both kinds of pointers are alike. */
static bool find(void *library, const char *name, void *function)
{
    void *found = dlsym(library, name);
    memcpy(function, &found, sizeof found);
    return found != NULL;
}

/* ---- ROCm SMI ----------------------------------------------------------------------------- */

static struct {
    int (*init)(uint64_t flags); /* all return 0 for success */
    int (*count)(uint32_t *devices);
    int (*pci)(uint32_t device, uint64_t *id);
    int (*energy)(uint32_t device, uint64_t *counter, float *microjoules_per_count, uint64_t *time);
} rocm;

bool rt_rocm_open(const char *name, const char *address, uint32_t *device)
{
    unsigned domain, bus, slot, function;
    uint32_t devices = 0;
    if (sscanf(address, "%x:%x:%x.%x", &domain, &bus, &slot, &function) != 4)
        return false;
    void *library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
    if (!library || !find(library, "rsmi_init", &rocm.init) ||
        !find(library, "rsmi_num_monitor_devices", &rocm.count) ||
        !find(library, "rsmi_dev_pci_id_get", &rocm.pci) ||
        !find(library, "rsmi_dev_energy_count_get", &rocm.energy) || rocm.init(0) != 0 ||
        rocm.count(&devices) != 0)
        return false;
    const uint64_t wanted = (uint64_t)domain << 32 | bus << 8 | slot << 3 | function;
    const uint64_t partition = 0xf0000000; /* bits that newer versions set */
    for (*device = 0; *device < devices; ++*device) {
        uint64_t id;
        if (rocm.pci(*device, &id) == 0 && (id & ~partition) == wanted)
            return true;
    }
    return false;
}

bool rt_rocm_read(uint32_t device, double *joules)
{
    uint64_t counter = 0, time;
    float microjoules = 0;
    if (rocm.energy(device, &counter, &microjoules, &time) != 0 || !(microjoules > 0))
        return false;
    *joules = (double)counter * microjoules * 1e-6;
    return true;
}

/* ---- NVML --------------------------------------------------------------------------------- */

typedef struct nvmlDevice_st *nvml_device_t;
static struct {
    bool tried, ready;
    int (*init)(void); /* all return 0 for success */
    int (*by_pci)(const char *address, nvml_device_t *device);
    int (*energy)(nvml_device_t device, unsigned long long *millijoules);
} nvml;

/* Loads NVML once. It stays loaded, because opening and closing the driver takes seconds. */
static bool nvml_ready(void)
{
    if (nvml.tried)
        return nvml.ready;
    nvml.tried = true;
    void *library = dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
    nvml.ready = library && find(library, "nvmlInit_v2", &nvml.init) &&
                 find(library, "nvmlDeviceGetHandleByPciBusId_v2", &nvml.by_pci) &&
                 find(library, "nvmlDeviceGetTotalEnergyConsumption", &nvml.energy) &&
                 nvml.init() == 0;
    return nvml.ready;
}

/* ---- what a rank reads -------------------------------------------------------------------- */

static struct {
    bool mine, works; /* this rank is to read a meter; so far it could */
    const char *source;
    double begin, first; /* rt_clock; joules of the counter */
    bool (*read)(double *joules);
    rt_rapl_t rapl;
    nvml_device_t nvidia;
    uint32_t amd;
    char intel[64]; /* folder */
} meter;

static bool rapl_read(double *joules)
{
    rt_rapl_sample(&meter.rapl);
    *joules = meter.rapl.joules;
    return !meter.rapl.broken;
}

static bool nvml_read(double *joules)
{
    unsigned long long millijoules = 0;
    if (nvml.energy(meter.nvidia, &millijoules) != 0)
        return false;
    *joules = (double)millijoules * 1e-3;
    return true;
}

static bool amd_read(double *joules)
{
    return rt_rocm_read(meter.amd, joules);
}

static bool intel_read(double *joules)
{
    return rt_hwmon_read(meter.intel, joules);
}

/* Sets how to read the GPU with this PCI address, of any make; false: nothing can. */
static bool find_meter(const char *address)
{
    static const char *const libraries[] = {"librocm_smi64.so", "librocm_smi64.so.7",
                                            "librocm_smi64.so.6", "librocm_smi64.so.5"};
    double joules;
    if (!address[0])
        return false;
    meter.read = nvml_read;
    meter.source = "NVML";
    if (nvml_ready() && nvml.by_pci(address, &meter.nvidia) == 0)
        return true;
    snprintf(meter.intel, sizeof meter.intel, "/sys/bus/pci/devices/%s", address);
    meter.read = intel_read;
    meter.source = "hwmon";
    if (intel_read(&joules))
        return true;
    meter.read = amd_read;
    meter.source = "ROCm SMI";
    for (size_t i = 0; i < sizeof libraries / sizeof *libraries; i++)
        if (rt_rocm_open(libraries[i], address, &meter.amd))
            return true;
    return false;
}

/* True on the first of the ranks that share a GPU; that rank reads its meter. Collective. */
static bool first_on_gpu(const char *name)
{
    typedef struct {
        char name[48];
    } card_t;
    card_t mine, *all = calloc((size_t)rt_comm_local_size(), sizeof *all);
    RT_EXPECT(all, RT_MEMORY, "no memory for the GPUs of %d ranks", rt_comm_local_size());
    memset(&mine, 0, sizeof mine);
    snprintf(mine.name, sizeof mine.name, "%s", name);
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
    if (processor == RT_CPU) {
        meter.read = rapl_read;
        meter.source = "RAPL";
        meter.mine = rt_comm_local_rank() == 0;
        meter.works = meter.mine && rt_rapl_open(&meter.rapl, "/sys/class/powercap");
    } else {
        meter.mine = first_on_gpu(gpu ? gpu->uuid : "");
        meter.works = meter.mine && gpu && find_meter(gpu->pci);
    }
}

void rt_energy_start(void)
{
    meter.works = meter.works && meter.read(&meter.first);
    meter.begin = rt_clock();
}

void rt_energy_sample(void)
{
    if (meter.works && meter.read == rapl_read)
        rt_rapl_sample(&meter.rapl);
}

void rt_energy_stop(rt_energy_t *out)
{
    double last = 0, joules, missing;
    memset(out, 0, sizeof *out);
    meter.works = meter.works && meter.read(&last) && last >= meter.first;
    joules = meter.works ? last - meter.first : 0;
    out->seconds = rt_clock() - meter.begin;
    missing = meter.mine && !meter.works;
    rt_comm_max(&missing, 1);
    rt_comm_sum(&joules, 1);
    rt_comm_max(&out->seconds, 1);
    out->joules = joules;
    if (missing == 0 && joules > 0)
        out->source = meter.source;
}
