/* vectors.cu - what is done to vectors on the GPU, and the sum over ranks of shared nodes. */
#include "config.h"
#include "alya_cuda.cuh"
#include "halo/direct.cuh"
#include "machine/async.cuh"

enum { THREADS = 256 };

/* One thread per node and component, so that neighbours read neighbouring doubles whatever the
 * strides are; the rest of a record with more than 3 doubles per node is skipped. */
__global__ void __launch_bounds__(THREADS)
    copy_kernel(int64_t nodes, const double *from, int from_stride, double *to, int to_stride)
{
    const int64_t step = static_cast<int64_t>(gridDim.x) * THREADS;
    for (int64_t k = blockIdx.x * static_cast<int64_t>(THREADS) + threadIdx.x; k < 3 * nodes;
         k += step) {
        const int64_t n = k / 3, i = k - 3 * n;
        to[n * to_stride + i] = from[n * from_stride + i];
    }
}

/* Where the values are is read while the kernel before still runs. */
__global__ void __launch_bounds__(THREADS)
    exchange_kernel(const __grid_constant__ rt_halo_direct_t d, double *r)
{
    const int step = gridDim.x * THREADS, id = blockIdx.x * THREADS + threadIdx.x;
    rt_halo_group_t mine = {};
    double own = 0;
    if (id < d.groups)
        mine = rt_halo_group(d, id);
    rt_wait_for_previous();
    const unsigned epoch = rt_halo_epoch(d);
    if (id < d.groups)
        own = rt_halo_send(d, mine, r, epoch);
    for (int g = id + step; g < d.groups; g += step)
        rt_halo_send(d, rt_halo_group(d, g), r, epoch);
    if (id < d.groups)
        rt_halo_take(d, mine, r, epoch, own);
    for (int g = id + step; g < d.groups; g += step) {
        const rt_halo_group_t more = rt_halo_group(d, g);
        rt_halo_take(d, more, r, epoch, rt_halo_own(d, more, r));
    }
    rt_halo_end_epoch(d, epoch);
}

static void copy(int64_t nodes, const double *from, int from_stride, double *to, int to_stride)
{
    const int64_t most = 1 << 20, needed = (3 * nodes + THREADS - 1) / THREADS;
    if (nodes == 0)
        return;
    copy_kernel<<<static_cast<unsigned>(needed < most ? needed : most), THREADS, 0, rt_stream()>>>(
        nodes, from, from_stride, to, to_stride);
    RT_CUDA_LAUNCHED();
}

/* --- the sum over ranks --- */

struct exchange_t {
    rt_halo_direct_t direct;
    unsigned blocks;
};

/* All blocks must fit on the GPU at once. */
static void *exchange_new(rt_halo_t *halo)
{
    exchange_t *x = RT_NEW(exchange_t, 1, RT_HOST);
    const auto values = static_cast<size_t>(rt_halo_info(halo).shared_entries);
    const unsigned most = 4u * static_cast<unsigned>(rt_device_gpu()->multiprocessors);
    const unsigned needed = values > 0 ? rt_blocks(values, THREADS) : 1;
    x->blocks = needed < most ? needed : most;
    RT_EXPECT(rt_halo_direct(halo, x->blocks, &x->direct), RT_ENVIRONMENT,
              "a halo that is not of transport peer");
    return x;
}

static void exchange_destroy(void *exchange)
{
    RT_FREE(exchange, RT_HOST);
}

static void exchange(const void *opaque, double *r)
{
    const auto *x = static_cast<const exchange_t *>(opaque);
    rt_launch_chained(exchange_kernel, x->blocks, THREADS, 0, x->direct, r);
}

extern "C" const alya_vectors_t alya_vectors_cuda = {.copy = copy,
                                                     .exchange_new = exchange_new,
                                                     .exchange_destroy = exchange_destroy,
                                                     .exchange = exchange};
