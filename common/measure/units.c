/* measure/units.c - how the units of measure/units.h are timed, whatever the processor. */
#include "config.h"
#include <math.h>
#include "base/error.h"
#include "machine/comm.h"
#include "measure/ceiling_loops.h"

const struct rt_unit_name rt_unit_names[RT_UNITS] = {
    [RT_UNIT_L1] = {"l1_bytes_per_s", "L1", "GB/s"},
    [RT_UNIT_L2] = {"l2_bytes_per_s", "L2", "GB/s"},
    [RT_UNIT_LLC] = {"llc_bytes_per_s", "last-level cache", "GB/s"},
    [RT_UNIT_SHARED] = {"shared_bytes_per_s", "shared memory", "GB/s"},
    [RT_UNIT_TENSOR64] = {"fma64_tensor_flop_per_s", "tensor FP64", "GFlop/s"},
    [RT_UNIT_TENSOR16] = {"fma16_tensor_flop_per_s", "FP16", "GFlop/s"},
    [RT_UNIT_ATOMICS] = {"atomics_per_s", "atomics", "G/s"},
    [RT_UNIT_LAUNCH] = {"launch_s", "launch", "us"},
    [RT_UNIT_GRAPH_NODE] = {"graph_node_s", "node of a graph", "us"},
    [RT_UNIT_HOST_WAIT] = {"host_wait_s", "launch and wait", "us"},
    [RT_UNIT_GRID_BARRIER] = {"grid_barrier_s", "grid barrier", "us"},
    [RT_UNIT_THREAD_BARRIER] = {"thread_barrier_s", "barrier of threads", "us"},
    [RT_UNIT_ALLREDUCE] = {"allreduce_s", "sum over ranks", "us"},
};

/* Returns work per second; 0: cannot be measured, or larger sets were read faster each time. */
static double unit_rate(const rt_loops_t *loops, const rt_unit_row_t *row, double budget,
                        double larger)
{
    const double work = row->begin(row->level);
    double rate = 0;
    int tries = 0;
    if (work > 0) {
        row->run(NULL);
        RT_EXPECT(row->right(), RT_INVALID, "ceiling loop %s: part of its work is not done",
                  rt_unit_names[row->unit].member);
        do {
            for (int go = 0; go < 4; go++)
                rate = fmax(rate,
                            work / rt_best_time(loops, (rt_repeat_t){row->run, NULL}, budget / 4));
        } while (rate < (1 - RT_CEILING_NOISE) * larger && ++tries < RT_CEILING_TRIES);
    }
    row->end();
    return rate < (1 - RT_CEILING_NOISE) * larger ? 0 : rate;
}

void rt_units_measure(const rt_loops_t *loops, double seconds, rt_ceilings_t *c)
{
    /* Of the larger sets so far. A small working set may be in a cache itself. */
    double larger = c->working_set >= (size_t)256 << 20 ? c->rate[RT_LOOP_READ] : 0;
    double rate[RT_UNITS] = {0};
    int rows = 0;
    while (loops->units && loops->units[rows].run)
        rows++;
    loops->open();
    for (int i = 0; i < rows; i++) {
        const rt_unit_row_t *row = &loops->units[i];
        const bool read = row->unit <= RT_UNIT_SHARED;
        rt_comm_barrier();
        const double now = unit_rate(loops, row, 0.7 * seconds / rows, read ? larger : 0);
        rate[row->unit] = fmax(rate[row->unit], now);
        larger = read ? fmax(larger, now) : larger;
    }
    loops->close();
    rt_comm_min(rate, RT_UNITS);
    for (int i = 0; i < RT_UNITS; i++)
        if (rate[i] > 0)
            c->unit[i] = rt_unit_is_time(i) ? 1 / rate[i] : rate[i];
}
