/*
 * precond.c - preconditioners: z = B r, all of it in FP32 or below.
 *
 *   bj        z = D^-1 r, D the 3x3 diagonal blocks: gfnn_cg does it in passing
 *
 *   cheb      a polynomial in D^-1 A of the given degree (in r: degree - 1 products with A), the
 *             best one on an interval of eigenvalues
 *
 *   gf8, gfm  z = P r, the network
 *
 * Conjugate gradients judge by their own residual in FP64, so what B gets wrong costs iterations
 * and never accuracy. Price of cheb: products with A, in FP32 at half the bytes, and vectors to
 * keep.
 */
#include "config.h"
#include <math.h>
#include "apps/gfnn-wave/gfnn.h"

/* z = omega D^-1 r */
static void jacobi(gfnn_solver_t *s, float omega, const float *r, float *z)
{
    gfnn_start(s, "jacobi");
    s->vectors->smooth32(&s->view_vec, NULL, 0, NULL, omega, r, NULL, z);
    rt_timer_stop("jacobi");
}

/* out = z + a (z - old) + omega D^-1 (r - A z) */
static void sweep(gfnn_solver_t *s, float *z, float a, const float *old, float omega,
                  const float *r, float *out)
{
    if (gfnn_sweeps(s)) {
        gfnn_sweep(s, z, &(gfnn_sweep_t){&s->view_vec, a, omega, old, r, out});
        return;
    }
    gfnn_apply32(s, &s->problem->step.A, z, s->t32);
    gfnn_start(s, "smooth");
    s->vectors->smooth32(&s->view_vec, z, a, old, omega, r, s->t32, out);
    rt_timer_stop("smooth");
}

/* Returns |x| over all ranks. */
static double norm(gfnn_solver_t *s, const float *x)
{
    gfnn_start(s, "vectors");
    double sum = s->vectors->dot(&s->view_vec, GFNN_SINGLE, x, x);
    rt_comm_sum(&sum, 1);
    rt_timer_stop("vectors");
    return sqrt(sum);
}

/* --- Chebyshev --- */

/* A recurrence of three terms: z_(k+1) follows from z_k and z_(k-1), whose place it takes. z_0 = 0;
 * the last is in z. */
static void chebyshev(gfnn_solver_t *s, const float *r, float *z)
{
    const int64_t degree = s->problem->config->degree;
    const double centre = (s->spectrum[1] + s->spectrum[0]) / 2;
    const double radius = (s->spectrum[1] - s->spectrum[0]) / 2;
    float *now = degree % 2 ? z : s->other, *old = degree % 2 ? s->other : z;
    double rho = radius / centre;
    jacobi(s, (float)(1 / centre), r, now);
    for (int64_t k = 1; k < degree; k++) {
        const double next = 1 / (2 * centre / radius - rho);
        sweep(s, now, (float)(next * rho), k > 1 ? old : NULL, (float)(2 * next / radius), r, old);
        float *const newest = old;
        old = now;
        now = newest;
        rho = next;
    }
}

void gfnn_precondition(gfnn_solver_t *s)
{
    const gfnn_config_t *config = s->problem->config;
    if (config->precond == GFNN_CHEB)
        chebyshev(s, s->r32, s->z);
    else
        gfnn_predict(s, gfnn_z_is_low(s->kernels, config));
}

/* --- eigenvalues --- */

/* Begins with the vector in s->z. The upper bound is the largest eigenvalue of D^-1 A, and a little
 * more, as power iterations come from below. The lower bound is not the least eigenvalue, about
 * 1/(0.3 + courant^2/4), which belongs to a displacement of the box as a whole: few vectors have
 * it, and the conjugate gradients around B find these themselves. Measured on heads with Vp dt/ds =
 * 1, 2, 3, 4, degrees 3 to 7: upper / (3 + 3 courant) needs at most one iteration more than the
 * best bound. */
void gfnn_spectrum(gfnn_solver_t *s)
{
    enum { ITERATIONS = 40 };
    const gfnn_config_t *config = s->problem->config;
    const double margin = 1.03, courant = GFNN_VP * config->dt / config->ds;
    double largest = norm(s, s->z);
    for (int i = 0; i < ITERATIONS; i++) {
        gfnn_apply32(s, &s->problem->step.A, s->z, s->t32);
        jacobi(s, (float)(1 / largest), s->t32, s->z);
        largest = norm(s, s->z);
    }
    s->spectrum[1] = margin * largest;
    s->spectrum[0] = s->spectrum[1] / (3 + 3 * courant);
}
