/*
 * rspr.cu - rung RSP with its end restructured, the paper's last step.
 *
 * Idea: each r_a is added to memory as soon as it is known, so that 3 results are alive and not 12,
 * and the compiler is told to make room for more blocks. Advantage: fewer registers, so more
 * threads per multiprocessor to hide the latency of the gather and of the atomics. Price: none in
 * arithmetic; a limit too low would move values to local memory. After this the 12 atomics per
 * element take nine tenths of the time: less arithmetic alone can no longer help (rung closed).
 */
#include "config.h"
#include "alya_cuda.cuh"

#define FN static __device__ __forceinline__
struct sums_t {
    double *r;
    const int32_t (&node)[4];
};
FN void add(const sums_t &sums, int a, const double (&r)[3])
{
    alya_scatter(sums.r, sums.node[a], r);
}
#include "../element/quadrature.h"

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
    element(xe, ue, &physics, form, {r, node});
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
