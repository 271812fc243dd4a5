/*
 * nek_cuda.cuh - what the CUDA rungs of nekbone share: the choice of the kernel compiled for an n.
 */
#ifndef NEK_CUDA_CUH
#define NEK_CUDA_CUH

#include <type_traits>
#include "../kernel.h"
#include "machine/cuda.cuh"

/* Calls f(std::integral_constant<int, n>()) for n = 2 .. most; false if n is not among them. */
template <int most, int N = NEK_MIN_N, class F> bool nek_fixed_n(int n, F f)
{
    if constexpr (N > most) {
        return false;
    } else if (n == N) {
        f(std::integral_constant<int, N>());
        return true;
    } else {
        return nek_fixed_n<most, N + 1>(n, f);
    }
}

/* Shared memory that a block of an H100 or H200 may have; and without 1 KB for what is static. */
enum { NEK_MOST_SHARED = 227 * 1024, NEK_BLOCK_SHARED = NEK_MOST_SHARED - 1024 };
/* That it may have on this GPU; on an H100 where there is none. */
static inline size_t nek_most_shared()
{
    const rt_gpu_t *gpu = rt_device_gpu();
    return gpu ? gpu->shared : static_cast<size_t>(NEK_MOST_SHARED);
}

/* Shared memory beyond 48 KB has to be asked for; several such blocks want all there is. */
template <class Kernel> void nek_allow_shared(Kernel *kernel, size_t bytes)
{
    if (bytes <= 48 * 1024)
        return;
    RT_CUDA(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                 static_cast<int>(bytes)));
    RT_CUDA(cudaFuncSetAttribute(kernel, cudaFuncAttributePreferredSharedMemoryCarveout,
                                 cudaSharedmemCarveoutMaxShared));
}

#endif
