/*
 * solve_cuda.cu - the solve on the GPU: conjugate gradients of solve_cg.cu, and the preconditioner.
 *
 * Idea: the work of boxes.h. A patch is in shared memory, and a thread has lines of it in registers:
 * m products for each value that it reads. The boxes are written out, and a kernel that needs a
 * point adds the up to eight boxes that have it, in a fixed order: no atomics.
 *
 * A lower level is little work in many steps, so what counts there is their number: J' to degree 1
 * starts from the boxes that J' to the level before has left; up to three steps of Chebyshev's
 * polynomial are one kernel, on bricks that overlap; the sum of a level's boxes and J of the next
 * level are another.
 *
 * Advantage: the same bits in every run, FP32, half of CG's bytes. Price: boxes go through memory
 * once (for degree 9, 14 KB per element, where the operator moves 64 KB).
 */
#include "config.h"
#include "machine/streams.h"
#include "solve_cg.cuh"

/* --- elements ---
 * A patch of m^3 points has m^2 lines along each direction. A thread takes a line into registers,
 * multiplies it by a matrix from shared memory, and puts it back: five sweeps, since the two along x
 * follow each other in registers. The first reads the grid, the last writes the box. Small patches
 * share a block. */

/* Threads that a block of the patch kernel has at least, if the elements fit; and at most, unless
 * one element needs more. */
enum { NEK_LEAST_PATCH_THREADS = 64, NEK_MOST_PATCH_THREADS = 192 };
enum { NEK_TEAM_THREADS = 128 }; /* of a block of `restrictions`, at most */

/* A block of the patch kernel: some elements, each with a thread for `lines` lines. */
template <int size> struct patch_block {
    static constexpr int P = size, lines = 2;
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

template <int P>
__global__ void __launch_bounds__(patch_block<P>::all, patch_block<P>::resident)
    patches(const __grid_constant__ nek_level_view_t level, int elements,
            const float *__restrict__ r, float *__restrict__ boxes)
{
    using block = patch_block<P>;
    __shared__ __align__(16) float memory[block::elements * block::values];
    const int own = static_cast<int>(threadIdx.x) / block::threads;
    const bool idle = own >= block::elements;
    const int e = static_cast<int>(blockIdx.x) * block::elements + (idle ? 0 : own);
    const nek_team team = {idle ? P * P * P : static_cast<int>(threadIdx.x) - own * block::threads,
                           block::threads};
    const float energy = nek_patch_solve<P, block::lines>(
        team, level, P, e < elements ? e : elements - 1, e < elements, r, boxes,
        memory + (idle ? 0 : own) * block::values);
    if (level.energy) {
        double sum[1] = {energy};
        nek_block_sums(sum);
        if (threadIdx.x == 0)
            level.energy[blockIdx.x] = sum[0];
    }
}

__global__ void __launch_bounds__(NEK_TEAM_THREADS)
    restrictions(const __grid_constant__ nek_level_view_t fine,
                 const __grid_constant__ nek_level_view_t coarse, const float *r, float *boxes)
{
    extern __shared__ __align__(16) float any_memory[];
    const nek_team team = {static_cast<int>(threadIdx.x), static_cast<int>(blockDim.x)};
    nek_element_restrict(team, fine, coarse, fine.grid.n, coarse.grid.n, blockIdx.x, r, boxes,
                         any_memory);
}

/* Calls f(patch_block<P>()). */
template <class F> static void with_block(const nek_level_view_t *level, F f)
{
    nek_fixed_n<NEK_FIXED_N>(level->grid.n, [&](auto n) { f(patch_block<n() + 2>()); });
}

int nek_patch_blocks(const nek_view_t *view, const nek_level_view_t *level)
{
    int blocks = 0;
    with_block(level, [&](auto block) {
        blocks = static_cast<int>(rt_blocks(static_cast<size_t>(view->elements), block.elements));
    });
    return blocks;
}

static void schwarz(const nek_view_t *view, const nek_level_view_t *level, const float *r,
                    float *boxes)
{
    const auto blocks = static_cast<unsigned>(nek_patch_blocks(view, level));
    with_block(level, [&](auto block) {
        rt_launch(false, patches<block.P>, blocks, block.all, 0, *level,
                  static_cast<int>(view->elements), r, boxes);
    });
}

static void restrict_(const nek_view_t *view, const nek_level_view_t *fine,
                      const nek_level_view_t *coarse, const float *r, float *boxes)
{
    const int n = fine->grid.n, warps = nek_whole_warps(n * n * n);
    const int threads = warps < NEK_TEAM_THREADS ? warps : NEK_TEAM_THREADS;
    const size_t bytes = sizeof(float) * static_cast<size_t>(nek_transfer_shared(n));
    nek_allow_shared(restrictions, bytes);
    rt_launch(false, restrictions, static_cast<unsigned>(view->elements),
              static_cast<unsigned>(threads), bytes, *fine, *coarse, r, boxes);
}

/* --- points --- */

static void collect(const nek_view_t *, const nek_level_view_t *level, nek_box_t kind,
                    const float *boxes, float *sum)
{
    each_point(level->grid.nodes, nek_collect_points<float>, level->grid, kind, boxes,
               static_cast<const int *>(nullptr), sum);
}

/* A warp has a point. n: of the level before. */
template <int n>
__global__ void __launch_bounds__(NEK_POINT_THREADS)
    restrict_points(int64_t count, const __grid_constant__ nek_level_view_t last,
                    const float *boxes, float *r)
{
    const int lane = static_cast<int>(threadIdx.x) % 32;
    const int64_t q = nek_point() / 32;
    if (q >= count)
        return;
    const float sum = rt_warp_sum(nek_restrict_at(&last, n, boxes, q, lane, 32));
    if (lane == 0)
        r[q] = sum;
}

static void restrict_last(const nek_view_t *, const nek_level_view_t *fine,
                          const nek_level_view_t *last, const float *boxes, float *r)
{
    enum { MOST = 6 }; /* the level before degree 1 has degree 2 to 4 */
    nek_fixed_n<MOST>(fine->grid.n, [&](auto n) {
        rt_launch(false, restrict_points<n()>,
                  rt_blocks(static_cast<size_t>(last->grid.nodes) * 32, NEK_POINT_THREADS),
                  NEK_POINT_THREADS, 0, last->grid.nodes, *last, boxes, r);
    });
}

__global__ void __launch_bounds__(NEK_POINT_THREADS)
    raise_points(int64_t count, const __grid_constant__ nek_level_view_t coarse,
                 const __grid_constant__ nek_grid_t fine, const float *boxes, const float *from,
                 float *x)
{
    const int64_t q = nek_point();
    if (q < count)
        x[q] = nek_collect(&fine, NEK_PATCH, boxes, q) + nek_prolong_at(&coarse, &fine, from, q);
}

static void raise(const nek_view_t *, const nek_level_view_t *coarse, const nek_level_view_t *fine,
                  const float *boxes, const float *from, float *x)
{
    rt_side_join();
    each_point(fine->grid.nodes, raise_points, *coarse, fine->grid, boxes, from, x);
}

/* --- degree 1: steps of Chebyshev's polynomial --- */

/* What a launch does: `count` steps, number s with a[s] and b[s]. first: there is no d yet, and x is
 * 0. */
enum { NEK_MOST_STEPS = 3 };
typedef struct {
    int count;
    bool first, last;
    float a[NEK_MOST_STEPS], b[NEK_MOST_STEPS];
    const float *r, *d;
    float *x, *next_r, *next_d;
} nek_steps_launch_t;

/*
 * A block has a brick of points, and makes up to `steps` steps on it without other blocks: it begins
 * with steps - 1 layers around the brick, and after each step one layer less is right. A thread has
 * a point, with its row of the operator in registers, which it loads before the previous launch has
 * ended. Steps: r -= A d, d = a r / diagonal + b d, x += d.
 */
template <int steps> struct nek_brick {
    static constexpr int wide = 7, side = wide - 2 * (steps - 1), halo = wide + 2,
                         threads = nek_whole_warps(wide * wide * wide);
    /* Returns the bricks along a side of the grid with that many points; at least one. */
    static __host__ __device__ int along(int points)
    {
        return points > 4 ? (points - 4 + side - 1) / side : 1;
    }
    static int all(const nek_grid_t &g)
    {
        return along(g.points[0]) * along(g.points[1]) * along(g.points[2]);
    }
};

template <int steps>
__global__ void __launch_bounds__(nek_brick<steps>::threads, 4)
    chebyshev_steps(const __grid_constant__ nek_coarse_view_t c,
                    const __grid_constant__ nek_steps_launch_t now)
{
    using brick = nek_brick<steps>;
    constexpr int wide = brick::wide, halo = brick::halo, halo3 = halo * halo * halo;
    __shared__ float memory[2][halo3]; /* d, and that of the next step */
    const int t = static_cast<int>(threadIdx.x), b = static_cast<int>(blockIdx.x);
    const int X = c.grid.points[0], Y = c.grid.points[1], Z = c.grid.points[2];
    const int many[2] = {brick::along(X), brick::along(Y)};
    /* the grid's point at the first of the halo */
    const int from[3] = {b % many[0] * brick::side + 2 - steps,
                         b / many[0] % many[1] * brick::side + 2 - steps,
                         b / (many[0] * many[1]) * brick::side + 2 - steps};
    auto inside = [=](int x, int y, int z) {
        return x >= 2 && x < X - 2 && y >= 2 && y < Y - 2 && z >= 2 && z < Z - 2;
    };
    auto in_brick = [](int i) { return i >= steps - 1 && i < steps - 1 + brick::side; };
    const int i = t % wide, j = t / wide % wide, k = t / (wide * wide);
    const int own = i + 1 + halo * (j + 1 + halo * (k + 1));
    const bool has = k < wide && inside(from[0] + i + 1, from[1] + j + 1, from[2] + k + 1),
               keeps = has && in_brick(i) && in_brick(j) && in_brick(k);
    const int q = has ? from[0] + i + 1 + X * (from[1] + j + 1 + Y * (from[2] + k + 1)) : 0;
    float of[NEK_STENCIL];
#pragma unroll
    for (int s = 0; s < NEK_STENCIL; s++)
        of[s] = has ? c.stencil[s * c.grid.nodes + q] : 0;
    const float inverse = has ? c.inverse[q] : 0;

    rt_wait_for_previous();
    rt_let_next_start();
    for (int p = t; p < halo3; p += brick::threads) {
        const int x = from[0] + p % halo, y = from[1] + p / halo % halo,
                  z = from[2] + p / (halo * halo);
        memory[0][p] = !now.first && inside(x, y, z) ? now.d[x + X * (y + Y * z)] : 0;
        memory[1][p] = 0;
    }
    float r = has ? now.r[q] : 0, x = keeps && !now.first ? now.x[q] : 0, d = 0;
    for (int s = 0; s < now.count; s++) {
        const float *const before = memory[s % 2];
        __syncthreads(); /* d of this step is there, and that of the step before has been read */
        if (k < wide) {
            float sum = 0;
#pragma unroll
            for (int m = 0; m < NEK_STENCIL; m++)
                sum +=
                    of[m] * before[own + m % 3 - 1 + halo * (m / 3 % 3 - 1 + halo * (m / 9 - 1))];
            r -= sum; /* 0 in the first step */
            d = now.a[s] * inverse * r + now.b[s] * before[own];
            x += d;
            memory[1 - s % 2][own] = d;
        }
    }
    if (!keeps)
        return;
    now.x[q] = x;
    if (!now.last) {
        now.next_r[q] = r;
        now.next_d[q] = d;
    }
}

template <int steps> static void chebyshev_by(const nek_coarse_view_t &c, const float *r, float *x)
{
    float *const rs = c.work, *const ds = rs + 2 * c.grid.nodes;
    nek_steps_t s = nek_steps_begin(&c);
    for (int launch = 0; s.k < c.order; launch++) {
        const int64_t to = launch % 2 * c.grid.nodes, at = c.grid.nodes - to;
        nek_steps_launch_t now = {};
        now.first = launch == 0;
        for (; now.count < steps && s.k < c.order; nek_steps_next(&s)) {
            now.a[now.count] = s.a;
            now.b[now.count++] = s.b;
        }
        now.last = s.k == c.order;
        now.r = now.first ? r : rs + at;
        now.d = ds + at;
        now.x = x;
        now.next_r = rs + to;
        now.next_d = ds + to;
        rt_launch(!now.first, chebyshev_steps<steps>,
                  static_cast<unsigned>(nek_brick<steps>::all(c.grid)), nek_brick<steps>::threads,
                  0, c, now);
    }
}

/* On the second stream: its kernels are small, and follow one another beside the patches. They make as
 * many steps as leave a multiprocessor one brick; r is not changed. */
static void coarse(const nek_view_t *, const nek_coarse_view_t *c, float *r, float *x)
{
    const int most = rt_device_gpu()->multiprocessors;
    rt_side_begin();
    if (nek_brick<3>::all(c->grid) <= most)
        chebyshev_by<3>(*c, r, x);
    else if (nek_brick<2>::all(c->grid) <= most)
        chebyshev_by<2>(*c, r, x);
    else
        chebyshev_by<1>(*c, r, x);
    rt_side_end();
}

template <class T> nek_kernels_t nek_solve_table(const char *precision)
{
    static constexpr nek_precond_ops_t ops = {.schwarz = schwarz,
                                              .restrict_ = restrict_,
                                              .collect = collect,
                                              .coarse = coarse,
                                              .restrict_last = restrict_last,
                                              .raise = raise,
                                              .top = nek_pcg<T>::top};
    static constexpr nek_preconditioner_t preconditioner = {.set_up = nek_pcg<T>::set_up,
                                                            .tear_down = nek_pcg<T>::tear_down,
                                                            .memory = nek_pcg<T>::memory,
                                                            .adds_levels = true};
    return {.rung = {.precision = precision, .reproducible = true, .refuse = nek_refuse},
            .ax = nek_packed_ax_auto,
            .vector = &nek_vector_cuda,
            .max_n = NEK_FIXED_N,
            .max_n_reason = NEK_LINE_MAX_N_REASON,
            .roundoff = nek_is_single<T> ? 0x1p-24 : 0,
            .preconditioner = &preconditioner,
            .precond_ops = &ops,
            .cg = nek_pcg<T>::cg};
}

template nek_kernels_t nek_solve_table<float>(const char *);

extern "C" const nek_kernels_t nek_solve_cuda =
    nek_solve_table<double>("FP64, preconditioner in FP32");
