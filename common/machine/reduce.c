/* machine/reduce.c - sums over ranks, which are timed apart from the wait for the ranks that are late. */
#include "config.h"
#include "machine/comm.h"
#include "machine/timer.h"

void rt_comm_meet(void)
{
    if (rt_comm_size() == 1 || !rt_timer_enabled())
        return;
    rt_timer_start("waiting", RT_CPU);
    rt_comm_barrier();
    rt_timer_stop("waiting");
}

static void reduce(void *x, int n, bool whole, rt_reduction_t how)
{
    if (rt_comm_size() == 1)
        return;
    rt_comm_meet();
    rt_timer_start("sum", RT_CPU);
    rt_comm_reduce(x, n, whole, how);
    rt_timer_stop("sum");
}

void rt_comm_sum(double *x, int n)
{
    reduce(x, n, false, RT_SUM);
}

void rt_comm_max(double *x, int n)
{
    reduce(x, n, false, RT_MAX);
}

void rt_comm_min(double *x, int n)
{
    reduce(x, n, false, RT_MIN);
}

void rt_comm_sum_i64(int64_t *x, int n)
{
    reduce(x, n, true, RT_SUM);
}
