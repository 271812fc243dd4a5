/*
 * test_ceiling.c - the loops of the ceilings do their work, notice when it is wrong, and give rates
 * that a machine can have.
 */
#define _GNU_SOURCE /* sched_setaffinity */
#include "config.h"
#include "measure/ceiling.h"

#include <jansson.h>
#include <math.h>
#include <sched.h>
#include <string.h>
#include <unistd.h>

#include "check.h"
#include "driver/job.h"
#include "measure/ceiling_loops.h"
#include "measure/plausible.h"
#include "measure/steady.h"
#include "machine/comm.h"
#include "machine/kokkos.h"
#include "base/mem.h"
#include "base/threads.h"
#include "machine/timer.h"

enum { COPY = RT_LOOP_COPY, TRIAD = RT_LOOP_TRIAD, READ = RT_LOOP_READ, UPDATE = RT_LOOP_UPDATE };
enum { FMA64 = RT_RATE_FMA64, FMA32 = RT_RATE_FMA32 };

static void put(double *x, size_t i, double value, rt_space_t space)
{
    rt_copy(x + i, space, &value, RT_HOST, sizeof value);
}

/* The check of the streams must count every wrong item, above all NaN. */
static void test_wrong(const rt_loops_t *loops)
{
    enum { N = 1001 };
    double *x = RT_NEW(double, N, loops->space);
    const rt_expected_t itself = {3, 1, 0}, another = {4, 1, 0};
    loops->open();
    loops->set(x, N, 3);
    CHECK(loops->wrong(x, N, itself) == 0);
    CHECK(loops->wrong(x, N, another) > 0.99 * N);
    put(x, 0, NAN, loops->space);
    put(x, 500, rt_loop_value(500, 3) * (1 + 2.3e-16), loops->space); /* one bit off */
    put(x, N - 1, 0, loops->space);
    CHECK(loops->wrong(x, N, itself) == 3);
    loops->close();
    rt_free(x, loops->space);
}

/* Each loop and shape on a length that no tile divides, compared with sums made here. */
static void test_streams(const rt_loops_t *loops, size_t n)
{
    const size_t bytes = n * sizeof(double);
    double *got = RT_NEW(double, n, RT_HOST);
    rt_streams_t s = {.n = n};
    loops->open();
    for (int k = 0; k < RT_LOOP_ARRAYS; k++) {
        s.array[k] = RT_NEW(double, n, loops->space);
        loops->set(s.array[k], n, k);
    }
    for (int loop = 0; loop < (loops->write_allocate ? RT_LOOPS : RT_LOOP_UPDATE); loop++) {
        for (int shape = 0; shape < loops->shapes; shape++) {
            int wrong = 0;
            if (loop == RT_LOOP_UPDATE)
                loops->set(s.array[0], n, 0);
            else
                rt_fill(s.array[0], loops->space, 0xff, bytes);
            loops->pass((rt_loop_t)loop, shape, &s);
            rt_copy(got, RT_HOST, s.array[0], loops->space, bytes);
            for (size_t i = 0; i < n; i++) {
                double want = rt_loop_value(i, 1);
                if (loop == RT_LOOP_TRIAD)
                    want += 3 * rt_loop_value(i, 2);
                if (loop == RT_LOOP_UPDATE)
                    want -= rt_loop_value(i, 0);
                for (int k = 2; loop == RT_LOOP_READ && k < RT_LOOP_ARRAYS; k++)
                    want += rt_loop_value(i, k);
                wrong += !(got[i] == want);
            }
            CHECK(wrong == 0);
        }
    }
    for (int k = 0; k < RT_LOOP_ARRAYS; k++)
        rt_free(s.array[k], loops->space);
    rt_free(got, RT_HOST);
    loops->close();
}

/* Every accumulator makes every step: x = 1 x + 1 counts them. x = 0.5 x + 1 converges to 2 from
 * any start, which shows that both a and b are used. */
static void test_fma(const rt_loops_t *loops)
{
    loops->open();
    for (int bits = 32; bits <= 64; bits += 32) {
        for (int shape = 0; shape < loops->fma_shapes; shape++) {
            const double lanes = loops->fma_lanes(bits, shape);
            CHECK(lanes >= 1);
            loops->fma(bits, shape, 1, 1, 0);
            const double start = loops->fma_sum();
            loops->fma(bits, shape, 1, 1, 160);
            CHECK(loops->fma_sum() - start == 160 * lanes);
            loops->fma(bits, shape, 0.5, 1, 160);
            CHECK(loops->fma_sum() == 2 * lanes);
        }
    }
    loops->close();
}

static void test_measure(rt_kind_t kind)
{
    const size_t bytes = (size_t)4 << 20;
    rt_ceilings_t c;
    rt_ceiling_measure(kind, bytes, 0.25, &c);
    CHECK(c.kind == kind);
    CHECK(c.working_set == bytes);
    const double most = kind == RT_CUDA ? 100e12 : 2e12; /* more than any machine has, even in its
                                                          * caches */
    for (int loop = COPY; loop <= READ; loop++)
        CHECK(c.rate[loop] > 1e8 && c.rate[loop] < most);
    CHECK(rt_loops_of(kind)->write_allocate ? c.rate[UPDATE] > 1e8 && c.rate[UPDATE] < most
                                            : c.rate[UPDATE] == 0);
    CHECK(c.rate[FMA64] > 0.5e9 && c.rate[FMA64] < 1e15);
    CHECK(c.rate[FMA32] > 0.5e9 && c.rate[FMA32] < 1e15);
    double latency, bandwidth;
    rt_messages_measure(&latency, &bandwidth);
    CHECK(rt_comm_size() > 1 ? latency > 0 && latency < 1 : latency == 0);
    CHECK(rt_comm_size() > 1 ? bandwidth > 1e3 : bandwidth == 0);

    rt_ceiling_measure(kind, 0, 0, &c); /* no time and no size: still one pass of each loop */
    CHECK(c.working_set > 0 && c.rate[COPY] > 0 && c.rate[FMA32] > 0);
    CHECK(rt_mem_used(RT_HOST) == 0 && rt_mem_used(RT_DEVICE) == 0);
}

/* The replay is half the time that its copies take; here the same loop makes them. */
static void test_replay(const rt_loops_t *loops, rt_kind_t kind, size_t bytes)
{
    enum { COPIES = 20 };
    double *a = rt_alloc(1, bytes, loops->space), *b = rt_alloc(1, bytes, loops->space);
    double copies = INFINITY;
    loops->open();
    loops->set(a, bytes / sizeof *a, 0);
    loops->set(b, bytes / sizeof *a, 1);
    for (int go = 0; go < 200; go++) {
        loops->start();
        for (int i = 0; i < COPIES; i++)
            loops->copy(i % 2 ? a : b, i % 2 ? b : a, bytes / sizeof *a);
        const double seconds = loops->stop();
        copies = seconds < copies ? seconds : copies;
    }
    loops->close();
    rt_free(a, loops->space);
    rt_free(b, loops->space);

    const double replay = rt_ceiling_replay(kind, COPIES, 2, bytes, 0.2);
    CHECK(replay > 0.25 * copies);
    CHECK(replay < 0.75 * copies);
    CHECK(rt_ceiling_replay(kind, 7, 5, 1000, 0) > 0); /* odd numbers, no time */
    CHECK(rt_ceiling_replay(kind, 3, 1, 8, 0) > 0);    /* a copy needs two arrays all the same */
    CHECK(rt_mem_used(RT_HOST) == 0 && rt_mem_used(RT_DEVICE) == 0);
}

/* The meter keeps the highest of its samples, and says what it keeps in memory. */
static void test_meter(rt_kind_t kind, rt_space_t space)
{
    const size_t before = rt_mem_used(space);
    rt_meter_t *meter = rt_meter_new(kind, (size_t)4 << 20, 0.05);
    const rt_ceilings_t first = *rt_meter_best(meter);
    double highest = rt_bandwidth_ceiling(&first), lowest = highest;
    CHECK(rt_mem_used(space) - before == rt_meter_bytes(meter, space));
    CHECK(rt_meter_bytes(meter, space) >= (size_t)4 << 20);
    for (int i = 0; i < 3; i++) {
        rt_sample_t sample;
        rt_meter_sample(meter, &sample);
        CHECK(sample.rate[0] > 0 && sample.rate[1] > 0 && sample.seconds > 0);
        highest = fmax(highest, sample.rate[0]);
        lowest = fmin(lowest, sample.rate[0]);
    }
    const rt_ceilings_t *best = rt_meter_best(meter);
    CHECK(best->samples == 4 && best->rate[FMA64] >= first.rate[FMA64]);
    CHECK(rt_bandwidth_ceiling(best) == highest);
    CHECK(fabs(best->spread - (1 - lowest / highest)) < 1e-12);
    rt_meter_destroy(meter);
    CHECK(rt_mem_used(space) == before);
}

/* ---- other units ---- */

/* All units of a processor are there, but for those that it may not have, and are what a machine
 * can have. What is not measured is not in the JSON. */
static void test_units(rt_kind_t kind, int threads)
{
    const rt_loops_t *loops = rt_loops_of(kind);
    const size_t memory = rt_mem_used(loops->space);
    rt_ceilings_t c = {.kind = kind};
    bool wanted[RT_UNITS] = {false};
    json_t *root = json_object();
    rt_threads_set(threads);
    rt_units_measure(loops, 0.3, &c);
    rt_threads_set(1);
    for (const rt_unit_row_t *row = loops->units; row && row->run; row++)
        wanted[row->unit] = row->unit != RT_UNIT_THREAD_BARRIER || threads > 1;
    rt_json_ceilings(root, "c", &c);
    for (int i = 0; i < RT_UNITS; i++) {
        const char *name = rt_unit_names[i].member;
        const json_t *got = json_object_get(json_object_get(root, "c"), name);
        const bool is_time = rt_unit_is_time(i);
        const bool optional = i == RT_UNIT_LLC || i == RT_UNIT_GRID_BARRIER ||
                              i == RT_UNIT_TENSOR64 || i == RT_UNIT_TENSOR16 ||
                              (threads > 1 && !is_time); /* if others want the cores too */
        CHECK(wanted[i] ? optional || c.unit[i] > 0 : c.unit[i] == 0);
        CHECK(c.unit[i] > 0 ? json_real_value(got) == c.unit[i] : !got);
        CHECK(c.unit[i] == 0 || (is_time ? c.unit[i] > 1e-8 && c.unit[i] < 0.5
                                         : c.unit[i] > 1e6 && c.unit[i] < 1e16));
        if (c.unit[i] > 0)
            printf("%s %.4g\n", name, c.unit[i]);
    }
    json_decref(root);
    CHECK(rt_mem_used(loops->space) == memory);
}

/* What is nearer than memory is not slower. */
static void test_near(void)
{
    rt_meter_t *meter = rt_meter_new(RT_CPU, (size_t)64 << 20, 0.2);
    const rt_ceilings_t *c = rt_meter_best(meter);
#if defined(__OPTIMIZE__) && !defined(__SANITIZE_ADDRESS__) /* which make every load slow */
    CHECK(c->unit[RT_UNIT_L1] >= c->rate[READ]);
#endif
    CHECK(rt_comm_size() > 1 ? c->unit[RT_UNIT_ALLREDUCE] > 0 && c->unit[RT_UNIT_ALLREDUCE] < 0.5
                             : c->unit[RT_UNIT_ALLREDUCE] == 0);
    rt_meter_destroy(meter);
}

/* ---- loops whose times the test sets ---- */

/* Seconds of a pass of each loop, and of an fma of each shape, in FP64 and in FP32. The second
 * shape, copy and FP32 are the fastest. */
static const double quiet_pass[RT_LOOPS] = {
    [RT_LOOP_COPY] = 1, [RT_LOOP_TRIAD] = 2, [RT_LOOP_READ] = 2, [RT_LOOP_UPDATE] = 2};
static const double quiet_fma[] = {4, 2, 3};
enum { SHAPES = 3, ALWAYS = 1 << 30 };
static struct {
    double pass[RT_LOOPS], fma[2][SHAPES]; /* how many times as long they take */
    int left;                              /* windows */
    bool once;                             /* and no longer than the first loop over memory */
    double seconds;                        /* since `start` */
} noise;

static void set_start(void)
{
    noise.seconds = 0;
}

static double set_stop(void)
{
    noise.left -= noise.left > 0;
    return noise.seconds;
}

static double set_wrong(const double *x, size_t n, rt_expected_t expected)
{
    noise.left = noise.once ? 0 : noise.left;
    return rt_loops_host.wrong(x, n, expected);
}

static void set_pass(rt_loop_t loop, int shape, const rt_streams_t *s)
{
    rt_loops_host.pass(loop, shape, s);
    noise.seconds += quiet_pass[loop] * (noise.left > 0 ? noise.pass[loop] : 1);
}

/* The work is that of the first shape; the bits say how much faster FP32 is. */
static void set_fma(int bits, int shape, double a, double b, int steps)
{
    rt_loops_host.fma(64, 0, a, b, steps);
    noise.seconds +=
        quiet_fma[shape] * bits / 64 * (noise.left > 0 ? noise.fma[bits == 32][shape] : 1);
}

static double set_lanes(int bits, int shape)
{
    (void)bits, (void)shape;
    return rt_loops_host.fma_lanes(64, 0);
}

/* Makes each loop and shape take `times` as long, for that number of windows. */
static void set_noise(double times, int windows)
{
    for (int i = 0; i < RT_LOOPS; i++)
        noise.pass[i] = times;
    for (int i = 0; i < SHAPES; i++)
        noise.fma[0][i] = noise.fma[1][i] = times;
    noise.left = windows;
    noise.once = false;
}

static void set_noise_fma32(double times, int windows)
{
    set_noise(1, windows);
    for (int i = 0; i < SHAPES; i++)
        noise.fma[1][i] = times;
}

/* Returns a meter of such loops. No time to measure: a warm-up and one window of each. */
static rt_meter_t *set_meter(void)
{
    static rt_loops_t loops;
    loops = rt_loops_host;
    loops.start = set_start;
    loops.stop = set_stop;
    loops.wrong = set_wrong;
    loops.pass = set_pass;
    loops.fma = set_fma;
    loops.fma_lanes = set_lanes;
    return rt_meter_of(&loops, RT_CPU, RT_LEAST_SET, 0);
}

static bool near(double a, double b)
{
    return fabs(a / b - 1) < 1e-12;
}

/* What was disturbed is never drawn: it is measured again, in all shapes. */
static void test_disturbed_ceiling(void)
{
    const double fma64 = RT_FMA_STEPS * set_lanes(64, 0); /* 2 flops a step, 2 s */
    rt_sample_t sample;
    set_noise(1, 0);
    rt_meter_t *meter = set_meter();
    const rt_ceilings_t quiet = *rt_meter_best(meter);
    CHECK(near(quiet.rate[FMA64], fma64) && near(quiet.rate[FMA32], 2 * fma64));
    CHECK(quiet.rate[COPY] > 1.9 * quiet.rate[TRIAD] && quiet.spread == 0 && quiet.fma_spread == 0);
    rt_meter_confirm(meter);
    CHECK(rt_meter_best(meter)->samples == 2 && rt_meter_best(meter)->fma_spread == 0);
    rt_meter_destroy(meter);

    /* FP32 seems slower than FP64 in the first measurement of all shapes */
    set_noise_fma32(10, 2 * (RT_LOOPS + 2 * SHAPES));
    meter = set_meter();
    CHECK(near(rt_meter_best(meter)->rate[FMA32], 2 * fma64) && rt_meter_best(meter)->samples == 1);
    rt_meter_destroy(meter);

    /* and always: it is drawn no lower than FP64, and the machine is not steady */
    set_noise_fma32(10, ALWAYS);
    meter = set_meter();
    rt_meter_sample(meter, &sample);
    CHECK(near(rt_meter_best(meter)->rate[FMA32], fma64) &&
          near(rt_meter_best(meter)->rate[FMA64], fma64));
    CHECK(rt_meter_slowed(meter, &sample) > 0.5 && rt_meter_best(meter)->fma_spread > 0.5);
    rt_meter_destroy(meter);

    /* at first the fastest loop and shape are disturbed, so others are kept: the end puts it right */
    set_noise(1, ALWAYS);
    noise.pass[RT_LOOP_COPY] = noise.fma[0][1] = noise.fma[1][1] = 8;
    meter = set_meter();
    set_noise(1, 0);
    rt_meter_sample(meter, &sample);
    CHECK(rt_meter_best(meter)->rate[FMA64] < 0.7 * fma64);
    rt_meter_confirm(meter);
    const rt_ceilings_t *best = rt_meter_best(meter);
    CHECK(near(best->rate[COPY], quiet.rate[COPY]) && near(best->rate[FMA64], fma64) &&
          near(best->rate[FMA32], 2 * fma64));
    CHECK(best->samples == 4); /* the second look confirms the first */
    CHECK(rt_meter_slowed(meter, &sample) > 0.3 && best->fma_spread > 0.3);
    rt_meter_destroy(meter);
}

/* A sample that is slow for a moment is taken again; one that stays slow is told. */
static void test_disturbed_sample(void)
{
    rt_sample_t sample;
    set_noise(1, 0);
    rt_meter_t *meter = set_meter();
    const rt_ceilings_t quiet = *rt_meter_best(meter);
    set_noise(2, ALWAYS);
    noise.once = true;
    rt_meter_sample(meter, &sample);
    CHECK(sample.rate[0] == quiet.rate[COPY] && rt_meter_slowed(meter, &sample) == 0);
    set_noise(1.25, ALWAYS);
    rt_meter_sample(meter, &sample);
    CHECK(near(sample.rate[0], quiet.rate[COPY] / 1.25) &&
          near(sample.rate[1], quiet.rate[FMA64] / 1.25));
    CHECK(near(rt_meter_slowed(meter, &sample), 0.2));
    CHECK(near(rt_meter_best(meter)->spread, 0.2) && near(rt_meter_best(meter)->fma_spread, 0.2));
    CHECK(rt_meter_best(meter)->rate[COPY] == quiet.rate[COPY]);
    rt_meter_destroy(meter);
}

/* Units of which a run takes as long as the test says: 1000 bytes of the larger set in 1 s, of the
 * smaller in 0.8 s, or 4 times as long for the first `left` runs. */
static int left;
static bool forgets;

static double set_begin(int level)
{
    (void)level;
    return 1000;
}

static void set_run_larger(void *unused)
{
    (void)unused;
    noise.seconds += 1;
}

static void set_run_smaller(void *unused)
{
    (void)unused;
    noise.seconds += left-- > 0 ? 3.2 : 0.8;
}

static bool set_right(void)
{
    return !forgets;
}

static void set_end(void)
{
}

static void test_contradicted_unit(void)
{
    static const rt_unit_row_t rows[] = {
        {RT_UNIT_LLC, 0, set_begin, set_run_larger, set_right, set_end},
        {RT_UNIT_L2, 0, set_begin, set_run_smaller, set_right, set_end},
        {RT_UNITS, 0, NULL, NULL, NULL, NULL}};
    enum { FIRST = 1, TRY = 8 }; /* runs */
    rt_loops_t loops = rt_loops_host;
    loops.start = set_start;
    loops.stop = set_stop;
    loops.units = rows;
    for (int tries = 0; tries <= RT_CEILING_TRIES; tries++) {
        rt_ceilings_t c = {.working_set = 1000, .rate = {[READ] = 2000}}; /* in a cache */
        left = FIRST + tries * TRY;
        rt_units_measure(&loops, 0, &c);
        CHECK(near(c.unit[RT_UNIT_LLC], 1000));
        CHECK(tries < RT_CEILING_TRIES ? near(c.unit[RT_UNIT_L2], 1250) : c.unit[RT_UNIT_L2] == 0);
    }
    rt_ceilings_t c = {.working_set = (size_t)1 << 30, .rate = {[READ] = 1200}}; /* memory */
    rt_units_measure(&loops, 0, &c);
    CHECK(c.unit[RT_UNIT_LLC] == 0 && near(c.unit[RT_UNIT_L2], 1250));
    forgets = true;
    CHECK_DIES(RT_INVALID, "llc_bytes_per_s: part of its work is not done",
               { rt_units_measure(&loops, 0, &c); });
}

/* A rung of which the last windows lie beside a slow moment. */
static int solves, quiet_solves;

static void spoil_nothing(void *solver, uint64_t draw, rt_keep_t keep)
{
    (void)solver, (void)draw, (void)keep;
}

static void solve_and_slow(void *solver)
{
    (void)solver;
    const double begin = rt_clock();
    while (rt_clock() - begin < 1e-4)
        ;
    if (++solves > quiet_solves)
        set_noise(1.25, ALWAYS);
}

static void test_slow_moment(void)
{
    static const rt_rung_t rung = {.name = "rung", .kind = RT_CPU};
    const rt_app_t app = {.spoil = spoil_nothing, .solve = solve_and_slow};
    const rt_plan_t plan = {.seconds = 0.003, .windows = 3};
    for (int slow = 0; slow < 2; slow++) {
        rt_outcome_t out = {.rung = &rung, .work = {.units = 1}};
        set_noise(1, 0);
        rt_meter_t *meter = set_meter();
        solves = 0;
        quiet_solves = slow ? 1 : ALWAYS;
        rt_time_rung(&app, NULL, &plan, meter, &out);
        rt_meter_confirm(meter);
        CHECK(near(1 + rt_meter_slowed(meter, &out.nearby), slow ? 1.2 : 1));
        out.unrest = (rt_unrest_t){.slowed = rt_meter_slowed(meter, &out.nearby)};
        CHECK(rt_steady(&out.unrest) == !slow);
        rt_meter_destroy(meter);
    }
}

/* The larger of two shares counts; data that fit a cache have no bandwidth to be judged by. */
static void test_share(void)
{
    const rt_claim_t claim = {
        .bytes = 90, .flops = 30, .arithmetic = RT_FMA64, .touched = 100000, .least = 65536};
    rt_ceilings_t c = {
        .rate = {[COPY] = 60, [READ] = 100, [FMA64] = 60}, .working_set = 500000, .samples = 1};
    rt_ceilings_t again = {.rate = {180, [FMA64] = 40}, .working_set = 100000, .samples = 1};
    CHECK(rt_share_of(&claim, &c, NULL) == 0.9);
    CHECK(rt_share_of(&claim, &c, &again) == 0.5);
    again.working_set = 100001;
    c.rate[FMA64] = 120;
    CHECK(rt_share_of(&claim, &c, &again) == 0.25);
    again.spread = 0.5;
    CHECK(fabs(rt_ceilings_best(&c, &again).spread - (1 - 90. / 180)) < 1e-15);
    CHECK(rt_ceilings_best(&c, &again).samples == 2);
}

/* Each disturbance is named as soon as it exceeds its limit, and not before. */
static void test_steady(void)
{
    rt_text_t said[RT_UNRESTS];
    const rt_unrest_t quiet = {RT_MOST_SPREAD, RT_MOST_WAITED, RT_MOST_STOLEN, RT_MOST_SLOWED,
                               1.02};
    CHECK(rt_steady(&quiet) && rt_unrest_said(&quiet, said) == 0);
    for (int i = 0; i < RT_UNRESTS; i++) {
        static const char *const text[] = {"windows differ by", "other programs", "hypervisor",
                                           "below", "faster than the ceilings"};
        rt_unrest_t unrest = quiet;
        double *const of[] = {&unrest.spread, &unrest.waited, &unrest.stolen, &unrest.slowed,
                              &unrest.share};
        *of[i] *= 1.001;
        CHECK(!rt_steady(&unrest) && rt_unrest_said(&unrest, said) == 1);
        CHECK(strstr(said[0].text, text[i]) != NULL);
    }
}

/* The clock agrees with that of the timers, and a thread that has no core is noticed: two that spin on one core. */
static void test_watch(void)
{
    rt_watch_t watch;
    rt_watch_start(RT_CPU);
    const double begin = rt_clock();
    while (rt_clock() - begin < 0.05)
        ;
    rt_watch_stop(&watch);
    CHECK(watch.host > 0.99 * 0.05);
    CHECK(watch.waited >= 0 && watch.waited <= 1 && watch.stolen >= 0 && watch.stolen <= 1);
    CHECK(watch.gpu == 0);
#if RT_HAVE_OPENMP && defined(__linux__)
    cpu_set_t all, one;
    if (access("/proc/self/schedstat", R_OK) != 0 || sched_getaffinity(0, sizeof all, &all) != 0)
        return;
    CPU_ZERO(&one);
    for (int cpu = 0; CPU_COUNT(&one) == 0; cpu++)
        if (CPU_ISSET(cpu, &all))
            CPU_SET(cpu, &one);
    rt_watch_start(RT_CPU);
#pragma omp parallel num_threads(2)
    {
        CHECK(sched_setaffinity(0, sizeof one, &one) == 0);
        const double start = rt_clock();
        while (rt_clock() - start < 0.2)
            ;
        CHECK(sched_setaffinity(0, sizeof all, &all) == 0);
    }
    rt_watch_stop(&watch);
    CHECK(watch.waited > 0.2);
#endif
}

/* The parts of the loops, on lengths that no tile divides. */
static void test_loops(const rt_loops_t *loops)
{
    test_wrong(loops);
    test_streams(loops, 10006); /* fewer items than a GPU holds at a time */
    test_streams(loops, rt_mem_device_is_emulated() ? 100006 : 5000006); /* several tiles */
    test_fma(loops);
}

#if RT_HAVE_CUDA || RT_HAVE_KOKKOS
static void test_gpu(const rt_loops_t *loops)
{
    if (!rt_device_gpu())
        return;
    test_measure(RT_CUDA);
    test_meter(RT_CUDA, RT_DEVICE);
    test_replay(loops, RT_CUDA, (size_t)1 << 28);
    test_units(RT_CUDA, 1);
}
#endif

int main(int argc, char **argv)
{
    rt_comm_init(&argc, &argv);
    rt_device_select("auto", true, RT_HAVE_OPENMP ? 3 : 1); /* 3 divides no length here */
    test_loops(&rt_loops_host);
    /* Rates are measured with one thread. If other programs want the cores too, as in make -j
     * check, threads that wait for each other at the end of every loop can be a thousand times
     * slower. */
    rt_device_select("auto", true, 1);
    test_measure(RT_CPU);
    test_meter(RT_CPU, RT_HOST);
    test_units(RT_CPU, RT_HAVE_OPENMP ? 2 : 1);
    test_units(RT_CPU, 1);
    test_near();
    test_disturbed_ceiling();
    test_disturbed_sample();
    test_contradicted_unit();
    test_slow_moment();
    test_share();
    test_steady();
    test_watch();
    test_replay(&rt_loops_host, RT_CPU, (size_t)1 << 18);
#if RT_HAVE_KOKKOS
    rt_kokkos_start(1, rt_device_gpu() ? rt_device_gpu()->ordinal : -1);
    if (!rt_kokkos_why_not() &&
        rt_kokkos_space() == RT_DEVICE) /* a GPU's, or the host's where it emulates one */
        test_loops(&rt_loops_kokkos);
#endif
#if RT_HAVE_CUDA
    test_gpu(&rt_loops_cuda);
    if (rt_device_gpu())
        test_loops(&rt_loops_cuda);
#elif RT_HAVE_KOKKOS
    test_gpu(&rt_loops_kokkos);
#endif
    if (!rt_device_gpu()) {
        test_measure(RT_CUDA); /* an emulated device is the host */
        printf("SKIP: ceilings of a GPU (%s)\n", rt_device_why_not());
    }
    rt_kokkos_finish();
    rt_device_release();
    rt_comm_finish();
    return check_done();
}
