/* judge/work.c - sums over the lines of a work model. */
#include "config.h"
#include <math.h>
#include <string.h>
#include "judge/work.h"

#include "base/error.h"
#include "base/numbers.h"

static int is_count(double x)
{
    return rt_finite(x) && x >= 0.0;
}

rt_work_line_t *rt_work_add(rt_work_t *work, const char *kernel, double calls, double flops,
                            double read, double written)
{
    RT_EXPECT(work->n < RT_MAX_WORK, RT_INVALID, "no room for kernel '%s': raise RT_MAX_WORK (%d)",
              kernel, RT_MAX_WORK);
    RT_EXPECT(is_count(calls) && is_count(flops) && is_count(read) && is_count(written), RT_INVALID,
              "kernel '%s' has an impossible count: %g calls, each %g flops, %g bytes read and %g "
              "written",
              kernel, calls, flops, read, written);
    work->line[work->n] = (rt_work_line_t){kernel, calls, flops, read, written, RT_FMA64, 1, 0};
    return &work->line[work->n++];
}

/* Returns whether the name is one of those in the text. */
static bool is_named(const char *names, const char *name)
{
    const size_t length = strlen(name);
    for (; *names; names += strcspn(names, " "), names += *names == ' ')
        if (strncmp(names, name, length) == 0 && (names[length] == ' ' || names[length] == '\0'))
            return true;
    return false;
}

static double sum_of(const double each[RT_WORK_COUNTS], const double count[RT_WORK_COUNTS])
{
    double sum = 0;
    for (int i = 0; i < RT_WORK_COUNTS; i++)
        sum += each[i] != 0 ? each[i] * count[i] : 0;
    return sum;
}

bool rt_work_rows(const rt_work_row_t *rows, size_t n, const char *rung,
                  const double count[RT_WORK_COUNTS], const double *calls, rt_work_t *work)
{
    bool found = false;
    for (size_t i = 0; i < n; i++) {
        if (!is_named(rows[i].rungs, rung))
            continue;
        const double flops = sum_of(rows[i].flops, count), read = sum_of(rows[i].read, count);
        const double written = sum_of(rows[i].written, count);
        found = true;
        const double own = calls[rows[i].calls % RT_IN_FP32];
        if (own != 0)
            rt_work_add(work, rows[i].kernel, own, flops, read, written)->arithmetic =
                rows[i].calls & RT_IN_FP32 ? RT_FMA32 : RT_FMA64;
    }
    return found;
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
