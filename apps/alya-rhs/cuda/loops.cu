/*
 * loops.cu - the loops of a time step on the GPU: a thread per node. A sum ends on the host: each block
 * writes its part into page-locked memory, and the host adds these in order once the kernel is done.
 */
#include "config.h"
#include <algorithm>
#include "alya_cuda.cuh"
#include "../step/loops.hpp"

enum { THREADS = 256 };

template <class Body>
__global__ void __launch_bounds__(THREADS)
    loop_kernel(int64_t nodes, const __grid_constant__ Body body, double *a, double *b)
{
    const int64_t step = static_cast<int64_t>(gridDim.x) * THREADS;
    alya_sums_t sums = {0, 0};
    for (int64_t n = blockIdx.x * static_cast<int64_t>(THREADS) + threadIdx.x; n < nodes;
         n += step) {
        const alya_sums_t more = body(n);
        sums.a += more.a;
        sums.b += more.b;
    }
    if constexpr (Body::has_sums) {
        sums.a = rt_block_sum<THREADS>(sums.a);
        sums.b = rt_block_sum<THREADS>(sums.b);
        if (threadIdx.x == 0) {
            a[blockIdx.x] = sums.a;
            b[blockIdx.x] = sums.b;
        }
    }
}

struct back_end_t : alya_loops_of<back_end_t> {
    template <class Body> static alya_sums_t run(const alya_flow_view_t &view, const Body &body)
    {
        const int64_t nodes = view.rows.nodes;
        const unsigned resident = 8u * static_cast<unsigned>(rt_device_gpu()->multiprocessors);
        const unsigned most = std::min<unsigned>(resident, ALYA_MOST_BLOCKS);
        const unsigned blocks = std::min(rt_blocks(static_cast<size_t>(nodes), THREADS), most);
        loop_kernel<<<blocks, THREADS, 0, rt_stream()>>>(nodes, body, view.partial,
                                                         view.partial + alya_partial_sums(nodes));
        RT_CUDA_LAUNCHED();
        if (!Body::has_sums)
            return {0, 0};
        RT_CUDA(cudaStreamSynchronize(rt_stream()));
        return alya_add_up(view, blocks);
    }
};

extern "C" const alya_loops_t alya_loops_cuda = back_end_t::table();
