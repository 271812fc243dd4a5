/*
 * solve_cuda.cu - the solve with the operator of `packed` and the preconditioner on the GPU.
 *
 * Idea: the work of boxes.h. A patch is in shared memory, and a thread has a line of it in
 * registers: m products for each value that it reads. The boxes are written out, and each point of
 * the grid gathers the up to eight boxes that have it, in a fixed order: no atomics.
 *
 * Advantage: the same bits in every run, FP32, half of CG's bytes. Price: boxes go through memory
 * once (for degree 9, 14 KB per element, where the operator moves 64 KB), each step is a kernel of
 * its own, and the host waits for every inner product.
 */
#include "config.h"
#include "machine/streams.h"
#include "nek_launch.cuh"
#include "solve_cuda.cuh"

/* --- elements --- */

template <int P>
__global__ void __launch_bounds__(nek_patch_threads(P))
    patches(const __grid_constant__ nek_level_view_t level, const float *__restrict__ r,
            float *__restrict__ boxes)
{
    __shared__ __align__(16) float memory[nek_patch_shared(P)];
    const nek_team team = {static_cast<int>(threadIdx.x), static_cast<int>(blockDim.x)};
    nek_patch_solve<P>(team, level, P, blockIdx.x, r, boxes, memory);
}

/* Any patch; memory is dynamic. */
__global__ void __launch_bounds__(NEK_TEAM_THREADS)
    patches_of_any_size(const __grid_constant__ nek_level_view_t level, const float *r,
                        float *boxes)
{
    extern __shared__ __align__(16) float any_memory[];
    const nek_team team = {static_cast<int>(threadIdx.x), static_cast<int>(blockDim.x)};
    nek_patch_solve<NEK_MOST_PATCH>(team, level, level.grid.patch, blockIdx.x, r, boxes,
                                    any_memory);
}

template <int n>
__global__ void __launch_bounds__(NEK_POINT_THREADS)
    operators(const __grid_constant__ nek_level_view_t level, const float *x, float *boxes)
{
    extern __shared__ __align__(16) float any_memory[];
    const nek_team team = {static_cast<int>(threadIdx.x), static_cast<int>(blockDim.x)};
    nek_element_apply(team, level, n ? n : level.grid.n, blockIdx.x, x, boxes, any_memory);
}

__global__ void __launch_bounds__(NEK_TEAM_THREADS)
    restrictions(const __grid_constant__ nek_level_view_t fine,
                 const __grid_constant__ nek_level_view_t coarse, const float *r, float *boxes)
{
    extern __shared__ __align__(16) float any_memory[];
    const nek_team team = {static_cast<int>(threadIdx.x), static_cast<int>(blockDim.x)};
    nek_element_restrict(team, fine, coarse, blockIdx.x, r, boxes, any_memory);
}

__global__ void __launch_bounds__(NEK_TEAM_THREADS)
    prolongations(const __grid_constant__ nek_level_view_t coarse,
                  const __grid_constant__ nek_level_view_t fine, const float *from, bool add,
                  float *x)
{
    extern __shared__ __align__(16) float any_memory[];
    const nek_team team = {static_cast<int>(threadIdx.x), static_cast<int>(blockDim.x)};
    nek_element_prolong(team, coarse, fine, blockIdx.x, from, add, x, any_memory);
}

/* Launches a kernel with a block for each element and so many floats of shared memory. */
template <class Kernel, class... Arguments>
static void launch(const nek_view_t *view, Kernel *kernel, int threads, int values,
                   const Arguments &...arguments)
{
    const size_t bytes = sizeof(float) * static_cast<size_t>(values);
    nek_allow_shared(kernel, bytes);
    kernel<<<static_cast<unsigned>(view->elements), static_cast<unsigned>(threads), bytes,
             rt_stream()>>>(arguments...);
    RT_CUDA_LAUNCHED();
}

static void schwarz(const nek_view_t *view, const nek_level_view_t *level, const float *r,
                    float *boxes)
{
    const bool known = nek_fixed_n<NEK_FIXED_N>(level->grid.n, [&](auto n) {
        constexpr int P = n() + 2;
        patches<P><<<static_cast<unsigned>(view->elements), nek_patch_threads(P), 0, rt_stream()>>>(
            *level, r, boxes);
        RT_CUDA_LAUNCHED();
    });
    if (!known)
        launch(view, patches_of_any_size, NEK_TEAM_THREADS, nek_patch_shared(level->grid.patch),
               *level, r, boxes);
}

static void apply(const nek_view_t *view, const nek_level_view_t *level, const float *x,
                  float *boxes)
{
    const int values = nek_apply_shared(level->grid.n);
    const bool known = nek_fixed_n<NEK_FIXED_N>(level->grid.n, [&](auto n) {
        launch(view, operators<n()>, NEK_POINT_THREADS, values, *level, x, boxes);
    });
    if (!known)
        launch(view, operators<0>, NEK_POINT_THREADS, values, *level, x, boxes);
}

static void restrict_(const nek_view_t *view, const nek_level_view_t *fine,
                      const nek_level_view_t *coarse, const float *r, float *boxes)
{
    launch(view, restrictions, NEK_TEAM_THREADS, nek_transfer_shared(fine->grid.n), *fine, *coarse,
           r, boxes);
}

static void prolong(const nek_view_t *view, const nek_level_view_t *coarse,
                    const nek_level_view_t *fine, const float *from, bool add, float *x)
{
    rt_side_join();
    launch(view, prolongations, NEK_TEAM_THREADS, nek_transfer_shared(fine->grid.n), *coarse, *fine,
           from, add, x);
}

/* --- points --- */

/* Returns the point of this thread. */
static __device__ __forceinline__ int64_t nek_point()
{
    return blockIdx.x * static_cast<int64_t>(NEK_POINT_THREADS) + threadIdx.x;
}

/* Launches a kernel with a thread for each point; the kernel's first argument is their number. */
template <class Kernel, class... Arguments>
static void each_point(int64_t count, Kernel *kernel, const Arguments &...arguments)
{
    kernel<<<rt_blocks(static_cast<size_t>(count), NEK_POINT_THREADS), NEK_POINT_THREADS, 0,
             rt_stream()>>>(count, arguments...);
    RT_CUDA_LAUNCHED();
}

__global__ void __launch_bounds__(NEK_POINT_THREADS)
    take_points(int64_t count, const nek_grid_t g, double scale, const double *r, float *r32)
{
    const int64_t q = nek_point(), at = q < count ? nek_point_at_grid(&g, q) : 0;
    if (q < count)
        r32[q] = at < 0 ? 0.0f : static_cast<float>(scale * r[at]);
}

static void take(const nek_view_t *, const nek_level_view_t *level, double scale, const double *r,
                 float *r32)
{
    each_point(level->grid.nodes, take_points, level->grid, scale, r, r32);
}

__global__ void __launch_bounds__(NEK_POINT_THREADS)
    collect_points(int64_t count, const nek_grid_t g, nek_box_t kind, const float *boxes,
                   float *sum)
{
    const int64_t q = nek_point();
    if (q < count)
        sum[q] = nek_collect(&g, kind, boxes, q);
}

static void collect(const nek_view_t *, const nek_level_view_t *level, nek_box_t kind,
                    const float *boxes, float *sum)
{
    each_point(level->grid.nodes, collect_points, level->grid, kind, boxes, sum);
}

__global__ void __launch_bounds__(NEK_POINT_THREADS)
    axpby_points(int64_t count, float a, const float *inverse, const float *x, float b, float *y)
{
    const int64_t q = nek_point();
    if (q < count)
        y[q] = a * (inverse ? inverse[q] * x[q] : x[q]) + (b != 0 ? b * y[q] : 0);
}

static void axpby(const nek_view_t *, int64_t nodes, float a, const float *inverse, const float *x,
                  float b, float *y)
{
    each_point(nodes, axpby_points, a, inverse, x, b, y);
}

__global__ void __launch_bounds__(NEK_POINT_THREADS)
    along_points(int64_t count, const __grid_constant__ nek_coarse_view_t c, int d, bool to_modes,
                 bool divide, const float *in, float *out)
{
    const int64_t q = nek_point();
    if (q >= count)
        return;
    const float value = nek_modes_at(&c, d, to_modes, in, q);
    out[q] = divide ? value / nek_eigen_at(&c, q) : value;
}

static void along(const nek_coarse_view_t &c, int d, bool to_modes, bool divide, const float *in,
                  float *out)
{
    each_point(c.grid.nodes, along_points, c, d, to_modes, divide, in, out);
}

__global__ void __launch_bounds__(NEK_POINT_THREADS)
    chebyshev_points(int64_t count, const __grid_constant__ nek_coarse_view_t c, bool first,
                     float a, float b, const float *d, float *r, float *x, float *next)
{
    const int64_t q = nek_point();
    if (q < count)
        nek_chebyshev_at(&c, q, first, a, b, d, r, x, next);
}

static void chebyshev(const nek_coarse_view_t &c, float *r, float *x)
{
    nek_chebyshev_steps(c, [&](bool first, float a, float b, int turn) {
        each_point(c.grid.nodes, chebyshev_points, c, first, a, b,
                   c.work + (1 - turn) * c.grid.nodes, r, x, c.work + turn * c.grid.nodes);
    });
}

static void tensor(const nek_coarse_view_t &c, float *r, float *x)
{
    float *a = c.work, *b = a + c.grid.nodes;
    along(c, 0, true, false, r, a);
    along(c, 1, true, false, a, b);
    along(c, 2, true, true, b, a);
    along(c, 2, false, false, a, b);
    along(c, 1, false, false, b, a);
    along(c, 0, false, false, a, x);
}

/* On the second stream: its kernels are small, and follow one another beside the patches. */
static void coarse(const nek_view_t *, const nek_coarse_view_t *coarse, float *r, float *x)
{
    rt_side_begin();
    if (coarse->modes[0])
        tensor(*coarse, r, x);
    else
        chebyshev(*coarse, r, x);
    rt_side_end();
}

/* --- between CG's vectors and the grid --- */

/* Adds c r z over the points; the block that is last adds the partial sums in order. */
__global__ void __launch_bounds__(NEK_POINT_THREADS)
    sum_rz(const nek_grid_t g, int64_t points, const double *c, const double *r, const float *z,
           double *partial)
{
    double sum = 0;
    const int64_t step = static_cast<int64_t>(gridDim.x) * NEK_POINT_THREADS;
    for (int64_t q = blockIdx.x * static_cast<int64_t>(NEK_POINT_THREADS) + threadIdx.x; q < points;
         q += step)
        sum += c[q] * r[q] * z[nek_grid_at_point(&g, q)];
    sum = rt_block_sum<NEK_POINT_THREADS>(sum);
    if (threadIdx.x == 0)
        partial[blockIdx.x] = sum;
}

__global__ void __launch_bounds__(NEK_POINT_THREADS)
    add_partial(const double *partial, unsigned count, double *result)
{
    double sum = 0;
    for (unsigned b = threadIdx.x; b < count; b += NEK_POINT_THREADS)
        sum += partial[b];
    sum = rt_block_sum<NEK_POINT_THREADS>(sum);
    if (threadIdx.x == 0)
        *result = sum;
}

static double dot(const nek_view_t *view, const nek_level_view_t *level, const double *r,
                  const float *z)
{
    enum { MOST_BLOCKS = 1024 }; /* view->partial holds more */
    const unsigned needed = rt_blocks(static_cast<size_t>(view->points), NEK_POINT_THREADS),
                   blocks = needed < MOST_BLOCKS ? needed : static_cast<unsigned>(MOST_BLOCKS);
    sum_rz<<<blocks, NEK_POINT_THREADS, 0, rt_stream()>>>(level->grid, view->points, view->c, r, z,
                                                          view->partial);
    add_partial<<<1, NEK_POINT_THREADS, 0, rt_stream()>>>(view->partial, blocks, view->result);
    RT_CUDA_LAUNCHED();
    RT_CUDA(cudaStreamSynchronize(rt_stream()));
    return *static_cast<volatile double *>(view->result);
}

__global__ void __launch_bounds__(NEK_POINT_THREADS)
    turn_points(int64_t count, const nek_grid_t g, double scale, const float *z, double beta,
                double *p)
{
    const int64_t q = nek_point();
    if (q < count)
        p[q] = scale * z[nek_grid_at_point(&g, q)] + beta * p[q];
}

static void update_p(const nek_view_t *view, const nek_level_view_t *level, double scale,
                     const float *z, double beta, double *p)
{
    each_point(view->points, turn_points, level->grid, scale, z, beta, p);
}

extern const nek_precond_ops_t nek_precond_ops_cuda = {.take = take,
                                                       .schwarz = schwarz,
                                                       .apply = apply,
                                                       .restrict_ = restrict_,
                                                       .prolong = prolong,
                                                       .collect = collect,
                                                       .axpby = axpby,
                                                       .coarse = coarse,
                                                       .dot = dot,
                                                       .update_p = update_p};

static const nek_preconditioner_t preconditioner = NEK_PRECOND_SINGLE(&nek_precond_ops_cuda);

extern "C" const nek_kernels_t nek_solve_cuda = {
    .rung = {.precision = "FP64, preconditioner in FP32",
             .reproducible = true,
             .refuse = nek_refuse},
    .ax = nek_packed_ax_auto,
    .vector = &nek_vector_cuda,
    .preconditioner = &preconditioner,
    .max_n = NEK_FIXED_N,
    .max_n_reason = NEK_LINE_MAX_N_REASON,
};
