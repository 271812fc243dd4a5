/*
 * matrix.c - the exact matrix A of this rank's rows, FP64, and its products.
 */
#include "config.h"
#include <math.h>
#include <string.h>
#include "base/threads.h"
#include "lookups.h"

/* Fills the blocks of local rows, whose columns are in another order than the source's. */
static void fill_blocks(mcpi_matrix_t *m, const mcpi_source_t *source)
{
    const mcpi_part_t *part = m->part;
    const mcpi_graph_t *graph = source->graph;
    const int64_t nb2 = m->nb * m->nb;
    int64_t widest = 0;
    for (int64_t v = 0; v < graph->rows; v++)
        if (graph->start[v + 1] - graph->start[v] > widest)
            widest = graph->start[v + 1] - graph->start[v];
    const int threads = rt_threads();
    double *scratch = RT_NEW(double, (size_t)(threads * (widest + 1) * nb2), RT_HOST);
#pragma omp parallel num_threads(threads)
    {
        double *blocks = scratch + rt_thread() * (widest + 1) * nb2;
#pragma omp for schedule(dynamic, 256)
        for (int64_t row = 0; row < part->rows; row++) {
            const int64_t vertex = mcpi_piece_find(source->piece, part->vertex[row]);
            source->row(source, vertex, m->D + row * nb2, blocks);
            for (int64_t k = part->start[row]; k < part->start[row + 1]; k++)
                memcpy(m->O + k * nb2, blocks + part->place[k] * nb2, (size_t)nb2 * sizeof(double));
        }
    }
    RT_FREE(scratch, RT_HOST);
}

mcpi_matrix_t *mcpi_matrix_new(const mcpi_source_t *source, mcpi_part_t *part, bool of_file)
{
    const int64_t rows = part->rows, blocks = part->start[rows];
    const int64_t nb = source->nb, nb2 = nb * nb;
    mcpi_matrix_t *m = RT_NEW(mcpi_matrix_t, 1, RT_HOST);
    *m = (mcpi_matrix_t){.nb = source->nb,
                         .of_file = of_file,
                         .part = part,
                         .D = RT_NEW(double, (size_t)(rows * nb2), RT_HOST),
                         .O = RT_NEW(double, (size_t)(blocks * nb2), RT_HOST),
                         .R = RT_NEW(double, (size_t)(rows * nb), RT_HOST)};
    fill_blocks(m, source);
    return m;
}

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
