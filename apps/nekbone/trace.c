/*
 * trace.c - what ranks tell each other in an iteration of CG.
 */
#include "config.h"
#include <stdlib.h>
#include <string.h>
#include "precond.h"

/* Two boxes along a direction share the coordinate of the face between them, one box all of its
 * own. */
static int64_t held(const void *of, int d, int to, int from)
{
    const nek_config_t *config = of;
    if (to == from)
        return config->local[d] * config->degree + 1;
    return abs(to - from) == 1;
}

/* Returns whether the rung adds its four inner products at once, and not one after the other as
 * solve.c and `fused` do. */
static bool has_one_sum(const rt_rung_t *rung)
{
    static const char *const names[] = {"onepass", "trilinear", "resident", "cpu-fused"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(rung->name, names[i]) == 0)
            return true;
    return false;
}

void nek_trace(const rt_run_t *run, const rt_rung_t *rung, rt_trace_t *trace)
{
    const nek_config_t *config = run->config;
    const int precond = nek_precond(config, nek_kernels(rung));
    int boxes[3];
    if (precond == NEK_SCHWARZ)
        rt_refuse(RT_USAGE,
                  "--trace: what the levels of a preconditioner exchange is not told; give "
                  "--precond none or jacobi");
    rt_trace_cube(rt_trace_ranks(trace), boxes);
    if (config->communication) {
        rt_trace_exchange(trace, "gather-scatter", 1, 0);
        rt_trace_boxes(trace, boxes, 1, held, config, sizeof(double));
    }
    if (has_one_sum(rung)) {
        rt_trace_sum(trace, 4, 1, 0);
        return;
    }
    rt_trace_sum(trace, 1, 1, 0);
    rt_trace_sum(trace, precond == NEK_NONE ? 1 : 2, 1, 0);
}
