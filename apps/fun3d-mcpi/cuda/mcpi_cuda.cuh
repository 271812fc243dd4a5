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
        mcpi_fixed_nb<MCPI_MIN_NB, MCPI_MAX_NB>(view->nb, [&](auto nb) {
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

/* The launch parameters, for kernels compiled for at most 512 or 256 threads per block. Threads do
 * not change any result, bit for bit: the rows of a block do not share anything. Lanes change the
 * order of sums. */
inline constexpr const char *mcpi_up_to_512[] = {"64", "128", "256", "512", nullptr};
inline constexpr const char *mcpi_up_to_256[] = {"64", "128", "256", nullptr};
inline constexpr const char *mcpi_8_to_32[] = {"8", "16", "32", nullptr};
#define MCPI_PARAMETERS(threads_)                                                              \
    {                                                                                          \
        {.name = "threads", .about = "threads per block", .values = threads_, .initial = 1},   \
            {.name = "lanes", .about = "lanes per row", .values = mcpi_8_to_32, .initial = 2}, \
    }
inline constexpr rt_parameter_t mcpi_to_512[] = MCPI_PARAMETERS(mcpi_up_to_512);
inline constexpr rt_parameter_t mcpi_to_256[] = MCPI_PARAMETERS(mcpi_up_to_256);

/* A lane has a component at most. */
static inline const char *mcpi_refuse_lanes(const void *config, const int *choice)
{
    return static_cast<const mcpi_config_t *>(config)->nb <= 8 << choice[1]
               ? nullptr
               : "a block has more rows than `lanes`";
}

/* The rung takes the first n of these parameters. */
constexpr rt_kernels_t mcpi_rung_with(const rt_parameter_t *parameters, int n)
{
    return {.precision = MCPI_PRECISION,
            .reproducible = true,
            .parameters = parameters,
            .n_parameters = n,
            .refuse_choice = n > 1 ? mcpi_refuse_lanes : nullptr};
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

#define MCPI_ALL_LANES 0xffffffffu

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

/* The same as mcpi_solve_lu by nb lanes: lane i has row i of LU in d, and y_i. share(y, j) returns
 * y of the group's lane j. All 32 lanes of a warp must call it; lanes without a row may pass any d, i
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

/* --- a group of lanes per row, a lane per entry of the block --- */

template <class Form, int lanes_> struct mcpi_group_t : Form {
    static constexpr int lanes = lanes_;
};

/* Calls f(mcpi_group_t<...>()) with the view's types and block size, and the chosen lanes. */
template <class F> void mcpi_group_form(const mcpi_view_t *view, F f)
{
    mcpi_fixed_form(view, [&](auto form) {
        using Form = decltype(form);
        const int lanes = 8 << view->choice[1];
        if constexpr (Form::nb <= 8) /* mcpi_refuse_lanes */
            if (lanes == 8)
                f(mcpi_group_t<Form, 8>());
        if (lanes == 16)
            f(mcpi_group_t<Form, 16>());
        else if (lanes == 32)
            f(mcpi_group_t<Form, 32>());
    });
}

/* The row of a thread's group. Groups beyond the last row have no blocks. */
template <class K> struct mcpi_row_t {
    int lane; /* in the group */
    int64_t row;
    bool any, mine; /* the warp has a row; the lane has a component of one */
    int32_t begin = 0, end = 0;

    __device__ __forceinline__ mcpi_row_t(const mcpi_arrays_t<K> &a, int64_t first, int64_t last)
        : lane(static_cast<int>(threadIdx.x) % K::lanes),
          row(first + (blockIdx.x * static_cast<int64_t>(blockDim.x) + threadIdx.x) / K::lanes),
          any(row - static_cast<int>(threadIdx.x) % 32 / K::lanes < last),
          mine(row < last && lane < K::nb)
    {
        if (row < last) {
            begin = __ldg(a.start + row);
            end = __ldg(a.start + row + 1);
        }
    }
    /* Loads the lane's row of LU, and its R. */
    __device__ __forceinline__ void load(const mcpi_arrays_t<K> &a, double (&d)[K::nb],
                                         double &y) const
    {
        if (mine) {
            mcpi_load_row<K::nb>(a.LU + row * K::nb2, lane, d);
            y = __ldcs(a.R + row * K::nb + lane);
        }
    }
    __device__ __forceinline__ void store(const mcpi_arrays_t<K> &a, double y) const
    {
        if (mine)
            a.dq[row * K::nb + lane] = static_cast<typename K::X>(y);
    }
};

/* How many columns a group takes at once, and in how many passes. */
template <class K> struct mcpi_lanes_t {
    static constexpr int fitting = K::lanes / K::nb;
    static constexpr int passes = (K::nb + fitting - 1) / fitting;
    static constexpr int columns = (K::nb + passes - 1) / passes;
    static constexpr int used = columns * K::nb;
    /* Blocks whose loads are in flight. */
    static constexpr int ahead = K::nb > MCPI_FIXED_NB ? 2 : passes < 4 ? 4 / passes : 1;
};

/* Adds this lane's part of a block times its dQ to the sum: component lane % nb, columns lane /
 * nb, and so on in steps of a pass. entry(k) returns value k of the block, value(p) that of dQ in
 * pass p. */
template <class K, class Entry, class Value>
__device__ __forceinline__ void mcpi_add_block(typename K::A &sum, int lane, Entry entry,
                                               Value value)
{
    using L = mcpi_lanes_t<K>;
#pragma unroll
    for (int p = 0; p < L::passes; p++)
        if (p * L::used + lane < K::nb2)
            sum += entry(p * L::used + lane) * value(p);
}

/* Returns this lane's part of O dQ of the blocks begin .. end - 1. */
template <class K>
__device__ __forceinline__ typename K::A mcpi_lane_sum(const mcpi_arrays_t<K> &a, int32_t begin,
                                                       int32_t end, int lane)
{
    using A = typename K::A;
    constexpr int ahead = mcpi_lanes_t<K>::ahead;
    A sum = 0;
    if (lane >= mcpi_lanes_t<K>::used)
        return sum;
#pragma unroll(ahead)
    for (int32_t b = begin; b < end; b++) {
        const typename K::O *block = a.O + static_cast<int64_t>(b) * K::nb2;
        const typename K::X *x =
            a.dq + static_cast<int64_t>(__ldg(a.column + b)) * K::nb + lane / K::nb;
        mcpi_add_block<K>(
            sum, lane, [block](int k) { return mcpi_stream<A>(block + k); },
            [x](int p) { return mcpi_gather<A>(x + p * mcpi_lanes_t<K>::columns); });
    }
    return sum;
}

/* Returns the sum over the columns, in the group's lanes 0 .. nb - 1. All 32 lanes must call it. */
template <class K>
__device__ __forceinline__ typename K::A mcpi_sum_columns(typename K::A sum, int lane)
{
#pragma unroll
    for (int columns = mcpi_lanes_t<K>::columns; columns > 1; columns = (columns + 1) / 2) {
        const int kept = (columns + 1) / 2;
        const typename K::A other = __shfl_down_sync(MCPI_ALL_LANES, sum, kept * K::nb, K::lanes);
        if (lane < (columns - kept) * K::nb)
            sum += other;
    }
    return sum;
}

#endif
