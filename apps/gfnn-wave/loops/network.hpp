/*
 * network.hpp - the FP32 sums of the predictor, for CUDA and Kokkos: the compiled numbers of kernels
 * and reaches, the order in which a thread reads K, and the sums of a thread over the taps.
 *
 * M is the number of kernels that code is compiled for, 0 for gf8; a network with 3 kernels runs as
 * one with 4, the last of them 0, and one of 1 as one of 2. ND is the reach.
 */
#ifndef GFNN_NETWORK_HPP
#define GFNN_NETWORK_HPP

#include <type_traits>
#include "loops.hpp"

/* Before loops that must stay loops. */
#if defined(__CUDA_ARCH__) || defined(__HIP_DEVICE_COMPILE__) || defined(__clang__)
#define GFNN_NO_UNROLL _Pragma("unroll 1")
#else
#define GFNN_NO_UNROLL
#endif

/* Reads what no thread writes meanwhile. */
GFNN_FN float gfnn_constant(const float *from)
{
#if defined(__CUDA_ARCH__)
    return __ldg(from);
#else
    return *from;
#endif
}

/* Calls f(std::integral_constant<int, M>()). */
template <class F> void gfnn_fixed_kernels(int form, int64_t kernels, F f)
{
    if (form == GFNN_GF8)
        f(std::integral_constant<int, 0>());
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

/* Returns the taps in this space. RT_FREE them. */
static inline float *gfnn_taps_new(const gfnn_network_t *network, rt_space_t space)
{
    float *made = nullptr;
    gfnn_fixed_kernels(network->form, network->kernels, [&](auto M) {
        const size_t floats =
            static_cast<size_t>(gfnn_stencil(network->reach)) * gfnn_tap_floats<M()>;
        float *taps = RT_NEW(float, floats, RT_HOST);
        gfnn_lay_out<M()>(network, taps);
        made = static_cast<float *>(rt_clone(taps, floats, sizeof *taps, space));
        RT_FREE(taps, RT_HOST);
    });
    return made;
}

/* What the kernels with `taps` take. */
struct gfnn_net_job_t {
    gfnn_lines_t wide, bare;
    int n[3], coefs;
    const float *taps, *coef, *r;
    float *z;

    gfnn_net_job_t(const gfnn_view_t *view, const gfnn_network_t *network, const float *taps_,
                   const void *r_, float *z_)
        : wide(view->box->wide), bare(view->box->bare), coefs(network->coefs), taps(taps_),
          coef(network->c), r(static_cast<const float *>(r_)), z(z_)
    {
        for (int d = 0; d < 3; d++)
            n[d] = static_cast<int>(view->box->n[d]);
    }
    /* Returns coefficient q of the node at `at` of `bare`; 0 for kernels that only pad M. */
    GFNN_METHOD float coefficient(int q, int at) const
    {
        return q < coefs ? gfnn_constant(coef + q * bare.plane + at) : 0;
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

    template <class C> GFNN_METHOD void begin(C)
    {
        GFNN_UNROLL
        for (int e = 0; e < B * 3 * M; e++)
            sum[e / (3 * M)][e % (3 * M)] = 0;
    }

    GFNN_METHOD void line(int, int)
    {
    }

    template <class R> GFNN_METHOD void tap(const float *K, int, R r)
    {
        GFNN_UNROLL
        for (int first = 0; first < 9 * M; first += 4) {
            const gfnn_pack_t<float, 4> k = gfnn_get<4>(K + first);
            GFNN_UNROLL
            for (int e = first; e < first + 4 && e < 9 * M; e++) {
                const int i = e / (3 * M), j = e / M % 3, m = e % M;
                GFNN_UNROLL
                for (int n = 0; n < B; n++)
                    sum[n][i * M + m] += k.at[e - first] * r(j, n);
            }
        }
    }

    template <class C> GFNN_METHOD void end(C c, int n, float (&z)[3])
    {
        z[0] = z[1] = z[2] = 0;
        GFNN_UNROLL
        for (int m = 0; m < M; m++) {
            const float weight = c(m, n);
            GFNN_UNROLL
            for (int i = 0; i < 3; i++)
                z[i] += weight * sum[n][i * M + m];
        }
    }
};

/* gf8: coefficients make two weights per tap, one for the diagonal of G, one for the rest: 17
 * instructions per tap, for 18 useful operations of a node. */
template <int ND, int B, int axis> struct gfnn_sums_t<0, ND, B, axis> {
    float coef[B][8], sum[B][3], same[B], other[B];

    template <class C> GFNN_METHOD void begin(C c)
    {
        GFNN_UNROLL
        for (int n = 0; n < B; n++) {
            GFNN_UNROLL
            for (int q = 0; q < 8; q++)
                coef[n][q] = q % 4 == 0 ? c(q, n) : c(q, n) * (1.f / ND);
            sum[n][0] = sum[n][1] = sum[n][2] = 0;
        }
    }

    GFNN_METHOD void line(int s, int t)
    {
        constexpr int a = 1 + (axis + 1) % 3, b = 1 + (axis + 2) % 3;
        const float along_a = static_cast<float>(s), along_b = static_cast<float>(t);
        GFNN_UNROLL
        for (int n = 0; n < B; n++) {
            same[n] = coef[n][0] + coef[n][a] * along_a + coef[n][b] * along_b;
            other[n] = coef[n][4] + coef[n][4 + a] * along_a + coef[n][4 + b] * along_b;
        }
    }

    template <class R> GFNN_METHOD void tap(const float *K, int s, R r)
    {
        const gfnn_pack_t<float, 4> g = gfnn_get<4>(K);     /* xx yy zz xy */
        const gfnn_pack_t<float, 2> h = gfnn_get<2>(K + 4); /* yz zx */
        const float along = static_cast<float>(s);
        GFNN_UNROLL
        for (int n = 0; n < B; n++) {
            const float diagonal = same[n] + coef[n][1 + axis] * along;
            const float rest = other[n] + coef[n][5 + axis] * along;
            const float x = r(0, n), y = r(1, n), z = r(2, n);
            const float rx = rest * x, ry = rest * y, rz = rest * z;
            /* One statement per product: each becomes one fused operation. */
            sum[n][0] += g.at[0] * (diagonal * x);
            sum[n][0] += g.at[3] * ry;
            sum[n][0] += h.at[1] * rz;
            sum[n][1] += g.at[1] * (diagonal * y);
            sum[n][1] += g.at[3] * rx;
            sum[n][1] += h.at[0] * rz;
            sum[n][2] += g.at[2] * (diagonal * z);
            sum[n][2] += h.at[1] * rx;
            sum[n][2] += h.at[0] * ry;
        }
    }

    template <class C> GFNN_METHOD void end(C, int n, float (&z)[3])
    {
        GFNN_UNROLL
        for (int i = 0; i < 3; i++)
            z[i] = sum[n][i];
    }
};

/* --- nodes above each other --- */

/* Computes z of B nodes above each other, the lowest of them (i, j, k), whose taps follow each other
 * along z. column(dx, dy, r) loads what they read at (x + dx - ND, y + dy - ND): all components,
 * from ND layers below the lowest node to ND above the highest. `last`: of the nodes, which is the
 * last in the box; what others make is dropped. taps: of job.taps, wherever they are now. */
template <int M, int ND, int B, class Column>
GFNN_FN void gfnn_nodes(const gfnn_net_job_t &job, int i, int j, int k, int last, const float *taps,
                        Column column)
{
    constexpr int W = 2 * ND + 1, tap_floats = gfnn_tap_floats<M>;
    const int at = job.bare.at(i, j, k);
    const auto coefficient = [&](int q, int n) {
        return job.coefficient(q, at + (n < last ? n : last) * job.bare.slab);
    };
    gfnn_sums_t<M, ND, B, 2> sums;
    sums.begin(coefficient);
    GFNN_NO_UNROLL
    for (int dy = 0; dy < W; dy++)
        GFNN_NO_UNROLL
    for (int dx = 0; dx < W; dx++) {
        const float *K = taps + (dy * W + dx) * tap_floats;
        float r[3][B + 2 * ND];
        column(dx, dy, r);
        sums.line(dx - ND, dy - ND);
        GFNN_UNROLL
        for (int dz = 0; dz < W; dz++)
            sums.tap(K + dz * W * W * tap_floats, dz - ND,
                     [&](int c, int n) { return r[c][n + dz]; });
    }
    const int own = job.wide.at(i, j, k);
    GFNN_UNROLL
    for (int n = 0; n < B; n++) {
        float z[3];
        sums.end(coefficient, n, z);
        GFNN_UNROLL
        for (int c = 0; c < 3; c++)
            if (n <= last)
                job.z[c * job.wide.plane + own + n * job.wide.slab] = z[c];
    }
}

/* The rungs `unrolled` and `predict-kokkos`: nodes of a thread, as 3 M sums are kept for each; and
 * z of those from (i, j, k) on, whose columns of r come from the caches. */
template <int M> constexpr int gfnn_unrolled_nodes = M == GFNN_MAX_KERNELS ? 2 : 4;

template <int M, int ND> GFNN_FN void gfnn_unrolled(const gfnn_net_job_t &job, int i, int j, int k)
{
    constexpr int B = gfnn_unrolled_nodes<M>, column = B + 2 * ND;
    /* Nodes above the box read what its last one reads. */
    const int last = job.n[2] - 1 - k;
    int above[column];
    GFNN_UNROLL
    for (int e = 0; e < column; e++)
        above[e] = (e < last + 2 * ND ? e : last + 2 * ND) * job.wide.slab;
    gfnn_nodes<M, ND, B>(job, i, j, k, last, job.taps, [&](int dx, int dy, float(&r)[3][column]) {
        const float *bottom = job.r + job.wide.at(i + dx - ND, j + dy - ND, k - ND);
        GFNN_UNROLL
        for (int c = 0; c < 3; c++)
            GFNN_UNROLL
        for (int e = 0; e < column; e++)
            r[c][e] = gfnn_constant(bottom + c * job.wide.plane + above[e]);
    });
}

#endif
