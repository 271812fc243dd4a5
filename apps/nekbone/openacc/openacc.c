/*
 * openacc.c - Listing 1 with directives.
 *
 * Idea: the two loop nests of Listing 1 over all points of the mesh, each a parallel loop. One
 * source for CPUs and GPUs; the compiler chooses gangs and vectors.
 *
 * Advantage: plain C; three lines of directives per loop nest. Price: ur, us and ut go to memory
 * and back, as in `global`; n is not known to the compiler; nothing says what to keep in shared
 * memory or registers.
 */
#include "config.h"
#include "machine/openacc.h"
#include "../kernel.h"

static void openacc_ax(const nek_view_t *view, const double *u, double *w)
{
    const int n = view->n;
    const int64_t elements = view->elements, n2 = n * n, n3 = n2 * n;
    const double *D = view->D, *G = view->G;
    rt_openacc_begin();
    double *ur = view->scratch, *us = ur + view->points, *ut = us + view->points;

#pragma acc parallel loop gang vector collapse(4) deviceptr(D, G, u, ur, us, ut)
    for (int64_t e = 0; e < elements; e++)
        for (int k = 0; k < n; k++)
            for (int j = 0; j < n; j++)
                for (int i = 0; i < n; i++) {
                    const int64_t q = k * n2 + j * n + i;
                    const double *ue = u + e * n3, *g = G + e * 6 * n3 + q;
                    double wr = 0, ws = 0, wt = 0;
                    for (int l = 0; l < n; l++) {
                        wr += D[i * n + l] * ue[k * n2 + j * n + l];
                        ws += D[j * n + l] * ue[k * n2 + l * n + i];
                        wt += D[k * n + l] * ue[l * n2 + j * n + i];
                    }
                    ur[e * n3 + q] = g[0] * wr + g[n3] * ws + g[2 * n3] * wt;
                    us[e * n3 + q] = g[n3] * wr + g[3 * n3] * ws + g[4 * n3] * wt;
                    ut[e * n3 + q] = g[2 * n3] * wr + g[4 * n3] * ws + g[5 * n3] * wt;
                }

#pragma acc parallel loop gang vector collapse(4) deviceptr(D, ur, us, ut, w)
    for (int64_t e = 0; e < elements; e++)
        for (int k = 0; k < n; k++)
            for (int j = 0; j < n; j++)
                for (int i = 0; i < n; i++) {
                    const int64_t at = e * n3;
                    double sum = 0;
                    for (int l = 0; l < n; l++)
                        sum += D[l * n + i] * ur[at + k * n2 + j * n + l] +
                               D[l * n + j] * us[at + k * n2 + l * n + i] +
                               D[l * n + k] * ut[at + l * n2 + j * n + i];
                    w[at + k * n2 + j * n + i] = sum;
                }
}

const nek_kernels_t nek_openacc = {
    .rung = {.precision = "FP64", .refuse = nek_refuse},
    .ax = openacc_ax,
    .vector = &nek_vector_openacc,
    .scratch_arrays = 3,
};
