/*
 * vectors32.c - the loops of conjugate gradients over FP32 vectors, which are on `wide`.
 */
#include "config.h"
#include "rows.h"
#define VALUE    float
#define AT(line) (line).wide
#define GRID     wide
#include "cg_rows.inc"

INLINE void arrive_row(bool first, bool is_due, int64_t n, double due, double unit,
                       const float *restrict x, const float *restrict p, double *restrict du)
{
#pragma omp simd
    for (int64_t i = 0; i < n; i++)
        du[i] = (first ? 0 : du[i]) + (x[i] + (is_due ? due * p[i] : 0)) / unit;
}

static void arrive(const gfnn_view_t *view, const gfnn_cg_t *cg, bool first, const void *x,
                   const void *p, double *du)
{
    const gfnn_box_t *box = view->box;
    const double due = cg->due, unit = cg->unit;
#pragma omp parallel for schedule(static)
    for (int64_t l = 0; l < gfnn_lines(box); l++) {
        const gfnn_line_t line = gfnn_line(box, l);
        const float *of_x = (const float *)x + line.wide, *of_p = (const float *)p + line.wide;
        if (due == 0)
            arrive_row(first, false, line.n, 0, unit, of_x, of_x, du + line.fine);
        else
            arrive_row(first, true, line.n, due, unit, of_x, of_p, du + line.fine);
    }
}

const gfnn_loops_t gfnn_cpu_loops32 = {.renew = renew,
                                       .update = update,
                                       .update_bj = update_bj,
                                       .dots = dots,
                                       .direction = direction,
                                       .direction_plain = direction_plain,
                                       .arrive = arrive};
