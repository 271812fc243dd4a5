/*
 * gfnn_net.cuh - what the CUDA rungs of the predictor share beyond loops/network.hpp: tiles of nodes,
 * and their tables' hooks. A rung's file has how r reaches the threads.
 */
#ifndef GFNN_NET_CUH
#define GFNN_NET_CUH

#include "gfnn_cuda.cuh"
#include "../loops/network.hpp"

/* The predictors of solves: FP32 and 16 bits. */
extern "C" const gfnn_predictor_t gfnn_predictor_tiled, gfnn_predictor_tensor;

/* --- tiles of nodes --- */

/* Own nodes in tiles, one per block, x fastest. */
struct gfnn_tiling_t {
    unsigned n[3];
    unsigned blocks() const
    {
        return n[0] * n[1] * n[2];
    }
};

static inline gfnn_tiling_t gfnn_tiling(const int64_t nodes[3], int x, int y, int z)
{
    return {{rt_blocks(nodes[0], x), rt_blocks(nodes[1], y), rt_blocks(nodes[2], z)}};
}

static __device__ __forceinline__ int3 gfnn_tile(const gfnn_tiling_t &t)
{
    const unsigned row = blockIdx.x / t.n[0];
    return make_int3(blockIdx.x % t.n[0], row % t.n[1], row / t.n[1]);
}

/* Returns the layers of a block that walks along z in steps of `layers`, with one block at a time
 * on a multiprocessor: enough blocks to fill the device in whole waves, and few starts, each of
 * which costs `start` steps. */
static inline int gfnn_depth(const int64_t nodes[3], int width, int height, int layers, int start)
{
    const int multiprocessors = rt_device_gpu()->multiprocessors;
    const int steps = static_cast<int>(rt_blocks(nodes[2], layers));
    const int64_t columns = gfnn_tiling(nodes, width, height, static_cast<int>(nodes[2])).blocks();
    int best = steps;
    int64_t least = INT64_MAX;
    for (int each = steps; each >= 1; each--) {
        const int64_t blocks = columns * rt_blocks(steps, each);
        const int64_t waves = (blocks + multiprocessors - 1) / multiprocessors;
        if (waves * (each + start) < least) {
            least = waves * (each + start);
            best = each;
        }
    }
    return best * layers;
}

/* --- hooks of the rungs whose view->data is just the taps --- */

static inline void gfnn_taps_set_up(gfnn_view_t *view, const gfnn_network_t *network)
{
    view->data = gfnn_taps_new(network, RT_DEVICE);
}

static inline void gfnn_taps_tear_down(gfnn_view_t *view)
{
    RT_FREE(view->data, RT_DEVICE);
}

static inline gfnn_net_job_t gfnn_taps_job(const gfnn_view_t *view, const gfnn_network_t *network,
                                           const void *r, float *z)
{
    return gfnn_net_job_t(view, network, static_cast<const float *>(view->data), r, z);
}

/* The table of such a rung, in FP32. */
#define GFNN_READS_TAPS(table_, predictor_)                                         \
    extern "C" const gfnn_kernels_t table_ = {                                      \
        .rung = {.precision = "FP32", .reproducible = true, .refuse = gfnn_refuse}, \
        .ladder = GFNN_LADDER_PREDICTOR,                                            \
        .predictor = {&predictor_, nullptr},                                        \
    }

#endif
