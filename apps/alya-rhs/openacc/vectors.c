/* vectors.c - the vector work of the time step with OpenACC: an iteration per node and
 * component. */
#include "config.h"
#include "openacc.h"

static void update(int64_t nodes, double a, double b, double c, const double *u0, const double *m,
                   const double *r, int r_stride, double *u, int u_stride)
{
    rt_openacc_begin();
#pragma acc parallel loop gang vector collapse(2) deviceptr(u0, m, r, u)
    for (int64_t n = 0; n < nodes; n++)
        for (int i = 0; i < 3; i++)
            u[n * u_stride + i] =
                a * u0[3 * n + i] + b * u[n * u_stride + i] + c * m[n] * r[n * r_stride + i];
}

static void scale(int64_t nodes, double factor, const double *from, int from_stride, double *to,
                  int to_stride)
{
    rt_openacc_begin();
#pragma acc parallel loop gang vector collapse(2) deviceptr(from, to)
    for (int64_t n = 0; n < nodes; n++)
        for (int i = 0; i < 3; i++)
            to[n * to_stride + i] = factor * from[n * from_stride + i];
}

const alya_vectors_t alya_vectors_openacc = {.update = update, .scale = scale};
