/*
 * alya_cuda.cuh - what the CUDA rungs of alya-rhs share: the choice of the kernel compiled for a
 * convective form, an element's nodes, fields and sums, and passes over the elements.
 */
#ifndef ALYA_CUDA_CUH
#define ALYA_CUDA_CUH

#include <type_traits>
#include "../alya.h"
#include "machine/cuda.cuh"
#include "base/mem.h"

/* Calls f(std::integral_constant<int, form>()). */
template <class F> void alya_fixed_form(alya_form_t form, F f)
{
    switch (form) {
    case ALYA_CONV:
        f(std::integral_constant<int, ALYA_CONV>());
        break;
    case ALYA_SKEW:
        f(std::integral_constant<int, ALYA_SKEW>());
        break;
    case ALYA_EMAC:
        f(std::integral_constant<int, ALYA_EMAC>());
        break;
    default:
        f(std::integral_constant<int, ALYA_CONS>());
    }
}

/* --- rungs of a thread an element, in which the threads of a block are a launch parameter --- */

/* Kernels are compiled for blocks of up to so many threads; their registers, at most 118 on an
 * H100, are fewer than that leaves a thread, so that smaller blocks have what they would have
 * alone. */
enum { ALYA_MOST_THREADS = 512 };

static __device__ __forceinline__ int64_t alya_thread()
{
    return blockIdx.x * static_cast<int64_t>(blockDim.x) + threadIdx.x;
}

/* r = 0. Kernels that come after it on the stream only add. */
static inline void alya_clear(const alya_view_t *view, double *r, int r_stride)
{
    const size_t bytes = sizeof(double) * static_cast<size_t>(view->nodes) * r_stride;
    if (bytes > 0)
        RT_CUDA(cudaMemsetAsync(r, 0, bytes, rt_stream()));
}

/* The four nodes of element e: one load of 16 bytes, used once, so that it need not stay in L2. */
static __device__ __forceinline__ void alya_nodes(const int32_t *connectivity, int64_t e,
                                                  int32_t (&node)[4])
{
    const int4 n = __ldcs(reinterpret_cast<const int4 *>(connectivity) + e);
    node[0] = n.x;
    node[1] = n.y;
    node[2] = n.z;
    node[3] = n.w;
}

/* Values of a field [nodes][3] at the four nodes. */
static __device__ __forceinline__ void alya_gather(const double *__restrict__ field,
                                                   const int32_t (&node)[4], double (&value)[4][3])
{
#pragma unroll
    for (int a = 0; a < 4; a++) {
        const double *at = field + 3 * static_cast<int64_t>(node[a]);
#pragma unroll
        for (int i = 0; i < 3; i++)
            value[a][i] = __ldg(at + i);
    }
}

/* r[node] += value, r [nodes][3]. */
static __device__ __forceinline__ void alya_scatter(double *r, int32_t node,
                                                    const double (&value)[3])
{
    double *at = r + 3 * static_cast<int64_t>(node);
#pragma unroll
    for (int i = 0; i < 3; i++)
        atomicAdd(at + i, value[i]);
}

/* --- passes: rungs whose intermediates are in a workspace [values][lanes] in device memory --- */

/* Elements of a pass, as the paper's VECTOR_DIM: enough to fill the device several times, and far
 * more intermediates than any cache holds; not more than a sixteenth of the mesh, so that the
 * workspace stays in proportion to it. */
static inline int64_t alya_pass(int64_t elements)
{
    const int64_t least = 4096, most = 1 << 21, pass = elements / 16;
    return pass < least ? least : pass > most ? most : pass;
}

/* launch(first, count) for each pass. */
template <class Launch> void alya_each_pass(int64_t elements, Launch launch)
{
    const int64_t pass = alya_pass(elements);
    for (int64_t first = 0; first < elements; first += pass) {
        launch(first, first + pass < elements ? pass : elements - first);
        RT_CUDA_LAUNCHED();
    }
}

/* Hooks for the table of a rung with `values` values a lane; view->data is the workspace. */
template <int values> void alya_workspace_set_up(alya_view_t *view)
{
    view->data = RT_NEW(double, static_cast<size_t>(values) * alya_pass(view->elements), RT_DEVICE);
}

static inline void alya_workspace_tear_down(alya_view_t *view)
{
    rt_free(view->data, RT_DEVICE);
    view->data = nullptr;
}

template <int values> void alya_workspace_memory(int64_t elements, int64_t, double bytes[RT_SPACES])
{
    bytes[RT_DEVICE] += sizeof(double) * static_cast<double>(values) * alya_pass(elements);
}

#endif
