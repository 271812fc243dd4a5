/*
 * precond.c - preconditioners: z = B r, all of it in FP32 or below.
 *
 *   bj        z = D^-1 r, D the 3x3 diagonal blocks: in --inner; alone gfnn_cg does it in passing
 *
 *   cheb      a polynomial in D^-1 A of the given degree (in r: degree - 1 products with A), the
 *             best one on an interval of eigenvalues
 *
 *   gf8, gfm  z = P r, the network; with --smooth between two damped Jacobi sweeps:
 *             z = w D^-1 r;  z += P (r - A z);  z += w D^-1 (r - A z)
 *
 *   --inner k z after k iterations of conjugate gradients of their own, with any of these
 *
 * The outer iterations are in FP64 and judge by their own residual, so what B gets wrong costs
 * iterations and never accuracy. Price of all but bj and the bare network: products with A, in FP32
 * at half the bytes, and vectors to keep.
 */
#include "config.h"
#include "solver.h"
#include <math.h>

static const float DAMPING = 0.5f; /* of the Jacobi sweeps: 0.4 and 0.6 need one iteration more */

static void start(const gfnn_solver_t *s, const char *name)
{
    rt_timer_start(name, s->rung->kind);
}

/* y = a x + b y */
static void add32(gfnn_solver_t *s, float a, const float *x, float b, float *y)
{
    start(s, "vectors");
    gfnn_vectors_of(s)->axpby32(&s->view_vec, a, x, b, y);
    rt_timer_stop("vectors");
}

/* z = omega D^-1 r */
static void jacobi(gfnn_solver_t *s, float omega, const float *r, float *z)
{
    start(s, "jacobi");
    gfnn_vectors_of(s)->smooth32(&s->view_vec, NULL, 0, NULL, omega, r, NULL, z);
    rt_timer_stop("jacobi");
}

/* out = z + a (z - old) + omega D^-1 (r - A z) */
static void sweep(gfnn_solver_t *s, float *z, float a, const float *old, float omega,
                  const float *r, float *out)
{
    gfnn_apply32(s, &s->problem->step.A, z, s->t32);
    start(s, "smooth");
    gfnn_vectors_of(s)->smooth32(&s->view_vec, z, a, old, omega, r, s->t32, out);
    rt_timer_stop("smooth");
}

static double dot32(gfnn_solver_t *s, const float *x, const float *y)
{
    start(s, "vectors");
    double sum = gfnn_vectors_of(s)->dot32(&s->view_vec, x, y);
    rt_comm_sum(&sum, 1);
    rt_timer_stop("vectors");
    return sum;
}

/* --- Chebyshev --- */

/* Three terms: z_(k+1) from z_k and z_(k-1), in whose place it comes. z_0 = 0; the last is in z. */
static void chebyshev(gfnn_solver_t *s, const float *r, float *z)
{
    const int64_t degree = s->problem->cfg->degree;
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

/* --- the network --- */

/* low = x - y, y NULL: 0 */
static void narrow(gfnn_solver_t *s, const float *x, const float *y)
{
    start(s, "vectors");
    gfnn_vectors_of(s)->narrow(&s->view_vec, 1, x, y, s->low);
    rt_timer_stop("vectors");
}

static void network(gfnn_solver_t *s, float *r, float *z)
{
    if (s->network.precision == GFNN_FP16) {
        narrow(s, r, NULL);
        gfnn_predict_from(s, s->low, z);
    } else {
        gfnn_predict_from(s, r, z);
    }
}

/* P (r - A z), in `other` */
static void correction(gfnn_solver_t *s, const float *r, float *z)
{
    gfnn_apply32(s, &s->problem->step.A, z, s->t32);
    if (s->network.precision == GFNN_FP16) {
        narrow(s, r, s->t32);
        gfnn_predict_from(s, s->low, s->other);
    } else {
        add32(s, 1, r, -1, s->t32);
        gfnn_predict_from(s, s->t32, s->other);
    }
}

static void smoothed_network(gfnn_solver_t *s, float *r, float *z)
{
    jacobi(s, DAMPING, r, z);
    correction(s, r, z);
    add32(s, 1, s->other, 1, z);
    sweep(s, z, 0, NULL, DAMPING, r, z);
}

/* --- any of them --- */

static void one_of(gfnn_solver_t *s, float *r, float *z)
{
    const gfnn_config_t *cfg = s->problem->cfg;
    if (cfg->precond == GFNN_BJ)
        jacobi(s, 1, r, z);
    else if (cfg->precond == GFNN_CHEB)
        chebyshev(s, r, z);
    else if (cfg->smooth > 0)
        smoothed_network(s, r, z);
    else
        network(s, r, z);
}

/* Flexible conjugate gradients for A z = r from z = 0, in FP32; r becomes the residual. Ends early
 * where FP32 has no more to give. */
static void inner(gfnn_solver_t *s, float *r, float *z)
{
    const double enough = 1e-10; /* of the first z.r, a square */
    float *y = s->s32, *p = s->p32, *q = s->q32;
    gfnn_vectors_of(s)->fill32(&s->view_vec, 0, z);
    one_of(s, r, y);
    add32(s, 1, y, 0, p);
    double yr = dot32(s, y, r);
    const double first = yr;
    for (int64_t k = 1;; k++) {
        gfnn_apply32(s, &s->problem->step.A, p, q);
        const double alpha = yr / dot32(s, p, q);
        add32(s, (float)alpha, p, 1, z);
        if (k == s->problem->cfg->inner)
            return;
        add32(s, (float)-alpha, q, 1, r);
        one_of(s, r, y);
        const double now = dot32(s, y, r);
        if (!(now > enough * first))
            return;
        add32(s, 1, y, (float)(-alpha * dot32(s, y, q) / yr), p);
        yr = now;
    }
}

void gfnn_precondition(gfnn_solver_t *s)
{
    const gfnn_config_t *cfg = s->problem->cfg;
    if (cfg->inner > 0)
        inner(s, s->r32, s->z);
    else if (gfnn_reads_low(cfg))
        gfnn_predict_from(s, s->low, s->z);
    else
        one_of(s, s->r32, s->z);
}

/* --- eigenvalues --- */

/* The same on any number of ranks: a function of the node. */
static void random_vector(gfnn_solver_t *s, float *x)
{
    const gfnn_box_t *box = &s->problem->box;
    const gfnn_grid_t *g = &box->wide;
    const size_t values = 3 * (size_t)g->plane;
    float *host = RT_NEW(float, values, RT_HOST);
    rt_fill(host, RT_HOST, 0, values * sizeof *host);
    for (int c = 0; c < 3; c++)
        for (int64_t k = 0; k < g->n[2]; k++)
            for (int64_t j = 0; j < g->n[1]; j++)
                for (int64_t i = 0; i < g->n[0]; i++) {
                    const int64_t row = (box->first[2] + k) * box->N[1] + box->first[1] + j;
                    const int64_t node = row * box->N[0] + box->first[0] + i;
                    host[c * g->plane + gfnn_at(g, i, j, k)] =
                        (float)rt_random((uint64_t)(3 * node + c), 5);
                }
    rt_copy(x, s->space, host, RT_HOST, values * sizeof *host);
    RT_FREE(host, RT_HOST);
    gfnn_vectors_of(s)->hold(&s->view_vec, NULL, x);
}

/* Upper: the largest eigenvalue of D^-1 A, and a little more, as power iterations come from below.
 * Lower: not the least one, that of a displacement of the box as a whole, 1/(0.3 + courant^2/4) or
 * so: few vectors have it, and the conjugate gradients around B find these themselves. Measured on
 * heads with Vp dt/ds = 1, 2, 3, 4, degrees 3 to 7: upper over 3 + 3 courant needs one iteration
 * more than the best bound at most. */
void gfnn_spectrum(gfnn_solver_t *s)
{
    enum { ITERATIONS = 40 };
    const gfnn_config_t *cfg = s->problem->cfg;
    const double margin = 1.03, courant = cfg->vp * cfg->dt / cfg->ds;
    random_vector(s, s->z);
    double largest = sqrt(dot32(s, s->z, s->z));
    for (int i = 0; i < ITERATIONS; i++) {
        gfnn_apply32(s, &s->problem->step.A, s->z, s->t32);
        jacobi(s, (float)(1 / largest), s->t32, s->z);
        largest = sqrt(dot32(s, s->z, s->z));
    }
    s->spectrum[1] = margin * largest;
    s->spectrum[0] = s->spectrum[1] / (3 + 3 * courant);
}
