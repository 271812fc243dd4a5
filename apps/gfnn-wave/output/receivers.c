/*
 * receivers.c - --receivers: u of some nodes over time, as a seismometer there would record it, and
 * the .csv file of it.
 *
 * Each rank records the nodes that it has; the others are 0, and a sum brings all to rank 0. A
 * rung on a GPU fetches three numbers per receiver after each step, within the timed solve, and
 * waits for them: some 30 us per receiver and step.
 */
#include "config.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "apps/gfnn-wave/gfnn.h"
#include "io/draft.h"
#include "io/draft.h"

bool gfnn_has_receivers(const gfnn_config_t *config)
{
    return strcmp(config->receivers, "none") != 0;
}

/* Reads "X,Y,Z" from *text on, and the ':' between two of them. Returns false if it is not that. */
static bool read_place(const char **text, double place[3])
{
    for (int d = 0; d < 3; d++) {
        char *end;
        place[d] = strtod(*text, &end);
        if (end == *text || *end != (d < 2 ? ',' : *end == ':' ? ':' : '\0'))
            return false;
        *text = end + (*end != '\0');
    }
    return true;
}

int gfnn_receivers(const gfnn_config_t *config, int64_t node[GFNN_MOST_RECEIVERS][3],
                   rt_text_t *why)
{
    int n = 0;
    for (const char *text = config->receivers; *text || n == 0; n++) {
        double place[3];
        if (n == GFNN_MOST_RECEIVERS) {
            rt_text(why, "more than %d", GFNN_MOST_RECEIVERS);
            return 0;
        }
        if (!read_place(&text, place)) {
            rt_text(why, "write places in m as X,Y,Z:X,Y,Z");
            return 0;
        }
        for (int d = 0; d < 3; d++) {
            const double edge = config->ds * (double)config->n_elements[d];
            if (!(place[d] >= 0 && place[d] <= edge)) {
                rt_text(why, "%g m is outside the box, which has 0 to %g m in %c", place[d], edge,
                        "xyz"[d]);
                return 0;
            }
            /* beyond the last node of a periodic box is the first */
            node[n][d] = (int64_t)(place[d] / config->ds + 0.5) % config->n_nodes[d];
        }
    }
    return n;
}

double gfnn_records_memory(const gfnn_config_t *config)
{
    int64_t node[GFNN_MOST_RECEIVERS][3];
    rt_text_t why;
    if (!gfnn_has_receivers(config))
        return 0;
    return 3 * sizeof(double) * (double)config->steps * (double)gfnn_receivers(config, node, &why);
}

gfnn_records_t *gfnn_records_new(const gfnn_problem_t *p)
{
    const gfnn_box_t *box = &p->box;
    rt_text_t why;
    if (!gfnn_has_receivers(p->config))
        return NULL;
    gfnn_records_t *records = RT_NEW(gfnn_records_t, 1, RT_HOST);
    records->n = gfnn_receivers(p->config, records->node, &why);
    for (int r = 0; r < records->n; r++) {
        int64_t own[3];
        bool here = true;
        for (int d = 0; d < 3; d++) {
            own[d] = records->node[r][d] - box->first[d];
            here = here && own[d] >= 0 && own[d] < box->n[d];
        }
        records->at[r] = here ? gfnn_at(&box->fine, own[0], own[1], own[2]) : -1;
    }
    records->u = RT_NEW(double, 3 * (size_t)(records->n * p->config->steps), RT_HOST);
    return records;
}

void gfnn_records_destroy(gfnn_records_t *records)
{
    if (!records)
        return;
    RT_FREE(records->u, RT_HOST);
    RT_FREE(records, RT_HOST);
}

void gfnn_record(gfnn_solver_t *s)
{
    const gfnn_records_t *records = s->records;
    const int64_t plane = s->problem->box.fine.plane;
    for (int r = 0; records && r < records->n; r++)
        for (int c = 0; c < 3; c++) {
            double *to = records->u + 3 * (s->steps * records->n + r) + c;
            *to = 0;
            if (records->at[r] >= 0)
                rt_copy(to, RT_HOST, s->u + c * plane + records->at[r], s->space, sizeof *to);
        }
}

/* Appends a text to a file of *size bytes. */
static void put(rt_draft_t *draft, int64_t *size, const char *text)
{
    rt_draft_put(draft, *size, text, strlen(text));
    *size += (int64_t)strlen(text);
}

void gfnn_write_records(const gfnn_solver_t *s, const char *path)
{
    static const char axes[] = "xyz";
    const gfnn_records_t *records = s->records;
    const gfnn_config_t *config = s->problem->config;
    const int64_t values = 3 * s->steps * records->n;
    double *u = RT_NEW(double, (size_t)(values > 0 ? values : 1), RT_HOST);
    memcpy(u, records->u, (size_t)values * sizeof *u);
    for (int64_t first = 0; first < values; first += 3 * records->n)
        rt_comm_sum(u + first, 3 * records->n);
    if (rt_comm_rank() == 0) {
        rt_draft_t draft;
        rt_text_t text;
        int64_t size = 0;
        rt_draft_begin(&draft, path);
        put(&draft, &size, "time s");
        for (int r = 0; r < records->n; r++)
            for (int c = 0; c < 3; c++)
                put(&draft, &size,
                    rt_text(&text, ",u%c m at %g %g %g", axes[c],
                            config->ds * (double)records->node[r][0],
                            config->ds * (double)records->node[r][1],
                            config->ds * (double)records->node[r][2]));
        for (int64_t k = 0; k < s->steps; k++) {
            put(&draft, &size, rt_text(&text, "\n%.9g", config->dt * (double)(k + 1)));
            for (int i = 0; i < 3 * records->n; i++)
                put(&draft, &size, rt_text(&text, ",%.9g", u[3 * k * records->n + i]));
        }
        put(&draft, &size, "\n");
        rt_draft_publish(&draft, path);
    }
    RT_FREE(u, RT_HOST);
}
