/*
 * coloured.cu - the paper's first form: B^T D B, with variables of every element that are computed
 * in advance, colour after colour.
 *
 * Idea: a thread takes an element's values to its Gauss points, multiplies them there by density
 * and elasticity, and takes the stresses back to the corners (strain.h). Elements of one colour,
 * which have the same parities of i, j and k, share no node: their threads may add at the same
 * time, and the eight colours follow one after the other. Every node is in an element of the first,
 * which sets y. Advantage: no atomics, equal bits from run to run, and no material is looked up.
 * Price: 24 bytes of mass, lambda and mu per element; x and y are traversed eight times, and of the
 * variables half of each sector that is read serves another colour.
 */
#include "config.h"
#include "gfnn_cuda.cuh"

enum { THREADS = 128 };

static __global__ void __launch_bounds__(THREADS)
    apply_kernel(const __grid_constant__ gfnn_job_t<double> job, const double *variable, int colour)
{
    int at[3];
    if (!gfnn_element_at(job, blockIdx.x * THREADS + threadIdx.x, 2, colour, at))
        return;
    double f[24], sum[24] = {};
    gfnn_stored_product(job, variable, at, f);
    if (colour > 0) /* reads all before it writes any: y += f would wait 24 times */
        gfnn_scatter<true>(job, at, [&](const double *y, int row) { sum[row] = *y; });
    gfnn_scatter(job, at, [&](double *y, int row) { *y = sum[row] + f[row]; });
}

static void apply(const gfnn_view_t *view, const gfnn_product_t *a)
{
    const gfnn_job_t<double> job(view, a);
    const double *variable = gfnn_variables(view, a);
    for (int colour = 0; colour < 8; colour++) {
        apply_kernel<<<rt_blocks(gfnn_elements(job, 2, colour), THREADS), THREADS, 0,
                       rt_stream()>>>(job, variable, colour);
        RT_CUDA_LAUNCHED();
    }
}

GFNN_ADDS_ELEMENTS(gfnn_op_coloured, true, gfnn_stored_memory);
