/*
 * definition.c - a row of each phase by the definition: slopes from normal equations that are solved
 * on the node, dense flux Jacobians, |A| as a polynomial of them, everything in FP64.
 *
 * Shares no formula with physics.h. Each function also adds up the magnitudes of its terms, from
 * which the judge has its bounds, unless `size` is NULL.
 */
#include "config.h"
#include <math.h>
#include <string.h>
#include "flow.h"

enum { NB = MCPI_Q, BLOCK = MCPI_Q * MCPI_Q };

/* --- states and fluxes --- */

static void conservative(const double *w, double *q)
{
    q[0] = w[0];
    for (int d = 1; d < 4; d++)
        q[d] = w[0] * w[d];
    q[4] = w[4] / (MCPI_GAMMA - 1) + 0.5 * w[0] * mcpi_dot(w + 1, w + 1);
}

static mcpi_state_t state(const double *w)
{
    double q[NB];
    conservative(w, q);
    return mcpi_state(NB, q);
}

/* Adds scale F(w) . n to F, and its magnitude to size. */
static void add_flux(const double *w, const double *n, double scale, double *F, double *size)
{
    double q[NB];
    conservative(w, q);
    const double V = mcpi_dot(w + 1, n), area = sqrt(mcpi_dot(n, n));
    const double speed = sqrt(mcpi_dot(w + 1, w + 1));
    for (int v = 0; v < NB; v++) {
        const double pressure = v == 0 ? 0 : v == 4 ? w[4] * V : w[4] * n[v - 1];
        F[v] += scale * (q[v] * V + pressure);
        if (size)
            size[v] += fabs(scale) * area * (fabs(q[v]) * speed + w[4] * (v == 4 ? speed : 1));
    }
}

/* Computes |A| of the face between two states as a dense matrix, and a bound of its terms; returns
 * |V| + c. */
static double magnitude(const double *left, const double *right, const double *n, double *M,
                        double *size)
{
    const double area = sqrt(mcpi_dot(n, n));
    const double unit[3] = {n[0] / area, n[1] / area, n[2] / area};
    const mcpi_state_t a = state(left), b = state(right), mean = mcpi_roe_mean(&a, &b);
    double A[BLOCK], V, c;
    mcpi_jacobian(NB, &mean, unit, A, &V, &c);
    const double fastest = fabs(V) + c;
    mcpi_magnitude(NB, A, V, c, MCPI_FIX * fastest, M);
    if (!size)
        return fastest;
    double B[BLOCK];
    for (int k = 0; k < BLOCK; k++)
        B[k] = fabs(A[k]) + (k % (NB + 1) == 0) * fabs(V);
    for (int j = 0; j < NB; j++) {
        double square[NB] = {0}; /* |B| |B|: what the polynomial adds up */
        for (int k = 0; k < NB; k++)
            for (int i = 0; i < NB; i++)
                square[i] += B[k * NB + i] * B[j * NB + k];
        for (int i = 0; i < NB; i++)
            size[j * NB + i] = square[i] / c + fabs(A[j * NB + i]) + (i == j) * fastest;
    }
    return fastest;
}

/* Adds Roe's flux; returns area (|V| + c) / 2. */
static double add_roe(const double *left, const double *right, const double *n, double *F,
                      double *size)
{
    const double area = sqrt(mcpi_dot(n, n));
    double M[BLOCK], terms[BLOCK], of_left[NB], of_right[NB];
    const double fastest = magnitude(left, right, n, M, size ? terms : NULL);
    conservative(left, of_left);
    conservative(right, of_right);
    add_flux(left, n, 0.5, F, size);
    add_flux(right, n, 0.5, F, size);
    for (int i = 0; i < NB; i++)
        for (int j = 0; j < NB; j++) {
            F[i] -= 0.5 * area * M[j * NB + i] * (of_right[j] - of_left[j]);
            if (size)
                size[i] += 0.5 * area * terms[j * NB + i] * (fabs(of_right[j]) + fabs(of_left[j]));
        }
    return 0.5 * area * fastest;
}

/* --- slopes --- */

void mcpi_reference_normal(const mcpi_field_t *f, int64_t i, double M[3][3], double b[NB][3],
                           double size[NB][3])
{
    memset(M, 0, 9 * sizeof(double));
    memset(b, 0, 3 * NB * sizeof(double));
    if (size)
        memset(size, 0, 3 * NB * sizeof(double));
    for (int32_t k = f->start[i]; k < f->start[i + 1]; k++) {
        const int64_t j = f->column[k];
        double d[3];
        for (int c = 0; c < 3; c++)
            d[c] = f->x[3 * j + c] - f->x[3 * i + c];
        for (int c = 0; c < 3; c++) {
            for (int e = 0; e < 3; e++)
                M[c][e] += d[c] * d[e];
            for (int v = 0; v < NB; v++) {
                b[v][c] += d[c] * (f->w[NB * j + v] - f->w[NB * i + v]);
                if (size)
                    size[v][c] += fabs(d[c]) * (fabs(f->w[NB * j + v]) + fabs(f->w[NB * i + v]));
            }
        }
    }
}

void mcpi_reference_solve3(double M[3][3], const double *b, double *x)
{
    double A[3][4];
    for (int r = 0; r < 3; r++) {
        memcpy(A[r], M[r], sizeof M[r]);
        A[r][3] = b[r];
    }
    for (int k = 0; k < 3; k++) {
        int pivot = k;
        for (int r = k + 1; r < 3; r++)
            if (fabs(A[r][k]) > fabs(A[pivot][k]))
                pivot = r;
        for (int c = 0; c < 4; c++) {
            const double other = A[k][c];
            A[k][c] = A[pivot][c];
            A[pivot][c] = other;
        }
        for (int r = k + 1; r < 3; r++) {
            const double factor = A[r][k] / A[k][k];
            for (int c = k; c < 4; c++)
                A[r][c] -= factor * A[k][c];
        }
    }
    for (int k = 2; k >= 0; k--) {
        x[k] = A[k][3];
        for (int c = k + 1; c < 3; c++)
            x[k] -= A[k][c] * x[c];
        x[k] /= A[k][k];
    }
}

/* --- residual --- */

/* Computes the state in the middle of the edge, as node `from` sees it. */
static void at_middle(const mcpi_field_t *f, int64_t from, int64_t to, double *w)
{
    double d[3];
    const double *here = f->w + NB * from;
    for (int c = 0; c < 3; c++)
        d[c] = f->x[3 * to + c] - f->x[3 * from + c];
    for (int v = 0; v < NB; v++)
        w[v] = here[v] + 0.5 * mcpi_dot(f->gradient + 3 * (NB * from + v), d);
    if (!(w[0] > MCPI_LEAST_SHARE * here[0] && w[4] > MCPI_LEAST_SHARE * here[4]))
        memcpy(w, here, NB * sizeof *w);
}

static bool is_face(const double *n)
{
    return mcpi_dot(n, n) > 0;
}

static void add_viscous(const mcpi_field_t *f, int32_t k, int64_t i, double *F, double *size)
{
    const double of = f->gas.mu * f->viscous[k];
    const double *here = f->w + NB * i, *there = f->w + NB * (int64_t)f->column[k];
    const double heat = MCPI_GAMMA / MCPI_PRANDTL / (MCPI_GAMMA - 1);
    const double before = 0.5 * mcpi_dot(here + 1, here + 1) + heat * here[4] / here[0];
    const double after = 0.5 * mcpi_dot(there + 1, there + 1) + heat * there[4] / there[0];
    for (int d = 1; d < 4; d++) {
        F[d] -= of * (there[d] - here[d]);
        if (size)
            size[d] += fabs(of) * (fabs(there[d]) + fabs(here[d]));
    }
    F[4] -= of * (after - before);
    if (size)
        size[4] += fabs(of) * (after + before);
}

static double add_side(const mcpi_field_t *f, int64_t i, double *F, double *size)
{
    const mcpi_side_t *side = f->side + f->side_of[i];
    const double *w = f->w + NB * i;
    for (int d = 0; d < 3; d++) {
        F[1 + d] += w[4] * side->wall[d] + w[4] * side->slip[d];
        if (size)
            size[1 + d] += w[4] * (fabs(side->wall[d]) + fabs(side->slip[d]));
    }
    const double *beyond = f->outside ? f->outside + NB * i : f->gas.stream;
    return is_face(side->far) ? add_roe(w, beyond, side->far, F, size) : 0;
}

static bool is_held(const mcpi_field_t *f, int64_t i)
{
    return f->side_of[i] >= 0 && f->side[f->side_of[i]].held == 1;
}

double mcpi_reference_residual(const mcpi_field_t *f, int64_t i, double *R, double *size)
{
    double F[NB] = {0}, rate = 0;
    if (size)
        memset(size, 0, NB * sizeof *size);
    for (int32_t k = f->start[i]; k < f->start[i + 1]; k++) {
        const int64_t j = f->column[k];
        const double *n = f->n + 3 * (int64_t)k;
        double left[NB], right[NB];
        at_middle(f, i, j, left);
        at_middle(f, j, i, right);
        if (is_face(n))
            rate += add_roe(left, right, n, F, size);
        if (f->gas.mu > 0)
            add_viscous(f, k, i, F, size);
    }
    if (f->side_of[i] >= 0)
        rate += add_side(f, i, F, size);
    for (int v = 0; v < NB; v++)
        R[v] =
            is_held(f, i) && v >= 1 && v <= 3 ? 0 : (f->source ? f->source[NB * i + v] : 0) - F[v];
    return rate + f->gas.mu * fabs(f->diagonal[i]) * MCPI_GAMMA / MCPI_PRANDTL / f->w[NB * i];
}

/* --- Jacobian --- */

/* Adds scale A(w) through n to a block, and the magnitudes of its terms to size. */
static void add_jacobian(const double *w, const double *n, double scale, double *B, double *size)
{
    const double area = sqrt(mcpi_dot(n, n));
    if (area == 0)
        return;
    const double unit[3] = {n[0] / area, n[1] / area, n[2] / area};
    const mcpi_state_t s = state(w);
    double A[BLOCK], V, c;
    mcpi_jacobian(NB, &s, unit, A, &V, &c);
    for (int k = 0; k < BLOCK; k++) {
        B[k] += scale * area * A[k];
        if (size)
            size[k] += fabs(scale) * area * (fabs(A[k]) + fabs(V) + c);
    }
}

static void add_conduction(const double *w, double scale, double *B, double *size)
{
    double q[NB], K[BLOCK];
    conservative(w, q);
    mcpi_viscous(NB, q, K);
    for (int k = 0; k < BLOCK; k++) {
        B[k] += scale * K[k];
        if (size)
            size[k] += fabs(scale) * (fabs(K[k]) + (k == 4 ? q[4] / (q[0] * q[0]) : 0));
    }
}

/* Adds what the boundary makes of D: the derivatives of the fluxes of add_side. */
static void add_side_block(const mcpi_field_t *f, int64_t i, double *D, double *size)
{
    const mcpi_side_t *side = f->side + f->side_of[i];
    const double *w = f->w + NB * i;
    const double of_q[NB] = {(MCPI_GAMMA - 1) * mcpi_dot(w + 1, w + 1) / 2,
                             -(MCPI_GAMMA - 1) * w[1], -(MCPI_GAMMA - 1) * w[2],
                             -(MCPI_GAMMA - 1) * w[3], MCPI_GAMMA - 1}; /* of the pressure */
    for (int j = 0; j < NB; j++)
        for (int d = 0; d < 3; d++) {
            D[j * NB + 1 + d] += of_q[j] * (side->wall[d] + side->slip[d]);
            if (size)
                size[j * NB + 1 + d] += fabs(of_q[j]) * (fabs(side->wall[d]) + fabs(side->slip[d]));
        }
    if (!is_face(side->far))
        return;
    const double *beyond = f->outside ? f->outside + NB * i : f->gas.stream;
    double M[BLOCK], terms[BLOCK];
    const double area = sqrt(mcpi_dot(side->far, side->far));
    magnitude(w, beyond, side->far, M, size ? terms : NULL);
    add_jacobian(w, side->far, 0.5, D, size);
    for (int k = 0; k < BLOCK; k++) {
        D[k] += 0.5 * area * M[k];
        if (size)
            size[k] += 0.5 * area * terms[k];
    }
}

static void hold(double diagonal, double *B)
{
    for (int j = 0; j < NB; j++)
        for (int d = 1; d < 4; d++)
            B[j * NB + d] = d == j ? diagonal : 0;
}

void mcpi_reference_row_blocks(const mcpi_field_t *f, int64_t i, double *O, double *D,
                               double *size_O, double *size_D)
{
    const int64_t first = f->start[i], entries = f->start[i + 1] - first;
    memset(D, 0, BLOCK * sizeof *D);
    memset(O, 0, (size_t)entries * BLOCK * sizeof *O);
    if (size_O) {
        memset(size_D, 0, BLOCK * sizeof *D);
        memset(size_O, 0, (size_t)entries * BLOCK * sizeof *O);
    }
    for (int64_t e = 0; e < entries; e++) {
        const double *n = f->n + 3 * (first + e), *here = f->w + NB * i;
        const double *there = f->w + NB * (int64_t)f->column[first + e];
        double *B = O + BLOCK * e, *size = size_O ? size_O + BLOCK * e : NULL;
        if (is_face(n)) {
            double M[BLOCK], terms[BLOCK];
            const double area = sqrt(mcpi_dot(n, n));
            magnitude(here, there, n, M, size ? terms : NULL);
            add_jacobian(there, n, 0.5, B, size);
            add_jacobian(here, n, 0.5, D, size_D);
            for (int k = 0; k < BLOCK; k++) {
                B[k] -= 0.5 * area * M[k];
                D[k] += 0.5 * area * M[k];
            }
            for (int k = 0; size && k < BLOCK; k++) {
                size[k] += 0.5 * area * terms[k];
                size_D[k] += 0.5 * area * terms[k];
            }
        }
        if (f->gas.mu > 0)
            add_conduction(there, -f->gas.mu * f->viscous[first + e], B, size);
        if (is_held(f, i))
            hold(0, B);
    }
    if (f->gas.mu > 0)
        add_conduction(f->w + NB * i, -f->gas.mu * f->diagonal[i], D, size_D);
    if (f->side_of[i] >= 0)
        add_side_block(f, i, D, size_D);
    for (int v = 0; v < NB; v++) {
        D[v * NB + v] += f->rate[i] / f->cfl;
        if (size_D)
            size_D[v * NB + v] += f->rate[i] / f->cfl;
    }
    if (is_held(f, i))
        hold(f->rate[i], D);
}

/* --- update --- */

int mcpi_reference_update(double *w, const double *dq)
{
    double q[NB];
    conservative(w, q);
    for (int halvings = 0; halvings < MCPI_HALVINGS; halvings++) {
        const double share = ldexp(1, -halvings);
        double to[NB], moved[NB];
        for (int v = 0; v < NB; v++)
            to[v] = q[v] + share * dq[v];
        moved[0] = to[0];
        for (int d = 1; d < 4; d++)
            moved[d] = to[d] / to[0];
        moved[4] = (MCPI_GAMMA - 1) * (to[4] - 0.5 * to[0] * mcpi_dot(moved + 1, moved + 1));
        if (moved[0] >= MCPI_LEAST_SHARE * w[0] && moved[4] >= MCPI_LEAST_SHARE * w[4]) {
            memcpy(w, moved, sizeof moved);
            return halvings;
        }
    }
    return MCPI_HALVINGS;
}
