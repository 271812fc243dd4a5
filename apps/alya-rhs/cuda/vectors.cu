/*
 * vectors.cu - the vector work of the time step on the GPU.
 *
 * One thread per node and component, so that neighbours read neighbouring doubles whatever the
 * strides are; the rest of a record with more than 3 doubles per node is skipped.
 */
#include "config.h"
#include "alya_cuda.cuh"

enum { THREADS = 256 };

/* Calls body(node, component) for all of them, spread over the grid. */
template <class Body> static __device__ __forceinline__ void each_value(int64_t nodes, Body body)
{
    const int64_t step = static_cast<int64_t>(gridDim.x) * THREADS;
    for (int64_t k = blockIdx.x * static_cast<int64_t>(THREADS) + threadIdx.x; k < 3 * nodes;
         k += step) {
        const int64_t n = k / 3;
        body(n, static_cast<int>(k - 3 * n));
    }
}

__global__ void __launch_bounds__(THREADS)
    update_kernel(int64_t nodes, double a, double b, double c, const double *__restrict__ u0,
                  const double *__restrict__ m, const double *__restrict__ r, int r_stride,
                  double *u, int u_stride)
{
    each_value(nodes, [=](int64_t n, int i) {
        double *at = u + n * u_stride + i;
        *at = a * u0[3 * n + i] + b * *at + c * m[n] * r[n * r_stride + i];
    });
}

__global__ void __launch_bounds__(THREADS)
    scale_kernel(int64_t nodes, double scale, const double *from, int from_stride, double *to,
                 int to_stride)
{
    each_value(nodes, [=](int64_t n, int i) {
        to[n * to_stride + i] = scale * from[n * from_stride + i];
    });
}

static unsigned blocks_for(int64_t nodes)
{
    const int64_t most = 1 << 20, needed = (3 * nodes + THREADS - 1) / THREADS;
    return static_cast<unsigned>(needed < most ? needed : most);
}

static void update(int64_t nodes, double a, double b, double c, const double *u0, const double *m,
                   const double *r, int r_stride, double *u, int u_stride)
{
    if (nodes == 0)
        return;
    update_kernel<<<blocks_for(nodes), THREADS, 0, rt_stream()>>>(nodes, a, b, c, u0, m, r,
                                                                  r_stride, u, u_stride);
    RT_CUDA_LAUNCHED();
}

static void scale(int64_t nodes, double factor, const double *from, int from_stride, double *to,
                  int to_stride)
{
    if (nodes == 0)
        return;
    scale_kernel<<<blocks_for(nodes), THREADS, 0, rt_stream()>>>(nodes, factor, from, from_stride,
                                                                 to, to_stride);
    RT_CUDA_LAUNCHED();
}

extern "C" const alya_vectors_t alya_vectors_cuda = {.update = update, .scale = scale};
