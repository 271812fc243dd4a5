/*
 * recompute.cu - the paper's third form: atomic without stored variables.
 *
 * Idea: mass, lambda and mu of an element are recomputed from its material. Advantage: a byte per
 * element is read instead of 24. Price: a few flops and a look-up; about a hundred intermediates
 * are in registers at the widest place; the atomics remain.
 */
#include "config.h"
#include "gfnn_cuda.cuh"

enum { THREADS = 128 };

static __global__ void __launch_bounds__(THREADS)
    apply_kernel(const __grid_constant__ gfnn_job_t<double> job,
                 const __grid_constant__ gfnn_form_t form)
{
    int at[3];
    if (!gfnn_element_at(job, blockIdx.x * THREADS + threadIdx.x, 1, 0, at))
        return;
    double f[24], mass, lambda, mu;
    const gfnn_material_t material = gfnn_material_at(job, at);
    gfnn_elasticity(&form, material.w, material.square, &mass, &lambda, &mu);
    gfnn_element_product(job, at, mass, lambda, mu, f);
    gfnn_scatter(job, at, [&](double *y, int row) { atomicAdd(y, f[row]); });
}

static void apply(const gfnn_view_t *view, const gfnn_product_t *a)
{
    gfnn_add_elements<THREADS>(apply_kernel, view, a, *a->form);
}

GFNN_ADDS_ELEMENTS(gfnn_op_recompute, false, nullptr);
