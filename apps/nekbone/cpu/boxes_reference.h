/*
 * boxes_reference.h - the parts of the preconditioner by their definition; private to
 * boxes_reference.c and solve_reference.c. Host, FP64; grids with rings.
 */
#ifndef NEK_BOXES_REFERENCE_H
#define NEK_BOXES_REFERENCE_H

#include "../precond/grid.h"

typedef struct {
    double *r, *x; /* [nodes] of a level */
} nek_ref_fields_t;
typedef struct {
    const nek_levels_t *levels;
    nek_ref_fields_t field[NEK_MOST_LEVELS];
    double *coarse; /* [2][nodes] of the last level */
} nek_ref_data_t;

/* What is made of an element's box of field `in`. */
typedef struct {
    const nek_level_t *level, *other; /* other: the coarser one of a transfer */
    const double *in;
} nek_ref_job_t;
typedef void nek_ref_element_fn(const nek_ref_job_t *job, int64_t e, double *box);

/* S (S' r / sums of eigenvalues); J' (share of r). */
nek_ref_element_fn nek_ref_patch, nek_ref_restrict;

/* Sets sum to the sum of what `element` makes of each element's box of that size, on all ranks. */
void nek_ref_add_boxes(const nek_level_t *level, nek_box_t kind, int size,
                       nek_ref_element_fn *element, const nek_ref_job_t *job, double *sum);
/* x += J (coarse x) on the points of the elements. */
void nek_ref_prolong(const nek_level_t *coarse, const nek_level_t *fine, const double *from,
                     double *x);
/* x = solve of degree 1; overwrites r. */
void nek_ref_coarse(const nek_ref_data_t *data, double *r, double *x);

#endif
