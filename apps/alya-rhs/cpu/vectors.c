/* vectors.c - what is done to vectors on the CPU. */
#include "config.h"
#include "../kernel.h"

static void copy(int64_t nodes, const double *from, int from_stride, double *to, int to_stride)
{
#pragma omp parallel for schedule(static)
    for (int64_t n = 0; n < nodes; n++)
        for (int i = 0; i < 3; i++)
            to[n * to_stride + i] = from[n * from_stride + i];
}

const alya_vectors_t alya_vectors_cpu = {.copy = copy};
