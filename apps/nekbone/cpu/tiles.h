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
 * GLL points are symmetric, so D(n-1-i, n-1-l) = -D(i, l). The sums u(l) + u(n-1-l) give what is odd
 * in the derivative, the differences what is even: two products of half the size, along j and k.
 * Along i half a line would not fill a vector, and its mirror image would have to be permuted.
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
enum { NEK_TILE_ROWS = 12, NEK_HALF_ROWS = NEK_TILE_ROWS / 2 };

/* Vectors that may start at any double of an array. */
typedef double nek_v2_t __attribute__((vector_size(16), aligned(8), may_alias));
typedef double nek_v4_t __attribute__((vector_size(32), aligned(8), may_alias));
typedef double nek_v8_t __attribute__((vector_size(64), aligned(8), may_alias));

/* A product A B with n products per value, from row `from` on; if odd is not NULL, of D and B by
 * halves, and A is the even one. */
typedef struct {
    const double *A, *odd, *B;
    int n, from;
} nek_pair_t;

/* Sets M [n][n] or its transpose by halves: even [n/2][(n+1)/2] = (M(i, l) + M(i, n-1-l)) / 2, odd
 * [(n+1)/2][n/2] with a minus. The middle of an odd n belongs to the even half of a line. */
static inline void nek_halve(int n, const double *M, int transposed, double *even, double *odd)
{
    const int half = n / 2, most = (n + 1) / 2, row = transposed ? 1 : n,
              column = transposed ? n : 1;
    for (int i = 0; i < most; i++)
        for (int l = 0; l < most; l++) {
            const double a = M[i * row + l * column], b = M[i * row + (n - 1 - l) * column];
            if (i < half)
                even[i * most + l] = (a + b) / 2;
            if (l < half)
                odd[i * half + l] = (a - b) / 2;
        }
}

/* Computes C = D B by halves, plus S if add, for one vector of some rows of the first half, and of
 * their mirror images. B, S and C have the same number of columns. */
/* clang-format off */
#define NEK_HALVES(name, vector_t)                                                                 \
    NEK_INLINE void name(const int rows, const int columns, const nek_pair_t p, const int column,  \
                         const int add, const double *S, double *C)                                \
    {                                                                                              \
        const int half = p.n / 2, most = (p.n + 1) / 2;                                            \
        const double *const B = p.B + column;                                                      \
        vector_t even[NEK_HALF_ROWS], odd[NEK_HALF_ROWS];                                          \
        NEK_TILE_UNROLL(6)                                                                         \
        for (int r = 0; r < rows; r++) {                                                           \
            odd[r] = even[r] = (vector_t){0};                                                      \
            if (p.n % 2 && p.from + r < half)                                                      \
                even[r] = p.A[(p.from + r) * most + half] *                                        \
                          *(const vector_t *)(B + half * columns);                                 \
        }                                                                                          \
        NEK_TILE_UNROLL(2)                                                                         \
        for (int l = 0; l < half; l++) {                                                           \
            const vector_t a = *(const vector_t *)(B + l * columns);                               \
            const vector_t b = *(const vector_t *)(B + (p.n - 1 - l) * columns);                   \
            const vector_t sum = a + b, difference = a - b;                                        \
            NEK_TILE_UNROLL(6)                                                                     \
            for (int r = 0; r < rows; r++) {                                                       \
                if (p.from + r < half)                                                             \
                    even[r] += p.A[(p.from + r) * most + l] * sum;                                 \
                odd[r] += p.odd[(p.from + r) * half + l] * difference;                             \
            }                                                                                      \
        }                                                                                          \
        NEK_TILE_UNROLL(6)                                                                         \
        for (int r = 0; r < rows; r++) {                                                           \
            const int low = (p.from + r) * columns + column;                                       \
            const int high = (p.n - 1 - p.from - r) * columns + column;                            \
            vector_t at_low = odd[r] + even[r], at_high = odd[r] - even[r];                        \
            if (add) {                                                                             \
                at_low += *(const vector_t *)(S + low);                                            \
                at_high += *(const vector_t *)(S + high);                                          \
            }                                                                                      \
            *(vector_t *)(C + low) = at_low;                                                       \
            if (p.from + r < half)                                                                 \
                *(vector_t *)(C + high) = at_high;                                                 \
        }                                                                                          \
    }

/* Computes C = A B, plus S if add, for one vector of some rows. */
#define NEK_TILE(name, vector_t)                                                                   \
    NEK_HALVES(name##_halves, vector_t)                                                            \
    NEK_INLINE void name(const int rows, const int columns, const nek_pair_t p, const int column,  \
                         const int add, const double *S, double *C)                                \
    {                                                                                              \
        vector_t sum[NEK_TILE_ROWS];                                                               \
        if (p.odd) {                                                                               \
            name##_halves(rows, columns, p, column, add, S, C);                                    \
            return;                                                                                \
        }                                                                                          \
        NEK_TILE_UNROLL(12)                                                                        \
        for (int r = 0; r < rows; r++)                                                             \
            sum[r] = add ? *(const vector_t *)(S + (p.from + r) * columns + column)                \
                         : (vector_t){0};                                                          \
        NEK_TILE_UNROLL(2)                                                                         \
        for (int l = 0; l < p.n; l++) {                                                            \
            vector_t b = *(const vector_t *)(p.B + l * columns + column);                          \
            NEK_TILE_UNROLL(12)                                                                    \
            for (int r = 0; r < rows; r++)                                                         \
                sum[r] += p.A[(p.from + r) * p.n + l] * b;                                         \
        }                                                                                          \
        NEK_TILE_UNROLL(12)                                                                        \
        for (int r = 0; r < rows; r++)                                                             \
            *(vector_t *)(C + (p.from + r) * columns + column) = sum[r];                           \
    }
/* clang-format on */
typedef double nek_v1_t;
NEK_TILE(nek_tile_1, nek_v1_t)
NEK_TILE(nek_tile_2, nek_v2_t)
NEK_TILE(nek_tile_4, nek_v4_t)
NEK_TILE(nek_tile_8, nek_v8_t)

/* Computes a row of tiles: all columns of a few rows. Unless C is added, the last columns are
 * computed by a vector that ends with the row: the values that it computes a second time are the
 * same. */
NEK_INLINE void nek_tile_row(const int rows, const int columns, const nek_pair_t p, const int add,
                             const double *S, double *C)
{
    int c = 0;
#if defined(__AVX512F__)
    for (; c + 8 <= columns; c += 8)
        nek_tile_8(rows, columns, p, c, add, S, C);
    if (!(add && S == C) && columns - c > 4 && columns >= 8) {
        nek_tile_8(rows, columns, p, columns - 8, add, S, C);
        return;
    }
#endif
#if defined(__AVX__)
    for (; c + 4 <= columns; c += 4)
        nek_tile_4(rows, columns, p, c, add, S, C);
    if (!(add && S == C) && columns - c > 2 && columns >= 4) {
        nek_tile_4(rows, columns, p, columns - 4, add, S, C);
        return;
    }
#endif
    for (; c + 2 <= columns; c += 2)
        nek_tile_2(rows, columns, p, c, add, S, C);
    if (c < columns)
        nek_tile_1(rows, columns, p, c, add, S, C);
}

/* Computes all rows, by equal tiles of `limit` at most, as few as possible. */
NEK_INLINE void nek_tile_rows(const int rows, const int limit, const int columns, nek_pair_t p,
                              const int add, const double *S, double *C)
{
    const int tiles = (rows + limit - 1) / limit, most = (rows + tiles - 1) / tiles;
    for (; p.from + most <= rows; p.from += most)
        nek_tile_row(most, columns, p, add, S, C);
    if (rows % most)
        nek_tile_row(rows % most, columns, p, add, S, C);
}

/* Computes C[rows][columns] (+)= A[rows][n] B[n][columns]; C does not overlap the others. */
NEK_INLINE void nek_tiles(const int rows, const int columns, const int n, const double *A,
                          const double *B, double *C, const int add)
{
    const nek_pair_t p = {A, NULL, B, n, 0};
    nek_tile_rows(rows, NEK_TILE_ROWS, columns, p, add, C, C);
}

/* D, its transpose, and both by halves. */
typedef struct {
    double D[NEK_MAX_N * NEK_MAX_N], Dt[NEK_MAX_N * NEK_MAX_N];
    double even[2][NEK_MAX_N * NEK_MAX_N / 4], odd[2][NEK_MAX_N * NEK_MAX_N / 4];
} nek_tiles_t;

/* Computes C[n][columns] = D B[n][columns], or D^T B; add: plus S, which may be C. */
NEK_INLINE void nek_tiles_halves(const int n, const int columns, const nek_tiles_t *m,
                                 const int transposed, const double *B, const int add,
                                 const double *S, double *C)
{
    const nek_pair_t p = {m->even[transposed], m->odd[transposed], B, n, 0};
    nek_tile_rows((n + 1) / 2, NEK_HALF_ROWS, columns, p, add, S, C);
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

/* Computes w = D^T G D u of one element. ahead: what to prefetch; may be NULL. */
NEK_INLINE void nek_tiles_element(const int n, const nek_tiles_t *m, const double *__restrict__ G,
                                  const double *__restrict__ u, double *__restrict__ w,
                                  const nek_ahead_t *ahead)
{
    const int n2 = n * n, n3 = n2 * n;
    double ut[NEK_MAX_N3] __attribute__((aligned(64)));
    nek_tiles_halves(n, n2, m, 0, u, 0, ut, ut);
    for (int k = 0; k < n; k++) { /* ur and us of one layer never leave L1 */
        double ur[NEK_MAX_N * NEK_MAX_N] __attribute__((aligned(64)));
        double us[NEK_MAX_N * NEK_MAX_N] __attribute__((aligned(64)));
        double own[NEK_MAX_N * NEK_MAX_N] __attribute__((aligned(64)));
        double *const wr = n % 2 ? own : w + k * n2; /* apart, so that vectors may overlap */
        if (ahead)
            nek_prefetch_layer(n, ahead, k);
        nek_tiles(n, n, n, u + k * n2, m->Dt, ur, 0);
        nek_tiles_halves(n, n, m, 0, u + k * n2, 0, us, us);
        nek_apply_factors(n2, n3, G + k * n2, ur, us, ut + k * n2);
        nek_tiles(n, n, n, ur, m->D, wr, 0);
        nek_tiles_halves(n, n, m, 1, us, 1, wr, w + k * n2);
    }
    nek_tiles_halves(n, n2, m, 1, ut, 1, w, w);
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

static inline void nek_tiles_set(int n, const double *D, nek_tiles_t *m)
{
    for (int q = 0; q < n * n; q++)
        m->D[q] = D[q];
    nek_transpose(n, D, m->Dt);
    for (int t = 0; t < 2; t++)
        nek_halve(n, D, t, m->even[t], m->odd[t]);
}

#endif
