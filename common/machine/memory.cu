/* machine/memory.cu - CUDA's memory, a back-end of base/mem.h; and a kernel to ask the runtime about. */
#include "config.h"
#include "base/mem_backend.h"
#include "machine/cuda.cuh"

namespace
{

constexpr unsigned threads = 256;

__device__ size_t item()
{
    return static_cast<size_t>(blockIdx.x) * threads + threadIdx.x;
}

__global__ void poison_all(unsigned char *x, size_t bytes)
{
    const size_t i = 2 * item();
    if (i < bytes)
        x[i] = RT_MEM_POISON & 0xff;
    if (i + 1 < bytes)
        x[i + 1] = RT_MEM_POISON >> 8;
}

template <class T> __global__ void draw_all(T *x, const T *base, size_t n, rt_draw_t draw)
{
    const size_t i = item();
    if (i < n)
        x[i] = static_cast<T>(rt_drawn(base[i], draw));
}

template <class T> void draw_launch(void *x, const void *base, size_t n, rt_draw_t draw)
{
    draw_all<<<rt_blocks(n, threads), threads, 0, rt_stream()>>>(
        static_cast<T *>(x), static_cast<const T *>(base), n, draw);
    RT_CUDA_LAUNCHED();
}

void cuda_draw(void *x, const void *base, size_t n, size_t size, rt_draw_t draw)
{
    if (size == sizeof(double))
        draw_launch<double>(x, base, n, draw);
    else
        draw_launch<float>(x, base, n, draw);
}

void *cuda_alloc(size_t bytes, rt_space_t space)
{
    void *ptr = nullptr;
    if (space == RT_PINNED && bytes > rt_mem_available(RT_HOST))
        return nullptr; /* page-locking makes all of it resident at once: do not ask the kernel */
    const cudaError_t status =
        space == RT_PINNED ? cudaMallocHost(&ptr, bytes) : cudaMalloc(&ptr, bytes);
    if (status == cudaErrorMemoryAllocation || status == cudaErrorInvalidValue) {
        (void)cudaGetLastError(); /* else the next launch check would find it */
        return nullptr;
    }
    RT_CUDA(status);
    if (rt_mem_is_poisoning() && bytes > 0) {
        poison_all<<<rt_blocks(bytes / 2 + 1, threads), threads, 0, rt_stream()>>>(
            static_cast<unsigned char *>(ptr), bytes);
        RT_CUDA_LAUNCHED();
        RT_CUDA(cudaStreamSynchronize(rt_stream()));
    }
    return ptr;
}

void cuda_release(void *ptr, rt_space_t space)
{
    if (space == RT_PINNED)
        RT_CUDA(cudaFreeHost(ptr));
    else
        RT_CUDA(cudaFree(ptr));
}

void cuda_copy(void *dst, rt_space_t dst_space, const void *src, rt_space_t src_space, size_t bytes)
{
    if (dst_space == RT_HOST && src_space == RT_HOST) {
        /* the stream never touches pageable memory without our knowing it */
        rt_mem_host.copy(dst, dst_space, src, src_space, bytes);
        return;
    }
    RT_CUDA(cudaMemcpyAsync(dst, src, bytes, cudaMemcpyDefault, rt_stream()));
    RT_CUDA(cudaStreamSynchronize(rt_stream()));
}

void cuda_fill(void *dst, rt_space_t space, int byte, size_t bytes)
{
    if (space == RT_DEVICE)
        RT_CUDA(cudaMemsetAsync(dst, byte, bytes, rt_stream()));
    else
        rt_mem_host.fill(dst, space, byte, bytes);
}

size_t cuda_available(rt_space_t space)
{
    if (space == RT_PINNED)
        return rt_mem_available(RT_HOST);
    size_t left, total;
    RT_CUDA(cudaMemGetInfo(&left, &total));
    return left;
}

} // namespace

const rt_mem_backend_t rt_mem_cuda = {.alloc = cuda_alloc,
                                      .release = cuda_release,
                                      .copy = cuda_copy,
                                      .fill = cuda_fill,
                                      .draw = cuda_draw,
                                      .available = cuda_available};

/* Any kernel will do: all of them are compiled for the same architectures. */
cudaError_t rt_cuda_probe_code(void)
{
    cudaFuncAttributes attributes;
    return cudaFuncGetAttributes(&attributes, poison_all);
}
