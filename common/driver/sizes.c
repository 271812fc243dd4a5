/*
 * driver/sizes.c - how large the problem is, and whether it fits.
 *
 * An app numbers its extents by a scale 1, 2, 3, ... with which memory grows. --size is a target in
 * bytes: the extents are those of the largest scale for which the memory of every rung that is
 * asked for stays below the target, where the rung's arrays are, and all memory fits into what is
 * free.
 */
#include "config.h"
#include <math.h>
#include <string.h>
#include "driver/job.h"
#include "machine/comm.h"

/* Pinned memory is host memory, and so is the memory of a device that is emulated. */
static double sum_host(const double bytes[RT_SPACES])
{
    return bytes[RT_HOST] + bytes[RT_PINNED] + (rt_mem_device_is_emulated() ? bytes[RT_DEVICE] : 0);
}

bool rt_memory_fits(const rt_run_t *run, const rt_rung_t *rung, rt_text_t *text)
{
    double need[RT_SPACES], held[RT_SPACES];
    char a[32], b[32];
    run->app->memory(run, rung, need);
    const double host = sum_host(need), device = rt_mem_device_is_emulated() ? 0 : need[RT_DEVICE];
    /* `need` includes what this rank holds already, such as a problem that rungs share. */
    for (int s = 0; s < RT_SPACES; s++)
        held[s] = (double)rt_mem_used((rt_space_t)s);
    const double host_free =
        (double)rt_mem_available(RT_HOST) / rt_comm_local_size() + sum_host(held);
    const double device_free =
        device > 0 ? (double)rt_mem_available(RT_DEVICE) + held[RT_DEVICE] : INFINITY;
    double too_much = host > host_free || device > device_free;
    rt_comm_max(&too_much, 1);
    rt_text(text, "host %s of %s free", rt_mem_format(host, a, sizeof a),
            rt_mem_format(host_free, b, sizeof b));
    if (device > 0)
        rt_text_add(text, ", device %s of %s free", rt_mem_format(device, a, sizeof a),
                    rt_mem_format(device_free, b, sizeof b));
    return too_much == 0;
}

typedef struct {
    const char *name;
    double bytes, share; /* of the free memory, if bytes is 0 */
} target_t;
static const target_t targets[] = {{.name = "tiny", .bytes = 0x1p26},
                                   {.name = "small", .bytes = 0x1p30},
                                   {.name = "medium", .bytes = 0x1p33},
                                   {.name = "large", .share = 0.5},
                                   {.name = "full", .share = 0.87}};

static const target_t *find_target(const char *name)
{
    for (size_t i = 0; i < sizeof targets / sizeof *targets; i++)
        if (strcmp(name, targets[i].name) == 0)
            return &targets[i];
    rt_refuse(RT_USAGE, "--size %s: use tiny, small, medium, large or full", name);
}

void rt_size_check(const char *name)
{
    find_target(name);
}

/* Returns the bytes that a rank may use for --size, in the memory where the rungs' arrays are. */
static double size_target(const rt_run_t *run)
{
    const target_t *target = find_target(run->opt.size);
    rt_space_t space = rt_device_gpu() ? RT_DEVICE : RT_HOST;
    const rt_rung_t *rung = rt_run_asked(run);
    if (rung && rt_rung_processor(rung) == RT_CPU)
        space = RT_HOST;
    double free_bytes = (double)rt_mem_available(space);
    if (space == RT_HOST)
        free_bytes /= rt_comm_local_size();
    rt_comm_min(&free_bytes, 1);
    return target->bytes > 0 ? target->bytes : target->share * free_bytes;
}

/* Returns whether the current extents are within the target and the free memory on every rank, for
 * all rungs that are asked for and can run. Collective. */
static bool extents_fit(const rt_run_t *run, double target)
{
    const rt_rung_t *asked = rt_run_asked(run);
    double most = 0;
    bool fits = true;
    for (int i = 0; i < run->app->n_rungs; i++) {
        const rt_rung_t *rung = &run->app->ladder[i];
        double bytes[RT_SPACES];
        rt_text_t text;
        if ((asked && asked != rung) || rt_rung_why_not(rung) ||
            rt_rung_refuse(rung, run->config, &text))
            continue;
        run->app->memory(run, rung, bytes);
        most = fmax(most, bytes[rt_rung_space(rung)]);
        fits = rt_memory_fits(run, rung, &text) && fits;
    }
    rt_comm_max(&most, 1);
    return fits && most <= target;
}

static bool scale_fits(rt_run_t *run, int64_t scale, double target)
{
    return run->app->extents(run, scale) && extents_fit(run, target);
}

void rt_run_configure(rt_run_t *run)
{
    rt_input_destroy(run);
    run->app->configure(run);
    rt_tuning_resolve(run);
}

/* Scale 1 is taken even if it does not fit: the rungs then say what they lack. */
void rt_run_size(rt_run_t *run, double target_bytes)
{
    int64_t low = 1, high = 2; /* low: fits; high: does not */
    rt_input_destroy(run);
    while (high < INT64_MAX / 2 && scale_fits(run, high, target_bytes)) {
        low = high;
        high *= 2;
    }
    while (high - low > 1) {
        const int64_t middle = low + (high - low) / 2;
        if (scale_fits(run, middle, target_bytes))
            low = middle;
        else
            high = middle;
    }
    run->app->extents(run, low);
    rt_run_configure(run);
}

/* Refuses a ladder with a rung whose work the app does not count: its rates would be wrong. */
static void check_work(const rt_run_t *run)
{
    const rt_app_t *app = run->app;
    for (int i = 0; i < app->n_rungs; i++) {
        rt_work_t work;
        app->work(run, &app->ladder[i], &work);
        if (work.n == 0)
            rt_refuse(RT_USAGE, "%s is in ladder.def, and work.c of %s has no row for it: add one",
                      app->ladder[i].name, app->name);
    }
}

void rt_run_choose_size(rt_run_t *run)
{
    if (run->opt.size && !rt_run_has_extents(run))
        rt_run_size(run, size_target(run));
    else
        rt_run_configure(run);
    check_work(run);
}
