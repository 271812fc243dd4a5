/*
 * rsp.cu - the paper's restructured, specialised and privatised code.
 *
 * Idea: a thread an element; all loops have constant bounds and are unrolled, so that every
 * intermediate is a scalar of the thread, in a register; the right-hand side is built directly, no
 * matrix of the element exists. Advantage: the memory holds nothing but the mesh, u and r; a tenth
 * of the baseline's operations. Price: about 90 doubles are alive at the widest place, so few
 * threads fit on a multiprocessor; and all 12 results wait for the last before they are added.
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
                    double *__restrict__ r, const __grid_constant__ alya_physics_t physics)
{
    const int64_t e = alya_thread();
    if (e >= elements)
        return;
    int32_t node[4];
    double xe[4][3], ue[4][3], re[4][3];
    alya_nodes(connectivity, e, node);
    alya_gather(x, node, xe);
    alya_gather(u, node, ue);
    alya_element_quadrature<form>(xe, ue, physics, [&](int a, const double(&ra)[3]) {
#pragma unroll
        for (int i = 0; i < 3; i++)
            re[a][i] = ra[i];
    });
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
    alya_fixed_form(physics->form, [&](auto form) {
        assemble_kernel<form()>
            <<<rt_blocks(view->elements, view->threads), view->threads, 0, rt_stream()>>>(
                view->elements, view->connectivity, view->x, u, r, *physics);
    });
    RT_CUDA_LAUNCHED();
}

extern "C" const alya_kernels_t alya_rsp = {assemble, nullptr, nullptr,        nullptr,          0,
                                            3,        false,   ALYA_TOLERANCE, ALYA_MOST_THREADS};
