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

/* Work that can be repeated. */
typedef struct {
    void (*once)(void *what);
    void *what;
} task_t;

/* Returns seconds per repeat. */
static double window(const rt_loops_t *loops, task_t task, long repeats)
{
    loops->start();
    for (long i = 0; i < repeats; i++)
        task.once(task.what);
    return loops->stop() / (double)repeats;
}

enum { WINDOWS = 5, MOST_REPEATS = 1000000 };
static const double least_time = 1e-9; /* what a clock can tell from nothing */

/* Returns the least seconds per repeat, over windows of many repeats that together last about
 * `budget`. There is at least one warm-up and one window of one repeat. */
static double best_time(const rt_loops_t *loops, task_t task, double budget)
{
    const double deadline = rt_clock() + budget;
    window(loops, task, 1);
    double best = window(loops, task, 1);
    /* Each of the WINDOWS is long compared with the clock's resolution. If the first time was a bad
     * guess, the next window corrects it. */
    while (rt_clock() < deadline) {
        const double fit = best > 0 ? budget / WINDOWS / best : 1e4;
        const long repeats = fit < 1 ? 1 : fit > MOST_REPEATS ? MOST_REPEATS : (long)fit;
        const double seconds = window(loops, task, repeats);
        best = seconds < best || best <= 0 ? seconds : best;
    }
    return best > least_time ? best : least_time;
}

/* ---- bandwidth ---- */

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

static void stream_once(void *what)
{
    const rt_stream_loop_t *s = what;
    s->loops->pass(s->loop, s->shape, &s->streams);
}

/* Arrays whose distance is a multiple of a page would compete for the same few sets of a cache. A
 * little more than whole pages keeps eight of them apart. */
enum { PAGE = 4096, STAGGER = 1280 };

/* Returns the bytes from one array of n items to the next. */
static size_t array_distance(size_t n)
{
    return (n * sizeof(double) + PAGE - 1) / PAGE * PAGE + STAGGER;
}

static rt_stream_loop_t stream_new(const rt_loops_t *loops, rt_loop_t loop, size_t working_set)
{
    const int arrays = stream_loop[loop].arrays;
    size_t n = working_set / (sizeof(double) * (size_t)arrays);
    n = n < 2 ? 2 : n / 2 * 2;
    const size_t distance = array_distance(n);
    rt_stream_loop_t s = {
        .loops = loops, .loop = loop, .streams.n = n, .bytes = (size_t)arrays * distance};
    s.block = rt_alloc((size_t)arrays, distance, loops->space);
    for (int k = 0; k < arrays; k++) {
        s.streams.array[k] = (double *)(void *)(s.block + (size_t)k * distance);
        loops->set(s.streams.array[k], n, k);
    }
    return s;
}

/* Returns bytes per second of the loop in its present shape, counting 8 for each item read and 8
 * for each item written. */
static double stream_rate(rt_stream_loop_t *s, double budget)
{
    const size_t n = s->streams.n;
    const rt_loops_t *loops = s->loops;
    double *written = s->streams.array[0];
    if (s->loop == RT_LOOP_UPDATE)
        loops->set(written, n, 2);
    else
        rt_fill(written, loops->space, 0xff, n * sizeof(double)); /* NaN */
    const double seconds = best_time(loops, (task_t){.once = stream_once, .what = s}, budget);
    /* Two updates bring the first values back. */
    if (s->loop == RT_LOOP_UPDATE && loops->wrong(written, n, (rt_expected_t){2, 1, 0}) == 0)
        stream_once(s);
    const double wrong = loops->wrong(written, n, stream_loop[s->loop].expected);
    RT_EXPECT(wrong == 0, RT_INVALID, "ceiling loop %s, shape %d: %.0f of %zu items are wrong",
              stream_loop[s->loop].name, s->shape, wrong, n);
    return (double)n * sizeof(double) * stream_loop[s->loop].moved / seconds;
}

/* Tries all shapes. Leaves the loop in the fastest of this and earlier calls, with its rate. */
static void stream_try(rt_stream_loop_t *s, double budget)
{
    const int shapes = s->loops->shapes;
    rt_stream_loop_t now = *s;
    rt_comm_barrier(); /* ranks of one host share its memory, so all measure at the same time */
    for (now.shape = 0; now.shape < shapes; now.shape++) {
        const double rate = stream_rate(&now, budget / shapes);
        if (rate > s->rate) {
            s->rate = rate;
            s->shape = now.shape;
        }
    }
}

static void stream_destroy(const rt_stream_loop_t *s)
{
    rt_free(s->block, s->loops->space);
}

/* ---- arithmetic ---- */

/* Multiplies numbers with many digits that stay near 1, as a real kernel does. */
static void fma_once(void *what)
{
    const rt_fma_loop_t *t = what;
    t->loops->fma(t->bits, t->shape, -0.9990234375, 1.99951171875, RT_FMA_STEPS);
}

/* Makes the accumulators count: with a = b = 1, `steps` steps must add exactly `steps` to each. */
static void fma_check(const rt_loops_t *loops, int bits, int shape)
{
    const double lanes = loops->fma_lanes(bits, shape);
    loops->fma(bits, shape, 1, 1, 0);
    const double start = loops->fma_sum();
    loops->fma(bits, shape, 1, 1, RT_FMA_STEPS);
    const double counted = (loops->fma_sum() - start) / lanes;
    RT_EXPECT(counted == RT_FMA_STEPS, RT_INVALID,
              "ceiling loop fma%d, shape %d: asked for %d steps, %g were made", bits, shape,
              RT_FMA_STEPS, counted);
}

/* Returns flop per second of the task in its present shape. */
static double fma_rate(rt_fma_loop_t *task, double budget)
{
    const double seconds = best_time(task->loops, (task_t){.once = fma_once, .what = task}, budget);
    return 2.0 * RT_FMA_STEPS * task->loops->fma_lanes(task->bits, task->shape) / seconds;
}

/* Tries all shapes. Leaves the task in the fastest of this and earlier calls, with its rate. */
static void fma_try(rt_fma_loop_t *task, double budget)
{
    const int shapes = task->loops->fma_shapes;
    rt_fma_loop_t now = *task;
    rt_comm_barrier();
    for (now.shape = 0; now.shape < shapes; now.shape++) {
        fma_check(now.loops, now.bits, now.shape);
        const double rate = fma_rate(&now, budget / shapes);
        if (rate > task->rate) {
            task->rate = rate;
            task->shape = now.shape;
        }
    }
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

/* Measures the arithmetic; again, if something has disturbed it. */
static void measure_arithmetic(rt_fastest_t *tasks, double budget, double rate[RT_RATES])
{
    int tries = 0;
    do {
        fma_try(&tasks->fma64, budget);
        fma_try(&tasks->fma32, budget);
        rate[RT_RATE_FMA64] = tasks->fma64.rate;
        rate[RT_RATE_FMA32] = tasks->fma32.rate;
        rt_comm_min(&rate[RT_RATE_FMA64], 2);
    } while (is_contradiction(rate) && ++tries < RT_CEILING_TRIES);
}

void rt_loops_measure(const rt_loops_t *loops, size_t working_set, double seconds,
                      double rate[RT_RATES], rt_fastest_t *keep)
{
    rt_fastest_t made = {.fma64 = {.loops = loops, .bits = 64},
                         .fma32 = {.loops = loops, .bits = 32}};
    const int streams = loops->write_allocate ? RT_LOOPS : RT_LOOP_UPDATE;
    const double budget = seconds / (streams + 2); /* and two loops of arithmetic */
    double best = 0;
    rate[RT_LOOP_UPDATE] = 0;
    for (int loop = 0; loop < streams; loop++) {
        rt_stream_loop_t s = stream_new(loops, (rt_loop_t)loop, working_set);
        stream_try(&s, budget);
        rate[loop] = s.rate;
        rt_comm_min(&rate[loop], 1);
        const bool fastest = keep && rate[loop] > best;
        if (fastest && best > 0)
            stream_destroy(&made.stream);
        if (fastest) {
            made.stream = s;
            best = rate[loop];
        } else {
            stream_destroy(&s);
        }
    }
    measure_arithmetic(&made, budget, rate);
    if (keep)
        *keep = made;
}

void rt_ceilings_raise(rt_ceilings_t *c, const double rate[RT_RATES])
{
    c->copy = fmax(c->copy, rate[RT_LOOP_COPY]);
    c->triad = fmax(c->triad, rate[RT_LOOP_TRIAD]);
    c->read = fmax(c->read, rate[RT_LOOP_READ]);
    c->update = fmax(c->update, rate[RT_LOOP_UPDATE]);
    c->fma64 = fmax(c->fma64, rate[RT_RATE_FMA64]);
    /* What FP64 does FP32 can do too. */
    c->fma32 = fmax(c->fma32, fmax(rate[RT_RATE_FMA32], rate[RT_RATE_FMA64]));
    c->samples++;
}

void rt_fastest_measure(rt_fastest_t *f, double budget, double rate[RT_RATES])
{
    double now[] = {stream_rate(&f->stream, budget / 2), fma_rate(&f->fma64, budget / 4),
                    fma_rate(&f->fma32, budget / 4)};
    rt_comm_min(now, 3);
    rate[f->stream.loop] = fmax(rate[f->stream.loop], now[0]);
    rate[RT_RATE_FMA64] = fmax(rate[RT_RATE_FMA64], now[1]);
    rate[RT_RATE_FMA32] = fmax(rate[RT_RATE_FMA32], now[2]);
}

void rt_fastest_destroy(rt_fastest_t *f)
{
    if (f->stream.block)
        stream_destroy(&f->stream);
    f->stream.block = NULL;
    f->stream.bytes = 0;
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
    return fmax(fmax(c->copy, c->triad), fmax(c->read, c->update));
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
    double slowest = best_time(loops, (task_t){.once = replay_once, .what = &r}, seconds) / 2;
    replay_check(&r);
    loops->close();
    rt_free(r.array, RT_HOST);
    rt_free(r.label, RT_HOST);
    rt_free(block, loops->space);
    rt_comm_max(&slowest, 1);
    return slowest;
}
