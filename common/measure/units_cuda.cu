/*
 * measure/units_cuda.cu - caches, tensor cores, atomics, launches and barriers of NVIDIA GPUs.
 *
 * Every kernel adds whole numbers up, and its sum to a count. Tensor cores multiply ones,
 * which takes less power than real data: their rate is an upper bound. It is that of mma.sync; in
 * half precision wgmma is faster on Hopper.
 */
#include "config.h"
#include <type_traits>
#include "machine/cuda.cuh"
#include "machine/replay.h"
#include "measure/ceiling_loops.h"

namespace
{

using count_t = unsigned long long;

/* Threads of a block, and what each has in flight: a block takes `part` items at a time. */
constexpr int threads = 512, blocks_per_sm = 2, loads = 4, part = threads * loads;
constexpr unsigned steps = 1024; /* of a run */

struct {
    void *data;
    count_t *count; /* device memory; [0] is the sum */
    unsigned blocks, turns;
    double expected; /* sum of a run */
    rt_replay_t graph;
} unit;

void open_count(size_t counters)
{
    unit.blocks = static_cast<unsigned>(rt_device_gpu()->multiprocessors * blocks_per_sm);
    unit.count = RT_NEW(count_t, counters, RT_DEVICE);
    rt_fill(unit.count, RT_DEVICE, 0, counters * sizeof *unit.count);
}

bool right()
{
    count_t sum;
    rt_copy(&sum, RT_HOST, unit.count, RT_DEVICE, sizeof sum);
    return static_cast<double>(sum) == unit.expected;
}

void end()
{
    rt_replay_drop(&unit.graph);
    RT_FREE(unit.count, RT_DEVICE);
    RT_FREE(unit.data, RT_DEVICE);
}

__device__ __forceinline__ void add_to(count_t *count, count_t sum)
{
    sum = rt_block_sum<threads>(sum);
    if (threadIdx.x == 0)
        atomicAdd(count, sum);
}

/* ---- L2 and shared memory ---- */

/* Reads `turns` parts per block and step: of L2 others from step to step, so that nothing is kept
 * in L1 or in registers; in shared memory the first part of the set, of which warps take turns. */
template <bool shared>
__global__ __launch_bounds__(threads, blocks_per_sm) void read_all(const uint4 *set, unsigned turns,
                                                                   count_t *count)
{
    __shared__ uint4 tile[shared ? part : 1];
    const unsigned parts = turns * gridDim.x;
    for (unsigned i = threadIdx.x; shared && i < part; i += threads)
        tile[i] = set[i];
    __syncthreads();
    unsigned sum = 0;
    for (unsigned step = 0; step < steps; step++)
        for (unsigned turn = 0; turn < turns; turn++) {
            const unsigned which = (blockIdx.x + turn * gridDim.x + step * 37) % parts;
            const uint4 *mine = shared ? tile + (threadIdx.x + 32 * step) % threads
                                       : set + static_cast<size_t>(which) * part + threadIdx.x;
            uint4 v[loads];
#pragma unroll
            for (int k = 0; k < loads; k++)
                v[k] = shared ? mine[k * threads] : __ldcg(mine + k * threads);
#pragma unroll
            for (int k = 0; k < loads; k++)
                sum += v[k].x + v[k].y + v[k].z + v[k].w;
        }
    add_to(count, sum);
}

/* Takes about a quarter of L2, in whole parts; or a part for all blocks. */
template <bool shared> double reads_begin(int)
{
    open_count(1);
    const size_t least = static_cast<size_t>(unit.blocks) * part * sizeof(uint4);
    const size_t turns = shared ? 1 : (rt_device_gpu()->l2 / 4 + least / 2) / least;
    unit.turns = static_cast<unsigned>(turns < 1 ? 1 : turns > 8 ? 8 : turns);
    const size_t bytes = unit.turns * least, words = (shared ? part * sizeof(uint4) : bytes) / 4;
    uint32_t *set = RT_NEW(uint32_t, words, RT_HOST);
    double sum = 0;
    for (size_t i = 0; i < words; i++)
        sum += set[i] = rt_unit_word(i);
    unit.expected = sum * steps * (shared ? unit.blocks : 1);
    unit.data = rt_clone(set, words, sizeof *set, RT_DEVICE);
    rt_free(set, RT_HOST);
    return static_cast<double>(bytes) * steps;
}

template <bool shared> void reads_run(void *)
{
    read_all<shared><<<unit.blocks, threads, 0, rt_stream()>>>(
        static_cast<const uint4 *>(unit.data), unit.turns, unit.count);
    RT_CUDA_LAUNCHED();
}

/* ---- tensor cores ---- */

/* Shapes of mma.sync: FP64 with k = 4; FP64 with k = 16, for sm_90; FP16 with k = 16. All factors are
 * 1, so that each of a lane's sums grows by k. */
enum { FP64, FP64_WIDE, FP16 };
constexpr int of_arch[] = {80, 90, 80}, of_k[] = {4, 16, 16}, of_sums[] = {2, 4, 4};
constexpr int of_tiles[] = {4, 2, 4}; /* independent of each other */
constexpr int of_items = 8;           /* of A in a lane, at most */
constexpr unsigned products = 16384;  /* of a run, in each tile: exact in FP32 */

template <int shape, class Item> __device__ __forceinline__ void multiply(Item *x, const Item *a)
{
#if __CUDA_ARCH__ >= 800
    if constexpr (shape == FP64)
        asm volatile("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0,%1},{%2},{%2},{%0,%1};"
                     : "+d"(x[0]), "+d"(x[1])
                     : "d"(a[0]));
    if constexpr (shape == FP16)
        asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3},"
                     "{%4,%5,%6,%7},{%4,%5},{%0,%1,%2,%3};"
                     : "+f"(x[0]), "+f"(x[1]), "+f"(x[2]), "+f"(x[3])
                     : "r"(__float_as_uint(a[0])), "r"(__float_as_uint(a[1])),
                       "r"(__float_as_uint(a[2])), "r"(__float_as_uint(a[3])));
#endif
#if __CUDA_ARCH__ >= 900
    if constexpr (shape == FP64_WIDE)
        asm volatile("mma.sync.aligned.m16n8k16.row.col.f64.f64.f64.f64 {%0,%1,%2,%3},"
                     "{%4,%5,%6,%7,%8,%9,%10,%11},{%4,%5,%6,%7},{%0,%1,%2,%3};"
                     : "+d"(x[0]), "+d"(x[1]), "+d"(x[2]), "+d"(x[3])
                     : "d"(a[0]), "d"(a[1]), "d"(a[2]), "d"(a[3]), "d"(a[4]), "d"(a[5]), "d"(a[6]),
                       "d"(a[7]));
#endif
}

/* The counts behind the first are 0, which the compiler does not know: it would share registers
 * among operands, and copy them for every instruction. */
template <int shape> __global__ __launch_bounds__(threads) void multiply_all(count_t *count)
{
    using Item = std::conditional_t<shape == FP16, float, double>;
    constexpr int tiles = of_tiles[shape], sums = of_sums[shape];
    const Item one = shape == FP16 ? static_cast<Item>(__uint_as_float(0x3c003c00)) : Item(1);
    Item a[of_items];
#pragma unroll
    for (int k = 0; k < of_items; k++)
        a[k] = one + static_cast<Item>(count[1 + k]);
    Item x[tiles][sums] = {};
#pragma unroll 4
    for (unsigned step = 0; step < products; step++)
#pragma unroll
        for (int j = 0; j < tiles; j++)
            multiply<shape, Item>(x[j], a);
    count_t sum = 0;
#pragma unroll
    for (int i = 0; i < tiles * sums; i++)
        sum += static_cast<count_t>(x[i / sums][i % sums]);
    add_to(count, sum);
}

/* Returns 0 where the kernel was compiled for an older GPU, even if it runs on a newer one. */
template <int shape> double tensor_begin(int)
{
    cudaFuncAttributes made;
    RT_CUDA(cudaFuncGetAttributes(&made, multiply_all<shape>));
    open_count(1 + of_items);
    const double sums = 1.0 * unit.blocks * threads * of_tiles[shape] * of_sums[shape] * products;
    unit.expected = sums * of_k[shape];
    return made.ptxVersion >= of_arch[shape] ? sums * 2 * of_k[shape] : 0;
}

template <int shape> void tensor_run(void *)
{
    multiply_all<shape><<<unit.blocks, threads, 0, rt_stream()>>>(unit.count);
    RT_CUDA_LAUNCHED();
}

/* ---- atomics ---- */

constexpr unsigned additions = 512; /* of a run, to each address */

/* Each address is one thread's, which reads it back to see what was added. */
__global__ __launch_bounds__(threads, blocks_per_sm) void add_all(double *x, count_t *count)
{
    double sum = 0;
    x += blockIdx.x * part + threadIdx.x;
    for (unsigned i = 0; i < additions; i++)
#pragma unroll
        for (int k = 0; k < loads; k++)
            atomicAdd(x + k * threads, 1.0); /* the result is not used: red.add */
    __threadfence();
    for (int k = 0; k < loads; k++)
        sum += *static_cast<const volatile double *>(x + k * threads);
    add_to(count, static_cast<count_t>(sum));
}

double atomics_begin(int)
{
    open_count(1);
    const size_t n = static_cast<size_t>(unit.blocks) * part;
    unit.data = rt_alloc(n, sizeof(double), RT_DEVICE);
    rt_fill(unit.data, RT_DEVICE, 0, n * sizeof(double));
    unit.expected = static_cast<double>(n) * additions;
    return unit.expected;
}

void atomics_run(void *)
{
    add_all<<<unit.blocks, threads, 0, rt_stream()>>>(static_cast<double *>(unit.data), unit.count);
    RT_CUDA_LAUNCHED();
}

/* ---- launches ---- */

constexpr int launches = 96, counted = 16; /* of a run; the others do nothing at all */

__global__ void empty(int which, count_t *count)
{
    if (which % counted == 0)
        ++*count;
}

/* wait: for each of them, if not NULL. */
void launch_all(void *wait)
{
    for (int i = 0; i < launches; i++) {
        empty<<<1, 1, 0, rt_stream()>>>(i, unit.count);
        RT_CUDA_LAUNCHED();
        if (wait)
            rt_device_synchronize();
    }
}

double launches_begin(int)
{
    open_count(1);
    unit.expected = launches / counted;
    return launches;
}

void waits_run(void *)
{
    launch_all(&unit);
}

void graph_run(void *)
{
    rt_replay(&unit.graph, 0, launch_all, nullptr);
}

/* ---- barriers of all blocks, one on each multiprocessor ---- */

/* In every `look`-th step a block leaves the number of the step before the barrier, and reads that
 * of its neighbour behind it. Counts: barriers passed, arrivals, and from `lines` on the numbers. */
constexpr unsigned barriers = 1024, look = 16, lines = 32;

__global__ void wait_for_all(volatile count_t *count)
{
    const unsigned next = (blockIdx.x + 1) % gridDim.x;
    count_t passed = 0;
    for (unsigned step = 1; step <= barriers; step++) {
        __syncthreads();
        if (threadIdx.x == 0) {
            if (step % look == 1)
                count[lines + blockIdx.x] = step;
            __threadfence();
            atomicAdd(const_cast<count_t *>(count + lines / 2), 1);
            while (count[lines / 2] < static_cast<count_t>(step) * gridDim.x)
                ;
            __threadfence();
            passed += step % look != 1 || count[lines + next] >= step;
        }
        __syncthreads();
    }
    if (threadIdx.x == 0)
        atomicAdd(const_cast<count_t *>(count), passed);
}

double barriers_begin(int)
{
    const rt_gpu_t *gpu = rt_device_gpu();
    int can = 0;
    RT_CUDA(cudaDeviceGetAttribute(&can, cudaDevAttrCooperativeLaunch, gpu->ordinal));
    open_count(lines + static_cast<size_t>(gpu->multiprocessors));
    unit.expected = 1.0 * gpu->multiprocessors * barriers;
    return can ? barriers : 0;
}

void barriers_run(void *)
{
    const unsigned blocks = unit.blocks / blocks_per_sm;
    void *arguments[] = {&unit.count};
    rt_fill(unit.count, RT_DEVICE, 0, (lines + blocks) * sizeof *unit.count);
    RT_CUDA(cudaLaunchCooperativeKernel(wait_for_all, dim3(blocks), dim3(256), arguments, 0,
                                        rt_stream()));
}

} // namespace

extern "C" const rt_unit_row_t rt_units_cuda[] = {
    {RT_UNIT_L2, 0, reads_begin<false>, reads_run<false>, right, end},
    {RT_UNIT_SHARED, 0, reads_begin<true>, reads_run<true>, right, end},
    {RT_UNIT_TENSOR64, 0, tensor_begin<FP64>, tensor_run<FP64>, right, end},
    {RT_UNIT_TENSOR64, 0, tensor_begin<FP64_WIDE>, tensor_run<FP64_WIDE>, right, end},
    {RT_UNIT_TENSOR16, 0, tensor_begin<FP16>, tensor_run<FP16>, right, end},
    {RT_UNIT_ATOMICS, 0, atomics_begin, atomics_run, right, end},
    {RT_UNIT_LAUNCH, 0, launches_begin, launch_all, right, end},
    {RT_UNIT_GRAPH_NODE, 0, launches_begin, graph_run, right, end},
    {RT_UNIT_HOST_WAIT, 0, launches_begin, waits_run, right, end},
    {RT_UNIT_GRID_BARRIER, 0, barriers_begin, barriers_run, right, end},
    {},
};
