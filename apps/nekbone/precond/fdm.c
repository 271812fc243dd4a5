/*
 * fdm.c - fast diagonalisation: modes and eigenvalues of an element's patch along each direction.
 *
 * The operator of a straight box is K x M x M + M x K x M + M x M x K, with the stiffness and mass
 * matrices of its edges. S' M S = 1 and S' K S = diagonal make it diagonal, so its inverse is S, a
 * division by the sums of eigenvalues, and S'. A patch takes one point from each neighbour; the
 * edges are those of the element and its neighbours, each the mean over the element's faces. Points
 * beyond it are 0.
 */
#include "config.h"
#include "precond.h"
#include <math.h>
#include <string.h>

/* --- eigenvalues --- */

/* Rotates rows and columns p and q of A, and columns of V, so that A[p][q] becomes 0. */
static void rotate(int m, double *A, double *V, int p, int q)
{
    const double theta = (A[q * m + q] - A[p * m + p]) / (2 * A[p * m + q]);
    const double t = copysign(1, theta) / (fabs(theta) + sqrt(theta * theta + 1));
    const double c = 1 / sqrt(t * t + 1), s = t * c;
    for (int k = 0; k < m; k++) {
        const double kp = A[k * m + p], kq = A[k * m + q];
        A[k * m + p] = c * kp - s * kq;
        A[k * m + q] = s * kp + c * kq;
    }
    for (int k = 0; k < m; k++) {
        const double pk = A[p * m + k], qk = A[q * m + k];
        A[p * m + k] = c * pk - s * qk;
        A[q * m + k] = s * pk + c * qk;
        const double kp = V[k * m + p], kq = V[k * m + q];
        V[k * m + p] = c * kp - s * kq;
        V[k * m + q] = s * kp + c * kq;
    }
}

void nek_symmetric_eigen(int m, double *A, double *eigen, double *V)
{
    enum { MOST_SWEEPS = 40 };
    for (int q = 0; q < m * m; q++)
        V[q] = q % (m + 1) == 0;
    for (int sweep = 0, rotated = 1; rotated && sweep < MOST_SWEEPS; sweep++) {
        rotated = 0;
        for (int p = 0; p < m; p++)
            for (int q = p + 1; q < m; q++)
                if (fabs(A[p * m + q]) >
                    RT_EPS / 8 * sqrt(fabs(A[p * m + p]) * fabs(A[q * m + q]))) {
                    rotate(m, A, V, p, q);
                    rotated = 1;
                }
    }
    for (int p = 0; p < m; p++)
        eigen[p] = A[p * m + p];
}

/* --- one direction --- */

/* Fills K[m][m] and the diagonal M[m] of a patch, m = N + 3 points of three edges of degree N. */
static void assemble(int N, const double length[3], double *K, double *M)
{
    const int n = N + 1, m = N + 3;
    double z[NEK_MAX_N], w[NEK_MAX_N], D[NEK_MAX_N * NEK_MAX_N];
    nek_gll(n, z, w, D);
    memset(K, 0, (size_t)(m * m) * sizeof *K);
    memset(M, 0, (size_t)m * sizeof *M);
    for (int e = 0; e < 3; e++)
        for (int i = 0; i < n; i++) {
            const int I = (e - 1) * N + i + 1;
            if (I < 0 || I >= m)
                continue;
            M[I] += length[e] / 2 * w[i];
            for (int j = 0; j < n; j++) {
                const int J = (e - 1) * N + j + 1;
                double sum = 0;
                for (int l = 0; l < n; l++)
                    sum += D[l * n + i] * w[l] * D[l * n + j];
                if (J >= 0 && J < m)
                    K[I * m + J] += 2 / length[e] * sum;
            }
        }
}

/* Fills modes S[m][m] (point, mode) of M^-1 K and their eigenvalues. Points that are not unknowns
 * (is_free[m]) have modes of 0. work has 4 m^2. */
static void find_modes(int N, const double length[3], const bool *is_free, double *S, double *eigen,
                       double *work)
{
    const int m = N + 3;
    double *K = work, *C = work + m * m, *V = C + m * m, *M = V + m * m;
    int *at = (int *)(void *)(M + m), count = 0;
    assemble(N, length, K, M);
    for (int i = 0; i < m; i++)
        if (is_free[i])
            at[count++] = i;
    for (int i = 0; i < count; i++)
        for (int j = 0; j < count; j++)
            C[i * count + j] = K[at[i] * m + at[j]] / sqrt(M[at[i]] * M[at[j]]);
    for (int q = 0; q < m * m; q++)
        S[q] = 0;
    for (int i = 0; i < m; i++)
        eigen[i] = 1; /* of modes that are 0 */
    nek_symmetric_eigen(count, C, eigen, V);
    for (int i = 0; i < count; i++)
        for (int j = 0; j < count; j++)
            S[at[i] * m + j] = V[i * count + j] / sqrt(M[at[i]]);
}

/* --- lengths --- */

/* Computes the mean distance between opposite faces of an element. */
static void edges_of(const nek_config_t *config, const int64_t at[3], const double *z,
                     const double *w, double *xyz, double length[3])
{
    const int n = config->n, n3 = n * n * n, stride[3] = {1, n, n * n};
    nek_coordinates(config, at, z, xyz);
    for (int d = 0; d < 3; d++) {
        const int a = stride[(d + 1) % 3], b = stride[(d + 2) % 3], across = (n - 1) * stride[d];
        length[d] = 0;
        for (int i = 0; i < n; i++)
            for (int j = 0; j < n; j++) {
                double square = 0;
                for (int c = 0; c < 3; c++) {
                    const double *x = xyz + c * n3 + i * a + j * b;
                    square += (x[across] - x[0]) * (x[across] - x[0]);
                }
                length[d] += w[i] * w[j] / 4 * sqrt(square);
            }
    }
}

double *nek_edge_lengths(const nek_config_t *config)
{
    const int64_t nx = config->local[0] + 2, ny = config->local[1] + 2, nz = config->local[2] + 2;
    const int64_t count = nx * ny * nz;
    double *lengths = RT_NEW(double, 3 * (size_t)count, RT_HOST), z[NEK_MAX_N], w[NEK_MAX_N],
           D[NEK_MAX_N * NEK_MAX_N];
    nek_gll(config->n, z, w, D);
#pragma omp parallel for schedule(static)
    for (int64_t q = 0; q < count; q++) {
        double xyz[3 * NEK_MAX_N3];
        const int64_t in[3] = {q % nx, q / nx % ny, q / (nx * ny)};
        int64_t at[3];
        for (int d = 0; d < 3; d++) { /* beyond the box: as the element at its boundary */
            at[d] = config->first[d] + in[d] - 1;
            at[d] = at[d] < 0 ? 0 : at[d] >= config->elements[d] ? config->elements[d] - 1 : at[d];
        }
        edges_of(config, at, z, w, xyz, lengths + 3 * q);
    }
    return lengths;
}

/* --- patches --- */

/* Returns how many patches have point g of a chain of E elements of degree N. */
static int patches_with(int64_t g, int64_t E, int N)
{
    int count = 0;
    for (int64_t e = g / N - 2; e <= g / N + 2; e++)
        count += e >= 0 && e < E && e * N - 1 <= g && g <= e * N + N + 1;
    return count;
}

/* Fills S [patch][patch] and eigen of one element in one direction. */
static void fill_patch(const nek_grid_t *grid, int64_t at, int64_t E, const double length[3],
                       double *S, double *eigen)
{
    const int N = grid->degree, P = grid->patch;
    const int64_t first = at * N - 1; /* of the patch */
    bool is_free[NEK_MOST_PATCH];
    double work[5 * NEK_MOST_PATCH * NEK_MOST_PATCH];
    for (int i = 0; i < P; i++)
        is_free[i] = first + i > 0 && first + i < E * N;
    find_modes(N, length, is_free, S, eigen, work);
    for (int i = 0; i < P; i++)
        for (int m = 0; m < P && is_free[i]; m++)
            S[i * P + m] /= sqrt(patches_with(first + i, E, N));
}

/* What the patch of an element depends on along one direction. */
typedef struct {
    double length[3];
    int64_t before, after; /* elements of the box on that side, at most 2 */
} patch_key_t;

static patch_key_t patch_key(const nek_config_t *config, int d, int64_t at, const double *length,
                             int64_t step)
{
    const int64_t after = config->elements[d] - 1 - at;
    return (patch_key_t){.length = {length[-step], length[0], length[step]},
                         .before = at < 2 ? at : 2,
                         .after = after < 2 ? after : 2};
}

void nek_fill_patches(const nek_config_t *config, const double *lengths, nek_level_t *level)
{
    const nek_grid_t *grid = &level->grid;
    const int P = grid->patch, P2 = P * P;
    const int64_t nx = config->local[0] + 2, ny = config->local[1] + 2, step[3] = {1, nx, nx * ny};
    const double density = config->lambda * pow((double)config->degree, 3);
    const size_t elements = (size_t)config->local_elements;
    level->S = RT_NEW(double, elements * 3 * (size_t)P2, RT_HOST);
    level->eigen = RT_NEW(double, elements * 3 * (size_t)P, RT_HOST);
#pragma omp parallel
    {
        patch_key_t last[3]; /* of the element before: in a straight box the same */
        double unshifted[3][NEK_MOST_PATCH];
        memset(last, 0, sizeof last);
#pragma omp for schedule(static)
        for (int64_t e = 0; e < config->local_elements; e++) {
            int64_t at[3], in = 0;
            double *S = level->S + e * 3 * P2, *eigen = level->eigen + e * 3 * P, volume = 1;
            nek_element_position(config, e, at);
            for (int d = 0; d < 3; d++)
                in += (at[d] - config->first[d] + 1) * step[d];
            for (int d = 0; d < 3; d++) {
                const patch_key_t key =
                    patch_key(config, d, at[d], lengths + 3 * in + d, 3 * step[d]);
                volume *= key.length[1];
                if (memcmp(&key, &last[d], sizeof key) == 0)
                    memcpy(S + d * P2, S + (d - 3) * P2, (size_t)P2 * sizeof *S);
                else
                    fill_patch(grid, at[d], config->elements[d], key.length, S + d * P2,
                               unshifted[d]);
                memcpy(eigen + d * P, unshifted[d], (size_t)P * sizeof *eigen);
                last[d] = key;
            }
            for (int m = 0; m < P; m++)
                eigen[m] += density / volume;
        }
    }
}
