/*
 * judge/compare.c - see compare.h.
 */
#include "config.h"
#include "judge/compare.h"
#include "judge/perturb.h"
#include "machine/comm.h"
#include "machine/cores.h"

double rt_worst_error(int64_t n, const double *got, const double *want, const double *size,
                      double unit)
{
    double most = 0;
#pragma omp parallel for schedule(static) reduction(max : most)
    for (int64_t i = 0; i < n; i++)
        most = fmax(most, rt_error_over(got[i], want[i], unit * size[i]));
    return most;
}

bool rt_compare_races(void)
{
    double most = rt_device_cpu()->threads;
    rt_comm_max(&most, 1);
    return most > 1;
}

void rt_compare_bits(void (*run)(void *bench), double (*differs)(void *bench), void *bench,
                     bool is_on_host, rt_verdict_t *v)
{
    run(bench);
    double wrong = differs(bench);
    rt_comm_max(&wrong, 1);
    rt_verdict_true(v, "the same bits twice, as it claims", wrong == 0);
    if (!is_on_host || !rt_compare_races())
        return;
    wrong = rt_perturb(run, differs, bench);
    rt_comm_max(&wrong, 1);
    rt_verdict_true(v, "the same bits while threads are stopped at random", wrong == 0);
}
