/*
 * matrix.c - products of the exact matrix A of this rank's rows, FP64.
 */
#include "config.h"
#include <math.h>
#include "input.h"

void mcpi_matrix_destroy(mcpi_matrix_t *matrix)
{
    if (!matrix)
        return;
    RT_FREE(matrix->D, RT_HOST);
    RT_FREE(matrix->O, RT_HOST);
    RT_FREE(matrix->R, RT_HOST);
    RT_FREE(matrix, RT_HOST);
}

/* --- products --- */

/* Computes y -= B x, B column-major. */
static inline void subtract(int nb, const double *B, const double *x, double *y)
{
    for (int j = 0; j < nb; j++)
        for (int i = 0; i < nb; i++)
            y[i] -= B[j * nb + i] * x[j];
}

/* Computes r = R - A dQ of one row; R NULL: zeros. */
static inline void row_residual(const mcpi_matrix_t *m, const double *R, const double *dq,
                                int64_t row, double *r)
{
    const int nb = m->nb;
    const mcpi_part_t *part = m->part;
    for (int i = 0; i < nb; i++)
        r[i] = R ? R[row * nb + i] : 0;
    subtract(nb, m->D + row * nb * nb, dq + row * nb, r);
    for (int64_t k = part->start[row]; k < part->start[row + 1]; k++)
        subtract(nb, m->O + k * nb * nb, dq + (int64_t)part->column[k] * nb, r);
}

void mcpi_matrix_multiply(mcpi_matrix_t *matrix, const double *dq)
{
    const int nb = matrix->nb;
#pragma omp parallel for schedule(static)
    for (int64_t row = 0; row < matrix->part->rows; row++) {
        double r[MCPI_MAX_NB];
        row_residual(matrix, NULL, dq, row, r);
        for (int i = 0; i < nb; i++)
            matrix->R[row * nb + i] = -r[i];
    }
}

double mcpi_residual(const mcpi_matrix_t *matrix, const double *R, const double *dq)
{
    const int nb = matrix->nb;
    double rr = 0, bb = 0;
#pragma omp parallel for schedule(static) reduction(+ : rr, bb)
    for (int64_t row = 0; row < matrix->part->rows; row++) {
        double r[MCPI_MAX_NB];
        row_residual(matrix, R, dq, row, r);
        for (int i = 0; i < nb; i++) {
            rr += r[i] * r[i];
            bb += R[row * nb + i] * R[row * nb + i];
        }
    }
    double sums[2] = {rr, bb};
    rt_comm_sum(sums, 2);
    return sqrt(sums[0] / sums[1]);
}
