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

/* Computes C(i) = A(i) B, i < count; with its own timer, as times_each. */
static void each_times(const nek_product_t *p, int64_t count, const double *A, const double *B,
                       double *C)
{
    const int64_t a = (int64_t)p->rows * p->n, c = (int64_t)p->rows * p->columns;
    rt_timer_start(nek_small_parameters[NEK_TALL].name, RT_CPU);
#pragma omp parallel for schedule(static)
    for (int64_t i = 0; i < count; i++)
        p->run(p, A + i * a, B, C + i * c);
    rt_timer_stop(nek_small_parameters[NEK_TALL].name);
}

/* Computes C(i) = A B(i), i < count. */
static void times_each(const nek_product_t *p, int64_t count, const double *A, const double *B,
                       double *C)
{
    const int64_t b = (int64_t)p->n * p->columns, c = (int64_t)p->rows * p->columns;
    const char *name = nek_small_parameters[p->columns == p->n ? NEK_SQUARE : NEK_LONG].name;
    rt_timer_start(name, RT_CPU);
#pragma omp parallel for schedule(static)
    for (int64_t i = 0; i < count; i++)
        p->run(p, A, B + i * b, C + i * c);
    rt_timer_stop(name);
}

static void vector_ax(const nek_view_t *view, const double *u, double *w)
{
    const int n = view->n, n3 = n * n * n;
    const nek_products_t t = nek_products_chosen(view);
    double Dt[NEK_MAX_N * NEK_MAX_N];
    double *ur = view->scratch, *us = ur + view->points, *ut = us + view->points;
    nek_transpose(n, view->D, Dt);
    each_times(&t.along_i, view->elements, u, Dt, ur);
    times_each(&t.along_j, view->elements * n, view->D, u, us);
    times_each(&t.along_k, view->elements, view->D, u, ut);
#pragma omp parallel for schedule(static)
    for (int64_t e = 0; e < view->elements; e++)
        nek_apply_factors(n3, n3, view->G + e * 6 * n3, ur + e * n3, us + e * n3, ut + e * n3);
    each_times(&t.along_i, view->elements, ur, view->D, w);
    times_each(&t.add_j, view->elements * n, Dt, us, w);
    times_each(&t.add_k, view->elements, Dt, ut, w);
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
