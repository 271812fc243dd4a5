/*
 * cpu_simd.c - threads over the rows of a colour, vectors over the column of a block.
 *
 * Idea: columns of a block are contiguous, so a column times a value of dQ is one vector operation
 * of eight lanes, of which nb are used. Each column of a block has its own vector of sums, so that
 * a row is a few short chains of additions instead of one long chain. Types and block size are
 * constants in each of the inlined copies below, so that all loops over a block are unrolled.
 * Larger blocks, of 8 to 15, have one copy for each choice of types, two vectors for a column and
 * one chain for each of them. Advantage: O streams past once, in order, and each byte of it is
 * used; the sums of a row do not depend on the number of threads. Price: at nb = 5 three lanes of
 * eight are idle (a core is waiting for O anyway), and the vectors reach beyond the column, so that
 * the very last block must be copied.
 */
#include "config.h"
#include "../kernel.h"
#include <string.h>
#include "base/threads.h"
#if defined(__AVX512F__) || (defined(__F16C__) && defined(__AVX2__))
#include <immintrin.h>
#endif

#define INLINE static inline __attribute__((always_inline))

enum { LANES = 8 };
typedef double vec64_t __attribute__((vector_size(LANES * sizeof(double))));
typedef float vec32_t __attribute__((vector_size(LANES * sizeof(float))));
typedef uint32_t bits32_t __attribute__((vector_size(LANES * sizeof(uint32_t))));
typedef uint16_t bits16_t __attribute__((vector_size(LANES * sizeof(uint16_t))));

/* --- eight values of O, from value `at` on --- */

/* Results go through a pointer, because how a vector is returned depends on the instruction set. */
/* Where the machine has an instruction for it, the code names it: gcc 12 converts vectors of 16-bit
 * values in pieces, which makes FP16 slower than FP32. */
INLINE void from_fp16(const void *at, vec32_t *v)
{
#if defined(__F16C__) && defined(__AVX2__)
    *v = (vec32_t)_mm256_cvtph_ps(_mm_loadu_si128(at));
#else
    /* exponent and fraction at their places in an FP32 that is 2^112 too small, denormals
     * included */
    bits16_t half;
    memcpy(&half, at, sizeof half);
    const bits32_t wide = __builtin_convertvector(half, bits32_t);
    const vec32_t size = (vec32_t)((wide & 0x7fff) << 13) * 0x1p112f;
    *v = (vec32_t)((bits32_t)size | (wide & 0x8000) << 16);
#endif
}

INLINE void from_bf16(const void *at, vec32_t *v)
{
#if defined(__F16C__) && defined(__AVX2__)
    *v = (vec32_t)((bits32_t)_mm256_cvtepu16_epi32(_mm_loadu_si128(at)) << 16);
#else
    bits16_t half;
    memcpy(&half, at, sizeof half);
    *v = (vec32_t)(__builtin_convertvector(half, bits32_t) << 16);
#endif
}

INLINE void load_vec32(const void *O, mcpi_type_t type, int64_t at, vec32_t *v)
{
    if (type == MCPI_FP64) {
        vec64_t wide;
        memcpy(&wide, (const double *)O + at, sizeof wide);
#if defined(__AVX512F__)
        *v = (vec32_t)_mm512_cvtpd_ps((__m512d)wide);
#else
        *v = __builtin_convertvector(wide, vec32_t);
#endif
    } else if (type == MCPI_FP16) {
        from_fp16((const uint16_t *)O + at, v);
    } else if (type == MCPI_BF16) {
        from_bf16((const uint16_t *)O + at, v);
    } else {
        memcpy(v, (const float *)O + at, sizeof *v);
    }
}

INLINE void load_vec64(const void *O, mcpi_type_t type, int64_t at, vec64_t *v)
{
    if (type == MCPI_FP64) {
        memcpy(v, (const double *)O + at, sizeof *v);
    } else {
        vec32_t narrow;
        load_vec32(O, type, at, &narrow);
#if defined(__AVX512F__)
        *v = (vec64_t)_mm512_cvtps_pd((__m256)narrow); /* gcc 12 would join two halves */
#else
        *v = __builtin_convertvector(narrow, vec64_t);
#endif
    }
}

/* --- rows --- */

INLINE double load_dq(const void *dq, mcpi_type_t type, int64_t at)
{
    return type == MCPI_FP64 ? ((const double *)dq)[at] : ((const float *)dq)[at];
}

/* --- parameter --- */

/* Handing out rows as threads ask for them balances threads that other programs slow down; in equal
 * parts, rows stay with the thread whose memory they are in. */
static const char *const rows_values[] = {"equal", "16", "64", "256", "1024", NULL};
static const int rows_taken[] = {0, 16, 64, 256, 1024};
static const rt_parameter_t parameters[] = {
    {.name = "rows",
     .about = "rows that a thread takes at a time; equal: its whole share at once",
     .values = rows_values}};

/* Computes sum[j] += column j of block k of O times value j of dQ; if `wide`, sum[0] and sum[1] are
 * those of all columns, lanes 0 .. 7 and 8 .. 15. */
#define BLOCK(VEC, REAL, O, k)                                           \
    do {                                                                 \
        const int64_t from = (int64_t)view->column[block] * nb;          \
        for (int j = 0; j < nb; j++) {                                   \
            const REAL x = (REAL)load_dq(dq, dq_type, from + j);         \
            VEC##_t column;                                              \
            load_##VEC(O, type, ((k)*nb + j) * nb, &column);             \
            sum[wide ? 0 : j] += column * x;                             \
            if (wide) {                                                  \
                load_##VEC(O, type, ((k)*nb + j) * nb + LANES, &column); \
                sum[1] += column * x;                                    \
            }                                                            \
        }                                                                \
    } while (0)

#define DEFINE_RANGE(VEC, REAL)                                                             \
    INLINE void range_##VEC(const mcpi_view_t *view, int64_t first, int64_t last, void *dq, \
                            int nb, bool wide, mcpi_type_t type, mcpi_type_t dq_type)       \
    {                                                                                       \
        const int64_t last_block = (int64_t)view->start[view->rows] - 1;                    \
        for (int64_t row = first; row < last; row++) {                                      \
            VEC##_t sum[MCPI_FIXED_NB] = {{0}};                                             \
            int64_t block = view->start[row], end = view->start[row + 1];                   \
            const bool copied = end > last_block && end > block;                            \
            for (end -= copied; block < end; block++)                                       \
                BLOCK(VEC, REAL, view->O, block);                                           \
            if (copied) { /* eight lanes from its last value on would end beyond O */       \
                double copy[MCPI_MAX_NB2 + LANES] = {0};                                    \
                const size_t bytes = (size_t)(nb * nb) * mcpi_type_size(type);              \
                memcpy(copy, (const char *)view->O + (size_t)block * bytes, bytes);         \
                BLOCK(VEC, REAL, copy, 0);                                                  \
            }                                                                               \
            for (int j = 1; j < nb && !wide; j++)                                           \
                sum[0] += sum[j];                                                           \
            double b[MCPI_MAX_NB];                                                          \
            for (int i = 0; i < nb; i++)                                                    \
                b[i] = view->R[row * nb + i] - (double)sum[i / LANES][i % LANES];           \
            mcpi_solve_lu(nb, view->LU + row * nb * nb, b);                                 \
            for (int i = 0; i < nb; i++)                                                    \
                mcpi_put_value(dq, dq_type, i + row * nb, b[i]);                            \
        }                                                                                   \
    }
DEFINE_RANGE(vec32, float)
DEFINE_RANGE(vec64, double)

/* --- a copy for each block size and types; ANY: larger blocks --- */

typedef void range_fn(const mcpi_view_t *view, int64_t first, int64_t last, void *dq);

enum { ANY = MCPI_FIXED_NB + 1 };
#define FOR_EACH_NB(X, ...) \
    X(4, __VA_ARGS__) X(5, __VA_ARGS__) X(6, __VA_ARGS__) X(7, __VA_ARGS__) X(ANY, __VA_ARGS__)
#define DEFINE(NB, TYPE, DQ, VEC)                                                             \
    static void range_##NB##_##TYPE##_##DQ##_##VEC(const mcpi_view_t *view, int64_t first,    \
                                                   int64_t last, void *dq)                    \
    {                                                                                         \
        range_##VEC(view, first, last, dq, NB == ANY ? view->nb : NB, NB == ANY, MCPI_##TYPE, \
                    MCPI_##DQ);                                                               \
    }
#define ENTRY(NB, TYPE, DQ, VEC)                                                     \
    [NB - MCPI_MIN_NB][MCPI_##TYPE][MCPI_##DQ][sizeof(VEC##_t) == sizeof(vec32_t)] = \
        range_##NB##_##TYPE##_##DQ##_##VEC,
/* clang-format off */
#ifndef FOR_EACH_TYPE /* mutants compile fewer */
#define FOR_EACH_TYPE(X)                                                     \
    FOR_EACH_NB(X, FP64, FP64, vec64) FOR_EACH_NB(X, FP64, FP64, vec32)      \
    FOR_EACH_NB(X, FP64, FP32, vec64) FOR_EACH_NB(X, FP64, FP32, vec32)      \
    FOR_EACH_NB(X, FP32, FP64, vec64) FOR_EACH_NB(X, FP32, FP64, vec32)      \
    FOR_EACH_NB(X, FP32, FP32, vec64) FOR_EACH_NB(X, FP32, FP32, vec32)      \
    FOR_EACH_NB(X, FP16, FP64, vec64) FOR_EACH_NB(X, FP16, FP64, vec32)      \
    FOR_EACH_NB(X, FP16, FP32, vec64) FOR_EACH_NB(X, FP16, FP32, vec32)      \
    FOR_EACH_NB(X, BF16, FP64, vec64) FOR_EACH_NB(X, BF16, FP64, vec32)      \
    FOR_EACH_NB(X, BF16, FP32, vec64) FOR_EACH_NB(X, BF16, FP32, vec32)
#endif
/* clang-format on */
FOR_EACH_TYPE(DEFINE)
static range_fn *const range_of[ANY - MCPI_MIN_NB + 1][MCPI_TYPES][2][2] = {FOR_EACH_TYPE(ENTRY)};

void mcpi_simd_rows(const mcpi_view_t *view, int64_t first, int64_t last, void *dq)
{
    const int nb = view->nb < ANY ? view->nb : ANY;
    range_of[nb - MCPI_MIN_NB][view->offdiagonal][view->dq_type][view->accumulate == MCPI_FP32](
        view, first, last, dq);
}

static void rows(const mcpi_view_t *view, int64_t first, int64_t last, void *dq)
{
    const int64_t n = last - first;
    const int chunk = rows_taken[view->choice[0]];
    if (chunk > 0) {
#pragma omp parallel for schedule(dynamic, 1)
        for (int64_t row = first; row < last; row += chunk)
            mcpi_simd_rows(view, row, row + chunk < last ? row + chunk : last, dq);
        return;
    }
#pragma omp parallel
    {
        const int64_t threads = rt_threads_here(), me = rt_thread();
        mcpi_simd_rows(view, first + n * me / threads, first + n * (me + 1) / threads, dq);
    }
}

const mcpi_kernels_t mcpi_cpu_simd = {
    .rung = {.precision = MCPI_PRECISION,
             .reproducible = true,
             .parameters = parameters,
             .n_parameters = 1},
    .rows = rows,
};
