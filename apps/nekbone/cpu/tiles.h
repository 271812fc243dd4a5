/*
 * tiles.h - matrix products in tiles of a few rows, and the operator of one element built from
 * them.
 *
 * Idea: a tile of C is a few rows of one vector each and stays in registers for the whole sum. For
 * each l one vector of B is loaded and multiplied by A[r][l], broadcast from memory, for all rows
 * r. So a multiply-add costs a short load instead of a vector load, and the rows provide enough
 * independent sums to hide the latency. With a loop over plain doubles the compiler has to find
 * this form, and it finds it only for some n and directions: the operator of an element with n = 10
 * reaches 75 % of the peak of a Zen 4 core with tiles, and 50 % with the same loops without them.
 * The vectors are the compiler's extension (GCC, clang), so the code is the same for any
 * instruction set. The rest of a row whose length is not a multiple of a vector uses shorter
 * vectors. Price: n, rows and strides must be constants, so each n has its own code.
 *
 * Everything is inline. NEK_FOR_EACH_N makes a function for each n = 2 .. 24.
 */
#ifndef NEK_TILES_H
#define NEK_TILES_H

#include "../kernel.h"

#define NEK_INLINE       static inline __attribute__((always_inline))
#define NEK_PRAGMA(text) _Pragma(#text)
#if defined(__CUDA_ARCH__) || defined(__HIP_DEVICE_COMPILE__) || defined(_OPENACC)
#define NEK_SIMD(sums)
#else
#define NEK_SIMD(sums) NEK_PRAGMA(omp simd sums)
#endif
#if defined(__CUDACC__)
#define NEK_TILE_UNROLL(n) /* a build for GPUs reads this file, and uses none of it */
#else
#define NEK_TILE_UNROLL(n) NEK_PRAGMA(GCC unroll n)
#endif

/* clang-format off */
#ifndef NEK_FOR_EACH_N /* mutants compile fewer */
#define NEK_FOR_EACH_N(X) \
    X(2) X(3) X(4) X(5) X(6) X(7) X(8) X(9) X(10) X(11) X(12) X(13) X(14) X(15) X(16) X(17) X(18) \
    X(19) X(20) X(21) X(22) X(23) X(24)
#endif
/* clang-format on */

/* The most rows per tile: these, the vector of B and a broadcast value fit into the 16 registers of
 * AVX2. */
enum { NEK_TILE_ROWS = 12 };

/* Vectors that may start at any double of an array. */
typedef double nek_v2_t __attribute__((vector_size(16), aligned(8), may_alias));
typedef double nek_v4_t __attribute__((vector_size(32), aligned(8), may_alias));
typedef double nek_v8_t __attribute__((vector_size(64), aligned(8), may_alias));

/* One product in a sum of two: A B with n products per value; lda and ldb are the distances between
 * rows, in doubles. */
typedef struct {
    const double *A, *B;
    int n, lda, ldb;
} nek_pair_t;

/* Computes C[r] (+)= sum_l A[r][l] B[l] over both pairs, for one vector of each row. */
/* clang-format off */
#define NEK_TILE(name, vector_t)                                                                   \
    NEK_INLINE void name(const int rows, const nek_pair_t p, const nek_pair_t q, const int column, \
                         double *C, const int ldc, const int add)                                  \
    {                                                                                              \
        vector_t sum[NEK_TILE_ROWS];                                                               \
        NEK_TILE_UNROLL(12)                                                                        \
        for (int r = 0; r < rows; r++)                                                             \
            sum[r] = add ? *(const vector_t *)(C + r * ldc + column) : (vector_t){0};              \
        NEK_TILE_UNROLL(2)                                                                         \
        for (int l = 0; l < p.n; l++) {                                                            \
            vector_t b = *(const vector_t *)(p.B + l * p.ldb + column);                            \
            NEK_TILE_UNROLL(12)                                                                    \
            for (int r = 0; r < rows; r++)                                                         \
                sum[r] += p.A[r * p.lda + l] * b;                                                  \
        }                                                                                          \
        NEK_TILE_UNROLL(2)                                                                         \
        for (int l = 0; l < q.n; l++) {                                                            \
            vector_t b = *(const vector_t *)(q.B + l * q.ldb + column);                            \
            NEK_TILE_UNROLL(12)                                                                    \
            for (int r = 0; r < rows; r++)                                                         \
                sum[r] += q.A[r * q.lda + l] * b;                                                  \
        }                                                                                          \
        NEK_TILE_UNROLL(12)                                                                        \
        for (int r = 0; r < rows; r++)                                                             \
            *(vector_t *)(C + r * ldc + column) = sum[r];                                          \
    }
/* clang-format on */
typedef double nek_v1_t;
NEK_TILE(nek_tile_1, nek_v1_t)
NEK_TILE(nek_tile_2, nek_v2_t)
NEK_TILE(nek_tile_4, nek_v4_t)
NEK_TILE(nek_tile_8, nek_v8_t)
#undef NEK_TILE

/* Computes a row of tiles: all columns of a few rows. Unless C is added, the last columns are
 * computed by a vector that ends with the row: the values that it computes a second time are the
 * same. */
NEK_INLINE void nek_tile_row(const int rows, const int columns, const nek_pair_t p,
                             const nek_pair_t q, double *C, const int ldc, const int add)
{
    int c = 0;
#if defined(__AVX512F__)
    for (; c + 8 <= columns; c += 8)
        nek_tile_8(rows, p, q, c, C, ldc, add);
    if (!add && columns - c > 4 && columns >= 8) {
        nek_tile_8(rows, p, q, columns - 8, C, ldc, add);
        return;
    }
#endif
#if defined(__AVX__)
    for (; c + 4 <= columns; c += 4)
        nek_tile_4(rows, p, q, c, C, ldc, add);
    if (!add && columns - c > 2 && columns >= 4) {
        nek_tile_4(rows, p, q, columns - 4, C, ldc, add);
        return;
    }
#endif
    for (; c + 2 <= columns; c += 2)
        nek_tile_2(rows, p, q, c, C, ldc, add);
    if (c < columns)
        nek_tile_1(rows, p, q, c, C, ldc, add);
}

/* Computes C[rows][columns] (+)= A B of p + A B of q; C does not overlap the others. */
NEK_INLINE void nek_tiles_2(const int rows, const int columns, nek_pair_t p, nek_pair_t q,
                            double *C, const int ldc, const int add)
{
    /* equal tiles, as few as possible: one or two for n rows */
    const int tiles = (rows + NEK_TILE_ROWS - 1) / NEK_TILE_ROWS, most = (rows + tiles - 1) / tiles;
    int r = 0;
    for (; r + most <= rows; r += most) {
        nek_tile_row(most, columns, p, q, C + r * ldc, ldc, add);
        p.A += most * p.lda;
        q.A += most * q.lda;
    }
    if (rows % most)
        nek_tile_row(rows % most, columns, p, q, C + r * ldc, ldc, add);
}

/* Computes C[rows][columns] (+)= A[rows][n] B[n][columns], all dense. */
NEK_INLINE void nek_tiles(const int rows, const int columns, const int n, const double *A,
                          const double *B, double *C, const int add)
{
    const nek_pair_t p = {A, B, n, n, columns}, none = {A, B, 0, 0, 0};
    nek_tiles_2(rows, columns, p, none, C, columns, add);
}

/* What the next element will read: factors [6][n^3] and three vectors [n^3]. */
typedef struct {
    const double *G, *vector[3];
} nek_ahead_t;

/* Prefetches layer k of that into L2, while the products keep the processor busy and the memory is
 * idle. */
NEK_INLINE void nek_prefetch_layer(const int n, const nek_ahead_t *ahead, const int k)
{
    const int n2 = n * n, n3 = n2 * n;
    for (int q = k * n2; q < (k + 1) * n2; q += 64 / (int)sizeof(double)) {
        for (int m = 0; m < 6; m++)
            __builtin_prefetch(ahead->G + m * n3 + q, 0, 2);
        for (int m = 0; m < 3; m++)
            __builtin_prefetch(ahead->vector[m] + q, 0, 2);
    }
}

/* Applies the geometric factors at `points` points, between the two halves of Listing 1: (ur, us, ut)
 * = G (ur, us, ut). The six factors are `apart` values from each other. */
NEK_INLINE void nek_apply_factors(const int points, const int apart, const double *__restrict__ G,
                                  double *__restrict__ ur, double *__restrict__ us,
                                  double *__restrict__ ut)
{
    NEK_SIMD()
    for (int q = 0; q < points; q++) {
        const double wr = ur[q], ws = us[q], wt = ut[q];
        ur[q] = G[q] * wr + G[apart + q] * ws + G[2 * apart + q] * wt;
        us[q] = G[apart + q] * wr + G[3 * apart + q] * ws + G[4 * apart + q] * wt;
        ut[q] = G[2 * apart + q] * wr + G[4 * apart + q] * ws + G[5 * apart + q] * wt;
    }
}

/* Computes w = D^T G D u of one element. Dt is D transposed. ahead: what to prefetch; may be NULL.
 */
NEK_INLINE void nek_tiles_element(const int n, const double *__restrict__ D,
                                  const double *__restrict__ Dt, const double *__restrict__ G,
                                  const double *__restrict__ u, double *__restrict__ w,
                                  const nek_ahead_t *ahead)
{
    const int n2 = n * n, n3 = n2 * n;
    double ut[NEK_MAX_N3] __attribute__((aligned(64)));
    nek_tiles(n, n2, n, D, u, ut, 0);
    for (int k = 0; k < n; k++) { /* ur and us of one layer never leave L1 */
        double ur[NEK_MAX_N * NEK_MAX_N] __attribute__((aligned(64)));
        double us[NEK_MAX_N * NEK_MAX_N] __attribute__((aligned(64)));
        if (ahead)
            nek_prefetch_layer(n, ahead, k);
        nek_tiles(n, n, n, u + k * n2, Dt, ur, 0);
        nek_tiles(n, n, n, D, u + k * n2, us, 0);
        nek_apply_factors(n2, n3, G + k * n2, ur, us, ut + k * n2);
        const nek_pair_t along_i = {ur, D, n, n, n}, along_j = {Dt, us, n, n, n};
        nek_tiles_2(n, n, along_i, along_j, w + k * n2, n, 0);
    }
    nek_tiles(n, n2, n, Dt, ut, w, 1);
}

#ifdef __cplusplus
extern "C"
#endif
    /* Computes w_e = D^T G D u_e for every element with nek_tiles_element. */
    void
    nek_tiles_ax(const nek_view_t *view, const double *u, double *w);

/* Sets Dt[l][i] = D[i][l]. */
static inline void nek_transpose(int n, const double *D, double *Dt)
{
    for (int i = 0; i < n; i++)
        for (int l = 0; l < n; l++)
            Dt[l * n + i] = D[i * n + l];
}

#endif
