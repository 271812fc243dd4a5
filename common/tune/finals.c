/*
 * tune/finals.c - the last part of a search: is the best really faster than the default?
 *
 * The faster half of the trials is timed again and again halved. The few that are left are timed
 * alternately with the default, so that what disturbs the machine for a while disturbs all of them.
 * Another choice replaces the default only if it is faster by more than the noise of these times.
 */
#include "config.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "base/stats.h"
#include "tune/trials.h"

enum {
    FINALISTS = 4, /* besides the default */
    LEAST_ROUNDS = 3,
    MOST_ROUNDS = 7
};
/* Share of a rung's time after which nothing is halved. */
static const double halving = 0.7;
static const double floor_noise =
    0.005; /* from clocks and throttling: a smaller gain does not count */
/* For normally distributed values: the standard deviation divided by the median distance to the
 * median, and the standard error of the median divided by that of the mean. */
static const double deviation_per_distance = 1.4826, median_error = 1.2533;

static double median(const double *x, int n)
{
    double copy[MOST_ROUNDS];
    memcpy(copy, x, (size_t)n * sizeof *x);
    return rt_median(copy, n);
}

/* Returns twice the standard error of the median of x, estimated from the median distance to it,
 * plus the noise that every measurement has. */
static double noise_of(const double *x, int n, double middle)
{
    double away[MOST_ROUNDS];
    for (int i = 0; i < n; i++)
        away[i] = fabs(x[i] - middle);
    return floor_noise + 2 * median_error * deviation_per_distance * median(away, n) / sqrt(n);
}

/* Times the faster half of the trials again, until the finalists are left or the time is over. Writes these
 * to list, the fastest first, without those slower than the default; returns how many. */
static int finalists(rt_search_t *s, int *list)
{
    const double end = s->begin + halving * (s->end - s->begin);
    int *order = malloc((size_t)s->n * sizeof *order), count = 0;
    RT_EXPECT(order, RT_MEMORY, "no memory for %d trials", s->n);
    int n = rt_search_order(s, order);
    for (int left = n / 2; left > FINALISTS && rt_search_has_time(s, end, left); left /= 2) {
        for (int k = 0; k < left && rt_search_has_time(s, end, 1); k++) {
            rt_tried_t *t = &s->trial[order[k]], again = *t;
            if (order[k] == 0) /* the finals time the default anyway */
                continue;
            rt_search_time(s, &again, 0);
            t->valid = again.valid;
            t->seconds = 0.5 * (t->seconds + again.seconds);
        }
        n = rt_search_order(s, order);
    }
    for (int k = 0; k < n && count < FINALISTS && order[k] != 0; k++)
        list[count++] = order[k];
    free(order);
    return count;
}

/* Times each list[k] once more, and marks what turns out INVALID. */
static void play_round(rt_search_t *s, const int *list, int n, int round,
                       double time[FINALISTS + 1][MOST_ROUNDS])
{
    for (int k = 0; k < n; k++) {
        rt_tried_t *t = &s->trial[list[k]], again = *t;
        if (!t->valid)
            continue;
        rt_search_time(s, &again, 0);
        t->valid = again.valid;
        time[k][round] = again.seconds;
    }
}

/* Chooses the finalist with the least time relative to the default, if it is faster by more than
 * the noise, and was so in at least three of four rounds. */
static void judge(rt_search_t *s, const int *list, int n, double time[FINALISTS + 1][MOST_ROUNDS])
{
    double least = 1;
    s->seconds = median(time[0], s->rounds);
    for (int k = 1; k < n; k++) {
        double ratio[MOST_ROUNDS];
        int slower = 0;
        if (!s->trial[list[k]].valid)
            continue;
        for (int r = 0; r < s->rounds; r++) {
            ratio[r] = time[k][r] / time[0][r];
            slower += ratio[r] >= 1;
        }
        const double middle = median(ratio, s->rounds), noise = noise_of(ratio, s->rounds, middle);
        if (middle >= 1 - noise || 4 * slower > s->rounds || middle >= least)
            continue;
        least = middle;
        s->chosen = list[k];
        s->seconds = median(time[k], s->rounds);
        s->gain = 1 / middle;
        s->noise = noise;
    }
}

void rt_search_finals(rt_search_t *s)
{
    int list[FINALISTS + 1] = {0};
    double time[FINALISTS + 1][MOST_ROUNDS];
    const int count = finalists(s, list + 1);
    const double left = s->end - rt_search_clock();
    const int fit = (int)fmin(count, floor(left / fmax(LEAST_ROUNDS * s->cost, 1e-9)) - 1);
    const int n = 1 + fit;
    s->chosen = 0;
    s->seconds = s->trial[0].seconds;
    if (n <= 1)
        return; /* there is none, or no time to be sure */
    while (s->rounds < LEAST_ROUNDS ||
           (s->rounds < MOST_ROUNDS && rt_search_has_time(s, s->end, n)))
        play_round(s, list, n, s->rounds++, time);
    if (s->trial[0].valid)
        judge(s, list, n, time);
    else
        s->chosen = -1;
}
