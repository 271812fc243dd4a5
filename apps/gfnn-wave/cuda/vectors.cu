/*
 * vectors.cu - the loops of conjugate gradients that are neither A nor P, on the GPU. blocks.cu has
 * those with D, newmark.cu those of a time step, ghosts.cu the ghosts.
 *
 * Each is one pass at the speed of memory, and what can share a pass does: r, r . r and the 16-bit
 * copy of r for the predictor are one pass; and x with the next p. A warp takes a row of the box, as
 * ghosts must not be touched, and a lane 16 bytes of it at once. A sum ends in the kernel that makes its terms: blocks leave partial
 * sums, and the last block adds them in order. So equal input gives equal bits. That block also adds
 * the sums of the other GPUs and forms the scalars (cg.h), which later kernels read: the host does
 * not wait.
 */
#include "config.h"
#include <cuda_fp16.h>
#include <type_traits>
#include "rows.cuh"

template <int V>
static __device__ __forceinline__ void put_low(float *low, int own,
                                               const gfnn_pack_t<float, V> &value)
{
    gfnn_put(low, own, value);
}

/* Rows of 16-bit floats begin 3 values after a boundary (GFNN_LOW_SKIP): a lane stores all but its
 * first value, and the first one of the next lane. All lanes of a warp call. */
template <int V>
static __device__ __forceinline__ void put_low(__half *low, int own,
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
}

/* Calls f(low) with the type that `precision` says. */
template <class F> static void fixed_low(int precision, void *low, F f)
{
    if (precision == GFNN_FP16)
        f(static_cast<__half *>(low));
    else
        f(static_cast<float *>(low));
}

/* Returns a value of z. */
template <class T> static __device__ __forceinline__ T as(__half z)
{
    return __half2float(z);
}
template <class T, class Z> static __device__ __forceinline__ T as(Z z)
{
    return z;
}

/* --- kernels --- */

template <bool is_fine, class T>
static __global__ void __launch_bounds__(GFNN_THREADS, GFNN_RESIDENT)
    fill_kernel(gfnn_rows_t g, T value, T *__restrict__ x)
{
    gfnn_each_value<4>(g, [=](int64_t fine, int64_t wide) { x[is_fine ? fine : wide] = value; });
}

template <bool is_fine, class T>
static __global__ void __launch_bounds__(GFNN_THREADS, GFNN_RESIDENT)
    dot_kernel(gfnn_rows_t g, const T *__restrict__ x, const T *__restrict__ y, gfnn_parts_t parts,
               double *result)
{
    double sum[1] = {0};
    gfnn_each_value<4>(g, [&](int64_t fine, int64_t wide) {
        const int64_t at = is_fine ? fine : wide;
        sum[0] += static_cast<double>(x[at]) * static_cast<double>(y[at]);
    });
    if (gfnn_grid_sums<GFNN_THREADS>(parts, sum) && threadIdx.x == 0)
        *result = sum[0];
}

/* As in BLAS, y is not read if b = 0: it may be NaN. */
static __global__ void __launch_bounds__(GFNN_THREADS, GFNN_RESIDENT)
    axpby_kernel(gfnn_rows_t g, double a, const double *__restrict__ x, double b,
                 double *__restrict__ y)
{
    gfnn_each_ahead<2>(
        g,
        [=](int64_t at, int64_t) {
            return double2{x[at], b != 0 ? b * y[at] : 0};
        },
        [=](int64_t at, int64_t, double2 v) { y[at] = a * v.x + v.y; });
}

static __global__ void __launch_bounds__(GFNN_THREADS, GFNN_RESIDENT)
    start_kernel(gfnn_rows_t g, gfnn_cg_t *cg, const __grid_constant__ gfnn_method_t method,
                 const double *__restrict__ f, gfnn_parts_t parts)
{
    double ff = 0, most = 0;
    gfnn_each_value<4>(g, [&](int64_t at, int64_t) {
        const double value = f[at], size = fabs(value);
        ff += value * value;
        most = size <= most ? most : size;
    });
    gfnn_end_loop<GFNN_THREADS, 2, true>(parts, cg, GFNN_STARTED, ff, most, &method);
}

/* If `begins`, y is not read, and there is no stage. */
template <bool begins, class T, class Low>
static __global__ void __launch_bounds__(GFNN_THREADS, GFNN_RESIDENT)
    renew_kernel(gfnn_rows_t g, gfnn_cg_t *cg, const double *__restrict__ f,
                 const double *__restrict__ y, T *__restrict__ r, T *__restrict__ x,
                 Low *__restrict__ low, gfnn_parts_t parts)
{
    struct value_t {
        gfnn_pack_t<double, 2> f, y;
    };
    const gfnn_factors_t factors(cg);
    double rr = 0;
    gfnn_each_pack<2, 2>(
        g,
        [=](int64_t at, int64_t) {
            return value_t{gfnn_get<2>(f + at), gfnn_get<2>((begins ? f : y) + at)};
        },
        [&](int64_t fine, int64_t wide, int own, const value_t &v) {
            const int64_t at = gfnn_place<T>(fine, wide);
            gfnn_pack_t<float, 2> lowered;
            gfnn_pack_t<T, 2> rounded;
#pragma unroll
            for (int e = 0; e < 2; e++) {
                const double value = factors.unit() * (v.f.at[e] - (begins ? 0 : v.y.at[e]));
                rounded.at[e] = static_cast<T>(value);
                lowered.at[e] = static_cast<float>(factors.scale() * value);
                rr += e < own ? value * value : 0;
            }
            gfnn_put(r + at, own, rounded);
            gfnn_put(x + at, own, gfnn_pack_t<T, 2>{});
            if (low)
                put_low(low + wide, own, lowered);
        });
    if (!begins)
        gfnn_end_loop<GFNN_THREADS, 2>(parts, cg, GFNN_RENEWED, rr, 0);
}

template <class T, class Low>
static __global__ void __launch_bounds__(GFNN_THREADS, GFNN_RESIDENT)
    update_kernel(gfnn_rows_t g, gfnn_cg_t *cg, const T *__restrict__ q, T *__restrict__ r,
                  Low *__restrict__ low, gfnn_parts_t parts)
{
    constexpr int V = gfnn_wide<T>;
    struct value_t {
        gfnn_pack_t<T, V> r, q;
    };
    const gfnn_factors_t f(cg);
    const float held[2] = {static_cast<float>(f.alpha()), static_cast<float>(f.scale())};
    constexpr bool single = sizeof(T) == sizeof(float);
    double rr = 0;
    if (f.ended)
        return;
    gfnn_each_pack<V, 2>(
        g,
        [=](int64_t fine, int64_t wide) {
            const int64_t at = gfnn_place<T>(fine, wide);
            return value_t{gfnn_get<V>(r + at), gfnn_get<V>(q + at)};
        },
        [&](int64_t fine, int64_t wide, int own, value_t &v) {
            const T alpha = single ? held[0] : f.alpha(), scale = single ? held[1] : f.scale();
            gfnn_pack_t<float, V> lowered;
#pragma unroll
            for (int e = 0; e < V; e++) {
                const T value = v.r.at[e] - alpha * v.q.at[e];
                const double here = value;
                v.r.at[e] = value;
                lowered.at[e] = static_cast<float>(scale * value);
                rr += e < own ? here * here : 0;
            }
            gfnn_put(r + gfnn_place<T>(fine, wide), own, v.r);
            if (low)
                put_low(low + wide, own, lowered);
        });
    gfnn_end_loop<GFNN_THREADS, 2>(parts, cg, GFNN_UPDATED, rr, 0);
}

/* Z: float or __half. */
template <bool two, class T, class Z>
static __global__ void __launch_bounds__(GFNN_THREADS, GFNN_RESIDENT)
    dots_kernel(gfnn_rows_t g, gfnn_cg_t *cg, const Z *__restrict__ z, const T *__restrict__ r,
                const T *__restrict__ q, gfnn_parts_t parts)
{
    constexpr int V = gfnn_wide<T>;
    struct value_t {
        gfnn_pack_t<Z, V> z;
        gfnn_pack_t<T, V> r, q;
    };
    double zr = 0, zq = 0;
    gfnn_each_pack<V, 1>(
        g,
        [=](int64_t fine, int64_t wide) {
            const int64_t at = gfnn_place<T>(fine, wide);
            return value_t{gfnn_get<V>(z + wide), gfnn_get<V>(r + at),
                           gfnn_get<V>((two ? q : r) + at)};
        },
        [&](int64_t, int64_t, int own, const value_t &v) {
#pragma unroll
            for (int e = 0; e < V; e++) {
                const double value = e < own ? as<float>(v.z.at[e]) : 0;
                zr += e < own ? value * v.r.at[e] : 0;
                zq += two && e < own ? value * v.q.at[e] : 0;
            }
        });
    gfnn_end_loop<GFNN_THREADS, 2>(parts, cg, GFNN_PRECONDITIONED, zr, zq);
}

/* Z: float or __half on `wide`, or the type of r, which is in the place of z. */
template <bool first, class T, class Z>
static __global__ void __launch_bounds__(GFNN_THREADS, GFNN_RESIDENT)
    direction_kernel(gfnn_rows_t g, const gfnn_cg_t *cg, T *__restrict__ x, const Z *__restrict__ z,
                     T *__restrict__ p)
{
    constexpr int V = gfnn_wide<T>;
    using pack_t = gfnn_pack_t<T, V>;
    struct value_t {
        gfnn_pack_t<Z, V> z;
        pack_t p, x;
    };
    const gfnn_factors_t f(cg);
    const T back = static_cast<T>(1 / f.scale()); /* 1 where r is in the place of z */
    const float held[2] = {static_cast<float>(f.due()), static_cast<float>(f.beta())};
    constexpr bool single = sizeof(T) == sizeof(float);
    if (f.ended)
        return;
    gfnn_each_pack<V, 1>(
        g,
        [=](int64_t fine, int64_t wide) {
            const int64_t at = gfnn_place<T>(fine, wide);
            return value_t{gfnn_get<V>(z + gfnn_place<Z>(fine, wide)),
                           first ? pack_t{} : gfnn_get<V>(p + at),
                           first ? pack_t{} : gfnn_get<V>(x + at)};
        },
        [=](int64_t fine, int64_t wide, int own, value_t &v) {
            const int64_t at = gfnn_place<T>(fine, wide);
            const T due = single ? held[0] : f.due(), beta = single ? held[1] : f.beta();
#pragma unroll
            for (int e = 0; e < V; e++) {
                const T next = back * as<T>(v.z.at[e]);
                v.x.at[e] += due * v.p.at[e];
                v.p.at[e] = first ? next : next + beta * v.p.at[e];
            }
            if (!first)
                gfnn_put(x + at, own, v.x);
            gfnn_put(p + at, own, v.p);
        });
}

/* x in FP64 is du. */
static __global__ void __launch_bounds__(GFNN_THREADS, GFNN_RESIDENT)
    arrive_kernel(gfnn_rows_t g, const gfnn_cg_t *cg, const double *__restrict__ p,
                  double *__restrict__ du)
{
    const gfnn_factors_t f(cg);
    if (f.due() == 0)
        return;
    struct value_t {
        gfnn_pack_t<double, 2> du, p;
    };
    gfnn_each_pack<2, 2>(
        g,
        [=](int64_t at, int64_t) {
            return value_t{gfnn_get<2>(du + at), gfnn_get<2>(p + at)};
        },
        [=](int64_t at, int64_t, int own, value_t &v) {
#pragma unroll
            for (int e = 0; e < 2; e++)
                v.du.at[e] += f.due() * v.p.at[e];
            gfnn_put(du + at, own, v.du);
        });
}

template <bool first>
static __global__ void __launch_bounds__(GFNN_THREADS, GFNN_RESIDENT)
    add_up_kernel(gfnn_rows_t g, const gfnn_cg_t *cg, const float *__restrict__ x,
                  const float *__restrict__ p, double *__restrict__ du)
{
    using double_t = gfnn_pack_t<double, 2>;
    using float_t = gfnn_pack_t<float, 2>;
    struct value_t {
        double_t du;
        float_t x, p;
    };
    const gfnn_factors_t f(cg);
    const double back = 1 / f.unit(); /* a power of two */
    const bool due = f.due() != 0;
    gfnn_each_pack<2, 2>(
        g,
        [=](int64_t fine, int64_t wide) {
            return value_t{first ? double_t{} : gfnn_get<2>(du + fine), gfnn_get<2>(x + wide),
                           due ? gfnn_get<2>(p + wide) : float_t{}};
        },
        [=](int64_t fine, int64_t, int own, value_t &v) {
#pragma unroll
            for (int e = 0; e < 2; e++)
                v.du.at[e] += (v.x.at[e] + f.due() * v.p.at[e]) * back;
            gfnn_put(du + fine, own, v.du);
        });
}

/* As axpby. */
static __global__ void __launch_bounds__(GFNN_THREADS, GFNN_RESIDENT)
    axpby32_kernel(gfnn_rows_t g, float a, const float *__restrict__ x, float b,
                   float *__restrict__ y)
{
    gfnn_each_ahead<4>(
        g,
        [=](int64_t, int64_t at) {
            return float2{x[at], b != 0 ? b * y[at] : 0};
        },
        [=](int64_t, int64_t at, float2 v) { y[at] = a * v.x + v.y; });
}

static __global__ void __launch_bounds__(GFNN_THREADS, GFNN_RESIDENT)
    narrow_kernel(gfnn_rows_t g, float scale, const float *__restrict__ x,
                  const float *__restrict__ y, __half *__restrict__ low)
{
    gfnn_each_ahead<4>(
        g,
        [=](int64_t, int64_t at) {
            return float2{x[at], y ? y[at] : 0};
        },
        [=](int64_t, int64_t at, float2 v) { low[at] = __float2half_rn(scale * (v.x - v.y)); });
}

/* --- fill .. newmark: the table's functions --- */

static void fill(const gfnn_view_t *view, double value, double *x)
{
    gfnn_launch_rows(fill_kernel<true, double>, view, value, x);
}

static void fill32(const gfnn_view_t *view, float value, float *z)
{
    gfnn_launch_rows(fill_kernel<false, float>, view, value, z);
}

/* Returns the sum that a kernel leaves when it is done. */
static double fetch(const gfnn_vectors_data_t *data)
{
    RT_CUDA(cudaStreamSynchronize(rt_stream()));
    return *static_cast<volatile double *>(data->result);
}

static double dot(const gfnn_view_t *view, const double *x, const double *y)
{
    const gfnn_vectors_data_t *data = gfnn_vectors_data(view);
    gfnn_launch_rows(dot_kernel<true, double>, view, x, y, data->parts, data->result);
    return fetch(data);
}

static double dot32(const gfnn_view_t *view, const float *x, const float *y)
{
    const gfnn_vectors_data_t *data = gfnn_vectors_data(view);
    gfnn_launch_rows(dot_kernel<false, float>, view, x, y, data->parts, data->result);
    return fetch(data);
}

static void axpby(const gfnn_view_t *view, double a, const double *x, double b, double *y)
{
    gfnn_launch_rows(axpby_kernel, view, a, x, b, y);
}

static void start(const gfnn_view_t *view, gfnn_cg_t *cg, const gfnn_method_t *method,
                  const double *f)
{
    gfnn_launch_rows(start_kernel, view, cg, *method, f, gfnn_vectors_data(view)->parts);
}

template <class T>
static void renew(const gfnn_view_t *view, gfnn_cg_t *cg, const double *f, const double *y, void *r,
                  void *x, int precision, void *low)
{
    fixed_low(precision, low, [&](auto *typed) {
        using Low = std::remove_pointer_t<decltype(typed)>;
        auto kernel = renew_kernel<true, T, Low>;
        if constexpr (sizeof(T) == sizeof(float))
            kernel = y ? renew_kernel<false, T, Low> : kernel;
        gfnn_launch_rows(kernel, view, cg, f, y, static_cast<T *>(r), static_cast<T *>(x), typed,
                         gfnn_vectors_data(view)->parts);
    });
}

template <class T>
static void update(const gfnn_view_t *view, gfnn_cg_t *cg, const void *q, void *r, int precision,
                   void *low)
{
    fixed_low(precision, low, [&](auto *typed) {
        using Low = std::remove_pointer_t<decltype(typed)>;
        gfnn_launch_rows(update_kernel<T, Low>, view, cg, static_cast<const T *>(q),
                         static_cast<T *>(r), typed, gfnn_vectors_data(view)->parts);
    });
}

static const float *values(const float *z)
{
    return z;
}
static const __half *values(const uint16_t *z)
{
    return reinterpret_cast<const __half *>(z);
}

template <class T, class Z>
static void dots(const gfnn_view_t *view, gfnn_cg_t *cg, const Z *z, const void *r, const void *q)
{
    using Value = std::remove_cvref_t<decltype(*values(z))>;
    gfnn_launch_rows(q ? dots_kernel<true, T, Value> : dots_kernel<false, T, Value>, view, cg,
                     values(z), static_cast<const T *>(r), static_cast<const T *>(q),
                     gfnn_vectors_data(view)->parts);
}

template <class T, class Z>
static void turn(const gfnn_view_t *view, const gfnn_cg_t *cg, bool first, void *x, const Z *z,
                 void *p)
{
    gfnn_launch_rows(first ? direction_kernel<true, T, Z> : direction_kernel<false, T, Z>, view, cg,
                     static_cast<T *>(x), z, static_cast<T *>(p));
}

template <class T, class Z>
static void direction(const gfnn_view_t *view, const gfnn_cg_t *cg, bool first, void *x, const Z *z,
                      void *p)
{
    turn<T>(view, cg, first, x, values(z), p);
}

template <class T>
static void direction_plain(const gfnn_view_t *view, const gfnn_cg_t *cg, bool first, void *x,
                            const void *r, void *p)
{
    turn<T>(view, cg, first, x, static_cast<const T *>(r), p);
}

static void arrive(const gfnn_view_t *view, const gfnn_cg_t *cg, bool, const void *, const void *p,
                   double *du)
{
    gfnn_launch_rows(arrive_kernel, view, cg, static_cast<const double *>(p), du);
}

static void arrive32(const gfnn_view_t *view, const gfnn_cg_t *cg, bool first, const void *x,
                     const void *p, double *du)
{
    gfnn_launch_rows(first ? add_up_kernel<true> : add_up_kernel<false>, view, cg,
                     static_cast<const float *>(x), static_cast<const float *>(p), du);
}

static void axpby32(const gfnn_view_t *view, float a, const float *x, float b, float *y)
{
    gfnn_launch_rows(axpby32_kernel, view, a, x, b, y);
}

static void narrow(const gfnn_view_t *view, float scale, const float *x, const float *y, void *low)
{
    gfnn_launch_rows(narrow_kernel, view, scale, x, y, static_cast<__half *>(low));
}

/* --- set up --- */

static void set_up(gfnn_view_t *view, const gfnn_form_t *form)
{
    gfnn_vectors_data_t *data = RT_NEW(gfnn_vectors_data_t, 1, RT_HOST);
    const unsigned none = 0;
    int device, multiprocessors;
    RT_CUDA(cudaGetDevice(&device));
    RT_CUDA(cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, device));
    *data = gfnn_vectors_data_t();
    data->blocks = static_cast<unsigned>(multiprocessors) * GFNN_RESIDENT;
    data->parts.partial = RT_NEW(double, 2 * static_cast<size_t>(data->blocks), RT_DEVICE);
    data->parts.ticket = static_cast<unsigned *>(rt_clone(&none, 1, sizeof none, RT_DEVICE));
    data->result = RT_NEW(double, 1, RT_PINNED);
    data->entries = gfnn_cuda_entries_new(view, form);
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

/* Partial sums depend on the device and are few: two per block. */
static void memory(const gfnn_config_t *config, const gfnn_box_t *, double bytes[RT_SPACES])
{
    const rt_gpu_t *gpu = rt_device_gpu();
    const double blocks = gpu ? gpu->multiprocessors * GFNN_RESIDENT : 0;
    bytes[RT_HOST] += sizeof(gfnn_vectors_data_t);
    bytes[RT_PINNED] += sizeof(double) + sizeof(gfnn_told_t);
    bytes[RT_DEVICE] += 2 * sizeof(double) * blocks + sizeof(unsigned) + sizeof(gfnn_cg_t) +
                        GFNN_MOST_RESIDUALS * sizeof(double) + 2 * sizeof(double) * rt_comm_size() +
                        sizeof(gfnn_entries_t) * GFNN_MAX_IDS + gfnn_cuda_ghosts_memory(config);
}

template <class T>
static constexpr gfnn_loops_t loops(decltype(gfnn_loops_t::update_bj) update_bj,
                                    decltype(gfnn_loops_t::arrive) arrives)
{
    return {.renew = renew<T>,
            .update = update<T>,
            .update_bj = update_bj,
            .dots = dots<T, float>,
            .direction = direction<T, float>,
            .dots_low = dots<T, uint16_t>,
            .direction_low = direction<T, uint16_t>,
            .direction_plain = direction_plain<T>,
            .arrive = arrives};
}

static constexpr gfnn_loops_t in_double = loops<double>(gfnn_cuda_update_bj, arrive);
static constexpr gfnn_loops_t in_single = loops<float>(gfnn_cuda_update_bj32, arrive32);

extern "C" const gfnn_vectors_t gfnn_vectors_cuda = {
    .scalars = &gfnn_scalars_cuda,
    .loops = {&in_double, &in_single},
    .fill = fill,
    .fill32 = fill32,
    .dot = dot,
    .axpby = axpby,
    .add = gfnn_cuda_add,
    .start = start,
    .smooth32 = gfnn_cuda_smooth32,
    .axpby32 = axpby32,
    .dot32 = dot32,
    .narrow = narrow,
    .newmark_before = gfnn_cuda_newmark_before,
    .newmark_after = gfnn_cuda_newmark_after,
    .hold = gfnn_cuda_hold,
    .wrap = gfnn_cuda_wrap,
    .share = gfnn_cuda_share,
    .unshare = gfnn_cuda_unshare,
    .set_up = set_up,
    .tear_down = tear_down,
    .memory = memory,
};
