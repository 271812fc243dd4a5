/*
 * alya_cuda.cuh - shared by the CUDA rungs of alya-rhs: the choice of the kernel compiled for a
 * convective form, an element's nodes, fields and sums, and passes over the elements.
 */
#ifndef ALYA_CUDA_CUH
#define ALYA_CUDA_CUH

#include "../element/form.hpp"
#include "machine/cuda.cuh"
#include "base/mem.h"

/* --- rungs with one thread per element --- */

/* Threads per block are a launch parameter: an element, and a warp, do not depend on their block.
 * Kernels are compiled for blocks of up to this many threads. Their registers, at most 118 on an
 * H100, are fewer than that limit leaves per thread, so smaller blocks run as if compiled for them
 * alone. */
enum { ALYA_MOST_THREADS = 512 };

static __device__ __forceinline__ int64_t alya_thread()
{
    return blockIdx.x * static_cast<int64_t>(blockDim.x) + threadIdx.x;
}

/* Sets r = 0. Kernels that follow on the stream only add. */
static inline void alya_clear(const alya_view_t *view, double *r, int r_stride)
{
    const size_t bytes = sizeof(double) * static_cast<size_t>(view->nodes) * r_stride;
    if (bytes > 0)
        RT_CUDA(cudaMemsetAsync(r, 0, bytes, rt_stream()));
}

/* Loads the four nodes of element e: 16 bytes, used once, so they need not stay in L2. */
static __device__ __forceinline__ void alya_nodes(const int32_t *connectivity, int64_t e,
                                                  int32_t (&node)[4])
{
    const int4 n = __ldcs(reinterpret_cast<const int4 *>(connectivity) + e);
    node[0] = n.x;
    node[1] = n.y;
    node[2] = n.z;
    node[3] = n.w;
}

/* Loads the values of a field [nodes][3] at the four nodes. */
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

/* Adds value to r[node], r [nodes][3]. */
static __device__ __forceinline__ void alya_scatter(double *r, int32_t node,
                                                    const double (&value)[3])
{
    double *at = r + 3 * static_cast<int64_t>(node);
#pragma unroll
    for (int i = 0; i < 3; i++)
        atomicAdd(at + i, value[i]);
}

/* Launches a kernel with a thread per element, compiled for one form. */
template <class Kernel, class Constants>
void alya_each_element(const alya_view_t *view, Kernel kernel, const double *u, double *r,
                       const Constants &constants)
{
    if (view->elements == 0)
        return;
    kernel<<<rt_blocks(view->elements, view->threads), view->threads, 0, rt_stream()>>>(
        view->elements, view->connectivity, view->x, u, r, constants);
    RT_CUDA_LAUNCHED();
}

/* --- passes: rungs whose intermediates are in a workspace [values][lanes] in device memory --- */

/* Calls launch(first, count) for each pass. */
template <class Launch> void alya_each_pass(const alya_view_t *view, Launch launch)
{
    for (int64_t first = 0; first < view->elements; first += view->pass) {
        const int64_t left = view->elements - first;
        launch(first, left < view->pass ? left : view->pass);
        RT_CUDA_LAUNCHED();
    }
}

/* Hooks for the table of a rung with `values` values per lane; view->data is the workspace. */
template <int values> void alya_workspace_set_up(alya_view_t *view)
{
    view->data = RT_NEW(double, static_cast<size_t>(values) * view->pass, RT_DEVICE);
}

static inline void alya_workspace_tear_down(alya_view_t *view)
{
    rt_free(view->data, RT_DEVICE);
    view->data = nullptr;
}

template <int values>
void alya_workspace_memory(const alya_counts_t *counts, double bytes[RT_SPACES])
{
    bytes[RT_DEVICE] += sizeof(double) * static_cast<double>(values) * counts->pass;
}

#endif
