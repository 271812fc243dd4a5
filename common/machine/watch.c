/* machine/watch.c - the other clocks, and who else used the cores. */
#include "config.h"
#include "machine/watch.h"

#include <dirent.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#if defined(__x86_64__) || defined(__i386__)
#include <x86intrin.h>
#endif

#include "base/error.h"
#include "machine/comm.h"
#if RT_HAVE_CUDA
#include "machine/cuda.h"
#endif

/* ---- clocks ---- */

static double seconds_of(clockid_t clock)
{
    struct timespec now;
    clock_gettime(clock, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* Returns the processor's own counter, which runs at a constant rate; 0: it has none that we know. */
static double ticks_now(void)
{
#if defined(__x86_64__) || defined(__i386__)
    return (double)__rdtsc();
#elif defined(__aarch64__)
    uint64_t ticks;
    __asm__ volatile("mrs %0, cntvct_el0" : "=r"(ticks));
    return (double)ticks;
#else
    return 0;
#endif
}

#ifdef CLOCK_MONOTONIC_RAW
#define RAW CLOCK_MONOTONIC_RAW
#else
#define RAW CLOCK_MONOTONIC
#endif

typedef struct {
    double monotonic, raw, realtime, ticks;
} clocks_t;

static clocks_t clocks_now(void)
{
    return (clocks_t){.monotonic = seconds_of(CLOCK_MONOTONIC),
                      .raw = seconds_of(RAW),
                      .realtime = seconds_of(CLOCK_REALTIME),
                      .ticks = ticks_now()};
}

/* ---- waiting threads ---- */

typedef struct {
    long id;
    double waited; /* seconds since it was made */
} waiter_t;

typedef struct {
    waiter_t *item;
    int n;
} waiters_t;

/* Lists the threads of this process; n is 0 where the kernel does not tell. Free item. */
static waiters_t waiters_now(void)
{
    waiters_t list = {NULL, 0};
    DIR *folder = opendir("/proc/self/task");
    for (const struct dirent *entry; folder && (entry = readdir(folder));) {
        char path[64];
        unsigned long long ran, waited;
        const long id = strtol(entry->d_name, NULL, 10);
        snprintf(path, sizeof path, "/proc/self/task/%ld/schedstat", id);
        FILE *file = id > 0 ? fopen(path, "r") : NULL;
        if (!file)
            continue;
        if (fscanf(file, "%llu %llu", &ran, &waited) == 2) {
            list.item = realloc(list.item, (size_t)(list.n + 1) * sizeof *list.item);
            RT_EXPECT(list.item, RT_MEMORY, "out of memory for %d threads", list.n + 1);
            list.item[list.n++] = (waiter_t){id, 1e-9 * (double)waited};
        }
        fclose(file);
    }
    if (folder)
        closedir(folder);
    return list;
}

/* Returns the longest time that one thread waited between the two. */
static double most_waited(const waiters_t *before, const waiters_t *after)
{
    double most = 0;
    for (int i = 0; i < after->n; i++) {
        double waited = after->item[i].waited;
        for (int k = 0; k < before->n; k++)
            if (before->item[k].id == after->item[i].id)
                waited -= before->item[k].waited;
        most = fmax(most, waited);
    }
    return most;
}

/* ---- stolen time ---- */

typedef struct {
    double all, stolen; /* ticks of all cores since the host was started */
} ticks_t;

static ticks_t host_ticks(void)
{
    enum { STOLEN = 7, FIELDS }; /* user nice system idle iowait irq softirq steal */
    ticks_t sum = {0, 0};
    FILE *file = fopen("/proc/stat", "r");
    if (!file || fscanf(file, "cpu") != 0)
        goto out;
    for (int i = 0; i < FIELDS; i++) {
        unsigned long long ticks;
        if (fscanf(file, "%llu", &ticks) != 1)
            break;
        sum.all += (double)ticks;
        sum.stolen += i == STOLEN ? (double)ticks : 0;
    }
out:
    if (file)
        fclose(file);
    return sum;
}

/* ---- the interface ---- */

static struct {
    clocks_t clocks;
    waiters_t waiters;
    ticks_t ticks;
#if RT_HAVE_CUDA
    cudaEvent_t event;
#endif
    bool on_gpu;
} begun;

void rt_watch_start(rt_kind_t processor)
{
    free(begun.waiters.item);
    begun.waiters = waiters_now();
    begun.ticks = host_ticks();
    begun.on_gpu = processor == RT_CUDA && rt_device_gpu();
#if RT_HAVE_CUDA
    rt_device_synchronize();
    if (begun.on_gpu && !begun.event)
        RT_CUDA(cudaEventCreate(&begun.event));
    if (begun.on_gpu)
        RT_CUDA(cudaEventRecord(begun.event, rt_stream()));
#endif
    begun.clocks = clocks_now();
}

/* Returns the GPU's seconds since the start; 0: not on a GPU. */
static double gpu_seconds(void)
{
    float milliseconds = 0;
#if RT_HAVE_CUDA
    cudaEvent_t now;
    if (begun.on_gpu) {
        RT_CUDA(cudaEventCreate(&now));
        RT_CUDA(cudaEventRecord(now, rt_stream()));
        RT_CUDA(cudaEventSynchronize(now));
        RT_CUDA(cudaEventElapsedTime(&milliseconds, begun.event, now));
        RT_CUDA(cudaEventDestroy(now));
        RT_CUDA(cudaEventDestroy(begun.event));
        begun.event = NULL;
    }
#endif
    return 1e-3 * (double)milliseconds;
}

void rt_watch_stop(rt_watch_t *out)
{
    const double gpu = gpu_seconds();
    const clocks_t now = clocks_now();
    const double raw = now.raw - begun.clocks.raw;
    *out = (rt_watch_t){.monotonic = now.monotonic - begun.clocks.monotonic,
                        .raw = raw,
                        .realtime = now.realtime - begun.clocks.realtime,
                        .gpu = gpu};
    if (raw > 0)
        out->tsc_hz = (now.ticks - begun.clocks.ticks) / raw;
    waiters_t waiters = waiters_now();
    const ticks_t ticks = host_ticks();
    double most[2] = {0, 0};
    /* One stolen tick may be left of what was stolen before. */
    if (out->monotonic > 0)
        most[0] = most_waited(&begun.waiters, &waiters) / out->monotonic;
    if (ticks.all > begun.ticks.all)
        most[1] = fmax(0, ticks.stolen - begun.ticks.stolen - 1) / (ticks.all - begun.ticks.all);
    free(waiters.item);
    free(begun.waiters.item);
    begun.waiters = (waiters_t){NULL, 0};
    rt_comm_max(most, 2);
    out->waited = most[0];
    out->stolen = most[1];
}
