/*
 * infer.cu - the networks on the GPU (input/infer.h).
 *
 * Idea: where all 216 elements about a node are of its own material, a table has the coefficients:
 * in most of a head a thread looks them up. The other nodes of a block get a warp each, whose lanes
 * share the outputs of a layer. Advantage: W is read in whole lines, from the L1 cache. Price: a
 * warp meets the elements of a patch one after the other.
 */
#include "config.h"
#include "gfnn_cuda.cuh"
#include "apps/gfnn-wave/input/infer.h"

enum { THREADS = 256, WARP = 32 };

static __global__ void __launch_bounds__(THREADS)
    infer_kernel(const __grid_constant__ gfnn_infer_t net, gfnn_lines_t wide, gfnn_lines_t bare,
                 unsigned nx, unsigned ny, unsigned nodes, const double *table, const uint8_t *id,
                 float *c)
{
    extern __shared__ double work[];
    __shared__ int2 other[THREADS]; /* where the nodes are that are not known, on wide and bare */
    __shared__ int count;
    const unsigned mine = blockIdx.x * blockDim.x + threadIdx.x;
    const int warp = threadIdx.x / WARP, lane = threadIdx.x % WARP;
    if (threadIdx.x == 0)
        count = 0;
    __syncthreads();
    if (mine < nodes) {
        const unsigned i = mine % nx, j = mine / nx % ny, k = mine / nx / ny;
        const int2 at = make_int2(wide.at(i, j, k), bare.at(i, j, k));
        if (!gfnn_infer_known(&net, table, id + at.x, wide.pitch, wide.slab, c + at.y, bare.plane))
            other[atomicAdd(&count, 1)] = at;
    }
    __syncthreads();
    for (int e = warp; e < count; e += blockDim.x / WARP)
        gfnn_infer_node(&net, table, id + other[e].x, wide.pitch, wide.slab, lane, WARP,
                        work + 2 * warp * net.widest, c + other[e].y, bare.plane);
}

extern "C" float *gfnn_infer_cuda(const gfnn_weights_t *weights, const gfnn_view_t *view)
{
    const gfnn_box_t *box = view->box;
    double *host;
    const gfnn_infer_t net = gfnn_infer_new(weights, view->config->coef, view->materials, &host);
    double *table = static_cast<double *>(rt_clone(host, net.size, sizeof *host, RT_DEVICE));
    const size_t values = net.coefs * static_cast<size_t>(box->bare.plane);
    float *c = RT_NEW(float, values, RT_DEVICE);
    rt_fill(c, RT_DEVICE, 0, values * sizeof *c);
    /* as many warps to a block as have room for two layers each, beside `other` */
    const size_t bytes = 2 * static_cast<size_t>(net.widest) * sizeof(double);
    const size_t most = (rt_device_gpu()->shared - 4096) / bytes;
    const unsigned warps = most < THREADS / WARP ? static_cast<unsigned>(most) : THREADS / WARP;
    const size_t nodes = box->n[0] * box->n[1] * box->n[2];
    gfnn_allow_shared(infer_kernel, warps * bytes);
    infer_kernel<<<rt_blocks(nodes, warps * WARP), warps * WARP, warps * bytes, rt_stream()>>>(
        net, gfnn_lines_t(box->wide), gfnn_lines_t(box->bare), box->n[0], box->n[1], nodes, table,
        view->id, c);
    RT_CUDA_LAUNCHED();
    rt_device_synchronize();
    RT_FREE(table, RT_DEVICE);
    RT_FREE(host, RT_HOST);
    return c;
}
