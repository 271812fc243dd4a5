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
#include "halo/kernels.h"

#define RT_HALO_T       T
#define RT_HALO_NAME(f) f
#define RT_HALO_FN      template <class T> static __device__ __forceinline__
#define RT_HALO_READ(p) __ldg(p)
#include "halo/kernels.h"

namespace
{

constexpr unsigned threads = 256;
constexpr int classes = RT_HALO_CLASSES + 1; /* by number of copies; the last: larger groups */

/* Blocks first[k] up to first[k + 1] work on class k. */
struct blocks_t {
    unsigned first[classes + 1];
};

/* The part of a field that a kernel needs. */
template <class T> struct array_t {
    T *data;
    int64_t stride, component_stride;
    int components;
};

template <class T> array_t<T> array_of(const rt_field_t &field)
{
    return {static_cast<T *>(field.data), field.entry_stride, field.component_stride,
            field.components};
}

template <class T, int copies>
__device__ __forceinline__ void local_class(rt_halo_op_t op, const int32_t *__restrict__ at,
                                            int32_t count, int32_t g, const array_t<T> &field)
{
    if (g >= count)
        return;
    for (int c = threadIdx.x; c < field.components; c += blockDim.x)
        group<T>(op, field.data + c * field.component_stride, field.stride, at + g, count, copies);
}

template <class T>
__device__ __forceinline__ void local_large(rt_halo_op_t op, const rt_halo_plan_t &plan, int32_t g,
                                            const array_t<T> &field)
{
    if (g >= plan.n_large)
        return;
    const int32_t first = __ldg(plan.large_start + g), last = __ldg(plan.large_start + g + 1);
    for (int c = threadIdx.x; c < field.components; c += blockDim.x)
        group<T>(op, field.data + c * field.component_stride, field.stride, plan.large + first, 1,
                 last - first);
}

template <class T>
__global__ void __launch_bounds__(threads)
    local_kernel(rt_halo_op_t op, const rt_halo_plan_t plan, const blocks_t blocks,
                 const array_t<T> field)
{
    int k = 2;
    while (blockIdx.x >= blocks.first[k + 1]) /* the same for the whole block */
        k++;
    const int32_t g = (blockIdx.x - blocks.first[k]) * blockDim.y + threadIdx.y;
    switch (k) {
    case 2:
        return local_class<T, 2>(op, plan.at[2], plan.count[2], g, field);
    case 3:
        return local_class<T, 3>(op, plan.at[3], plan.count[3], g, field);
    case 4:
        return local_class<T, 4>(op, plan.at[4], plan.count[4], g, field);
    case 5:
        return local_class<T, 5>(op, plan.at[5], plan.count[5], g, field);
    case 6:
        return local_class<T, 6>(op, plan.at[6], plan.count[6], g, field);
    case 7:
        return local_class<T, 7>(op, plan.at[7], plan.count[7], g, field);
    case 8:
        return local_class<T, 8>(op, plan.at[8], plan.count[8], g, field);
    default:
        return local_large<T>(op, plan, g, field);
    }
}

template <class T>
__global__ void __launch_bounds__(threads) pack_kernel(rt_halo_op_t op, const rt_halo_plan_t plan,
                                                       const array_t<T> field, T *__restrict__ send)
{
    const int32_t g = blockIdx.x * blockDim.y + threadIdx.y;
    if (g >= plan.n_shared)
        return;
    for (int c = threadIdx.x; c < field.components; c += blockDim.x)
        pack<T>(op, &plan, g, field.data + c * field.component_stride, field.stride, send,
                field.components, c);
}

template <class T>
__global__ void __launch_bounds__(threads)
    unpack_kernel(rt_halo_op_t op, const rt_halo_plan_t plan, const array_t<T> field,
                  const T *__restrict__ recv)
{
    const int32_t g = blockIdx.x * blockDim.y + threadIdx.y;
    if (g >= plan.n_shared)
        return;
    for (int c = threadIdx.x; c < field.components; c += blockDim.x)
        unpack<T>(op, &plan, g, field.data + c * field.component_stride, field.stride, recv,
                  field.components, c);
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
    local_kernel<T><<<blocks.first[classes], block, 0, rt_stream()>>>(job.op, plan, blocks,
                                                                      array_of<T>(job.field));
    RT_CUDA_LAUNCHED();
}

template <class T> void launch_pack(const rt_halo_plan_t &plan, const rt_halo_job_t &job)
{
    const dim3 block = block_shape(job.field);
    if (plan.n_shared == 0)
        return;
    pack_kernel<T><<<rt_blocks(plan.n_shared, block.y), block, 0, rt_stream()>>>(
        job.op, plan, array_of<T>(job.field), static_cast<T *>(job.send));
    RT_CUDA_LAUNCHED();
}

template <class T> void launch_unpack(const rt_halo_plan_t &plan, const rt_halo_job_t &job)
{
    const dim3 block = block_shape(job.field);
    if (plan.n_shared == 0)
        return;
    unpack_kernel<T><<<rt_blocks(plan.n_shared, block.y), block, 0, rt_stream()>>>(
        job.op, plan, array_of<T>(job.field), static_cast<const T *>(job.recv));
    RT_CUDA_LAUNCHED();
}

/* Calls `launch` with a value of the job's type; launch starts the kernel of that type. */
template <class Launch> void with_type(const rt_halo_job_t &job, Launch launch)
{
    switch (job.field.type) {
    case RT_F64:
        return launch(double());
    case RT_F32:
        return launch(float());
    case RT_F16:
        return launch(uint16_t());
    }
}

} // namespace

extern "C" {

static void local_cuda(const rt_halo_plan_t *plan, const rt_halo_job_t *job)
{
    with_type(*job, [=](auto value) { launch_local<decltype(value)>(*plan, *job); });
}

static void pack_cuda(const rt_halo_plan_t *plan, const rt_halo_job_t *job)
{
    with_type(*job, [=](auto value) { launch_pack<decltype(value)>(*plan, *job); });
}

static void unpack_cuda(const rt_halo_plan_t *plan, const rt_halo_job_t *job)
{
    with_type(*job, [=](auto value) { launch_unpack<decltype(value)>(*plan, *job); });
}

/* Only puts the copy on the stream, which rt_copy would wait for. */
static void copy_cuda(void *dst, rt_space_t, const void *src, rt_space_t, size_t bytes)
{
    RT_CUDA(cudaMemcpyAsync(dst, src, bytes, cudaMemcpyDefault, rt_stream()));
}

static void *mark_new_cuda(void)
{
    cudaEvent_t event;
    RT_CUDA(cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
    return event;
}

static void mark_destroy_cuda(void *mark)
{
    RT_CUDA(cudaEventDestroy(static_cast<cudaEvent_t>(mark)));
}

static void mark_cuda(void *mark)
{
    RT_CUDA(cudaEventRecord(static_cast<cudaEvent_t>(mark), rt_stream()));
}

static void wait_cuda(void *mark)
{
    RT_CUDA(cudaEventSynchronize(static_cast<cudaEvent_t>(mark)));
}

const rt_halo_kernels_t rt_halo_kernels_cuda = {
    .name = "CUDA",
    .asynchronous = true,
    .mark_new = mark_new_cuda,
    .mark_destroy = mark_destroy_cuda,
    .mark = mark_cuda,
    .wait = wait_cuda,
    .pack = pack_cuda,
    .local = local_cuda,
    .unpack = unpack_cuda,
    .copy = copy_cuda,
};

} // extern "C"
