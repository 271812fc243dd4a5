/*
 * solve_passes.cuh - the kernels of solve_cg.cu: the passes over the mesh, and what begins and ends a
 * solve. A thread has a column of an element, n^2 threads an element.
 */
#ifndef NEK_SOLVE_PASSES_CUH
#define NEK_SOLVE_PASSES_CUH

#include "solve_cg.cuh"

/* --- where a thread works --- */

/* Column (i, j) of an element, and what it shares. */
template <int n, class T> struct column_t : nek_place<n, T> {
    using place = nek_place<n, T>;
    static constexpr int N = n - 1, n2 = n * n, n3 = n2 * n;
    using place::e, place::i, place::j, place::t, place::active;
    bool low[3], high[3];        /* the element is this rank's first, last along x y z */
    int64_t here;                /* of the column's first point, in element order */
    int64_t at_grid, row, plane; /* the same on the grid; strides */

    /* first: element of the block; memory: the operator's */
    __device__ __forceinline__ column_t(const nek_pcg_t<T> &a, int first, T *memory = nullptr)
        : place(first, a.elements, a.per_block, memory)
    {
        const int X = a.grid.local[0], Y = a.grid.local[1];
        const int at[3] = {e % X, e / X % Y, e / (X * Y)};
        for (int d = 0; d < 3; d++) {
            low[d] = at[d] == 0;
            high[d] = at[d] == a.grid.local[d] - 1;
        }
        row = a.grid.points[0];
        plane = row * a.grid.points[1];
        at_grid = nek_grid_box(&a.grid, e, NEK_OWN_BOX) + i + j * row;
        here = static_cast<int64_t>(e) * n3 + t;
    }
    /* Returns r at point k, which this element must have. */
    __device__ __forceinline__ auto &r(const nek_pcg_t<T> &a, int k) const
    {
        if constexpr (nek_is_single<T>)
            return a.r32[at_grid + k * plane];
        else
            return a.r[here + k * n2];
    }
    /* Returns whether the point is on the boundary of the whole box. */
    __device__ __forceinline__ bool is_masked(const nek_pcg_t<T> &a, int k) const
    {
        return (i == 0 && low[0] && a.outside[0]) || (i == N && high[0] && a.outside[1]) ||
               (j == 0 && low[1] && a.outside[2]) || (j == N && high[1] && a.outside[3]) ||
               (k == 0 && low[2] && a.outside[4]) || (k == N && high[2] && a.outside[5]);
    }
    /* Returns whether this element is the last of this rank that has it. */
    __device__ __forceinline__ bool has(int k) const
    {
        return active && (i < N || high[0]) && (j < N || high[1]) && (k < N || high[2]);
    }
    /* Returns whether it is within `reach` points of a side behind which is another rank: 0, other ranks
     * have it too; 1, their patches have it. Points of the boundary do not matter. */
    __device__ __forceinline__ bool is_near(const nek_pcg_t<T> &a, int k, int reach) const
    {
        return (i <= reach && low[0] && !a.outside[0]) ||
               (i >= N - reach && high[0] && !a.outside[1]) ||
               (j <= reach && low[1] && !a.outside[2]) ||
               (j >= N - reach && high[1] && !a.outside[3]) ||
               (k <= reach && low[2] && !a.outside[4]) ||
               (k >= N - reach && high[2] && !a.outside[5]);
    }
    /* Returns whether it counts in this rank's sums: of two ranks, in those of the one below it. */
    __device__ __forceinline__ bool counts(const nek_pcg_t<T> &a, int k) const
    {
        return has(k) && !(i == 0 && low[0] && !a.outside[0]) &&
               !(j == 0 && low[1] && !a.outside[2]) && !(k == 0 && low[2] && !a.outside[4]);
    }
};

/* A block takes `per_block` elements from nek_first on, and then those nek_stride after them. */
template <class T> static __device__ __forceinline__ int nek_first(const nek_pcg_t<T> &a)
{
    return static_cast<int>(blockIdx.x) * a.per_block;
}

template <class T> static __device__ __forceinline__ int nek_stride(const nek_pcg_t<T> &a)
{
    return static_cast<int>(gridDim.x) * a.per_block;
}

/* The threads of an element. */
template <int n, class T>
static __device__ __forceinline__ nek_team team_of(const column_t<n, T> &at)
{
    return {at.active ? at.t : n * n * n, n * n};
}

/* --- z at a column --- */

/* Returns the points along an element of the next level, as nek_level_degrees has it; n > 2. */
NEK_ANYWHERE constexpr int nek_next_n(int n)
{
    return n < 3 ? 2 : n / 3 + 1;
}

/* Computes z at a column from what a.top names, with the same bits in every element that has a
 * point: boxes are added in the order of their elements. All threads of the block must call it,
 * between barriers that guard `shared` (2 c n^2 values per element), c being the next level's n. */
template <int n, class T>
static __device__ __forceinline__ void column_of_z(const nek_pcg_t<T> &a, const column_t<n, T> &at,
                                                   float *shared, float (&z_k)[n])
{
    constexpr int c = nek_next_n(n);
    constexpr int N = n - 1, n2 = n * n, P = n + 2, P2 = P * P, P3 = P2 * P;
    const nek_top_t &top = a.top;
    const float *const z = a.z + at.at_grid;
    if (!top.boxes) {
#pragma unroll
        for (int k = 0; k < n; k++)
            z_k[k] = z[k * at.plane];
        return;
    }
    const nek_team team = team_of(at);
    float *one = shared + at.own * 2 * c * n2, *two = one + c * n2;
    const int64_t corner = nek_grid_box(&top.next, at.e, NEK_OWN_BOX);
    for (int q = team.member(); q < c * c * c; q += team.size())
        one[q] = top.x[corner + nek_grid_in_box(&top.next, c, q)];
    /* the patches that have the column; of three in a row only in degree 2 */
    constexpr int most = n == 3 ? 3 : 2;
    const int x_low = at.i <= 1 && !at.low[0], y_low = at.j <= 1 && !at.low[1],
              x_all = 1 + x_low + (at.i >= N - 1 && !at.high[0]),
              y_all = 1 + y_low + (at.j >= N - 1 && !at.high[1]);
    const int64_t to_x = P3 - N, to_y = static_cast<int64_t>(a.grid.local[0]) * P3 - N * P,
                  to_z = static_cast<int64_t>(a.grid.local[0]) * a.grid.local[1] * P3 - N * P2;
    const float *const first = top.boxes + static_cast<int64_t>(at.e) * P3 + P2 + (at.j + 1) * P +
                               at.i + 1 - x_low * to_x - y_low * to_y;
    auto add = [&](int from, int to,
                   int64_t layer) { /* points from .. to - 1 of boxes there */
#pragma unroll
                                    for (int q = 0; q < most * most; q++) {
                                        const bool has = q % most < x_all && q / most < y_all;
                                        const float *const box =
                                            first + q % most * to_x + q / most * to_y + layer;
#pragma unroll
                                        for (int k = 0; k < n; k++)
                                            if (k >= from && k < to)
                                                z_k[k] += has ? box[k * P2] : 0;
                                    }
    };
#pragma unroll
    for (int k = 0; k < n; k++)
        z_k[k] = 0;
    if (!at.low[2])
        add(0, 2, -to_z);
    add(0, n, 0);
    if (!at.high[2])
        add(N - 1, n, to_z);
#pragma unroll
    for (int k = 0; k < n; k++) {
        if (a.shared && at.is_near(a, k, 1))
            z_k[k] = z[k * at.plane];
        if (at.is_masked(a, k))
            z_k[k] = 0;
    }
    team.barrier(); /* one is there: J along x and y, and then along z */
    nek_contract(team, c * c, c, 1, n, top.J, 1, c, one, two);
    nek_contract(team, c, c, n, n, top.J, 1, c, two, one);
#pragma unroll
    for (int k = 0; k < n; k++)
#pragma unroll 4
        for (int m = 0; m < c; m++)
            z_k[k] += __ldg(top.J + k * c + m) * one[m * n2 + at.t];
}

/* --- element --- */

/* Blocks of pcg_element per multiprocessor, and the bytes of shared memory with which all of
 * them fit: a share, but no more than any GPU gives. */
template <int n, class T>
constexpr int pcg_blocks = nek_blocks_of(nek_shape<n>::threads,
                                         static_cast<int>(sizeof(T)) * n + 48);
template <int n, class T> constexpr int pcg_bytes()
{
    constexpr int share = NEK_SHARED / pcg_blocks<n, T> - NEK_SYSTEM_SHARED - 1024;
    return share < 96 * 1024 ? share : 96 * 1024;
}

/* Returns how many factors a block keeps: one copy fetches those of a step, so several elements need
 * all six; it begins and ends at multiples of 16 bytes, as elements in FP32 do not if n is odd. */
template <int n, class T> constexpr int pcg_held()
{
    constexpr int per_block = nek_elements_a_block(n);
    constexpr int values = pcg_bytes<n, T>() / static_cast<int>(sizeof(T)) / per_block;
    constexpr int fit = nek_factors_that_fit<n, T>(values);
    return (fit < 6 && per_block > 1) || (nek_is_single<T> && n % 2 == 1) ? 0 : fit / 2 * 2;
}
/* Factors are fetched while z is formed. */
template <int n, class T> using nek_factors_ahead = nek_held_factors<n, pcg_held<n, T>(), true, T>;

/* What an iteration reads once is read past the cache: v, r32 and boxes stay there. On an H200 at
 * 4096 elements of degree 9 that is 1 % of an iteration. */
template <int n, class T>
__global__ void __launch_bounds__(nek_shape<n>::threads, pcg_blocks<n, T>)
    pcg_element(const __grid_constant__ nek_halves<n, T> D, const __grid_constant__ nek_pcg_t<T> a)
{
    using factors_t = nek_factors_ahead<n, T>;
    constexpr bool once = true;
    constexpr int n2 = n * n;
    extern __shared__ __align__(128) unsigned char all_memory[];
    T *const held = reinterpret_cast<T *>(all_memory);
    T *const memory = held + a.per_block * factors_t::shared;
    double sum = 0;

    factors_t factors(a.G, nek_first(a), a.elements, a.per_block, held);
    rt_wait_for_previous();
    const nek_cg_t cg = nek_read_cg(a.cg);
    if (cg.state != NEK_GOES_ON) {
        __syncthreads(); /* the barrier of the copy is there */
        factors.wait();  /* which must not outlive the block */
        return;
    }
    const T scale = static_cast<T>(1 / cg.scale), alpha = static_cast<T>(cg.alpha),
            beta = static_cast<T>(cg.beta), lambda = static_cast<T>(a.lambda), half = 0.5f;
    for (int first = nek_first(a); first < a.elements; first += nek_stride(a)) {
        const column_t<n, T> at(a, first, memory);
        factors.begin_turn(at);
        factors.next = first + nek_stride(a);
        T *const x = a.x + at.here, *const p = a.p + at.here, *const v = a.v + at.here;
        T u[n], w[n], x_k[n];
        float z_k[n];
#pragma unroll
        for (int k = 0; k < n; k++) { /* all loads before any store */
            u[k] = cg.done > 0 ? nek_load<once>(p + k * n2) : 0;
            x_k[k] = cg.done > cg.first + 1 ? nek_load<once>(x + k * n2) : 0;
        }
        __syncthreads(); /* all are done with the memory of the element before */
        column_of_z(a, at, reinterpret_cast<float *>(memory), z_k);
#pragma unroll
        for (int k = 0; k < n; k++) {
            x_k[k] += alpha * u[k];
            u[k] = scale * z_k[k] + beta * u[k];
            if (at.active) {
                if (cg.done > cg.first)
                    nek_store<once>(x + k * n2, x_k[k]);
                nek_store<once>(p + k * n2, u[k]);
            }
        }
        __syncthreads(); /* all are done with z's memory */
        nek_line_operator<n>(D, at, factors, u, w);
        if (at.active) {
            const T weight = (at.i == 0 || at.i == n - 1 ? half : 1) *
                             (at.j == 0 || at.j == n - 1 ? half : 1) * lambda;
            T of_column = 0;
#pragma unroll
            for (int k = 0; k < n; k++) {
                const T share = k == 0 || k == n - 1 ? half * weight : weight;
                const T value = at.is_masked(a, k) ? 0 : w[k] + share * u[k];
                of_column += u[k] * value;
                v[k * n2] = value;
            }
            sum += of_column;
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
    team.barrier(); /* all are done with the element before */
#pragma unroll 4
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

/* stage: NEK_MEASURED sums the squares of `from`; NEK_TAKEN makes r = from; NEK_UPDATED r -= alpha
 * Q^T v; NEK_REPLACED r = from - Q^T v - lambda x, v without the boundary. All but the first make r32,
 * and boxes of the next level if there is one. anew: any but NEK_UPDATED, in FP64. */
template <int n, class T, bool anew, class V>
__global__ void __launch_bounds__(nek_shape<n>::threads)
    pcg_update(const __grid_constant__ nek_pcg_t<T> a, nek_stage stage, const double *from,
               const V *all_v, const float *J, float *boxes)
{
    constexpr int c = nek_next_n(n);
    using column = column_t<n, T>;
    extern __shared__ __align__(16) float any_memory[];
    double sum = 0;

    rt_wait_for_previous();
    const nek_cg_t cg = nek_read_cg(a.cg);
    if (!anew && cg.state != NEK_GOES_ON)
        return;
    const V unit = static_cast<V>(stage == NEK_MEASURED ? 1 : cg.unit),
            step = anew ? unit : static_cast<V>(cg.alpha);
    for (int first = nek_first(a); first < a.elements; first += nek_stride(a)) {
        const column at(a, first);
        /* from a copy in the element to that in its neighbours before it */
        const int64_t to_x = at.i == 0 && !at.low[0] ? column::N - column::n3 : 0,
                      to_y =
                          at.j == 0 && !at.low[1]
                              ? column::N * n - static_cast<int64_t>(a.grid.local[0]) * column::n3
                              : 0,
                      to_z = column::N * column::n2 -
                             static_cast<int64_t>(a.grid.local[0]) * a.grid.local[1] * column::n3;
        V r_k[n], v_k[n];
        float low[n];

        if (anew) {
#pragma unroll
            for (int k = 0; k < n; k++)
                r_k[k] = unit * static_cast<V>(from[at.here + k * column::n2]);
        }
        if (!anew || stage == NEK_REPLACED) {
            const V *const v = all_v + at.here;
            /* where two faces meet, their elements' common neighbour has a copy as well */
            const int64_t to[3] = {to_x, to_y, to_x && to_y ? to_x + to_y : 0};
#pragma unroll
            for (int k = 0; k < n; k++) { /* all loads before they are needed */
                if (!anew)
                    r_k[k] = at.has(k) ? static_cast<V>(at.r(a, k)) : 0;
                v_k[k] = v[k * column::n2];
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
                        v_k[k] += v[to[q] + k * column::n2];
                }
            if (a.shared) {
#pragma unroll
                for (int k = 0; k < n; k++)
                    if (at.has(k) && at.is_near(a, k, 0))
                        v_k[k] = static_cast<const V *>(a.shared)[at.at_grid + k * at.plane];
            }
#pragma unroll
            for (int k = 0; k < n; k++)
                r_k[k] -= step * v_k[k];
        }
        if (anew && stage == NEK_REPLACED) {
#pragma unroll
            for (int k = 0; k < n; k++)
                r_k[k] = at.is_masked(a, k)
                             ? 0
                             : r_k[k] - step * static_cast<V>(a.lambda) *
                                            static_cast<V>(a.x_end[at.here + k * column::n2]);
        }
#pragma unroll
        for (int k = 0; k < n; k++) {
            const T kept = static_cast<T>(r_k[k]);
            const float scaled = nek_is_single<T> ? kept : static_cast<float>(cg.scale * r_k[k]);
            const double squared =
                anew && stage == NEK_REPLACED ? kept : r_k[k]; /* |b| is b's own */
            const bool counts = at.counts(a, k);
            low[k] = counts ? scaled : 0;
            sum += counts && !at.is_masked(a, k) ? squared * squared : 0;
            if (at.has(k) && (!anew || stage != NEK_MEASURED)) {
                if (!nek_is_single<T>)
                    at.r(a, k) = kept;
                a.r32[at.at_grid + k * at.plane] = scaled;
            }
        }
        if (n > 2 && (!anew || stage != NEK_MEASURED)) {
            const int values = 2 * c * column::n2;
            restrict_column<n>(team_of(at), at.active, c, J, low,
                               boxes + static_cast<int64_t>(at.e) * c * c * c,
                               any_memory + at.own * values);
        }
    }
    rt_let_next_start();
    nek_end_sum(a, stage, sum);
}

/* --- r.z --- */

/* r.z = the sum over the levels of r' F r: what the patches have left, and r.x of the last level,
 * whose points are `nodes`, 0 on all ranks but one. */
template <class T>
__global__ void __launch_bounds__(1024) pcg_add_levels(const __grid_constant__ nek_pcg_t<T> a,
                                                       const float *r, const float *x, int nodes)
{
    double sum = 0;
    rt_let_next_start();
#pragma unroll 4
    for (int q = static_cast<int>(threadIdx.x); q < a.energies; q += blockDim.x)
        sum += a.energy[q];
#pragma unroll 8
    for (int q = static_cast<int>(threadIdx.x); q < nodes; q += blockDim.x)
        sum += static_cast<double>(r[q]) * x[q];
    nek_end_sum(a, NEK_PRECONDITIONED, sum / nek_read_cg(a.cg).scale);
}

/* --- at the end, and between --- */

/* x += alpha p of the last iteration, and, if the vectors are FP32, x of FP64 += x. The solve ends: r
 * at all copies of a point. */
template <int n, class T>
__global__ void __launch_bounds__(nek_shape<n>::threads)
    pcg_finish(const __grid_constant__ nek_pcg_t<T> a, bool ends)
{
    using column = column_t<n, T>;
    const column at(a, nek_first(a));
    const nek_cg_t cg = nek_read_cg(a.cg);
    if (!at.active)
        return;
    const int64_t Y = static_cast<int64_t>(a.grid.local[0]) * column::n3, Z = a.grid.local[1] * Y;
    const int64_t to = (at.i == column::N && !at.high[0] ? column::n3 - column::N : 0) +
                       (at.j == column::N && !at.high[1] ? Y - column::N * n : 0);
    for (int k = 0; k < n; k++) {
        const int64_t q = at.here + k * column::n2;
        double x = cg.done > cg.first + 1 ? a.x[q] : 0;
        x += cg.done > cg.first ? cg.alpha * a.p[q] : 0;
        a.x_end[q] = x / cg.unit + (cg.first > 0 ? a.x_end[q] : 0);
        if (!ends)
            continue;
        if constexpr (nek_is_single<T>)
            a.r[q] = a.r32[at.at_grid + k * at.plane] / cg.unit;
        else if (!at.has(k))
            a.r[q] = a.r[q + to + (k == column::N && !at.high[2] ? Z - column::N * column::n2 : 0)];
    }
}

__global__ void __launch_bounds__(NEK_POINT_THREADS)
    pcg_round(int64_t count, const double *from, float *to)
{
    const int64_t q = nek_point();
    if (q < count)
        to[q] = static_cast<float>(from[q]);
}

template <class T>
__global__ void pcg_form(const __grid_constant__ nek_pcg_t<T> a, nek_stage stage, double sum)
{
    nek_form(a, stage, sum);
}

#endif
