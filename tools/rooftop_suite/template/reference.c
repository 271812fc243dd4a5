/* reference.c - the definition, its layers dealt to threads. It judges all others. */
#include "../jacobi.h"

static void sweep(const jacobi_view_t *view)
{
    const int64_t row = view->row, plane = view->plane;
    const double *u = view->u, *b = view->b;
#pragma omp parallel for schedule(static)
    for (int64_t z = 1; z <= view->layers; z++)
        for (int64_t y = 1; y <= view->n; y++)
            for (int64_t x = 1; x <= view->n; x++) {
                const int64_t p = z * plane + y * row + x;
                view->v[p] = (b[p] + u[p - 1] + u[p + 1] + u[p - row] + u[p + row] + u[p - plane] +
                              u[p + plane]) /
                             6;
            }
}

const jacobi_kernels_t jacobi_reference = {
    .rung = {.precision = "FP64", .reproducible = true},
    .sweep = sweep,
};
