/*
 * vectors.cu - the loops of conjugate gradients that are neither A nor P, on the GPU. blocks.cu has
 * those with D, newmark.cu those of a time step, ghosts.cu the ghosts.
 *
 * Each is one pass at the speed of memory, and what can share a pass does: r, r . r and the 16-bit
 * copy of r for the predictor are one pass; and x with the next p. A warp takes a row of the box, as
 * ghosts must not be touched. A sum ends in the kernel that makes its terms: blocks leave partial
 * sums, and the last block adds them in order. So equal input gives equal bits. That block also adds
 * the sums of the other GPUs and forms the scalars (cg.h), which later kernels read: the host does
 * not wait.
 */
#include "config.h"
#include <cuda_fp16.h>
#include <type_traits>
#include "rows.cuh"

static __device__ __forceinline__ void store_low(float *low, int64_t at, float value)
{
    low[at] = value;
}

static __device__ __forceinline__ void store_low(__half *low, int64_t at, float value)
{
    low[at] = __float2half_rn(value);
}

/* Calls f(low) with the type that `precision` says. */
template <class F> static void fixed_low(int precision, void *low, F f)
{
    if (precision == GFNN_FP16)
        f(static_cast<__half *>(low));
    else
        f(static_cast<float *>(low));
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
                 const double *__restrict__ f, double *__restrict__ r, double *__restrict__ x,
                 gfnn_parts_t parts)
{
    double ff = 0, most = 0;
    gfnn_each_ahead<2>(
        g, [=](int64_t at, int64_t) { return f[at]; },
        [&](int64_t at, int64_t, double value) {
            const double size = fabs(value);
            r[at] = value;
            x[at] = 0;
            ff += value * value;
            most = size <= most ? most : size;
        });
    gfnn_end_loop<GFNN_THREADS, 2, true>(parts, cg, GFNN_STARTED, ff, most, &method);
}

template <class Low>
static __global__ void __launch_bounds__(GFNN_THREADS, GFNN_RESIDENT)
    pack_kernel(gfnn_rows_t g, const gfnn_cg_t *cg, const double *__restrict__ r,
                Low *__restrict__ low)
{
    const gfnn_factors_t f(cg);
    gfnn_each_value<4>(g, [=](int64_t at, int64_t wide) {
        store_low(low, wide, static_cast<float>(f.scale() * r[at]));
    });
}

template <class Low>
static __global__ void __launch_bounds__(GFNN_THREADS, GFNN_RESIDENT)
    update_kernel(gfnn_rows_t g, gfnn_cg_t *cg, const double *__restrict__ q,
                  double *__restrict__ r, Low *__restrict__ low, gfnn_parts_t parts)
{
    const gfnn_factors_t f(cg);
    double rr = 0;
    if (f.ended)
        return;
    gfnn_each_ahead<2>(
        g,
        [=](int64_t at, int64_t) {
            return double2{r[at], q[at]};
        },
        [&](int64_t at, int64_t wide, double2 v) {
            const double value = v.x - f.alpha() * v.y;
            r[at] = value;
            if (low)
                store_low(low, wide, static_cast<float>(f.scale() * value));
            rr += value * value;
        });
    gfnn_end_loop<GFNN_THREADS, 2>(parts, cg, GFNN_UPDATED, rr, 0);
}

template <bool two>
static __global__ void __launch_bounds__(GFNN_THREADS, GFNN_RESIDENT)
    dots_kernel(gfnn_rows_t g, gfnn_cg_t *cg, const float *__restrict__ z,
                const double *__restrict__ r, const double *__restrict__ q, gfnn_parts_t parts)
{
    double zr = 0, zq = 0;
    gfnn_each_value<2>(g, [&](int64_t at, int64_t wide) {
        const double value = z[wide];
        zr += value * r[at];
        if (two)
            zq += value * q[at];
    });
    gfnn_end_loop<GFNN_THREADS, 2>(parts, cg, GFNN_PRECONDITIONED, zr, zq);
}

/* z on `wide`, or r, which is T of `fine`. */
template <bool first, class T>
static __global__ void __launch_bounds__(GFNN_THREADS, GFNN_RESIDENT)
    direction_kernel(gfnn_rows_t g, const gfnn_cg_t *cg, double *__restrict__ x,
                     const T *__restrict__ z, double *__restrict__ p)
{
    struct value_t {
        T z;
        double p, x;
    };
    constexpr bool plain = sizeof(T) == sizeof(double);
    const gfnn_factors_t f(cg);
    const double back = plain ? 1 : 1 / f.scale();
    if (f.ended)
        return;
    gfnn_each_ahead<2>(
        g,
        [=](int64_t at, int64_t wide) {
            return value_t{z[plain ? at : wide], first ? 0 : p[at], first ? 0 : x[at]};
        },
        [=](int64_t at, int64_t, const value_t &v) {
            if (!first)
                x[at] = v.x + f.alpha() * v.p;
            p[at] = first ? back * v.z : back * v.z + f.beta() * v.p;
        });
}

static __global__ void __launch_bounds__(GFNN_THREADS, GFNN_RESIDENT)
    arrive_kernel(gfnn_rows_t g, const gfnn_cg_t *cg, const double *__restrict__ p,
                  double *__restrict__ x)
{
    const gfnn_factors_t f(cg);
    if (__ldcg(&cg->told.progress) < 2)
        return;
    gfnn_each_ahead<2>(
        g,
        [=](int64_t at, int64_t) {
            return double2{x[at], p[at]};
        },
        [=](int64_t at, int64_t, double2 v) { x[at] = v.x + f.alpha() * v.y; });
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
        [=](int64_t, int64_t at, float2 v) { store_low(low, at, scale * (v.x - v.y)); });
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
                  const double *f, double *r, double *x)
{
    gfnn_launch_rows(start_kernel, view, cg, *method, f, r, x, gfnn_vectors_data(view)->parts);
}

static void pack(const gfnn_view_t *view, const gfnn_cg_t *cg, const double *r, int precision,
                 void *low)
{
    fixed_low(precision, low, [&](auto *typed) {
        using Low = std::remove_pointer_t<decltype(typed)>;
        gfnn_launch_rows(pack_kernel<Low>, view, cg, r, typed);
    });
}

static void update(const gfnn_view_t *view, gfnn_cg_t *cg, const double *q, double *r,
                   int precision, void *low)
{
    fixed_low(precision, low, [&](auto *typed) {
        using Low = std::remove_pointer_t<decltype(typed)>;
        gfnn_launch_rows(update_kernel<Low>, view, cg, q, r, typed, gfnn_vectors_data(view)->parts);
    });
}

static void dots(const gfnn_view_t *view, gfnn_cg_t *cg, const float *z, const double *r,
                 const double *q)
{
    gfnn_launch_rows(q ? dots_kernel<true> : dots_kernel<false>, view, cg, z, r, q,
                     gfnn_vectors_data(view)->parts);
}

template <class T>
static void turn(const gfnn_view_t *view, const gfnn_cg_t *cg, bool first, double *x, const T *z,
                 double *p)
{
    gfnn_launch_rows(first ? direction_kernel<true, T> : direction_kernel<false, T>, view, cg, x, z,
                     p);
}

static void direction(const gfnn_view_t *view, const gfnn_cg_t *cg, bool first, double *x,
                      const float *z, double *p)
{
    turn(view, cg, first, x, z, p);
}

static void direction_plain(const gfnn_view_t *view, const gfnn_cg_t *cg, bool first, double *x,
                            const double *r, double *p)
{
    turn(view, cg, first, x, r, p);
}

static void arrive(const gfnn_view_t *view, const gfnn_cg_t *cg, const double *p, double *x)
{
    gfnn_launch_rows(arrive_kernel, view, cg, p, x);
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

extern "C" const gfnn_vectors_t gfnn_vectors_cuda = {
    .scalars = &gfnn_scalars_cuda,
    .fill = fill,
    .fill32 = fill32,
    .dot = dot,
    .axpby = axpby,
    .add = gfnn_cuda_add,
    .start = start,
    .pack = pack,
    .update = update,
    .update_bj = gfnn_cuda_update_bj,
    .dots = dots,
    .direction = direction,
    .direction_plain = direction_plain,
    .arrive = arrive,
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
