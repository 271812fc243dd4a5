/*
 * vectors.cu - the vector work of CG on the GPU.
 *
 * Idea: one kernel for each line of the iteration; what it does at a point is cpu/points.h. An inner product ends in the same kernel that
 * makes its terms: each block leaves a partial sum; the block that finishes last adds them in order
 * and writes the result to page-locked host memory. So the same input gives the same bits.
 *
 * Advantage: nothing else crosses to the host.
 *
 * Price: the host waits for that number twice per iteration.
 */
#include "config.h"
#include "nek_scalars.cuh"
#include "../cpu/points.h"

enum { THREADS = 256 };

/* Blocks that have finished their sum. It returns to zero by itself. There is one stream, so one
 * sum at a time. */
static __device__ unsigned blocks_done;

/* Returns the blocks of a kernel over that many points. */
static unsigned blocks_for(int64_t points)
{
    const int resident = rt_device_gpu()->multiprocessors * (NEK_THREADS_RESIDENT / THREADS);
    const int64_t needed = (points + THREADS - 1) / THREADS;
    const int64_t most = resident < NEK_MOST_BLOCKS ? resident : static_cast<int>(NEK_MOST_BLOCKS);
    return static_cast<unsigned>(needed < most ? needed : most);
}

/* Adds the sums of all threads of the grid; the last block writes the total to *result. */
static __device__ void finish_sum(double mine, double *__restrict__ partial, double *result)
{
    double sum[1] = {mine};
    if (nek_grid_sums(partial, 0, &blocks_done, sum) && threadIdx.x == 0)
        *result = sum[0];
}

/* Calls body(q) for all points, spread over the grid. */
template <class Body> static __device__ __forceinline__ void each_point(int64_t points, Body body)
{
    const int64_t step = static_cast<int64_t>(gridDim.x) * THREADS;
#pragma unroll 4
    for (int64_t q = blockIdx.x * static_cast<int64_t>(THREADS) + threadIdx.x; q < points;
         q += step)
        body(q);
}

__global__ void __launch_bounds__(THREADS)
    update_p_kernel(int64_t points, double beta, const double *__restrict__ r,
                    double *__restrict__ p)
{
    each_point(points, [=](int64_t q) { nek_points_p(1, beta, r + q, p + q); });
}

__global__ void __launch_bounds__(THREADS)
    shift_kernel(int64_t points, double lambda, const double *__restrict__ c,
                 const double *__restrict__ p, double *__restrict__ w, double *partial,
                 double *result)
{
    double sum = 0;
    each_point(points, [&](int64_t q) { sum += nek_points_shift(1, lambda, c + q, p + q, w + q); });
    finish_sum(sum, partial, result);
}

__global__ void __launch_bounds__(THREADS)
    update_xr_kernel(int64_t points, double alpha, const double *__restrict__ c,
                     const double *__restrict__ p, const double *__restrict__ w,
                     double *__restrict__ x, double *__restrict__ r, double *partial,
                     double *result)
{
    double sum = 0;
    each_point(points, [&](int64_t q) {
        sum += nek_points_xr(1, alpha, c + q, p + q, w + q, x + q, r + q);
    });
    finish_sum(sum, partial, result);
}

/* Waits for the last kernel; returns its sum. */
static double fetch(const nek_view_t *view)
{
    RT_CUDA_LAUNCHED();
    RT_CUDA(cudaStreamSynchronize(rt_stream()));
    return *static_cast<volatile double *>(view->result);
}

static void update_p(const nek_view_t *view, double beta, const double *r, double *p)
{
    update_p_kernel<<<blocks_for(view->points), THREADS, 0, rt_stream()>>>(view->points, beta, r,
                                                                           p);
    RT_CUDA_LAUNCHED();
}

static double shift(const nek_view_t *view, double lambda, const double *p, double *w)
{
    shift_kernel<<<blocks_for(view->points), THREADS, 0, rt_stream()>>>(
        view->points, lambda, view->c, p, w, view->partial, view->result);
    return fetch(view);
}

static double update_xr(const nek_view_t *view, double alpha, const double *p, const double *w,
                        double *x, double *r)
{
    update_xr_kernel<<<blocks_for(view->points), THREADS, 0, rt_stream()>>>(
        view->points, alpha, view->c, p, w, x, r, view->partial, view->result);
    return fetch(view);
}

extern "C" const nek_vector_t nek_vector_cuda = {
    .update_p = update_p,
    .shift = shift,
    .update_xr = update_xr,
};
