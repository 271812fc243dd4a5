/*
 * halo/kernels_cuda.cu - the halo's loops on the GPU, on the one stream of this rank.
 *
 * Idea: one launch for all groups on this rank alone. A block works on one class of groups (pairs,
 * triples, ...), so within a block the number of copies is a constant, the loop over them unrolls
 * into registers and threads do not diverge. Indices are in planes, one per copy, so neighbouring
 * threads read neighbouring indices.
 * Advantage: a gather-scatter of a spectral-element mesh (pairs on faces, fours on edges, eights on
 * corners) is one kernel without divergence. Nothing here waits, so with one rank an exchange can
 * be recorded in a CUDA graph. Price: the last block of a class is not full; the values themselves
 * are gathered.
 *
 * Threads of a block are (components, groups): interleaved components go to neighbouring threads,
 * and so do neighbouring groups of a field of one component or of planes.
 */
#include "config.h"
#include "machine/cuda.cuh"

#define RT_HALO_FN      template <class T> static __device__ __forceinline__
#define RT_HALO_READ(p) __ldg(p)
#include "halo/kernels.hpp"

namespace
{

constexpr unsigned threads = 256;
constexpr int classes = RT_HALO_CLASSES + 1; /* by number of copies; the last: larger groups */

/* Blocks first[k] up to first[k + 1] work on class k. */
struct blocks_t {
    unsigned first[classes + 1];
};

template <class T, int copies>
__device__ __forceinline__ void all_class(const rt_halo_plan_t &plan, const rt_halo_job_t &job,
                                          int32_t g)
{
    if (g >= plan.count[copies])
        return;
    for (int c = threadIdx.x; c < job.field.components; c += blockDim.x)
        local_class<T>(&plan, &job, copies, g, c);
}

template <class T>
__device__ __forceinline__ void all_large(const rt_halo_plan_t &plan, const rt_halo_job_t &job,
                                          int32_t g)
{
    if (g >= plan.n_large)
        return;
    for (int c = threadIdx.x; c < job.field.components; c += blockDim.x)
        local_large<T>(&plan, &job, g, c);
}

template <class T>
__global__ void __launch_bounds__(threads)
    local_kernel(const rt_halo_plan_t plan, const rt_halo_job_t job, const blocks_t blocks)
{
    int k = 2;
    while (blockIdx.x >= blocks.first[k + 1]) /* the same for the whole block */
        k++;
    const int32_t g = (blockIdx.x - blocks.first[k]) * blockDim.y + threadIdx.y;
    switch (k) {
    case 2:
        return all_class<T, 2>(plan, job, g);
    case 3:
        return all_class<T, 3>(plan, job, g);
    case 4:
        return all_class<T, 4>(plan, job, g);
    case 5:
        return all_class<T, 5>(plan, job, g);
    case 6:
        return all_class<T, 6>(plan, job, g);
    case 7:
        return all_class<T, 7>(plan, job, g);
    case 8:
        return all_class<T, 8>(plan, job, g);
    default:
        return all_large<T>(plan, job, g);
    }
}

template <class T>
__global__ void __launch_bounds__(threads)
    pack_kernel(const rt_halo_plan_t plan, const rt_halo_job_t job)
{
    const int32_t g = blockIdx.x * blockDim.y + threadIdx.y;
    if (g >= plan.n_shared)
        return;
    for (int c = threadIdx.x; c < job.field.components; c += blockDim.x)
        pack<T>(&plan, &job, g, c);
}

template <class T>
__global__ void __launch_bounds__(threads)
    unpack_kernel(const rt_halo_plan_t plan, const rt_halo_job_t job)
{
    const int32_t g = blockIdx.x * blockDim.y + threadIdx.y;
    if (g >= plan.n_shared)
        return;
    for (int c = threadIdx.x; c < job.field.components; c += blockDim.x)
        unpack<T>(&plan, &job, g, c);
}

/* Returns the shape of a block: components on x where they are adjacent in memory, groups on y. */
dim3 block_shape(const rt_field_t &field)
{
    unsigned x = 1;
    while (field.component_stride == 1 && x < static_cast<unsigned>(field.components) && x < 32)
        x *= 2;
    return dim3(x, threads / x);
}

template <class T> void launch_local(const rt_halo_plan_t &plan, const rt_halo_job_t &job)
{
    const dim3 block = block_shape(job.field);
    blocks_t blocks = {};
    for (int k = 2; k < classes; k++) {
        const int32_t n = k < RT_HALO_CLASSES ? plan.count[k] : plan.n_large;
        blocks.first[k + 1] = blocks.first[k] + rt_blocks(n, block.y);
    }
    if (blocks.first[classes] == 0)
        return;
    local_kernel<T><<<blocks.first[classes], block, 0, rt_stream()>>>(plan, job, blocks);
    RT_CUDA_LAUNCHED();
}

/* Launches pack_kernel or unpack_kernel over the groups that other ranks hold too. */
template <class Kernel>
void launch_shared(Kernel kernel, const rt_halo_plan_t &plan, const rt_halo_job_t &job)
{
    const dim3 block = block_shape(job.field);
    if (plan.n_shared == 0)
        return;
    kernel<<<rt_blocks(plan.n_shared, block.y), block, 0, rt_stream()>>>(plan, job);
    RT_CUDA_LAUNCHED();
}

} // namespace

extern "C" {

static void local_cuda(const rt_halo_plan_t *plan, const rt_halo_job_t *job)
{
    RT_HALO_BY_TYPE(job, launch_local<T>(*plan, *job));
}

static void pack_cuda(const rt_halo_plan_t *plan, const rt_halo_job_t *job)
{
    RT_HALO_BY_TYPE(job, launch_shared(pack_kernel<T>, *plan, *job));
}

static void unpack_cuda(const rt_halo_plan_t *plan, const rt_halo_job_t *job)
{
    RT_HALO_BY_TYPE(job, launch_shared(unpack_kernel<T>, *plan, *job));
}

/* Only puts the copy on the stream, which rt_copy would wait for. */
static void copy_cuda(void *dst, rt_space_t, const void *src, rt_space_t, size_t bytes)
{
    RT_CUDA(cudaMemcpyAsync(dst, src, bytes, cudaMemcpyDefault, rt_stream()));
}

/* Of what was packed last. One event serves all halos: an exchange waits for it before another one
 * begins. */
static cudaEvent_t packed;

static void destroy_event(void)
{
    RT_CUDA(cudaEventDestroy(packed));
    packed = nullptr;
}

static void mark_cuda(void)
{
    if (!packed) {
        RT_CUDA(cudaEventCreateWithFlags(&packed, cudaEventDisableTiming));
        rt_device_at_release(destroy_event);
    }
    RT_CUDA(cudaEventRecord(packed, rt_stream()));
}

static void wait_cuda(void)
{
    RT_CUDA(cudaEventSynchronize(packed));
}

const rt_halo_kernels_t rt_halo_kernels_cuda = {
    .asynchronous = true,
    .mark = mark_cuda,
    .wait = wait_cuda,
    .pack = pack_cuda,
    .local = local_cuda,
    .unpack = unpack_cuda,
    .copy = copy_cuda,
};

} // extern "C"
