/*
 * gfnn_net.cuh - what the CUDA rungs of the predictor share: the compiled numbers of kernels and
 * reaches, the order in which a thread reads K, and the sums of a thread over the taps.
 *
 * A rung's file has how r reaches the threads. M is the number of kernels it is compiled for, 0 for
 * gf8; a network with 3 kernels runs as one with 4, the last of them 0. ND is the reach.
 */
#ifndef GFNN_NET_CUH
#define GFNN_NET_CUH

#include <type_traits>
#include "gfnn_cuda.cuh"

/* The predictors of solves: FP32 and 16 bits. */
extern "C" const gfnn_predictor_t gfnn_predictor_tiled, gfnn_predictor_tensor;

/* Calls f(std::integral_constant<int, M>()). */
template <class F> void gfnn_fixed_kernels(int form, int64_t kernels, F f)
{
    if (form == GFNN_GF8)
        f(std::integral_constant<int, 0>());
    else if (kernels <= 1)
        f(std::integral_constant<int, 1>());
    else if (kernels <= 2)
        f(std::integral_constant<int, 2>());
    else if (kernels <= 4)
        f(std::integral_constant<int, 4>());
    else
        f(std::integral_constant<int, GFNN_MAX_KERNELS>());
}

/* Calls f(std::integral_constant<int, M>(), std::integral_constant<int, ND>()). */
template <class F> void gfnn_fixed_network(int form, int64_t kernels, int64_t reach, F f)
{
    static_assert(GFNN_ND == 3 && GFNN_MAX_ND == 6, "a copy for each reach");
    gfnn_fixed_kernels(form, kernels, [&](auto M) {
        if (reach <= 3)
            f(M, std::integral_constant<int, 3>());
        else if (reach == 4)
            f(M, std::integral_constant<int, 4>());
        else if (reach == 5)
            f(M, std::integral_constant<int, 5>());
        else
            f(M, std::integral_constant<int, 6>());
    });
}

/* --- tiles of nodes --- */

/* Own nodes in tiles, one per block, x fastest. */
struct gfnn_tiling_t {
    unsigned n[3];
    unsigned blocks() const
    {
        return n[0] * n[1] * n[2];
    }
};

static inline gfnn_tiling_t gfnn_tiling(const int64_t nodes[3], int x, int y, int z)
{
    return {{rt_blocks(nodes[0], x), rt_blocks(nodes[1], y), rt_blocks(nodes[2], z)}};
}

static __device__ __forceinline__ int3 gfnn_tile(const gfnn_tiling_t &t)
{
    const unsigned row = blockIdx.x / t.n[0];
    return make_int3(blockIdx.x % t.n[0], row % t.n[1], row / t.n[1]);
}

/* Returns the layers of a block that walks along z in steps of `layers`, with one block at a time
 * on a multiprocessor: enough blocks to fill the device in whole waves, and few starts, each of
 * which costs `start` steps. */
static inline int gfnn_depth(const int64_t nodes[3], int width, int height, int layers, int start,
                             int multiprocessors)
{
    const int steps = static_cast<int>(rt_blocks(nodes[2], layers));
    const int64_t columns = gfnn_tiling(nodes, width, height, static_cast<int>(nodes[2])).blocks();
    int best = steps;
    int64_t least = INT64_MAX;
    for (int each = steps; each >= 1; each--) {
        const int64_t blocks = columns * rt_blocks(steps, each);
        const int64_t waves = (blocks + multiprocessors - 1) / multiprocessors;
        if (waves * (each + start) < least) {
            least = waves * (each + start);
            best = each;
        }
    }
    return best * layers;
}

static inline int gfnn_multiprocessors()
{
    int device, multiprocessors;
    RT_CUDA(cudaGetDevice(&device));
    RT_CUDA(cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, device));
    return multiprocessors;
}

/* --- K --- */

/* Floats of a tap, padded to whole 16 bytes. gf8: G xx yy zz xy yz zx. gfm: [i][j][m]. */
template <int M> constexpr int gfnn_tap_floats = M == 0 ? 8 : (9 * M + 3) / 4 * 4;

/* taps: [W z][W y][W x][gfnn_tap_floats], W = 2 nd + 1 */
template <int M> void gfnn_lay_out(const gfnn_network_t *network, float *taps)
{
    static const int row[6] = {0, 1, 2, 0, 1, 2}, column[6] = {0, 1, 2, 1, 2, 0};
    const int64_t stencil = gfnn_stencil(network->reach);
    for (int64_t tap = 0; tap < stencil; tap++, taps += gfnn_tap_floats<M>)
        for (int e = 0; e < gfnn_tap_floats<M>; e++)
            if (M == 0) {
                taps[e] = e < 6 ? network->K[(3 * row[e] + column[e]) * stencil + tap] : 0;
            } else {
                const int m = e % (M > 0 ? M : 1), ij = e / (M > 0 ? M : 1);
                taps[e] =
                    ij < 9 && m < network->kernels ? network->K[(9 * m + ij) * stencil + tap] : 0;
            }
}

/* Hooks of the rungs whose view->data is just the taps. */
static inline void gfnn_taps_set_up(gfnn_view_t *view, const gfnn_network_t *network)
{
    gfnn_fixed_kernels(network->form, network->kernels, [&](auto M) {
        const size_t floats =
            static_cast<size_t>(gfnn_stencil(network->reach)) * gfnn_tap_floats<M()>;
        float *taps = RT_NEW(float, floats, RT_HOST);
        gfnn_lay_out<M()>(network, taps);
        view->data = rt_clone(taps, floats, sizeof(float), RT_DEVICE);
        RT_FREE(taps, RT_HOST);
    });
}

static inline void gfnn_taps_tear_down(gfnn_view_t *view)
{
    RT_FREE(view->data, RT_DEVICE);
}

/* What the kernels with `taps` take. */
struct gfnn_net_job_t {
    gfnn_lines_t wide, bare;
    int n[3], coefs;
    const float *taps, *coef, *r;
    float *z;

    gfnn_net_job_t(const gfnn_view_t *view, const gfnn_network_t *network, const void *r_,
                   float *z_)
        : wide(view->box->wide), bare(view->box->bare), coefs(network->coefs),
          taps(static_cast<const float *>(view->data)), coef(network->c),
          r(static_cast<const float *>(r_)), z(z_)
    {
        for (int d = 0; d < 3; d++)
            n[d] = static_cast<int>(view->box->n[d]);
    }
    /* Returns coefficient q of the node at `at` of `bare`; 0 for kernels that only pad M. */
    __device__ __forceinline__ float coefficient(int q, int at) const
    {
        return q < coefs ? __ldg(coef + q * bare.plane + at) : 0;
    }
};

/* --- sums of a thread --- */

/* z of B nodes. The taps of a line along `axis` follow each other: line(s, t) begins one, with s
 * and t its place along the next axis and the one after; tap(K, s, r) adds a tap, r(j, n) being
 * component j of r for node n. c(q, n) is coefficient q of node n.
 *
 * gfm: coefficients come last, so there are 3 M sums per node. */
template <int M, int ND, int B, int axis> struct gfnn_sums_t {
    float sum[B][3 * M];

    template <class C> __device__ __forceinline__ void begin(C)
    {
#pragma unroll
        for (int e = 0; e < B * 3 * M; e++)
            sum[e / (3 * M)][e % (3 * M)] = 0;
    }

    __device__ __forceinline__ void line(int, int)
    {
    }

    template <class R> __device__ __forceinline__ void tap(const float *K, int, R r)
    {
#pragma unroll
        for (int first = 0; first < 9 * M; first += 4) {
            const float4 four = *reinterpret_cast<const float4 *>(K + first);
            const float k[4] = {four.x, four.y, four.z, four.w};
#pragma unroll
            for (int e = first; e < first + 4 && e < 9 * M; e++) {
                const int i = e / (3 * M), j = e / M % 3, m = e % M;
#pragma unroll
                for (int n = 0; n < B; n++)
                    sum[n][i * M + m] += k[e - first] * r(j, n);
            }
        }
    }

    template <class C> __device__ __forceinline__ void end(C c, int n, float (&z)[3])
    {
        z[0] = z[1] = z[2] = 0;
#pragma unroll
        for (int m = 0; m < M; m++) {
            const float weight = c(m, n);
#pragma unroll
            for (int i = 0; i < 3; i++)
                z[i] += weight * sum[n][i * M + m];
        }
    }
};

/* gf8: coefficients make two weights per tap, one for the diagonal of G, one for the rest: 17
 * instructions per tap, for 18 useful operations of a node. */
template <int ND, int B, int axis> struct gfnn_sums_t<0, ND, B, axis> {
    float coef[B][8], sum[B][3], same[B], other[B];

    template <class C> __device__ __forceinline__ void begin(C c)
    {
#pragma unroll
        for (int n = 0; n < B; n++) {
#pragma unroll
            for (int q = 0; q < 8; q++)
                coef[n][q] = q % 4 == 0 ? c(q, n) : c(q, n) * (1.f / ND);
            sum[n][0] = sum[n][1] = sum[n][2] = 0;
        }
    }

    __device__ __forceinline__ void line(int s, int t)
    {
        constexpr int a = 1 + (axis + 1) % 3, b = 1 + (axis + 2) % 3;
#pragma unroll
        for (int n = 0; n < B; n++) {
            same[n] = coef[n][0] + coef[n][a] * s + coef[n][b] * t;
            other[n] = coef[n][4] + coef[n][4 + a] * s + coef[n][4 + b] * t;
        }
    }

    template <class R> __device__ __forceinline__ void tap(const float *K, int s, R r)
    {
        const float4 g = *reinterpret_cast<const float4 *>(K);     /* xx yy zz xy */
        const float2 h = *reinterpret_cast<const float2 *>(K + 4); /* yz zx */
#pragma unroll
        for (int n = 0; n < B; n++) {
            const float diagonal = same[n] + coef[n][1 + axis] * s;
            const float rest = other[n] + coef[n][5 + axis] * s;
            const float x = r(0, n), y = r(1, n), z = r(2, n);
            const float rx = rest * x, ry = rest * y, rz = rest * z;
            /* One statement per product: each becomes one fused operation. */
            sum[n][0] += g.x * (diagonal * x);
            sum[n][0] += g.w * ry;
            sum[n][0] += h.y * rz;
            sum[n][1] += g.y * (diagonal * y);
            sum[n][1] += g.w * rx;
            sum[n][1] += h.x * rz;
            sum[n][2] += g.z * (diagonal * z);
            sum[n][2] += h.y * rx;
            sum[n][2] += h.x * ry;
        }
    }

    template <class C> __device__ __forceinline__ void end(C, int n, float (&z)[3])
    {
#pragma unroll
        for (int i = 0; i < 3; i++)
            z[i] = sum[n][i];
    }
};

#endif
