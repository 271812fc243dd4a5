/*
 * work.c - what a sweep must do, counted before anything is measured, and the memory.
 *
 *     v[p]    6 sums and a division      read u and b once, write v: 24 bytes per point
 */
#include "jacobi.h"

enum { VALUE = sizeof(double) };

/* rungs, kernel, {flops}, {bytes read}, {bytes written} per point, calls */
static const rt_work_row_t rows[] = {
    {"reference global", "sweep", {7}, {2 * VALUE}, {VALUE}, 0},
};

void jacobi_work(const rt_run_t *run, const rt_rung_t *rung, rt_work_t *work)
{
    const jacobi_config_t *config = run->config;
    const double points = (double)config->n * (double)config->n * (double)config->n, once = 1;
    const double count[RT_WORK_COUNTS] = {points};
    *work = (rt_work_t){.unit = "sweep",
                        .units = (double)config->iterations,
                        .flops = 7 * points,
                        .bytes = 3 * VALUE * points,
                        .points = points,
                        .point = "point",
                        .loads_and_stores = 3,
                        .distinct_arrays = 3,
                        .array_bytes = VALUE * points / rt_comm_size()};
    rt_work_rows(rows, sizeof rows / sizeof *rows, rung->name, count, &once, work);
}

/* A solver has base, b, u and v. The host has the problem's base, u of two solves and of the last, and
 * the judge's own solver. */
void jacobi_memory(const rt_run_t *run, const rt_rung_t *rung, double bytes[RT_SPACES])
{
    const jacobi_config_t *config = run->config;
    const rt_space_t space = rt_rung_space(rung);
    const double edge = (double)config->n + 2, layers = (double)config->layers + 2;
    const double array = VALUE * edge * edge * layers;
    const int64_t shared = rt_comm_size() > 1 ? 4 * config->n * config->n : 0;
    bytes[RT_HOST] = 8 * array + (double)rt_halo_predict(0, shared, 1, RT_HOST) +
                     (double)rt_halo_predict_setup(0, shared);
    bytes[RT_PINNED] = bytes[RT_DEVICE] = 0;
    bytes[space] += 4 * array + (double)rt_halo_predict(0, shared, 1, space);
    if (space == RT_DEVICE)
        bytes[RT_PINNED] = (double)rt_halo_predict(0, shared, 1, RT_PINNED);
}
