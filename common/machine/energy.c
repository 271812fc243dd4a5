/*
 * machine/energy.c - the meters: NVML and ROCm SMI by dlopen, RAPL and hwmon by reading files.
 *
 * The few functions of these libraries that we need are declared here, those of NVML with the ABI they
 * have had since 2018. So building Rooftop needs neither their headers nor the libraries.
 */
#include "config.h"
#include "machine/energy.h"

#include <dlfcn.h>
#include <glob.h>
#include <inttypes.h>
#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
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
    char pattern[128], name[64];
    glob_t all;
    memset(rapl, 0, sizeof *rapl);
    /* intel-rapl-mmio shows the same packages again */
    snprintf(pattern, sizeof pattern, "%s/intel-rapl:*", folder);
    bool good = glob(pattern, 0, NULL, &all) == 0;
    for (size_t i = 0; good && i < all.gl_pathc && rapl->n < RT_RAPL_DOMAINS; i++) {
        const char *path = all.gl_pathv[i];
        if (!read_line(path, "name", name, sizeof name) ||
            (strncmp(name, "package", strlen("package")) != 0 && strcmp(name, "dram") != 0))
            continue;
        good = read_count(path, "energy_uj", &rapl->domain[rapl->n].last);
        if (!read_count(path, "max_energy_range_uj", &rapl->domain[rapl->n].range))
            rapl->domain[rapl->n].range = 0;
        snprintf(rapl->domain[rapl->n].path, sizeof rapl->domain[0].path, "%s", path);
        rapl->n++;
    }
    globfree(&all);
    return good && rapl->n > 0; /* without one of them the sum would be too small */
}

bool rt_rapl_sample(rt_rapl_t *rapl)
{
    for (int i = 0; i < rapl->n; i++) {
        uint64_t now = 0, last = rapl->domain[i].last, range = rapl->domain[i].range;
        const bool read = read_count(rapl->domain[i].path, "energy_uj", &now);
        const bool wrapped = now < last;
        if (!read || (wrapped && range < last))
            return false;
        rapl->joules += (double)(wrapped ? range - last + now : now - last) * 1e-6;
        rapl->domain[i].last = now;
    }
    return true;
}

/* ---- hwmon -------------------------------------------------------------------------------- */

bool rt_hwmon_read(const char *folder, double *joules)
{
    char pattern[128], name[64];
    bool found = false;
    uint64_t microjoules;
    glob_t all;
    snprintf(pattern, sizeof pattern, "%s/hwmon/*", folder);
    const bool any = glob(pattern, 0, NULL, &all) == 0;
    for (size_t i = 0; any && i < all.gl_pathc && !found; i++) {
        const char *one = all.gl_pathv[i];
        /* xe_gt0 and the like are parts of the device */
        found = read_line(one, "name", name, sizeof name) &&
                (strcmp(name, "i915") == 0 || strcmp(name, "xe") == 0) &&
                read_count(one, "energy1_input", &microjoules);
        if (found)
            *joules = (double)microjoules * 1e-6;
    }
    globfree(&all);
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
    uint32_t device;
} rocm;

bool rt_rocm_open(const char *name, const char *address)
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
    for (rocm.device = 0; rocm.device < devices; rocm.device++) {
        uint64_t id;
        if (rocm.pci(rocm.device, &id) == 0 && (id & ~partition) == wanted)
            return true;
    }
    return false;
}

bool rt_rocm_read(double *joules)
{
    uint64_t counter = 0, time;
    float microjoules = 0;
    if (rocm.energy(rocm.device, &counter, &microjoules, &time) != 0 || !(microjoules > 0))
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
    double before, last; /* the same of the last reading */
    rt_energy_t found;   /* so far */
    bool (*read)(double *joules);
    rt_rapl_t rapl;
    nvml_device_t nvidia;
    char intel[64]; /* folder */
    timer_t timer;  /* a thread of the C library's reads the counter each time that it runs out */
    bool running;
} meter;

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER; /* of the meter, while it is running */

static bool rapl_read(double *joules)
{
    const bool read = rt_rapl_sample(&meter.rapl);
    *joules = meter.rapl.joules;
    return read;
}

static bool nvml_read(double *joules)
{
    unsigned long long millijoules = 0;
    if (nvml.energy(meter.nvidia, &millijoules) != 0)
        return false;
    *joules = (double)millijoules * 1e-3;
    return true;
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
    meter.read = rt_rocm_read;
    meter.source = "ROCm SMI";
    for (size_t i = 0; i < sizeof libraries / sizeof *libraries; i++)
        if (rt_rocm_open(libraries[i], address))
            return true;
    return false;
}

/* True on the first of the ranks that share a GPU; that rank reads its meter. Collective. */
static bool first_on_gpu(const char *name)
{
    char mine[48] = "", *all = calloc((size_t)rt_comm_local_size(), sizeof mine);
    RT_EXPECT(all, RT_MEMORY, "no memory for the GPUs of %d ranks", rt_comm_local_size());
    snprintf(mine, sizeof mine, "%s", name);
    rt_comm_local_allgather(mine, sizeof mine, all);
    bool first = true;
    for (int r = 0; r < rt_comm_local_rank(); r++)
        first = first && strcmp(all + (size_t)r * sizeof mine, mine) != 0;
    free(all);
    return first;
}

bool rt_energy_open(rt_kind_t processor, const char *powercap)
{
    const rt_gpu_t *gpu = rt_device_gpu();
    memset(&meter, 0, sizeof meter);
    if (processor == RT_CPU) {
        meter.read = rapl_read;
        meter.source = "RAPL";
        meter.mine = rt_comm_local_rank() == 0;
        meter.works = meter.mine && rt_rapl_open(&meter.rapl, powercap);
    } else {
        meter.mine = first_on_gpu(gpu ? gpu->uuid : "");
        meter.works = meter.mine && gpu && find_meter(gpu->pci);
    }
    double any = meter.works;
    rt_comm_max(&any, 1);
    return any > 0;
}

static double seconds_since_1970(void)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* Reads the counter. A power over less than half a second would be that of its steps. */
static void take_reading(void)
{
    double joules = 0;
    meter.works = meter.works && meter.read(&joules) && joules >= meter.last;
    const double now = rt_clock(), watts = (joules - meter.last) / (now - meter.before);
    if (!meter.works)
        return;
    if (now - meter.before >= 0.5) {
        meter.found.lowest = meter.found.lowest > 0 ? fmin(meter.found.lowest, watts) : watts;
        meter.found.highest = fmax(meter.found.highest, watts);
    }
    meter.found.samples++;
    meter.before = now;
    meter.last = joules;
}

static void take_sample(union sigval unused)
{
    (void)unused;
    pthread_mutex_lock(&mutex);
    if (meter.running)
        take_reading();
    pthread_mutex_unlock(&mutex);
}

static void start_reading(void)
{
    meter.works = meter.works && meter.read(&meter.first);
    meter.last = meter.first;
    meter.begin = meter.before = rt_clock();
}

void rt_energy_idle(void)
{
    sleep(1); /* clocks come down */
    meter.found.idle_begin = seconds_since_1970();
    start_reading();
    sleep(2);
    take_reading();
    meter.found.idle_end = seconds_since_1970();
    if (meter.works)
        meter.found.idle = (meter.last - meter.first) / (meter.before - meter.begin);
}

void rt_energy_start(void)
{
    struct sigevent event = {.sigev_notify = SIGEV_THREAD, .sigev_notify_function = take_sample};
    start_reading();
    meter.found.lowest = meter.found.highest = meter.found.samples = 0;
    meter.found.begin = seconds_since_1970();
    meter.works = meter.works && timer_create(CLOCK_MONOTONIC, &event, &meter.timer) == 0;
    meter.running = meter.works;
    if (meter.running)
        timer_settime(meter.timer, 0, &(struct itimerspec){{1, 0}, {1, 0}}, NULL);
}

void rt_energy_stop(rt_energy_t *out)
{
    pthread_mutex_lock(&mutex);
    if (meter.running)
        timer_delete(meter.timer);
    meter.running = false;
    take_reading();
    pthread_mutex_unlock(&mutex);
    *out = meter.found;
    out->end = seconds_since_1970();
    out->seconds = rt_clock() - meter.begin;
    out->joules = meter.works ? meter.last - meter.first : 0;
    out->samples = meter.mine ? out->samples : HUGE_VAL;
    double missing = meter.mine && !meter.works;
    rt_comm_max(&missing, 1);
    rt_comm_max(&out->seconds, 1);
    rt_comm_sum(&out->joules, 1);
    rt_comm_sum(&out->lowest, 1);
    rt_comm_sum(&out->highest, 1);
    rt_comm_sum(&out->idle, 1);
    rt_comm_min(&out->samples, 1);
    if (missing == 0 && out->joules > 0)
        out->source = meter.source;
}
