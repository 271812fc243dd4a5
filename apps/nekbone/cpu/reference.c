/*
 * reference.c - the operator exactly as in Listing 1 of Karp et al.
 *
 * Idea: none; this is the definition. Three nested loops over the points of an element and an inner
 * sum over l, for any n. Advantage: it can be checked against the paper by eye, and it is the
 * oracle for every other rung. Price: the compiler does not know n, two of the three sums stride
 * through memory, and each point is computed on its own.
 */
#include "config.h"
#include "../kernel.h"

static void gradient_and_factors(int n, const double *D, const double *G, const double *u,
                                 double *ur, double *us, double *ut)
{
    int n2 = n * n, n3 = n2 * n;
    for (int k = 0; k < n; k++)
        for (int j = 0; j < n; j++)
            for (int i = 0; i < n; i++) {
                int q = k * n2 + j * n + i;
                double wr = 0, ws = 0, wt = 0;
                for (int l = 0; l < n; l++) {
                    wr += D[i * n + l] * u[k * n2 + j * n + l];
                    ws += D[j * n + l] * u[k * n2 + l * n + i];
                    wt += D[k * n + l] * u[l * n2 + j * n + i];
                }
                ur[q] = G[q] * wr + G[n3 + q] * ws + G[2 * n3 + q] * wt;
                us[q] = G[n3 + q] * wr + G[3 * n3 + q] * ws + G[4 * n3 + q] * wt;
                ut[q] = G[2 * n3 + q] * wr + G[4 * n3 + q] * ws + G[5 * n3 + q] * wt;
            }
}

static void divergence(int n, const double *D, const double *ur, const double *us, const double *ut,
                       double *w)
{
    int n2 = n * n;
    for (int k = 0; k < n; k++)
        for (int j = 0; j < n; j++)
            for (int i = 0; i < n; i++) {
                double sum = 0;
                for (int l = 0; l < n; l++)
                    sum += D[l * n + i] * ur[k * n2 + j * n + l] +
                           D[l * n + j] * us[k * n2 + l * n + i] +
                           D[l * n + k] * ut[l * n2 + j * n + i];
                w[k * n2 + j * n + i] = sum;
            }
}

void nek_reference_ax(const nek_view_t *view, const double *u, double *w)
{
    int n3 = view->n * view->n * view->n;
#pragma omp parallel for schedule(static)
    for (int64_t e = 0; e < view->elements; e++) {
        double ur[NEK_MAX_N3], us[NEK_MAX_N3], ut[NEK_MAX_N3];
        gradient_and_factors(view->n, view->D, view->G + e * 6 * n3, u + e * n3, ur, us, ut);
        divergence(view->n, view->D, ur, us, ut, w + e * n3);
    }
}

const nek_kernels_t nek_reference = {
    .rung = {.precision = "FP64", .reproducible = true, .refuse = nek_refuse},
    .ax = nek_reference_ax,
    .vector = &nek_vector_cpu,
};
