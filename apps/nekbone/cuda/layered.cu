/*
 * layered.cu - the kernel of Karp et al., section IV-C, after Swirydowicz et al.
 *
 * Idea: n x n threads, one for each column (i, j) of the element; the block climbs through the
 * layers k in step. A thread keeps its column of u and of w in registers. The i- and j-derivatives
 * of a layer need its neighbours: two barriers per layer, and shared memory for one layer, not for
 * the element. The k-derivative needs no neighbours: it stays in the thread.
 *
 * Advantage: small blocks, several per multiprocessor, so that some compute while others wait; no
 * limit to n; the factors of layer k + 1 are fetched while layer k is worked on.
 *
 * Price: 2 n barriers per element, and shared memory is read 4 n times per point. Shared memory,
 * not DRAM, sets the time, so everything else was taken out of it:
 *
 *   - row and column i of D are in the thread's registers;
 *   - D(k, l), the same for all threads, is a kernel argument: the code is unrolled, so k and l are
 *     constants, and a product takes its operand from the constant bank at no cost;
 *   - what belongs to line j (u, D) is read 16 bytes at a time.
 */
#include "config.h"
#include "nek_cuda.cuh"

/* The six factors of one point. Each is used once, so they are read evict-first: u and w stay in
 * L2. */
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

/* Reads a line of n values from shared memory, two at a time; lines start at even positions. */
template <int n> __device__ __forceinline__ void load_line(const double *shared, double (&line)[n])
{
#pragma unroll
    for (int l = 0; l + 1 < n; l += 2) {
        const double2 two = *reinterpret_cast<const double2 *>(shared + l);
        line[l] = two.x;
        line[l + 1] = two.y;
    }
    if (n % 2)
        line[n - 1] = shared[n - 1];
}

/* Returns the blocks that a multiprocessor holds if a thread takes 8 n + 48 registers: four lines
 * of doubles, and addresses, factors, sums. Each of its four parts has 512 registers per lane for
 * the warps that it gets. */
static constexpr int resident_blocks(int n)
{
    const int warps = (n * n + 31) / 32;
    constexpr int parts = 4, registers_of_part = NEK_REGISTERS / 32 / parts, most = 16;
    int blocks = 1;
    while (blocks < most &&
           registers_of_part / (((blocks + 1) * warps + parts - 1) / parts) >= 8 * n + 48)
        blocks++;
    return blocks;
}

template <int n>
__global__ void __launch_bounds__(n *n, resident_blocks(n))
    element(const __grid_constant__ nek_matrix<n> Dk, const double *__restrict__ D,
            const double *__restrict__ G, const double *__restrict__ u, double *__restrict__ w)
{
    constexpr int n2 = n * n, n3 = n2 * n, pitch = n + n % 2;
    __shared__ __align__(16) double sD[n * pitch], sDt[n * pitch];
    __shared__ __align__(16) double su[n * pitch], sr[n * pitch], ss[n * pitch];
    const int t = threadIdx.x, i = t % n, j = t / n, own = j * pitch + i;
    const size_t e = blockIdx.x;
    u += e * n3 + t;
    w += e * n3 + t;
    G += e * 6 * n3 + t;

    double ru[n], rw[n], Di[n], Dti[n];
    factors<n> g, next;
    g.load(G);
#pragma unroll
    for (int k = 0; k < n; k++) {
        ru[k] = u[k * n2];
        rw[k] = 0;
    }
    sD[own] = D[t];
    sDt[i * pitch + j] = D[t];
    __syncthreads(); /* D is there */
#pragma unroll
    for (int l = 0; l < n; l++) {
        Di[l] = sDt[l * pitch + i]; /* D(i, l) */
        Dti[l] = sD[l * pitch + i]; /* D(l, i) */
    }

#pragma unroll
    for (int k = 0; k < n; k++) {
        su[own] = ru[k];
        if (k + 1 < n)
            next.load(G + (k + 1) * n2);
        __syncthreads(); /* the layer of u is there, and all have read the last sr and ss */
        double line[n], Dj[n], wr = 0, ws = 0, wt = 0;
        load_line(su + j * pitch, line);
        load_line(sD + j * pitch, Dj);
#pragma unroll
        for (int l = 0; l < n; l++) {
            wr += Di[l] * line[l];
            ws += Dj[l] * su[l * pitch + i];
            wt += Dk.at[k * n + l] * ru[l];
        }
        sr[own] = g.rr * wr + g.rs * ws + g.rt * wt;
        ss[own] = g.rs * wr + g.ss * ws + g.st * wt;
        const double ut = g.rt * wr + g.st * ws + g.tt * wt;
        __syncthreads(); /* sr and ss are there; all have read su, which the next layer
                          * overwrites */
        double sum = 0;
        load_line(sr + j * pitch, line);
        load_line(sDt + j * pitch, Dj);
#pragma unroll
        for (int l = 0; l < n; l++) {
            sum += Dti[l] * line[l];
            sum += Dj[l] * ss[l * pitch + i];
            rw[l] += Dk.at[k * n + l] * ut;
        }
        rw[k] += sum;
        g = next;
    }
#pragma unroll
    for (int k = 0; k < n; k++)
        w[k * n2] = rw[k];
}

/* n is known only at run time. Registers cannot be indexed, so the columns of w are in shared
 * memory and those of u are read from cache. */
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
        __syncthreads(); /* the layer of u is there, and all have read the last sr and ss */
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
        __syncthreads(); /* sr and ss are there, and all have read su */
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

static void layered_ax(const nek_view_t *view, const double *u, double *w)
{
    const auto blocks = static_cast<unsigned>(view->elements);
    const int n = view->n;
    const bool known = nek_fixed_n<NEK_FIXED_N>(n, [&](auto N) {
        nek_matrix<N()> Dk;
        for (int q = 0; q < N() * N(); q++)
            Dk.at[q] = view->D_host[q];
        element<N()><<<blocks, N() * N(), 0, rt_stream()>>>(Dk, view->D, view->G, u, w);
    });
    if (!known) {
        const size_t bytes = sizeof(double) * (4 * n * n + n * n * n);
        nek_allow_shared(element_any_n, bytes);
        element_any_n<<<blocks, n * n, bytes, rt_stream()>>>(n, view->D, view->G, u, w);
    }
    RT_CUDA_LAUNCHED();
}

extern "C" const nek_kernels_t nek_layered = {
    .rung = {.precision = "FP64", .reproducible = true, .refuse = nek_refuse},
    .ax = layered_ax,
    .vector = &nek_vector_cuda,
};
