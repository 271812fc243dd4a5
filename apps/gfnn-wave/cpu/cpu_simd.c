/*
 * cpu_simd.c - the rung cpu-simd of the operator: threads, and vectors along x, in the modes of
 * parity.h. cpu_simd_rows.inc has the idea and the code.
 */
#include "config.h"
#define REAL       double
#define REAL_BYTES 8
#define INTEGER    int64_t
#include "cpu_simd_rows.inc"

/* The layers of x and y above and below a tile should stay in the second cache; a low tile computes
 * one more row of elements for every few of its own. */
static const char *const heights[] = {"6", "12", "24", "48", "96", NULL};
static const char *const widths[] = {"64", "128", "256", NULL};
const rt_parameter_t gfnn_simd_parameters[] = {{.name = "tile-rows",
                                                .about = "rows of nodes in a tile",
                                                .values = heights,
                                                .initial = GFNN_SIMD_INITIAL},
                                               {.name = "tile-width",
                                                .about = "nodes in such a row",
                                                .values = widths,
                                                .initial = GFNN_SIMD_INITIAL}};

/* Compilers do not propagate constants into a parallel region, so they are passed outside of it. */
static void part_plain(const job_t *job, const gfnn_region_t *part)
{
    tiles(job, part, false);
}

static void part_dot(const job_t *job, const gfnn_region_t *part)
{
    for (int64_t k = part->lo[2]; k < part->hi[2]; k++)
        for (int64_t j = part->lo[1]; j < part->hi[1]; j++)
            job->row[k * job->grid->n[1] + j] = 0;
    tiles(job, part, true);
}

static void apply(const gfnn_view_t *view, const gfnn_form_t *form, const gfnn_region_t *region,
                  const double *x, double *y)
{
    const job_t job = job_of(view, form, &view->box->fine, x, y);
#pragma omp parallel
    {
        const gfnn_region_t part = part_of(region);
        if (!empty(&part))
            part_plain(&job, &part);
    }
}

/* Each row has its own sum x . y, and these are added row by row: the same on any number of
 * threads. */
static void apply_dot(const gfnn_view_t *view, const gfnn_form_t *form, const gfnn_region_t *region,
                      const double *x, double *y, double *dot)
{
    const int64_t rows = view->box->n[1], j0 = region->lo[1];
    job_t job = job_of(view, form, &view->box->fine, x, y);
    job.row = view->data;
    *dot = 0;
    if (empty(region))
        return;
#pragma omp parallel
    {
        const gfnn_region_t part = part_of(region);
        if (!empty(&part))
            part_dot(&job, &part);
#pragma omp barrier
#pragma omp for schedule(static)
        for (int64_t k = region->lo[2]; k < region->hi[2]; k++)
            for (int64_t j = j0 + 1; j < region->hi[1]; j++)
                job.row[k * rows + j0] += job.row[k * rows + j];
    }
    for (int64_t k = region->lo[2]; k < region->hi[2]; k++)
        *dot += job.row[k * rows + j0];
}

static void set_up(gfnn_view_t *view)
{
    view->data = RT_NEW(double, (size_t)(view->box->n[1] * view->box->n[2]), RT_HOST);
}

static void tear_down(gfnn_view_t *view)
{
    RT_FREE(view->data, RT_HOST);
}

static void memory(const gfnn_config_t *config, const gfnn_box_t *box, double bytes[RT_SPACES])
{
    (void)config;
    bytes[RT_HOST] += (double)(box->n[1] * box->n[2]) * sizeof(double);
}

const gfnn_operator_t gfnn_operator_simd = {.apply = apply,
                                            .apply32 = gfnn_simd_apply32,
                                            .apply_dot = apply_dot,
                                            .set_up = set_up,
                                            .tear_down = tear_down,
                                            .memory = memory};
const gfnn_kernels_t gfnn_op_simd = {
    .rung = {.precision = "FP64",
             .reproducible = true,
             .parameters = gfnn_simd_parameters,
             .n_parameters = GFNN_SIMD_PARAMETERS},
    .ladder = GFNN_LADDER_OPERATOR,
    .op = &gfnn_operator_simd,
};
