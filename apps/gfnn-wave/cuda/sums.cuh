/*
 * sums.cuh - sums over a grid with a fixed order of additions, and the scalars that follow from
 * them (cg.h), formed by the kernel that has the sums.
 */
#ifndef GFNN_SUMS_CUH
#define GFNN_SUMS_CUH

#include <type_traits>
#include "apps/gfnn-wave/kernel.h"
#include "halo/allreduce.cuh"
#include "machine/async.cuh"

/* Where the blocks of a kernel leave their parts. */
struct gfnn_parts_t {
    double *partial;  /* [values][blocks] */
    unsigned *ticket; /* how many blocks have left theirs; returns to 0 */
};

/* Returns the largest over a block; NaN is above all. All threads call it. */
template <int threads> __device__ __forceinline__ double gfnn_block_largest(double x)
{
    __shared__ double of[threads];
    of[threadIdx.x] = x;
    for (int half = threads / 2; half > 0; half /= 2) {
        __syncthreads();
        if (threadIdx.x < half && !(of[threadIdx.x] >= of[threadIdx.x + half]))
            of[threadIdx.x] = of[threadIdx.x + half];
    }
    __syncthreads();
    return of[0];
}

template <int threads, int count, bool largest>
__device__ __forceinline__ void gfnn_block_sums(double (&sum)[count])
{
#pragma unroll
    for (int q = 0; q < count; q++)
        sum[q] = largest && q == count - 1 ? gfnn_block_largest<threads>(sum[q])
                                           : rt_block_sum<threads>(sum[q]);
}

/* Adds each value over all threads of the grid, which all call it; with `largest` the last is the
 * largest instead. The last block to arrive adds what the others left, in the order of the blocks:
 * equal input gives equal bits. Returns true in that block; its thread 0 has the sums. */
template <int threads, int count, bool largest = false>
__device__ __forceinline__ bool gfnn_grid_sums(const gfnn_parts_t &parts, double (&sum)[count])
{
    __shared__ bool last;
    const unsigned blocks = gridDim.x * gridDim.y * gridDim.z;
    gfnn_block_sums<threads, count, largest>(sum);
    if (threadIdx.x == 0) {
        const unsigned block = blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z);
#pragma unroll
        for (int q = 0; q < count; q++)
            parts.partial[q * blocks + block] = sum[q];
        last = rt_take_ticket(parts.ticket) == blocks - 1;
    }
    __syncthreads();
    if (!last)
        return false;
#pragma unroll
    for (int q = 0; q < count; q++) {
        sum[q] = 0;
        for (unsigned b = threadIdx.x; b < blocks; b += threads) {
            const double part = __ldcg(parts.partial + q * blocks + b);
            if (!largest || q < count - 1)
                sum[q] += part;
            else if (!(sum[q] >= part))
                sum[q] = part;
        }
    }
    gfnn_block_sums<threads, count, largest>(sum);
    if (threadIdx.x == 0)
        *parts.ticket = 0;
    return true;
}

/* Takes the sums of a stage, of all ranks or of this one, and forms what follows; tells the host of
 * a start, an end, or a new residual. For one thread. The residual is there before the progress that announces it. */
static __device__ __forceinline__ void gfnn_form_stage(gfnn_cg_t *at, gfnn_stage_t stage,
                                                       double first, double second,
                                                       const gfnn_method_t *method)
{
    gfnn_cg_t cg = *at;
    if (method)
        cg.method = *method;
    cg.sums[0] = first;
    cg.sums[1] = second;
    if (cg.forms)
        gfnn_form(&cg, stage);
    *at = cg;
    if (!cg.forms || (stage != GFNN_STARTED && stage != GFNN_UPDATED && stage != GFNN_RENEWED))
        return;
    cg.host->residual = cg.status.residual;
    __threadfence_system();
    *static_cast<volatile int64_t *>(&cg.host->progress) = cg.status.progress;
}

/* Ends a stage in the block that has the sums of this rank; all its threads call. Where several
 * ranks' sums are not added here, gfnn_scalars_t does the rest. method: of a start. */
template <int count, bool largest = false>
__device__ __forceinline__ void gfnn_settle(gfnn_cg_t *cg, gfnn_stage_t stage, double (&sum)[count],
                                            const gfnn_method_t *method = nullptr)
{
    if (cg->allreduce)
        rt_device_allreduce<count, largest>(cg->allreduce, sum);
    if (threadIdx.x == 0)
        gfnn_form_stage(cg, stage, sum[0], count > 1 ? sum[count - 1] : 0, method);
}

/* Ends a loop with sums over the grid, all of whose threads call it. A call, not inlined: otherwise
 * the sums and what is made of them take registers from the loop, whose values then spill. */
template <int threads, int count, bool largest = false>
static __device__ __noinline__ void gfnn_end_loop(const gfnn_parts_t parts, gfnn_cg_t *cg,
                                                  gfnn_stage_t stage, double first, double second,
                                                  const gfnn_method_t *method = nullptr)
{
    double sums[count];
    sums[0] = first;
    if (count > 1)
        sums[count - 1] = second;
    if (gfnn_grid_sums<threads, count, largest>(parts, sums))
        gfnn_settle<count, largest>(cg, stage, sums, method);
}

/* A scalar in shared memory: in registers, doubles make a loop spill. */
struct gfnn_shared_t {
    const volatile double *at;

    __device__ __forceinline__ operator double() const
    {
        return *at;
    }
};

/* The scalars that a loop over vectors of T reads (loops/loops.hpp). All threads of the block make it. */
template <class T> struct gfnn_factors_t {
    using value_t = std::conditional_t<sizeof(T) == sizeof(float), float, gfnn_shared_t>;
    value_t alpha, beta, scale, due;
    gfnn_shared_t unit;
    T back;          /* 1 / scale */
    double per_unit; /* 1 / a power of two */
    bool ended, is_due;

    static __device__ __forceinline__ value_t value(const volatile double *at)
    {
        if constexpr (sizeof(T) == sizeof(float))
            return static_cast<float>(*at);
        else
            return {at};
    }
    __device__ __forceinline__ explicit gfnn_factors_t(const gfnn_cg_t *cg)
    {
        __shared__ double factor[5];
        if (threadIdx.x == 0) {
            factor[0] = __ldcg(&cg->alpha);
            factor[1] = __ldcg(&cg->beta);
            factor[2] = __ldcg(&cg->scale);
            factor[3] = __ldcg(&cg->due);
            factor[4] = __ldcg(&cg->unit);
        }
        ended = (__ldcg(&cg->status.progress) & 1) != 0;
        __syncthreads();
        const volatile double *of = factor;
        alpha = value(of);
        beta = value(of + 1);
        scale = value(of + 2);
        due = value(of + 3);
        unit = {of + 4};
        back = static_cast<T>(1 / of[2]);
        per_unit = 1 / of[4];
        is_due = of[3] != 0;
    }
};

#endif
