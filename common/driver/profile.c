/* driver/profile.c - --profile: the timers of all ranks together, as a table and in JSON. */
#include "config.h"
#include <stdlib.h>
#include <string.h>
#include "driver/job.h"
#include "io/json.h"
#include "machine/comm.h"
#include "machine/timer.h"

enum { PATH = 512 };

/* What the ranks measured below one timer. */
typedef struct {
    int least, most; /* ranks of the shortest and the longest call; -1: there was no call */
    double calls, sum, slowest, bytes, flops;
} total_t;

static total_t add_up(const rt_timer_result_t *all, int size)
{
    total_t t = {.least = -1, .most = -1};
    for (int r = 0; r < size; r++) {
        if (all[r].calls == 0)
            continue;
        if (t.least < 0 || all[r].min < all[t.least].min)
            t.least = r;
        if (t.most < 0 || all[r].max > all[t.most].max)
            t.most = r;
        t.calls += (double)all[r].calls;
        t.sum += all[r].sum;
        t.bytes += all[r].bytes;
        t.flops += all[r].flops;
        t.slowest = all[r].sum > t.slowest ? all[r].sum : t.slowest;
    }
    return t;
}

/* Prints a row. A rate is that of all ranks together, over the time of the slowest. */
static void print_row(rt_table_t *table, const rt_timer_result_t *mine,
                      const rt_timer_result_t *all, const total_t *t, double bandwidth)
{
    const bool rated = t->slowest > 0;
    rt_table_cell(table, "%*s%s", 2 * mine->depth, "", mine->name);
    rt_table_cell(table, "%.0f", t->calls);
    rt_table_cell(table, "%.2f@%d", 1e6 * all[t->least].min, t->least);
    rt_table_cell(table, "%.2f@%d", 1e6 * all[t->most].max, t->most);
    rt_table_cell(table, "%.2f", 1e6 * t->sum / t->calls);
    rt_table_cell(table, "%.4f", t->slowest);
    rt_table_cell(table, rated && t->bytes > 0 ? "%.2f" : "-", 1e-9 * t->bytes / t->slowest);
    rt_table_cell(table, rated && t->flops > 0 ? "%.2f" : "-", 1e-9 * t->flops / t->slowest);
    if (bandwidth > 0)
        rt_table_cell(table, rated && t->bytes > 0 ? "%.1f %%" : "-",
                      100 * t->bytes / t->slowest / rt_comm_size() / bandwidth);
    rt_table_row(table);
}

static void add_json(json_t *rows, const char *path, const total_t *t)
{
    json_t *row = rt_json_append_object(rows);
    rt_json_text(row, "timer", path);
    rt_json_int(row, "calls", (long long)t->calls);
    rt_json_real(row, "seconds", t->sum / rt_comm_size());
    rt_json_real(row, "slowest_seconds", t->slowest);
    rt_json_real(row, "bytes", t->bytes);
}

/* Finds this rank's timer of that path; one without calls if there is none. */
static rt_timer_result_t find_path(const char *path)
{
    rt_timer_result_t timer;
    for (int i = 0; rt_timer_result(i, &timer); i++)
        if (strcmp(timer.path, path) == 0)
            return timer;
    memset(&timer, 0, sizeof timer);
    return timer;
}

void rt_print_profile(FILE *out, double bandwidth, json_t *rows)
{
    const int size = rt_comm_size(), rank = rt_comm_rank();
    rt_text_t columns;
    rt_text(&columns, "<timer|calls|min us@rank|max us@rank|average us|total s|GB/s|GFlop/s");
    if (bandwidth > 0) /* as known by now: the job may see a higher one later */
        rt_text_add(&columns, "|of %.1f GB/s", 1e-9 * size * bandwidth);
    rt_table_t *table = rt_table_new(columns.text);
    rt_timer_result_t *all = calloc((size_t)size, sizeof *all), timer;
    RT_EXPECT(all, RT_MEMORY, "out of memory for the timers of %d ranks", size);
    char path[PATH] = "";
    for (int i = 0;; i++) { /* the timers of rank 0, one by one; an empty path is the end */
        const bool any = rank == 0 && rt_timer_result(i, &timer);
        snprintf(path, sizeof path, "%s", any ? timer.path : "");
        rt_comm_bcast(path, sizeof path, 0);
        if (path[0] == '\0')
            break;
        const rt_timer_result_t mine = find_path(path);
        rt_comm_allgather(&mine, sizeof mine, all);
        const total_t total = add_up(all, size);
        if (rank == 0 && total.least >= 0)
            print_row(table, &timer, all, &total, bandwidth);
        if (rank == 0 && total.least >= 0 && rows)
            add_json(rows, path, &total);
    }
    if (rank == 0)
        rt_table_print(table, out);
    rt_table_destroy(table);
    free(all);
}

void rt_profile_rung(const rt_run_t *run, void *solver, const rt_outcome_t *out, json_t *extra)
{
    /* The first solve absorbs one-time costs, and the barrier lines the ranks up: otherwise the
     * first messages would include waiting for a late rank. */
    rt_timer_enable(true);
    run->app->solve(solver);
    rt_timer_reset();
    rt_comm_barrier();
    rt_timer_start(out->rung->name, out->rung->kind);
    run->app->solve(solver);
    rt_timer_stop(out->rung->name);
    rt_timer_enable(false);
    for (int i = 0; i < out->work.n; i++) { /* the work model counts all ranks together */
        const rt_work_line_t *line = &out->work.line[i];
        rt_timer_credit(line->kernel, (line->read + line->written) / rt_comm_size(),
                        line->flops / rt_comm_size());
    }
    rt_print_profile(stdout, run->bandwidth, extra ? rt_json_array(extra, "profile") : NULL);
}
