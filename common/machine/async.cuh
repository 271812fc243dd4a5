/*
 * machine/async.cuh - for kernels that fetch ahead: barriers in shared memory (mbarrier), copies
 * into shared memory that threads do not wait for, registers that move between warps, and kernels
 * that start before the previous one has ended.
 *
 * A barrier goes from phase to phase. A phase ends when every thread that the barrier was
 * initialised for has arrived and all expected bytes have landed.
 * Bulk copies need compute capability 9.0; before that the threads of a warp copy in parts.
 */
#ifndef RT_ASYNC_CUH
#define RT_ASYNC_CUH

#include <cstdint>
#include "machine/cuda.cuh"

__device__ __forceinline__ unsigned rt_shared_address(const void *p)
{
    return static_cast<unsigned>(__cvta_generic_to_shared(p));
}

/* Called by one thread; rt_barriers_made must follow, and then a barrier that makes the other
 * threads see it. */
__device__ __forceinline__ void rt_barrier_init(uint64_t *barrier, int arrivals)
{
    asm volatile("mbarrier.init.shared.b64 [%0], %1;" ::"r"(rt_shared_address(barrier)),
                 "r"(arrivals)
                 : "memory");
}

/* Makes the barriers visible to bulk copies too. */
__device__ __forceinline__ void rt_barriers_made()
{
#if __CUDA_ARCH__ >= 900
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
#endif
}

__device__ __forceinline__ void rt_barrier_arrive(uint64_t *barrier)
{
    asm volatile("{\n\t.reg .b64 state;\n\t"
                 "mbarrier.arrive.shared.b64 state, [%0];\n\t}" ::"r"(rt_shared_address(barrier))
                 : "memory");
}

/* Waits for the end of the phase of this parity. */
__device__ __forceinline__ void rt_barrier_wait(uint64_t *barrier, int parity)
{
    unsigned done;
    do {
        asm volatile("{\n\t.reg .pred p;\n\t"
#if __CUDA_ARCH__ >= 900
                     "mbarrier.try_wait.parity.shared.b64 p, [%1], %2;\n\t"
#else
                     "mbarrier.test_wait.parity.shared.b64 p, [%1], %2;\n\t"
#endif
                     "selp.u32 %0, 1, 0, p;\n\t}"
                     : "=r"(done)
                     : "r"(rt_shared_address(barrier)), "r"(parity)
                     : "memory");
    } while (!done);
}

/* Copies 16 bytes, not through L1. */
__device__ __forceinline__ void rt_copy16(void *shared, const void *global)
{
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(rt_shared_address(shared)),
                 "l"(global)
                 : "memory");
}

/* Copies the first `bytes` of 16, 0 to 16; the rest of the 16 bytes in shared memory becomes 0. */
__device__ __forceinline__ void rt_copy16_part(void *shared, const void *global, unsigned bytes)
{
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(rt_shared_address(shared)),
                 "l"(global), "r"(bytes)
                 : "memory");
}

/* Arrives at the barrier when all rt_copy16 of this thread have landed. */
__device__ __forceinline__ void rt_copies_arrive(uint64_t *barrier)
{
    asm volatile("cp.async.mbarrier.arrive.noinc.shared.b64 [%0];" ::"r"(rt_shared_address(barrier))
                 : "memory");
}

/* A warp copies `bytes` (a multiple of 16, as the addresses are), and the phase of the barrier ends
 * when they have landed. The barrier must be initialised for RT_BULK_ARRIVALS. once: the data is
 * read once, so L2 may evict it first. */
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 900
#define RT_BULK_ARRIVALS 32
#else
#define RT_BULK_ARRIVALS 1
#endif
template <bool once>
__device__ __forceinline__ void rt_bulk_copy(void *shared, const unsigned char *global,
                                             unsigned bytes, uint64_t *barrier, int lane)
{
#if __CUDA_ARCH__ >= 900
    if (lane != 0)
        return;
    uint64_t policy = 0;
    if (once)
        asm volatile("createpolicy.fractional.L2::evict_first.b64 %0, 1.0;" : "=l"(policy));
    asm volatile("{\n\t.reg .b64 state;\n\t"
                 "mbarrier.arrive.expect_tx.shared.b64 state, [%0], %1;\n\t}" ::"r"(
                     rt_shared_address(barrier)),
                 "r"(bytes)
                 : "memory");
    if (once)
        asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes"
                     ".L2::cache_hint [%0], [%1], %2, [%3], %4;" ::"r"(rt_shared_address(shared)),
                     "l"(global), "r"(bytes), "r"(rt_shared_address(barrier)), "l"(policy)
                     : "memory");
    else
        asm volatile(
            "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, "
            "[%3];" ::"r"(rt_shared_address(shared)),
            "l"(global), "r"(bytes), "r"(rt_shared_address(barrier))
            : "memory");
#else
    for (unsigned b = 16 * lane; b < bytes; b += 16 * 32)
        rt_copy16(static_cast<unsigned char *>(shared) + b, global + b);
    rt_copies_arrive(barrier);
#endif
}

/* Gives threads n registers, more or fewer than they had (0: as they are). All four warps from a
 * multiple of four must call. Those that ask for more wait until others of their block have given as
 * many up. In code for 90a; elsewhere nothing. */
template <int n, bool more> __device__ __forceinline__ void rt_set_registers()
{
#ifdef __CUDA_ARCH_FEAT_SM90_ALL
    if constexpr (n > 0 && more)
        asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(n));
    else if constexpr (n > 0)
        asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(n));
#endif
}

/* Returns the ticket and adds 1 to it. A thread with a later ticket sees what this one wrote before.
 * Cheaper than __threadfence on both sides, which is sequentially consistent. */
__device__ __forceinline__ unsigned rt_take_ticket(unsigned *ticket)
{
    unsigned before;
    asm volatile("atom.acq_rel.gpu.global.add.u32 %0, [%1], 1;"
                 : "=r"(before)
                 : "l"(ticket)
                 : "memory");
    return before;
}

/* For kernels launched with rt_launch_chained. Code before rt_wait_for_previous may run while the
 * previous kernel still runs, and must not touch what that kernel writes; after it, everything that
 * kernel wrote can be seen. rt_let_next_start lets blocks of the next kernel take the places that
 * become free. */
__device__ __forceinline__ void rt_wait_for_previous()
{
#if __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}

__device__ __forceinline__ void rt_let_next_start()
{
#if __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
#endif
}

/* Launches a kernel that calls rt_wait_for_previous; if chained, it may start early. Do not chain a
 * kernel that also follows work of another stream (rt_side_join), because it waits for one kernel
 * only. Code for less than compute capability 9.0 has no rt_wait_for_previous, and then the launch
 * is an ordinary one. */
template <class... Parameters, class... Arguments>
void rt_launch(bool chained, void (*kernel)(Parameters...), unsigned blocks, unsigned threads,
               size_t shared, Arguments &&...arguments)
{
    cudaFuncAttributes made;
    RT_CUDA(cudaFuncGetAttributes(&made, kernel));
    cudaLaunchAttribute early[1];
    early[0].id = cudaLaunchAttributeProgrammaticStreamSerialization;
    early[0].val.programmaticStreamSerializationAllowed = 1;
    cudaLaunchConfig_t config = {};
    config.gridDim = dim3(blocks);
    config.blockDim = dim3(threads);
    config.dynamicSmemBytes = shared;
    config.stream = rt_stream();
    config.attrs = early;
    config.numAttrs = chained && made.ptxVersion >= 90 ? 1 : 0;
    RT_CUDA(cudaLaunchKernelEx(&config, kernel, static_cast<Parameters>(arguments)...));
}

template <class... Parameters, class... Arguments>
void rt_launch_chained(void (*kernel)(Parameters...), unsigned blocks, unsigned threads,
                       size_t shared, Arguments &&...arguments)
{
    rt_launch(true, kernel, blocks, threads, shared, static_cast<Parameters>(arguments)...);
}

#endif
