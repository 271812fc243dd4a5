/* measure/steady.c - two clocks, who else used the cores, and what of it is too much. */
#include "config.h"
#include "measure/steady.h"

#include <dirent.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/error.h"
#include "machine/comm.h"
#include "measure/plausible.h"
#include "machine/cuda.h"

#ifndef CLOCK_MONOTONIC_RAW /* Linux has it; it is not adjusted, as the clock of rt_clock is */
#define CLOCK_MONOTONIC_RAW CLOCK_MONOTONIC
#endif

static double host_seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC_RAW, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
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

/* ---- watching ---- */

static struct {
    double host;
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
    begun.host = host_seconds();
}

/* Returns the GPU's seconds since the start; 0: not on a GPU. */
static double gpu_seconds(void)
{
    double seconds = 0;
#if RT_HAVE_CUDA
    cudaEvent_t now;
    if (begun.on_gpu) {
        RT_CUDA(cudaEventCreate(&now));
        RT_CUDA(cudaEventRecord(now, rt_stream()));
        seconds = rt_cuda_seconds(begun.event, now);
        RT_CUDA(cudaEventDestroy(now));
        RT_CUDA(cudaEventDestroy(begun.event));
        begun.event = NULL;
    }
#endif
    return seconds;
}

void rt_watch_stop(rt_watch_t *out)
{
    const double gpu = gpu_seconds();
    *out = (rt_watch_t){.host = host_seconds() - begun.host, .gpu = gpu};
    waiters_t waiters = waiters_now();
    const ticks_t ticks = host_ticks();
    double most[2] = {0, 0};
    /* One stolen tick may be left of what was stolen before. */
    if (out->host > 0) /* a thread may have waited before the clock was read, and after */
        most[0] = fmin(1, most_waited(&begun.waiters, &waiters) / out->host);
    if (ticks.all > begun.ticks.all)
        most[1] = fmax(0, ticks.stolen - begun.ticks.stolen - 1) / (ticks.all - begun.ticks.all);
    free(waiters.item);
    free(begun.waiters.item);
    begun.waiters = (waiters_t){NULL, 0};
    rt_comm_max(most, 2);
    out->waited = most[0];
    out->stolen = most[1];
}

/* ---- judging ---- */

int rt_unrest_said(const rt_unrest_t *u, rt_text_t said[RT_UNRESTS])
{
    int n = 0;
    if (u->spread > RT_MOST_SPREAD)
        rt_text(&said[n++], "windows differ by %.1f %%", 100 * u->spread);
    if (u->waited > RT_MOST_WAITED)
        rt_text(&said[n++], "other programs held a thread's core for %.1f %% of the time",
                100 * u->waited);
    if (u->stolen > RT_MOST_STOLEN)
        rt_text(&said[n++], "the hypervisor took %.1f %% of the cores' time", 100 * u->stolen);
    if (u->slowed > RT_MOST_SLOWED)
        rt_text(&said[n++], "the ceilings were %.0f %% below those of the rest of this job",
                100 * u->slowed);
    if (u->share > RT_MOST_SHARE)
        rt_text(&said[n++], "faster than the ceilings, which were not steady either");
    return n;
}

bool rt_steady(const rt_unrest_t *u)
{
    rt_text_t said[RT_UNRESTS];
    return rt_unrest_said(u, said) == 0;
}
