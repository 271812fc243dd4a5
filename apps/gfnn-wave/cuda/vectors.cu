/*
 * vectors.cu - the loops over vectors that are in no other file, on the GPU. cg.cu has those of
 * conjugate gradients, blocks.cu those with D, newmark.cu those of a time step, ghosts.cu the
 * ghosts.
 *
 * Each is one pass at the speed of memory. A warp takes a row of the box, as ghosts must not be
 * touched. A sum ends in the kernel that makes its terms: blocks leave partial sums, and the last
 * block adds them in order. So equal input gives equal bits. That block also adds the sums of the
 * other GPUs and forms the scalars (cg.h), which later kernels read: the host does not wait.
 */
#include "config.h"
#include <cuda_fp16.h>
#include "rows.cuh"

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

static __global__ void __launch_bounds__(GFNN_THREADS, GFNN_RESIDENT)
    to_half_kernel(gfnn_rows_t g, const float *__restrict__ x, __half *__restrict__ low)
{
    gfnn_each_ahead<4>(
        g, [=](int64_t, int64_t at) { return x[at]; },
        [=](int64_t, int64_t at, float value) { low[at] = __float2half_rn(value); });
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

static void to_half(const gfnn_view_t *view, const float *x, void *low)
{
    gfnn_launch_rows(to_half_kernel, view, x, static_cast<__half *>(low));
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
    bytes[RT_PINNED] += (1 + GFNN_MOST_RESIDUALS) * sizeof(double) + sizeof(gfnn_told_t);
    bytes[RT_DEVICE] += 2 * sizeof(double) * blocks + sizeof(unsigned) + sizeof(gfnn_cg_t) +
                        2 * sizeof(double) * rt_comm_size() +
                        sizeof(gfnn_entries_t) * GFNN_MAX_IDS + gfnn_cuda_ghosts_memory(config);
}

extern "C" const gfnn_vectors_t gfnn_vectors_cuda = {
    .scalars = &gfnn_scalars_cuda,
    .loops = {&gfnn_loops_cuda, &gfnn_loops32_cuda},
    .fill = fill,
    .fill32 = fill32,
    .dot = dot,
    .axpby = axpby,
    .add = gfnn_cuda_add,
    .start = start,
    .smooth32 = gfnn_cuda_smooth32,
    .dot32 = dot32,
    .to_half = to_half,
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
