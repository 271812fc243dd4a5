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
#include <string.h>

#include "measure/ceiling_loops.h"
#include "machine/comm.h"
#include "base/error.h"
#include "machine/kokkos.h"
#include "base/mem.h"
#include "machine/timer.h"

/* Returns the loops for the processor on which rungs of this kind run; NULL for a GPU that only
 * Kokkos reaches, which nothing here can measure. */
static const rt_loops_t *loops_of(rt_kind_t kind)
{
    const bool kokkos_on_gpu = kind == RT_KOKKOS && rt_kokkos_on_gpu();
#if RT_HAVE_CUDA
    if (rt_device_gpu() && (kind == RT_CUDA || kokkos_on_gpu))
        return &rt_loops_cuda;
#endif
    return kokkos_on_gpu ? NULL : &rt_loops_host;
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
    int arrays;
    rt_expected_t expected; /* in array 0, when array k was set with label k */
} stream_loop[RT_LOOPS] = {
    [RT_LOOP_COPY] = {"copy", 2, {1, 1, 0}},
    [RT_LOOP_TRIAD] = {"triad", 3, {1, 2, RT_TRIAD_SCALE}},
    [RT_LOOP_READ] = {"read", 8, {1, 7, 1}},
};

typedef struct {
    const rt_loops_t *loops;
    rt_loop_t loop;
    int shape;
    rt_streams_t streams;
} stream_task_t;

static void stream_once(void *what)
{
    const stream_task_t *t = what;
    t->loops->pass(t->loop, t->shape, &t->streams);
}

/* Arrays whose distance is a multiple of a page would compete for the same few sets of a cache. A
 * little more than whole pages keeps eight of them apart. */
enum { PAGE = 4096, STAGGER = 1280 };

/* Returns the bytes from one array of n items to the next. */
static size_t array_distance(size_t n)
{
    return (n * sizeof(double) + PAGE - 1) / PAGE * PAGE + STAGGER;
}

/* Returns bytes per second, counting 8 for each item read and 8 for each item written. */
static double stream_rate(const rt_loops_t *loops, rt_loop_t loop, size_t working_set,
                          double budget)
{
    const int arrays = stream_loop[loop].arrays;
    size_t n = working_set / (sizeof(double) * (size_t)arrays);
    n = n < 2 ? 2 : n / 2 * 2;
    const size_t distance = array_distance(n);
    char *block = rt_alloc((size_t)arrays, distance, loops->space);
    stream_task_t task = {.loops = loops, .loop = loop, .streams.n = n};
    for (int k = 0; k < arrays; k++) {
        task.streams.array[k] = (double *)(void *)(block + (size_t)k * distance);
        loops->set(task.streams.array[k], n, k);
    }

    double best = INFINITY;
    rt_comm_barrier(); /* ranks of one host share its memory, so all measure at the same time */
    for (task.shape = 0; task.shape < loops->shapes; task.shape++) {
        rt_fill(task.streams.array[0], loops->space, 0xff, n * sizeof(double)); /* NaN */
        const double seconds =
            best_time(loops, (task_t){.once = stream_once, .what = &task}, budget / loops->shapes);
        best = seconds < best ? seconds : best;
        const double wrong = loops->wrong(task.streams.array[0], n, stream_loop[loop].expected);
        RT_EXPECT(wrong == 0, RT_INVALID, "ceiling loop %s, shape %d: %.0f of %zu items are wrong",
                  stream_loop[loop].name, task.shape, wrong, n);
    }
    rt_free(block, loops->space);
    return (double)n * sizeof(double) * arrays / best;
}

/* ---- arithmetic ---- */

typedef struct {
    const rt_loops_t *loops;
    int bits, shape;
} fma_task_t;

/* Multiplies numbers with many digits that stay near 1, as a real kernel does. */
static void fma_once(void *what)
{
    const fma_task_t *t = what;
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

static double fma_rate(const rt_loops_t *loops, int bits, double budget)
{
    double best = 0;
    rt_comm_barrier();
    for (int shape = 0; shape < loops->fma_shapes; shape++) {
        fma_check(loops, bits, shape);
        fma_task_t task = {loops, bits, shape};
        const double seconds =
            best_time(loops, (task_t){.once = fma_once, .what = &task}, budget / loops->fma_shapes);
        const double rate = 2.0 * RT_FMA_STEPS * loops->fma_lanes(bits, shape) / seconds;
        best = rate > best ? rate : best;
    }
    return best;
}

/* ---- messages ---- */

/* Sends a message from rank 0 to rank 1 and back, `trips` times; returns seconds one way. The first
 * and the last byte are a serial number, so that no message can be taken for another. */
static double ping_pong(rt_request_t *request, unsigned char *data, size_t bytes, int trips)
{
    const int me = rt_comm_rank(), other = 1 - me, tag = 77;
    const double begin = rt_clock();
    for (int i = 0; i < trips; i++) {
        if (me == 0) {
            data[0] = data[bytes - 1] = (unsigned char)i;
            rt_request_send(request, data, bytes, other, tag);
            rt_request_wait(request);
        }
        /* spoiled, so that only a message that arrives can set it */
        data[0] = data[bytes - 1] = (unsigned char)(me == 0 ? i + 1 : i - 1);
        rt_request_recv(request, data, bytes, other, tag);
        rt_request_wait(request);
        RT_EXPECT(data[0] == (unsigned char)i && data[bytes - 1] == (unsigned char)i, RT_INVALID,
                  "message %d of the ping-pong of %zu bytes has another serial number", i, bytes);
        if (me == 1) {
            rt_request_send(request, data, bytes, other, tag);
            rt_request_wait(request);
        }
    }
    return (rt_clock() - begin) / (2.0 * trips);
}

enum { ROUNDS = 5 };

/* Returns the best of ROUNDS rounds, in seconds one way; the same on all ranks. */
static double ping_pong_best(size_t bytes, int trips)
{
    double best = 0;
    rt_comm_barrier();
    if (rt_comm_rank() < 2) {
        unsigned char *data = RT_NEW(unsigned char, bytes, RT_HOST);
        memset(data, 0, bytes);
        rt_request_t *request = rt_request_new(1);
        ping_pong(request, data, bytes, trips); /* connections are made by the first message */
        best = INFINITY;
        for (int round = 0; round < ROUNDS; round++) {
            const double seconds = ping_pong(request, data, bytes, trips);
            best = seconds < best ? seconds : best;
        }
        rt_request_destroy(request);
        rt_free(data, RT_HOST);
    }
    rt_comm_bcast(&best, sizeof best, 0);
    return best;
}

/* ---- the interface ---- */

/* A CPU's bandwidth is the same for all sizes far above its caches, and filling the whole memory of
 * a large server takes minutes. */
static const size_t most_host_bytes = (size_t)8 << 30;

/* Returns `wanted`, or less: what may be taken while the app's own arrays are allocated. */
static size_t affordable(const rt_loops_t *loops, size_t wanted)
{
    const size_t least = 65536;
    size_t room = rt_mem_available(loops->space) / 10 * 9;
    if (loops->space != RT_DEVICE) {
        room /= (size_t)rt_comm_local_size();
        room = room < most_host_bytes ? room : most_host_bytes;
    }
    const size_t bytes = wanted < room ? wanted : room;
    return bytes > least ? bytes : least;
}

void rt_ceiling_measure(rt_kind_t kind, size_t working_set, double seconds, rt_ceilings_t *out)
{
    const rt_loops_t *loops = loops_of(kind);
    memset(out, 0, sizeof *out);
    out->kind = kind;
    if (loops) {
        const double budget = seconds / 5; /* three loops over memory, two of arithmetic */
        out->working_set = affordable(loops, working_set);
        loops->open();
        double rate[] = {
            stream_rate(loops, RT_LOOP_COPY, out->working_set, budget),
            stream_rate(loops, RT_LOOP_TRIAD, out->working_set, budget),
            stream_rate(loops, RT_LOOP_READ, out->working_set, budget),
            fma_rate(loops, 64, budget),
            fma_rate(loops, 32, budget),
        };
        loops->close();
        rt_comm_min(rate, 5);
        out->copy = rate[0];
        out->triad = rate[1];
        out->read = rate[2];
        out->fma64 = rate[3];
        out->fma32 = rate[4];
    }
    if (rt_comm_size() > 1) {
        enum { SMALL = 8, SMALL_TRIPS = 200, LARGE = 1 << 20, LARGE_TRIPS = 10 }; /* bytes */
        out->latency = ping_pong_best(SMALL, SMALL_TRIPS);
        out->message = LARGE / ping_pong_best(LARGE, LARGE_TRIPS);
    }
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
    const rt_loops_t *loops = loops_of(kind);
    if (!loops || loads_and_stores <= 0)
        return 0;
    size_t n = bytes / sizeof(double);
    n = n < 2 ? 2 : n / 2 * 2;
    const size_t distance = array_distance(n);
    const size_t fit = affordable(loops, SIZE_MAX) / distance;
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
