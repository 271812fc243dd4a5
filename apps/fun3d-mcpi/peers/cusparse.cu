/*
 * cusparse.cu - cuSPARSE's bsrmv: the product O x with all of O as one block CSR matrix in FP32.
 *
 * It is less than a sweep: no D, no R, and no required order of rows. It shows how fast a library
 * reads the same O with the same gather of x.
 */
#include "config.h"
#include <algorithm>
#include <cusparse.h>
#include <vector>
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
    const mcpi_problem_t *problem;
    int *start, *column;
    float *O, *x, *y;
    cusparseHandle_t handle;
    cusparseMatDescr_t description;
};

size_t values_of(const mcpi_problem_t *p)
{
    return static_cast<size_t>(p->part->rows) * static_cast<size_t>(p->nb);
}

/* Returns a copy on the device of value(0) .. value(n - 1). */
template <class T, class Value> T *to_device(size_t n, Value value)
{
    std::vector<T> host(n);
    for (size_t i = 0; i < n; i++)
        host[i] = static_cast<T>(value(i));
    return static_cast<T *>(rt_clone(host.data(), n, sizeof(T), RT_DEVICE));
}

void *begin(const mcpi_problem_t *p, rt_text_t *why)
{
    if (!rt_device_gpu()) {
        rt_text(why, "%s", rt_device_why_not());
        return nullptr;
    }
    const mcpi_part_t *part = p->part;
    const size_t rows = static_cast<size_t>(part->rows);
    const size_t blocks = static_cast<size_t>(part->start[rows]);
    const size_t of_O = blocks * static_cast<size_t>(p->nb) * static_cast<size_t>(p->nb);
    if (of_O * sizeof(float) > 5 * static_cast<size_t>(rt_mem_available(RT_DEVICE)) / 6) {
        rt_text(why, "too little memory is free on the GPU; use a smaller problem");
        return nullptr;
    }
    cusparse_t *s = RT_NEW(cusparse_t, 1, RT_HOST);
    s->problem = p;
    s->start = to_device<int>(rows + 1, [=](size_t row) { return part->start[row]; });
    s->column = to_device<int>(blocks, [=](size_t k) { return part->column[k]; });
    s->O = to_device<float>(of_O, [=](size_t k) { return p->matrix->O[k]; });
    s->x = to_device<float>(values_of(p), [=](size_t i) { return p->exact[i]; });
    s->y = RT_NEW(float, values_of(p), RT_DEVICE);
    CUSPARSE(cusparseCreate(&s->handle));
    CUSPARSE(cusparseSetStream(s->handle, rt_stream()));
    CUSPARSE(cusparseCreateMatDescr(&s->description)); /* general, indices from 0 */
    return s;
}

void run(void *state, int64_t products)
{
    const cusparse_t *s = static_cast<const cusparse_t *>(state);
    const mcpi_part_t *part = s->problem->part;
    const int rows = static_cast<int>(part->rows), blocks = static_cast<int>(part->start[rows]);
    const float one = 1, zero = 0;
    for (int64_t i = 0; i < products; i++)
        CUSPARSE(cusparseSbsrmv(s->handle, CUSPARSE_DIRECTION_COLUMN,
                                CUSPARSE_OPERATION_NON_TRANSPOSE, rows, rows, blocks, &one,
                                s->description, s->O, s->start, s->column, s->problem->nb, s->x,
                                &zero, s->y));
}

void result(const void *state, double *values)
{
    const cusparse_t *s = static_cast<const cusparse_t *>(state);
    std::vector<float> y(values_of(s->problem));
    rt_copy(y.data(), RT_HOST, s->y, RT_DEVICE, y.size() * sizeof(float));
    std::copy(y.begin(), y.end(), values);
}

/* Computes O x, with x = dQ*, both rounded to FP32. */
void want(const mcpi_problem_t *p, double *values)
{
    const mcpi_matrix_t *m = p->matrix;
    const size_t nb = static_cast<size_t>(p->nb);
    for (int64_t row = 0; row < p->part->rows; row++)
        for (size_t i = 0; i < nb; i++) {
            double sum = 0;
            for (int64_t k = p->part->start[row]; k < p->part->start[row + 1]; k++)
                for (size_t j = 0; j < nb; j++)
                    sum += static_cast<double>(static_cast<float>(m->O[(k * nb + j) * nb + i])) *
                           static_cast<float>(
                               p->exact[static_cast<size_t>(p->part->column[k]) * nb + j]);
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
    CUSPARSE(cusparseDestroyMatDescr(s->description));
    CUSPARSE(cusparseDestroy(s->handle));
    RT_FREE_ALL(RT_DEVICE, s->start, s->column, s->O, s->x, s->y);
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
