/*
 * system.c - the exact matrix A of this rank's rows, and from it to what is swept: rows scaled, O
 * rounded, D factored.
 *
 * Idea: a block row may be multiplied by any number without changing dQ. Numbers like 1e-12 (the
 * area of a cell at the wall) would be denormals or 0 in FP16, so each row is multiplied by the
 * power of two that brings the largest entry of its diagonal block into [1, 2). Advantage: powers
 * of two are exact, so O in 16 bits loses no more than its rounding, and the sweep costs no more.
 * Price: R of every solve must be scaled too, and entries of O that are 2^16 times the diagonal's
 * overflow FP16 (refused here).
 *
 * D is factored without pivoting. The order of operations is then the same in all rows, so that a
 * GPU can do many rows at once. Price: a row whose pivot is too small is refused.
 */
#include "config.h"
#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include "input.h"
#include "portable.h"

/* --- the exact matrix --- */

/* Computes y += B x, B column-major. */
static inline void add(int nb, const double *B, const double *x, double *y)
{
    for (int j = 0; j < nb; j++)
        for (int i = 0; i < nb; i++)
            y[i] += B[j * nb + i] * x[j];
}

void mcpi_matrix_multiply(mcpi_matrix_t *m, const double *dq)
{
    const int nb = m->nb;
    const mcpi_part_t *part = m->part;
#pragma omp parallel for schedule(static)
    for (int64_t row = 0; row < part->rows; row++) {
        double *R = m->R + row * nb;
        for (int i = 0; i < nb; i++)
            R[i] = 0;
        add(nb, m->D + row * nb * nb, dq + row * nb, R);
        for (int64_t k = part->start[row]; k < part->start[row + 1]; k++)
            add(nb, m->O + k * nb * nb, dq + (int64_t)part->column[k] * nb, R);
    }
}

/* --- types of O --- */

size_t mcpi_type_size(mcpi_type_t type)
{
    return type == MCPI_FP64 ? 8 : type == MCPI_FP32 ? 4 : 2;
}

const char *const mcpi_type_names[] = {"fp64", "fp32", "fp16", "bf16", NULL};

uint16_t mcpi_to_16(mcpi_type_t type, double x)
{
    return type == MCPI_FP16 ? mcpi_narrow(x, 10, 15) : mcpi_narrow(x, 7, 127);
}

double mcpi_from_16(mcpi_type_t type, uint16_t x)
{
    const double value = type == MCPI_FP16 ? mcpi_widen_fp16(x) : mcpi_widen_bf16(x);
    const bool top =
        type == MCPI_FP16 && (x & 0x7c00) == 0x7c00; /* which widening takes as finite */
    return !top ? value : (x & 0x3ff) != 0 ? NAN : copysign(INFINITY, value);
}

double mcpi_value(const void *array, mcpi_type_t type, int64_t k)
{
    switch (type) {
    case MCPI_FP64:
        return ((const double *)array)[k];
    case MCPI_FP32:
        return (double)((const float *)array)[k];
    default:
        return mcpi_from_16(type, ((const uint16_t *)array)[k]);
    }
}

/* Writes from[n] times `scale`, rounded. Returns false if a finite value is not finite any more. */
static bool round_row(const double *from, int64_t n, double scale, mcpi_type_t type, void *array,
                      int64_t at)
{
    bool finite = true;
    for (int64_t k = 0; k < n; k++) {
        mcpi_put_value(array, type, at + k, from[k] * scale);
        finite &= fabs(mcpi_value(array, type, at + k)) <= DBL_MAX;
    }
    return finite;
}

/* --- factors of D --- */

static const double least_pivot = 1e-12; /* of the largest entry of the block */

/* Factors D in place; its largest entry is `largest`. Returns the first pivot that is too small, or
 * -1. */
static int factor(int nb, double *D, double largest)
{
    for (int k = 0; k < nb; k++) {
        double *pivot_column = D + k * nb;
        if (!(fabs(pivot_column[k]) >= least_pivot * largest))
            return k;
        const double reciprocal = 1 / pivot_column[k];
        for (int i = k + 1; i < nb; i++)
            pivot_column[i] *= reciprocal;
        for (int j = k + 1; j < nb; j++) {
            double *column = D + j * nb;
            for (int i = k + 1; i < nb; i++)
                column[i] -= pivot_column[i] * column[k];
        }
        pivot_column[k] = reciprocal;
    }
    return -1;
}

/* --- rows --- */

typedef enum { GOOD, INFINITE, D_TINY, O_OVERFLOW, D_PIVOT } fault_t;

static double largest_entry(const double *D, int n)
{
    double most = 0;
    for (int k = 0; k < n; k++)
        most = fmax(most, fabs(D[k]));
    return most;
}

/* Scales, rounds and factors row i. *where: the pivot that is too small; *size: how large it is. */
static fault_t make_row(mcpi_system_t *s, const mcpi_matrix_t *m, int64_t i, int *where,
                        double *size)
{
    const int nb = m->nb, nb2 = nb * nb;
    const int64_t first = m->part->start[i] * nb2, count = m->part->start[i + 1] * nb2 - first;
    const double *D = m->D + i * nb2;
    double *LU = s->LU + i * nb2;
    if (rt_count_nonfinite(D, (size_t)nb2) > 0 ||
        rt_count_nonfinite(m->O + first, (size_t)count) > 0 ||
        rt_count_nonfinite(m->R + i * nb, (size_t)nb) > 0)
        return INFINITE;
    const double largest = largest_entry(D, nb2);
    *size = largest;
    if (largest < 0x1p-1022) /* 0, or a denormal, which has lost its precision */
        return D_TINY;
    s->exponent[i] = ilogb(largest);
    const double scale = ldexp(1, -s->exponent[i]);
    for (int k = 0; k < nb2; k++)
        LU[k] = D[k] * scale;
    for (int k = 0; k < nb; k++)
        s->R[i * nb + k] = m->R[i * nb + k] * scale;
    if (!round_row(m->O + first, count, scale, s->type, s->O, first)) {
        *size = 0;
        for (int64_t k = 0; k < count; k++)
            *size = fmax(*size, fabs(m->O[first + k]) * scale);
        return O_OVERFLOW;
    }
    *where = factor(nb, LU, largest * scale);
    if (*where >= 0)
        *size = fabs(LU[*where * nb + *where]) / (largest * scale);
    return *where < 0 ? GOOD : D_PIVOT;
}

static void explain(fault_t fault, mcpi_type_t type, const char *row, int where, double size,
                    char *why, size_t len)
{
    if (fault == INFINITE)
        snprintf(why, len, "%s: not all of its blocks and right-hand side is finite", row);
    else if (fault == D_TINY)
        snprintf(why, len, "%s: its diagonal block is zero (largest entry %.3g)", row, size);
    else if (fault == O_OVERFLOW)
        snprintf(why, len,
                 "%s: an off-diagonal entry, %.3g with the row scaled to a diagonal of 1 to "
                 "2, overflows %s",
                 row, size, mcpi_type_names[type]);
    else
        snprintf(why, len,
                 "%s: pivot %d of its diagonal block is %.3g of the largest entry, less than "
                 "%.0e, and blocks are factored without pivoting",
                 row, where + 1, size, least_pivot);
}

mcpi_system_t *mcpi_system_new(const mcpi_matrix_t *matrix, mcpi_type_t type, char *why, size_t len)
{
    const mcpi_part_t *part = matrix->part;
    const size_t rows = (size_t)part->rows, nb = (size_t)matrix->nb, values = rows * nb;
    mcpi_system_t *s = RT_NEW(mcpi_system_t, 1, RT_HOST);
    *s = (mcpi_system_t){.nb = matrix->nb,
                         .type = type,
                         .part = part,
                         .exponent = RT_NEW(int, rows, RT_HOST),
                         .LU = RT_NEW(double, nb *values, RT_HOST),
                         .R = RT_NEW(double, values, RT_HOST)};
    s->O = rt_alloc((size_t)part->start[rows] * nb * nb, mcpi_type_size(type), RT_HOST);
    int64_t bad = part->rows; /* the first bad row, whatever the number of threads */
#pragma omp parallel for schedule(static) reduction(min : bad)
    for (int64_t i = 0; i < part->rows; i++) {
        int where;
        double size;
        if (make_row(s, matrix, i, &where, &size) != GOOD && i < bad)
            bad = i;
    }
    if (bad == part->rows)
        return s;
    int where = 0;
    double size = 0;
    char row[32];
    snprintf(row, sizeof row, "vertex %" PRId64, part->vertex[bad]);
    const fault_t fault = make_row(s, matrix, bad, &where, &size);
    explain(fault, type, row, where, size, why, len);
    mcpi_system_destroy(s);
    return NULL;
}

void mcpi_system_destroy(mcpi_system_t *system)
{
    if (system == NULL)
        return;
    RT_FREE_ALL(RT_HOST, system->exponent, system->O, system->LU, system->R, system);
}

/* --- O in chunks (portable.h) --- */

static int64_t first_chunk(const mcpi_system_t *system, int64_t row)
{
    const int width = MCPI_CHUNK / (int)mcpi_type_size(system->type);
    return mcpi_first_chunk(system->nb, width, system->part->start[row], row);
}

size_t mcpi_chunk_bytes(const mcpi_system_t *system, int64_t first, int64_t last)
{
    return (size_t)(first_chunk(system, last) - first_chunk(system, first)) *
           (size_t)(system->nb * MCPI_CHUNK);
}

void mcpi_chunk_rows(const mcpi_system_t *system, int64_t first, int64_t last, void *to)
{
    const int64_t *start = system->part->start, base = first_chunk(system, first);
    const size_t size = mcpi_type_size(system->type);
    const int nb = system->nb, width = MCPI_CHUNK / (int)size;
    const unsigned char *O = system->O;
    unsigned char *chunks = to;
    memset(chunks, 0, mcpi_chunk_bytes(system, first, last));
#pragma omp parallel for schedule(static)
    for (int64_t row = first; row < last; row++) {
        const int64_t begin = first_chunk(system, row) - base;
        for (int64_t b = 0; b < start[row + 1] - start[row]; b++)
            for (int j = 0; j < nb; j++)
                for (int i = 0; i < nb; i++)
                    memcpy(chunks + (size_t)mcpi_chunked_entry(nb, width, begin, b, j, i) * size,
                           O + (size_t)(((start[row] + b) * nb + j) * nb + i) * size, size);
    }
}

/* They are made on the host, a few rows at a time. */
void *mcpi_chunks_new(const mcpi_system_t *system, rt_space_t space)
{
    const int64_t rows = system->part->rows;
    unsigned char *O = rt_alloc(mcpi_chunk_bytes(system, 0, rows), 1, space);
    for (int64_t first = 0, last; first < rows; first = last) {
        for (last = first + 1;
             last < rows && mcpi_chunk_bytes(system, first, last + 1) <= MCPI_CHUNKS_MADE;)
            last++;
        const size_t bytes = mcpi_chunk_bytes(system, first, last);
        void *chunks = rt_alloc(bytes, 1, RT_HOST);
        mcpi_chunk_rows(system, first, last, chunks);
        rt_copy(O + mcpi_chunk_bytes(system, 0, first), space, chunks, RT_HOST, bytes);
        RT_FREE(chunks, RT_HOST);
    }
    return O;
}
