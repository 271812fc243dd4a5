/*
 * scalar.c - the operator of an element as six small matrix products.
 *
 * Idea (CRESTA D3.5.2, section 3.2): the sums of Listing 1 are products with the small matrix D, in
 * three shapes, and matrix products are what libraries and compilers do best. Each product uses the
 * version that suits its shape and n; see small.h. Advantage: the sums are fast although no product
 * knows about elements, any new version can be plugged in, and an element's intermediate values
 * stay in cache. Price: each product is a call that reads its operands from L1 or L2 again, and an
 * element's short vectors are on the stack.
 */
#include "config.h"
#include "small.h"
#include "tiles.h"

static void element(const nek_products_t *t, const double *D, const double *Dt, const double *G,
                    const double *u, double *w)
{
    const int n = t->along_i.n, n2 = n * n, n3 = n2 * n;
    double ur[NEK_MAX_N3], us[NEK_MAX_N3], ut[NEK_MAX_N3];
    t->along_i.run(&t->along_i, u, Dt, ur);
    for (int k = 0; k < n; k++)
        t->along_j.run(&t->along_j, D, u + k * n2, us + k * n2);
    t->along_k.run(&t->along_k, D, u, ut);
    nek_apply_factors(n3, n3, G, ur, us, ut);
    t->along_i.run(&t->along_i, ur, D, w);
    for (int k = 0; k < n; k++)
        t->add_j.run(&t->add_j, Dt, us + k * n2, w + k * n2);
    t->add_k.run(&t->add_k, Dt, ut, w);
}

static void scalar_ax(const nek_view_t *view, const double *u, double *w)
{
    const int n = view->n, n3 = n * n * n;
    const nek_products_t t = nek_products_chosen(view);
    double Dt[NEK_MAX_N * NEK_MAX_N];
    nek_transpose(n, view->D, Dt);
#pragma omp parallel for schedule(static)
    for (int64_t e = 0; e < view->elements; e++)
        element(&t, view->D, Dt, view->G + e * 6 * n3, u + e * n3, w + e * n3);
}

const nek_kernels_t nek_scalar = {
    .rung = {.precision = "FP64",
             .reproducible = true,
             .parameters = nek_small_parameters,
             .n_parameters = NEK_CASES,
             .refuse = nek_refuse,
             .refuse_choice = nek_small_refuse},
    .ax = scalar_ax,
    .vector = &nek_vector_cpu,
};
