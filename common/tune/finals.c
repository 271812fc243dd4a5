/*
 * tune/finals.c - the last part of a search: is the best really faster than the default?
 *
 * The faster half of the trials is timed in rounds, alternately with the default, so that what
 * disturbs the machine for a while disturbs all of them. After each round the faster half of these
 * stays, until a few are left. Another choice replaces the default only if it is faster by more
 * than the noise of these times.
 */
#include "config.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "base/stats.h"
#include "tune/trials.h"

enum {
    FINALISTS = 4, /* besides the default */
    LEAST_ROUNDS = 3
};
static const double floor_noise =
    0.005; /* from clocks and throttling: a smaller gain does not count */
/* For normally distributed values: the standard deviation divided by the median distance to the
 * median, and the standard error of the median divided by that of the mean. */
static const double deviation_per_distance = 1.4826, median_error = 1.2533;

static double median(const double *x, int n)
{
    double copy[RT_MOST_ROUNDS];
    memcpy(copy, x, (size_t)n * sizeof *x);
    return rt_median(copy, n);
}

/* Returns twice the standard error of the median of x, estimated from the median distance to it,
 * plus the noise that every measurement has. */
static double noise_of(const double *x, int n, double middle)
{
    double away[RT_MOST_ROUNDS];
    for (int i = 0; i < n; i++)
        away[i] = fabs(x[i] - middle);
    return floor_noise + 2 * median_error * deviation_per_distance * median(away, n) / sqrt(n);
}

/* Times a trial once more, and marks what turns out INVALID. */
static double time_again(rt_search_t *s, rt_tried_t *t)
{
    rt_tried_t again = *t;
    rt_search_time(s, &again, 0);
    t->valid = again.valid;
    return again.seconds;
}

/* Times the default and each list[k]. Sorts the list, the fastest relative to the default first, and
 * returns how many stay for the next round. */
static int play_round(rt_search_t *s, int *list, int n)
{
    const int round = s->rounds++;
    int left = 0;
    s->base[round] = time_again(s, &s->trial[0]);
    for (int k = 0; k < n; k++) {
        const int i = list[k];
        s->trial[i].ratio[round] = time_again(s, &s->trial[i]) / s->base[round];
        int at = s->trial[i].valid ? left++ : -1;
        const double middle = median(s->trial[i].ratio, s->rounds);
        for (; at > 0 && median(s->trial[list[at - 1]].ratio, s->rounds) > middle; at--)
            list[at] = list[at - 1];
        if (at >= 0)
            list[at] = i;
    }
    return left > 2 * FINALISTS ? left / 2 : left < FINALISTS ? left : FINALISTS;
}

/* Chooses the finalist with the least time relative to the default, if it is faster by more than
 * the noise, and was so in at least three of four rounds. */
static void judge(rt_search_t *s, const int *list, int n)
{
    s->seconds = median(s->base, s->rounds);
    for (int k = 0; k < n && s->chosen == 0; k++) { /* the fastest first */
        const double *ratio = s->trial[list[k]].ratio;
        const double middle = median(ratio, s->rounds), noise = noise_of(ratio, s->rounds, middle);
        int slower = 0;
        for (int r = 0; r < s->rounds; r++)
            slower += ratio[r] >= 1;
        if (middle >= 1 - noise || 4 * slower > s->rounds)
            continue;
        s->chosen = list[k];
        s->seconds *= middle;
        s->gain = 1 / middle;
        s->noise = noise;
    }
}

void rt_search_finals(rt_search_t *s)
{
    int *list = malloc((size_t)s->n * sizeof *list), n = 0;
    RT_EXPECT(list, RT_MEMORY, "no memory for %d trials", s->n);
    const int valid = rt_search_order(s, list);
    const double left = s->end - rt_search_clock();
    const double fit = floor(left / fmax(LEAST_ROUNDS * s->cost, 1e-9)) - 1;
    while (n < fmin(fit, fmax(FINALISTS, valid / 2)) && list[n] != 0)
        n++;
    s->chosen = 0;
    s->seconds = s->trial[0].seconds;
    while (n > 0 && s->trial[0].valid && s->rounds < RT_MOST_ROUNDS &&
           (s->rounds < LEAST_ROUNDS || rt_search_has_time(s, s->end, n + 1)))
        n = play_round(s, list, n);
    if (!s->trial[0].valid)
        s->chosen = -1;
    else if (s->rounds > 0)
        judge(s, list, n);
    free(list);
}
