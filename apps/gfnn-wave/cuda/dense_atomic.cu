/*
 * dense_atomic.cu - all elements at once.
 *
 * Idea: atomics, which the L2 cache carries out, add to the nodes that elements share. Advantage:
 * one pass; the threads of a warp have neighbouring elements, so reads and atomics come in whole
 * sectors. Price: 24 atomics per element, eight to each value of y; the order of the additions, and
 * so the last bits, change from run to run; still 2304 flops per element.
 */
#include "config.h"
#include "gfnn_cuda.cuh"

enum { THREADS = 256 };

static __global__ void __launch_bounds__(THREADS)
    apply_kernel(const __grid_constant__ gfnn_job_t<double> job,
                 const __grid_constant__ gfnn_matrices_t matrices)
{
    const int from[3] = {0, 0, 0};
    int at[3];
    if (!gfnn_element_at(blockIdx.x * THREADS + threadIdx.x, job.lo, job.hi, from, 1, at))
        return;
    double u[24];
    gfnn_gather(job, at, u);
    const gfnn_material_t material = gfnn_material_at(job, at);
    gfnn_scatter(job, at, [&](double *y, int row) {
        atomicAdd(y, gfnn_dense_row(matrices, material, row, u));
    });
}

static void apply(const gfnn_view_t *view, const gfnn_product_t *a)
{
    gfnn_add_elements<THREADS>(apply_kernel, view, a, gfnn_matrices_t(a->form));
}

GFNN_ADDS_ELEMENTS(gfnn_op_atomic, false);
