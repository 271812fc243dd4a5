/*
 * nek_scalars.cuh - the scalars of a CG that stays on the GPU: inner products, alpha, beta, and a
 * solve as one CUDA graph.
 *
 * A kernel that makes terms of inner products leaves one partial sum per block. The next kernel
 * adds them; its block that finishes last adds what its blocks found, in order, and forms alpha and
 * beta, which later kernels read. So equal input gives equal bits, and the host waits once per
 * solve. The scalars also go to page-locked host memory, where the history is read after the solve.
 *
 * On several ranks the sums are added in order of rank, in one of three ways. If messages are on
 * the stream (transports nccl, peer) and the GPUs are of one host, that last block sends its sums
 * to the other GPUs and waits for theirs (halo/allreduce.cuh). If messages are on the stream but
 * the GPUs are not of one host, NCCL gathers the sums, and a kernel of one thread adds them and
 * forms the scalars. If messages are not on the stream, the host fetches the sums, adds those of all
 * ranks by MPI, and starts that kernel.
 */
#ifndef NEK_SCALARS_CUH
#define NEK_SCALARS_CUH

#include "../nekbone.h"
#include "nek_cuda.cuh"
#include "machine/async.cuh"
#include "machine/replay.h"
#include "halo/allreduce.cuh"
#include "halo/nccl.h"

/* Most sums at a time; most blocks, and the threads, of a kernel that adds. */
enum { NEK_SUMS = 4, NEK_ADDING_BLOCKS = 1024, NEK_ADDING_THREADS = 256 };

enum { NEK_RR, NEK_ALPHA, NEK_BETA, NEK_SCALARS };

typedef struct {
    double *device, *host; /* [NEK_SCALARS][iterations + 1] */
    int iterations;
    double *partial; /* [NEK_SUMS][blocks] of the element kernel */
    int blocks;
    double *second; /* [NEK_SUMS][NEK_ADDING_BLOCKS], of the kernel that adds those */
    unsigned *done; /* number of its blocks that have finished; returns to 0 */
    /* Several ranks: how the sums of all are added. One rank: all NULL. */
    rt_device_allreduce_t *allreduce; /* the last block adds, if not NULL; else: */
    double *sums; /* [NEK_SUMS] of this rank; on the device if there is `all`, else page-locked */
    double *all;  /* [ranks][NEK_SUMS] on the device, gathered by NCCL; NULL: the host adds */
    int ranks;
} nek_scalars_t;

__device__ __forceinline__ double nek_get(const nek_scalars_t &s, int which, int k)
{
    return __ldcg(s.device + which * (s.iterations + 1) + k);
}

__device__ __forceinline__ void nek_put(const nek_scalars_t &s, int which, int k, double value)
{
    s.device[which * (s.iterations + 1) + k] = value;
    s.host[which * (s.iterations + 1) + k] = value;
}

/* Adds each sum[] over the block; the results are in thread 0. Blocks are whole warps; all threads
 * must call it. */
template <int count> __device__ __forceinline__ void nek_block_sums(double (&sum)[count])
{
    __shared__ double of_warp[count][32];
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32, warps = blockDim.x / 32;
    __syncthreads(); /* all have read what the call before left in of_warp */
#pragma unroll
    for (int q = 0; q < count; q++) {
        sum[q] = rt_warp_sum(sum[q]);
        if (lane == 0)
            of_warp[q][warp] = sum[q];
    }
    __syncthreads(); /* of_warp is there */
    if (warp == 0) {
#pragma unroll
        for (int q = 0; q < count; q++)
            sum[q] = rt_warp_sum(lane < warps ? of_warp[q][lane] : 0.0);
    }
}

/* Adds each sum[] over the grid, by way of partial[count][pitch], one for each block. Returns whether
 * this is the block that was last: its thread 0 has the results. They are added in order, so equal
 * input gives equal bits. The ticket is 0 before, and after. All threads must call it. */
template <int count>
__device__ __forceinline__ bool nek_grid_sums(double *partial, int pitch, unsigned *ticket,
                                              double (&sum)[count])
{
    __shared__ bool last;
    nek_block_sums(sum);
    if (threadIdx.x == 0) {
#pragma unroll
        for (int q = 0; q < count; q++)
            partial[q * pitch + blockIdx.x] = sum[q];
        last = rt_take_ticket(ticket) == gridDim.x - 1;
    }
    __syncthreads(); /* `last` is there, and the sums of all blocks if it is true */
    if (!last)
        return false;
#pragma unroll
    for (int q = 0; q < count; q++)
        sum[q] = 0;
#pragma unroll(8 / count)
    for (unsigned b = threadIdx.x; b < gridDim.x; b += blockDim.x)
#pragma unroll
        for (int q = 0; q < count; q++)
            sum[q] += __ldcg(partial + q * pitch + b); /* from L2, because other blocks wrote it */
    nek_block_sums(sum);
    if (threadIdx.x == 0)
        *ticket = 0;
    return true;
}

/* For the element kernel: adds its threads' sums and writes them to `partial`. */
template <int count>
__device__ __forceinline__ void nek_leave_sums(const nek_scalars_t &s, double (&sum)[count])
{
    nek_block_sums(sum);
    if (threadIdx.x == 0) {
#pragma unroll
        for (int q = 0; q < count; q++)
            s.partial[q * s.blocks + blockIdx.x] = sum[q];
    }
}

/* For the kernel after it: adds this thread's share of those partial sums to sum[]. */
template <int count>
__device__ __forceinline__ void nek_take_sums(const nek_scalars_t &s, double (&sum)[count])
{
    const int step = gridDim.x * blockDim.x;
    for (int b = blockIdx.x * blockDim.x + threadIdx.x; b < s.blocks; b += step)
#pragma unroll
        for (int q = 0; q < count; q++)
            sum[q] += __ldcg(s.partial + q * s.blocks + b);
}

/* Adds the sums of all threads of the grid. The block that is last calls Scalars::form(s, it, sums)
 * or, on several ranks that the kernel cannot add, leaves the sums to nek_add_ranks. */
template <class Scalars>
__device__ __forceinline__ void nek_finish_sums(const nek_scalars_t &s, int it,
                                                double (&sum)[Scalars::count])
{
    constexpr int count = Scalars::count;
    if (!nek_grid_sums(s.second, NEK_ADDING_BLOCKS, s.done, sum))
        return;
    if (s.allreduce)
        rt_device_allreduce(s.allreduce, sum);
    if (threadIdx.x != 0)
        return;
    if (!s.sums) {
        Scalars::form(s, it, sum);
        return;
    }
#pragma unroll
    for (int q = 0; q < count; q++)
        s.sums[q] = sum[q];
}

typedef struct {
    double of[NEK_SUMS];
} nek_sums_t;

/* For one thread, on several ranks: the sums are of all ranks already, or are in s.all. */
template <class Scalars> __global__ void nek_form_scalars(nek_scalars_t s, int it, nek_sums_t all)
{
    double sum[Scalars::count];
    for (int q = 0; q < Scalars::count; q++)
        sum[q] = s.all ? s.all[q] : all.of[q];
    for (int r = 1; s.all && r < s.ranks; r++)
        for (int q = 0; q < Scalars::count; q++)
            sum[q] += s.all[r * Scalars::count + q];
    Scalars::form(s, it, sum);
}

/* Returns the blocks of a kernel that ends in nek_finish_sums: as many as can be resident, but no
 * more than there is work for. */
static inline unsigned nek_adding_blocks(int resident, unsigned needed)
{
    const int most = resident < NEK_ADDING_BLOCKS ? resident : static_cast<int>(NEK_ADDING_BLOCKS);
    return needed < static_cast<unsigned>(most) ? needed : static_cast<unsigned>(most);
}

/* Called after a kernel that ended in nek_finish_sums. Where that has added the ranks' sums, or
 * there is one rank, nothing is left to do. */
template <class Scalars> void nek_add_ranks(const nek_scalars_t &s, int it)
{
    nek_sums_t all = {};
    if (!s.sums)
        return;
    if (s.all) {
        rt_nccl_allgather(s.sums, Scalars::count, s.all);
    } else {
        RT_CUDA(cudaStreamSynchronize(rt_stream()));
        for (int q = 0; q < Scalars::count; q++)
            all.of[q] = static_cast<volatile double *>(s.sums)[q];
        rt_comm_sum(all.of, Scalars::count);
    }
    nek_form_scalars<Scalars><<<1, 1, 0, rt_stream()>>>(s, it, all);
    RT_CUDA_LAUNCHED();
}

static inline size_t nek_scalars_doubles(int64_t iterations, int64_t blocks)
{
    return static_cast<size_t>(NEK_SCALARS * (iterations + 1) + NEK_SUMS * blocks +
                               NEK_SUMS * NEK_ADDING_BLOCKS + 1 + NEK_SUMS * (1 + rt_comm_size()));
}

/* on_stream: several ranks add their sums without the host. */
static inline nek_scalars_t nek_scalars_new(int iterations, int blocks, bool on_stream)
{
    nek_scalars_t s = {};
    const size_t scalars = NEK_SCALARS * (static_cast<size_t>(iterations) + 1);
    s.iterations = iterations;
    s.blocks = blocks;
    const size_t all = nek_scalars_doubles(iterations, blocks);
    s.device = RT_NEW(double, all, RT_DEVICE);
    rt_fill(s.device, RT_DEVICE, 0, all * sizeof(double));
    s.partial = s.device + scalars;
    s.second = s.partial + NEK_SUMS * static_cast<size_t>(blocks);
    s.done = reinterpret_cast<unsigned *>(s.second + NEK_SUMS * NEK_ADDING_BLOCKS);
    s.host = RT_NEW(double, scalars + NEK_SUMS, RT_PINNED);
    s.ranks = rt_comm_size();
    if (on_stream && s.ranks > 1)
        s.allreduce = rt_device_allreduce_get();
    if (s.ranks == 1 || s.allreduce)
        return s;
    s.sums = s.host + scalars;
    if (on_stream) {
        s.sums = s.second + NEK_SUMS * NEK_ADDING_BLOCKS + 1;
        s.all = s.sums + NEK_SUMS;
    }
    return s;
}

static inline void nek_scalars_destroy(nek_scalars_t *s)
{
    RT_FREE(s->device, RT_DEVICE);
    RT_FREE(s->host, RT_PINNED);
}

static inline void nek_scalars_memory(const nek_config_t *config, int64_t blocks,
                                      double bytes[RT_SPACES])
{
    bytes[RT_DEVICE] +=
        sizeof(double) * static_cast<double>(nek_scalars_doubles(config->iterations, blocks));
    bytes[RT_PINNED] +=
        sizeof(double) * static_cast<double>(NEK_SCALARS * (config->iterations + 1) + NEK_SUMS);
}

/* Copies history and coefficients to s, when the stream is idle. */
static inline void nek_scalars_get(const nek_scalars_t *scalars, nek_solver_t *s)
{
    const double *rr = scalars->host, *alpha = rr + scalars->iterations + 1;
    const double *beta = alpha + scalars->iterations + 1;
    for (int k = 0; k <= s->iterations; k++)
        s->history[k] = sqrt(rr[k]);
    for (int k = 0; k < s->iterations; k++) {
        s->alpha[k] = alpha[k];
        s->beta[k] = beta[k];
    }
}

/* --- a solve as one graph --- */

/* Most iterations in a graph; the iterations after them are started one by one. */
enum { NEK_GRAPH_ITERATIONS = 1024 };

/* Runs a solve. enqueue(first, last) puts iterations first .. last - 1 on the stream, and after the
 * very last one what ends the solve. Unless the host takes part in every sum, it is replayed: the
 * kernels of a small mesh are shorter than a launch from the host. */
template <class Enqueue>
void nek_run_solve(rt_replay_t *replay, const nek_scalars_t *scalars, nek_solver_t *s,
                   Enqueue enqueue)
{
    const bool by_host = scalars->sums && !scalars->all;
    int replayed = s->iterations < NEK_GRAPH_ITERATIONS ? s->iterations : NEK_GRAPH_ITERATIONS;
    auto record = [&] { enqueue(0, replayed); };
    rt_timer_start("cg", s->rung->kind);
    if (by_host)
        replayed = 0;
    else
        rt_replay(
            replay, s->iterations, [](void *work) { (*static_cast<decltype(record) *>(work))(); },
            &record);
    if (replayed < s->iterations)
        enqueue(replayed, s->iterations);
    rt_timer_stop("cg");
    RT_CUDA(cudaStreamSynchronize(rt_stream()));
    nek_scalars_get(scalars, s);
}

#endif
