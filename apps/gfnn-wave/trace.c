/*
 * trace.c - what ranks tell each other in a time step. step.c, cg.c and precond.c say when; only a
 * run can say how many iterations a step takes.
 */
#include "config.h"
#include <string.h>
#include "gfnn.h"

/* A whole box of nodes, in boxes, of which each has ghosts `width` deep. */
typedef struct {
    int64_t nodes[3];
    int boxes[3];
    bool periodic;
    int width;
} ghosts_t;

/* Counts the nodes of box `from` that are in box `to` or among its ghosts. Across a periodic face a
 * node may be reached from both sides: it counts once. */
static int64_t held(const void *of, int d, int to, int from)
{
    const ghosts_t *g = of;
    const int64_t N = g->nodes[d], begin = gfnn_box_first(N, g->boxes[d], to) - g->width;
    const int64_t end = gfnn_box_first(N, g->boxes[d], to + 1) + g->width;
    const int64_t low = gfnn_box_first(N, g->boxes[d], from);
    const int64_t high = gfnn_box_first(N, g->boxes[d], from + 1);
    int64_t count = 0;
    for (int64_t i = low; i < high; i++)
        count +=
            (i >= begin && i < end) ||
            (g->periodic && ((i + N >= begin && i + N < end) || (i - N >= begin && i - N < end)));
    return count;
}

static void exchange(rt_trace_t *trace, const char *name, const ghosts_t *ghosts, size_t value,
                     double per_unit, double per_iteration)
{
    int reach = 1; /* a thin box has less than the ghosts of its neighbours */
    for (int d = 0; d < 3; d++) {
        const int64_t least = ghosts->nodes[d] / ghosts->boxes[d];
        const int far = (int)((ghosts->width + least - 1) / least);
        reach = far > reach ? far : reach;
    }
    if (per_unit + per_iteration == 0)
        return;
    rt_trace_exchange(trace, name, per_unit, per_iteration);
    rt_trace_boxes(trace, ghosts->boxes, reach, held, ghosts, 3.0 * (double)value);
}

/* Returns how often an iteration takes A in FP32. */
static double products32(const gfnn_config_t *config)
{
    const double own = gfnn_is_single(config);
    if (config->precond == GFNN_CHEB)
        return own + (double)config->degree - 1;
    return own + (gfnn_has_network(config) ? 2 * (double)config->smooth : 0);
}

void gfnn_trace(const rt_run_t *run, const rt_rung_t *rung, rt_trace_t *trace)
{
    const gfnn_config_t *config = run->config;
    ghosts_t ghosts = {.periodic = config->faces == GFNN_PERIODIC, .width = 1};
    if (strcmp(rung->ladder, "solve") != 0)
        rt_refuse(RT_USAGE, "--trace: for time steps; give --rung of the ladder solve, not %s",
                  rung->name);
    rt_trace_cube(rt_trace_ranks(trace), ghosts.boxes);
    for (int d = 0; d < 3; d++)
        ghosts.nodes[d] = config->n_elements[d] * ghosts.boxes[d] + !ghosts.periodic;
    const double replacements = gfnn_replacements(config);
    exchange(trace, "operator", &ghosts, sizeof(double), 2 + replacements, !gfnn_is_single(config));
    exchange(trace, "operator FP32", &ghosts, sizeof(float), 0, products32(config));
    ghosts.width = (int)config->reach;
    exchange(trace, "predictor", &ghosts,
             config->precision == GFNN_FP16 ? sizeof(uint16_t) : sizeof(float), 0,
             gfnn_has_network(config));
    const bool fused = config->precond == GFNN_BJ, plain = config->precond == GFNN_NONE;
    rt_trace_sum(trace, 1, fused || plain ? 1 : 2, 1); /* f.f and the largest; p.q */
    rt_trace_sum(trace, fused ? 2 : 1, fused * (1 + replacements), 1); /* update */
    if (replacements > 0)
        rt_trace_sum(trace, 1, replacements, 0); /* renew */
    if (!fused && !plain)
        rt_trace_sum(trace, 2, 0, 1); /* dots */
}
