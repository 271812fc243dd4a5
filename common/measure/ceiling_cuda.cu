/* measure/ceiling_cuda.cu - how the loops of measure/ceiling_gpu.hpp are launched on NVIDIA GPUs. */
#include "config.h"
#include "machine/cuda.cuh"
#include "measure/ceiling_gpu.hpp"

namespace
{

template <class Body> __global__ void run_blocks(Body body)
{
    body(blockIdx.x, gridDim.x, threadIdx.x, blockDim.x);
}

/* Threads per block, and the blocks that fill a multiprocessor with 32 registers per thread. */
constexpr int each_threads = 256, blocks_per_sm = 8;

template <class Body>
__global__ __launch_bounds__(each_threads, blocks_per_sm) void run_each(size_t n, Body body)
{
    const size_t i = static_cast<size_t>(blockIdx.x) * each_threads + threadIdx.x;
    if (i < n)
        body(i);
}

/* All sums are exact, so the order of the blocks is all the same. */
template <class Body> __global__ void add_all(size_t n, Body body, double *total)
{
    double sum = 0;
    const size_t step = static_cast<size_t>(gridDim.x) * each_threads;
    for (size_t i = static_cast<size_t>(blockIdx.x) * each_threads + threadIdx.x; i < n; i += step)
        sum += body(i);
    sum = rt_block_sum<each_threads>(sum);
    if (threadIdx.x == 0)
        atomicAdd(total, sum);
}

struct cuda_gpu {
    static constexpr bool on_host = false;
    static inline double *total;
    static inline cudaEvent_t begun, ended;

    template <class Body> static void launch(unsigned blocks, unsigned threads, const Body &body)
    {
        run_blocks<<<blocks, threads, 0, rt_stream()>>>(body);
        RT_CUDA_LAUNCHED();
    }

    template <class Body> static void each(size_t n, const Body &body)
    {
        run_each<<<rt_blocks(n, each_threads), each_threads, 0, rt_stream()>>>(n, body);
        RT_CUDA_LAUNCHED();
    }

    template <class Body> static double sum(size_t n, const Body &body)
    {
        double sum;
        const int blocks = blocks_per_sm * rt_device_gpu()->multiprocessors;
        rt_fill(total, RT_DEVICE, 0, sizeof *total);
        add_all<<<blocks, each_threads, 0, rt_stream()>>>(n, body, total);
        RT_CUDA_LAUNCHED();
        rt_copy(&sum, RT_HOST, total, RT_DEVICE, sizeof sum);
        return sum;
    }

    static void copy(double *dst, const double *src, size_t n)
    {
        RT_CUDA(cudaMemcpyAsync(dst, src, n * sizeof *dst, cudaMemcpyDeviceToDevice, rt_stream()));
    }

    static void open()
    {
        total = RT_NEW(double, 1, RT_DEVICE);
        RT_CUDA(cudaEventCreate(&begun));
        RT_CUDA(cudaEventCreate(&ended));
    }

    static void close()
    {
        RT_CUDA(cudaEventDestroy(begun));
        RT_CUDA(cudaEventDestroy(ended));
        RT_FREE(total, RT_DEVICE);
    }

    static void start()
    {
        rt_device_synchronize();
        RT_CUDA(cudaEventRecord(begun, rt_stream()));
    }

    static double stop()
    {
        RT_CUDA(cudaEventRecord(ended, rt_stream()));
        return rt_cuda_seconds(begun, ended);
    }
};

} // namespace

extern "C" const rt_loops_t rt_loops_cuda = gpu_loops<cuda_gpu>::table(rt_units_cuda);
