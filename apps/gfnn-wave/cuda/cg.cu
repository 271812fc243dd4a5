/*
 * cg.cu - the loops of conjugate gradients over vectors of one type, on the GPU: FP64 or FP32.
 *
 * What can share a pass does: x with the next p; and r, r . r and the 16-bit copy of r for the
 * predictor. A lane loads and stores 16 bytes at once.
 */
#include "config.h"
#include <cuda_fp16.h>
#include <type_traits>
#include "rows.cuh"

template <int V>
static __device__ __forceinline__ void put_low(const gfnn_rows_t &, float *low, int own,
                                               const gfnn_pack_t<float, V> &value)
{
    gfnn_put(low, own, value);
}

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
                put_low(g, low + wide, own, lowered);
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
                put_low(g, low + wide, own, lowered);
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

/* --- renew .. arrive: the tables' functions --- */

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

extern "C" const gfnn_loops_t gfnn_loops_cuda = loops<double>(gfnn_cuda_update_bj, arrive);
extern "C" const gfnn_loops_t gfnn_loops32_cuda = loops<float>(gfnn_cuda_update_bj32, arrive32);
