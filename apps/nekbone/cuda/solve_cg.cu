/*
 * solve_cg.cu - preconditioned conjugate gradients in four passes over the mesh, without the host.
 *
 * Idea: as in `fused`, lines of the iteration that touch the same arrays are one kernel, and every
 * sum is formed where its terms are. p.v needs no assembly, so alpha is known before copies are
 * added. Then the sum of copies is needed once, for r, and is never stored. The last column is bytes
 * per stored point at degree 9, where the grid has 0.78 points for each.
 *
 *     element   x += alpha p (of the iteration before),  p = z + beta p,  v = D^T G D p + lambda p
 *               on the element,  p.v                read x p, 6 factors, z; write x p v       91
 *     update    r -= alpha Q^T v;  r.r;  r in FP32; J' r in boxes of the next level
 *                                                   read v r; write r, r32                   27
 *     patches   boxes = S (S' r32 / eigenvalues)    read r32, S; write boxes (solve_cuda.cu)   12
 *     top       z = sum of boxes + J z of the next level;  r.z
 *                                                   read boxes, r; write z                    17
 *
 * The lower levels run beside the patches on the second stream. An iteration is one CUDA graph; the
 * host starts as many as the last solve took, and looks only at the last ones.
 *
 * Advantage: 147 bytes per point instead of 270, no time between kernels, and one wait per solve.
 *
 * Price: an iteration whose kernels find that the solve has ended may be started in vain.
 */
#include "config.h"
#include <cstring>
#include <vector>
#include "machine/replay.h"
#include "machine/streams.h"
#include "solve_cg.cuh"
#include "solve_cuda.cuh"

/* --- where a thread works --- */

/* Column (i, j) of an element, and what it shares. */
template <int n> struct place_t {
    static constexpr int N = n - 1, n2 = n * n, n3 = n2 * n;
    int e, i, j, t, own;
    bool active;
    bool low[3], high[3];        /* the element is this rank's first, last along x y z */
    int64_t at_grid, row, plane; /* of the column's first point; strides */

    __device__ __forceinline__ explicit place_t(const nek_pcg_t &a)
    {
        own = threadIdx.x / n2;
        t = threadIdx.x - own * n2;
        e = blockIdx.x * a.per_block + own;
        active = own < a.per_block && e < a.elements;
        if (!active) {
            t = own = 0;
            e = blockIdx.x * a.per_block;
        }
        i = t % n;
        j = t / n;
        const int X = a.grid.local[0], Y = a.grid.local[1];
        const int at[3] = {e % X, e / X % Y, e / (X * Y)};
        for (int d = 0; d < 3; d++) {
            low[d] = at[d] == 0;
            high[d] = at[d] == a.grid.local[d] - 1;
        }
        row = a.grid.points[0];
        plane = row * a.grid.points[1];
        at_grid = nek_grid_box(&a.grid, e, NEK_OWN_BOX) + i + j * row;
    }
    /* Is the point on the boundary of the whole box? */
    __device__ __forceinline__ bool is_masked(const nek_pcg_t &a, int k) const
    {
        return (i == 0 && low[0] && a.outside[0]) || (i == N && high[0] && a.outside[1]) ||
               (j == 0 && low[1] && a.outside[2]) || (j == N && high[1] && a.outside[3]) ||
               (k == 0 && low[2] && a.outside[4]) || (k == N && high[2] && a.outside[5]);
    }
    /* Is it this element's: the last of this rank that has it? */
    __device__ __forceinline__ bool has(int k) const
    {
        return active && (i < N || high[0]) && (j < N || high[1]) && (k < N || high[2]);
    }
    /* Do other ranks have it too? Points of the boundary do not matter. */
    __device__ __forceinline__ bool is_shared(const nek_pcg_t &a, int k) const
    {
        return (i == 0 && low[0] && !a.outside[0]) || (i == N && high[0] && !a.outside[1]) ||
               (j == 0 && low[1] && !a.outside[2]) || (j == N && high[1] && !a.outside[3]) ||
               (k == 0 && low[2] && !a.outside[4]) || (k == N && high[2] && !a.outside[5]);
    }
    /* Does it count in this rank's sums? Of two ranks, in those of the one below it. */
    __device__ __forceinline__ bool counts(const nek_pcg_t &a, int k) const
    {
        return has(k) && !(i == 0 && low[0] && !a.outside[0]) &&
               !(j == 0 && low[1] && !a.outside[2]) && !(k == 0 && low[2] && !a.outside[4]);
    }
};

/* The threads of an element. */
template <int n> static __device__ __forceinline__ nek_team team_of(const place_t<n> &at)
{
    return {at.active ? at.t : n * n * n, n * n};
}

/* --- element --- */

template <int n, nek_source source>
__global__ void __launch_bounds__(nek_shape<n>::threads,
                                  nek_blocks_of(nek_shape<n>::threads, 8 * n + 48))
    pcg_element(const __grid_constant__ nek_halves<n> D, const __grid_constant__ nek_pcg_t a)
{
    using factors_t = nek_factors<n, source>;
    constexpr bool once = factors_t::once;
    constexpr int n2 = n * n, n3 = n2 * n;
    extern __shared__ __align__(128) double memory[];
    const nek_part_t part = {nullptr, 0, a.elements, 0, 0};
    const nek_place<n> at(part, a.per_block, memory);
    const place_t<n> mine(a);
    factors_t factors(a.G, at, a.elements, a.per_block, memory);
    const size_t own = static_cast<size_t>(at.e) * n3 + at.t;
    double *const x = a.x + own, *const p = a.p + own, *const v = a.v + own;
    const float *const z = a.z + mine.at_grid;
    double u[n], w[n], sum = 0;

    rt_wait_for_previous();
    const nek_factors_of_cg cg(a.cg);
    if (cg.ended)
        return;
    const double scale = 1 / cg.scale;
    {
        double x_k[n];
        float z_k[n];
#pragma unroll
        for (int k = 0; k < n; k++) { /* all loads before any store */
            z_k[k] = z[k * mine.plane];
            u[k] = cg.done > 0 ? nek_load<once>(p + k * n2) : 0;
            x_k[k] = cg.done > 1 ? nek_load<once>(x + k * n2) : 0;
        }
#pragma unroll
        for (int k = 0; k < n; k++) {
            x_k[k] += cg.alpha * u[k];
            u[k] = scale * z_k[k] + cg.beta * u[k];
            if (at.active) {
                if (cg.done > 0)
                    nek_store<once>(x + k * n2, x_k[k]);
                nek_store<once>(p + k * n2, u[k]);
            }
        }
    }
    nek_line_operator(D, at, factors, u, w);
    if (at.active) {
        const double weight = (at.i == 0 || at.i == n - 1 ? 0.5 : 1) *
                              (at.j == 0 || at.j == n - 1 ? 0.5 : 1) * a.lambda;
#pragma unroll
        for (int k = 0; k < n; k++) {
            const double share = k == 0 || k == n - 1 ? 0.5 * weight : weight;
            const double value = mine.is_masked(a, k) ? 0 : w[k] + share * u[k];
            sum += u[k] * value;
            v[k * n2] = value;
        }
    }
    rt_let_next_start();
    nek_end_sum(a, NEK_APPLIED, sum);
}

/* --- update --- */

/* For a team: computes box[c^3] of J' r, where r_k is a member's column of r, 0 at points that count
 * in another element. J' of a shared point is the same from both sides. shared: 2 c n^2 values. */
template <int n>
static __device__ __forceinline__ void restrict_column(const nek_team &team, bool active, int c,
                                                       const float *J, const float (&r_k)[n],
                                                       float *box, float *shared)
{
    constexpr int n2 = n * n;
    float *one = shared, *two = shared + c * n2;
    for (int m = 0; m < c; m++) {
        float sum = 0;
#pragma unroll
        for (int k = 0; k < n; k++)
            sum += __ldg(J + k * c + m) * r_k[k];
        if (active)
            one[m * n2 + team.member()] = sum;
    }
    team.barrier();
    nek_contract(team, c, n, n, c, J, c, 1, one, two);
    nek_contract(team, c * c, n, 1, c, J, c, 1, two, one);
    for (int q = team.member(); q < c * c * c; q += team.size())
        box[q] = one[q];
}

/* stage: NEK_MEASURED sums from.from; NEK_TAKEN makes r = from; NEK_UPDATED r -= alpha Q^T v. The
 * last two make r32, and boxes of the next level if c > 0, its n. */
template <int n>
__global__ void __launch_bounds__(nek_shape<n>::threads)
    pcg_update(const __grid_constant__ nek_pcg_t a, nek_stage stage, const double *from, int c,
               const float *J, float *boxes)
{
    using place = place_t<n>;
    extern __shared__ __align__(16) float any_memory[];
    const place at(a);
    const size_t own = static_cast<size_t>(at.e) * place::n3 + at.t;
    /* from a copy in the element to that in its neighbours before it */
    const int64_t to_x = at.i == 0 && !at.low[0] ? place::N - place::n3 : 0,
                  to_y = at.j == 0 && !at.low[1]
                             ? place::N * n - static_cast<int64_t>(a.grid.local[0]) * place::n3
                             : 0,
                  to_z = place::N * place::n2 -
                         static_cast<int64_t>(a.grid.local[0]) * a.grid.local[1] * place::n3;
    double r_k[n], v_k[n], sum = 0;
    float low[n];

    rt_wait_for_previous();
    const nek_factors_of_cg cg(a.cg);
    if (stage == NEK_UPDATED && cg.ended)
        return;
    if (stage != NEK_UPDATED) {
#pragma unroll
        for (int k = 0; k < n; k++)
            r_k[k] = from[own + k * place::n2];
    } else {
        const double *const v = a.v + own;
        /* where two faces meet, their elements' common neighbour has a copy as well */
        const int64_t to[3] = {to_x, to_y, to_x && to_y ? to_x + to_y : 0};
#pragma unroll
        for (int k = 0; k < n; k++) { /* all loads before they are needed */
            r_k[k] = k < place::N || at.high[2] ? a.r[own + k * place::n2] : 0;
            v_k[k] = v[k * place::n2];
        }
        if (!at.low[2]) {
            v_k[0] += v[to_z];
#pragma unroll
            for (int q = 0; q < 3; q++)
                v_k[0] += to[q] ? v[to_z + to[q]] : 0;
        }
#pragma unroll
        for (int q = 0; q < 3; q++)
            if (to[q]) {
#pragma unroll
                for (int k = 0; k < n; k++)
                    v_k[k] += v[to[q] + k * place::n2];
            }
        if (a.shared) {
            for (int k = 0; k < n; k++)
                if (at.has(k) && at.is_shared(a, k))
                    v_k[k] = a.shared[at.at_grid + k * at.plane];
        }
#pragma unroll
        for (int k = 0; k < n; k++)
            r_k[k] -= cg.alpha * v_k[k];
    }
#pragma unroll
    for (int k = 0; k < n; k++) {
        const float scaled = static_cast<float>(cg.next_scale * r_k[k]);
        const bool counts = at.counts(a, k);
        low[k] = counts ? scaled : 0;
        sum += counts && !at.is_masked(a, k) ? r_k[k] * r_k[k] : 0;
        if (at.has(k) && stage != NEK_MEASURED) {
            a.r[own + k * place::n2] = r_k[k];
            a.r32[at.at_grid + k * at.plane] = scaled;
        }
    }
    rt_let_next_start();
    if (c > 0 && stage != NEK_MEASURED) {
        const int values = 2 * c * place::n2;
        restrict_column<n>(team_of(at), at.active, c, J, low,
                           boxes + static_cast<int64_t>(at.e) * c * c * c,
                           any_memory + at.own * values);
    }
    nek_end_sum(a, stage, sum);
}

/* --- top --- */

/* z = the sum of boxes (NULL: z) + J times `coarse` of the next level (c 0: without); r.z. */
template <int n>
__global__ void __launch_bounds__(nek_shape<n>::threads)
    pcg_top(const __grid_constant__ nek_pcg_t a, const float *boxes, const nek_grid_t next, int c,
            const float *J, const float *coarse)
{
    using place = place_t<n>;
    constexpr int P = n + 2, P2 = P * P, P3 = P2 * P;
    extern __shared__ __align__(16) float any_memory[];
    const place at(a);
    const nek_team team = team_of(at);
    float *one = any_memory + at.own * 2 * c * place::n2, *two = one + c * place::n2;
    if (c > 0) { /* J along x and y; along z below */
        const int64_t from = nek_grid_box(&next, at.e, NEK_OWN_BOX);
        for (int q = team.member(); q < c * c * c; q += team.size())
            one[q] = coarse[from + nek_grid_in_box(&next, c, q)];
        team.barrier();
        nek_contract(team, c * c, c, 1, n, J, 1, c, one, two);
        nek_contract(team, c, c, n, n, J, 1, c, two, one);
    }
    /* neighbours whose patches have this column: from, to along x and y */
    const int x0 = at.i <= 1 && !at.low[0] ? -1 : 0,
              x1 = at.i >= place::N - 1 && !at.high[0] ? 1 : 0,
              y0 = at.j <= 1 && !at.low[1] ? -1 : 0,
              y1 = at.j >= place::N - 1 && !at.high[1] ? 1 : 0;
    const int64_t to_x = P3 - place::N,
                  to_y = static_cast<int64_t>(a.grid.local[0]) * P3 - place::N * P,
                  to_z =
                      static_cast<int64_t>(a.grid.local[0]) * a.grid.local[1] * P3 - place::N * P2;
    const int64_t own = static_cast<int64_t>(at.e) * place::n3 + at.t;
    const float *const box =
        boxes + static_cast<int64_t>(at.e) * P3 + P2 + (at.j + 1) * P + at.i + 1;
    float *const z = a.z + at.at_grid, z_k[n];
    double r_k[n], sum = 0;
#pragma unroll
    for (int k = 0; k < n; k++) { /* all loads before they are needed */
        r_k[k] = k < place::N || at.high[2] ? a.r[own + k * place::n2] : 0;
        z_k[k] = boxes ? box[k * P2] : z[k * at.plane];
    }
    for (int y = y0; boxes && y <= y1; y++)
        for (int x = x0; x <= x1; x++) {
            const float *const of = box + x * to_x + y * to_y;
            if (x != 0 || y != 0) {
#pragma unroll
                for (int k = 0; k < n; k++)
                    z_k[k] += of[k * P2];
            }
#pragma unroll
            for (int k = 0; k < n; k++) {
                if (k <= 1 && !at.low[2])
                    z_k[k] += of[k * P2 - to_z];
                if (k >= place::N - 1 && !at.high[2])
                    z_k[k] += of[k * P2 + to_z];
            }
        }
#pragma unroll
    for (int k = 0; k < n; k++) {
        float value = boxes && at.is_masked(a, k) ? 0 : z_k[k];
        for (int m = 0; m < c; m++)
            value += __ldg(J + k * c + m) * one[m * place::n2 + at.t];
        if (at.has(k))
            z[k * at.plane] = value;
        if (at.counts(a, k) && !at.is_masked(a, k))
            sum += r_k[k] * value;
    }
    nek_end_sum(a, NEK_PRECONDITIONED, sum);
}

/* --- at the end, and between --- */

/* x += alpha p of the last iteration; r at all copies of a point. */
template <int n>
__global__ void __launch_bounds__(nek_shape<n>::threads)
    pcg_finish(const __grid_constant__ nek_pcg_t a)
{
    using place = place_t<n>;
    const place at(a);
    const nek_factors_of_cg cg(a.cg);
    if (!at.active)
        return;
    const int64_t own = static_cast<int64_t>(at.e) * place::n3 + at.t;
    const int64_t Y = static_cast<int64_t>(a.grid.local[0]) * place::n3, Z = a.grid.local[1] * Y;
    const int64_t to = (at.i == place::N && !at.high[0] ? place::n3 - place::N : 0) +
                       (at.j == place::N && !at.high[1] ? Y - place::N * n : 0);
    for (int k = 0; k < n; k++) {
        const int64_t q = own + k * place::n2;
        a.x[q] = (cg.done > 1 ? a.x[q] : 0) + cg.alpha * a.p[q];
        if (!at.has(k))
            a.r[q] = a.r[q + to + (k == place::N && !at.high[2] ? Z - place::N * place::n2 : 0)];
    }
}

/* p = z + beta p */
template <int n>
__global__ void __launch_bounds__(nek_shape<n>::threads)
    pcg_turn(const __grid_constant__ nek_pcg_t a, double beta, double *p)
{
    using place = place_t<n>;
    const place at(a);
    const nek_factors_of_cg cg(a.cg);
    for (int k = 0; at.active && k < n; k++) {
        const int64_t q = static_cast<int64_t>(at.e) * place::n3 + at.t + k * place::n2;
        p[q] = a.z[at.at_grid + k * at.plane] / cg.scale + beta * p[q];
    }
}

/* shared = the sum of v over this rank's copies, at the points of the list; 0 in the ring. */
__global__ void __launch_bounds__(NEK_POINT_THREADS)
    pcg_gather(const __grid_constant__ nek_pcg_t a, const int *list, int count)
{
    const int q = blockIdx.x * NEK_POINT_THREADS + threadIdx.x;
    if (q < count)
        a.shared[list[q]] = nek_collect(&a.grid, NEK_OWN_BOX, a.v, list[q]);
}

__global__ void pcg_form(const __grid_constant__ nek_pcg_t a, nek_stage stage, double sum)
{
    nek_form(a, stage, sum);
}

/* --- the solve --- */

typedef struct {
    nek_pcg_t pcg;
    nek_launch_t launch;
    rt_replay_t replay;
    bool on_stream;  /* an iteration needs no host */
    int expected;    /* iterations of the last solve */
    const int *near; /* [near_count] points of the grid near other ranks */
    int near_count;
} data_t;

template <class F> static void with_n(const nek_solver_t *s, F f)
{
    nek_fixed_n<NEK_FIXED_N>(s->view.n, f);
}

/* Forms the scalars on the host's behalf, where the kernel could not. */
static void settle(const nek_solver_t *s, nek_stage stage)
{
    const auto *d = static_cast<const data_t *>(s->data);
    double sum;
    if (d->pcg.forms)
        return;
    rt_copy(&sum, RT_HOST, &d->pcg.cg->sum, s->space, sizeof sum);
    rt_comm_sum(&sum, 1);
    rt_launch(false, pcg_form, 1, 1, 0, d->pcg, stage, sum);
}

/* Returns the next level to which update restricts; NULL: none. */
static const nek_level_view_t *next_level(const nek_single_t *p)
{
    return p->precond == NEK_SCHWARZ && p->count > 1 ? &p->level[1].view : nullptr;
}

static size_t transfer_bytes(const data_t *d, const nek_level_view_t *next)
{
    const int n = d->pcg.grid.n;
    return next ? sizeof(float) * 2 * static_cast<size_t>(next->grid.n * n * n) *
                      static_cast<size_t>(d->pcg.per_block)
                : 0;
}

static void update(nek_solver_t *s, nek_stage stage, const double *from)
{
    const auto *d = static_cast<const data_t *>(s->data);
    const auto *p = static_cast<const nek_single_t *>(s->precond);
    const nek_level_view_t *next = next_level(p);
    const size_t bytes = transfer_bytes(d, next);
    rt_timer_start("update", s->rung->kind);
    with_n(s, [&](auto n) {
        nek_allow_shared(pcg_update<n()>, bytes);
        rt_launch(stage == NEK_UPDATED && !d->pcg.shared, pcg_update<n()>, d->launch.blocks,
                  d->launch.threads, bytes, d->pcg, stage, from, next ? next->grid.n : 0,
                  next ? next->J : nullptr, p->low);
    });
    settle(s, stage);
    rt_timer_stop("update");
}

void nek_pcg_top(nek_solver_t *s, const float *boxes, const nek_level_view_t *next,
                 const float *from, float *)
{
    const auto *d = static_cast<const data_t *>(s->data);
    const size_t bytes = transfer_bytes(d, next);
    rt_side_join();
    with_n(s, [&](auto n) {
        nek_allow_shared(pcg_top<n()>, bytes);
        rt_launch(false, pcg_top<n()>, d->launch.blocks, d->launch.threads, bytes, d->pcg, boxes,
                  next ? next->grid : d->pcg.grid, next ? next->grid.n : 0,
                  next ? next->J : nullptr, from);
    });
    settle(s, NEK_PRECONDITIONED);
}

/* v = A p before copies are added, and p.v. */
static void element(nek_solver_t *s)
{
    const auto *d = static_cast<const data_t *>(s->data);
    rt_timer_start("element", s->rung->kind);
    with_n(s, [&](auto N) {
        constexpr int n = N();
        const nek_halves<n> D = nek_halve<n>(s->view.D_host);
        const size_t bytes = nek_line_bytes<n>(d->launch.per_block, 0, 0);
        auto run = [&](auto *kernel) {
            nek_allow_shared(kernel, bytes);
            rt_launch(true, kernel, d->launch.blocks, d->launch.threads, bytes, D, d->pcg);
        };
        if (nek_pcg_source(s->view.choice) == NEK_STREAMED)
            run(pcg_element<n, NEK_STREAMED>);
        else
            run(pcg_element<n, NEK_CACHED>);
    });
    settle(s, NEK_APPLIED);
    rt_timer_stop("element");
}

/* Adds what other ranks have of v, at the points that they share. */
static void exchange(nek_solver_t *s)
{
    const auto *d = static_cast<const data_t *>(s->data);
    const auto *p = static_cast<const nek_single_t *>(s->precond);
    if (!d->pcg.shared)
        return;
    rt_timer_start("exchange", s->rung->kind);
    rt_launch(false, pcg_gather, rt_blocks(static_cast<size_t>(d->near_count), NEK_POINT_THREADS),
              NEK_POINT_THREADS, 0, d->pcg, d->near, d->near_count);
    const rt_field_t field = rt_field_f64(d->pcg.shared);
    rt_halo_do(p->level[0].halo, RT_HALO_SUM, &field);
    rt_timer_stop("exchange");
}

static void iterate(void *work)
{
    auto *s = static_cast<nek_solver_t *>(work);
    rt_timer_start("precondition", s->rung->kind);
    nek_single_levels(s);
    rt_timer_stop("precondition");
    element(s);
    exchange(s);
    update(s, NEK_UPDATED, nullptr);
}

/* Waits until so many iterations have been done, or the solve has ended; returns whether it has. What
 * kernels write is read while the stream is at work. Asking the stream finds a GPU that is lost. */
static bool has_ended(const data_t *d, int64_t iterations)
{
    volatile int64_t *told = d->pcg.told;
    cudaError_t status = cudaErrorNotReady;
    for (;;) {
        const int64_t progress = *told;
        if (progress & 1)
            return true;
        if (progress >= 2 * iterations)
            return false;
        if (status != cudaErrorNotReady)
            RT_CUDA(status);
        RT_EXPECT(status == cudaErrorNotReady, RT_ENVIRONMENT,
                  "the GPU has told %lld of %lld half iterations", static_cast<long long>(progress),
                  static_cast<long long>(2 * iterations));
        status = cudaStreamQuery(rt_stream());
    }
}

void nek_pcg(nek_solver_t *s)
{
    if (!s->precond) {
        nek_solve_by_lines(s);
        return;
    }
    enum { LOOK_BEFORE = 2 };
    auto *d = static_cast<data_t *>(s->data);
    d->pcg.lambda = s->lambda;
    const bool replays = d->on_stream && !rt_timer_enabled();
    d->pcg.tolerance = s->tolerance; /* which only the start of a solve reads, not the record */
    s->sums = d->pcg.mail ? "gpu to gpu" : nullptr;
    *d->pcg.told = 0;
    update(s, NEK_MEASURED, s->b);
    update(s, NEK_TAKEN, s->b);
    for (int k = 0; k < s->iterations; k++) {
        if ((!replays || k >= d->expected - LOOK_BEFORE) && has_ended(d, k))
            break;
        if (replays)
            rt_replay(&d->replay, 0, iterate, s);
        else
            iterate(s);
    }
    with_n(s, [&](auto n) {
        rt_launch(false, pcg_finish<n()>, d->launch.blocks, d->launch.threads, 0, d->pcg);
    });
    RT_CUDA(cudaStreamSynchronize(rt_stream()));
    s->done = d->expected = static_cast<int>(*d->pcg.told / 2);
    memcpy(s->history, d->pcg.history, (static_cast<size_t>(s->done) + 1) * sizeof *s->history);
    memcpy(s->alpha, d->pcg.alphas, static_cast<size_t>(s->done) * sizeof *s->alpha);
    memcpy(s->beta, d->pcg.betas, static_cast<size_t>(s->done) * sizeof *s->beta);
}

/* --- for the judge: the preconditioner alone --- */

double nek_pcg_apply(nek_solver_t *s, double, const double *r)
{
    const auto *d = static_cast<const data_t *>(s->data);
    double rz;
    update(s, NEK_MEASURED, r);
    update(s, NEK_TAKEN, r);
    nek_single_levels(s);
    rt_copy(&rz, RT_HOST, &d->pcg.cg->rz, s->space, sizeof rz);
    return rt_comm_rank() == 0 ? rz : 0; /* it is the sum of all ranks already */
}

void nek_pcg_update_p(nek_solver_t *s, double beta, double *p)
{
    const auto *d = static_cast<const data_t *>(s->data);
    with_n(s, [&](auto n) {
        rt_launch(false, pcg_turn<n()>, d->launch.blocks, d->launch.threads, 0, d->pcg, beta, p);
    });
}

/* --- set-up --- */

/* Returns the points of the grid near other ranks, on the device. */
static const int *near_points(const nek_solver_t *s, const nek_grid_t *grid, int *count)
{
    const nek_config_t *config = s->problem->config;
    const int64_t n = nek_grid_shared(config, grid, nullptr, nullptr, nullptr);
    std::vector<int64_t> index(static_cast<size_t>(n)), gid(index.size());
    std::vector<uint8_t> owner(index.size());
    nek_grid_shared(config, grid, index.data(), gid.data(), owner.data());
    const std::vector<int> list(index.begin(), index.end());
    *count = static_cast<int>(n);
    return static_cast<const int *>(rt_clone(list.data(), list.size(), sizeof(int), s->space));
}

/* Returns whether all halos of the preconditioner only put work on the stream. */
static bool all_on_stream(const nek_single_t *p)
{
    for (int l = 0; l < p->count; l++)
        if (p->level[l].halo && !rt_halo_on_stream(p->level[l].halo))
            return false;
    return true;
}

void nek_pcg_set_up(nek_solver_t *s)
{
    nek_single_set_up(s);
    const nek_config_t *config = s->problem->config;
    const auto *p = static_cast<const nek_single_t *>(s->precond);
    auto *d = new data_t();
    nek_pcg_t &a = d->pcg;
    s->data = d;
    nek_view_t automatic = s->view;
    automatic.choice = nullptr;
    d->launch = nek_make_launch(&automatic, false, NEK_CACHED);
    a.G = s->view.G;
    a.x = s->x;
    a.r = s->r;
    a.p = s->p;
    a.v = s->w;
    a.r32 = p->level[0].r;
    a.z = p->level[0].x;
    a.grid = p->level[0].view.grid;
    a.elements = static_cast<int>(s->view.elements);
    a.per_block = d->launch.per_block;
    for (int side = 0; side < 6; side++) {
        const int dim = side / 2;
        a.outside[side] = side % 2 == 0
                              ? config->first[dim] == 0
                              : config->first[dim] + config->local[dim] == config->elements[dim];
    }
    a.points = static_cast<double>(s->view.points) * rt_comm_size();
    a.most_iterations = s->iterations;
    a.tolerance = s->tolerance;
    const size_t scalars = static_cast<size_t>(s->iterations) + 1;
    a.history = RT_NEW(double, 3 * scalars + 1, RT_PINNED);
    a.alphas = a.history + scalars;
    a.betas = a.alphas + scalars;
    a.told = reinterpret_cast<int64_t *>(a.betas + scalars);
    a.partial = RT_NEW(double, d->launch.blocks, s->space);
    a.cg = RT_NEW(nek_cg_t, 1, s->space);
    rt_fill(a.cg, s->space, 0, sizeof *a.cg);
    d->on_stream = all_on_stream(p);
    a.mail = d->on_stream && rt_comm_size() > 1 ? rt_mail_get() : nullptr;
    a.forms = rt_comm_size() == 1 || a.mail;
    d->on_stream = d->on_stream && a.forms;
    if (p->level[0].halo) {
        const size_t nodes = static_cast<size_t>(a.grid.nodes);
        a.shared = RT_NEW(double, nodes, s->space);
        rt_fill(a.shared, s->space, 0, nodes * sizeof *a.shared);
        d->near = near_points(s, &a.grid, &d->near_count);
    }
}

void nek_pcg_tear_down(nek_solver_t *s)
{
    auto *d = static_cast<data_t *>(s->data);
    rt_replay_drop(&d->replay);
    RT_FREE(d->pcg.history, RT_PINNED);
    RT_FREE(d->pcg.partial, s->space);
    RT_FREE(d->pcg.cg, s->space);
    RT_FREE(d->pcg.shared, s->space);
    RT_FREE(d->near, s->space);
    delete d;
    nek_single_tear_down(s);
}

void nek_pcg_memory(const nek_config_t *config, rt_space_t space, double bytes[RT_SPACES])
{
    nek_single_memory(config, space, bytes);
    const nek_grid_t g = nek_grid_of(config, static_cast<int>(config->degree));
    bytes[RT_PINNED] += sizeof(double) * 3 * static_cast<double>(config->max_iterations + 1);
    bytes[space] += sizeof(double) * static_cast<double>(config->local_elements) /
                    nek_elements_a_block(config->n);
    if (rt_comm_size() > 1)
        bytes[space] += sizeof(double) * static_cast<double>(g.nodes) +
                        sizeof(int) * static_cast<double>(
                                          nek_grid_shared(config, &g, nullptr, nullptr, nullptr));
}
