/*
 * cpu_simd32.c - cpu_simd.c for FP32 vectors, which are on `wide`: twice the lanes.
 */
#include "config.h"
#define REAL       float
#define REAL_BYTES 4
#define INTEGER    int32_t
#include "cpu_simd_rows.inc"

/* Compilers do not propagate constants into a parallel region, so it is passed outside of it. */
static void part_plain(const job_t *job, const gfnn_region_t *part)
{
    tiles(job, part, false);
}

void gfnn_simd_apply32(const gfnn_view_t *view, const gfnn_form_t *form,
                       const gfnn_region_t *region, const float *x, float *y)
{
    const job_t job = job_of(view, form, &view->box->wide, x, y);
#pragma omp parallel
    {
        const gfnn_region_t part = part_of(region);
        if (!empty(&part))
            part_plain(&job, &part);
    }
}
