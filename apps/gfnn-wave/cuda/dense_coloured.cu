/*
 * dense_coloured.cu - a thread per element, colour after colour.
 *
 * Idea: the definition, literally. A thread reads the 24 values of its element, multiplies them by
 * both 24x24 matrices (the operator is affine in Vs^2) and adds the result to y. Elements of one
 * colour, which have the same parities of i, j and k, share no node: they may add at the same time,
 * and the eight colours follow one after the other. Advantage: no atomics, equal bits from run to
 * run; the matrices are in constant memory, so a product reads only x and registers. Price: 2304
 * flops per element; neighbouring threads are two elements apart, so half of each sector that is
 * read or written serves another colour, and x and y are traversed eight times.
 */
#include "config.h"
#include "gfnn_cuda.cuh"

enum { THREADS = 256 };

struct colour_t {
    int from[3];
};

static __global__ void __launch_bounds__(THREADS)
    apply_kernel(const __grid_constant__ gfnn_job_t<double> job,
                 const __grid_constant__ gfnn_matrices_t matrices,
                 const __grid_constant__ colour_t colour)
{
    int at[3];
    if (!gfnn_element_at(blockIdx.x * THREADS + threadIdx.x, job.lo, job.hi, colour.from, 2, at))
        return;
    double u[24];
    gfnn_gather(job, at, u);
    const gfnn_material_t material = gfnn_material_at(job, at);
    gfnn_scatter(job, at,
                 [&](double *y, int row) { *y += gfnn_dense_row(matrices, material, row, u); });
}

static void apply(const gfnn_view_t *view, const gfnn_product_t *a)
{
    const gfnn_job_t<double> job(view, a);
    if (job.empty())
        return;
    const gfnn_matrices_t matrices(a->form);
    gfnn_clear(job);
    for (int c = 0; c < 8; c++) {
        const colour_t colour = {{c & 1, c >> 1 & 1, c >> 2}};
        const size_t elements = gfnn_elements(job, colour.from, 2);
        apply_kernel<<<rt_blocks(elements, THREADS), THREADS, 0, rt_stream()>>>(job, matrices,
                                                                                colour);
        RT_CUDA_LAUNCHED();
    }
}

GFNN_ADDS_ELEMENTS(gfnn_op_coloured, true);
