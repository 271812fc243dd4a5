/*
 * judge.h - what oracle.c and verify.c share: vectors of doubles on the host, on box->fine or
 * box->wide, apart from all that is judged. Own nodes, unless ghosts are named.
 */
#ifndef GFNN_JUDGE_H
#define GFNN_JUDGE_H

#include "../gfnn.h"

/* A new vector, zero; RT_FREE it. */
double *gfnn_judge_vector(const gfnn_grid_t *g);
/* Zeroes the components that mirror faces hold. */
void gfnn_judge_hold(const gfnn_box_t *box, const gfnn_grid_t *g, double *x);
/* Random in (-1, 1), the same of a node on any number of ranks; NaN in ghosts that the halo is to
 * bring; 0 in those beyond a face, and where a mirror holds. */
void gfnn_judge_draw(const gfnn_box_t *box, const gfnn_grid_t *g, uint64_t seed, double *x);
/* Over all ranks. Layer by layer: the same on any number of threads. Collective. */
double gfnn_judge_dot(const gfnn_grid_t *g, const double *x, const double *y);

typedef struct {
    double worst;               /* |got - want| / (factor bound); 0 without a bound */
    double largest, difference; /* |want|, |got - want| */
} gfnn_judged_t;
/* Worst of all ranks; what is not finite counts as 1e300. bound may be NULL; a value whose bound is
 * 0 must be exact. Collective. */
gfnn_judged_t gfnn_judge_compare(const gfnn_grid_t *g, const double *want, const double *got,
                                 const double *bound, double factor);

#endif
