/* judge/work.c - sums over the lines of a work model. */
#include "config.h"
#include <math.h>
#include "judge/work.h"

#include "base/error.h"
#include "base/numbers.h"

static int is_count(double x)
{
    return rt_finite(x) && x >= 0.0;
}

void rt_work_add(rt_work_t *work, const char *kernel, double calls, double flops, double read,
                 double written)
{
    RT_EXPECT(work->n < RT_MAX_WORK, RT_INVALID, "no room for kernel '%s': raise RT_MAX_WORK (%d)",
              kernel, RT_MAX_WORK);
    RT_EXPECT(is_count(calls) && is_count(flops) && is_count(read) && is_count(written), RT_INVALID,
              "kernel '%s' has an impossible count: %g calls, each %g flops, %g bytes read and %g "
              "written",
              kernel, calls, flops, read, written);
    work->line[work->n++] = (rt_work_line_t){kernel, calls, flops, read, written};
}

double rt_work_bytes(const rt_work_t *work)
{
    double sum = 0.0;
    for (int i = 0; i < work->n; i++)
        sum += work->line[i].calls * (work->line[i].read + work->line[i].written);
    return sum;
}

double rt_work_flops(const rt_work_t *work)
{
    double sum = 0.0;
    for (int i = 0; i < work->n; i++)
        sum += work->line[i].calls * work->line[i].flops;
    return sum;
}

double rt_work_touched(const rt_work_t *work)
{
    double most = 0;
    for (int i = 0; i < work->n; i++)
        most = fmax(most, work->line[i].read + work->line[i].written);
    return most;
}
