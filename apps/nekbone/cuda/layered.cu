/*
 * layered.cu - Karp et al., section IV-C, after Swirydowicz et al.
 *
 * Idea: n x n threads, one for each column (i, j) of the element; the block climbs through the
 * layers k in step. A thread keeps its column of u and of w in registers. The i- and j-derivatives
 * of a layer need its neighbours: two barriers a layer, and shared memory for a layer instead of
 * the element. The k-derivative needs none: it stays in the thread, and D(k, l) is a constant of
 * the unrolled code. Advantage: small blocks, many on a multiprocessor, so that some compute while
 * others wait for memory; no limit to n; the factors of layer k + 1 are on their way while layer k
 * is worked on. Price: 2 n barriers an element, and 4 n of the 6 n products a point still take an
 * operand from shared memory. Rows and columns of D that belong to the thread's i are kept in
 * registers: without this there would be 8 n such operands, and shared memory, not DRAM, would set
 * the time.
 */
#include "config.h"
#include "nek_cuda.cuh"

template <int n> struct factors {
    double rr, rs, rt, ss, st, tt;
    __device__ __forceinline__ void load(const double *__restrict__ G)
    {
        constexpr int n3 = n * n * n;
        rr = __ldcs(G);
        rs = __ldcs(G + n3);
        rt = __ldcs(G + 2 * n3);
        ss = __ldcs(G + 3 * n3);
        st = __ldcs(G + 4 * n3);
        tt = __ldcs(G + 5 * n3);
    }
};

template <int n>
__global__ void __launch_bounds__(n *n)
    element(const double *__restrict__ D, const double *__restrict__ G,
            const double *__restrict__ u, double *__restrict__ w)
{
    constexpr int n2 = n * n, n3 = n2 * n;
    __shared__ double sD[n2], su[n2], sr[n2], ss[n2];
    const int t = threadIdx.x, i = t % n, j = t / n;
    const size_t e = blockIdx.x;
    u += e * n3 + t;
    w += e * n3 + t;
    G += e * 6 * n3 + t;

    double ru[n], rw[n], Di[n], Dti[n];
    factors<n> g;
    g.load(G);
#pragma unroll
    for (int k = 0; k < n; k++) {
        ru[k] = u[k * n2];
        rw[k] = 0;
    }
    sD[t] = D[t];
    __syncthreads();
#pragma unroll
    for (int l = 0; l < n; l++) {
        Di[l] = sD[i * n + l];
        Dti[l] = sD[l * n + i];
    }

#pragma unroll
    for (int k = 0; k < n; k++) {
        su[t] = ru[k];
        factors<n> next;
        if (k + 1 < n)
            next.load(G + (k + 1) * n2);
        __syncthreads();
        double wr = 0, ws = 0, wt = 0;
#pragma unroll
        for (int l = 0; l < n; l++) {
            wr += Di[l] * su[j * n + l];
            ws += sD[j * n + l] * su[l * n + i];
            wt += sD[k * n + l] * ru[l];
        }
        sr[t] = g.rr * wr + g.rs * ws + g.rt * wt;
        ss[t] = g.rs * wr + g.ss * ws + g.st * wt;
        const double ut = g.rt * wr + g.st * ws + g.tt * wt;
        __syncthreads(); /* also: all have read su, which the next layer overwrites */
        double sum = 0;
#pragma unroll
        for (int l = 0; l < n; l++) {
            sum += Dti[l] * sr[j * n + l];
            sum += sD[l * n + j] * ss[l * n + i];
            rw[l] += sD[k * n + l] * ut;
        }
        rw[k] += sum;
        g = next;
    }
#pragma unroll
    for (int k = 0; k < n; k++)
        w[k * n2] = rw[k];
}

/* n known only at run time: registers cannot be indexed, so the columns of w are in shared memory
 * and those of u are read from cache. */
__global__ void element_any_n(int n, const double *__restrict__ D, const double *__restrict__ G,
                              const double *__restrict__ u, double *__restrict__ w)
{
    extern __shared__ double memory[];
    const int n2 = n * n, n3 = n2 * n, t = threadIdx.x, i = t % n, j = t / n;
    double *sD = memory, *su = sD + n2, *sr = su + n2, *ss = sr + n2, *sw = ss + n2 + t;
    const size_t e = blockIdx.x;
    u += e * n3 + t;
    w += e * n3 + t;
    G += e * 6 * n3 + t;
    sD[t] = D[t];
    for (int k = 0; k < n; k++)
        sw[k * n2] = 0;
    for (int k = 0; k < n; k++) {
        su[t] = u[k * n2];
        __syncthreads();
        double wr = 0, ws = 0, wt = 0;
        for (int l = 0; l < n; l++) {
            wr += sD[i * n + l] * su[j * n + l];
            ws += sD[j * n + l] * su[l * n + i];
            wt += sD[k * n + l] * u[l * n2];
        }
        const double *g = G + k * n2;
        sr[t] = g[0] * wr + g[n3] * ws + g[2 * n3] * wt;
        ss[t] = g[n3] * wr + g[3 * n3] * ws + g[4 * n3] * wt;
        const double ut = g[2 * n3] * wr + g[4 * n3] * ws + g[5 * n3] * wt;
        __syncthreads();
        double sum = 0;
        for (int l = 0; l < n; l++) {
            sum += sD[l * n + i] * sr[j * n + l] + sD[l * n + j] * ss[l * n + i];
            sw[l * n2] += sD[k * n + l] * ut;
        }
        sw[k * n2] += sum;
    }
    for (int k = 0; k < n; k++)
        w[k * n2] = sw[k * n2];
}

static void layered_ax(const nek_mesh_t *m, const double *u, double *w)
{
    const auto blocks = static_cast<unsigned>(m->elements);
    const int n = m->n;
    const bool known = nek_fixed_n<NEK_FIXED_N>(
        n, [&](auto N) { element<N()><<<blocks, N() * N(), 0, rt_stream()>>>(m->D, m->G, u, w); });
    if (!known) {
        const size_t bytes = sizeof(double) * (4 * n * n + n * n * n);
        nek_allow_shared(element_any_n, bytes);
        element_any_n<<<blocks, n * n, bytes, rt_stream()>>>(n, m->D, m->G, u, w);
    }
    RT_CUDA_LAUNCHED();
}

extern "C" const nek_kernels_t nek_layered = {layered_ax, &nek_vector_cuda, 0, 0, nullptr};
