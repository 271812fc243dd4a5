/* judge/perturb.c - see judge/perturb.h. */
#define _GNU_SOURCE /* syscall */
#include "config.h"
#include "judge/perturb.h"
#include <errno.h>
#include <math.h>
#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <time.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "base/numbers.h"
#include "base/threads.h"
#include "machine/comm.h"
#include "machine/timer.h"

enum { LEAST_THREADS = 16, MOST_THREADS = 256, LEAST_RUNS = 4, MOST_RUNS = 200, MOST_STOPS = 3 };
enum { MOMENT_SEED = 29, LENGTH_SEED = 31 };
static const double budget = 0.07;                   /* seconds of all cores */
static const double patience = 0.5, most_stop = 0.2; /* seconds */

static struct timespec span(double seconds)
{
    const double whole = floor(seconds);
    return (struct timespec){(time_t)whole, (long)(1e9 * (seconds - whole))};
}

#define STOP_SIGNAL (SIGRTMIN + 4)

/* A thread may be stopped late, when the next run is being made ready: hence _Atomic. */
static struct {
    timer_t timer[MOST_THREADS];
    _Atomic int left[MOST_THREADS]; /* stops of this run that are still to come */
    int n;
    _Atomic uint64_t run;
    _Atomic double within; /* seconds between two stops of a thread, at most */
    _Atomic double length; /* of a stop, in seconds */
    struct sigaction before;
} stops;

/* Lets the timer of thread i run out at a random moment. */
static void stops_arm(int i, double within)
{
    const uint64_t draw = (stops.run * MOST_THREADS + (uint64_t)i) * MOST_STOPS;
    const double share = (1 + rt_random(draw + (uint64_t)stops.left[i], MOMENT_SEED)) / 2;
    const struct itimerspec at = {.it_value = span(1e-6 + share * within)};
    timer_settime(stops.timer[i], 0, &at, NULL);
}

/* Stops the thread, and soon again: one that had to wait for a core was stopped before it began. */
static void stop(int number, siginfo_t *info, void *context)
{
    const int kept = errno, i = info->si_value.sival_int;
    (void)number;
    (void)context;
    const struct timespec length = span(stops.length);
    nanosleep(&length, NULL);
    if (--stops.left[i] > 0)
        stops_arm(i, stops.within);
    errno = kept;
}

/* Makes a timer for each thread of a parallel region; a thread that ends later gets no signal. */
static void stops_new(void)
{
    const struct sigaction action = {.sa_sigaction = stop, .sa_flags = SA_RESTART | SA_SIGINFO};
    sigaction(STOP_SIGNAL, &action, &stops.before);
    stops.n = 0;
#pragma omp parallel
#pragma omp critical
    {
        struct sigevent event;
        memset(&event, 0, sizeof event);
        event.sigev_notify = SIGEV_THREAD_ID;
        event.sigev_signo = STOP_SIGNAL;
        event.sigev_value.sival_int = stops.n;
        event._sigev_un._tid = (pid_t)syscall(SYS_gettid);
        if (stops.n < MOST_THREADS &&
            timer_create(CLOCK_MONOTONIC, &event, &stops.timer[stops.n]) == 0)
            stops.n++;
    }
}

static void stops_destroy(void)
{
    for (int i = 0; i < stops.n; i++)
        timer_delete(stops.timer[i]);
    sigaction(STOP_SIGNAL, &stops.before, NULL);
}

/* Stops each thread a few times from now on, for a run that takes this long undisturbed. */
static void stops_set(double seconds, uint64_t run)
{
    const double length = (0.9 + 0.6 * rt_random(run, LENGTH_SEED)) * seconds;
    stops.run = run;
    stops.within = 0.3 * seconds;
    stops.length = fmin(most_stop, length);
    for (int i = 0; i < stops.n; i++) {
        stops.left[i] = 1 + (int)(run % MOST_STOPS);
        stops_arm(i, seconds);
    }
}

static double busy_seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* Runs once; keeps the larger error. Adds the busy seconds and the seconds that it took, of the rank
 * where each was most; returns the latter. */
static double run_once(void (*run)(void *data), double (*error)(void *data), void *data,
                       double *worst, double spent[2])
{
    double cost[2] = {-busy_seconds(), -rt_clock()};
    run(data);
    cost[0] += busy_seconds();
    cost[1] += rt_clock();
    const double now = error(data);
    *worst = now <= *worst ? *worst : now; /* NaN too */
    rt_comm_max(cost, 2);
    spent[0] += cost[0];
    spent[1] += cost[1];
    return cost[1];
}

double rt_perturb(void (*run)(void *data), double (*error)(void *data), void *data)
{
    const int threads = rt_threads();
    double worst = 0, before[2] = {0, 0}, spent[2] = {0, 0};
    rt_threads_set(threads > LEAST_THREADS ? threads : LEAST_THREADS);
    run_once(run, error, data, &worst, before); /* starts the threads */
    const double alone = run_once(run, error, data, &worst, before);
    stops_new();
    for (uint64_t i = 0; i < MOST_RUNS; i++) {
        if (i >= LEAST_RUNS && (spent[0] > budget || spent[1] > patience))
            break;
        stops_set(alone, i);
        run_once(run, error, data, &worst, spent);
    }
    stops_destroy();
    rt_threads_set(threads);
    return worst;
}
