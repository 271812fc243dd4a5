/*
 * global.cu - the kernel of Gong et al., as described by Karp et al., section IV-A.
 *
 * Idea: one block per element; its threads stride over the points; every operand is in global
 * memory. There are two kernels, as Listing 1 has two loop nests: the first writes ur, us, ut, the
 * second reads them.
 *
 * Advantage: any n, no shared memory, the smallest step from the CPU loop.
 *
 * Price: ur, us and ut go to memory and back (48 bytes per point), and each point reads 3 n values
 * of u and 3 n of D again: the caches must catch what the program does not keep.
 */
#include "config.h"
#include "nek_cuda.cuh"

enum { THREADS = 256 };

/* N = 0: n is known only at run time. */
template <int N>
__global__ void __launch_bounds__(THREADS)
    gradient(int run_time_n, const double *__restrict__ D, const double *__restrict__ G,
             const double *__restrict__ u, double *__restrict__ grad, size_t points)
{
    const int n = N ? N : run_time_n, n2 = n * n, n3 = n2 * n;
    const size_t e = blockIdx.x;
    u += e * n3;
    G += e * 6 * n3;
    grad += e * n3;
    for (int q = threadIdx.x; q < n3; q += blockDim.x) {
        const int i = q % n, j = q / n % n, k = q / n2;
        double wr = 0, ws = 0, wt = 0;
        for (int l = 0; l < n; l++) {
            wr += D[i * n + l] * u[k * n2 + j * n + l];
            ws += D[j * n + l] * u[k * n2 + l * n + i];
            wt += D[k * n + l] * u[l * n2 + j * n + i];
        }
        grad[q] = G[q] * wr + G[n3 + q] * ws + G[2 * n3 + q] * wt;
        grad[points + q] = G[n3 + q] * wr + G[3 * n3 + q] * ws + G[4 * n3 + q] * wt;
        grad[2 * points + q] = G[2 * n3 + q] * wr + G[4 * n3 + q] * ws + G[5 * n3 + q] * wt;
    }
}

template <int N>
__global__ void __launch_bounds__(THREADS)
    divergence(int run_time_n, const double *__restrict__ D, const double *__restrict__ grad,
               double *__restrict__ w, size_t points)
{
    const int n = N ? N : run_time_n, n2 = n * n, n3 = n2 * n;
    const size_t e = blockIdx.x;
    const double *ur = grad + e * n3, *us = ur + points, *ut = us + points;
    w += e * n3;
    for (int q = threadIdx.x; q < n3; q += blockDim.x) {
        const int i = q % n, j = q / n % n, k = q / n2;
        double sum = 0;
        for (int l = 0; l < n; l++)
            sum += D[l * n + i] * ur[k * n2 + j * n + l] + D[l * n + j] * us[k * n2 + l * n + i] +
                   D[l * n + k] * ut[l * n2 + j * n + i];
        w[q] = sum;
    }
}

template <int N> static void launch(const nek_view_t *view, const double *u, double *w)
{
    const auto blocks = static_cast<unsigned>(view->elements);
    const auto points = static_cast<size_t>(view->points);
    gradient<N>
        <<<blocks, THREADS, 0, rt_stream()>>>(view->n, view->D, view->G, u, view->scratch, points);
    RT_CUDA_LAUNCHED();
    divergence<N><<<blocks, THREADS, 0, rt_stream()>>>(view->n, view->D, view->scratch, w, points);
    RT_CUDA_LAUNCHED();
}

static void global_ax(const nek_view_t *view, const double *u, double *w)
{
    if (!nek_fixed_n<NEK_FIXED_N>(view->n, [&](auto n) { launch<n()>(view, u, w); }))
        launch<0>(view, u, w);
}

extern "C" const nek_kernels_t nek_global = {
    .rung = {.precision = "FP64", .reproducible = true, .refuse = nek_refuse},
    .ax = global_ax,
    .vector = &nek_vector_cuda,
    .scratch_arrays = 3,
};
