/*
 * rows.cuh - passes over the own nodes of the box, for the vector loops in CUDA: what set_up makes,
 * rows that warps take, and the launch.
 */
#ifndef GFNN_ROWS_CUH
#define GFNN_ROWS_CUH

#include "gfnn_cuda.cuh"
#include "apps/gfnn-wave/loops/node.h"

/* The grid is as large as the device: RESIDENT blocks per multiprocessor, with 48 registers. */
enum { GFNN_THREADS = 256, GFNN_WARPS = GFNN_THREADS / 32, GFNN_RESIDENT = 5 };

/* What an element adds to the block of its corner. */
struct __align__(8) gfnn_entries_t
{
    float diagonal, cross;
};

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

/* V neighbours of a row, which a lane loads and stores at once. Own rows begin at multiples of 4. */
template <class T, int V> struct __align__(V * sizeof(T)) gfnn_pack_t
{
    T at[V];
};
template <class T> constexpr int gfnn_wide = 16 / sizeof(T);

template <int V, class T> static __device__ __forceinline__ gfnn_pack_t<T, V> gfnn_get(const T *x)
{
    return *reinterpret_cast<const gfnn_pack_t<T, V> *>(x);
}

/* Stores the first `own` values: the rest are ghosts. */
template <class T, int V>
static __device__ __forceinline__ void gfnn_put(T *x, int own, const gfnn_pack_t<T, V> &value)
{
    if (own >= V)
        *reinterpret_cast<gfnn_pack_t<T, V> *>(x) = value;
#pragma unroll
    for (int e = 0; e < V - 1; e++)
        if (own < V && e < own)
            x[e] = value.at[e];
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

/* The same one by one: calls store(places, load(places)). */
template <int ahead, class Load, class Store>
static __device__ __forceinline__ void gfnn_each_ahead(const gfnn_rows_t &g, Load load, Store store)
{
    gfnn_each_pack<1, ahead>(g, load, [&](int64_t fine, int64_t wide, int own, auto &value) {
        if (own > 0)
            store(fine, wide, value);
    });
}

/* Calls body(place on `fine`, place on `wide`) for every component of every own node, `ahead`
 * values of a row at once: for what only reads, or only writes. */
template <int ahead, class Body>
static __device__ __forceinline__ void gfnn_each_value(const gfnn_rows_t &g, Body body)
{
    gfnn_each_row(g, [&](int64_t fine, int64_t wide) {
#pragma unroll ahead
        for (int i = threadIdx.x % 32; i < g.n[0]; i += 32)
            body(fine + i, wide + i);
    });
}

/* Where a vector of T has a value: doubles are on `fine`, others on `wide`. */
template <class T> static __device__ __forceinline__ int64_t gfnn_place(int64_t fine, int64_t wide)
{
    return sizeof(T) == sizeof(double) ? fine : wide;
}

static inline const gfnn_vectors_data_t *gfnn_vectors_data(const gfnn_view_t *view)
{
    return static_cast<const gfnn_vectors_data_t *>(view->data);
}

/* Every kernel over rows has this grid. */
template <class... P, class... A>
static void gfnn_launch_rows(void (*kernel)(gfnn_rows_t, P...), const gfnn_view_t *view,
                             A... arguments)
{
    kernel<<<gfnn_vectors_data(view)->blocks, GFNN_THREADS, 0, rt_stream()>>>(
        gfnn_rows_t(view->box), arguments...);
    RT_CUDA_LAUNCHED();
}

/* blocks.cu */
extern "C" {
void gfnn_cuda_update_bj(const gfnn_view_t *view, gfnn_cg_t *cg, bool first, const void *q, void *r,
                         float *z);
void gfnn_cuda_update_bj32(const gfnn_view_t *view, gfnn_cg_t *cg, bool first, const void *q,
                           void *r, float *z);
void gfnn_cuda_smooth32(const gfnn_view_t *view, const float *z, float a, const float *old,
                        float omega, const float *r, const float *y, float *out);
gfnn_entries_t *gfnn_cuda_entries_new(const gfnn_view_t *view, const gfnn_form_t *form);

/* cg.cu: over FP64 and FP32 vectors */
extern const gfnn_loops_t gfnn_loops_cuda, gfnn_loops32_cuda;

/* newmark.cu */
void gfnn_cuda_newmark_before(const gfnn_view_t *view, double dt, double rayleigh_a,
                              double rayleigh_b, const double *u, const double *v, const double *a,
                              double *x1, double *x2);
void gfnn_cuda_newmark_after(const gfnn_view_t *view, double dt, const double *du, double *u,
                             double *v, double *a);
void gfnn_cuda_add(const gfnn_view_t *view, int64_t at, double value, double *x);
void gfnn_cuda_hold(const gfnn_view_t *view, double *x, float *z);

/* ghosts.cu */
struct gfnn_ghosts_t *gfnn_cuda_ghosts_new(const gfnn_view_t *view);
void gfnn_cuda_ghosts_destroy(struct gfnn_ghosts_t *ghosts);
void gfnn_cuda_wrap(const gfnn_view_t *view, int width, rt_type_t type, void *x);
void *gfnn_cuda_share(const gfnn_view_t *view, size_t bytes);
void gfnn_cuda_unshare(const gfnn_view_t *view, void *x);
double gfnn_cuda_ghosts_memory(const gfnn_config_t *config);
}

#endif
