/*
 * jammed.c - all loops of one element written out for a fixed n.
 *
 * Idea: the loops of Listing 1 reordered so that i, the fastest index, is innermost and
 * independent, in one function that is compiled once for each n = 2 .. 24. The compiler then knows
 * every trip count: it unrolls, keeps a line of n sums in vector registers and drops the remainder
 * code. The k-derivative of the whole element is a product [n x n] [n x n^2] whose rows are n^2
 * long. Advantage: no strided access, no sum across a vector, every loaded value used n times from
 * L1. Price: the code of 23 element sizes in the binary; an n that is no multiple of the vector
 * length wastes lanes at the end of each line.
 */
#include "config.h"
#include "../nekbone.h"

#define INLINE static inline __attribute__((always_inline))

/* out[j][i] (+)= sum_l M[l][i] in[j][l] for `rows` lines j: derivative along i. A line of `out`
 * stays in registers while the values of a line of `in` are broadcast. */
INLINE void along_i(const int n, const int rows, const double *restrict M,
                    const double *restrict in, double *restrict out, const int add)
{
    for (int j = 0; j < rows; j++) {
        double line[NEK_MAX_N];
        for (int i = 0; i < n; i++)
            line[i] = add ? out[j * n + i] : 0;
        for (int l = 0; l < n; l++)
            for (int i = 0; i < n; i++)
                line[i] += M[l * n + i] * in[j * n + l];
        for (int i = 0; i < n; i++)
            out[j * n + i] = line[i];
    }
}

/* out[j][i] (+)= sum_l M[j][l] in[l][i], lines of `length`: derivative along j or k. */
INLINE void along_rows(const int n, const int length, const double *restrict M,
                       const double *restrict in, double *restrict out, const int add)
{
    for (int j = 0; j < n; j++) {
        for (int i = 0; i < length; i++) {
            double sum = add ? out[j * length + i] : 0;
            for (int l = 0; l < n; l++)
                sum += M[j * n + l] * in[l * length + i];
            out[j * length + i] = sum;
        }
    }
}

INLINE void element(const int n, const double *restrict D, const double *restrict Dt,
                    const double *restrict G, const double *restrict u, double *restrict w)
{
    const int n2 = n * n, n3 = n2 * n;
    double ut[NEK_MAX_N3] __attribute__((aligned(64)));

    along_rows(n, n2, D, u, ut, 0);
    for (int k = 0; k < n; k++) { /* ur and us of one layer never leave L1 */
        double ur[NEK_MAX_N * NEK_MAX_N] __attribute__((aligned(64)));
        double us[NEK_MAX_N * NEK_MAX_N] __attribute__((aligned(64)));
        const double *restrict g = G + k * n2;
        double *restrict utk = ut + k * n2;
        along_i(n, n, Dt, u + k * n2, ur, 0);
        along_rows(n, n, D, u + k * n2, us, 0);
        for (int q = 0; q < n2; q++) {
            double wr = ur[q], ws = us[q], wt = utk[q];
            ur[q] = g[q] * wr + g[n3 + q] * ws + g[2 * n3 + q] * wt;
            us[q] = g[n3 + q] * wr + g[3 * n3 + q] * ws + g[4 * n3 + q] * wt;
            utk[q] = g[2 * n3 + q] * wr + g[4 * n3 + q] * ws + g[5 * n3 + q] * wt;
        }
        along_rows(n, n, Dt, us, w + k * n2, 0);
        along_i(n, n, D, ur, w + k * n2, 1);
    }
    along_rows(n, n2, Dt, ut, w, 1);
}

/* One function for each n: the constant reaches every loop bound above. */
/* clang-format off */
#define FOR_EACH_N(X) \
    X(2) X(3) X(4) X(5) X(6) X(7) X(8) X(9) X(10) X(11) X(12) X(13) X(14) X(15) X(16) X(17) X(18) \
    X(19) X(20) X(21) X(22) X(23) X(24)
/* clang-format on */

typedef void element_fn(const double *D, const double *Dt, const double *G, const double *u,
                        double *w);

#define DEFINE(N)                                                                                \
    static void element_##N(const double *D, const double *Dt, const double *G, const double *u, \
                            double *w)                                                           \
    {                                                                                            \
        element(N, D, Dt, G, u, w);                                                              \
    }
FOR_EACH_N(DEFINE)

#define ENTRY(N) [N] = element_##N,
static element_fn *const element_of[NEK_MAX_N + 1] = {FOR_EACH_N(ENTRY)};

/* The loop over elements calls through a pointer on purpose: inside an OpenMP region the compiler
 * would pass n in memory, and it would be no constant any more. */
static void jammed_ax(const nek_mesh_t *m, const double *u, double *w)
{
    const int n = m->n, n3 = n * n * n;
    element_fn *element_n = element_of[n];
    double Dt[NEK_MAX_N * NEK_MAX_N];
    for (int i = 0; i < n; i++)
        for (int l = 0; l < n; l++)
            Dt[l * n + i] = m->D[i * n + l];
#pragma omp parallel for schedule(static)
    for (int64_t e = 0; e < m->elements; e++)
        element_n(m->D, Dt, m->G + e * 6 * n3, u + e * n3, w + e * n3);
}

const nek_kernels_t nek_jammed = {.ax = jammed_ax, .vector = &nek_vector_cpu};
