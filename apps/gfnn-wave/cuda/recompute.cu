/*
 * recompute.cu - no matrix: strains and stresses at the Gauss points.
 *
 * Idea (the paper's): what a matrix stores is recomputed element by element from the material.
 * A thread transforms its element's values to displacements and their gradients at the 2x2x2 Gauss
 * points, multiplies them there by density and elasticity, and transforms the stresses back to the
 * corners (strain.h). Advantage: 700 operations per element instead of 1152, and only two
 * constants. Price: about a hundred intermediates are in registers at the widest place; the atomics
 * remain.
 */
#include "config.h"
#include "gfnn_cuda.cuh"
#include "apps/gfnn-wave/operator/strain.h"

enum { THREADS = 128 };

static __global__ void __launch_bounds__(THREADS)
    apply_kernel(const __grid_constant__ gfnn_job_t<double> job,
                 const __grid_constant__ gfnn_form_t form)
{
    const int from[3] = {0, 0, 0};
    int at[3];
    if (!gfnn_element_at(blockIdx.x * THREADS + threadIdx.x, job.lo, job.hi, from, 1, at))
        return;
    double u[24], mass, lambda, mu;
    gfnn_component_t p[3];
    gfnn_gather(job, at, u);
    const gfnn_material_t material = gfnn_material_at(job, at);
    gfnn_strain_points(u, p);
    gfnn_elasticity(&form, material.w, material.square, &mass, &lambda, &mu);
    gfnn_strain_corners(p, mass, lambda, mu, u);
    gfnn_scatter(job, at, [&](double *y, int row) { atomicAdd(y, u[row]); });
}

static void apply(const gfnn_view_t *view, const gfnn_product_t *a)
{
    gfnn_add_elements<THREADS>(apply_kernel, view, a, *a->form);
}

GFNN_ADDS_ELEMENTS(gfnn_op_recompute, false);
