/*
 * measure/meter.c - the ceilings of a job: measured at its beginning, sampled beside its rungs, and
 * measured once more at its end.
 */
#include "config.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "base/error.h"
#include "base/mem.h"
#include "machine/comm.h"
#include "machine/timer.h"
#include "measure/ceiling_loops.h"

struct rt_meter {
    const rt_loops_t *loops;
    rt_task_t fastest[RT_SAMPLED];
    double seconds, budget;      /* of a full measurement and of a sample, about */
    rt_sample_t highest, lowest; /* of what `fastest` did: like is compared with like */
    rt_ceilings_t best;          /* highest of all that was measured */
};

/* Returns how far a rate lies below the highest. */
static double fall(double rate, double highest)
{
    return highest > 0 ? 1 - rate / highest : 0;
}

double rt_meter_slowed(const rt_meter_t *m, const rt_sample_t *s)
{
    double most = 0;
    for (int k = 0; k < RT_SAMPLED; k++)
        most = fmax(most, fall(s->rate[k], m->highest.rate[k]));
    return most;
}

/* Takes down the rates of what the meter keeps. */
static void note(rt_meter_t *m, const double rate[RT_RATES])
{
    double *high = m->highest.rate, *low = m->lowest.rate;
    for (int k = 0; k < RT_SAMPLED; k++) {
        const double now = rate[m->fastest[k].what];
        high[k] = fmax(high[k], now);
        low[k] = m->best.samples == 1 ? now : fmin(low[k], now);
    }
    high[2] = fmax(high[2], rate[RT_RATE_FMA64]); /* as in rt_ceilings_raise */
    m->best.spread = fall(low[0], high[0]);
    m->best.fma_spread = fmax(fall(low[1], high[1]), fall(low[2], high[2]));
}

/* Measures all loops in all shapes; the first time, keeps the fastest. */
static void measure_all(rt_meter_t *m, rt_task_t *keep, double rate[RT_RATES])
{
    m->loops->open();
    rt_loops_measure(m->loops, m->best.working_set, m->seconds, rate, keep);
    m->loops->close();
    rt_ceilings_raise(&m->best, rate);
    note(m, rate);
}

rt_meter_t *rt_meter_of(const rt_loops_t *loops, rt_kind_t kind, size_t working_set, double seconds)
{
    rt_meter_t *m = calloc(1, sizeof *m);
    RT_EXPECT(m, RT_MEMORY, "out of memory for the ceilings");
    double rate[RT_RATES];
    m->loops = loops;
    m->best = (rt_ceilings_t){.kind = kind, .working_set = rt_loops_affordable(loops, working_set)};
    m->seconds = seconds;
    m->budget = fmin(0.02, fmax(0.005, seconds));
    measure_all(m, m->fastest, rate);
    rt_messages_measure(&m->best.latency, &m->best.message);
    return m;
}

rt_meter_t *rt_meter_new(rt_kind_t kind, size_t working_set, double seconds)
{
    rt_meter_t *m = rt_meter_of(rt_loops_of(kind), kind, working_set, seconds);
    rt_units_measure(m->loops, seconds, &m->best);
    m->best.unit[RT_UNIT_ALLREDUCE] = rt_sum_measure();
    return m;
}

/* What is far below the highest is measured again: a moment's noise is not a slow machine. */
void rt_meter_sample(rt_meter_t *m, rt_sample_t *out)
{
    const double begin = rt_clock();
    double best[RT_RATES] = {0};
    int tries = 0;
    m->loops->open();
    do {
        rt_comm_barrier();
        rt_fastest_measure(m->fastest, m->budget, best);
        for (int k = 0; k < RT_SAMPLED; k++)
            out->rate[k] = best[m->fastest[k].what];
    } while (rt_meter_slowed(m, out) > RT_CEILING_NOISE && ++tries < RT_CEILING_TRIES);
    m->loops->close();
    rt_ceilings_raise(&m->best, best);
    note(m, best);
    out->seconds = rt_clock() - begin;
    rt_comm_max(&out->seconds, 1);
}

void rt_meter_learn(rt_meter_t *m, const rt_ceilings_t *again)
{
    for (int k = 1; k < RT_SAMPLED; k++) {
        double *rate = &m->best.rate[m->fastest[k].what];
        *rate = m->highest.rate[k] = fmax(*rate, again->rate[m->fastest[k].what]);
    }
}

/* Returns whether a full measurement shows what was known before it. */
static bool confirms(const double rate[RT_RATES], const rt_ceilings_t *known)
{
    bool same = true;
    for (int i = 0; i < RT_RATES; i++)
        same = same && fabs(rate[i] - known->rate[i]) <= RT_CEILING_NOISE * known->rate[i];
    return same;
}

void rt_meter_confirm(rt_meter_t *m)
{
    double rate[RT_RATES];
    rt_ceilings_t known;
    int tries = 0;
    rt_fastest_destroy(m->fastest);
    do {
        known = m->best;
        measure_all(m, NULL, rate);
    } while (!confirms(rate, &known) && ++tries < RT_CEILING_TRIES);
}

const rt_ceilings_t *rt_meter_best(const rt_meter_t *m)
{
    return &m->best;
}

size_t rt_meter_bytes(const rt_meter_t *m, rt_space_t space)
{
    return m->loops->space == space ? m->fastest[0].bytes : 0;
}

void rt_meter_destroy(rt_meter_t *m)
{
    if (m)
        rt_fastest_destroy(m->fastest);
    free(m);
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

void rt_messages_measure(double *latency, double *bandwidth)
{
    enum { SMALL = 8, SMALL_TRIPS = 200, LARGE = 1 << 20, LARGE_TRIPS = 10 }; /* bytes */
    *latency = *bandwidth = 0;
    if (rt_comm_size() < 2)
        return;
    *latency = ping_pong_best(SMALL, SMALL_TRIPS);
    *bandwidth = LARGE / ping_pong_best(LARGE, LARGE_TRIPS);
}

double rt_sum_measure(void)
{
    enum { SUMS = 50 };
    double best = INFINITY;
    for (int round = 0; round < ROUNDS; round++) {
        const double begin = rt_clock();
        for (int i = 0; i < SUMS; i++) {
            double one = 1;
            rt_comm_sum(&one, 1);
            RT_EXPECT(one == rt_comm_size(), RT_INVALID, "ceiling loop allreduce_s: %g of %d ranks",
                      one, rt_comm_size());
        }
        best = fmin(best, (rt_clock() - begin) / SUMS);
    }
    rt_comm_max(&best, 1);
    return rt_comm_size() > 1 ? best : 0;
}
