/*
 * reference.c - a row after the other, a block after the other, everything FP64 but what O is
 * stored in. The oracle for all other rungs.
 *
 * Idea: none but the definition: dr = R - sum O dQ, in the order of the columns, then L and U.
 * Advantage: anyone can check it against the paper's formula. Price: one thread, and a conversion
 * of every value of O through a function that asks for its type.
 */
#include "config.h"
#include "../mcpi.h"
#include <math.h>

/* sum += |O| |dQ| if `size` is not NULL; dr -= O dQ. */
static void subtract_block(const mcpi_system_t *system, int64_t k, const double *dq, double *dr,
                           double *size)
{
    const int nb = system->nb;
    for (int j = 0; j < nb; j++)
        for (int i = 0; i < nb; i++) {
            const double o = mcpi_value(system->O, system->type, (k * nb + j) * nb + i);
            dr[i] -= o * dq[j];
            if (size)
                size[i] += fabs(o * dq[j]);
        }
}

/* bound = |D^-1| size: the inverse column by column. */
static void through_inverse(int nb, const double *LU, const double *size, double *bound)
{
    for (int i = 0; i < nb; i++)
        bound[i] = 0;
    for (int j = 0; j < nb; j++) {
        double unit[MCPI_MAX_NB] = {0}, column[MCPI_MAX_NB];
        unit[j] = 1;
        mcpi_solve_block(nb, LU, unit, column);
        for (int i = 0; i < nb; i++)
            bound[i] += fabs(column[i]) * size[j];
    }
}

void mcpi_reference_rows(const mcpi_system_t *system, const double *R, int64_t first, int64_t last,
                         double *dq, double *bound)
{
    const int nb = system->nb;
    const mcpi_part_t *part = system->part;
    for (int64_t row = first; row < last; row++) {
        double dr[MCPI_MAX_NB], size[MCPI_MAX_NB];
        for (int i = 0; i < nb; i++) {
            dr[i] = R[row * nb + i];
            size[i] = fabs(dr[i]);
        }
        for (int64_t k = part->start[row]; k < part->start[row + 1]; k++)
            subtract_block(system, k, dq + (int64_t)part->column[k] * nb, dr, bound ? size : NULL);
        const double *LU = system->LU + row * nb * nb;
        mcpi_solve_block(nb, LU, dr, dq + row * nb);
        if (bound)
            through_inverse(nb, LU, size, bound + row * nb);
    }
}

static void rows(const mcpi_view_t *view, int64_t first, int64_t last, void *dq)
{
    mcpi_reference_rows(view->system, view->R, first, last, dq, NULL);
}

const mcpi_kernels_t mcpi_reference = {.rows = rows, .always_fp64 = true, .reproducible = true};
