/*
 * pressure.c - L p = b by conjugate gradients with the diagonal: where hypre is not built in.
 */
#include "config.h"
#include "../alya.h"

enum { MOST_ITERATIONS = 100000 };

void alya_flow_sum(const alya_flow_t *flow, double *x)
{
    const rt_field_t field = rt_field_f64(x);
    if (!flow->halo)
        return;
    rt_timer_start("halo", flow->kind);
    rt_halo_do(flow->halo, RT_HALO_SUM, &field);
    rt_timer_stop("halo");
}

static alya_sums_t over_ranks(alya_sums_t sums)
{
    double both[2] = {sums.a, sums.b};
    rt_comm_sum(both, 2);
    return (alya_sums_t){both[0], both[1]};
}

/* The parts of q on all ranks, each times its own copy of d, add up to d . L d: no copy counts twice,
 * and q is added up afterwards. */
static int64_t conjugate_gradients(alya_flow_t *flow)
{
    const alya_flow_view_t *view = &flow->view;
    const alya_loops_t *loops = flow->loops;
    alya_sums_t sums = over_ranks(loops->start(view));
    const double goal = flow->tolerance * flow->tolerance * sums.b;
    int64_t k = 0;
    while (sums.b > goal && k < MOST_ITERATIONS) {
        const double before = sums.a, slope = over_ranks(loops->multiply(view)).a;
        alya_flow_sum(flow, view->q);
        sums = over_ranks(loops->finish_iteration(view, before / slope));
        loops->update_direction(view, sums.a / before);
        k++;
    }
    return k;
}

int64_t alya_pressure_solve(alya_flow_t *flow)
{
    return flow->amg ? alya_amg_solve(flow->amg, flow) : conjugate_gradients(flow);
}
