/*
 * scalars.cu - the scalars of conjugate gradients in device memory: how they become those of all
 * ranks, and how the host learns when a solve has ended.
 *
 * Kernels form them, in one of three ways. On one rank, or where GPUs write into each other's
 * memory, the kernel that has the sums does it (sums.cuh). Where messages are on the stream but the
 * GPUs are of several hosts, NCCL gathers the sums, and a kernel of one thread adds them in order of
 * rank. Else the host fetches the sums, adds those of all ranks by MPI, and starts that kernel.
 */
#include "config.h"
#include "gfnn_cuda.cuh"
#include "halo/nccl.h"

static gfnn_cg_data_t make(bool on_stream)
{
    const int ranks = rt_comm_size();
    gfnn_cg_data_t data = {};
    gfnn_cg_t cg = {};
    if (ranks > 1 && on_stream)
        cg.allreduce = rt_device_allreduce_get();
    if (ranks > 1 && on_stream && !cg.allreduce)
        data.all = RT_NEW(double, 2 * static_cast<size_t>(ranks), RT_DEVICE);
    data.status = RT_NEW(gfnn_status_t, 1, RT_PINNED);
    data.status->progress = -1;
    data.forms = cg.forms = ranks == 1 || cg.allreduce;
    cg.host = data.status;
    data.history = cg.history = RT_NEW(double, GFNN_MOST_RESIDUALS, RT_PINNED);
    data.cg = static_cast<gfnn_cg_t *>(rt_clone(&cg, 1, sizeof cg, RT_DEVICE));
    return data;
}

static void destroy(gfnn_cg_data_t *data)
{
    RT_FREE(data->cg, RT_DEVICE);
    RT_FREE(data->all, RT_DEVICE);
    RT_FREE(data->history, RT_PINNED);
    RT_FREE(data->status, RT_PINNED);
}

struct two_t {
    double of[2];
};

/* all: the sums of each rank; NULL: sums are those of all ranks. */
static __global__ void form_kernel(gfnn_cg_t *cg, gfnn_stage_t stage, const double *all, int ranks,
                                   two_t sums)
{
    for (int r = 0; all && r < ranks; r++) {
        const double second = all[2 * r + 1];
        sums.of[0] = r == 0 ? all[0] : sums.of[0] + all[2 * r];
        if (r == 0)
            sums.of[1] = second;
        else if (stage != GFNN_STARTED)
            sums.of[1] += second;
        else if (!(sums.of[1] >= second))
            sums.of[1] = second;
    }
    cg->forms = true;
    gfnn_form_stage(cg, stage, sums.of[0], sums.of[1], nullptr);
    cg->forms = false;
}

static void settle(const gfnn_cg_data_t *data, gfnn_stage_t stage)
{
    two_t sums = {};
    if (data->forms)
        return;
    if (data->all) {
        rt_nccl_allgather(data->cg->sums, 2, data->all);
    } else {
        rt_copy(sums.of, RT_HOST, data->cg->sums, RT_DEVICE, sizeof sums.of);
        const bool largest = stage == GFNN_STARTED;
        rt_comm_sum(sums.of, largest ? 1 : 2);
        if (largest)
            rt_comm_max(sums.of + 1, 1);
    }
    form_kernel<<<1, 1, 0, rt_stream()>>>(data->cg, stage, data->all, rt_comm_size(), sums);
    RT_CUDA_LAUNCHED();
}

/* Reads what kernels write while the stream is at work, until this many iterations are done. Asking the
 * stream finds a GPU that is lost, and ends the wait where nothing more will come. */
static gfnn_status_t wait_for(const gfnn_cg_data_t *data, int64_t iterations)
{
    volatile gfnn_status_t *from = data->status;
    cudaError_t status = cudaErrorNotReady;
    gfnn_status_t known;
    do {
        known.progress = from->progress;
        if (known.progress >= 2 * iterations || gfnn_cg_has_ended(&known))
            break;
        if (status != cudaErrorNotReady)
            RT_CUDA(status);
        RT_EXPECT(status == cudaErrorNotReady, RT_ENVIRONMENT,
                  "the GPU has reported %lld of %lld half iterations",
                  static_cast<long long>(known.progress), static_cast<long long>(2 * iterations));
        status = cudaStreamQuery(rt_stream());
    } while (true);
    __sync_synchronize();
    known.residual = from->residual;
    return known;
}

static gfnn_status_t status(const gfnn_cg_data_t *data, int64_t iterations)
{
    const gfnn_status_t known = wait_for(data, iterations);
    if (gfnn_cg_has_ended(&known)) /* nothing writes it before the next start */
        data->status->progress = -1;
    return known;
}

static double residual(const gfnn_cg_data_t *data, int64_t iterations)
{
    wait_for(data, iterations);
    return static_cast<volatile double *>(data->history)[iterations];
}

extern "C" const gfnn_scalars_t gfnn_scalars_cuda = {.on_device = true,
                                                     .make = make,
                                                     .destroy = destroy,
                                                     .settle = settle,
                                                     .status = status,
                                                     .residual = residual};
