/*
 * nek_cuda.cuh - what the CUDA rungs of nekbone share: the choice of the kernel compiled for an n,
 * the limits of a multiprocessor, and shared memory.
 */
#ifndef NEK_CUDA_CUH
#define NEK_CUDA_CUH

#include "line.hpp"
#include "machine/cuda.cuh"

/* D, or another n x n matrix, by value: kernel arguments live in constant memory. */
template <int n> struct nek_matrix {
    double at[n * n];
};

/* Of a multiprocessor of an A100, H100 or H200. */
constexpr int NEK_REGISTERS = 65536, NEK_THREADS_RESIDENT = 2048;

/* Bytes of shared memory of an H100 or H200: what a multiprocessor has, and what the system takes
 * from that for each block; what a block may have, and the same without 1 KB for static arrays. */
enum {
    NEK_SHARED = 228 * 1024,
    NEK_SYSTEM_SHARED = 1024,
    NEK_MOST_SHARED = NEK_SHARED - NEK_SYSTEM_SHARED,
    NEK_BLOCK_SHARED = NEK_MOST_SHARED - 1024
};
/* What a block may have without asking. */
enum { NEK_SHARED_BY_DEFAULT = 48 * 1024 };

/* Returns the bytes of shared memory that a block may have on this GPU; without a GPU, on an H100.
 */
static inline size_t nek_most_shared()
{
    const rt_gpu_t *gpu = rt_device_gpu();
    return gpu ? gpu->shared : static_cast<size_t>(NEK_MOST_SHARED);
}

/* Allows a kernel that much shared memory. More than 48 KB must be asked for; several such blocks
 * per multiprocessor need all the shared memory that there is. */
template <class Kernel> void nek_allow_shared(Kernel *kernel, size_t bytes)
{
    if (bytes <= NEK_SHARED_BY_DEFAULT)
        return;
    RT_CUDA(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                 static_cast<int>(bytes)));
    RT_CUDA(cudaFuncSetAttribute(kernel, cudaFuncAttributePreferredSharedMemoryCarveout,
                                 cudaSharedmemCarveoutMaxShared));
}

#endif
