/*
 * test_flow.c - the blocks of a flow: flux Jacobians, viscous terms, pseudo-time, walls.
 *
 * Expected values come from the equations: derivatives of the flux itself, uniform flows, one term
 * at a time.
 */
#include "config.h"
#include "flow_test.h"

/* --- flux Jacobians --- */

/* Computes the flux through unit area, from the equations. */
static void flux(int nb, const double *q, const double n[3], double *F)
{
    if (nb == 4) {
        const double V = mcpi_dot(q + 1, n);
        F[0] = V; /* times beta, 1 */
        for (int d = 0; d < 3; d++)
            F[1 + d] = q[1 + d] * V + q[0] * n[d];
        return;
    }
    const double V = mcpi_dot(q + 1, n) / q[0],
                 p = 0.4 * (q[4] - mcpi_dot(q + 1, q + 1) / (2 * q[0]));
    for (int k = 0; k < nb; k++)
        F[k] = q[k] * V + (k >= 1 && k <= 3 ? p * n[k - 1] : k == 4 ? p * V : 0);
}

/* Computes what viscous stress and conduction act on: velocity, u du + gamma/Pr de, scalars, as a
 * change from q0 to q. */
static void diffused(int nb, const double *q0, const double *q, double *w)
{
    if (nb == 4) {
        w[0] = 0;
        for (int d = 1; d < 4; d++)
            w[d] = q[d];
        return;
    }
    const double e = q[4] / q[0] - mcpi_dot(q + 1, q + 1) / (2 * q[0] * q[0]);
    w[0] = 0;
    w[4] = 1.4 / 0.72 * e;
    for (int d = 0; d < 3; d++) {
        w[1 + d] = q[1 + d] / q[0];
        w[4] += q0[1 + d] / q0[0] * w[1 + d];
    }
    for (int k = 5; k < nb; k++)
        w[k] = q[k] / q[0];
}

static void random_state(int nb, uint64_t seed, double *q, double n[3])
{
    double length = 0;
    for (uint64_t k = 0; k < (uint64_t)nb; k++)
        q[k] = rt_random(k, seed);
    for (uint64_t d = 0; d < 3; d++) {
        n[d] = rt_random(10 + d, seed);
        length += n[d] * n[d];
    }
    for (int d = 0; d < 3; d++)
        n[d] /= sqrt(length);
    if (nb == 4)
        return;
    q[0] = 1.2 + 0.5 * q[0];
    q[4] = 2 + 0.5 * q[4] + mcpi_dot(q + 1, q + 1) / (2 * q[0]);
}

/* Catches any entry of A or K that is wrong or in the wrong place, by central differences, whose
 * error is about step^2. */
static void check_derivatives(int nb, const double *q, const double n[3])
{
    const double step = 1e-5;
    double A[MCPI_MAX_NB2], K[MCPI_MAX_NB2], V, c, worst_A = 0, worst_K = 0, none = 0;
    const mcpi_state_t s = mcpi_state(nb, q);
    mcpi_jacobian(nb, &s, n, A, &V, &c);
    mcpi_viscous(nb, q, K);
    for (int j = 0; j < nb; j++) {
        double up[MCPI_MAX_NB], down[MCPI_MAX_NB], there[MCPI_MAX_NB];
        memcpy(there, q, (size_t)nb * sizeof *q);
        for (int viscous = 0; viscous < 2; viscous++) {
            for (int side = -1; side <= 1; side += 2) {
                there[j] = q[j] + side * step;
                if (viscous)
                    diffused(nb, q, there, side > 0 ? up : down);
                else
                    flux(nb, there, n, side > 0 ? up : down);
            }
            for (int i = 0; i < nb; i++) {
                const double slope = (up[i] - down[i]) / (2 * step);
                if (viscous)
                    worst_K = fmax(worst_K, fabs(K[j * nb + i] - slope));
                else
                    worst_A = fmax(worst_A, fabs(A[j * nb + i] - slope));
            }
        }
    }
    CHECK(worst_A < 1e-7);
    CHECK(worst_K < 1e-7);
    /* nothing diffuses into more of the same gas */
    for (int i = 0; nb > 4 && i < nb; i++) {
        double sum = 0;
        for (int j = 0; j < nb; j++)
            sum += K[j * nb + i] * q[j];
        none = fmax(none, fabs(sum));
    }
    CHECK(none < 1e-13);
}

/* Checks what defines a Roe mean: A(mean) (b - a) = F(b) - F(a). */
static void check_mean(int nb, const double *a, const double *b, const double n[3])
{
    double A[MCPI_MAX_NB2], F_a[MCPI_MAX_NB], F_b[MCPI_MAX_NB], V, c, worst = 0;
    const mcpi_state_t at = mcpi_state(nb, a), there = mcpi_state(nb, b);
    const mcpi_state_t mean = mcpi_roe_mean(&at, &there);
    mcpi_jacobian(nb, &mean, n, A, &V, &c);
    flux(nb, a, n, F_a);
    flux(nb, b, n, F_b);
    for (int i = 0; i < nb; i++) {
        double left = F_b[i] - F_a[i];
        for (int j = 0; j < nb; j++)
            left -= A[j * nb + i] * (b[j] - a[j]);
        worst = fmax(worst, fabs(left));
    }
    CHECK(worst < 1e-13);
}

/* |A| has the same square as A, and its trace is the sum of the |eigenvalues| (that of A is
 * not). */
static void check_magnitude(int nb, const double *q, const double n[3])
{
    const int nb2 = nb * nb;
    double A[MCPI_MAX_NB2], B[MCPI_MAX_NB2], M[MCPI_MAX_NB2], X[MCPI_MAX_NB2], Y[MCPI_MAX_NB2];
    double V, c;
    const mcpi_state_t s = mcpi_state(nb, q);
    mcpi_jacobian(nb, &s, n, A, &V, &c);
    memcpy(B, A, sizeof B);
    for (int i = 0; i < nb; i++)
        B[i * nb + i] -= V;
    multiply(nb, B, B, X);
    multiply(nb, X, B, Y);
    CHECK(differ(nb2, Y, c * c, B) < 1e-12);
    CHECK(c > 0.1);

    mcpi_magnitude(nb, A, V, c, 0, M);
    multiply(nb, M, M, X);
    multiply(nb, A, A, Y);
    CHECK(differ(nb2, X, 1, Y) < 1e-11);
    double trace = -(nb - 2) * fabs(V) - fabs(V + c) - fabs(V - c);
    for (int i = 0; i < nb; i++)
        trace += M[i * nb + i];
    CHECK(fabs(trace) < 1e-12);

    /* the fix gives half of itself for a standing wave, as V is here */
    const double fix = 0.05 * (fabs(V) + c);
    for (int i = 0; i < nb; i++)
        A[i * nb + i] -= V;
    mcpi_magnitude(nb, A, 0, c, fix, M);
    trace = -(nb - 2) * fix / 2 - 2 * c;
    for (int i = 0; i < nb; i++)
        trace += M[i * nb + i];
    CHECK(fabs(trace) < 1e-12);
}

/* --- rows --- */

/* Computes S/2 (|A| + sign A) through n, with the fix. */
static void through(int nb, const double *q, const double n[3], double sign, double *X)
{
    double A[MCPI_MAX_NB2], V, c, unit[3];
    const double S = sqrt(mcpi_dot(n, n));
    memset(X, 0, (size_t)(nb * nb) * sizeof *X);
    if (S == 0)
        return;
    for (int d = 0; d < 3; d++)
        unit[d] = n[d] / S;
    const mcpi_state_t s = mcpi_state(nb, q);
    mcpi_jacobian(nb, &s, unit, A, &V, &c);
    mcpi_magnitude(nb, A, V, c, 0.05 * (fabs(V) + c), X);
    for (int k = 0; k < nb * nb; k++)
        X[k] = S / 2 * (X[k] + sign * A[k]);
}

/* In a uniform flow without viscosity and pseudo-time, row sums vanish inside: dual cells close,
 * and what leaves one cell enters the next. On the boundary (|A| - A) / 2 through n_b is left; at a
 * wall, where nothing is added, -A. Catches a wrong sign of O or D, |A| with one sign in both, a
 * missing boundary term. */
static void check_uniform(const rt_mesh_t *mesh, int nb)
{
    mcpi_source_t *source = flow_on(mesh, nb, "1");
    mcpi_source_t *f = source;
    const mcpi_graph_t *g = source->graph;
    double q[MCPI_MAX_NB], n[3], worst = 0, inside = 0, biggest = 0;
    const int nb2 = nb * nb;
    random_state(nb, 5, q, n);
    for (int64_t k = 0; k < g->rows * nb; k++)
        f->q[k] = q[k % nb];
    f->mu = 0;
    f->cfl = INFINITY;
    rows_t r = rows_new(source);
    for (int64_t v = 0; v < g->rows; v++) {
        double sum[MCPI_MAX_NB2], left[MCPI_MAX_NB2];
        const double *n_b = f->boundary + 3 * v;
        memcpy(sum, r.D + v * nb2, (size_t)nb2 * sizeof *sum);
        for (int64_t p = g->start[v]; p < g->start[v + 1]; p++)
            for (int k = 0; k < nb2; k++)
                sum[k] += r.O[p * nb2 + k];
        through(nb, q, n_b, -1, left);
        if (f->wall[v]) {
            double plus[MCPI_MAX_NB2];
            through(nb, q, n_b, 1, plus);
            for (int k = 0; k < nb2; k++) /* check_walls looks at momentum rows */
                left[k] = k % nb >= 1 && k % nb <= 3 ? sum[k] : left[k] - plus[k];
        }
        double *to = mcpi_dot(n_b, n_b) == 0 ? &inside : &worst;
        *to = fmax(*to, differ(nb2, sum, 1, left));
        biggest = fmax(biggest, fabs(sum[0]));
    }
    CHECK(worst < 1e-13 && inside < 1e-13);
    CHECK(biggest > 1e-4);
    rows_destroy(&r);
    mcpi_source_destroy(source);
}

/* Checks one term after the other: rows with it less rows without it. Catches a wrong sign or
 * variable of the viscous term (diagonal: K of its own state), pseudo-time off the diagonal or from
 * the wrong speeds. */
static void check_terms(const rt_mesh_t *mesh, int nb)
{
    mcpi_source_t *source = flow_on(mesh, nb, "");
    mcpi_source_t *f = source;
    const mcpi_graph_t *g = source->graph;
    const int nb2 = nb * nb;
    const double mu = f->mu;
    f->mu = 0;
    rows_t with_time = rows_new(source);
    f->cfl = INFINITY;
    rows_t bare = rows_new(source);
    f->mu = mu;
    rows_t viscous = rows_new(source);
    double wrong_D = 0, wrong_O = 0, wrong_time = 0, least = INFINITY;
    for (int64_t v = 0; v < g->rows; v++) {
        double K[MCPI_MAX_NB2], want[MCPI_MAX_NB2] = {0}, rate = 0;
        mcpi_viscous(nb, f->q + v * nb, K);
        least = fmin(least, -f->diagonal[v]);
        for (int k = 0; k < nb2; k++)
            wrong_D = fmax(wrong_D, fabs(viscous.D[v * nb2 + k] - bare.D[v * nb2 + k] +
                                         mu * f->diagonal[v] * K[k]));
        for (int64_t p = g->start[v]; p <= g->start[v + 1]; p++) {
            const bool edge = p < g->start[v + 1];
            const double *n = edge ? f->n + 3 * p : f->boundary + 3 * v;
            const double S = sqrt(mcpi_dot(n, n));
            const int64_t w = edge ? g->neighbour[p] : v;
            const mcpi_state_t a = mcpi_state(nb, f->q + v * nb), b = mcpi_state(nb, f->q + w * nb);
            const mcpi_state_t mean = mcpi_roe_mean(&a, &b);
            double A[MCPI_MAX_NB2], V, c, unit[3];
            for (int d = 0; d < 3; d++)
                unit[d] = S > 0 ? n[d] / S : 0;
            mcpi_jacobian(nb, &mean, unit, A, &V, &c);
            rate += S / 2 * (fabs(V) + c);
            mcpi_viscous(nb, f->q + w * nb, K);
            for (int k = 0; edge && k < nb2; k++)
                wrong_O = fmax(wrong_O, fabs(viscous.O[p * nb2 + k] - bare.O[p * nb2 + k] +
                                             mu * f->viscous[p] * K[k]));
        }
        for (int i = 0; i < nb; i++)
            want[i * nb + i] = rate / 10;
        for (int k = 0; k < nb2; k++)
            wrong_time =
                fmax(wrong_time, fabs(with_time.D[v * nb2 + k] - bare.D[v * nb2 + k] - want[k]));
    }
    CHECK(wrong_D < 1e-14 && wrong_O < 1e-14 && mu > 1e-3);
    CHECK(wrong_time < 1e-14);
    CHECK(least > 0);
    rows_destroy(&with_time);
    rows_destroy(&bare);
    rows_destroy(&viscous);
    mcpi_source_destroy(source);
}

/* Momentum rows of walls say dQ = 0; nothing else in these rows, and no other row, is different. */
static void check_walls(const rt_mesh_t *mesh, int nb)
{
    mcpi_source_t *source = flow_on(mesh, nb, "7,1");
    const mcpi_source_t *f = source;
    const mcpi_graph_t *g = source->graph;
    const int nb2 = nb * nb;
    rows_t r = rows_new(source);
    int wrong = 0, walls = 0, moving = 0;
    for (int64_t v = 0; v < g->rows; v++) {
        const double *D = r.D + v * nb2, *O = r.O + g->start[v] * nb2;
        const bool wall = source->x[3 * v + 2] < 1e-9;
        walls += wall;
        wrong += f->wall[v] != wall;
        bool still = true, alone = true;
        for (int i = 1; i < 4; i++) {
            still &= f->q[v * nb + i] == 0;
            for (int j = 0; j < nb; j++)
                alone &= (D[j * nb + i] != 0) == (i == j) && D[i * nb + i] == D[nb + 1];
            for (int64_t k = 0; k < (g->start[v + 1] - g->start[v]) * nb; k++)
                alone &= O[k * nb + i] == 0;
        }
        moving += still != wall;
        wrong += alone != wall || D[nb + 1] <= 0;
        double rest = 0;
        for (int64_t k = 0; k < (g->start[v + 1] - g->start[v]) * nb; k++)
            rest += fabs(O[k * nb]);
        wrong += rest == 0;
    }
    CHECK(wrong == 0);
    CHECK(moving == 0);
    CHECK(walls == 16);
    rows_destroy(&r);
    mcpi_source_destroy(source);
}

int main(void)
{
    rt_mesh_t *mixed = cube(3, true);
    for (int nb = MCPI_MIN_NB; nb <= MCPI_MAX_NB; nb++)
        for (uint64_t seed = 0; seed < 8; seed++) {
            double q[MCPI_MAX_NB], n[3], other[MCPI_MAX_NB];
            random_state(nb, seed, q, n);
            check_derivatives(nb, q, n);
            check_magnitude(nb, q, n);
            random_state(nb, seed + 100, other, n);
            check_mean(nb, q, other, n);
        }
    for (int nb = MCPI_MIN_NB; nb <= MCPI_MAX_NB; nb++) {
        check_uniform(mixed, nb);
        check_terms(mixed, nb);
        check_walls(mixed, nb);
    }
    rt_mesh_destroy(mixed);
    return check_done();
}
