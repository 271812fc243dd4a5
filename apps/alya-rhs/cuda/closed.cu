/*
 * closed.cu - the integrals in closed form.
 *
 * Idea: the sum over the four points is known exactly (kernel.h), so no point is visited: A is
 * computed once and multiplied by u_0 + s and the three differences. Advantage: about half of the
 * instructions of rung RSPR, and neither a full division nor a full cube root. Price: it is hardly
 * faster, because the 12 atomics per element take nine tenths of the time either way. The saving
 * shows once they are gone (rung patch).
 *
 * Launch parameter: threads per block. Elements do not depend on their block.
 */
#include "config.h"
#include "alya_cuda.cuh"
#include "element.cuh"

template <int form>
__global__ void __launch_bounds__(ALYA_MOST_THREADS)
    assemble_kernel(int64_t elements, const int32_t *__restrict__ connectivity,
                    const double *__restrict__ x, const double *__restrict__ u,
                    double *__restrict__ r, const __grid_constant__ alya_closed_t<double> constants)
{
    const int64_t e = alya_thread();
    if (e >= elements)
        return;
    int32_t node[4];
    double xe[4][3], ue[4][3], re[4][3];
    alya_nodes(connectivity, e, node);
    alya_gather(x, node, xe);
    alya_gather(u, node, ue);
    alya_element_closed<form>(xe, ue, constants, re);
#pragma unroll
    for (int a = 0; a < 4; a++)
        alya_scatter(r, node[a], re[a]);
}

static void assemble(const alya_view_t *view, const alya_physics_t *physics, const double *u,
                     double *r)
{
    alya_clear(view, r, 3);
    const auto constants = alya_closed_constants<double>(*physics);
    alya_fixed_form(physics->form, [&](auto form) {
        alya_each_element(view, assemble_kernel<form()>, u, r, constants);
    });
}

extern "C" const alya_kernels_t alya_closed = {
    .rung = {.precision = "FP64", .parameters = &alya_threads, .n_parameters = 1},
    .assemble = assemble,
    .r_stride = 3,
    .tolerance = ALYA_TOLERANCE,
};
