/*
 * vector.c - the operator as products over the whole mesh.
 *
 * Idea (CRESTA D3.5.2, section 3.3): a product takes all elements at once, C(i) = A(i) B or C(i) =
 * A B(i) with the small matrix fixed, and is one call for the mesh. A machine that has more lanes
 * than an element has points needs this. Advantage: the longest possible loops, over elements and
 * layers. Price: between two products an array of the whole mesh goes to memory and comes back. On
 * a CPU, once the array no longer fits in the cache, this costs all that the scalar version gained.
 */
#include "config.h"
#include "small.h"
#include "tiles.h"

/* Computes C(i) = A(i) B(i), i < count; A(i) are a apart and B(i) b, 0 for the small matrix, which is the
 * same for all. Each case has a timer. */
static void multiply(const nek_product_t *p, int64_t count, const double *A, int64_t a,
                     const double *B, int64_t b, double *C)
{
    const int64_t c = (int64_t)p->rows * p->columns;
    const nek_case_t which = p->rows > p->n ? NEK_TALL : p->columns > p->n ? NEK_LONG : NEK_SQUARE;
    rt_timer_start(nek_small_parameters[which].name, RT_CPU);
#pragma omp parallel for schedule(static)
    for (int64_t i = 0; i < count; i++)
        p->run(p, A + i * a, B + i * b, C + i * c);
    rt_timer_stop(nek_small_parameters[which].name);
}

static void vector_ax(const nek_view_t *view, const double *u, double *w)
{
    const int n = view->n, n2 = n * n, n3 = n2 * n;
    const nek_products_t t = nek_products_chosen(view);
    double Dt[NEK_MAX_N * NEK_MAX_N];
    double *ur = view->scratch, *us = ur + view->points, *ut = us + view->points;
    nek_transpose(n, view->D, Dt);
    multiply(&t.along_i, view->elements, u, n3, Dt, 0, ur);
    multiply(&t.along_j, view->elements * n, view->D, 0, u, n2, us);
    multiply(&t.along_k, view->elements, view->D, 0, u, n3, ut);
#pragma omp parallel for schedule(static)
    for (int64_t e = 0; e < view->elements; e++)
        nek_apply_factors(n3, n3, view->G + e * 6 * n3, ur + e * n3, us + e * n3, ut + e * n3);
    multiply(&t.along_i, view->elements, ur, n3, view->D, 0, w);
    multiply(&t.add_j, view->elements * n, Dt, 0, us, n2, w);
    multiply(&t.add_k, view->elements, Dt, 0, ut, n3, w);
}

const nek_kernels_t nek_vector = {
    .rung = {.precision = "FP64",
             .reproducible = true,
             .parameters = nek_small_parameters,
             .n_parameters = NEK_CASES,
             .refuse = nek_refuse,
             .refuse_choice = nek_small_refuse},
    .ax = vector_ax,
    .vector = &nek_vector_cpu,
    .scratch_arrays = 3,
};
