/*
 * machine/device.c - which GPU this rank works with.
 *
 * Idea: everything that can be wrong with a GPU first becomes one line of text. Then the ranks
 * agree on whose line counts. Only then is that line either a refusal (a GPU was named) or the
 * reason why the CPUs do the work (--device auto). So all ranks do the same.
 * Price: a few small gathers at start.
 */
#include "config.h"
#include "machine/device.h"

#include <ctype.h>
#include <limits.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#if RT_HAVE_HWLOC
#include <hwloc.h>
#endif

#include "base/error.h"
#include "base/mem_backend.h"
#include "base/text.h"
#include "machine/comm.h"
#include "machine/kokkos.h"
#include "machine/openacc.h"
#include "machine/cuda.h"

enum { MAX_GPUS = 64, MAX_STOPS = 8 };

static struct {
    rt_gpu_t gpu;
    bool has_gpu;
    void (*stop[MAX_STOPS])(void); /* to be called when the GPU is given back */
    int n_stops;
    rt_text_t why_not;
} self = {.why_not = {"no device was selected yet"}};

static void set_has_gpu(bool has)
{
    self.has_gpu = has;
#if RT_HAVE_CUDA
    rt_mem_set_backend(has ? &rt_mem_cuda : &rt_mem_host);
#endif
}

const rt_gpu_t *rt_device_gpu(void)
{
    return self.has_gpu ? &self.gpu : NULL;
}

const char *rt_device_why_not(void)
{
    return self.why_not.text;
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
        const long ordinal = isdigit((unsigned char)*at) ? strtol(at, &end, 10) : -1;
        if (ordinal < 0 || ordinal > INT_MAX || (*end != ',' && *end != '\0') || plan.n == MAX_GPUS)
            rt_refuse(RT_USAGE,
                      "--device %s: neither auto, nor cpu, nor numbers of GPUs such as 0 or 0,1",
                      option);
        plan.ordinal[plan.n++] = (int)ordinal;
        if (*end == '\0')
            return plan;
        at = end + 1;
    }
}

/* Gives all ranks the fault of the lowest rank that has one. */
static void agree_on_fault(rt_text_t *fault)
{
    const int rank = rt_comm_agree(fault->text, sizeof fault->text);
    const rt_text_t said = *fault;
    if (rank >= 0 && rt_comm_size() > 1)
        rt_text(fault, "rank %d: %s", rank, said.text);
}

#if RT_HAVE_CUDA

/* Returns the number of GPUs that CUDA shows, or 0 and why. */
static int gpu_count(rt_text_t *fault)
{
    int n = 0, driver = 0, runtime = 0; /* without a driver, CUDA does not set n */
    const cudaError_t status = cudaGetDeviceCount(&n);
    (void)cudaDriverGetVersion(&driver);
    (void)cudaRuntimeGetVersion(&runtime);
    if (status == cudaSuccess && n > 0)
        return n;
    (void)cudaGetLastError();
    const char *visible = getenv("CUDA_VISIBLE_DEVICES");
    if (driver == 0)
        rt_text(fault, "there is no NVIDIA driver on %s: install one, or use --device cpu",
                rt_comm_host());
    else if (status == cudaErrorInsufficientDriver)
        rt_text(fault,
                "the driver on %s is made for CUDA %d.%d and this program for %d.%d: update the "
                "driver, build with an older CUDA, or use --device cpu",
                rt_comm_host(), driver / 1000, driver % 1000 / 10, runtime / 1000,
                runtime % 1000 / 10);
    else if (status == cudaSuccess || status == cudaErrorNoDevice)
        rt_text(fault, "CUDA sees no GPU on %s (CUDA_VISIBLE_DEVICES is %s): use --device cpu",
                rt_comm_host(), visible ? visible : "not set");
    else
        rt_text(fault, "CUDA does not start on %s: %s (%s)", rt_comm_host(),
                cudaGetErrorString(status), cudaGetErrorName(status));
    return 0;
}

static void gpu_describe(int ordinal, rt_gpu_t *gpu)
{
    struct cudaDeviceProp prop;
    RT_CUDA(cudaGetDeviceProperties(&prop, ordinal));
    gpu->ordinal = ordinal;
    snprintf(gpu->name, sizeof gpu->name, "%.255s", prop.name);
    size_t used = (size_t)snprintf(gpu->uuid, sizeof gpu->uuid, "GPU");
    for (int i = 0; i < 16; i++) { /* 8-4-4-4-12 digits, as nvidia-smi prints it */
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
    RT_CUDA(cudaDriverGetVersion(&gpu->driver));
}

/* Starts the GPU that self.gpu describes: a context, a check that it can run our kernels, and
 * streams. Or says why it cannot. */
static void gpu_start(rt_text_t *fault)
{
    const rt_gpu_t *gpu = &self.gpu;
    cudaError_t status = cudaSetDevice(gpu->ordinal);
    if (status == cudaSuccess)
        status = rt_cuda_probe_code();
    if (status == cudaErrorNoKernelImageForDevice || status == cudaErrorInvalidDeviceFunction) {
        rt_text(fault,
                "GPU %d, %s, has compute capability %d.%d, and this program was built for %s: "
                "configure --with-cuda-arch=%d%d,%s",
                gpu->ordinal, gpu->name, gpu->major, gpu->minor, RT_CUDA_ARCHS, gpu->major,
                gpu->minor, RT_CUDA_ARCHS);
    } else if (status == cudaSuccess) {
        status = rt_streams_open();
    }
    if (status != cudaSuccess && !*fault->text)
        rt_text(fault, "GPU %d, %s, cannot be used: %s (%s)", gpu->ordinal, gpu->name,
                cudaGetErrorString(status), cudaGetErrorName(status));
    (void)cudaGetLastError();
}

#else

/* Where Kokkos alone reaches the GPU, rt_kokkos_start starts it. */

static int gpu_count(rt_text_t *fault)
{
    const int n = rt_kokkos_gpus();
    if (n < 0)
        rt_text(fault, "this build has no CUDA: configure --with-cuda, or use --device cpu");
    else if (n == 0)
        rt_text(fault, "Kokkos (%s) sees no GPU on %s: look for its driver, or use --device cpu",
                rt_kokkos_backend(), rt_comm_host());
    return n > 0 ? n : 0;
}

static void gpu_describe(int ordinal, rt_gpu_t *gpu)
{
    rt_kokkos_describe(ordinal, gpu);
    if (gpu->pci[0])
        snprintf(gpu->uuid, sizeof gpu->uuid, "%s of %.20s", gpu->pci, rt_comm_host());
    else
        snprintf(gpu->uuid, sizeof gpu->uuid, "number %d of %.20s", ordinal, rt_comm_host());
}

static void gpu_start(rt_text_t *fault)
{
    (void)fault;
}

#endif

/* Returns a mask: bit g is set if GPU g is attached to the same part of the machine as the cores of
 * this rank. All bits are set without hwloc, if it does not know, or if there is no choice. */
static uint64_t gpus_near(int n)
{
    uint64_t near = 0;
#if RT_HAVE_HWLOC
    hwloc_topology_t topology;
    if (n < 2 || hwloc_topology_init(&topology) != 0)
        return UINT64_MAX;
    hwloc_topology_set_io_types_filter(topology, HWLOC_TYPE_FILTER_KEEP_IMPORTANT);
    hwloc_cpuset_t mine = hwloc_bitmap_alloc();
    if (mine && hwloc_topology_load(topology) == 0 &&
        hwloc_get_cpubind(topology, mine, HWLOC_CPUBIND_PROCESS) == 0) {
        for (int g = 0; g < n && g < MAX_GPUS; g++) {
            rt_gpu_t gpu;
            gpu_describe(g, &gpu);
            hwloc_obj_t at = hwloc_get_pcidev_by_busidstring(topology, gpu.pci);
            hwloc_obj_t home = at ? hwloc_get_non_io_ancestor_obj(topology, at) : NULL;
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

/* Assigns a free GPU to every rank of this host and returns that of this rank. In order of rank,
 * each takes the first free GPU that is near it, or else the first free one. When none is free the
 * next round begins. All ranks of a host compute the same, so they need not communicate.
 * Collective. */
static int gpu_assign(int n)
{
    const int size = rt_comm_local_size(), rank = rt_comm_local_rank();
    const uint64_t mine = gpus_near(n);
    uint64_t *all = calloc((size_t)size, sizeof *all);
    RT_EXPECT(all, RT_MEMORY, "out of memory for the GPUs of %d ranks", size);
    rt_comm_local_allgather(&mine, sizeof mine, all);

    const uint64_t every = n < MAX_GPUS ? (UINT64_C(1) << n) - 1 : UINT64_MAX;
    uint64_t unused = every;
    int mine_is = 0;
    for (int r = 0; r <= rank && every; r++) {
        if (unused == 0)
            unused = every;
        const uint64_t near = unused & all[r], choice = near ? near : unused;
        mine_is = 0;
        while (!(choice >> mine_is & 1))
            mine_is++;
        unused &= ~(UINT64_C(1) << mine_is);
    }
    free(all);
    return mine_is;
}

/* Opens GPU `ordinal` of n, or says why it cannot be used. */
static void gpu_open(int ordinal, int n, rt_text_t *fault)
{
    if (ordinal >= n) {
        if (n == 1)
            rt_text(fault, "%s has 1 GPU (0): use --device 0", rt_comm_host());
        else
            rt_text(fault, "%s has %d GPUs (0-%d) and no %d: use --device 0", rt_comm_host(), n,
                    n - 1, ordinal);
        return;
    }
    gpu_describe(ordinal, &self.gpu);
    gpu_start(fault);
    set_has_gpu(!*fault->text);
}

static void gpu_select(const plan_t *plan, rt_text_t *fault)
{
    const int n = gpu_count(fault);
    const int nearest = gpu_assign(n); /* collective, so before any rank gives up */
    if (n > 0)
        gpu_open(plan->want == WANT_AUTO ? nearest : plan->ordinal[rt_comm_local_rank() % plan->n],
                 n, fault);
}

/* ---- the interface ---- */

void rt_device_select(const char *option, bool share, int threads)
{
    rt_text_t fault = {""}, shared = {""};
    rt_device_release();
    const plan_t plan = plan_parse(option);
    rt_cores_select(threads);
    if (plan.want == WANT_NONE) {
        rt_text(&self.why_not, "--device cpu was given");
        return;
    }
    gpu_select(&plan, &fault);
    agree_on_fault(&fault);
    if (*fault.text && plan.want == WANT_LISTED)
        rt_refuse(RT_ENVIRONMENT, "--device %s: %.400s", option, fault.text);
    if (*fault.text)
        rt_device_release(); /* this rank may have got one */
    else if (!share &&
             !rt_device_own(shared.text, sizeof shared.text)) /* else both figures would halve */
        rt_refuse(RT_ENVIRONMENT,
                  "--device %s: %s: start one rank per GPU, or allow it with --share-device",
                  option, shared.text);
    self.why_not = fault;
}

/* Hosts need not be compared, because a UUID is unique. */
bool rt_device_own(char *text, size_t len)
{
    typedef char uuid_t[sizeof rt_device_gpu()->uuid];
    const int size = rt_comm_size(), me = rt_comm_rank();
    uuid_t mine = "", *all = calloc((size_t)size, sizeof *all);
    RT_EXPECT(all, RT_MEMORY, "no memory for the GPUs of %d ranks", size);
    *text = '\0';
    if (rt_device_gpu())
        memcpy(mine, rt_device_gpu()->uuid, sizeof mine);
    else
        snprintf(text, len, "rank %d has no GPU", me);
    rt_comm_allgather(mine, sizeof mine, all);
    for (int r = me + 1; r < size && !text[0]; r++)
        if (strcmp(all[r], mine) == 0)
            snprintf(text, len, "ranks %d and %d use the same GPU, %s", me, r, mine);
    free(all);
    return rt_comm_agree(text, len) < 0;
}

void rt_device_at_release(void (*stop)(void))
{
    for (int i = 0; i < self.n_stops; i++)
        if (self.stop[i] == stop)
            return;
    RT_EXPECT(self.n_stops < MAX_STOPS, RT_INVALID, "more than %d functions to call at release",
              MAX_STOPS);
    self.stop[self.n_stops++] = stop;
}

void rt_device_release(void)
{
    while (self.n_stops > 0)
        self.stop[--self.n_stops]();
    rt_streams_close();
    set_has_gpu(false);
    rt_text(&self.why_not, "no device is selected");
}

void rt_device_print(FILE *out)
{
    const rt_cpu_t *cpu = rt_device_cpu();
    const rt_gpu_t *gpu = &self.gpu;
    rt_text_t mine;
    rt_text(&mine, "rank %d: %.100s, %s, cores %s, %d thread%s%s, ", rt_comm_rank(), rt_comm_host(),
            cpu->model, cpu->core_set, cpu->threads, cpu->threads == 1 ? "" : "s",
            cpu->threads > cpu->cores ? " (more than cores)" : "");
    if (self.has_gpu)
        rt_text_add(&mine, "GPU %d %s %s", gpu->ordinal, gpu->name, gpu->uuid);
    if (self.has_gpu && gpu->driver > 0)
        rt_text_add(&mine, ", driver for CUDA %d.%d", gpu->driver / 1000, gpu->driver % 1000 / 10);
    if (!self.has_gpu)
        rt_text_add(&mine, "no GPU (%s)", self.why_not.text);
    int64_t lines;
    rt_text_t *all = rt_comm_gather(&mine, 1, sizeof mine, &lines);
    for (int64_t i = 0; i < lines; i++)
        fprintf(out, "%s\n", all[i].text);
    free(all);
}
