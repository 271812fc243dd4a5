/* judge/oracle.c - the judge's own solution of the problem, by the reference kernels. */
#include "config.h"
#include "judge.h"
#include "../cpu/tiles.h"
#include <math.h>
#include <string.h>

double nek_rounding_steps(int n)
{
    return 4 * n + 8;
}

double nek_oracle_apply(const nek_problem_t *p, const double *u, double *w)
{
    nek_reference.ax(&p->view, u, w);
    if (p->halo) {
        rt_field_t field = rt_field_f64(w);
        rt_halo_do(p->halo, RT_HALO_SUM, &field);
    }
    double sum = nek_vector_cpu.shift(&p->view, p->config->lambda, u, w);
    rt_comm_sum(&sum, 1);
    return sum;
}

double nek_oracle_dot(const nek_problem_t *p, const double *u, const double *v)
{
    double sum = nek_dot(&p->view, u, v);
    rt_comm_sum(&sum, 1);
    return sum;
}

/* In a sum by blocks or a tree each term passes through a few dozen additions. The plainest loop,
 * one addition after another, makes K errors of up to eps times a partial sum that grows to the
 * whole sum: a random walk with standard deviation sqrt(K) / 3. The bound is ten times three of
 * these, so that no honest program comes near it. Single precision is off by 5e8. */
double nek_sum_steps(const nek_config_t *config)
{
    return 64 + 10 * sqrt((double)config->points * rt_comm_size());
}

/* --- the solve --- */

/* Counts the eigenvalues below x of the symmetric tridiagonal matrix (d, off). */
static int sturm_count(int m, const double *d, const double *off, double x)
{
    int count = 0;
    double q = 1;
    for (int i = 0; i < m; i++) {
        q = d[i] - x - (i > 0 ? off[i - 1] * off[i - 1] / q : 0);
        if (q == 0)
            q = 1e-300;
        count += q < 0;
    }
    return count;
}

/* The estimates lie between the eigenvalues. CG is the Lanczos method: its coefficients form a
 * tridiagonal matrix whose extreme eigenvalues approach those of A. */
void nek_ritz_values(const nek_solver_t *s, double *least, double *most)
{
    int m = 0, capacity = s->done;
    double *d = RT_NEW(double, (size_t)capacity, RT_HOST), top = 0;
    double *off = RT_NEW(double, (size_t)capacity, RT_HOST);
    for (; m < capacity && s->alpha[m] > 0 && (m == 0 || s->beta[m] > 0); m++) {
        d[m] = 1 / s->alpha[m] + (m > 0 ? s->beta[m] / s->alpha[m - 1] : 0);
        if (m > 0)
            off[m - 1] = sqrt(s->beta[m]) / s->alpha[m - 1];
        top = fmax(top, 4 * d[m]); /* a Gershgorin bound would be sharper but is not needed */
    }
    double bounds[2];
    for (int end = 0; end < 2; end++) {
        double low = 0, high = top;
        int target = end == 0 ? 1 : m;
        for (int step = 0; step < 100; step++) {
            double mid = (low + high) / 2;
            if (sturm_count(m, d, off, mid) >= target)
                high = mid;
            else
                low = mid;
        }
        bounds[end] = high;
    }
    *least = m > 0 ? bounds[0] : 1;
    *most = m > 0 ? bounds[1] : 1;
    RT_FREE_ALL(RT_HOST, d, off);
}

double nek_true_residual(const nek_problem_t *p, const double *b, const double *x, double *w)
{
    nek_oracle_apply(p, x, w);
    for (int64_t q = 0; q < p->view.points; q++)
        w[q] = b[q] - w[q];
    return sqrt(nek_oracle_dot(p, w, w));
}

const rt_rung_t nek_reference_rung = NEK_ORACLE(nek_reference, NULL);

/* The reference with the operator of `jammed`, which is several times as fast, and which each run
 * checks against the reference's: for a solve that was put aside. */
static const nek_kernels_t fast_kernels = {.ax = nek_tiles_ax, .vector = &nek_vector_cpu};
static const rt_rung_t fast_rung = NEK_ORACLE(fast_kernels, NULL);

nek_solver_t *nek_oracle_new(const nek_solver_t *rung)
{
    return nek_solver_borrow(rung->problem, &fast_rung, rung->space == RT_HOST ? rung : NULL);
}

nek_reference_t nek_oracle_solve(nek_solver_t *s)
{
    nek_reference_t made = {.x = s->x};
    nek_solve(s);
    made.history = rt_clone(s->history, (size_t)s->iterations + 1, sizeof(double), RT_HOST);
    made.residual = nek_true_residual(s->problem, s->b, s->x, s->w);
    return made;
}

void nek_reference_solve(nek_problem_t *p)
{
    if (p->reference.x)
        return;
    nek_solver_t *s = nek_solver_new(p, &nek_reference_rung);
    p->reference = nek_oracle_solve(s);
    s->x = NULL; /* now the reference's */
    nek_ritz_values(s, &p->eigen_min, &p->eigen_max);
    nek_solver_destroy(s);
}

double nek_step_bound(const nek_problem_t *p, double roundoff, int k)
{
    double kappa = fmax(p->eigen_max / p->eigen_min, 1e3);
    double step = nek_rounding_steps(p->view.n) * sqrt(kappa) * roundoff;
    return (k + 1) * (step + 2 * nek_sum_steps(p->config) * RT_EPS);
}

static struct {
    double size, of_point; /* relative error of a sum, and of a value of r */
    uint64_t calls;
} nudge;

static double nudged(double sum)
{
    return sum * (1 + nudge.size * rt_random(nudge.calls++, 0));
}

static double nudged_shift(const nek_view_t *view, double lambda, const double *p, double *w)
{
    return nudged(nek_vector_cpu.shift(view, lambda, p, w));
}

static double nudged_update_xr(const nek_view_t *view, double alpha, const double *p,
                               const double *w, double *x, double *r)
{
    const double rr = nek_vector_cpu.update_xr(view, alpha, p, w, x, r);
    for (int64_t q = 0; nudge.of_point > 0 && q < view->points; q++) /* alike for copies */
        r[q] *= 1 + nudge.of_point * rt_random(rt_items_word(r[q]), nudge.calls);
    return nudged(rr);
}

double nek_relative_difference(const nek_problem_t *p, double *x, const double *want)
{
    for (int64_t q = 0; q < p->view.points; q++)
        x[q] -= want[q];
    return sqrt(nek_oracle_dot(p, x, x) / nek_oracle_dot(p, want, want));
}

void nek_nudged_solve(nek_solver_t *s, double roundoff)
{
    nek_vector_t vector = nek_vector_cpu;
    vector.shift = nudged_shift;
    vector.update_xr = nudged_update_xr;
    const nek_kernels_t kernels = {.ax = nek_reference.ax, .vector = &vector}, *own = s->kernels;
    nudge.size = nek_sum_steps(s->problem->config) * RT_EPS;
    nudge.of_point = roundoff > RT_EPS ? nek_rounding_steps(s->problem->view.n) * roundoff : 0;
    nudge.calls = (uint64_t)rt_comm_rank() << 32;
    s->kernels = &kernels;
    nek_solve(s);
    s->kernels = own;
}

void nek_find_moves(int iterations, const double *h, const double *want, double *moves)
{
    double most = 0;
    for (int k = 0; k <= iterations; k++) {
        double change = fabs(h[k] - want[k]);
        if (change > 0)
            most = fmax(most, want[k] > 0 ? change / want[k] : 1);
        moves[k] = most;
    }
}

/* While the Krylov space is orthogonal to working precision, the sensitivity is a few times the
 * rounding error. Once an eigenvalue has converged to half the digits (Paige), the iteration
 * amplifies any error, and from then on two honest programs differ visibly. The sensitivity costs a
 * second reference solve, so it is computed only for a result that is not well within the plain
 * bounds. */
const double *nek_sensitivity(nek_solver_t *s, double roundoff, nek_reference_t *reference)
{
    if (reference->sensitivity && reference->sensitive_to == roundoff)
        return reference->sensitivity;
    const size_t iterations = (size_t)s->iterations;
    RT_FREE(reference->sensitivity, RT_HOST);
    reference->sensitive_to = roundoff;
    reference->sensitivity = RT_NEW(double, iterations + 2, RT_HOST);
    nek_nudged_solve(s, roundoff);
    nek_find_moves((int)iterations, s->history, reference->history, reference->sensitivity);
    reference->sensitivity[iterations + 1] =
        nek_relative_difference(s->problem, s->x, reference->x);
    return reference->sensitivity;
}
