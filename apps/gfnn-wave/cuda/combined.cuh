/*
 * combined.cuh - layers of a x + b y, made in shared memory (gfnn_combined_t): what Newmark puts
 * before an operator is made in it, which has bytes to spare. Each thread makes the pieces that it
 * has fetched itself, `early` layers before they are read, so no barrier is added.
 */
#ifndef GFNN_COMBINED_CUH
#define GFNN_COMBINED_CUH

#include "gfnn_cuda.cuh"

/* S: the shape of a block (parity.cu). */
template <class S> struct gfnn_combined_layers_t {
    using layers = typename S::layers;
    static constexpr int slots = 2, threads = S::threads, all = layers::all;
    static constexpr unsigned early = 2;
    static constexpr size_t bytes = sizeof(double2) * slots * layers::each * threads;

    double2 *memory; /* this thread's first piece of y */
    const double2 *y;
    double a, b;

    static __device__ __forceinline__ bool has(int q)
    {
        return (q + 1) * threads <= all || threadIdx.x + q * threads < all;
    }
    __device__ __forceinline__ double2 *piece_of_y(unsigned l, int q) const
    {
        return memory + (l % slots * layers::each + q) * threads + threadIdx.x;
    }
    /* Requests layer l, at this height, before that of x. */
    __device__ __forceinline__ void fetch_y(const gfnn_job_t<typename S::T> &job, const layers &x,
                                            unsigned l, int height) const
    {
        const unsigned here = gfnn_wrapped(height, job.n[2]) * (job.nodes.slab / layers::unit);
#pragma unroll
        for (int q = 0; q < layers::each; q++)
            if (has(q))
                rt_copy16(piece_of_y(l, q), y + (x.piece[q] + here));
    }
    /* Makes it when both have come; all threads must wait for each other before they read it. */
    __device__ __forceinline__ void make(const layers &x, unsigned l) const
    {
        double2 *layer =
            reinterpret_cast<double2 *>(x.memory + l % S::slots * layers::layer) + threadIdx.x;
        rt_barrier_wait(x.full + l % S::slots, l / S::slots % 2);
#pragma unroll
        for (int q = 0; q < layers::each; q++) {
            if (!has(q))
                continue;
            const double2 of_x = layer[q * threads], of_y = *piece_of_y(l, q);
            layer[q * threads] = {a * of_x.x + b * of_y.x, a * of_x.y + b * of_y.y};
        }
    }
};

#endif
