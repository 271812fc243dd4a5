/* machine/memory.c - the memory back-ends for GPUs: CUDA's and that of Kokkos. */
#include "config.h"
#include "machine/memory.h"

#include <stddef.h>
#include <string.h>
#include "base/mem.h"
#include "base/mem_backend.h"
#include "machine/kokkos.h"
#if RT_HAVE_CUDA
#include "machine/cuda.h"
#endif

#if RT_HAVE_CUDA

/* cudaMemset knows bytes only: copies 1 MiB of the pattern, then lets the device double it. */
static void cuda_poison(char *ptr, size_t bytes)
{
    static char seed[1 << 20];
    rt_mem_poison_block(seed, sizeof seed);
    size_t done = bytes < sizeof seed ? bytes : sizeof seed;
    RT_CUDA(cudaMemcpyAsync(ptr, seed, done, cudaMemcpyDefault, rt_stream()));
    while (done < bytes) {
        const size_t more = bytes - done < done ? bytes - done : done;
        RT_CUDA(cudaMemcpyAsync(ptr + done, ptr, more, cudaMemcpyDefault, rt_stream()));
        done += more;
    }
    RT_CUDA(cudaStreamSynchronize(rt_stream()));
}

static void *cuda_alloc(size_t bytes, rt_space_t space)
{
    void *ptr = NULL;
    if (space == RT_PINNED && bytes > rt_mem_available(RT_HOST))
        return NULL; /* page-locking makes all of it resident at once: do not ask the kernel */
    const cudaError_t status =
        space == RT_PINNED ? cudaMallocHost(&ptr, bytes) : cudaMalloc(&ptr, bytes);
    if (status == cudaErrorMemoryAllocation || status == cudaErrorInvalidValue) {
        (void)cudaGetLastError(); /* else the next launch check would find it */
        return NULL;
    }
    RT_CUDA(status);
    if (rt_mem_is_poisoning())
        cuda_poison(ptr, bytes);
    return ptr;
}

static void cuda_release(void *ptr, rt_space_t space)
{
    if (space == RT_PINNED)
        RT_CUDA(cudaFreeHost(ptr));
    else
        RT_CUDA(cudaFree(ptr));
}

static void cuda_copy(void *dst, rt_space_t dst_space, const void *src, rt_space_t src_space,
                      size_t bytes)
{
    if (dst_space == RT_HOST && src_space == RT_HOST) {
        /* the stream never touches pageable memory without our knowing it */
        rt_mem_host.copy(dst, dst_space, src, src_space, bytes);
        return;
    }
    RT_CUDA(cudaMemcpyAsync(dst, src, bytes, cudaMemcpyDefault, rt_stream()));
    RT_CUDA(cudaStreamSynchronize(rt_stream()));
}

static void cuda_fill(void *dst, rt_space_t space, int byte, size_t bytes)
{
    if (space == RT_DEVICE)
        RT_CUDA(cudaMemsetAsync(dst, byte, bytes, rt_stream()));
    else
        rt_mem_host.fill(dst, space, byte, bytes);
}

static size_t cuda_available(rt_space_t space)
{
    if (space == RT_PINNED)
        return rt_mem_available(RT_HOST);
    size_t left, total;
    RT_CUDA(cudaMemGetInfo(&left, &total));
    return left;
}

static const rt_mem_backend_t cuda_backend = {.alloc = cuda_alloc,
                                              .release = cuda_release,
                                              .copy = cuda_copy,
                                              .fill = cuda_fill,
                                              .draw = rt_draw_cuda,
                                              .available = cuda_available};
#endif

/* The back-end where Kokkos alone reaches the GPU (AMD, Intel). This interface of Kokkos has no
 * page-locked memory. */

static void kokkos_copy(void *dst, rt_space_t dst_space, const void *src, rt_space_t src_space,
                        size_t bytes)
{
    rt_kokkos_fence();
    rt_kokkos_copy(dst, dst_space == RT_DEVICE, src, src_space == RT_DEVICE, bytes);
}

/* Fills dst on the device with the `len` bytes of `seed`, repeated. */
static void kokkos_spread(void *dst, const char *seed, size_t len, size_t bytes)
{
    for (size_t done = 0; done < bytes; done += len)
        kokkos_copy((char *)dst + done, RT_DEVICE, seed, RT_HOST,
                    bytes - done < len ? bytes - done : len);
}

static void *kokkos_alloc(size_t bytes, rt_space_t space)
{
    if (space != RT_DEVICE)
        return rt_mem_host.alloc(bytes, space);
    void *ptr = rt_kokkos_alloc(bytes);
    if (ptr && rt_mem_is_poisoning()) {
        static char seed[1 << 20];
        rt_mem_poison_block(seed, sizeof seed);
        kokkos_spread(ptr, seed, sizeof seed, bytes);
    }
    return ptr;
}

static void kokkos_release(void *ptr, rt_space_t space)
{
    if (space == RT_DEVICE)
        rt_kokkos_free(ptr);
    else
        rt_mem_host.release(ptr, space);
}

static void kokkos_fill(void *dst, rt_space_t space, int byte, size_t bytes)
{
    static char seed[1 << 20];
    if (space != RT_DEVICE) {
        rt_mem_host.fill(dst, space, byte, bytes);
        return;
    }
    memset(seed, byte, sizeof seed);
    kokkos_spread(dst, seed, sizeof seed, bytes);
}

/* Where the back-end does not say what is free, only an allocation that fails shows it. */
static size_t kokkos_available(rt_space_t space)
{
    const size_t available = space == RT_DEVICE ? rt_kokkos_available() : 0;
    return available > 0 ? available : rt_mem_available(RT_HOST);
}

static const rt_mem_backend_t kokkos_backend = {.alloc = kokkos_alloc,
                                                .release = kokkos_release,
                                                .copy = kokkos_copy,
                                                .fill = kokkos_fill,
                                                .draw = rt_kokkos_draw,
                                                .available = kokkos_available};

/* ---- which one is in use ---- */

static bool on_cuda, on_kokkos;

static void choose(void)
{
#if RT_HAVE_CUDA
    if (on_cuda) {
        rt_mem_set_backend(&cuda_backend);
        return;
    }
#endif
    rt_mem_set_backend(on_kokkos ? &kokkos_backend : &rt_mem_host);
}

void rt_memory_use_cuda(bool on)
{
    on_cuda = on;
    choose();
}

void rt_memory_use_kokkos(bool on)
{
    on_kokkos = on;
    choose();
}
