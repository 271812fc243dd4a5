/*
 * small_fixed.c - the small products with n known at compile time, 2 .. 24.
 *
 * These are the loops of small.c, but the compiler knows every trip count. `rows-n` keeps a row of
 * C in registers while it adds rows of B. `sums-n` has the sum over l innermost and unrolled, and
 * vectors across the columns, which suits long rows. `tiles-n` states which values stay in
 * registers instead of hoping for it (tiles.h). Price: separate code for each n and case, with and
 * without C added.
 */
#include "config.h"
#include "small.h"
#include "tiles.h"

NEK_INLINE void rows_fixed(const int rows, const int columns, const int n, const double *restrict A,
                           const double *restrict B, double *restrict C, const int add)
{
    for (int r = 0; r < rows; r++) {
        double row[NEK_MAX_N * NEK_MAX_N];
        for (int c = 0; c < columns; c++)
            row[c] = add ? C[r * columns + c] : 0;
        for (int l = 0; l < n; l++)
            for (int c = 0; c < columns; c++)
                row[c] += A[r * n + l] * B[l * columns + c];
        for (int c = 0; c < columns; c++)
            C[r * columns + c] = row[c];
    }
}

NEK_INLINE void sums_fixed(const int rows, const int columns, const int n, const double *restrict A,
                           const double *restrict B, double *restrict C, const int add)
{
    for (int r = 0; r < rows; r++)
#pragma omp simd
        for (int c = 0; c < columns; c++) {
            double sum = add ? C[r * columns + c] : 0;
            for (int l = 0; l < n; l++)
                sum += A[r * n + l] * B[l * columns + c];
            C[r * columns + c] = sum;
        }
}

#define DEFINE(body, which, N, rows, columns, add)                                    \
    static void body##_##which##_##add##_##N(const nek_product_t *p, const double *A, \
                                             const double *B, double *C)              \
    {                                                                                 \
        (void)p;                                                                      \
        body(rows, columns, N, A, B, C, add);                                         \
    }
#define DEFINE_CASES(body, N)         \
    DEFINE(body, tall, N, N *N, N, 0) \
    DEFINE(body, tall, N, N *N, N, 1) \
    DEFINE(body, square, N, N, N, 0)  \
    DEFINE(body, square, N, N, N, 1)  \
    DEFINE(body, long, N, N, N *N, 0) \
    DEFINE(body, long, N, N, N *N, 1)
#define DEFINE_ROWS(N)  DEFINE_CASES(rows_fixed, N)
#define DEFINE_SUMS(N)  DEFINE_CASES(sums_fixed, N)
#define DEFINE_TILES(N) DEFINE_CASES(nek_tiles, N)
NEK_FOR_EACH_N(DEFINE_ROWS)
NEK_FOR_EACH_N(DEFINE_SUMS)
NEK_FOR_EACH_N(DEFINE_TILES)

#define ENTRY(body, N)                                 \
    [N] = {{body##_tall_0_##N, body##_tall_1_##N},     \
           {body##_square_0_##N, body##_square_1_##N}, \
           {body##_long_0_##N, body##_long_1_##N}},
#define ENTRY_ROWS(N)  ENTRY(rows_fixed, N)
#define ENTRY_SUMS(N)  ENTRY(sums_fixed, N)
#define ENTRY_TILES(N) ENTRY(nek_tiles, N)
static nek_product_fn *const rows_of[NEK_MAX_N + 1][NEK_CASES][2] = {NEK_FOR_EACH_N(ENTRY_ROWS)};
static nek_product_fn *const sums_of[NEK_MAX_N + 1][NEK_CASES][2] = {NEK_FOR_EACH_N(ENTRY_SUMS)};
static nek_product_fn *const tiles_of[NEK_MAX_N + 1][NEK_CASES][2] = {NEK_FOR_EACH_N(ENTRY_TILES)};

const nek_small_t nek_small_rows_n = {.of = rows_of};
const nek_small_t nek_small_sums_n = {.of = sums_of};
const nek_small_t nek_small_tiles_n = {.of = tiles_of};
