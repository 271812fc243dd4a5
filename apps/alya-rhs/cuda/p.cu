/*
 * p.cu - the baseline, privatised.
 *
 * Idea: the same element routine, with its workspace in an array of the thread. Advantage: no
 * workspace in global memory, no passes, and what the compiler can prove stays in registers. Price:
 * the array is indexed by numbers known only at run time, so it is in local memory, which is device
 * memory laid out by the compiler: fewer global accesses, but nearly the same bytes (paper: 18.7 KB
 * instead of 23.3).
 *
 * Launch parameter: threads per block. Elements do not depend on their block.
 */
#include "config.h"
#include "alya_cuda.cuh"

/* This thread's values, one after the other. */
typedef double *work_t;
#define AT(w, value, lane) (w)[value]
#include "baseline.cuh"

__global__ void __launch_bounds__(ALYA_MOST_THREADS)
    assemble_kernel(int64_t elements, const int32_t *connectivity, const double *x, const double *u,
                    double *r, const __grid_constant__ alya_element_type_t type,
                    const __grid_constant__ alya_physics_t physics)
{
    const int64_t t = alya_thread();
    if (t >= elements)
        return;
    double w[EL_VALUES];
    gather_assemble_scatter(w, connectivity + 4 * t, x, u, r, type, physics);
}

static void assemble(const alya_view_t *view, const alya_physics_t *physics, const double *u,
                     double *r)
{
    alya_element_type_t type;
    alya_baseline_tetrahedron(&type);
    alya_clear(view, r, 3);
    if (view->elements == 0)
        return;
    assemble_kernel<<<rt_blocks(view->elements, view->threads), view->threads, 0, rt_stream()>>>(
        view->elements, view->connectivity, view->x, u, r, type, *physics);
    RT_CUDA_LAUNCHED();
}

extern "C" const alya_kernels_t alya_p = {
    .rung = {.precision = "FP64", .parameters = &alya_threads, .n_parameters = 1},
    .assemble = assemble,
    .r_stride = 3,
    .tolerance = ALYA_TOLERANCE,
};
