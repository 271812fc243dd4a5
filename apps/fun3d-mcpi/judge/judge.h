/*
 * judge.h - what the judges of both ladders judge with: the reference's dQ and the oracle's steps,
 * how much a rung may differ from them, and host copies of what it made.
 */
#ifndef MCPI_JUDGE_H
#define MCPI_JUDGE_H

#include "../flow/march.h"

/* What the reference makes of an R in all sweeps; one block of memory, which for the problem's R
 * mcpi_problem_destroy frees. */
typedef struct {
    double residual;
    bool is_known[2];          /* for FP32 and FP64 roundings: */
    double residual_spread[2]; /* |A d| / |R|, d the effect on dQ */
    double data[];             /* dQ [rows + ghosts][nb], spread [2][rows] as in mcpi_bench_t */
} mcpi_oracle_t;

typedef struct {
    mcpi_solver_t *s;
    mcpi_problem_t *p;
    const mcpi_system_t *system;
    const mcpi_part_t *part;
    int nb;
    size_t all;         /* of rows and ghosts */
    double u_sum, u_dq; /* unit roundoffs */
    double *R;          /* [rows][nb] that is being judged */
    double *put;        /* [rows + ghosts][nb] as the next two */
    double *want, *got;
    double *e;      /* [rows][nb] the bound of one update: see oracle.c */
    double *spread; /* [rows] what sweeps make of e, in units of it */
    rt_verdict_t *verdict;
    uint64_t seed;
    int64_t few; /* sweeps of a short solve */
} mcpi_bench_t;

/* How many times the measured effect of errors a rung may differ from the reference. */
static const double mcpi_sample = 2;

static inline double mcpi_larger_unit(const mcpi_bench_t *t)
{
    return t->u_sum > t->u_dq ? t->u_sum : t->u_dq;
}

/* Checks that the ghosts of x [rows + ghosts][nb] are what their owners have. Collective. */
void mcpi_check_ghosts(const mcpi_problem_t *p, int nb, const double *x, const char *name,
                       rt_verdict_t *verdict);
/* Computes one colour by the reference into dq, and e, if it is not NULL, for unit roundoff u. */
void mcpi_oracle_colour(const mcpi_bench_t *t, const double *R, int colour, double u, double *dq,
                        double *e);
/* Does all sweeps by the reference from dQ = 0. disturbed: 0, or how each update is disturbed by up
 * to t->e. */
void mcpi_oracle_sweeps(const mcpi_bench_t *t, const double *R, int64_t sweeps, int disturbed,
                        double *dq);
/* Measures t->spread about dq, the sweeps' result; leaves t->e of it, and the effect of the last
 * disturbance in t->got. Uses t->put. */
void mcpi_measure_spread(const mcpi_bench_t *t, const double *R, int64_t sweeps, const double *dq);
/* Returns *known, the oracle of all sweeps for t->R, which is made if it is NULL; leaves t->e of it,
 * and t->spread for this rung's roundings. */
const mcpi_oracle_t *mcpi_oracle_get(const mcpi_bench_t *t, void **known);
/* Returns the largest |got - want|, less what storage in a type of unit roundoff u may contribute,
 * over e, of the values first .. last - 1; u = 0: nothing is subtracted. */
double mcpi_error(const double *got, const double *want, const double *e, int64_t first,
                  int64_t last, double u);
/* verify.c. Rounds x to a type of O. */
double mcpi_rounded(double x, mcpi_type_t type);
/* Returns |LU - scale D| of one block, of nb rows, over 16 times its rounding error. */
double mcpi_factor_error(int nb, const double *LU, const double *D, double scale);

/* --- the ladder flow --- */

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
/* As mcpi_march_take, of what the sweeps read: O in block CSR whatever the rung's layout, and `values` of each row
 * of x, which are at[] bytes from x on; in order, if that is NULL. */
void *mcpi_flow_take_O(const mcpi_march_t *m);
double *mcpi_flow_take_rows(const mcpi_march_t *m, const void *x, const uint64_t *at,
                            size_t values);

#endif
