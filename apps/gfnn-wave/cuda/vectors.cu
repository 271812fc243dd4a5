/*
 * vectors.cu - the loops of conjugate gradients that are neither A nor P, on the GPU.
 *
 * Each is one pass at the speed of memory, and what can share a pass does: r, r . r and the 16-bit
 * copy of r for the predictor are one pass; so are r, z of the diagonal blocks and both sums; and x
 * with the next p. A warp takes a row of the box, as ghosts must not be touched. A sum ends in the
 * kernel that makes its terms: blocks leave partial sums, the last block adds them in order and
 * writes to page-locked memory. So equal input gives equal bits, and the host waits for one number.
 *
 * The 3x3 blocks D are computed on the fly from the eight ids around a node: a byte per node, where
 * six stored values would be 24. By the symmetry of the cube an element adds the same to all three
 * diagonal entries, and to the others one value with the signs of the corner: two numbers per id.
 * Neighbours in x share four of their elements. So a lane, which has two nodes, sums up the
 * elements at its own two places in x, and the lane before hands it the third sum that it needs:
 * four ids per node are looked up, not eight.
 */
#include "config.h"
#include <cuda_fp16.h>
#include <type_traits>
#include "gfnn_cuda.cuh"
#include "apps/gfnn-wave/node.h"

/* The grid is as large as the device: RESIDENT blocks per multiprocessor, with 40 registers. */
enum { THREADS = 256, WARPS = THREADS / 32, RESIDENT = 6 };
/* With D, of which a lane keeps two, and a dozen pairs of values in flight: 64 registers. */
enum { RESIDENT_BLOCKS = 4 };

/* What an element adds to the block of its corner. */
struct __align__(8) entries_t
{
    float diagonal, cross;
};

/* What set_up makes. */
struct data_t {
    unsigned blocks;          /* of the grid */
    double *partial;          /* device [2][blocks] */
    unsigned *ticket;         /* device [2] */
    unsigned long long *most; /* device */
    double *result;           /* pinned [2] */
    entries_t *entries;       /* device [GFNN_MAX_IDS] */
};

struct rows_t {
    gfnn_lines_t fine, wide;
    int n[3];

    explicit rows_t(const gfnn_box_t *box) : fine(box->fine), wide(box->wide)
    {
        for (int d = 0; d < 3; d++)
            n[d] = static_cast<int>(box->n[d]);
    }
};

/* Goes through a warp's share: row by row of every component. */
template <class Body> static __device__ __forceinline__ void each_row(const rows_t &g, Body body)
{
    const unsigned rows = 3u * g.n[1] * g.n[2], step = gridDim.x * WARPS;
    for (unsigned row = blockIdx.x * WARPS + threadIdx.x / 32; row < rows; row += step) {
        const unsigned layer = row / g.n[1], j = row % g.n[1];
        const unsigned c = layer / g.n[2], k = layer % g.n[2];
        body(c * g.fine.plane + g.fine.at(0, j, k), c * g.wide.plane + g.wide.at(0, j, k));
    }
}

/* Calls body(place on `fine`, place on `wide`) for every component of every own node, `ahead`
 * values of a row at once: for what only reads, or only writes. */
template <int ahead, class Body>
static __device__ __forceinline__ void each_value(const rows_t &g, Body body)
{
    each_row(g, [&](int64_t fine, int64_t wide) {
#pragma unroll ahead
        for (int i = threadIdx.x % 32; i < g.n[0]; i += 32)
            body(fine + i, wide + i);
    });
}

/* Calls store(places, load(places)), with `ahead` values loaded before one is stored: a compiler
 * cannot know that the next load does not read what was stored. */
template <int ahead, class Load, class Store>
static __device__ __forceinline__ void each_ahead(const rows_t &g, Load load, Store store)
{
    each_row(g, [&](int64_t fine, int64_t wide) {
        for (int first = threadIdx.x % 32; first < g.n[0]; first += 32 * ahead) {
            decltype(load(fine, wide)) value[ahead];
#pragma unroll
            for (int a = 0; a < ahead; a++)
                if (first + 32 * a < g.n[0])
                    value[a] = load(fine + first + 32 * a, wide + first + 32 * a);
#pragma unroll
            for (int a = 0; a < ahead; a++)
                if (first + 32 * a < g.n[0])
                    store(fine + first + 32 * a, wide + first + 32 * a, value[a]);
        }
    });
}

/* What a kernel with a sum gets. */
struct sum_t {
    double *partial;
    unsigned *ticket;
    double *result;
};

static sum_t sum_of(const data_t *data, int number)
{
    return {data->partial + number * data->blocks, data->ticket + number, data->result + number};
}

static __device__ __forceinline__ void finish(double mine, const sum_t &sum)
{
    gfnn_grid_sum<THREADS>(mine, sum.partial, sum.ticket, sum.result);
}

static double fetch(const data_t *data)
{
    RT_CUDA(cudaStreamSynchronize(rt_stream()));
    return static_cast<volatile double *>(data->result)[0];
}

static void fetch_both(const data_t *data, double sums[2])
{
    sums[0] = fetch(data);
    sums[1] = static_cast<volatile double *>(data->result)[1];
}

static const data_t *data_of(const gfnn_view_t *view)
{
    return static_cast<const data_t *>(view->data);
}

static __device__ __forceinline__ void store_low(float *low, int64_t at, float value)
{
    low[at] = value;
}

static __device__ __forceinline__ void store_low(__half *low, int64_t at, float value)
{
    low[at] = __float2half_rn(value);
}

/* Calls f(low) with the type that `precision` says. */
template <class F> static void fixed_low(int precision, void *low, F f)
{
    if (precision == GFNN_FP16)
        f(static_cast<__half *>(low));
    else
        f(static_cast<float *>(low));
}

/* --- kernels --- */

template <bool is_fine, class T>
static __global__ void __launch_bounds__(THREADS, RESIDENT)
    fill_kernel(rows_t g, T value, T *__restrict__ x)
{
    each_value<4>(g, [=](int64_t fine, int64_t wide) { x[is_fine ? fine : wide] = value; });
}

template <bool is_fine, class T>
static __global__ void __launch_bounds__(THREADS, RESIDENT)
    dot_kernel(rows_t g, const T *__restrict__ x, const T *__restrict__ y, sum_t sum)
{
    double mine = 0;
    each_value<4>(g, [&](int64_t fine, int64_t wide) {
        const int64_t at = is_fine ? fine : wide;
        mine += static_cast<double>(x[at]) * static_cast<double>(y[at]);
    });
    finish(mine, sum);
}

/* As in BLAS, y is not read if b = 0: it may be NaN. */
static __global__ void __launch_bounds__(THREADS, RESIDENT)
    axpby_kernel(rows_t g, double a, const double *__restrict__ x, double b, double *__restrict__ y)
{
    each_ahead<2>(
        g,
        [=](int64_t at, int64_t) {
            return double2{x[at], b != 0 ? b * y[at] : 0};
        },
        [=](int64_t at, int64_t, double2 v) { y[at] = a * v.x + v.y; });
}

template <class Low>
static __global__ void __launch_bounds__(THREADS, RESIDENT)
    update_kernel(rows_t g, double alpha, const double *__restrict__ q, double *__restrict__ r,
                  double scale, Low *__restrict__ low, sum_t sum)
{
    double mine = 0;
    each_ahead<2>(
        g,
        [=](int64_t at, int64_t) {
            return double2{r[at], q[at]};
        },
        [&](int64_t at, int64_t wide, double2 v) {
            const double value = v.x - alpha * v.y;
            r[at] = value;
            if (low)
                store_low(low, wide, static_cast<float>(scale * value));
            mine += value * value;
        });
    finish(mine, sum);
}

/* The largest |r| as bits: doubles above 0 are in the order of their bits, and NaN is above all. */
template <class Low>
static __global__ void __launch_bounds__(THREADS, RESIDENT)
    pack_kernel(rows_t g, const double *__restrict__ r, double scale, Low *__restrict__ low,
                unsigned long long *most)
{
    unsigned long long mine = 0;
    each_value<4>(g, [&](int64_t at, int64_t wide) {
        const double value = r[at];
        store_low(low, wide, static_cast<float>(scale * value));
        const unsigned long long bits = __double_as_longlong(fabs(value));
        mine = bits > mine ? bits : mine;
    });
    for (int offset = 16; offset > 0; offset /= 2) {
        const unsigned long long other = __shfl_down_sync(0xffffffffu, mine, offset);
        mine = other > mine ? other : mine;
    }
    if (threadIdx.x % 32 == 0)
        atomicMax(most, mine);
}

template <bool two>
static __global__ void __launch_bounds__(THREADS, RESIDENT)
    dots_kernel(rows_t g, const float *__restrict__ z, const double *__restrict__ r,
                const double *__restrict__ q, sum_t first, sum_t second)
{
    double zr = 0, zq = 0;
    each_value<2>(g, [&](int64_t at, int64_t wide) {
        const double value = z[wide];
        zr += value * r[at];
        if (two)
            zq += value * q[at];
    });
    finish(zr, first);
    if (two)
        finish(zq, second);
}

/* z on `wide`, or r, which is T of `fine`. */
template <bool first, class T>
static __global__ void __launch_bounds__(THREADS, RESIDENT)
    direction_kernel(rows_t g, double alpha, double *__restrict__ x, double scale,
                     const T *__restrict__ z, double beta, double *__restrict__ p)
{
    struct value_t {
        T z;
        double p, x;
    };
    each_ahead<2>(
        g,
        [=](int64_t at, int64_t wide) {
            return value_t{z[sizeof(T) == sizeof(double) ? at : wide], first ? 0 : p[at],
                           first ? 0 : x[at]};
        },
        [=](int64_t at, int64_t, const value_t &v) {
            if (!first)
                x[at] = v.x + alpha * v.p;
            p[at] = first ? scale * v.z : scale * v.z + beta * v.p;
        });
}

/* As axpby. */
static __global__ void __launch_bounds__(THREADS, RESIDENT)
    axpby32_kernel(rows_t g, float a, const float *__restrict__ x, float b, float *__restrict__ y)
{
    each_ahead<4>(
        g,
        [=](int64_t, int64_t at) {
            return float2{x[at], b != 0 ? b * y[at] : 0};
        },
        [=](int64_t, int64_t at, float2 v) { y[at] = a * v.x + v.y; });
}

static __global__ void __launch_bounds__(THREADS, RESIDENT)
    narrow_kernel(rows_t g, float scale, const float *__restrict__ x, const float *__restrict__ y,
                  __half *__restrict__ low)
{
    each_ahead<4>(
        g,
        [=](int64_t, int64_t at) {
            return float2{x[at], y ? y[at] : 0};
        },
        [=](int64_t, int64_t at, float2 v) { store_low(low, at, scale * (v.x - v.y)); });
}

static __global__ void __launch_bounds__(THREADS, RESIDENT)
    before_kernel(rows_t g, double of_v, double rayleigh_b, const double *__restrict__ u,
                  const double *__restrict__ v, const double *__restrict__ a,
                  double *__restrict__ x1, double *__restrict__ x2)
{
    each_ahead<2>(
        g,
        [=](int64_t at, int64_t) {
            return double3{u[at], v[at], a[at]};
        },
        [=](int64_t at, int64_t, const double3 &old) {
            gfnn_before(of_v, rayleigh_b, old.x, old.y, old.z, x1 + at, x2 + at);
        });
}

static __global__ void __launch_bounds__(THREADS, RESIDENT)
    after_kernel(rows_t g, double dt, const double *__restrict__ du, double *__restrict__ u,
                 double *__restrict__ v, double *__restrict__ a)
{
    const double f1 = 2 / dt, f2 = 4 / (dt * dt);
    struct state_t {
        double du, u, v, a;
    };
    each_ahead<2>(
        g,
        [=](int64_t at, int64_t) {
            return state_t{du[at], u[at], v[at], a[at]};
        },
        [=](int64_t at, int64_t, state_t s) {
            gfnn_after(f1, f2, s.du, &s.u, &s.v, &s.a);
            u[at] = s.u;
            a[at] = s.a;
            v[at] = s.v;
        });
}

/* --- fill .. newmark: the table's functions --- */

/* Every kernel over rows has this grid. */
template <class... P, class... A>
static void launch(void (*kernel)(rows_t, P...), const gfnn_view_t *view, A... arguments)
{
    kernel<<<data_of(view)->blocks, THREADS, 0, rt_stream()>>>(rows_t(view->box), arguments...);
    RT_CUDA_LAUNCHED();
}

static void fill(const gfnn_view_t *view, double value, double *x)
{
    launch(fill_kernel<true, double>, view, value, x);
}

static void fill32(const gfnn_view_t *view, float value, float *z)
{
    launch(fill_kernel<false, float>, view, value, z);
}

static double dot(const gfnn_view_t *view, const double *x, const double *y)
{
    launch(dot_kernel<true, double>, view, x, y, sum_of(data_of(view), 0));
    return fetch(data_of(view));
}

static double dot32(const gfnn_view_t *view, const float *x, const float *y)
{
    launch(dot_kernel<false, float>, view, x, y, sum_of(data_of(view), 0));
    return fetch(data_of(view));
}

static void axpby(const gfnn_view_t *view, double a, const double *x, double b, double *y)
{
    launch(axpby_kernel, view, a, x, b, y);
}

static double update(const gfnn_view_t *view, double alpha, const double *q, double *r,
                     double scale, int precision, void *low)
{
    fixed_low(precision, low, [&](auto *typed) {
        using Low = std::remove_pointer_t<decltype(typed)>;
        launch(update_kernel<Low>, view, alpha, q, r, scale, typed, sum_of(data_of(view), 0));
    });
    return fetch(data_of(view));
}

static double pack(const gfnn_view_t *view, const double *r, double scale, int precision, void *low)
{
    const data_t *data = data_of(view);
    RT_CUDA(cudaMemsetAsync(data->most, 0, sizeof *data->most, rt_stream()));
    fixed_low(precision, low, [&](auto *typed) {
        using Low = std::remove_pointer_t<decltype(typed)>;
        launch(pack_kernel<Low>, view, r, scale, typed, data->most);
    });
    RT_CUDA(cudaMemcpyAsync(data->result, data->most, sizeof *data->most, cudaMemcpyDeviceToHost,
                            rt_stream()));
    return fetch(data);
}

static void dots(const gfnn_view_t *view, const float *z, const double *r, const double *q,
                 double sums[2])
{
    const data_t *data = data_of(view);
    if (q)
        launch(dots_kernel<true>, view, z, r, q, sum_of(data, 0), sum_of(data, 1));
    else
        launch(dots_kernel<false>, view, z, r, q, sum_of(data, 0), sum_of(data, 1));
    fetch_both(data, sums);
    if (!q)
        sums[1] = 0;
}

template <class T>
static void turn(const gfnn_view_t *view, double alpha, double *x, double scale, const T *z,
                 double beta, double *p)
{
    const bool first = alpha == 0 && beta == 0;
    launch(first ? direction_kernel<true, T> : direction_kernel<false, T>, view, alpha, x, scale, z,
           beta, p);
}

static void direction(const gfnn_view_t *view, double alpha, double *x, double scale,
                      const float *z, double beta, double *p)
{
    turn(view, alpha, x, scale, z, beta, p);
}

static void direction_plain(const gfnn_view_t *view, double alpha, double *x, const double *r,
                            double beta, double *p)
{
    turn(view, alpha, x, 1, r, beta, p);
}

static void axpby32(const gfnn_view_t *view, float a, const float *x, float b, float *y)
{
    launch(axpby32_kernel, view, a, x, b, y);
}

static void narrow(const gfnn_view_t *view, float scale, const float *x, const float *y, void *low)
{
    launch(narrow_kernel, view, scale, x, y, static_cast<__half *>(low));
}

static void newmark_before(const gfnn_view_t *view, double dt, double rayleigh_a, double rayleigh_b,
                           const double *u, const double *v, const double *a, double *x1,
                           double *x2)
{
    launch(before_kernel, view, 4 / dt + rayleigh_a, rayleigh_b, u, v, a, x1, x2);
}

static void newmark_after(const gfnn_view_t *view, double dt, const double *du, double *u,
                          double *v, double *a)
{
    launch(after_kernel, view, dt, du, u, v, a);
}

/* --- mirror faces --- */

/* Zeroes component d of a layer across direction d, with a thread per node. */
static __global__ void __launch_bounds__(THREADS, RESIDENT)
    hold_kernel(const __grid_constant__ rows_t g, int d, int layer, double *x, float *z)
{
    const int a = d == 0 ? 1 : 0, b = d == 2 ? 1 : 2;
    const unsigned node = blockIdx.x * THREADS + threadIdx.x;
    if (node >= static_cast<unsigned>(g.n[a]) * g.n[b])
        return;
    const int s = node % g.n[a], t = node / g.n[a];
    int at[3];
    gfnn_on_layer(d, layer, s, t, at);
    if (x)
        x[d * g.fine.plane + g.fine.at(at[0], at[1], at[2])] = 0;
    if (z)
        z[d * g.wide.plane + g.wide.at(at[0], at[1], at[2])] = 0;
}

static void hold(const gfnn_view_t *view, double *x, float *z)
{
    const rows_t g(view->box);
    const gfnn_held_t held = gfnn_held(view->box);
    for (int face = 0; face < 6; face++) {
        if (!held.at[face])
            continue;
        const int d = face / 2, layer = face % 2 ? g.n[d] - 1 : 0;
        const size_t nodes = static_cast<size_t>(g.n[(d + 1) % 3]) * g.n[(d + 2) % 3];
        hold_kernel<<<rt_blocks(nodes, THREADS), THREADS, 0, rt_stream()>>>(g, d, layer, x, z);
        RT_CUDA_LAUNCHED();
    }
}

/* --- ghosts --- */

/* The ghosts, with a thread per ghost of all components: first those of whole layers below and
 * above; then those of whole rows at the sides; then those at the two ends of rows of own values.
 * All but the last are contiguous. */
struct ghosts_t {
    gfnn_lines_t lines;
    int n[3], width;
    unsigned below, sides, ends; /* how many */

    ghosts_t(const gfnn_grid_t &g, int width_) : lines(g), width(width_)
    {
        for (int d = 0; d < 3; d++)
            n[d] = static_cast<int>(g.n[d]);
        below = 2u * width * (n[0] + 2 * width) * (n[1] + 2 * width);
        sides = 2u * width * (n[0] + 2 * width) * n[2];
        ends = 2u * width * n[1] * n[2];
    }
    __device__ __forceinline__ void place(unsigned t, int at[3]) const
    {
        const unsigned both = 2 * width, length = n[0] + both, rows = n[1] + both;
        if (t < below) {
            at[0] = static_cast<int>(t % length) - width;
            at[1] = static_cast<int>(t / length % rows) - width;
            at[2] = gfnn_beyond(t / length / rows, width, n[2]);
        } else if (t - below < sides) {
            t -= below;
            at[0] = static_cast<int>(t % length) - width;
            at[1] = gfnn_beyond(t / length % both, width, n[1]);
            at[2] = t / length / both;
        } else {
            t -= below + sides;
            at[0] = gfnn_beyond(t % both, width, n[0]);
            at[1] = t / both % n[1];
            at[2] = t / both / n[1];
        }
    }
};

template <class T> static __global__ void wrap_kernel(const ghosts_t g, T *x)
{
    const unsigned t = blockIdx.x * THREADS + threadIdx.x;
    int at[3];
    if (t >= g.below + g.sides + g.ends)
        return;
    g.place(t, at);
    const int to = g.lines.at(at[0], at[1], at[2]);
    const int from = g.lines.at(gfnn_wrapped(at[0], g.n[0]), gfnn_wrapped(at[1], g.n[1]),
                                gfnn_wrapped(at[2], g.n[2]));
    T value[3];
#pragma unroll
    for (int c = 0; c < 3; c++)
        value[c] = x[from + c * g.lines.plane];
#pragma unroll
    for (int c = 0; c < 3; c++)
        x[to + c * g.lines.plane] = value[c];
}

template <class T> static void wrap_all(const ghosts_t &g, T *x)
{
    const size_t ghosts = static_cast<size_t>(g.below) + g.sides + g.ends;
    wrap_kernel<T><<<rt_blocks(ghosts, THREADS), THREADS, 0, rt_stream()>>>(g, x);
    RT_CUDA_LAUNCHED();
}

static void wrap(const gfnn_view_t *view, int width, rt_type_t type, void *x)
{
    const ghosts_t g(type == RT_F64 ? view->box->fine : view->box->wide, width);
    if (type == RT_F64)
        wrap_all(g, static_cast<double *>(x));
    else if (type == RT_F32)
        wrap_all(g, static_cast<float *>(x));
    else
        wrap_all(g, static_cast<uint16_t *>(x));
}

/* --- diagonal blocks --- */

/* A node's block: the three diagonal entries are equal. */
struct block_t {
    float diagonal, xy, yz, zx;
};

/* Returns the sum over the four elements at one place in x around a row of nodes. Entries have the
 * signs of nodes at the upper ends in x; at the lower ends xy and zx have the opposite signs. */
static __device__ __forceinline__ block_t column_of(const entries_t *entries, const unsigned id[4])
{
    entries_t here[4];
#pragma unroll
    for (int e = 0; e < 4; e++) /* e & 1: before the row in y; e & 2: in z */
        here[e] = entries[id[e]];
    block_t column;
    column.diagonal = (here[0].diagonal + here[1].diagonal) + (here[2].diagonal + here[3].diagonal);
    column.xy = (here[1].cross - here[0].cross) + (here[3].cross - here[2].cross);
    column.yz = (here[0].cross - here[1].cross) + (here[3].cross - here[2].cross);
    column.zx = (here[2].cross - here[0].cross) + (here[3].cross - here[1].cross);
    return column;
}

/* Returns the block of the node between two of them. */
static __device__ __forceinline__ block_t between(const block_t &lower, const block_t &upper)
{
    return {lower.diagonal + upper.diagonal, lower.xy - upper.xy, lower.yz + upper.yz,
            lower.zx - upper.zx};
}

/* Returns what the lane before has; lane 0 gets what lane 31 has. */
static __device__ __forceinline__ block_t rotated(const block_t &mine)
{
    const int from = (threadIdx.x + 31) % 32;
    return {__shfl_sync(0xffffffffu, mine.diagonal, from), __shfl_sync(0xffffffffu, mine.xy, from),
            __shfl_sync(0xffffffffu, mine.yz, from), __shfl_sync(0xffffffffu, mine.zx, from)};
}

/* z = scale D^-1 r, for the block of D that is not held; z is 0 where it is. */
static __device__ __forceinline__ void solve_block(block_t D, const bool hold[3], float scale,
                                                   const float r[3], float z[3])
{
    D.xy = hold[0] || hold[1] ? 0 : D.xy;
    D.yz = hold[1] || hold[2] ? 0 : D.yz;
    D.zx = hold[2] || hold[0] ? 0 : D.zx;
    const float x = hold[0] ? 0 : r[0], y = hold[1] ? 0 : r[1], w = hold[2] ? 0 : r[2];
    /* The matrix of cofactors over the determinant. */
    const float d = D.diagonal, xx = d * d - D.yz * D.yz, xy = D.yz * D.zx - D.xy * d;
    const float zx = D.xy * D.yz - d * D.zx, yy = d * d - D.zx * D.zx;
    const float yz = D.xy * D.zx - d * D.yz, zz = d * d - D.xy * D.xy;
    const float over = __fdividef(scale, d * xx + D.xy * xy + D.zx * zx);
    z[0] = over * (xx * x + xy * y + zx * w);
    z[1] = over * (xy * x + yy * y + yz * w);
    z[2] = over * (zx * x + yz * y + zz * w);
}

/* Access two neighbours in x. Own rows begin at multiples of 4 values, and the second of a pair may
 * be a ghost: it can be read, but must not be written. */
static __device__ __forceinline__ float2 pair_at(const float *x)
{
    return *reinterpret_cast<const float2 *>(x);
}
static __device__ __forceinline__ double2 pair_at(const double *x)
{
    return *reinterpret_cast<const double2 *>(x);
}
template <class T, class Pair>
static __device__ __forceinline__ void store_pair(T *x, bool both, const T value[2])
{
    if (both)
        *reinterpret_cast<Pair *>(x) = {value[0], value[1]};
    else
        *x = value[0];
}

/* For every pair of own nodes, with a warp per row, calls job.load(place on `fine`, place on
 * `wide`) before anything is stored; job.node(0 or 1, block, what is held, is it own?) for both;
 * and job.store(places, are both own?). */
template <class Job>
static __device__ __forceinline__ void each_block(const rows_t &g, const gfnn_held_t &held,
                                                  const uint8_t *id, const entries_t *all, Job &job)
{
    __shared__ entries_t entries[GFNN_MAX_IDS];
    for (int t = threadIdx.x; t < GFNN_MAX_IDS; t += THREADS)
        entries[t] = all[t];
    __syncthreads();
    const int lane = threadIdx.x % 32, last = g.n[0] - 1;
    const unsigned rows = g.n[1] * g.n[2], step = gridDim.x * WARPS;
    for (unsigned row = blockIdx.x * WARPS + threadIdx.x / 32; row < rows; row += step) {
        const int j = row % g.n[1], k = row / g.n[1];
        const bool hold_y = gfnn_is_held(&held, 1, j, g.n[1]),
                   hold_z = gfnn_is_held(&held, 2, k, g.n[2]);
        const uint8_t *of_row = id + g.wide.at(0, j, k);
        unsigned first[4];
#pragma unroll
        for (int e = 0; e < 4; e++)
            first[e] = __ldg(of_row - (e & 1) * g.wide.pitch - (e >> 1) * g.wide.slab - 1);
        block_t before = {}; /* what lane 31 had, for lane 0 */
        for (int i = 2 * lane; i - 2 * lane <= last; i += 64) {
            const bool here = i <= last, both = i < last;
            const int fine = g.fine.at(i, j, k), wide = g.wide.at(i, j, k);
            block_t lower = {}, upper = {};
            if (here) {
                unsigned of_lower[4], of_upper[4];
#pragma unroll
                for (int e = 0; e < 4; e++) {
                    const int at = i - (e & 1) * g.wide.pitch - (e >> 1) * g.wide.slab;
                    const uchar2 two = __ldg(reinterpret_cast<const uchar2 *>(of_row + at));
                    of_lower[e] = two.x;
                    of_upper[e] = two.y;
                }
                job.load(fine, wide);
                lower = column_of(entries, of_lower);
                upper = column_of(entries, of_upper);
            }
            if (i < 64) /* looked up after the loads above were issued */
                before = column_of(entries, first);
            const block_t from = rotated(upper), last_upper = lane == 0 ? before : from;
            before = from;
            if (here) {
                const bool hold[3] = {gfnn_is_held(&held, 0, i, g.n[0]), hold_y, hold_z};
                const bool hold_next[3] = {gfnn_is_held(&held, 0, i + 1, g.n[0]), hold_y, hold_z};
                job.node(0, between(last_upper, lower), hold, true);
                job.node(1, between(lower, upper), hold_next, both);
                job.store(fine, wide, both);
            }
        }
    }
}

/* out = z + a (z - old) + omega D^-1 (r - y) */
template <bool with_z, bool with_old, bool with_y> struct smooth_t {
    const float *z, *old, *r, *y;
    float a, omega;
    float *out;
    int64_t plane;
    float d[3][2], s[3][2]; /* r - y; z + a (z - old), and then what is stored */

    __device__ __forceinline__ void load(int, int wide)
    {
        float2 of_r[3], of_y[3], of_z[3], of_old[3];
#pragma unroll
        for (int c = 0; c < 3; c++) {
            const int64_t at = wide + c * plane;
            of_r[c] = pair_at(r + at);
            of_y[c] = with_y ? pair_at(y + at) : float2{0, 0};
            of_z[c] = with_z ? pair_at(z + at) : float2{0, 0};
            of_old[c] = with_old ? pair_at(old + at) : float2{0, 0};
        }
#pragma unroll
        for (int c = 0; c < 3; c++) {
            d[c][0] = of_r[c].x - of_y[c].x;
            d[c][1] = of_r[c].y - of_y[c].y;
            s[c][0] = of_z[c].x + a * (of_z[c].x - of_old[c].x);
            s[c][1] = of_z[c].y + a * (of_z[c].y - of_old[c].y);
        }
    }
    __device__ __forceinline__ void node(int n, const block_t &D, const bool hold[3], bool)
    {
        const float here[3] = {d[0][n], d[1][n], d[2][n]};
        float result[3];
        solve_block(D, hold, omega, here, result);
#pragma unroll
        for (int c = 0; c < 3; c++)
            s[c][n] += result[c];
    }
    __device__ __forceinline__ void store(int, int wide, bool both)
    {
#pragma unroll
        for (int c = 0; c < 3; c++)
            store_pair<float, float2>(out + c * plane + wide, both, s[c]);
    }
};

template <bool with_z, bool with_old, bool with_y>
static __global__ void __launch_bounds__(THREADS, RESIDENT_BLOCKS)
    smooth_kernel(rows_t g, gfnn_held_t held, const uint8_t *__restrict__ id,
                  const entries_t *__restrict__ all, const float *z, float a, const float *old,
                  float omega, const float *r, const float *y, float *out)
{
    smooth_t<with_z, with_old, with_y> job = {z, old, r, y, a, omega, out, g.wide.plane, {}, {}};
    each_block(g, held, id, all, job);
}

/* r -= alpha q, z = scale D^-1 r, and both sums. If not `moves`, alpha is 0, and q is not read. */
template <bool moves> struct update_t {
    const double *q;
    double *r;
    float *z;
    double alpha, scale;
    int64_t of_fine, of_wide; /* from component to component */
    double rr, zr;
    double value[3][2];
    float result[3][2];

    __device__ __forceinline__ void load(int fine, int)
    {
        double2 of_r[3], of_q[3];
#pragma unroll
        for (int c = 0; c < 3; c++) {
            of_r[c] = pair_at(r + fine + c * of_fine);
            of_q[c] = moves ? pair_at(q + fine + c * of_fine) : double2{0, 0};
        }
#pragma unroll
        for (int c = 0; c < 3; c++) {
            value[c][0] = moves ? of_r[c].x - alpha * of_q[c].x : of_r[c].x;
            value[c][1] = moves ? of_r[c].y - alpha * of_q[c].y : of_r[c].y;
        }
    }
    __device__ __forceinline__ void node(int n, const block_t &D, const bool hold[3], bool own)
    {
        float low[3], of_node[3];
#pragma unroll
        for (int c = 0; c < 3; c++)
            low[c] = static_cast<float>(scale * value[c][n]);
        solve_block(D, hold, 1, low, of_node);
#pragma unroll
        for (int c = 0; c < 3; c++) {
            result[c][n] = of_node[c];
            rr += own ? value[c][n] * value[c][n] : 0;
            zr += own ? of_node[c] * value[c][n] : 0;
        }
    }
    __device__ __forceinline__ void store(int fine, int wide, bool both)
    {
#pragma unroll
        for (int c = 0; c < 3; c++) {
            if (moves)
                store_pair<double, double2>(r + fine + c * of_fine, both, value[c]);
            store_pair<float, float2>(z + wide + c * of_wide, both, result[c]);
        }
    }
};

template <bool moves>
static __global__ void __launch_bounds__(THREADS, RESIDENT_BLOCKS)
    update_bj_kernel(rows_t g, gfnn_held_t held, const uint8_t *__restrict__ id,
                     const entries_t *__restrict__ all, double alpha, const double *__restrict__ q,
                     double *__restrict__ r, double scale, float *__restrict__ z, sum_t first,
                     sum_t second)
{
    update_t<moves> job = {q, r, z, alpha, scale, g.fine.plane, g.wide.plane, 0, 0, {}, {}};
    each_block(g, held, id, all, job);
    finish(job.rr, first);
    finish(job.zr, second);
}

/* Every kernel with D has this grid. */
template <class... P, class... A>
static void launch_blocks(void (*kernel)(rows_t, gfnn_held_t, const uint8_t *, const entries_t *,
                                         P...),
                          const gfnn_view_t *view, A... arguments)
{
    const data_t *data = data_of(view);
    kernel<<<data->blocks / RESIDENT * RESIDENT_BLOCKS, THREADS, 0, rt_stream()>>>(
        rows_t(view->box), gfnn_held(view->box), view->id, data->entries, arguments...);
    RT_CUDA_LAUNCHED();
}

static void update_bj(const gfnn_view_t *view, double alpha, const double *q, double *r,
                      double scale, float *z, double sums[2])
{
    const data_t *data = data_of(view);
    launch_blocks(alpha != 0 ? update_bj_kernel<true> : update_bj_kernel<false>, view, alpha, q, r,
                  scale, z, sum_of(data, 0), sum_of(data, 1));
    fetch_both(data, sums);
}

static void smooth32(const gfnn_view_t *view, const float *z, float a, const float *old,
                     float omega, const float *r, const float *y, float *out)
{
    static constexpr decltype(&smooth_kernel<true, true, true>) choice[8] = {
        smooth_kernel<false, false, false>, smooth_kernel<false, false, true>,
        smooth_kernel<false, true, false>,  smooth_kernel<false, true, true>,
        smooth_kernel<true, false, false>,  smooth_kernel<true, false, true>,
        smooth_kernel<true, true, false>,   smooth_kernel<true, true, true>};
    const int number = (z ? 4 : 0) + (old && a != 0 ? 2 : 0) + (y ? 1 : 0);
    launch_blocks(choice[number], view, z, a, old, omega, r, y, out);
}

/* --- set up --- */

static void set_up(gfnn_view_t *view, const gfnn_form_t *form)
{
    data_t *data = RT_NEW(data_t, 1, RT_HOST);
    entries_t entries[GFNN_MAX_IDS];
    const unsigned none[2] = {0, 0};
    int device, multiprocessors;
    RT_CUDA(cudaGetDevice(&device));
    RT_CUDA(cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, device));
    data->blocks = static_cast<unsigned>(multiprocessors) * RESIDENT;
    for (int id = 0; id < GFNN_MAX_IDS; id++) {
        double A[24][24];
        gfnn_element_matrix(form, view->materials->w[id], view->materials->square[id], A);
        entries[id] = {static_cast<float>(A[0][0]), static_cast<float>(A[0][1])};
    }
    data->partial = RT_NEW(double, 2 * static_cast<size_t>(data->blocks), RT_DEVICE);
    data->ticket = static_cast<unsigned *>(rt_clone(none, 2, sizeof *none, RT_DEVICE));
    data->most = RT_NEW(unsigned long long, 1, RT_DEVICE);
    data->result = RT_NEW(double, 2, RT_PINNED);
    data->entries =
        static_cast<entries_t *>(rt_clone(entries, GFNN_MAX_IDS, sizeof *entries, RT_DEVICE));
    view->data = data;
}

static void tear_down(gfnn_view_t *view)
{
    data_t *data = static_cast<data_t *>(view->data);
    if (!data)
        return;
    RT_FREE(data->partial, RT_DEVICE);
    RT_FREE(data->ticket, RT_DEVICE);
    RT_FREE(data->most, RT_DEVICE);
    RT_FREE(data->result, RT_PINNED);
    RT_FREE(data->entries, RT_DEVICE);
    RT_FREE(view->data, RT_HOST);
}

/* Partial sums depend on the device and are few: two per block. */
static void memory(const gfnn_config_t *, const gfnn_box_t *, double bytes[RT_SPACES])
{
    const rt_gpu_t *gpu = rt_device_gpu();
    const double blocks = gpu ? gpu->multiprocessors * RESIDENT : 0;
    bytes[RT_HOST] += sizeof(data_t);
    bytes[RT_PINNED] += 2 * sizeof(double);
    bytes[RT_DEVICE] += 2 * sizeof(double) * blocks + 2 * sizeof(unsigned) +
                        sizeof(unsigned long long) + sizeof(entries_t) * GFNN_MAX_IDS;
}

extern "C" const gfnn_vectors_t gfnn_vectors_cuda = {
    .fill = fill,
    .fill32 = fill32,
    .dot = dot,
    .axpby = axpby,
    .update = update,
    .update_bj = update_bj,
    .pack = pack,
    .dots = dots,
    .direction = direction,
    .direction_plain = direction_plain,
    .smooth32 = smooth32,
    .axpby32 = axpby32,
    .dot32 = dot32,
    .narrow = narrow,
    .newmark_before = newmark_before,
    .newmark_after = newmark_after,
    .hold = hold,
    .wrap = wrap,
    .set_up = set_up,
    .tear_down = tear_down,
    .memory = memory,
};
