/*
 * vectors.c - the vector work of the time step on the CPU: plain loops over the nodes. They are
 * bound by memory, and a step makes few of them; threads are all that helps.
 */
#include "config.h"
#include "../kernel.h"

static void update(int64_t nodes, double a, double b, double c, const double *u0, const double *m,
                   const double *r, int r_stride, double *u, int u_stride)
{
#pragma omp parallel for schedule(static)
    for (int64_t n = 0; n < nodes; n++) {
        const double *u0n = u0 + 3 * n, *rn = r + n * r_stride;
        double *un = u + n * u_stride;
        double cm = c * m[n];
        for (int i = 0; i < 3; i++)
            un[i] = a * u0n[i] + b * un[i] + cm * rn[i];
    }
}

static void scale(int64_t nodes, double factor, const double *from, int from_stride, double *to,
                  int to_stride)
{
#pragma omp parallel for schedule(static)
    for (int64_t n = 0; n < nodes; n++)
        for (int i = 0; i < 3; i++)
            to[n * to_stride + i] = factor * from[n * from_stride + i];
}

const alya_vectors_t alya_vectors_cpu = {.update = update, .scale = scale};
