/*
 * mcpi_cuda.cuh - what the CUDA rungs share: the choice of the kernel that is compiled for the
 * types and the block size, loads, and the triangular solves.
 *
 * A rung's file has its kernel, a template over K = mcpi_form_t<O, X, A, nb>, and the launch.
 */
#ifndef MCPI_CUDA_CUH
#define MCPI_CUDA_CUH

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include "types.hpp"
#include "machine/cuda.cuh"
#include "base/mem.h"

/* --- the kernel for these types --- */

/* O is stored in O_, dQ in X_; O dQ is added up in A_. */
template <class O_, class X_, class A_, int nb_> struct mcpi_form_t {
    using O = O_;
    using X = X_;
    using A = A_;
    static constexpr int nb = nb_, nb2 = nb_ * nb_;
};

/* Calls f(mcpi_form_t<...>()) with the view's types and block size. */
template <class F> void mcpi_fixed_form(const mcpi_view_t *view, F f)
{
    mcpi_fixed_types<__half, __nv_bfloat16>(view, [&](auto o, auto x, auto a) {
        mcpi_fixed_nb(view->nb, [&](auto nb) {
            f(mcpi_form_t<typename decltype(o)::type, typename decltype(x)::type,
                          typename decltype(a)::type, nb()>());
        });
    });
}

/* The view's arrays and dQ, with their types. */
template <class K> struct mcpi_arrays_t {
    const int32_t *start, *column;
    const typename K::O *O;
    const double *LU, *R;
    typename K::X *dq;

    mcpi_arrays_t(const mcpi_view_t *view, void *dq_)
        : start(view->start), column(view->column), O(static_cast<const typename K::O *>(view->O)),
          LU(view->LU), R(view->R), dq(static_cast<typename K::X *>(dq_))
    {
    }
};

/* The launch parameter `threads`, for kernels compiled for at most 512 or 256 threads per block. No
 * result depends on it, bit for bit: the rows of a block do not share anything. */
inline constexpr const char *mcpi_up_to_512[] = {"64", "128", "256", "512", nullptr};
inline constexpr const char *mcpi_up_to_256[] = {"64", "128", "256", nullptr};
inline constexpr rt_parameter_t mcpi_threads_to_512 = {
    .name = "threads", .about = "threads per block", .values = mcpi_up_to_512, .initial = 1};
inline constexpr rt_parameter_t mcpi_threads_to_256 = {
    .name = "threads", .about = "threads per block", .values = mcpi_up_to_256, .initial = 1};

constexpr rt_kernels_t mcpi_rung_with_threads(const rt_parameter_t &threads)
{
    return {.precision = MCPI_PRECISION,
            .reproducible = true,
            .parameters = &threads,
            .n_parameters = 1,
            .refuse = mcpi_fixed_refuse};
}

/* Returns the chosen number of threads per block. */
static inline unsigned mcpi_threads(const mcpi_view_t *view)
{
    return 64u << view->choice[0];
}

/* Returns a copy of n values on the device. */
template <class T> T *mcpi_upload(const T *host, size_t n)
{
    return static_cast<T *>(rt_clone(host, n, sizeof *host, RT_DEVICE));
}

/* --- device --- */

static __device__ __forceinline__ float mcpi_widen(__half x)
{
    return __half2float(x);
}

static __device__ __forceinline__ float mcpi_widen(__nv_bfloat16 x)
{
    return __bfloat162float(x);
}

static __device__ __forceinline__ float mcpi_widen(float x)
{
    return x;
}

static __device__ __forceinline__ double mcpi_widen(double x)
{
    return x;
}

/* Loads an entry of O, as A. It is used once per sweep, so L2 should keep dQ instead. */
template <class A, class O> __device__ __forceinline__ A mcpi_stream(const O *at)
{
    return static_cast<A>(mcpi_widen(__ldcs(at)));
}

/* Loads a value of dQ, as A. No row of the current colour has a column that this colour writes, so
 * a kernel never reads what it writes, and the read-only path is safe. */
template <class A, class X> __device__ __forceinline__ A mcpi_gather(const X *at)
{
    return static_cast<A>(__ldg(at));
}

/* Loads row i of a block LU [nb*nb], column-major. */
template <int nb>
__device__ __forceinline__ void mcpi_load_row(const double *__restrict__ LU, int i, double (&d)[nb])
{
#pragma unroll
    for (int j = 0; j < nb; j++)
        d[j] = __ldcs(LU + j * nb + i);
}

/* The same as mcpi_solve_lu by nb lanes: lane i has row i of LU in d, and y_i. share(y, j) returns y
 * of the group's lane j. All 32 lanes of a warp must call it; lanes without a row may pass any d, i
 * and y. */
template <int nb, class Share>
__device__ __forceinline__ double mcpi_solve_lanes(const double (&d)[nb], int i, double y,
                                                   Share share)
{
#pragma unroll
    for (int j = 0; j < nb - 1; j++) {
        const double known = share(y, j);
        if (i > j)
            y -= d[j] * known;
    }
#pragma unroll
    for (int j = nb - 1; j >= 0; j--) {
        if (i == j)
            y *= d[j];
        if (j > 0) {
            const double known = share(y, j);
            if (i < j)
                y -= d[j] * known;
        }
    }
    return y;
}

/* --- a warp per row, a lane per entry of the block --- */

/* How many columns the warp takes at once, and in how many passes. */
template <int nb> struct mcpi_lanes_t {
    static constexpr int passes = (nb * nb + 31) / 32;
    static constexpr int columns = (nb + passes - 1) / passes;
    static constexpr int used = columns * nb;
    static_assert(used <= 32, "a lane per entry");
};

/* Returns this lane's part of O dQ of the blocks begin .. end - 1: component lane % nb, columns
 * lane / nb, and so on in steps of a pass. */
template <class K>
__device__ __forceinline__ typename K::A mcpi_lane_sum(const mcpi_arrays_t<K> &a, int32_t begin,
                                                       int32_t end, int lane)
{
    using L = mcpi_lanes_t<K::nb>;
    using A = typename K::A;
    A sum = 0;
    if (lane >= L::used)
        return sum;
#pragma unroll 4
    for (int32_t b = begin; b < end; b++) {
        const typename K::O *block = a.O + static_cast<int64_t>(b) * K::nb2 + lane;
        const typename K::X *x =
            a.dq + static_cast<int64_t>(__ldg(a.column + b)) * K::nb + lane / K::nb;
#pragma unroll
        for (int p = 0; p < L::passes; p++)
            if (p * L::used + lane < K::nb2)
                sum += mcpi_stream<A>(block + p * L::used) * mcpi_gather<A>(x + p * L::columns);
    }
    return sum;
}

#endif
