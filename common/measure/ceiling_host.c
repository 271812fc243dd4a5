/*
 * measure/ceiling_host.c - the loops of rt_ceiling on CPUs.
 *
 * Bandwidth: plain loops, split among the threads in the same way as the first touch, so that every
 * thread streams from its own NUMA node. No non-temporal stores are forced, and no write-allocate
 * traffic is counted: a store counts once, the least it can be. So the ceiling is one that the
 * rungs' own plain stores can be compared with. (A compiler may turn the copy into a library call
 * that does stream; then copy is above triad.) A store to an array that the loop reads anyway has no
 * such traffic, so `update` is up to 4/3 of triad, and the vectors of CG do the same.
 *
 * Arithmetic: the compiler's vectors in three widths, with enough independent accumulators to cover
 * the latency of two pipes (12 > 2 x 5) and few enough for 16 registers. The best width counts: on
 * a processor that does not have the widest vectors, the compiler splits and spills them.
 */
#include "config.h"
#include "measure/ceiling_loops.h"

#include <string.h>
#if RT_HAVE_OPENMP
#include <omp.h>
#endif

#include "machine/timer.h"

static double began;

static void nothing(void)
{
}

static void host_start(void)
{
    began = rt_clock();
}

static double host_stop(void)
{
    return rt_clock() - began;
}

static void host_set(double *x, size_t n, int label)
{
#pragma omp parallel for schedule(static)
    for (size_t i = 0; i < n; i++)
        x[i] = rt_loop_value(i, label);
}

static double host_wrong(const double *x, size_t n, rt_expected_t expected)
{
    size_t wrong = 0;
#pragma omp parallel for schedule(static) reduction(+ : wrong)
    for (size_t i = 0; i < n; i++) {
        /* Compares bits: under -ffast-math a compiler may take NaN for equal to anything. */
        const double right = rt_loop_expected(i, expected);
        wrong += memcmp(&x[i], &right, sizeof right) != 0;
    }
    return (double)wrong;
}

static void copy_loop(double *restrict a, const double *restrict b, size_t n)
{
#pragma omp parallel for schedule(static)
    for (size_t i = 0; i < n; i++)
        a[i] = b[i];
}

static void triad_loop(double *restrict a, const double *restrict b, const double *restrict c,
                       size_t n)
{
#pragma omp parallel for schedule(static)
    for (size_t i = 0; i < n; i++)
        a[i] = b[i] + RT_TRIAD_SCALE * c[i];
}

static void read_loop(const rt_streams_t *s)
{
    double *restrict a = s->array[0];
    const double *restrict b = s->array[1], *restrict c = s->array[2], *restrict d = s->array[3],
                           *restrict e = s->array[4], *restrict f = s->array[5],
                           *restrict g = s->array[6], *restrict h = s->array[7];
#pragma omp parallel for schedule(static)
    for (size_t i = 0; i < s->n; i++)
        a[i] = b[i] + c[i] + d[i] + e[i] + f[i] + g[i] + h[i];
}

static void update_loop(double *restrict a, const double *restrict b, size_t n)
{
#pragma omp parallel for schedule(static)
    for (size_t i = 0; i < n; i++)
        a[i] = b[i] - a[i];
}

static void host_pass(rt_loop_t loop, int shape, const rt_streams_t *s)
{
    (void)shape;
    switch (loop) {
    case RT_LOOP_COPY:
        copy_loop(s->array[0], s->array[1], s->n);
        break;
    case RT_LOOP_TRIAD:
        triad_loop(s->array[0], s->array[1], s->array[2], s->n);
        break;
    case RT_LOOP_UPDATE:
        update_loop(s->array[0], s->array[1], s->n);
        break;
    default:
        read_loop(s);
        break;
    }
}

/* ---- fused multiply-add ---- */

enum { ACCUMULATORS = 12 };

/* Defines a function for one thread that returns the sum of its accumulators after `steps` steps.
 * The inner loops are completely unrolled, so x[] is in registers. */
#define DEFINE_FMA(name, type, bytes)                                    \
    typedef type name##_vector __attribute__((vector_size(bytes)));      \
    static double name(double a_given, double b_given, int steps)        \
    {                                                                    \
        const name##_vector a = (type)a_given - (name##_vector){0};      \
        const name##_vector b = (type)b_given - (name##_vector){0};      \
        name##_vector x[ACCUMULATORS];                                   \
        double sum = 0;                                                  \
        for (int j = 0; j < ACCUMULATORS; j++)                           \
            x[j] = (type)j - (name##_vector){0};                         \
        for (int step = 0; step < steps; step++)                         \
            for (int j = 0; j < ACCUMULATORS; j++)                       \
                x[j] = a * x[j] + b;                                     \
        for (int j = 0; j < ACCUMULATORS; j++)                           \
            for (unsigned lane = 0; lane < bytes / sizeof(type); lane++) \
                sum += (double)x[j][lane];                               \
        return sum;                                                      \
    }

DEFINE_FMA(fma64_16, double, 16)
DEFINE_FMA(fma64_32, double, 32)
DEFINE_FMA(fma64_64, double, 64)
DEFINE_FMA(fma32_16, float, 16)
DEFINE_FMA(fma32_32, float, 32)
DEFINE_FMA(fma32_64, float, 64)

enum { FMA_SHAPES = 3 };
static double (*const fma_function[2][FMA_SHAPES])(double a, double b, int steps) = {
    {fma64_16, fma64_32, fma64_64}, {fma32_16, fma32_32, fma32_64}};

static double last_sum;

static void host_fma(int bits, int shape, double a, double b, int steps)
{
    double sum = 0;
#pragma omp parallel reduction(+ : sum)
    sum += fma_function[bits == 32][shape](a, b, steps);
    last_sum = sum;
}

static double host_fma_lanes(int bits, int shape)
{
    int threads = 1;
#if RT_HAVE_OPENMP
    threads = omp_get_max_threads();
#endif
    const int vector_bytes = 16 << shape;
    return (double)threads * ACCUMULATORS * (vector_bytes / (bits / 8));
}

static double host_fma_sum(void)
{
    return last_sum;
}

const rt_loops_t rt_loops_host = {
    .space = RT_HOST,
    .write_allocate = true,
    .shapes = 1,
    .fma_shapes = FMA_SHAPES,
    .open = nothing,
    .close = nothing,
    .start = host_start,
    .stop = host_stop,
    .set = host_set,
    .wrong = host_wrong,
    .pass = host_pass,
    .copy = copy_loop,
    .fma = host_fma,
    .fma_lanes = host_fma_lanes,
    .fma_sum = host_fma_sum,
    .units = rt_units_host,
};
