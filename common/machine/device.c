/*
 * machine/device.c - which cores and which GPU this rank works with.
 *
 * Idea: everything that can be wrong with a GPU is turned into one line of text first, the ranks
 * then agree on whose line counts, and only then is it decided whether that is a refusal (a GPU was
 * named) or just the reason why the CPUs do the work (--device auto). So all ranks do the same.
 * Price: a few small gathers at start.
 */
#define _GNU_SOURCE /* sched_getaffinity, CPU_* */
#include "config.h"
#include "machine/device.h"

#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <sched.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#if RT_HAVE_OPENMP
#include <omp.h>
#endif
#if RT_HAVE_CUDA && RT_HAVE_HWLOC
#include <hwloc.h>
#endif

#include "machine/comm.h"
#include "base/error.h"
#include "machine/kokkos.h"
#include "halo/nccl.h"
#if RT_HAVE_CUDA
#include "machine/cuda.h"
#include "halo/mail.h"
#endif

enum { LINE = 512, HOST = 256, MAX_GPUS = 64, MAX_CPUS = 4096 };

static struct {
    rt_cpu_t cpu;
    rt_gpu_t gpu;
    bool has_gpu;
    void *stream; /* in use: main or side */
    int side_depth;
#if RT_HAVE_CUDA
    cudaStream_t main, side;
    cudaEvent_t forked, joined;
#endif
    char why_not[LINE];
} self = {.why_not = "no device was selected yet"};

const char *rt_kind_name(rt_kind_t kind)
{
    static const char *const names[] = {"cpu", "cuda", "kokkos"};
    return names[kind];
}

const rt_gpu_t *rt_device_gpu(void)
{
    return self.has_gpu ? &self.gpu : NULL;
}

const rt_cpu_t *rt_device_cpu(void)
{
    return &self.cpu;
}

const char *rt_device_why_not(void)
{
    return self.why_not;
}

void *rt_device_stream(void)
{
    return self.stream;
}

/* ---- cores and threads ---- */

typedef struct {
    cpu_set_t part[MAX_CPUS / CPU_SETSIZE]; /* the CPU_*_S macros take it as one long mask */
} cores_t;

/* The cores this process may use. With OMP_PROC_BIND the OpenMP runtime has already bound this
 * thread to one place, and only the list of places still tells what the process was given. */
static void cores_get(cores_t *cores)
{
    memset(cores, 0, sizeof *cores);
    if (sched_getaffinity(0, sizeof *cores, cores->part) != 0)
        CPU_SET_S(0, sizeof *cores, cores->part); /* a machine larger than MAX_CPUS */
#if RT_HAVE_OPENMP
    if (omp_get_proc_bind() == omp_proc_bind_false)
        return;
    for (int place = 0; place < omp_get_num_places(); place++) {
        const int n = omp_get_place_num_procs(place);
        int *cpu = n > 0 ? malloc((size_t)n * sizeof *cpu) : NULL;
        if (!cpu)
            continue;
        omp_get_place_proc_ids(place, cpu);
        for (int i = 0; i < n; i++)
            if (cpu[i] >= 0 && cpu[i] < MAX_CPUS)
                CPU_SET_S((size_t)cpu[i], sizeof *cores, cores->part);
        free(cpu);
    }
#endif
}

static bool cores_has(const cores_t *cores, int cpu)
{
    return cpu < MAX_CPUS && CPU_ISSET_S((size_t)cpu, sizeof *cores, cores->part);
}

/* "0-15,32"; ends in "..." where it does not fit. */
static void cores_format(const cores_t *cores, char *text, size_t len)
{
    size_t used = 0;
    text[0] = '\0';
    for (int first = 0; first < MAX_CPUS; first++) {
        if (!cores_has(cores, first))
            continue;
        int last = first;
        while (cores_has(cores, last + 1))
            last++;
        char range[32];
        const char *comma = used ? "," : "";
        if (last > first)
            snprintf(range, sizeof range, "%s%d-%d", comma, first, last);
        else
            snprintf(range, sizeof range, "%s%d", comma, first);
        if (used + strlen(range) + sizeof "..." > len) {
            strcpy(text + used, "...");
            return;
        }
        strcpy(text + used, range);
        used += strlen(range);
        first = last;
    }
}

/* "model name : ..." of /proc/cpuinfo, which not every architecture has. */
static void cpu_model(char *model, size_t len)
{
    snprintf(model, len, "unknown processor");
    FILE *file = fopen("/proc/cpuinfo", "r");
    if (!file)
        return;
    char line[4096]; /* the line of flags is long */
    while (fgets(line, sizeof line, file)) {
        char *colon = strchr(line, ':');
        if (strncmp(line, "model name", strlen("model name")) != 0 || !colon)
            continue;
        colon += 1 + strspn(colon + 1, " \t");
        colon[strcspn(colon, "\n")] = '\0';
        snprintf(model, len, "%.*s", (int)len - 1, colon);
        break;
    }
    fclose(file);
}

typedef struct {
    char host[HOST];
    cores_t cores;
} place_t;

/* Ranks on this host that were given the very same cores as this one, itself included. A launcher
 * that binds has divided the cores already; one that does not leaves that to us. */
static int ranks_on_these_cores(const cores_t *cores)
{
    const size_t size = (size_t)rt_comm_size();
    place_t mine;
    memset(&mine, 0, sizeof mine);
    snprintf(mine.host, sizeof mine.host, "%s", rt_comm_host());
    mine.cores = *cores;
    place_t *all = calloc(size, sizeof *all);
    RT_EXPECT(all, RT_MEMORY, "out of memory for the places of %zu ranks", size);
    rt_comm_allgather(&mine, sizeof mine, all);
    int sharers = 0;
    for (size_t r = 0; r < size; r++)
        sharers += memcmp(&all[r], &mine, sizeof mine) == 0;
    free(all);
    return sharers;
}

static void cpu_select(int threads)
{
    cores_t cores;
    cores_get(&cores);
    cpu_model(self.cpu.model, sizeof self.cpu.model);
    cores_format(&cores, self.cpu.core_set, sizeof self.cpu.core_set);
    self.cpu.cores = CPU_COUNT_S(sizeof cores, cores.part);
#if RT_HAVE_OPENMP
    const int fair = self.cpu.cores / ranks_on_these_cores(&cores);
    if (threads > 0)
        self.cpu.threads = threads;
    else if (getenv("OMP_NUM_THREADS"))
        self.cpu.threads = omp_get_max_threads();
    else
        self.cpu.threads = fair > 1 ? fair : 1;
    omp_set_num_threads(self.cpu.threads);
#else
    (void)ranks_on_these_cores;
    if (threads > 1)
        rt_refuse(RT_USAGE, "--threads %d: this build has no OpenMP, so one thread is all there is",
                  threads);
    self.cpu.threads = 1;
#endif
}

/* ---- what --device asks for ---- */

typedef struct {
    enum { WANT_AUTO, WANT_NONE, WANT_LISTED } want;
    int ordinal[MAX_GPUS], n;
} plan_t;

static plan_t plan_parse(const char *option)
{
    plan_t plan = {.want = WANT_LISTED, .n = 0};
    if (strcmp(option, "auto") == 0) {
        plan.want = WANT_AUTO;
        return plan;
    }
    if (strcmp(option, "cpu") == 0) {
        plan.want = WANT_NONE;
        return plan;
    }
    const char *at = option;
    for (;;) {
        char *end;
        errno = 0;
        const long ordinal = isdigit((unsigned char)*at) ? strtol(at, &end, 10) : -1;
        if (ordinal < 0 || ordinal > INT_MAX || errno || (*end != ',' && *end != '\0') ||
            plan.n == MAX_GPUS)
            rt_refuse(RT_USAGE,
                      "--device %s: neither auto, nor cpu, nor numbers of GPUs such as 0 or 0,1",
                      option);
        plan.ordinal[plan.n++] = (int)ordinal;
        if (*end == '\0')
            return plan;
        at = end + 1;
    }
}

/* The fault of the lowest rank that has one becomes everybody's. */
static void agree_on_fault(char fault[LINE])
{
    const int rank = rt_comm_agree(fault, LINE);
    if (rank < 0 || rt_comm_size() == 1)
        return;
    char said[LINE];
    memcpy(said, fault, LINE);
    snprintf(fault, LINE, "rank %d: %.*s", rank, LINE - 20, said);
}

#if RT_HAVE_CUDA

static void set_fault(char fault[LINE], const char *fmt, ...) RT_PRINTF(2, 3);
static void set_fault(char fault[LINE], const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    vsnprintf(fault, LINE, fmt, args);
    va_end(args);
}

/* Number of GPUs that CUDA shows, or 0 and why. */
static int gpu_count(char fault[LINE])
{
    int n = 0, driver = 0, runtime = 0; /* without a driver, CUDA leaves n alone */
    const cudaError_t status = cudaGetDeviceCount(&n);
    (void)cudaDriverGetVersion(&driver);
    (void)cudaRuntimeGetVersion(&runtime);
    if (status == cudaSuccess && n > 0)
        return n;
    (void)cudaGetLastError();
    const char *visible = getenv("CUDA_VISIBLE_DEVICES");
    if (driver == 0)
        set_fault(fault, "there is no NVIDIA driver on %s: install one, or use --device cpu",
                  rt_comm_host());
    else if (status == cudaErrorInsufficientDriver)
        set_fault(fault,
                  "the driver on %s is made for CUDA %d.%d and this program for %d.%d: update the "
                  "driver, build with an older CUDA, or use --device cpu",
                  rt_comm_host(), driver / 1000, driver % 1000 / 10, runtime / 1000,
                  runtime % 1000 / 10);
    else if (status == cudaSuccess || status == cudaErrorNoDevice)
        set_fault(fault, "CUDA sees no GPU on %s (CUDA_VISIBLE_DEVICES is %s): use --device cpu",
                  rt_comm_host(), visible ? visible : "not set");
    else
        set_fault(fault, "CUDA does not start on %s: %s (%s)", rt_comm_host(),
                  cudaGetErrorString(status), cudaGetErrorName(status));
    return 0;
}

/* Bit g: GPU g hangs on the same part of the machine as the cores of this rank. All bits without
 * hwloc, or where it does not know. */
static uint64_t gpus_near(int n)
{
    uint64_t near = 0;
#if RT_HAVE_HWLOC
    hwloc_topology_t topology;
    if (hwloc_topology_init(&topology) != 0)
        return UINT64_MAX;
    hwloc_topology_set_io_types_filter(topology, HWLOC_TYPE_FILTER_KEEP_IMPORTANT);
    hwloc_cpuset_t mine = hwloc_bitmap_alloc();
    if (mine && hwloc_topology_load(topology) == 0 &&
        hwloc_get_cpubind(topology, mine, HWLOC_CPUBIND_PROCESS) == 0) {
        for (int g = 0; g < n && g < MAX_GPUS; g++) {
            char pci[24];
            if (cudaDeviceGetPCIBusId(pci, sizeof pci, g) != cudaSuccess)
                continue;
            hwloc_obj_t gpu = hwloc_get_pcidev_by_busidstring(topology, pci);
            hwloc_obj_t home = gpu ? hwloc_get_non_io_ancestor_obj(topology, gpu) : NULL;
            if (home && home->cpuset && hwloc_bitmap_intersects(home->cpuset, mine))
                near |= UINT64_C(1) << g;
        }
    }
    hwloc_bitmap_free(mine);
    hwloc_topology_destroy(topology);
#else
    (void)n;
#endif
    return near ? near : UINT64_MAX;
}

/* One free GPU for every rank of this host: ranks in their order, each takes the first that is near
 * it, or else the first. When none is free the next round begins. All ranks of a host do the same
 * sums, so they need not talk. Collective. */
static int gpu_assign(int n)
{
    typedef struct {
        char host[HOST];
        uint64_t near;
    } card_t;
    const int size = rt_comm_size(), rank = rt_comm_rank();
    card_t mine;
    memset(&mine, 0, sizeof mine);
    snprintf(mine.host, sizeof mine.host, "%s", rt_comm_host());
    mine.near = gpus_near(n);
    card_t *all = calloc((size_t)size, sizeof *all);
    RT_EXPECT(all, RT_MEMORY, "out of memory for the GPUs of %d ranks", size);
    rt_comm_allgather(&mine, sizeof mine, all);

    const uint64_t every = n < MAX_GPUS ? (UINT64_C(1) << n) - 1 : UINT64_MAX;
    uint64_t unused = every;
    int mine_is = 0;
    for (int r = 0; r <= rank && every; r++) {
        if (strcmp(all[r].host, mine.host) != 0)
            continue;
        if (unused == 0)
            unused = every;
        const uint64_t near = unused & all[r].near, choice = near ? near : unused;
        mine_is = 0;
        while (!(choice >> mine_is & 1))
            mine_is++;
        unused &= ~(UINT64_C(1) << mine_is);
    }
    free(all);
    return mine_is;
}

static int attribute(enum cudaDeviceAttr what, int ordinal)
{
    int value = 0;
    RT_CUDA(cudaDeviceGetAttribute(&value, what, ordinal));
    return value;
}

static void gpu_describe(int ordinal, rt_gpu_t *gpu)
{
    struct cudaDeviceProp prop;
    RT_CUDA(cudaGetDeviceProperties(&prop, ordinal));
    gpu->ordinal = ordinal;
    snprintf(gpu->name, sizeof gpu->name, "%.255s", prop.name);
    size_t used = (size_t)snprintf(gpu->uuid, sizeof gpu->uuid, "GPU");
    for (int i = 0; i < 16; i++) { /* 8-4-4-4-12 digits, as nvidia-smi writes it */
        const bool dash = i == 0 || i == 4 || i == 6 || i == 8 || i == 10;
        used += (size_t)snprintf(gpu->uuid + used, sizeof gpu->uuid - used, "%s%02x",
                                 dash ? "-" : "", (unsigned char)prop.uuid.bytes[i]);
    }
    RT_CUDA(cudaDeviceGetPCIBusId(gpu->pci, sizeof gpu->pci, ordinal));
    gpu->major = prop.major;
    gpu->minor = prop.minor;
    gpu->multiprocessors = prop.multiProcessorCount;
    gpu->shared = prop.sharedMemPerBlockOptin;
    gpu->memory = prop.totalGlobalMem;
    gpu->l2 = (size_t)prop.l2CacheSize;
    gpu->clock_ghz = attribute(cudaDevAttrClockRate, ordinal) * 1e-6; /* CUDA gives kHz */
    RT_CUDA(cudaDriverGetVersion(&gpu->driver));
    RT_CUDA(cudaRuntimeGetVersion(&gpu->runtime));
}

static cudaError_t open_streams(void)
{
    int lowest, highest;
    cudaError_t status = cudaDeviceGetStreamPriorityRange(&lowest, &highest);
    if (status == cudaSuccess)
        status = cudaStreamCreate(&self.main);
    if (status == cudaSuccess)
        status = cudaStreamCreateWithPriority(&self.side, cudaStreamDefault, highest);
    if (status == cudaSuccess)
        status = cudaEventCreateWithFlags(&self.forked, cudaEventDisableTiming);
    if (status == cudaSuccess)
        status = cudaEventCreateWithFlags(&self.joined, cudaEventDisableTiming);
    self.stream = self.main;
    return status;
}

static void close_streams(void)
{
    RT_CUDA(self.main ? cudaStreamDestroy(self.main) : cudaSuccess);
    RT_CUDA(self.side ? cudaStreamDestroy(self.side) : cudaSuccess);
    RT_CUDA(self.forked ? cudaEventDestroy(self.forked) : cudaSuccess);
    RT_CUDA(self.joined ? cudaEventDestroy(self.joined) : cudaSuccess);
    self.main = self.side = NULL;
    self.forked = self.joined = NULL;
}

/* Takes GPU `ordinal` of n: context, a kernel that it can run, stream. Or says why not. */
static void gpu_open(int ordinal, int n, char fault[LINE])
{
    if (ordinal >= n) {
        if (n == 1)
            set_fault(fault, "%s has 1 GPU (0): use --device 0", rt_comm_host());
        else
            set_fault(fault, "%s has %d GPUs (0-%d) and no %d: use --device 0", rt_comm_host(), n,
                      n - 1, ordinal);
        return;
    }
    gpu_describe(ordinal, &self.gpu);
    const rt_gpu_t *gpu = &self.gpu;
    cudaError_t status = cudaSetDevice(ordinal);
    if (status == cudaSuccess)
        status = rt_cuda_probe_code();
    if (status == cudaErrorNoKernelImageForDevice || status == cudaErrorInvalidDeviceFunction) {
        set_fault(fault,
                  "GPU %d, %s, is of compute capability %d.%d, and this program was built for %s: "
                  "configure --with-cuda-arch=%d%d,%s",
                  ordinal, gpu->name, gpu->major, gpu->minor, RT_CUDA_ARCHS, gpu->major, gpu->minor,
                  RT_CUDA_ARCHS);
    } else if (status == cudaSuccess) {
        status = open_streams();
    }
    if (status != cudaSuccess && fault[0] == '\0')
        set_fault(fault, "GPU %d, %s, cannot be used: %s (%s)", ordinal, gpu->name,
                  cudaGetErrorString(status), cudaGetErrorName(status));
    (void)cudaGetLastError();
    self.has_gpu = fault[0] == '\0';
}

static void gpu_select(const plan_t *plan, char fault[LINE])
{
    const int n = gpu_count(fault);
    const int nearest = gpu_assign(n); /* collective, so before any rank gives up */
    if (n > 0)
        gpu_open(plan->want == WANT_AUTO ? nearest : plan->ordinal[rt_comm_local_rank() % plan->n],
                 n, fault);
}

/* Two ranks on one GPU halve each other's figures, and nobody would see why. Hosts need not be
 * compared: a UUID is unique in the world. */
static void refuse_shared_gpus(const char *option)
{
    const int size = rt_comm_size();
    char(*uuid)[sizeof self.gpu.uuid] = calloc((size_t)size, sizeof *uuid);
    RT_EXPECT(uuid, RT_MEMORY, "out of memory for the GPUs of %d ranks", size);
    rt_comm_allgather(self.gpu.uuid, sizeof self.gpu.uuid, uuid);
    for (int a = 0; a < size; a++)
        for (int b = a + 1; b < size; b++)
            if (strcmp(uuid[a], uuid[b]) == 0)
                rt_refuse(RT_ENVIRONMENT,
                          "--device %s: ranks %d and %d would both run on %s: start one rank a "
                          "GPU, or allow it with --share-device",
                          option, a, b, uuid[a]);
    free(uuid);
}

#else

static void gpu_select(const plan_t *plan, char fault[LINE])
{
    (void)plan;
    snprintf(fault, LINE, "this build has no CUDA: configure --with-cuda, or use --device cpu");
}

static void refuse_shared_gpus(const char *option)
{
    (void)option;
}

#endif

/* ---- the interface ---- */

void rt_device_select(const char *option, bool share, int threads)
{
    char fault[LINE] = "";
    rt_device_release();
    const plan_t plan = plan_parse(option);
    cpu_select(threads);
    if (plan.want == WANT_NONE) {
        snprintf(self.why_not, sizeof self.why_not, "--device cpu was given");
        return;
    }
    gpu_select(&plan, fault);
    agree_on_fault(fault);
    if (fault[0] && plan.want == WANT_LISTED)
        rt_refuse(RT_ENVIRONMENT, "--device %s: %s", option, fault);
    if (fault[0])
        rt_device_release(); /* this rank may have got one */
    else if (!share)
        refuse_shared_gpus(option);
    memcpy(self.why_not, fault, sizeof fault);
}

void rt_device_release(void)
{
    rt_nccl_stop();
#if RT_HAVE_CUDA
    rt_mail_stop();
    close_streams();
#endif
    self.stream = NULL;
    self.has_gpu = false;
    snprintf(self.why_not, sizeof self.why_not, "no device is selected");
}

void rt_side_begin(void)
{
    if (!self.has_gpu || self.side_depth++ > 0)
        return;
#if RT_HAVE_CUDA
    RT_CUDA(cudaEventRecord(self.forked, self.main));
    RT_CUDA(cudaStreamWaitEvent(self.side, self.forked, 0));
    self.stream = self.side;
#endif
}

void rt_side_end(void)
{
    if (!self.has_gpu || --self.side_depth > 0)
        return;
#if RT_HAVE_CUDA
    RT_CUDA(cudaEventRecord(self.joined, self.side));
    self.stream = self.main;
#endif
}

void rt_side_join(void)
{
    if (!self.has_gpu || self.side_depth > 0)
        return;
#if RT_HAVE_CUDA
    RT_CUDA(cudaStreamWaitEvent(self.main, self.joined, 0));
#endif
}

void rt_side_forbid(void)
{
    self.side_depth++;
}

void rt_side_allow(void)
{
    self.side_depth--;
}

void rt_device_synchronize(void)
{
#if RT_HAVE_CUDA
    if (self.has_gpu) {
        RT_CUDA(cudaStreamSynchronize(rt_stream()));
        RT_CUDA(cudaGetLastError());
        return;
    }
#endif
    if (rt_kokkos_on_gpu())
        rt_kokkos_fence();
}

void rt_device_print(FILE *out)
{
    enum { WIDTH = 2 * LINE };
    const int size = rt_comm_size();
    const rt_cpu_t *cpu = &self.cpu;
    const rt_gpu_t *gpu = &self.gpu;
    char mine[WIDTH] = "", (*all)[WIDTH] = calloc((size_t)size, WIDTH);
    RT_EXPECT(all, RT_MEMORY, "out of memory for the lines of %d ranks", size);
    int n = snprintf(mine, WIDTH, "rank %d: %.100s, %s, cores %s, %d thread%s%s, ", rt_comm_rank(),
                     rt_comm_host(), cpu->model, cpu->core_set, cpu->threads,
                     cpu->threads == 1 ? "" : "s",
                     cpu->threads > cpu->cores ? " (more than cores)" : "");
    if (self.has_gpu)
        snprintf(mine + n, WIDTH - (size_t)n, "GPU %d %s %s, driver for CUDA %d.%d", gpu->ordinal,
                 gpu->name, gpu->uuid, gpu->driver / 1000, gpu->driver % 1000 / 10);
    else
        snprintf(mine + n, WIDTH - (size_t)n, "no GPU (%s)", self.why_not);
    rt_comm_allgather(mine, WIDTH, all);
    for (int r = 0; r < size && rt_comm_rank() == 0; r++)
        fprintf(out, "%s\n", all[r]);
    free(all);
}
