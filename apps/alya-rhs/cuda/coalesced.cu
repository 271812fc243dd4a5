/*
 * coalesced.cu - atomics that come in whole sectors.
 *
 * Idea: the cost of atomics is not their number but the sectors of 32 bytes they go to: in rung
 * closed the 32 lanes of one instruction meet 32 nodes. Here a warp transposes its results through
 * shared memory, so that lane 4 q + i has component i of the element 8 g + q: one instruction
 * carries 8 nodes with 3 components each, and r[n][4] keeps a node within one sector. x and u are
 * the halves of a record of 64 bytes, read 16 and 8 bytes at a time. Advantage: the atomics take
 * half the time. Price: a quarter of the lanes idles while adding, r is a third longer, a record
 * has 16 bytes of padding, and the results go through shared memory once; there are still 12
 * atomics per element.
 *
 * Launch parameter: threads per block. Warps do not depend on their block.
 */
#include "config.h"
#include "alya_cuda.cuh"
#include "element.cuh"

/* PITCH: an odd number of doubles, so that the lanes of a half-warp meet different banks. */
enum { MOST_THREADS = 256, PACKED = 8, R_STRIDE = 4, PITCH = 13 };

/* Shared memory of a warp: the results of its elements, and the nodes to add them to. */
struct transposed_t {
    double r[32 * PITCH];
    int32_t node[4][32];
};

/* Loads half a record: 32 bytes, the last 8 unused. */
static __device__ __forceinline__ void load_half(const double *__restrict__ half, int32_t node,
                                                 double (&value)[3])
{
    const double *at = half + PACKED * static_cast<int64_t>(node);
    const double2 two = __ldg(reinterpret_cast<const double2 *>(at));
    value[0] = two.x;
    value[1] = two.y;
    value[2] = __ldg(at + 2);
}

template <int form>
__global__ void __launch_bounds__(MOST_THREADS)
    assemble_kernel(int64_t elements, const int32_t *__restrict__ connectivity,
                    const double *__restrict__ x, const double *__restrict__ u,
                    double *__restrict__ r, const __grid_constant__ alya_closed_t<double> constants)
{
    extern __shared__ transposed_t warps[];
    const int64_t e = alya_thread();
    const int lane = threadIdx.x % 32;
    transposed_t &shared = warps[threadIdx.x / 32];
    int32_t node[4];
    double xe[4][3], ue[4][3], re[4][3];
    /* lanes behind the last element compute it again, and add nothing */
    alya_nodes(connectivity, e < elements ? e : elements - 1, node);
#pragma unroll
    for (int a = 0; a < 4; a++) {
        load_half(x, node[a], xe[a]);
        load_half(u, node[a], ue[a]);
    }
    alya_element_closed<form>(xe, ue, constants, re);

#pragma unroll
    for (int a = 0; a < 4; a++) {
        shared.node[a][lane] = e < elements ? node[a] : -1;
#pragma unroll
        for (int i = 0; i < 3; i++)
            shared.r[lane * PITCH + 3 * a + i] = re[a][i];
    }
    __syncwarp();
    const int q = lane / 4, i = lane % 4;
#pragma unroll
    for (int a = 0; a < 4; a++) {
#pragma unroll
        for (int g = 0; g < 4; g++) {
            const int from = 8 * g + q;
            const int32_t to = shared.node[a][from];
            const double value = shared.r[from * PITCH + 3 * a + i]; /* i = 3: unused */
            if (i < 3 && to >= 0)
                atomicAdd(r + R_STRIDE * static_cast<int64_t>(to) + i, value);
        }
    }
}

static void assemble(const alya_view_t *view, const alya_physics_t *physics, const double *u,
                     double *r)
{
    alya_clear(view, r, R_STRIDE);
    if (view->elements == 0)
        return;
    const auto constants = alya_closed_constants<double>(*physics);
    const size_t bytes = view->threads / 32 * sizeof(transposed_t);
    alya_fixed_form(physics->form, [&](auto form) {
        assemble_kernel<form()>
            <<<rt_blocks(view->elements, view->threads), view->threads, bytes, rt_stream()>>>(
                view->elements, view->connectivity, view->x, u, r, constants);
    });
    RT_CUDA_LAUNCHED();
}

extern "C" const alya_kernels_t alya_coalesced = {
    .rung = {.precision = "FP64", .parameters = &alya_few_threads, .n_parameters = 1},
    .assemble = assemble,
    .packed = PACKED,
    .r_stride = R_STRIDE,
    .tolerance = ALYA_TOLERANCE,
};
