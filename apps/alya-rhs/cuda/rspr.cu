/*
 * rspr.cu - rung RSP with its end restructured, the paper's last step.
 *
 * Idea: each r_a is added to memory as soon as it is known, so that 3 results are alive and not 12,
 * and the compiler is told to make room for more blocks. Advantage: fewer registers, so more
 * threads per multiprocessor to hide the latency of the gather and of the atomics. Price: none in
 * arithmetic; a limit too low would move values to local memory. After this the 12 atomics per
 * element take nine tenths of the time: less arithmetic alone can no longer help (rung closed).
 *
 * Launch parameter: threads per block. Elements do not depend on their block.
 */
#include "config.h"
#include "alya_cuda.cuh"
#include "element.cuh"

/* With this many threads per multiprocessor, in blocks of any size, a thread has 96 registers. */
enum { MOST_THREADS = 320, BLOCKS = 2 };

template <int form>
__global__ void __launch_bounds__(MOST_THREADS, BLOCKS)
    assemble_kernel(int64_t elements, const int32_t *__restrict__ connectivity,
                    const double *__restrict__ x, const double *__restrict__ u,
                    double *__restrict__ r, const __grid_constant__ alya_physics_t physics)
{
    const int64_t e = alya_thread();
    if (e >= elements)
        return;
    int32_t node[4];
    double xe[4][3], ue[4][3];
    alya_nodes(connectivity, e, node);
    alya_gather(x, node, xe);
    alya_gather(u, node, ue);
    alya_element_quadrature<form>(
        xe, ue, physics, [&](int a, const double(&ra)[3]) { alya_scatter(r, node[a], ra); });
}

static void assemble(const alya_view_t *view, const alya_physics_t *physics, const double *u,
                     double *r)
{
    alya_clear(view, r, 3);
    alya_fixed_form(physics->form, [&](auto form) {
        alya_each_element(view, assemble_kernel<form()>, u, r, *physics);
    });
}

extern "C" const alya_kernels_t alya_rspr = {
    .rung = {.precision = "FP64", .parameters = &alya_few_threads, .n_parameters = 1},
    .assemble = assemble,
    .r_stride = 3,
    .tolerance = ALYA_TOLERANCE,
};
