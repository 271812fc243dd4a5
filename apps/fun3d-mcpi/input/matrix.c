/*
 * matrix.c - products of the exact matrix A of this rank's rows, FP64.
 */
#include "config.h"
#include "input.h"

void mcpi_matrix_destroy(mcpi_matrix_t *matrix)
{
    if (!matrix)
        return;
    RT_FREE_ALL(RT_HOST, matrix->D, matrix->O, matrix->R, matrix);
}

/* Computes y += B x, B column-major. */
static inline void add(int nb, const double *B, const double *x, double *y)
{
    for (int j = 0; j < nb; j++)
        for (int i = 0; i < nb; i++)
            y[i] += B[j * nb + i] * x[j];
}

void mcpi_matrix_multiply(mcpi_matrix_t *m, const double *dq)
{
    const int nb = m->nb;
    const mcpi_part_t *part = m->part;
#pragma omp parallel for schedule(static)
    for (int64_t row = 0; row < part->rows; row++) {
        double *R = m->R + row * nb;
        for (int i = 0; i < nb; i++)
            R[i] = 0;
        add(nb, m->D + row * nb * nb, dq + row * nb, R);
        for (int64_t k = part->start[row]; k < part->start[row + 1]; k++)
            add(nb, m->O + k * nb * nb, dq + (int64_t)part->column[k] * nb, R);
    }
}
