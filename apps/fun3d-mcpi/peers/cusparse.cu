/*
 * cusparse.cu - cuSPARSE's bsrmv: the product O x with all of O as one block CSR matrix in FP32.
 *
 * It is less than a sweep: no D, no R, and no required order of rows. It shows how fast a library
 * reads the same O with the same gather of x.
 */
#include "config.h"
#include <cusparse.h>
#include "peers.h"
#include "machine/cuda.cuh"

static void check(cusparseStatus_t status, const char *file, int line, const char *call)
{
    if (status != CUSPARSE_STATUS_SUCCESS)
        rt_die_at(file, line, call,
                  status == CUSPARSE_STATUS_ALLOC_FAILED ? RT_MEMORY : RT_ENVIRONMENT, "%s (%s)",
                  cusparseGetErrorString(status), cusparseGetErrorName(status));
}
#define CUSPARSE(call) check(call, __FILE__, __LINE__, #call)

namespace
{

struct cusparse_t {
    int rows, blocks, nb;
    size_t values; /* of x and y */
    int *start, *column;
    float *O, *x, *y;
    cusparseHandle_t handle;
    cusparseMatDescr_t description;
    cudaEvent_t from, to;
};

/* Returns a copy of n values on the device, rounded to FP32. */
float *rounded(const double *host, size_t n)
{
    float *narrow = RT_NEW(float, n, RT_HOST);
    for (size_t i = 0; i < n; i++)
        narrow[i] = static_cast<float>(host[i]);
    void *there = rt_clone(narrow, n, sizeof *narrow, RT_DEVICE);
    RT_FREE(narrow, RT_HOST);
    return static_cast<float *>(there);
}

void memory(const mcpi_config_t *config, double bytes[RT_SPACES])
{
    const double N = static_cast<double>(config->counts.rows);
    const double B = static_cast<double>(config->counts.blocks);
    const double nb = static_cast<double>(config->nb);
    const double O = sizeof(float) * nb * nb * B;
    bytes[RT_DEVICE] += O + sizeof(int) * (B + N + 1) + 2 * sizeof(float) * nb * N;
    bytes[RT_HOST] += O;
}

void *begin(const mcpi_problem_t *p, const double *x, rt_text_t *why)
{
    if (!rt_device_gpu()) {
        rt_text(why, "%s", rt_device_why_not());
        return nullptr;
    }
    const mcpi_part_t *part = p->part;
    cusparse_t *s = RT_NEW(cusparse_t, 1, RT_HOST);
    s->rows = static_cast<int>(part->rows);
    s->blocks = static_cast<int>(part->start[part->rows]);
    s->nb = p->nb;
    const size_t rows = static_cast<size_t>(s->rows), blocks = static_cast<size_t>(s->blocks);
    const size_t nb = static_cast<size_t>(s->nb);
    int *start = RT_NEW(int, rows + 1, RT_HOST);
    for (size_t row = 0; row <= rows; row++)
        start[row] = static_cast<int>(part->start[row]);
    s->start = static_cast<int *>(rt_clone(start, rows + 1, sizeof *start, RT_DEVICE));
    RT_FREE(start, RT_HOST);
    s->column = static_cast<int *>(rt_clone(part->column, blocks, sizeof(int), RT_DEVICE));
    s->O = rounded(p->matrix->O, blocks * nb * nb);
    s->values = rows * nb;
    s->x = rounded(x, s->values);
    s->y = RT_NEW(float, s->values, RT_DEVICE);
    CUSPARSE(cusparseCreate(&s->handle));
    CUSPARSE(cusparseSetStream(s->handle, rt_stream()));
    CUSPARSE(cusparseCreateMatDescr(&s->description)); /* general, indices from 0 */
    RT_CUDA(cudaEventCreate(&s->from));
    RT_CUDA(cudaEventCreate(&s->to));
    return s;
}

double run(void *state, int64_t products)
{
    cusparse_t *s = static_cast<cusparse_t *>(state);
    const float one = 1, zero = 0;
    float ms = 0;
    RT_CUDA(cudaEventRecord(s->from, rt_stream()));
    for (int64_t i = 0; i < products; i++)
        CUSPARSE(cusparseSbsrmv(s->handle, CUSPARSE_DIRECTION_COLUMN,
                                CUSPARSE_OPERATION_NON_TRANSPOSE, s->rows, s->rows, s->blocks, &one,
                                s->description, s->O, s->start, s->column, s->nb, s->x, &zero,
                                s->y));
    RT_CUDA(cudaEventRecord(s->to, rt_stream()));
    RT_CUDA(cudaEventSynchronize(s->to));
    RT_CUDA(cudaEventElapsedTime(&ms, s->from, s->to));
    return 1e-3 * static_cast<double>(ms);
}

void result(const void *state, double *values)
{
    const cusparse_t *s = static_cast<const cusparse_t *>(state);
    float *y = RT_NEW(float, s->values, RT_HOST);
    rt_copy(y, RT_HOST, s->y, RT_DEVICE, s->values * sizeof *y);
    for (size_t i = 0; i < s->values; i++)
        values[i] = static_cast<double>(y[i]);
    RT_FREE(y, RT_HOST);
}

void end(void *state)
{
    cusparse_t *s = static_cast<cusparse_t *>(state);
    RT_CUDA(cudaEventDestroy(s->from));
    RT_CUDA(cudaEventDestroy(s->to));
    CUSPARSE(cusparseDestroyMatDescr(s->description));
    CUSPARSE(cusparseDestroy(s->handle));
    RT_FREE(s->start, RT_DEVICE);
    RT_FREE(s->column, RT_DEVICE);
    RT_FREE(s->O, RT_DEVICE);
    RT_FREE(s->x, RT_DEVICE);
    RT_FREE(s->y, RT_DEVICE);
    RT_FREE(s, RT_HOST);
}

} // namespace

/* Sums of at most some 150 products of FP32 numbers: 150 x 2^-24. */
extern const mcpi_peer_t mcpi_peer_cusparse = {
    .name = "cuSPARSE bsrmv",
    .job = "O x alone, fp32",
    .sweeps = false,
    .kind = RT_CUDA,
    .allowed = 1e-5,
    .memory = memory,
    .begin = begin,
    .run = run,
    .result = result,
    .end = end,
};
