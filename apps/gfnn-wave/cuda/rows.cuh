/*
 * rows.cuh - passes over the own nodes of the box, for the vector loops in CUDA: what set_up makes,
 * rows that warps take, and the launch.
 */
#ifndef GFNN_ROWS_CUH
#define GFNN_ROWS_CUH

#include "gfnn_cuda.cuh"
#include "../loops/loops.hpp"

/* The grid is as large as the device: RESIDENT blocks per multiprocessor, with 48 registers. */
enum { GFNN_THREADS = 256, GFNN_WARPS = GFNN_THREADS / 32, GFNN_RESIDENT = 5 };

/* What set_up makes. */
struct gfnn_vectors_data_t {
    unsigned blocks; /* of the grid */
    gfnn_parts_t parts;
    double *result;          /* pinned: a sum that the host waits for */
    gfnn_entries_t *entries; /* device [GFNN_MAX_IDS] */
    struct gfnn_ghosts_t *ghosts;
};

struct gfnn_rows_t {
    gfnn_lines_t fine, wide;
    int n[3];
    bool alone;

    explicit gfnn_rows_t(const gfnn_box_t *box)
        : fine(box->fine), wide(box->wide), alone(gfnn_is_alone(box))
    {
        for (int d = 0; d < 3; d++)
            n[d] = static_cast<int>(box->n[d]);
    }
};

/* Goes through a warp's share: row by row of every component. */
template <class Body>
static __device__ __forceinline__ void gfnn_each_row(const gfnn_rows_t &g, Body body)
{
    const unsigned rows = 3u * g.n[1] * g.n[2], step = gridDim.x * GFNN_WARPS;
    for (unsigned row = blockIdx.x * GFNN_WARPS + threadIdx.x / 32; row < rows; row += step) {
        const unsigned layer = row / g.n[1], j = row % g.n[1];
        const unsigned c = layer / g.n[2], k = layer % g.n[2];
        body(c * g.fine.plane + g.fine.at(0, j, k), c * g.wide.plane + g.wide.at(0, j, k));
    }
}

/* Calls store(places, own, load(places)) for V neighbours at once, of which the first `own` are own
 * nodes, and loads `ahead` times before it stores: a compiler cannot know that the next load does
 * not read what was stored. All lanes call store, some with own <= 0 and nothing loaded. */
template <int V, int ahead, class Load, class Store>
static __device__ __forceinline__ void gfnn_each_pack(const gfnn_rows_t &g, Load load, Store store)
{
    gfnn_each_row(g, [&](int64_t fine, int64_t wide) {
        for (int first = 0; first < g.n[0]; first += 32 * V * ahead) {
            const int lane = first + V * (threadIdx.x % 32);
            decltype(load(fine, wide)) value[ahead];
#pragma unroll
            for (int a = 0; a < ahead; a++)
                if (lane + 32 * V * a < g.n[0])
                    value[a] = load(fine + lane + 32 * V * a, wide + lane + 32 * V * a);
#pragma unroll
            for (int a = 0; a < ahead; a++)
                store(fine + lane + 32 * V * a, wide + lane + 32 * V * a,
                      g.n[0] - lane - 32 * V * a, value[a]);
        }
    });
}

static inline const gfnn_vectors_data_t *gfnn_vectors_data(const gfnn_view_t *view)
{
    return static_cast<const gfnn_vectors_data_t *>(view->data);
}

/* blocks.cu; T: double or float */
template <class T>
void gfnn_cuda_update_bj(const gfnn_view_t *view, gfnn_cg_t *cg, bool first, const void *q, void *r,
                         float *z);
extern "C" {
void gfnn_cuda_smooth32(const gfnn_view_t *view, const float *z, float a, const float *old,
                        float omega, const float *r, const float *y, float *out);

/* ghosts.cu */
struct gfnn_ghosts_t *gfnn_cuda_ghosts_new(const gfnn_view_t *view);
void gfnn_cuda_ghosts_destroy(struct gfnn_ghosts_t *ghosts);
void gfnn_cuda_wrap(const gfnn_view_t *view, int width, rt_type_t type, void *x);
void *gfnn_cuda_share(const gfnn_view_t *view, size_t bytes);
void gfnn_cuda_unshare(const gfnn_view_t *view, void *x);
}

#endif
