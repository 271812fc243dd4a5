/*
 * measure/ceiling.c - how ceilings are measured, whatever the processor.
 *
 * Idea: a ceiling is the best rate that was seen, while an app's figure is a median. So a share
 * above 100 % means that the ceiling's loop is not good enough and needs a look. Every loop shows
 * that it did its work: the streams by every item they wrote, the multiply-adds by counting their
 * own steps. So a loop that the compiler dropped is found out, not reported as fast.
 */
#include "config.h"
#include "measure/ceiling.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>

#include "measure/ceiling_loops.h"
#include "machine/comm.h"
#include "base/error.h"
#include "machine/device.h"
#include "base/mem.h"
#include "machine/timer.h"

const rt_loops_t *rt_loops_of(rt_kind_t kind)
{
#if RT_HAVE_CUDA
    const rt_loops_t *of_gpu = &rt_loops_cuda;
#elif RT_HAVE_KOKKOS
    const rt_loops_t *of_gpu = &rt_loops_kokkos;
#else
    const rt_loops_t *of_gpu = &rt_loops_host;
#endif
    return rt_device_gpu() && rt_kind_on_gpu(kind) ? of_gpu : &rt_loops_host;
}

/* ---- timing ---- */

/* Returns seconds per repeat. */
static double window(const rt_loops_t *loops, rt_repeat_t work, long repeats)
{
    loops->start();
    for (long i = 0; i < repeats; i++)
        work.once(work.what);
    return loops->stop() / (double)repeats;
}

enum { WINDOWS = 5, MOST_REPEATS = 1000000 };
static const double least_time = 1e-9; /* what a clock can tell from nothing */

double rt_best_time(const rt_loops_t *loops, rt_repeat_t work, double budget)
{
    const double deadline = rt_clock() + budget;
    window(loops, work, 1);
    double best = window(loops, work, 1);
    /* Each of the WINDOWS is long compared with the clock's resolution. If the first time was a bad
     * guess, the next window corrects it. */
    while (rt_clock() < deadline) {
        const double fit = best > 0 ? budget / WINDOWS / best : 1e4;
        const long repeats = fit < 1 ? 1 : fit > MOST_REPEATS ? MOST_REPEATS : (long)fit;
        const double seconds = window(loops, work, repeats);
        best = seconds < best || best <= 0 ? seconds : best;
    }
    return best > least_time ? best : least_time;
}

/* ---- loops ---- */

static const struct {
    const char *name;
    int arrays, moved;      /* arrays; items read and written, for each item of array 0 */
    rt_expected_t expected; /* in array 0, when array k was set with label k */
} stream_loop[RT_LOOPS] = {
    [RT_LOOP_COPY] = {"copy", 2, 2, {1, 1, 0}},
    [RT_LOOP_TRIAD] = {"triad", 3, 3, {1, 2, RT_TRIAD_SCALE}},
    [RT_LOOP_READ] = {"read", 8, 8, {1, 7, 1}},
    [RT_LOOP_UPDATE] = {"update", 2, 3, {1, 2, -1}}, /* array 0 with label 2 at the start */
};

static int bits_of(const rt_task_t *t)
{
    return t->what == RT_RATE_FMA64 ? 64 : 32;
}

/* Arrays whose distance is a multiple of a page would compete for the same few sets of a cache. A
 * little more than whole pages keeps eight of them apart. */
enum { PAGE = 4096, STAGGER = 1280 };

/* Returns the bytes from one array of n items to the next. */
static size_t array_distance(size_t n)
{
    return (n * sizeof(double) + PAGE - 1) / PAGE * PAGE + STAGGER;
}

static rt_task_t stream_new(const rt_loops_t *loops, int what, size_t working_set)
{
    const int arrays = stream_loop[what].arrays;
    size_t n = working_set / (sizeof(double) * (size_t)arrays);
    n = n < 2 ? 2 : n / 2 * 2;
    const size_t distance = array_distance(n);
    rt_task_t t = {
        .loops = loops, .what = what, .streams.n = n, .bytes = (size_t)arrays * distance};
    t.block = rt_alloc((size_t)arrays, distance, loops->space);
    for (int k = 0; k < arrays; k++) {
        t.streams.array[k] = (double *)(void *)(t.block + (size_t)k * distance);
        loops->set(t.streams.array[k], n, k);
    }
    return t;
}

/* Runs a loop once. The arithmetic multiplies numbers with many digits that stay near 1, as a real
 * kernel does. */
static void task_once(void *task)
{
    const rt_task_t *t = task;
    if (t->what < RT_LOOPS)
        t->loops->pass((rt_loop_t)t->what, t->shape, &t->streams);
    else
        t->loops->fma(bits_of(t), t->shape, -0.9990234375, 1.99951171875, RT_FMA_STEPS);
}

/* Returns bytes per second of the loop in its present shape, counting 8 for each item read and 8
 * for each item written. */
static double stream_rate(rt_task_t *t, double budget)
{
    const size_t n = t->streams.n;
    const rt_loops_t *loops = t->loops;
    double *written = t->streams.array[0];
    if (t->what == RT_LOOP_UPDATE)
        loops->set(written, n, 2);
    else
        rt_fill(written, loops->space, 0xff, n * sizeof(double)); /* NaN */
    const double seconds = rt_best_time(loops, (rt_repeat_t){.once = task_once, .what = t}, budget);
    /* Two updates bring the first values back. */
    if (t->what == RT_LOOP_UPDATE && loops->wrong(written, n, (rt_expected_t){2, 1, 0}) == 0)
        task_once(t);
    const double wrong = loops->wrong(written, n, stream_loop[t->what].expected);
    RT_EXPECT(wrong == 0, RT_INVALID, "ceiling loop %s, shape %d: %.0f of %zu items are wrong",
              stream_loop[t->what].name, t->shape, wrong, n);
    return (double)n * sizeof(double) * stream_loop[t->what].moved / seconds;
}

/* Returns flop per second in the present shape. First makes the accumulators count: with a = b = 1,
 * `steps` steps must add exactly `steps` to each. */
static double fma_rate(rt_task_t *t, double budget)
{
    const rt_loops_t *loops = t->loops;
    const int bits = bits_of(t);
    const double lanes = loops->fma_lanes(bits, t->shape);
    loops->fma(bits, t->shape, 1, 1, 0);
    const double start = loops->fma_sum();
    loops->fma(bits, t->shape, 1, 1, RT_FMA_STEPS);
    const double counted = (loops->fma_sum() - start) / lanes;
    RT_EXPECT(counted == RT_FMA_STEPS, RT_INVALID,
              "ceiling loop fma%d, shape %d: asked for %d steps, %g were made", bits, t->shape,
              RT_FMA_STEPS, counted);
    return 2.0 * RT_FMA_STEPS * lanes /
           rt_best_time(loops, (rt_repeat_t){.once = task_once, .what = t}, budget);
}

static double task_rate(rt_task_t *t, double budget)
{
    return t->what < RT_LOOPS ? stream_rate(t, budget) : fma_rate(t, budget);
}

/* Tries all shapes. Leaves the task in the fastest of this and earlier calls, with its rate. Returns
 * the least rate of the ranks. */
static double task_try(rt_task_t *t, double budget)
{
    const int shapes = t->what < RT_LOOPS ? t->loops->shapes : t->loops->fma_shapes;
    rt_task_t now = *t;
    rt_comm_barrier(); /* ranks of one host share its memory, so all measure at the same time */
    for (now.shape = 0; now.shape < shapes; now.shape++) {
        const double rate = task_rate(&now, budget / shapes);
        if (rate > t->rate) {
            t->rate = rate;
            t->shape = now.shape;
        }
    }
    double least = t->rate;
    rt_comm_min(&least, 1);
    return least;
}

static void task_destroy(rt_task_t *t)
{
    if (t->block)
        rt_free(t->block, t->loops->space);
    t->block = NULL;
    t->bytes = 0;
}

/* ---- the interface ---- */

/* Bandwidth is the same for all sizes far above the caches, and filling the whole memory of a large
 * server takes minutes. */
static const size_t most_host_bytes = (size_t)2 << 30, most_device_bytes = (size_t)8 << 30;

size_t rt_loops_affordable(const rt_loops_t *loops, size_t wanted)
{
    size_t room = rt_mem_available(loops->space) / 10 * 9, most = most_device_bytes;
    if (loops->space != RT_DEVICE) {
        room /= (size_t)rt_comm_local_size();
        most = most_host_bytes / (size_t)rt_comm_local_size();
    }
    room = room < most ? room : most;
    const size_t bytes = wanted < room ? wanted : room;
    return bytes > RT_LEAST_SET ? bytes : RT_LEAST_SET;
}

/* Returns whether FP32 seems slower than FP64, which it is on no processor. */
static bool is_contradiction(const double rate[RT_RATES])
{
    return rate[RT_RATE_FMA32] < (1 - RT_CEILING_NOISE) * rate[RT_RATE_FMA64];
}

void rt_loops_measure(const rt_loops_t *loops, size_t working_set, double seconds,
                      double rate[RT_RATES], rt_task_t keep[RT_SAMPLED])
{
    rt_task_t made[RT_SAMPLED] = {
        {0}, {.loops = loops, .what = RT_RATE_FMA64}, {.loops = loops, .what = RT_RATE_FMA32}};
    const int streams = loops->write_allocate ? RT_LOOPS : RT_LOOP_UPDATE;
    const double budget = seconds / (streams + 2); /* and two loops of arithmetic */
    int tries = 0;
    rate[RT_LOOP_UPDATE] = 0;
    for (int what = 0; what < streams; what++) {
        rt_task_t t = stream_new(loops, what, working_set);
        rate[what] = task_try(&t, budget);
        const bool fastest = keep && (what == 0 || rate[what] > rate[made[0].what]);
        task_destroy(fastest ? &made[0] : &t);
        if (fastest)
            made[0] = t;
    }
    do { /* again, if something has disturbed it */
        rate[RT_RATE_FMA64] = task_try(&made[1], budget);
        rate[RT_RATE_FMA32] = task_try(&made[2], budget);
    } while (is_contradiction(rate) && ++tries < RT_CEILING_TRIES);
    for (int k = 0; keep && k < RT_SAMPLED; k++)
        keep[k] = made[k];
}

void rt_ceilings_raise(rt_ceilings_t *c, const double rate[RT_RATES])
{
    for (int i = 0; i < RT_RATES; i++)
        c->rate[i] = fmax(c->rate[i], rate[i]);
    /* What FP64 does FP32 can do too. */
    c->rate[RT_RATE_FMA32] = fmax(c->rate[RT_RATE_FMA32], rate[RT_RATE_FMA64]);
    c->samples++;
}

void rt_fastest_measure(rt_task_t fastest[RT_SAMPLED], double budget, double rate[RT_RATES])
{
    double now[RT_SAMPLED];
    for (int k = 0; k < RT_SAMPLED; k++)
        now[k] = task_rate(&fastest[k], budget / (k == 0 ? 2 : 4));
    rt_comm_min(now, RT_SAMPLED);
    for (int k = 0; k < RT_SAMPLED; k++)
        rate[fastest[k].what] = fmax(rate[fastest[k].what], now[k]);
}

void rt_fastest_destroy(rt_task_t fastest[RT_SAMPLED])
{
    for (int k = 0; k < RT_SAMPLED; k++)
        task_destroy(&fastest[k]);
}

void rt_ceiling_measure(rt_kind_t kind, size_t working_set, double seconds, rt_ceilings_t *out)
{
    const rt_loops_t *loops = rt_loops_of(kind);
    double rate[RT_RATES];
    *out = (rt_ceilings_t){.kind = kind};
    out->working_set = rt_loops_affordable(loops, working_set);
    loops->open();
    rt_loops_measure(loops, out->working_set, seconds, rate, NULL);
    loops->close();
    rt_ceilings_raise(out, rate);
}

double rt_bandwidth_ceiling(const rt_ceilings_t *c)
{
    double most = 0;
    for (int loop = 0; loop < RT_LOOPS; loop++)
        most = fmax(most, c->rate[loop]);
    return most;
}

/* ---- replay ---- */

typedef struct {
    const rt_loops_t *loops;
    double **array; /* [arrays] */
    int *label;     /* [arrays] label of the values that array k holds now */
    int arrays, copies;
    size_t n;
    long next; /* number of the next copy */
} replay_t;

/* Makes one iteration of the app as copies. Source and destination go round the arrays half a turn
 * apart, so what is read has not been touched for as long as in the app. */
static void replay_once(void *what)
{
    replay_t *r = what;
    for (int i = 0; i < r->copies; i++, r->next++) {
        const int src = (int)(r->next % r->arrays), dst = (src + r->arrays / 2) % r->arrays;
        r->loops->copy(r->array[dst], r->array[src], r->n);
        r->label[dst] = r->label[src];
    }
}

static void replay_check(const replay_t *r)
{
    for (int k = 0; k < r->arrays; k++) {
        const rt_expected_t expected = {r->label[k], 1, 0};
        const double wrong = r->loops->wrong(r->array[k], r->n, expected);
        RT_EXPECT(wrong == 0, RT_INVALID, "replay: %.0f of %zu items of array %d are wrong", wrong,
                  r->n, k);
    }
}

double rt_ceiling_replay(rt_kind_t kind, int loads_and_stores, int distinct, size_t bytes,
                         double seconds)
{
    const rt_loops_t *loops = rt_loops_of(kind);
    if (loads_and_stores <= 0)
        return 0;
    size_t n = bytes / sizeof(double);
    n = n < 2 ? 2 : n / 2 * 2;
    const size_t distance = array_distance(n);
    const size_t fit = rt_loops_affordable(loops, SIZE_MAX) / distance;
    int arrays = distinct < 2 ? 2 : distinct; /* a copy needs two */
    arrays = fit < (size_t)arrays ? (int)fit : arrays;
    arrays = arrays < 2 ? 2 : arrays;

    char *block = rt_alloc((size_t)arrays, distance, loops->space);
    replay_t r = {.loops = loops, .arrays = arrays, .copies = loads_and_stores, .n = n};
    r.array = RT_NEW(double *, (size_t)arrays, RT_HOST);
    r.label = RT_NEW(int, (size_t)arrays, RT_HOST);
    loops->open();
    for (int k = 0; k < arrays; k++) {
        r.array[k] = (double *)(void *)(block + (size_t)k * distance);
        r.label[k] = k;
        loops->set(r.array[k], n, k);
    }
    replay_once(&r); /* while the labels still differ, a copy that does nothing is noticed */
    replay_check(&r);
    rt_comm_barrier();
    double slowest =
        rt_best_time(loops, (rt_repeat_t){.once = replay_once, .what = &r}, seconds) / 2;
    replay_check(&r);
    loops->close();
    rt_free(r.array, RT_HOST);
    rt_free(r.label, RT_HOST);
    rt_free(block, loops->space);
    rt_comm_max(&slowest, 1);
    return slowest;
}
