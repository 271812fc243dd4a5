/*
 * openacc.c - a colour of a sweep with directives.
 *
 * Idea: workers share the rows of the colour, and the lanes of a vector the values of a row's
 * blocks: the warp per row of the CUDA rungs. A second loop has a thread per row for the triangular
 * solves. Advantage: plain C, one source for CPUs and GPUs. Price: each component of the sum is a
 * loop and a reduction of its own, because no directive says which lane keeps which component; the
 * right-hand sides go to memory and back.
 */
#include "config.h"
#include "machine/openacc.h"
#include "../kernel.h"
#include "../input/narrow.h"

/* --- what O is stored in --- */

#pragma acc routine seq
static inline double from_double(double x)
{
    return x;
}

#pragma acc routine seq
static inline float from_float(float x)
{
    return x;
}

/* --- a colour, for every combination of types --- */

typedef void rows_t(const mcpi_view_t *view, int64_t first, int64_t last, void *dq);

#define PRAGMA(text) _Pragma(#text)
/* Shares the rows of the loop below it. */
#define ON_ROWS(how, pointers) PRAGMA(acc parallel loop how pointers)

/* Shares a loop inside by the lanes of a vector. */
#define LANES(clause) PRAGMA(acc loop vector clause)

/* Defines a function that computes dr = R - O dQ, then dQ = U^-1 L^-1 dr in place and into dQ. */
#define ROWS(name, O_t, from, Q_t, Sum_t)                                             \
    static void name(const mcpi_view_t *view, int64_t first, int64_t last, void *out) \
    {                                                                                 \
        const int nb = view->nb, nb2 = nb * nb;                                       \
        const int32_t *start = view->start, *column = view->column;                   \
        const O_t *O = view->O;                                                       \
        const double *LU = view->LU, *R = view->R;                                    \
        double *dr = view->data;                                                      \
        Q_t *dq = out;                                                                \
        ON_ROWS(gang worker, deviceptr(start, column, O, R, dr, dq))                  \
        for (int64_t row = first; row < last; row++)                                  \
            for (int i = 0; i < nb; i++) {                                            \
                const int64_t begin = (int64_t)start[row] * nb,                       \
                              end = (int64_t)start[row + 1] * nb;                     \
                Sum_t sum = 0;                                                        \
                LANES(reduction(+ : sum))                                             \
                for (int64_t k = begin; k < end; k++)                                 \
                    sum += (Sum_t)from(O[k * nb + i]) *                               \
                           (Sum_t)dq[(int64_t)column[k / nb] * nb + k % nb];          \
                dr[row * nb + i] = R[row * nb + i] - (double)sum;                     \
            }                                                                         \
        ON_ROWS(gang vector, deviceptr(LU, dr, dq))                                   \
        for (int64_t row = first; row < last; row++) {                                \
            const double *lu = LU + row * nb2;                                        \
            double *y = dr + row * nb;                                                \
            for (int j = 0; j < nb - 1; j++)                                          \
                for (int i = j + 1; i < nb; i++)                                      \
                    y[i] -= lu[j * nb + i] * y[j];                                    \
            for (int j = nb - 1; j >= 0; j--) {                                       \
                y[j] *= lu[j * nb + j];                                               \
                for (int i = 0; i < j; i++)                                           \
                    y[i] -= lu[j * nb + i] * y[j];                                    \
            }                                                                         \
            for (int i = 0; i < nb; i++)                                              \
                dq[row * nb + i] = (Q_t)y[i];                                         \
        }                                                                             \
    }

#define ROWS_OF(name, O_t, from)                        \
    ROWS(name##_float_float, O_t, from, float, float)   \
    ROWS(name##_float_double, O_t, from, float, double) \
    ROWS(name##_double_float, O_t, from, double, float) \
    ROWS(name##_double_double, O_t, from, double, double)
ROWS_OF(fp64, double, from_double)
ROWS_OF(fp32, float, from_float)
ROWS_OF(fp16, uint16_t, mcpi_widen_fp16)
ROWS_OF(bf16, uint16_t, mcpi_widen_bf16)

/* [O][dQ is FP64][sums are FP64] */
#define TABLE_OF(name)                                \
    {                                                 \
        {name##_float_float, name##_float_double},    \
        {                                             \
            name##_double_float, name##_double_double \
        }                                             \
    }
static rows_t *const table[MCPI_TYPES][2][2] = {[MCPI_FP64] = TABLE_OF(fp64),
                                                [MCPI_FP32] = TABLE_OF(fp32),
                                                [MCPI_FP16] = TABLE_OF(fp16),
                                                [MCPI_BF16] = TABLE_OF(bf16)};

static void rows(const mcpi_view_t *view, int64_t first, int64_t last, void *dq)
{
    if (first == last)
        return;
    rt_openacc_begin();
    table[view->offdiagonal][view->dq_type == MCPI_FP64][view->accumulate == MCPI_FP64](view, first,
                                                                                        last, dq);
}

static void set_up(mcpi_view_t *view)
{
    view->data = RT_NEW(double, (size_t)(view->rows * view->nb), rt_openacc_space());
}

static void tear_down(mcpi_view_t *view)
{
    RT_FREE(view->data, rt_openacc_space());
    view->data = NULL;
}

static void memory(const mcpi_config_t *config, double bytes[RT_SPACES])
{
    bytes[rt_openacc_space()] += 8 * (double)config->nb * (double)config->counts.local_rows;
}

const mcpi_kernels_t mcpi_openacc = {
    .rung = {.precision = MCPI_PRECISION, .reproducible = true},
    .rows = rows,
    .set_up = set_up,
    .tear_down = tear_down,
    .memory = memory,
};
