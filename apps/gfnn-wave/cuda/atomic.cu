/*
 * atomic.cu - the paper's second form: coloured with all elements at once, and atomic sums.
 *
 * Idea: atomics, which the L2 cache carries out, add to the nodes that elements share. Advantage:
 * one pass; the threads of a warp have neighbouring elements, so reads and atomics come in whole
 * sectors. Price: 24 atomics per element, eight to each value of y; the order of the additions, and
 * so the last bits, change from run to run.
 */
#include "config.h"
#include "gfnn_cuda.cuh"

enum { THREADS = 128 };

static __global__ void __launch_bounds__(THREADS)
    apply_kernel(const __grid_constant__ gfnn_job_t<double> job, const double *variable)
{
    int at[3];
    if (!gfnn_element_at(job, blockIdx.x * THREADS + threadIdx.x, 1, 0, at))
        return;
    double f[24];
    gfnn_stored_product(job, variable, at, f);
    gfnn_scatter(job, at, [&](double *y, int row) { atomicAdd(y, f[row]); });
}

static void apply(const gfnn_view_t *view, const gfnn_product_t *a)
{
    gfnn_add_elements<THREADS>(apply_kernel, view, a, gfnn_variables(view, a));
}

GFNN_ADDS_ELEMENTS(gfnn_op_atomic, false, gfnn_stored_memory);
