/*
 * solve_cuda.cu - the solve on the GPU: conjugate gradients of solve_cg.cu, and the preconditioner.
 *
 * Idea: the work of boxes.h. A patch is in shared memory, and a thread has lines of it in registers:
 * m products for each value that it reads. The boxes are written out, and a kernel that needs a
 * point adds the up to eight boxes that have it, in a fixed order: no atomics.
 *
 * Advantage: the same bits in every run, FP32, half of CG's bytes. Price: boxes go through memory
 * once (for degree 9, 14 KB per element, where the operator moves 64 KB), and a step of a lower
 * level is a kernel of its own.
 */
#include "config.h"
#include "machine/streams.h"
#include "solve_cg.cuh"
#include "solve_cuda.cuh"

static const char *const lines_values[] = {"auto", "1", "2", nullptr};
static const rt_parameter_t parameters[] = {
    {"lines", "lines of a patch that a thread multiplies at a time", lines_values, 0}};
enum { LINES, PARAMETERS };

/* --- elements --- */

/* A block of the patch kernel: so many elements, each with a thread for `lines` lines. */
template <int P, int lines> struct patch_block {
    static constexpr int threads = (P * P + lines - 1) / lines;
    /* values per element, from one multiple of 16 bytes to the next */
    static constexpr int values = (nek_patch_shared(P) + 3) / 4 * 4;
    static constexpr int find_elements()
    {
        int best = 1;
        for (int count = 2; count * threads <= NEK_MOST_PATCH_THREADS &&
                            count * values * 4 <= NEK_SHARED_BY_DEFAULT;
             count++)
            if (best * threads < NEK_LEAST_PATCH_THREADS ||
                count * threads * nek_whole_warps(best * threads) >
                    best * threads * nek_whole_warps(count * threads))
                best = count;
        return best;
    }
    static constexpr int elements = find_elements(), all = nek_whole_warps(elements * threads);
    /* registers of a thread: lines before and after a product, and about four rows of the matrix */
    static constexpr int fit = nek_blocks_of(all, (2 * lines + 4) * P + 4),
                         most = NEK_THREADS_RESIDENT / all, resident = fit < most ? fit : most;
};

template <int P, int lines>
__global__ void __launch_bounds__(patch_block<P, lines>::all, patch_block<P, lines>::resident)
    patches(const __grid_constant__ nek_level_view_t level, int elements,
            const float *__restrict__ r, float *__restrict__ boxes)
{
    using block = patch_block<P, lines>;
    __shared__ __align__(16) float memory[block::elements * block::values];
    const int own = static_cast<int>(threadIdx.x) / block::threads;
    const bool idle = own >= block::elements;
    const int e = static_cast<int>(blockIdx.x) * block::elements + (idle ? 0 : own);
    const nek_team team = {idle ? P * P * P : static_cast<int>(threadIdx.x) - own * block::threads,
                           block::threads};
    nek_patch_solve<P, lines>(team, level, P, e < elements ? e : elements - 1, e < elements, r,
                              boxes, memory + (idle ? 0 : own) * block::values);
}

/* Any patch; memory is dynamic. */
__global__ void __launch_bounds__(NEK_TEAM_THREADS)
    patches_of_any_size(const __grid_constant__ nek_level_view_t level, const float *r,
                        float *boxes)
{
    extern __shared__ __align__(16) float any_memory[];
    const nek_team team = {static_cast<int>(threadIdx.x), static_cast<int>(blockDim.x)};
    nek_patch_solve<NEK_MOST_PATCH, 1>(team, level, level.grid.patch, blockIdx.x, true, r, boxes,
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

/* n and c 0: the levels' own. */
template <int n, int c>
__global__ void __launch_bounds__(NEK_TEAM_THREADS)
    restrictions(const __grid_constant__ nek_level_view_t fine,
                 const __grid_constant__ nek_level_view_t coarse, const float *r, float *boxes)
{
    extern __shared__ __align__(16) float any_memory[];
    const nek_team team = {static_cast<int>(threadIdx.x), static_cast<int>(blockDim.x)};
    nek_element_restrict(team, fine, coarse, n ? n : fine.grid.n, c ? c : coarse.grid.n, blockIdx.x,
                         r, boxes, any_memory);
}

template <int n, int c>
__global__ void __launch_bounds__(NEK_TEAM_THREADS)
    prolongations(const __grid_constant__ nek_level_view_t coarse,
                  const __grid_constant__ nek_level_view_t fine, const float *from, bool add,
                  float *x)
{
    extern __shared__ __align__(16) float any_memory[];
    const nek_team team = {static_cast<int>(threadIdx.x), static_cast<int>(blockDim.x)};
    nek_element_prolong(team, coarse, fine, n ? n : fine.grid.n, c ? c : coarse.grid.n, blockIdx.x,
                        from, add, x, any_memory);
}

/* Launches a kernel with a block for each element and so many floats of shared memory. */
template <class Kernel, class... Arguments>
static void launch(const nek_view_t *view, Kernel *kernel, int threads, int values,
                   const Arguments &...arguments)
{
    const size_t bytes = sizeof(float) * static_cast<size_t>(values);
    nek_allow_shared(kernel, bytes);
    rt_launch(false, kernel, static_cast<unsigned>(view->elements), static_cast<unsigned>(threads),
              bytes, arguments...);
}

static void schwarz(const nek_view_t *view, const nek_level_view_t *level, const float *r,
                    float *boxes)
{
    const int chosen = view->choice ? view->choice[LINES] : 0;
    const bool known = nek_fixed_n<NEK_FIXED_N>(level->grid.n, [&](auto n) {
        constexpr int P = n() + 2;
        auto run = [&](auto lines) {
            using block = patch_block<P, lines()>;
            rt_launch(false, patches<P, lines()>,
                      rt_blocks(static_cast<size_t>(view->elements), block::elements), block::all,
                      0, *level, static_cast<int>(view->elements), r, boxes);
        };
        if (chosen == 1)
            run(std::integral_constant<int, 1>());
        else
            run(std::integral_constant<int, 2>());
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

/* Returns the threads that move an element of n^3 points between levels. */
static int transfer_threads(int n)
{
    const int warps = nek_whole_warps(n * n * n);
    return warps < NEK_TEAM_THREADS ? warps : NEK_TEAM_THREADS;
}

/* Calls f(n, c) with the sizes of two levels, if they are of the last transfer of usual levels; else
 * with 0. */
template <class F>
static void with_transfer(const nek_level_view_t *fine, const nek_level_view_t *coarse, F f)
{
    enum { MOST = 6 };
    const std::integral_constant<int, 2> two;
    const std::integral_constant<int, 0> any;
    if (coarse->grid.n != 2 || !nek_fixed_n<MOST>(fine->grid.n, [&](auto n) { f(n, two); }))
        f(any, any);
}

static void restrict_(const nek_view_t *view, const nek_level_view_t *fine,
                      const nek_level_view_t *coarse, const float *r, float *boxes)
{
    with_transfer(fine, coarse, [&](auto n, auto c) {
        launch(view, restrictions<n(), c()>, transfer_threads(fine->grid.n),
               nek_transfer_shared(fine->grid.n), *fine, *coarse, r, boxes);
    });
}

static void prolong(const nek_view_t *view, const nek_level_view_t *coarse,
                    const nek_level_view_t *fine, const float *from, bool add, float *x)
{
    rt_side_join();
    with_transfer(fine, coarse, [&](auto n, auto c) {
        launch(view, prolongations<n(), c()>, transfer_threads(fine->grid.n),
               nek_transfer_shared(fine->grid.n), *coarse, *fine, from, add, x);
    });
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
    rt_launch(false, kernel, rt_blocks(static_cast<size_t>(count), NEK_POINT_THREADS),
              NEK_POINT_THREADS, 0, count, arguments...);
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
    for (nek_steps_t s = nek_steps_begin(&c); s.k < c.order; nek_steps_next(&s)) {
        const int turn = s.k % 2;
        each_point(c.grid.nodes, chebyshev_points, c, s.k == 0, s.a, s.b,
                   c.work + (1 - turn) * c.grid.nodes, r, x, c.work + turn * c.grid.nodes);
    }
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

static const nek_precond_ops_t ops = {.schwarz = schwarz,
                                      .apply = apply,
                                      .restrict_ = restrict_,
                                      .prolong = prolong,
                                      .collect = collect,
                                      .axpby = axpby,
                                      .coarse = coarse,
                                      .top = nek_pcg_top};

static const nek_preconditioner_t preconditioner = {.set_up = nek_pcg_set_up,
                                                    .tear_down = nek_pcg_tear_down,
                                                    .memory = nek_pcg_memory,
                                                    .apply = nek_pcg_apply,
                                                    .update_p = nek_pcg_update_p,
                                                    .ops = &ops};

extern "C" const nek_kernels_t nek_solve_cuda = {
    .rung = {.precision = "FP64, preconditioner in FP32",
             .reproducible = true,
             .parameters = parameters,
             .n_parameters = PARAMETERS,
             .refuse = nek_refuse},
    .ax = nek_packed_ax_auto,
    .vector = &nek_vector_cuda,
    .preconditioner = &preconditioner,
    .max_n = NEK_FIXED_N,
    .max_n_reason = NEK_LINE_MAX_N_REASON,
    .cg = nek_pcg,
};
