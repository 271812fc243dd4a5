/*
 * reference.c - the definition: dr = R - sum O dQ, block after block in the order of the columns,
 * then L and U; everything is FP64 except what O is stored in. The oracle for all other rungs.
 *
 * Advantage: anyone can check it against the paper's formula. Threads share the rows of a colour,
 * which do not depend on each other, because verification runs the oracle often. Price: every block
 * is converted to FP64 before it is used, and nothing is vectorised.
 */
#include "config.h"
#include "../input/portable.h"
#include "../kernel.h"
#include <math.h>
#include <string.h>

#define INLINE static inline __attribute__((always_inline))

/* Converts a block of O to FP64. */
INLINE void widen_block(const void *O, mcpi_type_t type, int count, double *value)
{
    for (int k = 0; k < count; k++)
        value[k] = type == MCPI_FP64   ? ((const double *)O)[k]
                   : type == MCPI_FP32 ? (double)((const float *)O)[k]
                   : type == MCPI_FP16 ? mcpi_widen_fp16(((const uint16_t *)O)[k])
                                       : mcpi_widen_bf16(((const uint16_t *)O)[k]);
}

/* Computes dr -= O dQ, and size += |O| |dQ| if size is not NULL. */
INLINE void subtract_block(const double *O, int nb, const double *dq, double *dr, double *size)
{
    for (int j = 0; j < nb; j++)
        for (int i = 0; i < nb; i++) {
            const double product = O[j * nb + i] * dq[j];
            dr[i] -= product;
            if (size)
                size[i] += fabs(product);
        }
}

void mcpi_through_inverse(int nb, const double *LU, const double *size, double *bound)
{
    for (int i = 0; i < nb; i++)
        bound[i] = 0;
    for (int j = 0; j < nb; j++) {
        double column[MCPI_MAX_NB] = {0};
        column[j] = 1;
        mcpi_solve_lu(nb, LU, column);
        for (int i = 0; i < nb; i++)
            bound[i] += fabs(column[i]) * size[j];
    }
}

INLINE void update_row(const mcpi_system_t *system, mcpi_type_t type, int nb, const double *R,
                       int64_t row, double *dq, double *bound)
{
    const mcpi_part_t *part = system->part;
    const size_t bytes = (size_t)(nb * nb) * mcpi_type_size(type);
    double dr[MCPI_MAX_NB], size[MCPI_MAX_NB], O[MCPI_MAX_NB * MCPI_MAX_NB];
    for (int i = 0; i < nb; i++) {
        dr[i] = R[row * nb + i];
        size[i] = fabs(dr[i]);
    }
    for (int64_t k = part->start[row]; k < part->start[row + 1]; k++) {
        widen_block((const char *)system->O + (size_t)k * bytes, type, nb * nb, O);
        subtract_block(O, nb, dq + (int64_t)part->column[k] * nb, dr, bound ? size : NULL);
    }
    const double *LU = system->LU + row * nb * nb;
    mcpi_solve_lu(nb, LU, dr);
    memcpy(dq + row * nb, dr, (size_t)nb * sizeof *dr);
    if (bound)
        mcpi_through_inverse(nb, LU, size, bound + row * nb);
}

void mcpi_reference_rows(const mcpi_system_t *system, const double *R, int64_t first, int64_t last,
                         double *dq, double *bound)
{
    enum { USUAL = 5 }; /* constants, because verification waits for this */
#pragma omp parallel for schedule(static)
    for (int64_t row = first; row < last; row++)
        if (system->nb != USUAL)
            update_row(system, system->type, system->nb, R, row, dq, bound);
        else if (system->type == MCPI_FP32)
            update_row(system, MCPI_FP32, USUAL, R, row, dq, bound);
        else if (system->type == MCPI_FP16)
            update_row(system, MCPI_FP16, USUAL, R, row, dq, bound);
        else
            update_row(system, system->type, USUAL, R, row, dq, bound);
}

static void rows(const mcpi_view_t *view, int64_t first, int64_t last, void *dq)
{
    mcpi_reference_rows(view->system, view->R, first, last, dq, NULL);
}

const mcpi_kernels_t mcpi_reference = {
    .rung = {.precision = "FP64, O in the type asked for", .reproducible = true},
    .rows = rows,
    .always_fp64 = true,
};
