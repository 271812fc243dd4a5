/*
 * closed.cu - the integrals in closed form.
 *
 * Idea: what the four points sum up is known exactly (alya.h), so no point is visited: A is made
 * once and multiplied with u_0 + s and the three differences. Advantage: about half of the
 * instructions of rung RSPR, and neither division nor cube root in full. Price: it is hardly
 * faster, for the 12 atomics an element take nine tenths of the time either way. What it saves
 * shows once they are gone (rung patch).
 *
 * Launch parameter: threads, of a block. Elements know nothing of the block they are in.
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
    if (view->elements == 0)
        return;
    const auto constants = alya_closed_constants<double>(*physics);
    alya_fixed_form(physics->form, [&](auto form) {
        assemble_kernel<form()>
            <<<rt_blocks(view->elements, view->threads), view->threads, 0, rt_stream()>>>(
                view->elements, view->connectivity, view->x, u, r, constants);
    });
    RT_CUDA_LAUNCHED();
}

extern "C" const alya_kernels_t alya_closed = {
    assemble, nullptr, nullptr, nullptr, 0, 3, false, ALYA_TOLERANCE, ALYA_MOST_THREADS};
