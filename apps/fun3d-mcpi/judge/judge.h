/*
 * judge.h - what verify.c judges with: the reference's dQ, and how much a rung may differ from it.
 */
#ifndef MCPI_JUDGE_H
#define MCPI_JUDGE_H

#include "../mcpi.h"

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
    size_t values;      /* of rows */
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

/* Updates the ghosts of a colour of a host array; -1: of all colours. */
void mcpi_update_ghosts(const mcpi_bench_t *t, int colour, double *x);
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

#endif
