/*
 * physics.h - compressible flow of a perfect gas at one node or through one face: one text for the
 * C of the host, for CUDA and for Kokkos. Each back-end adds its own loops.
 *
 * A file of Kokkos includes it after "machine/kokkos.hpp". Units: density and speed of sound of the
 * free stream, and lengths of the mesh. w is a state in primitive variables (rho, u, v, w, p), and
 * x a vector in conservative ones (rho, rho u, rho v, rho w, E), in which A and dQ are.
 *
 * The flux Jacobian A(n) has rank 2 beside its diagonal: with V = u.n, and for a vector x
 *
 *     r = n.x_m - V x_0,   s = (g - 1) (|u|^2/2 x_0 - u.x_m + x_4)     (mass flux and pressure)
 *     A x = V x + r a + s b,   a = (1, u, H),   b = (0, n, V)
 *
 * B = A - V I takes (r, s) to (s, c^2 r), so any function of A, such as |A|, costs no more than A:
 *
 *     |A| x = |V| x + (f r + h s) a + (f s + h c^2 r) b
 *     f = (|V+c| - |V-c|) / 2c,   h = ((|V+c| + |V-c|) / 2 - |V|) / c^2
 *
 * Flux: Roe, J. Comput. Phys. 43 (1981). Entropy fix: Harten, J. Comput. Phys. 49 (1983).
 * Roe's mean, boundaries and implicit operator as in Blazek, Computational Fluid Dynamics (2001),
 * chapters 4, 6 and 8.
 */
#ifndef MCPI_PHYSICS_H
#define MCPI_PHYSICS_H

#include <math.h>
#include <stdbool.h>
#include "../input/portable.h"

enum { MCPI_Q = 5 }; /* values of a state */
#define MCPI_GAMMA   1.4
#define MCPI_PRANDTL 0.72 /* laminar air */
/* A constant to multiply with: a division takes as long as ten products. */
#define MCPI_PER_PRESSURE (1 / (MCPI_GAMMA - 1))
/* Entropy fix: eigenvalues below this share of |V| + c are kept away from 0. */
#define MCPI_FIX 0.05

/* What is the same at all nodes. */
typedef struct {
    double stream[MCPI_Q]; /* primitive */
    double mu;             /* 0: no viscosity, and walls slip */
} mcpi_gas_t;

MCPI_FN double mcpi_inner(const double *a, const double *b)
{
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}

/* Returns the total enthalpy. */
MCPI_FN double mcpi_enthalpy(const double *w)
{
    return MCPI_GAMMA * MCPI_PER_PRESSURE * w[4] / w[0] + mcpi_inner(w + 1, w + 1) / 2;
}

/* Returns what a flux carries of energy per volume: density times total enthalpy, undivided. */
MCPI_FN double mcpi_carried(const double *w)
{
    return MCPI_GAMMA * MCPI_PER_PRESSURE * w[4] + w[0] * mcpi_inner(w + 1, w + 1) / 2;
}

/* Returns 1 / sqrt(x): on a GPU one sequence instead of two. */
MCPI_FN double mcpi_per_root(double x)
{
#ifdef __CUDA_ARCH__
    return rsqrt(x);
#else
    return 1 / sqrt(x);
#endif
}

MCPI_FN void mcpi_conservative(const double *w, double *x)
{
    x[0] = w[0];
    for (int d = 1; d < 4; d++)
        x[d] = w[0] * w[d];
    x[4] = w[4] * MCPI_PER_PRESSURE + w[0] * mcpi_inner(w + 1, w + 1) / 2;
}

/* --- a face --- */

/* The waves across a face of unit normal n, about Roe's mean of both sides. */
typedef struct {
    double n[3], area;
    double u[3], H, half, c2, V; /* half: |u|^2/2 */
    double still, first, second; /* |V|, f and h above, with the entropy fix */
    double fastest;              /* |V| + c */
} mcpi_wave_t;

/* Returns |x|, smoothed below `fix`: otherwise nothing would damp a standing wave. half_per_fix:
 * 1 / (2 fix), of all waves of a face. */
MCPI_FN double mcpi_smooth(double x, double fix, double half_per_fix)
{
    const double size = fabs(x);
    return size < fix ? (size * size + fix * fix) * half_per_fix : size;
}

/* Finds the waves between two states; area above 0. Divisions and roots take most of the time of a
 * flux, so there are only five: one root of the product of the densities gives the square root of
 * their ratio and both reciprocals. */
MCPI_FN mcpi_wave_t mcpi_wave(const double *left, const double *right, const double *area)
{
    mcpi_wave_t f;
    const double square = mcpi_inner(area, area), per_area = mcpi_per_root(square);
    const double per_mean = mcpi_per_root(left[0] * right[0]);
    const double of_left = 1 / (1 + right[0] * per_mean), of_right = 1 - of_left;
    f.area = square * per_area;
    for (int d = 0; d < 3; d++) {
        f.n[d] = area[d] * per_area;
        f.u[d] = of_left * left[1 + d] + of_right * right[1 + d];
    }
    f.H = (of_left * right[0] * mcpi_carried(left) + of_right * left[0] * mcpi_carried(right)) *
          (per_mean * per_mean);
    f.half = mcpi_inner(f.u, f.u) / 2;
    f.V = mcpi_inner(f.u, f.n);
    f.c2 = (MCPI_GAMMA - 1) * (f.H - f.half);
    const double per_c = mcpi_per_root(f.c2), c = f.c2 * per_c;
    f.fastest = fabs(f.V) + c;
    const double fix = MCPI_FIX * f.fastest, per = 1 / (2 * MCPI_FIX) / f.fastest;
    const double up = mcpi_smooth(f.V + c, fix, per), down = mcpi_smooth(f.V - c, fix, per);
    f.still = mcpi_smooth(f.V, fix, per);
    f.first = (up - down) / 2 * per_c;
    f.second = ((up + down) / 2 - f.still) * per_c * per_c;
    return f;
}

/* Computes y += scale |A| x. */
MCPI_FN void mcpi_add_magnitude(const mcpi_wave_t *f, double scale, const double *x, double *y)
{
    const double r = mcpi_inner(f->n, x + 1) - f->V * x[0];
    const double s = (MCPI_GAMMA - 1) * (f->half * x[0] - mcpi_inner(f->u, x + 1) + x[4]);
    const double of_a = scale * (f->first * r + f->second * s);
    const double of_b = scale * (f->first * s + f->second * f->c2 * r);
    const double of_x = scale * f->still;
    y[0] += of_x * x[0] + of_a;
    for (int d = 0; d < 3; d++)
        y[1 + d] += of_x * x[1 + d] + of_a * f->u[d] + of_b * f->n[d];
    y[4] += of_x * x[4] + of_a * f->H + of_b * f->V;
}

/* Finds r and s, above, of column c: of the unit vector of that component. half: |u|^2/2; V: u.n */
MCPI_FN void mcpi_unit_waves(const double *u, double half, const double *n, double V, int c,
                             double *r, double *s)
{
    /* no n[c - 1]: arrays stay in registers */
    *r = c == 0 ? -V : c == 1 ? n[0] : c == 2 ? n[1] : c == 3 ? n[2] : 0;
    *s = (MCPI_GAMMA - 1) * (c == 0 ? half : c == 1 ? -u[0] : c == 2 ? -u[1] : c == 3 ? -u[2] : 1);
}

/* Computes y += scale times column c of |A|. */
MCPI_FN void mcpi_add_magnitude_column(const mcpi_wave_t *f, double scale, int c, double *y)
{
    double r, s;
    mcpi_unit_waves(f->u, f->half, f->n, f->V, c, &r, &s);
    const double of_a = scale * (f->first * r + f->second * s);
    const double of_b = scale * (f->first * s + f->second * f->c2 * r);
    y[0] += of_a;
    for (int d = 0; d < 3; d++)
        y[1 + d] += of_a * f->u[d] + of_b * f->n[d];
    y[4] += of_a * f->H + of_b * f->V;
    for (int v = 0; v < MCPI_Q; v++)
        y[v] += v == c ? scale * f->still : 0;
}

/* Computes y += scale times column c of A(w) through a face of that area vector. */
MCPI_FN void mcpi_add_jacobian_column(const double *w, const double *area, double scale, int c,
                                      double *y)
{
    const double V = mcpi_inner(w + 1, area);
    double r, s;
    mcpi_unit_waves(w + 1, mcpi_inner(w + 1, w + 1) / 2, area, V, c, &r, &s);
    r *= scale;
    s *= scale;
    y[0] += r;
    for (int d = 0; d < 3; d++)
        y[1 + d] += r * w[1 + d] + s * area[d];
    y[4] += r * mcpi_enthalpy(w) + s * V;
    for (int v = 0; v < MCPI_Q; v++)
        y[v] += v == c ? scale * V : 0;
}

/* Computes F += scale times the flux of state w through a face. */
MCPI_FN void mcpi_add_flux(const double *w, const double *area, double scale, double *F)
{
    const double V = scale * mcpi_inner(w + 1, area), mass = w[0] * V, pressure = scale * w[4];
    F[0] += mass;
    for (int d = 0; d < 3; d++)
        F[1 + d] += mass * w[1 + d] + pressure * area[d];
    F[4] += V * mcpi_carried(w);
}

/* Computes F += Roe's flux from left to right. Returns area (|V| + c) / 2. */
MCPI_FN double mcpi_add_roe(const double *left, const double *right, const double *area, double *F)
{
    const mcpi_wave_t f = mcpi_wave(left, right, area);
    double jump[MCPI_Q], of_left[MCPI_Q];
    mcpi_conservative(right, jump);
    mcpi_conservative(left, of_left);
    for (int v = 0; v < MCPI_Q; v++)
        jump[v] -= of_left[v];
    mcpi_add_flux(left, area, 0.5, F);
    mcpi_add_flux(right, area, 0.5, F);
    mcpi_add_magnitude(&f, -0.5 * f.area, jump, F);
    return 0.5 * f.area * f.fastest;
}

/* --- viscosity ---
 *
 * With constant mu, and without the part of the stress that the divergence of the velocity makes,
 * the viscous flux out of a cell is a Laplacian: mu of u in the momentum, and of
 *
 *     |u|^2/2 + (gamma / Pr) e,    e = p / ((gamma - 1) rho)
 *
 * in the energy: friction's work and the flux of heat. */

MCPI_FN double mcpi_heat(const double *w)
{
    return mcpi_inner(w + 1, w + 1) / 2 +
           MCPI_GAMMA / (MCPI_PRANDTL * (MCPI_GAMMA - 1)) * w[4] / w[0];
}

/* Computes y += scale times column c of K(w): how u, and what is conducted in the energy, change
 * with the conservative state. */
MCPI_FN void mcpi_add_conduction_column(const double *w, double scale, int c, double *y)
{
    const double g = MCPI_GAMMA / MCPI_PRANDTL, square = mcpi_inner(w + 1, w + 1);
    const double of_rho = scale / w[0], e = w[4] * MCPI_PER_PRESSURE / w[0] + square / 2;
    for (int d = 1; d < 4; d++)
        y[d] += of_rho * (c == d ? 1 : c == 0 ? -w[d] : 0);
    y[4] += of_rho * (c == 0   ? g * (square - e) - square
                      : c == 1 ? (1 - g) * w[1]
                      : c == 2 ? (1 - g) * w[2]
                      : c == 3 ? (1 - g) * w[3]
                               : g);
}

/* --- a node --- */

/* Moves w by share * x, x conservative. Returns false, and changes nothing, if density or pressure
 * would fall below `least` of what it was. */
MCPI_FN bool mcpi_move(double *w, const double *x, double share, double least)
{
    double q[MCPI_Q];
    mcpi_conservative(w, q);
    for (int v = 0; v < MCPI_Q; v++)
        q[v] += share * x[v];
    const double rho = q[0];
    if (!(rho >= least * w[0]))
        return false;
    const double u[3] = {q[1] / rho, q[2] / rho, q[3] / rho};
    const double p = (MCPI_GAMMA - 1) * (q[4] - rho * mcpi_inner(u, u) / 2);
    if (!(p >= least * w[4]))
        return false;
    w[0] = rho;
    for (int d = 0; d < 3; d++)
        w[1 + d] = u[d];
    w[4] = p;
    return true;
}

#endif
