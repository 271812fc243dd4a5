/*
 * b.cu - the paper's baseline on the GPU.
 *
 * Idea: a thread takes a lane of the vectorised CPU code. Every intermediate is an array [lane] in
 * device memory, written and read again; the elements go in passes. Advantage: one
 * source for all element types, CPU and GPU, and neighbouring threads touch neighbouring words.
 * Price: 415 values per element pass through the caches many times, and to DRAM: 23 KB per element
 * by the paper's counters, where 37 bytes would be enough.
 */
#include "config.h"
#include "alya_cuda.cuh"

/* Value v of all lanes of the pass, then value v + 1: interleaved. */
typedef struct {
    double *first; /* of this lane */
    int64_t stride;
} work_t;
#define AT(w, value, lane) (w).first[(value) * (w).stride]
#include "baseline.cuh"

/* Not a launch parameter: what the compiler makes of this long loop nest, 56 registers or 124,
 * depends on knowing this number. */
enum { THREADS = 128 };

__global__ void __launch_bounds__(THREADS)
    assemble_kernel(int64_t first, int64_t count, const int32_t *connectivity, const double *x,
                    const double *u, double *r, double *workspace, int64_t stride,
                    const __grid_constant__ alya_element_type_t type,
                    const __grid_constant__ alya_physics_t physics)
{
    const int64_t t = blockIdx.x * static_cast<int64_t>(THREADS) + threadIdx.x;
    if (t >= count)
        return;
    const work_t w = {workspace + t, stride};
    gather_assemble_scatter(w, connectivity + 4 * (first + t), x, u, r, type, physics);
}

static void assemble(const alya_view_t *view, const alya_physics_t *physics, const double *u,
                     double *r)
{
    alya_element_type_t type;
    alya_baseline_tetrahedron(&type);
    alya_clear(view, r, 3);
    alya_each_pass(view, [&](int64_t first, int64_t count) {
        assemble_kernel<<<rt_blocks(count, THREADS), THREADS, 0, rt_stream()>>>(
            first, count, view->connectivity, view->x, u, r, static_cast<double *>(view->data),
            view->pass, type, *physics);
    });
}

extern "C" const alya_kernels_t alya_b = {
    .rung = {.precision = "FP64", .parameters = &alya_pass_only, .n_parameters = 1},
    .assemble = assemble,
    .set_up = alya_workspace_set_up<EL_VALUES>,
    .tear_down = alya_workspace_tear_down,
    .memory = alya_workspace_memory<EL_VALUES>,
    .r_stride = 3,
    .tolerance = ALYA_TOLERANCE,
};
