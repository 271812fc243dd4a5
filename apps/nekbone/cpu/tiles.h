/*
 * tiles.h - matrix products of a few rows, and the operator of one element made of them.
 *
 * Idea: a tile of C is a few rows of one vector each, and stays in registers for the whole sum: for
 * each l one vector of B is loaded and multiplied with A[r][l], broadcast from memory, for all rows
 * r. So a multiply-add costs a short load and not a vector load, and the rows are as many
 * independent sums as it takes to hide the latency. A loop over plain doubles leaves the compiler
 * to find this form, and it finds it for some n and directions only: the operator of an element of
 * n = 10 reaches 75 % of the peak of a Zen 4 core with tiles, 50 % with the same loops without.
 * Vectors are the compiler's own (GCC, clang), so the code is the same for any instruction set;
 * what is left of a row that is no multiple of a vector is done with shorter ones.
 * Price: n, rows and strides must be constants, so each n has its own code.
 *
 * Everything is inline: a function for each n = 2 .. 24 is made by NEK_FOR_EACH_N.
 */
#ifndef NEK_TILES_H
#define NEK_TILES_H

#include "../kernel.h"

#define NEK_INLINE static inline __attribute__((always_inline))

/* clang-format off */
#define NEK_FOR_EACH_N(X) \
    X(2) X(3) X(4) X(5) X(6) X(7) X(8) X(9) X(10) X(11) X(12) X(13) X(14) X(15) X(16) X(17) X(18) \
    X(19) X(20) X(21) X(22) X(23) X(24)
/* clang-format on */

/* Rows of a tile, at most: with these, the vector of B and a broadcast value all fit into the 16
 * registers of AVX2. */
enum { NEK_TILE_ROWS = 12 };

/* Anywhere in an array of doubles. */
typedef double nek_v2_t __attribute__((vector_size(16), aligned(8), may_alias));
typedef double nek_v4_t __attribute__((vector_size(32), aligned(8), may_alias));
typedef double nek_v8_t __attribute__((vector_size(64), aligned(8), may_alias));

/* A factor of a sum of products: rows A and B with the doubles from one row to the next; n products
 * of each. */
typedef struct {
    const double *A, *B;
    int n, lda, ldb;
} nek_pair_t;

/* C[r] (+)= sum_l A[r][l] B[l] over both pairs, for one vector of each row. */
#define NEK_TILE(name, vector_t)                                                                   \
    NEK_INLINE void name(const int rows, const nek_pair_t p, const nek_pair_t q, const int column, \
                         double *C, const int ldc, const int add)                                  \
    {                                                                                              \
        vector_t sum[NEK_TILE_ROWS];                                                               \
        _Pragma("GCC unroll 12") for (int r = 0; r < rows; r++) sum[r] =                           \
            add ? *(const vector_t *)(C + r * ldc + column) : (vector_t){0};                       \
        _Pragma("GCC unroll 2") for (int l = 0; l < p.n; l++)                                      \
        {                                                                                          \
            vector_t b = *(const vector_t *)(p.B + l * p.ldb + column);                            \
            _Pragma("GCC unroll 12") for (int r = 0; r < rows; r++) sum[r] +=                      \
                p.A[r * p.lda + l] * b;                                                            \
        }                                                                                          \
        _Pragma("GCC unroll 2") for (int l = 0; l < q.n; l++)                                      \
        {                                                                                          \
            vector_t b = *(const vector_t *)(q.B + l * q.ldb + column);                            \
            _Pragma("GCC unroll 12") for (int r = 0; r < rows; r++) sum[r] +=                      \
                q.A[r * q.lda + l] * b;                                                            \
        }                                                                                          \
        _Pragma("GCC unroll 12") for (int r = 0; r < rows; r++) *                                  \
            (vector_t *)(C + r * ldc + column) = sum[r];                                           \
    }
typedef double nek_v1_t;
NEK_TILE(nek_tile_1, nek_v1_t)
NEK_TILE(nek_tile_2, nek_v2_t)
NEK_TILE(nek_tile_4, nek_v4_t)
NEK_TILE(nek_tile_8, nek_v8_t)
#undef NEK_TILE

/* A row of tiles: all columns of a few rows. Where nothing is added, columns that are left over are
 * done by a vector that ends with the row: what it does a second time comes out the same. */
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

/* C[rows][columns] (+)= A B of p + A B of q; C does not overlap the others. */
NEK_INLINE void nek_tiles_2(const int rows, const int columns, nek_pair_t p, nek_pair_t q,
                            double *C, const int ldc, const int add)
{
    /* equal tiles, as few as possible: n rows are one or two */
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

/* C[rows][columns] (+)= A[rows][n] B[n][columns], all dense. */
NEK_INLINE void nek_tiles(const int rows, const int columns, const int n, const double *A,
                          const double *B, double *C, const int add)
{
    const nek_pair_t p = {A, B, n, n, columns}, none = {A, B, 0, 0, 0};
    nek_tiles_2(rows, columns, p, none, C, columns, add);
}

/* What the element after this one will read: factors [6][n^3] and three vectors [n^3]. */
typedef struct {
    const double *G, *vector[3];
} nek_ahead_t;

/* Layer k of that into L2, while the products keep the processor busy and the memory idle. */
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

/* w = D^T G D u of one element. Dt is D transposed. ahead: NULL for none. */
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
        const double *__restrict__ g = G + k * n2;
        double *__restrict__ utk = ut + k * n2;
        if (ahead)
            nek_prefetch_layer(n, ahead, k);
        nek_tiles(n, n, n, u + k * n2, Dt, ur, 0);
        nek_tiles(n, n, n, D, u + k * n2, us, 0);
#pragma omp simd
        for (int q = 0; q < n2; q++) {
            double wr = ur[q], ws = us[q], wt = utk[q];
            ur[q] = g[q] * wr + g[n3 + q] * ws + g[2 * n3 + q] * wt;
            us[q] = g[n3 + q] * wr + g[3 * n3 + q] * ws + g[4 * n3 + q] * wt;
            utk[q] = g[2 * n3 + q] * wr + g[4 * n3 + q] * ws + g[5 * n3 + q] * wt;
        }
        const nek_pair_t along_i = {ur, D, n, n, n}, along_j = {Dt, us, n, n, n};
        nek_tiles_2(n, n, along_i, along_j, w + k * n2, n, 0);
    }
    nek_tiles(n, n2, n, Dt, ut, w, 1);
}

/* w_e = D^T G D u_e for every element, by the above. */
void nek_tiles_ax(const nek_view_t *view, const double *u, double *w);

/* Dt[l][i] = D[i][l] */
static inline void nek_transpose(int n, const double *D, double *Dt)
{
    for (int i = 0; i < n; i++)
        for (int l = 0; l < n; l++)
            Dt[l * n + i] = D[i * n + l];
}

#endif
