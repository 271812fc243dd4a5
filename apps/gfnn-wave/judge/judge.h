/*
 * judge/judge.h - how rungs are judged: vectors of doubles on the host, on box->fine or box->wide,
 * and the judge's own solution. It shares nothing with what it judges but the definitions: the
 * reference kernels, gfnn_step and gfnn_source.
 */
#ifndef GFNN_JUDGE_H
#define GFNN_JUDGE_H

#include "apps/gfnn-wave/gfnn.h"

/* --- judge.c: own nodes, unless ghosts are named --- */

/* Returns a new vector, zero. RT_FREE it. */
double *gfnn_judge_vector(const gfnn_grid_t *g);
/* The vectors of a check. */
enum { GFNN_MOST_SCRATCH = 16 };
typedef struct {
    double *x[GFNN_MOST_SCRATCH];
    int n;
} gfnn_scratch_t;
/* Returns one more, zero; frees all but the first `left`. */
double *gfnn_judge_scratch(gfnn_scratch_t *scratch, const gfnn_grid_t *g);
void gfnn_judge_release(gfnn_scratch_t *scratch, int left);
/* Rounds x to what a rung's type can have, ghosts too. */
void gfnn_judge_round(const gfnn_grid_t *g, rt_type_t type, double *x);
/* Rounds x and brings it to a rung; gets a vector of FP64 or FP32 from there. */
void gfnn_judge_put(const gfnn_solver_t *s, const gfnn_grid_t *g, rt_type_t type, double *x,
                    void *to);
void gfnn_judge_get(const gfnn_solver_t *s, const gfnn_grid_t *g, rt_type_t type, const void *from,
                    double *x);
/* Fills x with scale * rt_random(3 node + component, seed), the same for a node on any number of
 * ranks; `ghosts` in those that a halo is to bring; 0 in those beyond a face. */
void gfnn_judge_draw(const gfnn_box_t *box, const gfnn_grid_t *g, uint64_t seed, double scale,
                     double ghosts, double *x);
/* Returns whether x and its ghosts of depth 1 are what gfnn_judge_draw draws, with scale 1.
 * Collective. */
bool gfnn_judge_ghosts(const gfnn_box_t *box, const gfnn_grid_t *g, uint64_t seed, const double *x);
/* Returns x . y over all ranks, summed layer by layer: the same on any number of threads.
 * Collective. */
double gfnn_judge_dot(const gfnn_grid_t *g, const double *x, const double *y);
/* Return |x|, and |x - y|; scratch is a vector, which may be x or y. Collective. */
double gfnn_judge_norm(const gfnn_grid_t *g, const double *x);
double gfnn_judge_apart(const gfnn_grid_t *g, const double *x, const double *y, double *scratch);

typedef struct {
    double worst;               /* |got - want| / (factor bound); 0 without a bound */
    double largest, difference; /* |want|, |got - want| */
} gfnn_judged_t;
/* Returns the worst of all ranks, infinite where a value is not finite. want and bound, which may be
 * NULL, are on g; a value whose bound is 0 must be exact. Collective. */
gfnn_judged_t gfnn_judge_compare(const gfnn_grid_t *g, const double *want,
                                 const gfnn_grid_t *of_got, const double *got, const double *bound,
                                 double factor);

/* Finds the state before a step, Newmark run backwards, from that after it; they may be the same. */
void gfnn_judge_before(const gfnn_problem_t *problem, const gfnn_state_t *end, const double *du,
                       gfnn_state_t *before);

/* --- oracle.c: the judge's own solution, on the host, in double --- */

/* Newmark with conjugate gradients and exact 3x3 blocks (CGBJ). Its operator is cpu-simd, once that
 * has agreed with the reference in this very run. */
typedef struct gfnn_oracle {
    double *du;              /* of the first step, to 1e-11 or better */
    double *last;            /* that of the last step */
    double most_u, most_du;  /* the largest |u| and |du| of all steps */
    double norm;             /* |du| over all ranks */
    gfnn_state_t end;        /* after all steps */
    double norm_u;           /* |u| then */
    int64_t iterations_bj;   /* of the first step, to the run's tolerance */
    int64_t most_iterations; /* of all steps */
    double operator_error;   /* cpu-simd against the reference, relative to its rounding bound */
    uint64_t seed;           /* of the functional g, below; 0: none yet */
    double *per_v;           /* how g of the end depends on v at the start */
} gfnn_oracle_t;
/* Collective. */
gfnn_oracle_t *gfnn_oracle_new(const gfnn_problem_t *problem);
void gfnn_oracle_destroy(gfnn_oracle_t *oracle);
/* Returns g of a state: a random linear functional, which depends equally on u, v dt / 2 and
 * a dt^2 / 4. Collective. */
double gfnn_oracle_functional(const gfnn_problem_t *problem, uint64_t seed,
                              const gfnn_state_t *state);
/* Makes per_v, with which a solve can be judged whose start is v + w instead of v: g of its end is
 * that of oracle->end, and per_v . w more. Collective. */
void gfnn_oracle_transpose(const gfnn_problem_t *problem, uint64_t seed, gfnn_oracle_t *oracle);
/* Computes f of the step that ends at `time`, from the state before it: host arrays on
 * box->fine. */
void gfnn_oracle_force(const gfnn_problem_t *problem, const gfnn_state_t *state, double time,
                       double *f);
/* y = A x by the reference: brings x's ghosts up to date. */
void gfnn_oracle_apply(const gfnn_problem_t *problem, const gfnn_form_t *form, bool absolute,
                       double *x, double *y);
/* Returns |f - A du| / |f| by the definition; brings du's ghosts. t: scratch. Collective. */
double gfnn_oracle_residual(const gfnn_problem_t *problem, const double *f, double *du, double *t);

/* --- operator.c, predictor.c: a rung's kernels, before a run and by what it left --- */

typedef struct {
    gfnn_solver_t *s;
    gfnn_problem_t *p;
    const gfnn_box_t *box;
    rt_verdict_t *verdict;
    uint64_t seed;
    gfnn_scratch_t scratch;
} gfnn_bench_t;
void gfnn_verify_operator(gfnn_bench_t *b);
void gfnn_verify_operator_left(gfnn_bench_t *b, const gfnn_kept_t *kept);
void gfnn_verify_predictor(gfnn_bench_t *b);
void gfnn_verify_predictor_left(gfnn_bench_t *b, const gfnn_kept_t *kept);
/* Checks column l of A^-1 and row l of P at a node: host vectors on box->fine. Brings g's ghosts. */
void gfnn_verify_green(gfnn_bench_t *b, const int64_t node[3], int l, double *g, const double *h);

/* --- replay.c --- */

/* Repeats the last solve, and judges each step and the residual history.
 * Collective. */
void gfnn_verify_replay(gfnn_solver_t *s, rt_verdict_t *verdict);

/* --- verify.c --- */

void gfnn_verify_before(void *solver, uint64_t seed, rt_verdict_t *verdict);
void gfnn_verify_after(void *solver, rt_verdict_t *verdict);

#endif
