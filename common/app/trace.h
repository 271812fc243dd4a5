/*
 * app/trace.h - what the ranks tell each other in a unit, for any number of ranks, without solving:
 * for --trace, which a simulator of networks replays (docs/running.md).
 *
 * The problem given is that of one rank, and each rank has one like it: weak scaling. A trace is a
 * list of steps, in any order:
 *
 *   an exchange: messages between neighbours, as rt_halo sends them
 *   a sum:       some doubles, added over all ranks and known to all
 *
 * A step happens `per_unit` times in a unit, and `per_iteration` more in each iteration of a solver
 * whose number of iterations only a run can tell.
 */
#ifndef RT_TRACE_H
#define RT_TRACE_H

#include <jansson.h>
#include <stdint.h>
#include "base/text.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct rt_trace rt_trace_t;

rt_trace_t *rt_trace_new(int ranks); /* in host memory */
void rt_trace_destroy(rt_trace_t *trace);
int rt_trace_ranks(const rt_trace_t *trace);
/* Returns the line that says how the trace was made, if that is not exact; "" at first. */
rt_text_t *rt_trace_remark(rt_trace_t *trace);
/* Adds ranks, boxes (none if the ranks have none), remark and steps to `root`; messages are
 * [from, to, bytes], ascending. */
void rt_trace_json(const rt_trace_t *trace, json_t *root);

/* Begins an exchange. Calls with the same `from` and `to` add up to one message, a call with from =
 * to is ignored. */
void rt_trace_exchange(rt_trace_t *trace, const char *name, double per_unit, double per_iteration);
void rt_trace_message(rt_trace_t *trace, int from, int to, double bytes);
/* Chooses boxes[0] >= boxes[1] >= boxes[2], as close to a cube as so many ranks allow. */
void rt_trace_cube(int ranks, int boxes[3]);
/* Adds the messages of boxes: rank r has place r % boxes[0], r / boxes[0] % boxes[1], ... along x,
 * y and z. held(of, d, to, from) returns how many coordinates along d that box `from` owns (or has
 * too) box `to` holds; a message has `bytes` for each point of the three. Boxes more than `reach`
 * away hold nothing of each other; the first box is the neighbour of the last one. */
typedef int64_t (*rt_trace_held_t)(const void *of, int d, int to, int from);
void rt_trace_boxes(rt_trace_t *trace, const int boxes[3], int reach, rt_trace_held_t held,
                    const void *of, double bytes);
/* Adds a sum of so many doubles. */
void rt_trace_sum(rt_trace_t *trace, int values, double per_unit, double per_iteration);

#ifdef __cplusplus
}
#endif
#endif
