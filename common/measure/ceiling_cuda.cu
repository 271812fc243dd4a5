/*
 * measure/ceiling_cuda.cu - the loops of rt_ceiling on NVIDIA GPUs.
 *
 * Bandwidth: each thread moves 16 bytes at a time and issues all its loads before the first store;
 * neighbours in a warp touch neighbouring addresses. How many loads in flight and how many blocks
 * are best depends on the GPU and on the size of the data, so several launch shapes are tried and
 * the best counts.
 *
 * Arithmetic: multiply-adds in registers, several independent chains per thread, on full
 * multiprocessors.
 */
#include "config.h"
#include "machine/cuda.cuh"
#include "measure/ceiling_loops.h"

namespace
{

/* ---- bandwidth ---- */

struct shape_t {
    int threads;       /* per block */
    int unroll;        /* items of 16 bytes that a thread has in flight, of each array */
    int blocks_per_sm; /* 0: as many blocks as cover the data once */
};

const shape_t shapes[] = {
    {256, 1, 0}, {256, 2, 0}, {256, 4, 0}, {512, 1, 0}, {1024, 1, 0}, {512, 2, 4}, {256, 4, 8},
};
const int n_shapes = sizeof shapes / sizeof shapes[0];

struct arrays_t {
    double2 *array[RT_LOOP_ARRAYS];
};

template <rt_loop_t loop>
__device__ __forceinline__ double2 load_and_add(const arrays_t &s, size_t i)
{
    double2 v = s.array[1][i];
    if (loop == RT_LOOP_TRIAD) {
        const double2 c = s.array[2][i];
        v.x += RT_TRIAD_SCALE * c.x;
        v.y += RT_TRIAD_SCALE * c.y;
    }
    if (loop == RT_LOOP_READ) {
        double2 w[RT_LOOP_ARRAYS - 2];
#pragma unroll
        for (int k = 2; k < RT_LOOP_ARRAYS; k++)
            w[k - 2] = s.array[k][i];
#pragma unroll
        for (int k = 2; k < RT_LOOP_ARRAYS; k++) {
            v.x += w[k - 2].x;
            v.y += w[k - 2].y;
        }
    }
    return v;
}

/* A block takes tiles of blockDim * unroll items, gridDim tiles apart. The last tile may be
 * short. */
template <rt_loop_t loop, int unroll> __global__ void stream(arrays_t s, size_t n)
{
    const size_t tile = static_cast<size_t>(blockDim.x) * unroll;
    for (size_t first = blockIdx.x * tile; first < n; first += gridDim.x * tile) {
        double2 v[unroll];
        if (first + tile <= n) {
#pragma unroll
            for (int u = 0; u < unroll; u++)
                v[u] = load_and_add<loop>(s, first + u * blockDim.x + threadIdx.x);
#pragma unroll
            for (int u = 0; u < unroll; u++)
                s.array[0][first + u * blockDim.x + threadIdx.x] = v[u];
        } else {
            for (size_t i = first + threadIdx.x; i < n; i += blockDim.x)
                s.array[0][i] = load_and_add<loop>(s, i);
        }
    }
}

int multiprocessors()
{
    return rt_device_gpu()->multiprocessors;
}

template <rt_loop_t loop> void stream_launch(const shape_t &shape, const arrays_t &s, size_t n)
{
    unsigned blocks = rt_blocks(n, static_cast<unsigned>(shape.threads * shape.unroll));
    const unsigned most = static_cast<unsigned>(shape.blocks_per_sm * multiprocessors());
    if (most > 0 && blocks > most)
        blocks = most;
    if (shape.unroll == 1)
        stream<loop, 1><<<blocks, shape.threads, 0, rt_stream()>>>(s, n);
    else if (shape.unroll == 2)
        stream<loop, 2><<<blocks, shape.threads, 0, rt_stream()>>>(s, n);
    else
        stream<loop, 4><<<blocks, shape.threads, 0, rt_stream()>>>(s, n);
    RT_CUDA_LAUNCHED();
}

void cuda_pass(rt_loop_t loop, int shape, const rt_streams_t *streams)
{
    arrays_t s;
    for (int k = 0; k < RT_LOOP_ARRAYS; k++)
        s.array[k] = reinterpret_cast<double2 *>(streams->array[k]);
    const size_t n = streams->n / 2; /* measure/ceiling.c makes n even */
    switch (loop) {
    case RT_LOOP_COPY:
        stream_launch<RT_LOOP_COPY>(shapes[shape], s, n);
        break;
    case RT_LOOP_TRIAD:
        stream_launch<RT_LOOP_TRIAD>(shapes[shape], s, n);
        break;
    default:
        stream_launch<RT_LOOP_READ>(shapes[shape], s, n);
        break;
    }
}

void cuda_copy(double *dst, const double *src, size_t n)
{
    RT_CUDA(cudaMemcpyAsync(dst, src, n * sizeof *dst, cudaMemcpyDeviceToDevice, rt_stream()));
}

/* ---- data and checks ---- */

const int check_threads = 256;

__global__ void set_values(double *x, size_t n, int label)
{
    const size_t step = static_cast<size_t>(gridDim.x) * blockDim.x;
    for (size_t i = blockIdx.x * static_cast<size_t>(blockDim.x) + threadIdx.x; i < n; i += step)
        x[i] = rt_loop_value(i, label);
}

__global__ void count_wrong(const double *x, size_t n, rt_expected_t expected, double *partial)
{
    double wrong = 0;
    const size_t step = static_cast<size_t>(gridDim.x) * blockDim.x;
    for (size_t i = blockIdx.x * static_cast<size_t>(blockDim.x) + threadIdx.x; i < n; i += step)
        if (__double_as_longlong(x[i]) != __double_as_longlong(rt_loop_expected(i, expected)))
            wrong += 1;
    wrong = rt_block_sum<check_threads>(wrong);
    if (threadIdx.x == 0)
        partial[blockIdx.x] = wrong;
}

const int blocks_per_sm = 8;

unsigned check_blocks()
{
    return static_cast<unsigned>(blocks_per_sm * multiprocessors());
}

/* One number per block, for check_blocks() blocks: what the kernels of this file return. */
double *partial;

double partial_sum()
{
    const size_t n = check_blocks();
    double *host = RT_NEW(double, n, RT_HOST), sum = 0;
    rt_copy(host, RT_HOST, partial, RT_DEVICE, n * sizeof *host);
    for (size_t i = 0; i < n; i++)
        sum += host[i];
    RT_FREE(host, RT_HOST);
    return sum;
}

void cuda_set(double *x, size_t n, int label)
{
    set_values<<<check_blocks(), check_threads, 0, rt_stream()>>>(x, n, label);
    RT_CUDA_LAUNCHED();
}

double cuda_wrong(const double *x, size_t n, rt_expected_t expected)
{
    count_wrong<<<check_blocks(), check_threads, 0, rt_stream()>>>(x, n, expected, partial);
    RT_CUDA_LAUNCHED();
    return partial_sum();
}

/* ---- fused multiply-add ---- */

/* blocks_per_sm blocks of so many threads fill a multiprocessor, with 32 registers per thread. */
const int fma_threads = 256;
/* Steps that are written out. */
const int fma_unroll = 16;

template <typename T, int chains>
__global__ __launch_bounds__(fma_threads, blocks_per_sm) void fma_chains(T a, T b, int steps,
                                                                         double *partial)
{
    T x[chains];
#pragma unroll
    for (int j = 0; j < chains; j++)
        x[j] = static_cast<T>(j + threadIdx.x % 4);
    for (int step = 0; step < steps; step += fma_unroll) {
#pragma unroll
        for (int u = 0; u < fma_unroll; u++)
#pragma unroll
            for (int j = 0; j < chains; j++)
                x[j] = fma(a, x[j], b);
    }
    double sum = 0;
#pragma unroll
    for (int j = 0; j < chains; j++)
        sum += static_cast<double>(x[j]);
    sum = rt_block_sum<fma_threads>(sum);
    if (threadIdx.x == 0)
        partial[blockIdx.x] = sum;
}

const int chains_of_shape[] = {2, 4, 8};
const int fma_shapes = sizeof chains_of_shape / sizeof *chains_of_shape;

template <typename T> void fma_launch(int chains, T a, T b, int steps)
{
    const unsigned blocks = check_blocks();
    if (chains == 2)
        fma_chains<T, 2><<<blocks, fma_threads, 0, rt_stream()>>>(a, b, steps, partial);
    else if (chains == 4)
        fma_chains<T, 4><<<blocks, fma_threads, 0, rt_stream()>>>(a, b, steps, partial);
    else
        fma_chains<T, 8><<<blocks, fma_threads, 0, rt_stream()>>>(a, b, steps, partial);
    RT_CUDA_LAUNCHED();
}

void cuda_fma(int bits, int shape, double a, double b, int steps)
{
    if (bits == 64)
        fma_launch<double>(chains_of_shape[shape], a, b, steps);
    else
        fma_launch<float>(chains_of_shape[shape], static_cast<float>(a), static_cast<float>(b),
                          steps);
}

double cuda_fma_lanes(int bits, int shape)
{
    (void)bits;
    return static_cast<double>(check_blocks()) * fma_threads * chains_of_shape[shape];
}

/* ---- the stopwatch ---- */

cudaEvent_t start_event, stop_event;

void cuda_open()
{
    partial = RT_NEW(double, check_blocks(), RT_DEVICE);
    RT_CUDA(cudaEventCreate(&start_event));
    RT_CUDA(cudaEventCreate(&stop_event));
}

void cuda_close()
{
    RT_CUDA(cudaEventDestroy(start_event));
    RT_CUDA(cudaEventDestroy(stop_event));
    RT_FREE(partial, RT_DEVICE);
}

void cuda_start()
{
    rt_device_synchronize();
    RT_CUDA(cudaEventRecord(start_event, rt_stream()));
}

double cuda_stop()
{
    RT_CUDA(cudaEventRecord(stop_event, rt_stream()));
    return rt_cuda_seconds(start_event, stop_event);
}

constexpr rt_loops_t table()
{
    rt_loops_t t = {};
    t.space = RT_DEVICE;
    t.shapes = n_shapes;
    t.fma_shapes = fma_shapes;
    t.open = cuda_open;
    t.close = cuda_close;
    t.start = cuda_start;
    t.stop = cuda_stop;
    t.set = cuda_set;
    t.wrong = cuda_wrong;
    t.pass = cuda_pass;
    t.copy = cuda_copy;
    t.fma = cuda_fma;
    t.fma_lanes = cuda_fma_lanes;
    t.fma_sum = partial_sum;
    return t;
}

} // namespace

extern "C" const rt_loops_t rt_loops_cuda = table();
