/*
 * judge/judge.h - the functions that the parts of nekbone's judge share: its own solution of the
 * problem, and how far an honest solution may be from it.
 */
#ifndef NEK_JUDGE_H
#define NEK_JUDGE_H

#include "../nekbone.h"

/* --- oracle.c: the reference kernels on the problem's host arrays --- */

/* Computes w = A u by the reference; returns u.w. */
double nek_oracle_apply(const nek_problem_t *p, const double *u, double *w);
double nek_oracle_dot(const nek_problem_t *p, const double *u, const double *v);
/* Returns |b - A x| by the reference operator, x on the host; w becomes b - A x. */
double nek_true_residual(const nek_problem_t *p, const double *b, const double *x, double *w);
/* Returns |x - want| / |want|; overwrites x. */
double nek_relative_difference(const nek_problem_t *p, double *x, const double *want);
extern const rt_rung_t nek_reference_rung;
/* A rung that only the judge has. */
#define NEK_ORACLE(table, ladder_)                                              \
    {                                                                           \
        .name = "reference", .kind = RT_CPU, .after = "", .idea = "the oracle", \
        .kernels = &(table).rung, .ladder = ladder_                             \
    }

/* Returns how many additions and products one value of the operator passes through. */
double nek_rounding_steps(int n);
/* Returns the unit roundoff of what the rung's solve does to vectors. */
static inline double nek_roundoff(const nek_solver_t *s)
{
    return s->kernels->roundoff > 0 ? s->kernels->roundoff : RT_EPS;
}
/* Returns the rounding error of an inner product, in units of eps times the sum of the absolute
 * terms. */
double nek_sum_steps(const nek_config_t *config);
/* Returns the first-order growth of rounding errors over k steps of CG, relative to |r|: one
 * operator and two inner products per step. */
double nek_step_bound(const nek_problem_t *p, double roundoff, int k);

/* The sensitivity is one sample of random errors, and at some iteration they may happen to cancel.
 * So a result may move by this many times the sensitivity. */
enum { NEK_SAMPLE = 100 };
/* Solves with a random relative error in each inner product, as large as that of the plainest
 * honest sum; for a roundoff of FP32 also in each value of r, as large as that of an operator. */
void nek_nudged_solve(nek_solver_t *s, double roundoff);
/* Sets moves[k] to the largest relative change of the residual norm up to iteration k. */
void nek_find_moves(int iterations, const double *h, const double *want, double *moves);
/* Returns a solver of the judge's for what the rung left behind: in the rung's vectors if they are on
 * the host, so that there is room for a larger problem. */
nek_solver_t *nek_oracle_new(const nek_solver_t *rung);
/* Solves for the oracle's b; the x of what is returned is the oracle's. Collective. */
nek_reference_t nek_oracle_solve(nek_solver_t *oracle);
/* Returns how far the reference of the oracle's b itself moves when its inner products are off by
 * their rounding error: the largest relative change of the residual history up to each iteration,
 * and, at index iterations + 1, the relative change of x. Overwrites all the oracle has but b. */
const double *nek_sensitivity(nek_solver_t *oracle, double roundoff, nek_reference_t *reference);

/* Estimates the extreme eigenvalues of A from the coefficients of the last solve. */
void nek_ritz_values(const nek_solver_t *s, double *least, double *most);

/* --- kernels.c: the kernels one by one --- */

/* Host arrays of the checks, and the way to and from the rung's space. */
typedef struct {
    nek_solver_t *s;
    nek_problem_t *p;
    int64_t points;
    double *u, *want, *size, *got;
    rt_verdict_t *verdict;
    uint64_t seed;
} nek_bench_t;

void nek_bench_put(const nek_bench_t *t, const double *host, double *array);
void nek_bench_get(const nek_bench_t *t, const double *array, double *host);
/*
 * Bound of the vector operations: p = r + beta p; x += alpha p, r -= alpha w, r.r.
 *
 * r + beta p is one product and one sum, each rounded once. The error is at most eps |beta p| + eps
 * |r + beta p| <= 2 eps (|r| + |beta p|), and less if they are fused. So two honest programs, one
 * fused and one not, may differ by 2 of these units (and do). NEK_VECTOR_STEPS is the limit for a
 * kernel: sixteen such updates, as if r or x were formed in pieces. One value in single precision
 * is off by 5e8 units; a coefficient that is wrong in its 13th digit causes an error of hundreds of
 * units.
 */
enum { NEK_VECTOR_STEPS = 32 };
/* Returns the largest error of an array of the rung that should be want + a u, over all ranks, in
 * units of eps (|want| + |a u|). Overwrites want, size and got. Collective. */
double nek_bench_sum_error(nek_bench_t *t, const double *array, double a);
/* Added to the bench's seed, one for each random field. */
enum { NEK_SEED_X = 1, NEK_SEED_Y, NEK_SEED_P, NEK_SEED_R, NEK_SEED_X0, NEK_SEED_W, NEK_SEED_B };
/* Compares every kernel of the rung with the reference. */
void nek_check_kernels(nek_bench_t *t);

/* --- left.c --- */

/* Checks that the last solve has the same bits again, with other numbers of threads, some of them
 * stopped at random. */
void nek_check_bits(nek_bench_t *t);
/* Checks what a recurrence left: its last |r| against that of r, in units of eps `size`, and r against
 * w = b - A x, of which it may differ by `bound` of |A||x|. Overwrites w. */
void nek_check_gap(const nek_problem_t *p, const nek_left_t *left, double *w, double size,
                   double bound, double Ax, rt_verdict_t *verdict);

/* --- tolerance.c: the ladder solve --- */

void nek_check_tolerance_before(nek_bench_t *t);
/* Checks what a solve with the oracle's b left; returns the true residual. Overwrites x and the
 * oracle's w. */
double nek_check_tolerance_left(const nek_solver_t *s, nek_left_t *left, const nek_solver_t *oracle,
                                rt_verdict_t *verdict);

#endif
