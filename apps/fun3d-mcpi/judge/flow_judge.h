/*
 * flow_judge.h - how rungs of the ladder "flow" are judged: host copies of what a rung made, and
 * the oracle's own steps.
 */
#ifndef MCPI_FLOW_JUDGE_H
#define MCPI_FLOW_JUDGE_H

#include "../flow/march.h"
#include "../flow/reference.h"

/* What the oracle's steps come to; one block of memory, which for draw 0 mcpi_problem_destroy
 * frees. */
typedef struct {
    double effect; /* of draw 0: the largest difference of a state, as below, per unit roundoff */
    double norm[MCPI_JUDGED_STEPS]; /* of the first steps, over the first */
    double state[];                 /* [rows][5] */
} mcpi_flow_oracle_t;

/* How many times the measured effect of roundings a rung may differ from the oracle. */
static const double mcpi_flow_sample = 64;

/* Returns the larger unit roundoff of dQ and of the sums of O dQ, as they were asked for. */
double mcpi_flow_unit(const mcpi_march_t *m);

/* Returns the largest |a - b| of all states of all ranks; density and pressure over `scale`. */
double mcpi_flow_difference(int64_t rows, const double *a, const double *b, double scale);
/* Returns *known, the oracle of a draw's steps, which ref makes if it is NULL. */
const mcpi_flow_oracle_t *mcpi_flow_oracle_get(mcpi_march_t *ref, uint64_t draw, void **known);
/* Returns a solver of the rung flow-reference on the same problem: mcpi_march_destroy it. */
mcpi_march_t *mcpi_flow_reference_new(const mcpi_march_t *m);
/* Copies n doubles of the rung to a new host array. */
double *mcpi_flow_take(const mcpi_march_t *m, const double *x, int64_t n);
/* The same of what the sweeps read: O in block CSR whatever the rung's layout, and `values` of each row
 * of x, which are at[] bytes from x on; in order, if that is NULL. */
void *mcpi_flow_take_O(const mcpi_march_t *m);
double *mcpi_flow_take_rows(const mcpi_march_t *m, const void *x, const uint64_t *at,
                            size_t values);

#endif
