/*
 * machine/timer.c - a tree of timers: CUDA events if the work is on the stream, else the host's
 * clock.
 *
 * Idea: a device timer only records an event in the stream at each end. The events are read when
 * the results are asked for, so timing many kernels never makes the host wait between them.
 * A host timer waits for the device at both ends. Otherwise a timer around device work would show
 * the time of the launches, and the next one would pay for the work.
 * Price: the host timers of a profiled pass remove overlap between host and device. The figure of
 * merit is therefore never measured with timers on.
 */
#include "config.h"
#include "machine/timer.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>
#if RT_HAVE_NVTX
#include <nvtx3/nvToolsExt.h>
#endif
#if RT_HAVE_CALIPER
#include <caliper/cali.h>
#endif

#include "base/error.h"
#include "machine/cuda.h"

double rt_clock(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

double rt_window_begin(void)
{
    rt_device_synchronize();
    return rt_clock();
}

double rt_window_end(double begin)
{
    rt_device_synchronize();
    return rt_clock() - begin;
}

static double charged;

void rt_setup_charge(double seconds)
{
    charged += seconds;
}

double rt_setup_take(void)
{
    const double seconds = charged;
    charged = 0;
    return seconds;
}

/* ---- the tree ---- */

typedef struct rt_timer rt_timer_t;
struct rt_timer {
    rt_timer_t *parent, *next; /* next: depth first, below all that is before it */
    rt_timer_result_t total;
    bool on_device; /* the call that is running, as is `began` */
    double began;
#if RT_HAVE_CUDA
    cudaEvent_t start, stop;
#endif
};

static bool enabled;
static rt_timer_t root = {.total.depth = -1}; /* is never timed */
static rt_timer_t *running = &root;           /* innermost */

/* Returns the timer of this name below the one that is running; makes it if there is none. */
static rt_timer_t *child_of_running(const char *name)
{
    rt_timer_t *last = running;
    for (rt_timer_t *t = running->next; t && t->total.depth > running->total.depth; t = t->next) {
        if (t->parent == running && strcmp(t->total.name, name) == 0)
            return t;
        last = t;
    }
    const char *above = running == &root ? "" : running->total.path;
    const size_t room = strlen(above) + strlen(name) + 2;
    rt_timer_t *t = calloc(1, sizeof *t);
    char *path = malloc(room);
    RT_EXPECT(t && path, RT_MEMORY, "out of memory for timer %s", name);
    snprintf(path, room, "%s%s%s", above, *above ? "/" : "", name);
    t->total.path = path;
    t->total.name = path + strlen(path) - strlen(name);
    t->total.depth = running->total.depth + 1;
    t->parent = running;
    t->next = last->next;
    last->next = t;
    return t;
}

static void add_call(rt_timer_t *t, double seconds)
{
    rt_timer_result_t *sum = &t->total;
    sum->min = sum->calls == 0 || seconds < sum->min ? seconds : sum->min;
    sum->max = sum->calls == 0 || seconds > sum->max ? seconds : sum->max;
    sum->sum += seconds;
    sum->calls++;
}

/* ---- calls whose events are recorded but not read yet ---- */

#if RT_HAVE_CUDA

enum { MAX_PENDING = 4096 };
static struct {
    rt_timer_t *timer;
    cudaEvent_t start, stop;
} pending[MAX_PENDING];
static int n_pending;

/* Reads all pending events; waits for the device if needed. */
static void resolve(void)
{
    for (int i = 0; i < n_pending; i++) {
        add_call(pending[i].timer, rt_cuda_seconds(pending[i].start, pending[i].stop));
        RT_CUDA(cudaEventDestroy(pending[i].start));
        RT_CUDA(cudaEventDestroy(pending[i].stop));
    }
    n_pending = 0;
}

#else

/* No timer is on the device. */
static void resolve(void)
{
}

#endif

/* True if this work is ordered on our stream. Kokkos on CPUs is not, nor on a GPU that it alone
 * reaches. */
static bool on_stream(rt_kind_t kind)
{
    return rt_device_stream() && rt_kind_on_gpu(kind);
}

/* ---- ranges that profilers see ---- */

static void range_begin(const char *name)
{
    (void)name;
#if RT_HAVE_NVTX
    nvtxRangePushA(name);
#endif
#if RT_HAVE_CALIPER
    cali_begin_region(name);
#endif
}

static void range_end(const char *name)
{
    (void)name;
#if RT_HAVE_CALIPER
    cali_end_region(name);
#endif
#if RT_HAVE_NVTX
    nvtxRangePop();
#endif
}

/* ---- the interface ---- */

void rt_timer_start(const char *name, rt_kind_t kind)
{
    if (!enabled)
        return;
    range_begin(name);
    rt_timer_t *t = running = child_of_running(name);
    t->on_device = on_stream(kind);
#if RT_HAVE_CUDA
    if (t->on_device) { /* making an event takes longer than recording it: not within what is timed */
        RT_CUDA(cudaEventCreate(&t->start));
        RT_CUDA(cudaEventCreate(&t->stop));
        RT_CUDA(cudaEventRecord(t->start, rt_stream()));
        return;
    }
#endif
    rt_device_synchronize();
    t->began = rt_clock();
}

void rt_timer_stop(const char *name)
{
    if (!enabled)
        return;
    rt_timer_t *t = running;
    RT_EXPECT(t != &root, RT_INVALID, "rt_timer_stop(\"%s\"): no timer is running", name);
    RT_EXPECT(strcmp(t->total.name, name) == 0, RT_INVALID,
              "rt_timer_stop(\"%s\"): the innermost timer is \"%s\"", name, t->total.name);
    if (t->on_device) {
#if RT_HAVE_CUDA
        if (n_pending == MAX_PENDING)
            resolve();
        RT_CUDA(cudaEventRecord(t->stop, rt_stream()));
        pending[n_pending].timer = t;
        pending[n_pending].start = t->start;
        pending[n_pending++].stop = t->stop;
#endif
    } else {
        rt_device_synchronize();
        add_call(t, rt_clock() - t->began);
    }
    running = t->parent;
    range_end(name);
}

void rt_timer_work(double bytes, double flops)
{
    if (!enabled)
        return;
    RT_EXPECT(running != &root, RT_INVALID, "rt_timer_work: no timer is running");
    running->total.bytes += bytes;
    running->total.flops += flops;
}

void rt_timer_credit(const char *name, double bytes, double flops)
{
    resolve(); /* calls are counted when their events are read */
    for (rt_timer_t *t = root.next; t; t = t->next)
        if (strcmp(t->total.name, name) == 0) {
            t->total.bytes += (double)t->total.calls * bytes;
            t->total.flops += (double)t->total.calls * flops;
        }
}

void rt_timer_enable(bool on)
{
    RT_EXPECT(running == &root, RT_INVALID, "rt_timer_enable: timer \"%s\" is running",
              running->total.name);
    enabled = on;
}

bool rt_timer_enabled(void)
{
    return enabled;
}

void rt_timer_reset(void)
{
    RT_EXPECT(running == &root, RT_INVALID, "rt_timer_reset: timer \"%s\" is running",
              running->total.name);
    resolve();
    for (rt_timer_t *t = root.next, *next; t; t = next) {
        next = t->next;
        free((void *)t->total.path);
        free(t);
    }
    root.next = NULL;
}

bool rt_timer_result(int i, rt_timer_result_t *out)
{
    resolve();
    const rt_timer_t *t = root.next;
    for (; t && i > 0; i--)
        t = t->next;
    if (t)
        *out = t->total;
    return t != NULL;
}
