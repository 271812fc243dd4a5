/*
 * cpu_simd.c - the rung cpu-simd of the operator: threads, and vectors along x, in the modes of
 * parity.h. cpu_simd_rows.inc has the idea and the code.
 */
#include "config.h"
#define REAL       double
#define REAL_BYTES 8
#define INTEGER    int64_t
#define GRID       fine
#define PART       gfnn_simd_part64
#include "cpu_simd_rows.inc"
#include "base/threads.h"

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

void gfnn_simd_part(const gfnn_view_t *view, const gfnn_product_t *a, int64_t me, int64_t parts,
                    double *dots)
{
    if (a->type == GFNN_SINGLE)
        gfnn_simd_part32(view, a, me, parts, dots);
    else
        gfnn_simd_part64(view, a, me, parts, dots);
}

static void apply(const gfnn_view_t *view, const gfnn_product_t *a)
{
    double *const dots = a->dot ? view->data : NULL;
#pragma omp parallel
    gfnn_simd_part(view, a, rt_thread(), rt_threads_here(), dots);
    if (dots)
        *a->dot = rt_sum_pairwise(dots, view->box->n[1] * view->box->n[2]);
}

static void set_up(gfnn_view_t *view)
{
    view->data = RT_NEW(double, (size_t)(view->box->n[1] * view->box->n[2]), RT_HOST);
}

static void tear_down(gfnn_view_t *view)
{
    RT_FREE(view->data, RT_HOST);
}

const gfnn_operator_t gfnn_operator_simd = {
    .apply = apply, .single = true, .sums = true, .set_up = set_up, .tear_down = tear_down};
const gfnn_kernels_t gfnn_op_simd = {
    .rung = {.precision = "FP64",
             .reproducible = true,
             .parameters = gfnn_simd_parameters,
             .n_parameters = GFNN_SIMD_PARAMETERS},
    .ladder = GFNN_LADDER_OPERATOR,
    .op = &gfnn_operator_simd,
};
