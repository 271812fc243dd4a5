/*
 * app/trace.c - collects the steps of a trace.
 *
 * The bytes of a message come in pieces (a node here, a row there), so messages are kept in a hash
 * table by their two ranks.
 */
#include "config.h"
#include "app/trace.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "base/error.h"
#include "base/mem.h"
#include "base/numbers.h"
#include "base/sort.h"
#include "io/json.h"

enum { MOST_STEPS = 16, FIRST_PLACES = 1024 };

typedef struct {
    uint64_t pair; /* from * ranks + to + 1; 0: this place is free */
    double bytes;
} message_t;

typedef struct {
    const char *name; /* NULL: a sum */
    int values;
    double per_unit, per_iteration;
    message_t *message; /* [places], a power of two; at most half are taken */
    size_t places, taken;
} step_t;

struct rt_trace {
    int ranks, steps, boxes[3];
    rt_text_t remark;
    step_t step[MOST_STEPS];
};

rt_trace_t *rt_trace_new(int ranks)
{
    rt_trace_t *trace = RT_NEW(rt_trace_t, 1, RT_HOST);
    memset(trace, 0, sizeof *trace);
    trace->ranks = ranks;
    return trace;
}

void rt_trace_destroy(rt_trace_t *trace)
{
    for (int i = 0; i < trace->steps; i++)
        RT_FREE(trace->step[i].message, RT_HOST);
    RT_FREE(trace, RT_HOST);
}

int rt_trace_ranks(const rt_trace_t *trace)
{
    return trace->ranks;
}

rt_text_t *rt_trace_remark(rt_trace_t *trace)
{
    return &trace->remark;
}

static step_t *add_step(rt_trace_t *trace, double per_unit, double per_iteration)
{
    RT_EXPECT(trace->steps < MOST_STEPS, RT_USAGE, "a trace of more than %d steps", MOST_STEPS);
    step_t *step = &trace->step[trace->steps++];
    *step = (step_t){.per_unit = per_unit, .per_iteration = per_iteration};
    return step;
}

/* --- messages --- */

static message_t *places_new(size_t places)
{
    message_t *message = RT_NEW(message_t, places, RT_HOST);
    memset(message, 0, places * sizeof *message);
    return message;
}

/* Returns the place of this pair, or the free one where it belongs. */
static message_t *find(message_t *message, size_t places, uint64_t pair)
{
    size_t at = (size_t)rt_hash(pair, 0) & (places - 1);
    while (message[at].pair != 0 && message[at].pair != pair)
        at = (at + 1) & (places - 1);
    return &message[at];
}

static void grow(step_t *step)
{
    const size_t places = 2 * step->places;
    message_t *larger = places_new(places);
    for (size_t i = 0; i < step->places; i++)
        if (step->message[i].pair != 0)
            *find(larger, places, step->message[i].pair) = step->message[i];
    RT_FREE(step->message, RT_HOST);
    step->message = larger;
    step->places = places;
}

void rt_trace_exchange(rt_trace_t *trace, const char *name, double per_unit, double per_iteration)
{
    step_t *step = add_step(trace, per_unit, per_iteration);
    step->name = name;
    step->places = FIRST_PLACES;
    step->message = places_new(FIRST_PLACES);
}

void rt_trace_message(rt_trace_t *trace, int from, int to, double bytes)
{
    step_t *step = &trace->step[trace->steps > 0 ? trace->steps - 1 : 0];
    RT_EXPECT(step->name, RT_USAGE, "a message outside an exchange");
    if (from == to)
        return;
    const uint64_t pair = (uint64_t)from * (uint64_t)trace->ranks + (uint64_t)to + 1;
    message_t *message = find(step->message, step->places, pair);
    if (message->pair == 0) {
        message->pair = pair;
        step->taken++;
    }
    message->bytes += bytes;
    if (2 * step->taken > step->places)
        grow(step);
}

/* --- boxes --- */

void rt_trace_cube(int ranks, int boxes[3])
{
    int64_t least = INT64_MAX;
    for (int x = 1; x <= ranks; x++)
        for (int y = 1; ranks % x == 0 && y <= x; y++) {
            const int64_t z = ranks / x / y, squares = (int64_t)x * x + (int64_t)y * y + z * z;
            if (ranks / x % y != 0 || z > y || squares >= least)
                continue;
            least = squares;
            boxes[0] = x;
            boxes[1] = y;
            boxes[2] = (int)z;
        }
}

/* Lists the boxes along one direction of which box `to` may hold something, each once; returns how
 * many. */
static int partners(int to, int boxes, int reach, int *list)
{
    const int all = 2 * reach + 1 < boxes ? 2 * reach + 1 : boxes;
    for (int i = 0; i < all; i++)
        list[i] = ((to - reach + i) % boxes + boxes) % boxes;
    return all;
}

void rt_trace_boxes(rt_trace_t *trace, const int boxes[3], int reach, rt_trace_held_t held,
                    const void *of, double bytes)
{
    const int ranks = boxes[0] * boxes[1] * boxes[2];
    memcpy(trace->boxes, boxes, sizeof trace->boxes);
    int *list = RT_NEW(int, 3 * (2 * (size_t)reach + 1), RT_HOST);
    int *along[3] = {list, list + 2 * reach + 1, list + 2 * (2 * reach + 1)}, n[3];
    for (int to = 0; to < ranks; to++) {
        const int at[3] = {to % boxes[0], to / boxes[0] % boxes[1], to / (boxes[0] * boxes[1])};
        for (int d = 0; d < 3; d++)
            n[d] = partners(at[d], boxes[d], reach, along[d]);
        for (int i = 0; i < n[0] * n[1] * n[2]; i++) {
            const int place[3] = {along[0][i % n[0]], along[1][i / n[0] % n[1]],
                                  along[2][i / (n[0] * n[1])]};
            double points = 1;
            for (int d = 0; d < 3; d++)
                points *= (double)held(of, d, at[d], place[d]);
            if (points > 0)
                rt_trace_message(trace, (place[2] * boxes[1] + place[1]) * boxes[0] + place[0], to,
                                 points * bytes);
        }
    }
    RT_FREE(list, RT_HOST);
}

/* --- sums, and the JSON --- */

void rt_trace_sum(rt_trace_t *trace, int values, double per_unit, double per_iteration)
{
    add_step(trace, per_unit, per_iteration)->values = values;
}

static void add_messages(const rt_trace_t *trace, const step_t *step, json_t *messages)
{
    uint64_t *pair = RT_NEW(uint64_t, step->taken, RT_HOST);
    uint32_t *place = RT_NEW(uint32_t, step->taken, RT_HOST);
    int64_t n = 0;
    for (size_t i = 0; i < step->places; i++)
        if (step->message[i].pair != 0) {
            pair[n] = step->message[i].pair - 1;
            place[n++] = (uint32_t)i;
        }
    rt_sort(pair, place, n);
    for (int64_t i = 0; i < n; i++) {
        const double bytes = round(step->message[place[i]].bytes);
        json_t *message =
            json_pack("[III]", (json_int_t)(pair[i] / (uint64_t)trace->ranks),
                      (json_int_t)(pair[i] % (uint64_t)trace->ranks), (json_int_t)bytes);
        RT_EXPECT(message, RT_MEMORY, "no memory for %lld messages", (long long)n);
        json_array_append_new(messages, message);
    }
    RT_FREE(pair, RT_HOST);
    RT_FREE(place, RT_HOST);
}

void rt_trace_json(const rt_trace_t *trace, json_t *root)
{
    rt_json_int(root, "ranks", trace->ranks);
    json_t *boxes = rt_json_array(root, "boxes");
    for (int d = 0; d < 3 && trace->boxes[0] > 0; d++)
        json_array_append_new(boxes, json_integer(trace->boxes[d]));
    rt_json_text(root, "remark", trace->remark.text);
    json_t *steps = rt_json_array(root, "steps");
    for (int i = 0; i < trace->steps; i++) {
        const step_t *step = &trace->step[i];
        json_t *row = rt_json_append_object(steps);
        rt_json_text(row, "kind", step->name ? "exchange" : "sum");
        rt_json_real(row, "per_unit", step->per_unit);
        rt_json_real(row, "per_iteration", step->per_iteration);
        if (step->name) {
            rt_json_text(row, "name", step->name);
            add_messages(trace, step, rt_json_array(row, "messages"));
        } else {
            rt_json_int(row, "bytes", (long long)sizeof(double) * step->values);
        }
    }
}
