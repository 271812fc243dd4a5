/*
 * reference.h - the parts of the step by their definition (definition.c), for the reference and the judge:
 * each with the magnitudes of what it adds up, from which the bounds of its rounding follow. Sizes
 * may be NULL, but those of a row's blocks only together.
 */
#ifndef MCPI_FLOW_REFERENCE_H
#define MCPI_FLOW_REFERENCE_H

#include "flow.h"

/* Fill M and b of the normal equations M g = b of the slopes of row i, and the sums of |terms| of
 * b; and solve them for one variable. */
void mcpi_reference_normal(const mcpi_field_t *f, int64_t i, double M[3][3], double b[MCPI_Q][3],
                           double size[MCPI_Q][3]);
void mcpi_reference_solve3(double M[3][3], const double *b, double *x);
/* Computes R of row i from w and the gradients; returns the rate. */
double mcpi_reference_residual(const mcpi_field_t *f, int64_t i, double *R, double *size);
/* Computes the blocks of row i, not scaled: O[entries][25] and D[25], column-major. */
void mcpi_reference_row_blocks(const mcpi_field_t *f, int64_t i, double *O, double *D,
                               double *size_O, double *size_D);
/* Moves w by dQ, or by a half, a quarter ...; returns the halvings. */
int mcpi_reference_update(double *w, const double *dq);

#endif
