/*
 * shared.cu - the shared-memory kernel of Jocksch et al., as described by Karp et al., section
 * IV-B.
 *
 * Idea: one thread per point of the element (n x n x n threads); u, D and the three products are in
 * shared memory, in one kernel.
 *
 * Advantage: u and the factors are read from DRAM once; ur, us and ut never leave the chip.
 *
 * Price: n^3 threads per block, of which there can be 1024, so n <= 10. At n = 10 a multiprocessor
 * holds two such blocks; when both wait for memory or at the barrier, nothing is left to do. Each
 * of the 6 n products per point reads both its operands from shared memory, which becomes the
 * limit.
 */
#include "config.h"
#include "nek_cuda.cuh"

enum { SHARED_MAX_N = 10 };

/* Blocks per multiprocessor: two at n = 10, more for smaller n, up to 16. */
static constexpr int resident_blocks(int n)
{
    const int blocks = NEK_THREADS_RESIDENT / (n * n * n);
    return blocks < 16 ? blocks : 16;
}

template <int n>
__global__ void __launch_bounds__(n *n *n, resident_blocks(n))
    element(const double *__restrict__ D, const double *__restrict__ G,
            const double *__restrict__ u, double *__restrict__ w)
{
    constexpr int n2 = n * n, n3 = n2 * n;
    __shared__ double sD[n2], sDt[n2], su[n3], sr[n3], ss[n3]; /* su is used again for ut */
    const int i = threadIdx.x, j = threadIdx.y, k = threadIdx.z, q = k * n2 + j * n + i;
    const size_t e = blockIdx.x;
    G += e * 6 * n3 + q;

    if (q < n2) {
        sD[q] = D[q];
        sDt[i * n + j] = D[q];
    }
    su[q] = u[e * n3 + q];
    __syncthreads(); /* u and D are there */

    double wr = 0, ws = 0, wt = 0;
#pragma unroll
    for (int l = 0; l < n; l++) {
        wr += sDt[l * n + i] * su[k * n2 + j * n + l];
        ws += sD[j * n + l] * su[k * n2 + l * n + i];
        wt += sD[k * n + l] * su[l * n2 + j * n + i];
    }
    const double rt = G[2 * n3], st = G[4 * n3], ut = rt * wr + st * ws + G[5 * n3] * wt;
    const double rs = G[n3];
    sr[q] = G[0] * wr + rs * ws + rt * wt;
    ss[q] = rs * wr + G[3 * n3] * ws + st * wt;
    __syncthreads(); /* all have read u, which ut overwrites */
    su[q] = ut;
    __syncthreads(); /* ur, us and ut are there */

    double sum = 0;
#pragma unroll
    for (int l = 0; l < n; l++)
        sum += sD[l * n + i] * sr[k * n2 + j * n + l] + sDt[j * n + l] * ss[k * n2 + l * n + i] +
               sDt[k * n + l] * su[l * n2 + j * n + i];
    w[e * n3 + q] = sum;
}

static void shared_ax(const nek_view_t *view, const double *u, double *w)
{
    const bool known = nek_fixed_n<SHARED_MAX_N>(view->n, [&](auto n) {
        element<n()>
            <<<static_cast<unsigned>(view->elements), dim3(n(), n(), n()), 0, rt_stream()>>>(
                view->D, view->G, u, w);
    });
    RT_EXPECT(known, RT_USAGE, "n = %d: the driver should have refused", view->n);
    RT_CUDA_LAUNCHED();
}

extern "C" const nek_kernels_t nek_shared = {
    .rung = {.precision = "FP64", .reproducible = true, .refuse = nek_refuse},
    .ax = shared_ax,
    .vector = &nek_vector_cuda,
    .max_n = SHARED_MAX_N,
    .max_n_reason = "it needs n^3 threads per block, and a block has at most 1024, so n <= 10 "
                    "(degree <= 9); use layered",
};
