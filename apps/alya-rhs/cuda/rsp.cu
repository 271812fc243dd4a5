/*
 * rsp.cu - the paper's restructured, specialised and privatised code.
 *
 * Idea: one thread per element; all loops have constant bounds and are unrolled, so that every
 * intermediate is a scalar of the thread, in a register; the right-hand side is built directly,
 * without an element matrix. Advantage: memory holds only the mesh, u and r; a tenth of the
 * baseline's operations. Price: about 90 doubles are alive at the widest point, so few threads fit
 * on a multiprocessor; and all 12 results wait for the last before they are added.
 */
#include "config.h"
#include "alya_cuda.cuh"

#define FN static __device__ __forceinline__
typedef double (*sums_t)[3];
FN void add(sums_t sums, int a, const double (&r)[3])
{
#pragma unroll
    for (int i = 0; i < 3; i++)
        sums[a][i] = r[i];
}
#include "../element/quadrature.h"

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
    element(xe, ue, &physics, form, re);
#pragma unroll
    for (int a = 0; a < 4; a++)
        alya_scatter(r, node[a], re[a]);
}

static void assemble(const alya_view_t *view, const alya_physics_t *physics, const double *u,
                     double *r)
{
    alya_clear(view, r, 3);
    alya_fixed_form(physics->form, [&](auto form) {
        alya_each_element(view, assemble_kernel<form()>, u, r, *physics);
    });
}

extern "C" const alya_kernels_t alya_rsp = {
    .rung = {.precision = "FP64", .parameters = &alya_threads, .n_parameters = 1},
    .assemble = assemble,
    .r_stride = 3,
    .tolerance = ALYA_TOLERANCE,
};
