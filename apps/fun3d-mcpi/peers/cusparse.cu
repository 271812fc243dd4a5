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
    const mcpi_matrix_t *matrix; /* the problem's */
    int rows, blocks, nb;
    size_t values; /* of x and y */
    int *start, *column;
    float *O, *x, *y;
    double *host_x;
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

void *begin(const mcpi_problem_t *p, rt_text_t *why)
{
    if (!rt_device_gpu()) {
        rt_text(why, "%s", rt_device_why_not());
        return nullptr;
    }
    const mcpi_part_t *part = p->part;
    const double values =
        static_cast<double>(p->nb) * p->nb * static_cast<double>(p->counts.blocks);
    if (1.2 * sizeof(float) * values > static_cast<double>(rt_mem_available(RT_DEVICE))) {
        rt_text(why, "too little memory is free on the GPU; use a smaller problem");
        return nullptr;
    }
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
    s->matrix = p->matrix;
    s->host_x = RT_NEW(double, s->values, RT_HOST);
    for (size_t i = 0; i < s->values; i++)
        s->host_x[i] = 2 * rt_random(i, static_cast<uint64_t>(p->run->opt.seed)) - 1;
    s->x = rounded(s->host_x, s->values);
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

/* Computes O x, with O and x rounded to FP32. */
void want(const void *state, double *values)
{
    const cusparse_t *s = static_cast<const cusparse_t *>(state);
    const mcpi_matrix_t *m = s->matrix;
    const int nb = s->nb;
    for (int64_t row = 0; row < s->rows; row++)
        for (int i = 0; i < nb; i++) {
            double sum = 0;
            for (int64_t k = m->part->start[row]; k < m->part->start[row + 1]; k++)
                for (int j = 0; j < nb; j++)
                    sum += static_cast<double>(static_cast<float>(m->O[(k * nb + j) * nb + i])) *
                           static_cast<float>(s->host_x[m->part->column[k] * nb + j]);
            values[row * nb + i] = sum;
        }
}

double bytes(const mcpi_problem_t *p)
{
    const double N = static_cast<double>(p->counts.rows), nb = p->nb;
    const double B = static_cast<double>(p->counts.blocks);
    return sizeof(float) * (nb * nb * B + 2 * nb * N) + sizeof(int) * (B + N);
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
    RT_FREE(s->host_x, RT_HOST);
    RT_FREE(s, RT_HOST);
}

} // namespace

/* Sums of at most some 150 products of FP32 numbers: 150 x 2^-24. */
extern const mcpi_peer_t mcpi_peer_cusparse = {
    .name = "cuSPARSE bsrmv",
    .job = "O x alone, fp32",
    .kind = RT_CUDA,
    .allowed = 1e-5,
    .begin = begin,
    .run = run,
    .result = result,
    .want = want,
    .bytes = bytes,
    .end = end,
};
