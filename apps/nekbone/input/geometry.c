/*
 * input/geometry.c - points and geometric factors of an element.
 *
 * The box has elements of edge 2: element (a, b, c) covers [2a, 2a+2] x [2b, 2b+2] x [2c, 2c+2].
 * With --stretch R the layers in z grow by a constant factor from 2 / R on, and fill the same box.
 * With --deform A a point moves by
 *
 *     A sin(pi X/Lx) sin(pi Y/Ly) sin(pi Z/Lz) times (1, 1/2, -3/4)
 *
 * which leaves the boundary where it is and makes all six geometric factors non-zero inside. With
 * --ripple A it also moves, with the coordinates in edges of an element and k = pi/2, by
 *
 *     A (sin(k y + 0.3) cos(k z), sin(k z + 0.2) cos(k x), sin(k x + 0.1) cos(k y))
 *
 * so that every element is sheared, however many there are.
 */
#include "config.h"
#include "../nekbone.h"
#include <math.h>

static const double pi = 3.14159265358979323846;

/* Evaluates the Legendre polynomials P_{m-1}(x) and P_m(x), m >= 1, by their three-term recurrence.
 */
static void legendre(int m, double x, double *before, double *last)
{
    double p0 = 1, p1 = x;
    for (int k = 2; k <= m; k++) {
        double p2 = ((2 * k - 1) * x * p1 - (k - 1) * p0) / k;
        p0 = p1;
        p1 = p2;
    }
    *before = p0;
    *last = p1;
}

void nek_gll(int n, double *z, double *w, double *D)
{
    int m = n - 1; /* degree; the points are the roots of (1 - x^2) P'_m(x) */
    double p[NEK_MAX_N];
    for (int i = 0; i < n; i++) {
        double x = -cos(pi * i / m), before, last;
        for (int step = 0; step < 50 && i > 0 && i < m; step++) {
            /* Newton on x P_m - P_{m-1}, whose inner roots are those of P'_m */
            legendre(m, x, &before, &last);
            double dx = (x * last - before) / (n * last);
            x -= dx;
            if (fabs(dx) < 1e-16)
                break;
        }
        z[i] = x;
    }
    for (int i = 0; i < n; i++) { /* makes z exactly symmetric, and 0 in the middle */
        double before;
        if (i < n / 2)
            z[n - 1 - i] = -z[i];
        else if (2 * i == m)
            z[i] = 0;
        legendre(m, z[i], &before, &p[i]);
        w[i] = 2 / (m * n * p[i] * p[i]);
    }
    for (int i = 0; i < n; i++) {
        double sum = 0;
        for (int j = 0; j < n; j++)
            if (i != j)
                sum += D[i * n + j] = p[i] / (p[j] * (z[i] - z[j]));
        D[i * n + i] = -sum; /* so that constants have derivative zero but for rounding */
    }
}

void nek_element_position(const nek_config_t *config, int64_t e, int64_t at[3])
{
    at[0] = config->first[0] + e % config->local[0];
    at[1] = config->first[1] + e / config->local[0] % config->local[1];
    at[2] = config->first[2] + e / (config->local[0] * config->local[1]);
}

int64_t nek_global_index(const nek_config_t *config, int64_t e, int i, int j, int k)
{
    int64_t at[3], m = config->degree;
    nek_element_position(config, e, at);
    int64_t nx = config->elements[0] * m + 1, ny = config->elements[1] * m + 1;
    return at[0] * m + i + nx * (at[1] * m + j + ny * (at[2] * m + k));
}

/* --- geometric factors --- */

double nek_growth(int64_t layers, double stretch)
{
    double low = 1, high = 2 * stretch; /* 1 + high + ... is above layers stretch */
    for (int step = 0; step < 200 && high - low > 0; step++) {
        const double mid = (low + high) / 2;
        double sum = 0, edge = 1;
        for (int64_t k = 0; k < layers && sum <= (double)layers * stretch; k++, edge *= mid)
            sum += edge;
        *(sum > (double)layers * stretch ? &high : &low) = mid;
    }
    return (low + high) / 2;
}

/* Returns where layer `at` of the elements begins along direction d. */
static double layer_start(const nek_config_t *config, int d, int64_t at)
{
    const int64_t layers = config->elements[d];
    if (d < 2 || config->growth == 1 || at == 0 || at == layers)
        return (double)(2 * at);
    return 2 / config->stretch * (pow(config->growth, (double)at) - 1) / (config->growth - 1);
}

void nek_coordinates(const nek_config_t *config, const int64_t at[3], const double *z, double *xyz)
{
    int n = config->n, n3 = n * n * n;
    double start[3], edge[3];
    for (int d = 0; d < 3; d++) {
        start[d] = layer_start(config, d, at[d]);
        edge[d] = layer_start(config, d, at[d] + 1) - start[d];
    }
    for (int q = 0; q < n3; q++) {
        const int l[3] = {q % n, q / n % n, q / (n * n)};
        double X[3], k[3], bump = config->deform;
        const double ripple = 2 * config->ripple;
        for (int d = 0; d < 3; d++) {
            X[d] = start[d] + edge[d] * (1 + z[l[d]]) / 2;
            k[d] = pi / 4 * X[d];
            bump *= sin(pi * X[d] / (double)(2 * config->elements[d]));
        }
        xyz[q] = X[0] + bump;
        xyz[n3 + q] = X[1] + bump / 2;
        xyz[2 * n3 + q] = X[2] - bump * 3 / 4;
        if (ripple == 0)
            continue;
        xyz[q] += ripple * sin(k[1] + 0.3) * cos(k[2]);
        xyz[n3 + q] += ripple * sin(k[2] + 0.2) * cos(k[0]);
        xyz[2 * n3 + q] += ripple * sin(k[0] + 0.1) * cos(k[1]);
    }
}

/* Returns the derivative of f along direction d at point q, by the operator's own D. */
static double derivative(int n, const double *D, const double *f, int q, int d)
{
    const int stride = d == 0 ? 1 : d == 1 ? n : n * n;
    const int row = q / stride % n, base = q - row * stride;
    double sum = 0;
    for (int l = 0; l < n; l++)
        sum += D[row * n + l] * f[base + l * stride];
    return sum;
}

double nek_geometry_at(int n, const double *w, const double *D, const double *xyz, double *G,
                       double *mass)
{
    const int n3 = n * n * n;
    double least = INFINITY;
    for (int q = 0; q < n3; q++) {
        double J[3][3], cof[3][3]; /* J[d][a] = dx_a/dr_d; rows of cof: det * dr_d/dx_a */
        for (int d = 0; d < 3; d++)
            for (int a = 0; a < 3; a++)
                J[d][a] = derivative(n, D, xyz + a * n3, q, d);
        for (int d = 0; d < 3; d++)
            for (int a = 0; a < 3; a++) {
                int d1 = (d + 1) % 3, d2 = (d + 2) % 3, a1 = (a + 1) % 3, a2 = (a + 2) % 3;
                cof[d][a] = J[d1][a1] * J[d2][a2] - J[d1][a2] * J[d2][a1];
            }
        double det = J[0][0] * cof[0][0] + J[0][1] * cof[0][1] + J[0][2] * cof[0][2];
        double weight = w[q % n] * w[q / n % n] * w[q / (n * n)];
        for (int d = 0, m = 0; d < 3; d++) /* rr rs rt ss st tt */
            for (int f = d; f < 3; f++, m++)
                G[m * n3 + q] =
                    weight / det *
                    (cof[d][0] * cof[f][0] + cof[d][1] * cof[f][1] + cof[d][2] * cof[f][2]);
        if (mass)
            mass[q] = weight * det;
        least = fmin(least, det);
    }
    return least;
}

double nek_geometry(const nek_config_t *config, int64_t e, double *G, double *mass, double *xyz_out)
{
    double z[NEK_MAX_N], w[NEK_MAX_N], D[NEK_MAX_N * NEK_MAX_N];
    int64_t at[3];
    double own[3 * NEK_MAX_N3], *xyz = xyz_out ? xyz_out : own;
    nek_gll(config->n, z, w, D);
    nek_element_position(config, e, at);
    nek_coordinates(config, at, z, xyz);
    return nek_geometry_at(config->n, w, D, xyz, G, mass);
}
