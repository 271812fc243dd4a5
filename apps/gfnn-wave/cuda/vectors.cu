/*
 * vectors.cu - the loops of loops/ on the GPU; blocks.cu has those with D, ghosts.cu the ghosts.
 *
 * Each is one pass at the speed of memory. A warp takes a row of the box, as ghosts must not be
 * touched, and a lane loads and stores 16 bytes at once. A sum ends in the kernel that makes its
 * terms: blocks leave partial sums, and the last block adds them in order. So equal input gives
 * equal bits. That block also adds the sums of the other GPUs and forms the scalars (cg.h), which
 * later kernels read: the host does not wait.
 */
#include "config.h"
#include <cuda_fp16.h>
#include "rows.cuh"
#include "../loops/table.hpp"

template <class T> static __device__ __forceinline__ T gfnn_as(__half z)
{
    return __half2float(z);
}

/* --- what a loop gets --- */

/* Rows of 16-bit floats begin 3 values after a boundary (GFNN_LOW_SKIP): a lane stores all but its
 * first value, and the first one of the next lane. A box alone has its ghosts in x stored too
 * (gfnn_low_wraps). All lanes of a warp call. */
template <int V>
static __device__ __forceinline__ void put_low(const gfnn_rows_t &g, __half *low, int own,
                                               const gfnn_pack_t<float, V> &value)
{
    const int lane = threadIdx.x % 32;
    const float next = __shfl_down_sync(0xffffffffu, value.at[0], 1);
    const bool whole = lane < 31 && own > V;
    gfnn_pack_t<__half, V> shifted;
#pragma unroll
    for (int e = 0; e < V; e++)
        shifted.at[e] = __float2half_rn(e + 1 < V ? value.at[e + 1] : next);
    if (whole)
        *reinterpret_cast<gfnn_pack_t<__half, V> *>(low + 1) = shifted;
    if (lane == 0 && own > 0)
        low[0] = __float2half_rn(value.at[0]);
#pragma unroll
    for (int e = 1; e < V; e++)
        if (!whole && e < own)
            low[e] = __float2half_rn(value.at[e]);
    if (!g.alone || (own <= g.n[0] - GFNN_ND && own >= V + GFNN_ND))
        return;
#pragma unroll
    for (int e = 0; e < V; e++) {
        if (own - e > g.n[0] - GFNN_ND)
            low[e + g.n[0]] = __float2half_rn(value.at[e]);
        if (own - e <= GFNN_ND && own - e > 0)
            low[e - g.n[0]] = __float2half_rn(value.at[e]);
    }
}

template <int V>
static __device__ __forceinline__ void put_low(const gfnn_rows_t &, float *low, int own,
                                               const gfnn_pack_t<float, V> &value)
{
    gfnn_put(low, own, value);
}

/* low NULL: the preconditioner gets nothing. */
template <class T, class Low> struct scalars_t : gfnn_factors_t<T> {
    const gfnn_rows_t &g;
    Low *const low;

    __device__ __forceinline__ scalars_t(const gfnn_rows_t &g_, const gfnn_cg_t *cg, Low *low_)
        : gfnn_factors_t<T>(cg), g(g_), low(low_)
    {
    }
    template <int V>
    __device__ __forceinline__ void lower(int64_t wide, int own,
                                          const gfnn_pack_t<float, V> &value) const
    {
        if (low)
            put_low(g, low + wide, own, value);
    }
};
struct no_scalars_t {
};

struct sums_t {
    double one = 0, two = 0;

    __device__ __forceinline__ void add(bool own, double one_, double two_)
    {
        one += own ? one_ : 0;
        two += own ? two_ : 0;
    }
};

/* --- kernels --- */

template <class Loop, class C>
static __device__ __forceinline__ void run_loop(const gfnn_rows_t &g, const Loop &loop, const C &c,
                                                sums_t &sums)
{
    gfnn_each_pack<Loop::V, Loop::ahead>(
        g, [&](int64_t fine, int64_t wide) { return loop.template get<Loop::V>(c, fine, wide); },
        [&](int64_t fine, int64_t wide, int own, auto &v) {
            loop.template put<Loop::V>(c, fine, wide, own, v, sums);
        });
}

template <class Loop>
static __global__ void __launch_bounds__(GFNN_THREADS, GFNN_RESIDENT)
    plain_kernel(gfnn_rows_t g, Loop loop)
{
    sums_t sums;
    run_loop(g, loop, no_scalars_t(), sums);
}

template <class Loop>
static __global__ void __launch_bounds__(GFNN_THREADS, GFNN_RESIDENT)
    sum_kernel(gfnn_rows_t g, Loop loop, gfnn_parts_t parts, double *result)
{
    sums_t sums;
    run_loop(g, loop, no_scalars_t(), sums);
    double sum[1] = {sums.one};
    if (gfnn_grid_sums<GFNN_THREADS>(parts, sum) && threadIdx.x == 0)
        *result = sum[0];
}

template <class Loop, class Cg, class Low>
static __global__ void __launch_bounds__(GFNN_THREADS, GFNN_RESIDENT)
    cg_kernel(gfnn_rows_t g, Cg *cg, Loop loop, Low *low, gfnn_parts_t parts)
{
    const scalars_t<typename Loop::real, Low> c(g, cg, low);
    sums_t sums;
    if ((Loop::stops && c.ended) || (Loop::only_due && !c.is_due))
        return;
    run_loop(g, loop, c, sums);
    if constexpr (Loop::sums > 0)
        gfnn_end_loop<GFNN_THREADS, 2>(parts, cg, Loop::stage, sums.one, sums.two);
}

static __global__ void __launch_bounds__(GFNN_THREADS, GFNN_RESIDENT)
    start_kernel(gfnn_rows_t g, gfnn_cg_t *cg, const __grid_constant__ gfnn_method_t method,
                 const double *__restrict__ f, gfnn_parts_t parts)
{
    double ff = 0, most = 0;
    gfnn_each_pack<2, 2>(
        g, [=](int64_t at, int64_t) { return gfnn_get<2>(f + at); },
        [&](int64_t, int64_t, int own, const gfnn_pack_t<double, 2> &v) {
#pragma unroll
            for (int e = 0; e < 2; e++) {
                const double value = e < own ? v.at[e] : 0, size = fabs(value);
                ff += value * value;
                most = size <= most ? most : size;
            }
        });
    gfnn_end_loop<GFNN_THREADS, 2, true>(parts, cg, GFNN_STARTED, ff, most, &method);
}

static __global__ void add_kernel(double value, double *at)
{
    *at += value;
}

/* --- the back end of table.hpp --- */

/* Every kernel over rows has this grid. */
template <class... P, class... A>
static void launch_rows(void (*kernel)(gfnn_rows_t, P...), const gfnn_view_t *view, A... arguments)
{
    kernel<<<gfnn_vectors_data(view)->blocks, GFNN_THREADS, 0, rt_stream()>>>(
        gfnn_rows_t(view->box), arguments...);
    RT_CUDA_LAUNCHED();
}

struct back_end_t {
    using half = __half;

    template <class Loop> static void run(const gfnn_view_t *view, const Loop &loop)
    {
        launch_rows(plain_kernel<Loop>, view, loop);
    }
    /* Waits for the sum that the kernel leaves. */
    template <class Loop> static double sum(const gfnn_view_t *view, const Loop &loop)
    {
        const gfnn_vectors_data_t *data = gfnn_vectors_data(view);
        launch_rows(sum_kernel<Loop>, view, loop, data->parts, data->result);
        RT_CUDA(cudaStreamSynchronize(rt_stream()));
        return *static_cast<volatile double *>(data->result);
    }
    template <class Cg, class Loop, class Low = float>
    static void run_cg(const gfnn_view_t *view, Cg *cg, const Loop &loop, Low *low = nullptr)
    {
        launch_rows(cg_kernel<Loop, Cg, Low>, view, cg, loop, low, gfnn_vectors_data(view)->parts);
    }
    template <class Loop>
    static void run_low(const gfnn_view_t *view, gfnn_cg_t *cg, const Loop &loop, int precision,
                        void *low)
    {
        if (precision == GFNN_FP16)
            run_cg(view, cg, loop, static_cast<__half *>(low));
        else
            run_cg(view, cg, loop, static_cast<float *>(low));
    }
    template <class T> static constexpr auto update_bj = gfnn_cuda_update_bj<T>;
    static void start(const gfnn_view_t *view, gfnn_cg_t *cg, const gfnn_method_t *method,
                      const double *f)
    {
        launch_rows(start_kernel, view, cg, *method, f, gfnn_vectors_data(view)->parts);
    }
    static void add(const gfnn_view_t *, int64_t at, double value, double *x)
    {
        add_kernel<<<1, 1, 0, rt_stream()>>>(value, x + at);
        RT_CUDA_LAUNCHED();
    }
    static constexpr auto smooth32 = gfnn_cuda_smooth32;
    static constexpr auto wrap = gfnn_cuda_wrap;
    static constexpr auto share = gfnn_cuda_share;
    static constexpr auto unshare = gfnn_cuda_unshare;
    static constexpr std::nullptr_t memory = nullptr;
    static constexpr const gfnn_scalars_t *scalars = &gfnn_scalars_cuda;

    static void set_up(gfnn_view_t *view, const gfnn_form_t *form)
    {
        gfnn_vectors_data_t *data = RT_NEW(gfnn_vectors_data_t, 1, RT_HOST);
        const unsigned none = 0;
        *data = gfnn_vectors_data_t();
        data->blocks = static_cast<unsigned>(rt_device_gpu()->multiprocessors) * GFNN_RESIDENT;
        data->parts.partial = RT_NEW(double, 2 * static_cast<size_t>(data->blocks), RT_DEVICE);
        data->parts.ticket = static_cast<unsigned *>(rt_clone(&none, 1, sizeof none, RT_DEVICE));
        data->result = RT_NEW(double, 1, RT_PINNED);
        data->entries = gfnn_entries_new(view, form);
        data->ghosts = gfnn_cuda_ghosts_new(view);
        view->data = data;
    }
    static void tear_down(gfnn_view_t *view)
    {
        gfnn_vectors_data_t *data = static_cast<gfnn_vectors_data_t *>(view->data);
        if (!data)
            return;
        gfnn_cuda_ghosts_destroy(data->ghosts);
        RT_FREE(data->parts.partial, RT_DEVICE);
        RT_FREE(data->parts.ticket, RT_DEVICE);
        RT_FREE(data->result, RT_PINNED);
        RT_FREE(data->entries, RT_DEVICE);
        RT_FREE(view->data, RT_HOST);
    }
};

extern "C" const gfnn_vectors_t gfnn_vectors_cuda = gfnn_vectors_of_back_end<back_end_t>::table();
