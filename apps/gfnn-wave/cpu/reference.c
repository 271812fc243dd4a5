/*
 * reference.c - the definition of y = A x: element after element, the 24x24 matrix of its
 * material times the values at its corners. The oracle for all other rungs.
 *
 * Advantage: anyone can check it against the formula, at any face. A layer of elements touches two
 * layers of nodes, so threads share the even layers first and then the odd ones; the terms of a
 * node are added in the same order by any number of threads. Price: 1152 operations per element,
 * where its symmetries would leave 187.
 */
#include "config.h"
#include <math.h>
#include "cpu.h"

typedef double matrix_t[24][24];

/* x and y are double, or float if `single`. The arithmetic is double; only sums in y are rounded to
 * its type. */
typedef struct {
    const gfnn_grid_t *grid, *wide; /* of x and y; of id */
    const uint8_t *id;
    const matrix_t *A; /* by id; GFNN_OUTSIDE is the last */
    int ids;
    bool single;
    const void *x;
    void *y;
} job_t;

/* Returns the matrix of every material, or the magnitudes of its entries. RT_FREE it. */
static matrix_t *matrices(const gfnn_materials_t *materials, const gfnn_form_t *form, bool absolute)
{
    matrix_t *A = RT_NEW(matrix_t, (size_t)materials->ids + 1, RT_HOST);
    for (int m = 0; m <= materials->ids; m++) {
        const int id = m < materials->ids ? m : GFNN_OUTSIDE;
        gfnn_element_matrix(form, materials->w[id], materials->square[id], A[m]);
        for (int i = 0; absolute && i < 24; i++)
            for (int j = 0; j < 24; j++)
                A[m][i][j] = fabs(A[m][i][j]);
    }
    return A;
}

/* y += A_e x for those corners of element (i, j, k) that are own nodes. */
static void element(const job_t *job, int64_t i, int64_t j, int64_t k)
{
    const int id = job->id[gfnn_at(job->wide, i, j, k)];
    const double(*A)[24] = job->A[id == GFNN_OUTSIDE ? job->ids : id];
    double x[24];
    for (int a = 0; a < 8; a++)
        for (int c = 0; c < 3; c++) {
            const int64_t at =
                c * job->grid->plane + gfnn_at(job->grid, i + a % 2, j + a / 2 % 2, k + a / 4);
            x[3 * a + c] = job->single ? ((const float *)job->x)[at] : ((const double *)job->x)[at];
        }
    for (int a = 0; a < 8; a++) {
        if (!gfnn_is_own(job->grid, i + a % 2, j + a / 2 % 2, k + a / 4))
            continue;
        for (int c = 0; c < 3; c++) {
            double sum = 0;
            for (int q = 0; q < 24; q++)
                sum += A[3 * a + c][q] * x[q];
            const int64_t at =
                c * job->grid->plane + gfnn_at(job->grid, i + a % 2, j + a / 2 % 2, k + a / 4);
            if (job->single)
                ((float *)job->y)[at] = (float)(((float *)job->y)[at] + sum);
            else
                ((double *)job->y)[at] += sum;
        }
    }
}

static void clear_row(const job_t *job, int64_t j, int64_t k)
{
    for (int c = 0; c < 3; c++) {
        const int64_t at = c * job->grid->plane + gfnn_at(job->grid, 0, j, k);
        for (int64_t i = 0; i < job->grid->n[0]; i++)
            if (job->single)
                ((float *)job->y)[at + i] = 0;
            else
                ((double *)job->y)[at + i] = 0;
    }
}

static void elements(const job_t *job)
{
    const int64_t *n = job->grid->n;
#pragma omp parallel
    {
#pragma omp for schedule(static)
        for (int64_t k = 0; k < n[2]; k++)
            for (int64_t j = 0; j < n[1]; j++)
                clear_row(job, j, k);
        for (int64_t first = -1; first <= 0; first++) {
#pragma omp for schedule(static)
            for (int64_t k = first; k < n[2]; k += 2)
                for (int64_t j = -1; j < n[1]; j++)
                    for (int64_t i = -1; i < n[0]; i++)
                        element(job, i, j, k);
        }
    }
}

/* Returns |x|, for `absolute`. RT_FREE it. */
static double *magnitudes(const double *x, size_t values)
{
    double *size = RT_NEW(double, values, RT_HOST);
    for (size_t v = 0; v < values; v++)
        size[v] = fabs(x[v]);
    return size;
}

void gfnn_apply_reference(const gfnn_box_t *box, const gfnn_materials_t *materials,
                          const uint8_t *id, const gfnn_form_t *form, bool absolute,
                          const double *x, double *y)
{
    matrix_t *A = matrices(materials, form, absolute);
    double *size = absolute ? magnitudes(x, 3 * (size_t)box->fine.plane) : NULL;
    const job_t job = {.grid = &box->fine,
                       .wide = &box->wide,
                       .id = id,
                       .A = (const matrix_t *)A,
                       .ids = materials->ids,
                       .x = absolute ? size : x,
                       .y = y};
    elements(&job);
    RT_FREE(size, RT_HOST);
    RT_FREE(A, RT_HOST);
}

static void apply(const gfnn_view_t *view, const gfnn_product_t *a)
{
    matrix_t *A = matrices(view->materials, a->form, false);
    const bool single = a->type == GFNN_SINGLE;
    const job_t job = {.grid = single ? &view->box->wide : &view->box->fine,
                       .wide = &view->box->wide,
                       .id = view->id,
                       .A = (const matrix_t *)A,
                       .ids = view->materials->ids,
                       .single = single,
                       .x = a->x,
                       .y = a->y};
    elements(&job);
    RT_FREE(A, RT_HOST);
}

const gfnn_operator_t gfnn_operator_reference = {.apply = apply, .single = true};
const gfnn_kernels_t gfnn_op_reference = {
    .rung = {.precision = "FP64", .reproducible = true},
    .ladder = GFNN_LADDER_OPERATOR,
    .op = &gfnn_operator_reference,
};
