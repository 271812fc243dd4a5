/*
 * machine/cuda.cuh - what every .cu file of Rooftop includes: error checks, the stream, the check
 * of a launch, and sums over a block.
 */
#ifndef RT_CUDA_CUH
#define RT_CUDA_CUH

#include <cuda_runtime.h>
#include "machine/cuda.h"

/* Call this after each `kernel<<<...>>>(...)`: it checks that the launch was accepted. What the
 * kernel itself does wrong comes to light at the next call that waits. */
#define RT_CUDA_LAUNCHED() RT_CUDA(cudaGetLastError())

/* Returns how many blocks of `per_block` threads cover n items. */
static inline unsigned rt_blocks(size_t n, unsigned per_block)
{
    return static_cast<unsigned>((n + per_block - 1) / per_block);
}

/* Returns the sum over the 32 lanes of a warp in lane 0. All lanes must call it. */
template <typename T> __device__ __forceinline__ T rt_warp_sum(T x)
{
    for (int offset = 16; offset > 0; offset /= 2)
        x += __shfl_down_sync(0xffffffffu, x, offset);
    return x;
}

/* Returns the sum over a block of `threads` (a multiple of 32, at most 1024; one dimension) in
 * thread 0. All threads must call it. The order of the additions is fixed, so equal input gives
 * equal bits. It may be called again at once: the barrier at the start keeps a fast warp of the
 * next call from overwriting what the last call still reads. */
template <int threads, typename T> __device__ __forceinline__ T rt_block_sum(T x)
{
    static_assert(threads % 32 == 0 && threads <= 1024, "whole warps");
    constexpr int warps = threads / 32;
    x = rt_warp_sum(x);
    if (warps == 1)
        return x;
    __shared__ T partial[warps];
    __syncthreads();
    if (threadIdx.x % 32 == 0)
        partial[threadIdx.x / 32] = x;
    __syncthreads();
    if (threadIdx.x < 32) {
        x = threadIdx.x < warps ? partial[threadIdx.x] : T(0);
        x = rt_warp_sum(x);
    }
    return x;
}

#endif
