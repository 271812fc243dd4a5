/*
 * resident.cu - a whole solve in one kernel, for meshes whose vectors fit on the chip.
 *
 * Idea: below some hundred elements an iteration of `onepass` is two kernels that start, fetch what
 * the one before has just written, and end. Here a block keeps its element for the whole solve: r,
 * p, s, x never leave the multiprocessor, and blocks exchange what they must, surfaces and two
 * sums. Chronopoulos and Gear's CG has both in one place of the iteration:
 *
 *     p = r + beta p,  s = w + beta s,  x += alpha p,  r -= alpha s     (s is A p)
 *     w = A r;  gamma = r.r,  delta = r.w                               one exchange
 *     beta = gamma / gamma',  alpha = gamma / (delta - beta gamma / alpha')
 *
 * There is no barrier and no flag: a value travels with the number of its iteration in the same 16
 * bytes, and whoever needs it reads until the number is right. Copies of a shared point are added
 * in an order in which all its elements get the same bits.
 *
 * Two kernels. `apart`, while every element has a multiprocessor to itself: three groups of
 * threads, one for each direction, with vectors and factors in registers. `together`: one group an
 * element, several elements a multiprocessor, vectors in shared memory, factors from L2.
 *
 * Advantage: microseconds an iteration. Price: one rank, small meshes; all blocks must be on the
 * GPU at once (a cooperative launch); s follows w by recurrence, so r may part from b - A x sooner.
 */
#include "config.h"
#include "nek_gather.cuh"

/* Two words that are written and read as one. */
typedef struct {
    long long value, mark;
} pair_t;

static __device__ __forceinline__ void store_pair(pair_t *at, pair_t of)
{
    asm volatile("{\n\t.reg .b128 q;\n\tmov.b128 q, {%1, %2};\n\t"
                 "st.relaxed.gpu.global.b128 [%0], q;\n\t}" ::"l"(at),
                 "l"(of.value), "l"(of.mark)
                 : "memory");
}

static __device__ __forceinline__ pair_t load_pair(const pair_t *at)
{
    pair_t of;
    asm volatile("{\n\t.reg .b128 q;\n\tld.relaxed.gpu.global.b128 q, [%2];\n\t"
                 "mov.b128 {%0, %1}, q;\n\t}"
                 : "=l"(of.value), "=l"(of.mark)
                 : "l"(at)
                 : "memory");
    return of;
}

/* Hides where an index comes from: what follows from it is computed where it is used, and does not
 * stay in registers through the operator. */
static __device__ __forceinline__ void hide(int &index)
{
    asm volatile("" : "+r"(index));
}

/* What all blocks see. */
typedef struct {
    const double *G, *b;
    double *x, *r;
    const nek_outside_t *outside;
    pair_t *surface;         /* [2][elements][surface]: value, iteration; by turns */
    pair_t *sums;            /* [2][elements]: gamma and delta of each, see `phase` */
    int elements, stride[3]; /* from an element to the next in x, y, z */
    int iterations;
    bool alone; /* no gather-scatter */
    double lambda, half;
    long long first; /* mark of iteration 0, larger than all of earlier solves */
    nek_scalars_t scalars;
} resident_t;

/* The sums leave no room for a mark: the last two bits of either say which iteration it is of,
 * modulo 4. The slots hold either the iteration wanted or the one two before, or at the start ones
 * only, which are phase 3 and not wanted then. Costs four units in the last place of a part. */
static __device__ __forceinline__ long long with_phase(double x, int it)
{
    return (__double_as_longlong(x) & ~3LL) | (it & 3);
}

static __device__ __forceinline__ bool has_phase(const pair_t &sums, int it)
{
    return (sums.value & 3) == (it & 3) && (sums.mark & 3) == (it & 3);
}

/* Where an element's neighbours keep the copies of its surface points: one of a point on a face,
 * three on an edge, seven at a corner; as positions in `surface`, -1 where there is none. */
template <int n> struct links {
    using split = nek_split<n>;
    static constexpr int count = split::edges + 3 * 12 * split::m + 7 * 8;

    /* Of surface point q. */
    static __device__ __forceinline__ int first(int q)
    {
        return q < split::edges     ? q
               : q < split::corners ? split::edges + 3 * (q - split::edges)
                                    : split::edges + 3 * 12 * split::m + 7 * (q - split::corners);
    }

    static __device__ void fill(const resident_t &a, unsigned outside, int *link)
    {
        constexpr int m = split::m > 0 ? split::m : 1, face = split::face > 0 ? split::face : 1;
        for (int q = threadIdx.x; q < split::surface; q += blockDim.x) {
            int *const to = link + first(q);
            if (q < split::edges) {
                const int side = q / face;
                to[0] = at(a, outside, 1 << side / 2, side % 2 ? 7 : 0,
                           q + (side % 2 ? -split::face : split::face));
            } else if (q < split::corners) {
                /* edges along z, x, y; the two other directions in cyclic order */
                const int edge = (q - split::edges) / m, d = (edge / 4 + 2) % 3;
                const int d1 = (d + 1) % 3, d2 = (d + 2) % 3, first = q - edge % 4 * m;
                const int high = (edge & 1) << d1 | (edge >> 1 & 1) << d2;
                for (int c = 1; c < 4; c++)
                    to[c - 1] = at(a, outside, (c & 1) << d1 | c >> 1 << d2, high,
                                   first + (edge % 4 ^ c) * m);
            } else {
                const int high = q - split::corners;
                for (int c = 1; c < 8; c++)
                    to[c - 1] = at(a, outside, c, high, split::corners + (high ^ c));
            }
        }
    }

  private:
    /* Position `to` of the neighbour across the directions in `across` (bits x y z), on the side of
     * higher coordinate where `high` says so. */
    static __device__ int at(const resident_t &a, unsigned outside, int across, int high, int to)
    {
        int there = blockIdx.x;
        for (int d = 0; d < 3; d++)
            if (across >> d & 1) {
                const int up = high >> d & 1;
                if (a.alone || (outside >> (2 * d + up) & 1))
                    return -1;
                there += up ? a.stride[d] : -a.stride[d];
            }
        return there * split::surface + to;
    }
};

/* A copy on its way, from theirs[link] (asked for and waited for with the same). What is not shared
 * counts as zero. */
static __device__ __forceinline__ pair_t ask(const pair_t *theirs, int link, long long mark)
{
    return link >= 0 ? load_pair(theirs + link) : pair_t{0, mark};
}

static __device__ __forceinline__ double wait(pair_t got, const pair_t *theirs, const int *link,
                                              long long mark)
{
    while (got.mark != mark)
        got = load_pair(theirs + *link);
    return __longlong_as_double(got.value);
}

/* Sums over the block in two steps, with one barrier of the caller between them. */
template <int threads> struct block_sums {
    double of_warp[2][threads / 32];
    __device__ __forceinline__ void put(double a, double b)
    {
        a = rt_warp_sum(a);
        b = rt_warp_sum(b);
        if (threadIdx.x % 32 == 0) {
            of_warp[0][threadIdx.x / 32] = a;
            of_warp[1][threadIdx.x / 32] = b;
        }
    }
    __device__ __forceinline__ void get(double &a, double &b) const
    {
        a = b = 0;
#pragma unroll
        for (int w = 0; w < threads / 32; w++) {
            a += of_warp[0][w];
            b += of_warp[1][w];
        }
    }
};

/*
 * Surfaces and sums of iteration `it`: `surface`, in shared memory, becomes Q Q^T of it, and gamma
 * and delta the sums over all elements, of which a thread asks for SUMS at once. What the element
 * has to give has been stored, its terms of the sums are in `own` before the call, and the caller
 * has passed a barrier since. All that is wanted is asked for before any of it is waited for. Ends
 * with a barrier.
 */
template <int n, int threads, int SUMS>
__device__ __forceinline__ void exchange(const resident_t &a, int it, const int *link,
                                         double *surface, const block_sums<threads> &own,
                                         block_sums<threads> &all, double &gamma, double &delta)
{
    using split = nek_split<n>;
    constexpr int FACES = (split::edges + threads - 1) / threads;
    int id = threadIdx.x;
    hide(id);
    const long long mark = a.first + it;
    const pair_t *theirs = a.surface + static_cast<size_t>(it & 1) * a.elements * split::surface;
    pair_t *const sums = a.sums + (it & 1) * a.elements;
    /* the last time there are no surfaces to exchange */
    const int faces = it < a.iterations ? split::edges : 0;
    const int points = it < a.iterations ? split::surface : 0;
    pair_t face[FACES > 0 ? FACES : 1], copy[7], part[SUMS];

    auto ask_copies = [&](int q) {
        const int *to = link + links<n>::first(q);
#pragma unroll
        for (int c = 0; c < 7; c++)
            if (c < 3 || q >= split::corners)
                copy[c] = ask(theirs, to[c], mark);
    };
    /* in the same order for all that share the point: pairs across one direction first */
    auto add_copies = [&](int q) {
        const int *to = link + links<n>::first(q);
        auto of = [&](int c) { return wait(copy[c], theirs, to + c, mark); };
        double sum = (surface[q] + of(0)) + (of(1) + of(2));
        if (q >= split::corners)
            sum += (of(3) + of(4)) + (of(5) + of(6));
        surface[q] = sum;
    };

    if (id == 0) {
        double c, d;
        own.get(c, d);
        store_pair(sums + blockIdx.x, {with_phase(c, it), with_phase(d, it)});
    }
#pragma unroll
    for (int c = 0; c < FACES; c++)
        if (id + c * threads < faces)
            face[c] = ask(theirs, link[id + c * threads], mark);
    if (split::edges + id < points)
        ask_copies(split::edges + id);
#pragma unroll
    for (int c = 0; c < SUMS; c++)
        if (id + c * threads < a.elements)
            part[c] = load_pair(sums + id + c * threads);
#pragma unroll
    for (int c = 0; c < FACES; c++)
        if (id + c * threads < faces)
            surface[id + c * threads] += wait(face[c], theirs, link + id + c * threads, mark);
    if (split::edges + id < points)
        add_copies(split::edges + id);
    for (int q = split::edges + id + threads; q < points; q += threads) {
        ask_copies(q);
        add_copies(q);
    }

    double c = 0, d = 0;
    auto add_part = [&](pair_t of, int from) {
        while (!has_phase(of, it))
            of = load_pair(sums + from);
        c += __longlong_as_double(of.value);
        d += __longlong_as_double(of.mark);
    };
#pragma unroll
    for (int q = 0; q < SUMS; q++)
        if (id + q * threads < a.elements)
            add_part(part[q], id + q * threads);
    for (int q = id + SUMS * threads; q < a.elements; q += threads)
        add_part(load_pair(sums + q), q);
    all.put(c, d);
    __syncthreads();
    all.get(gamma, delta);
}

/* A gamma that is zero but for underflow and the bits of `phase`; and p.Ap as a share of r.Ar that
 * is rounding error: after convergence to the last bit the recurrence starts again from p = r. */
static constexpr double NOTHING = 1e-290, LEAST_DOWN = 1e-6;

/* The coefficients, the same bits in every thread of every block. */
struct coefficients {
    double alpha = 0, beta = 0, before = 0;
    __device__ __forceinline__ void next(const resident_t &a, int it, double gamma, double delta)
    {
        const bool on = gamma > NOTHING && before > NOTHING && alpha > 0;
        beta = on ? gamma / before : 0;
        double down = on ? delta - beta * gamma / alpha : delta; /* p.Ap */
        if (!(down > LEAST_DOWN * delta)) {
            beta = 0;
            down = delta;
        }
        alpha = gamma > NOTHING && down > 0 ? gamma / down : 0;
        before = gamma;
        if (blockIdx.x > 0 || threadIdx.x > 0)
            return;
        double *host = a.scalars.host;
        host[it] = gamma;
        host[a.iterations + 1 + it] = alpha;
        host[2 * (a.iterations + 1) + it] = beta;
    }
};

/* Shared memory of a block: doubles, and the links. */
template <int n> constexpr size_t resident_bytes(int doubles)
{
    return sizeof(double) * doubles + sizeof(int) * links<n>::count;
}

/* --- one group of threads an element, several elements a multiprocessor --- */

template <int n> constexpr int together_threads = nek_whole_warps(n *n);
template <int n>
constexpr int together_doubles =
    nek_shape<n>::rows + nek_shape<n>::planes + nek_split<n>::surface + 4 * nek_shape<n>::n3;
/* As many blocks as shared memory holds, but no fewer than 128 registers. */
constexpr int together_blocks(int threads, size_t bytes)
{
    const int by_shared = static_cast<int>(228 * 1024 / (bytes + 1024 + 256));
    const int by_registers = 65536 / (threads * 128);
    const int blocks = by_shared < by_registers ? by_shared : by_registers;
    return blocks > 0 ? blocks : 1;
}

template <int n>
__global__ void __launch_bounds__(together_threads<n>,
                                  together_blocks(together_threads<n>,
                                                  resident_bytes<n>(together_doubles<n>)))
    together(const __grid_constant__ nek_halves<n> D, const __grid_constant__ resident_t a)
{
    using shape = nek_shape<n>;
    using split = nek_split<n>;
    constexpr int n2 = n * n, n3 = n2 * n, threads = together_threads<n>;
    extern __shared__ __align__(128) double memory[];
    __shared__ block_sums<threads> own;
    __shared__ block_sums<threads> all;
    const nek_place<n> at(a.elements, 1, memory);
    nek_factors<n, NEK_CACHED> factors(a.G, at, a.elements, 1, memory);
    double *const surface = memory + shape::rows + shape::planes;
    double *const r = surface + split::surface + at.t, *const p = r + n3, *const s = p + n3;
    double *const x = s + n3;
    int *const link = reinterpret_cast<int *>(memory + together_doubles<n>);
    nek_column<n> place(surface, 1, 0, at.i, at.j, a.outside[at.e], a.half);
    const size_t first = static_cast<size_t>(at.e) * n3 + at.t;
    coefficients by;
    double u[n], w[n];

    links<n>::fill(a, a.outside[at.e], link);
    if (at.active) {
#pragma unroll
        for (int k = 0; k < n; k++) {
            r[k * n2] = a.b[first + k * n2];
            p[k * n2] = s[k * n2] = x[k * n2] = w[k] = 0;
        }
    }
    for (int it = 0; it <= a.iterations; it++) {
        pair_t *const mine =
            a.surface + (static_cast<size_t>(it & 1) * a.elements + at.e) * split::surface;
        double gamma = 0, delta = 0;
        hide(place.step);
        if (at.active) {
#pragma unroll
            for (int k = 0; k < n; k++) {
                double r_k = r[k * n2];
                if (it > 0) {
                    const double w_k = place.is_inside(k) ? w[k] : *place.at(k);
                    const double p_k = r_k + by.beta * p[k * n2], s_k = w_k + by.beta * s[k * n2];
                    p[k * n2] = p_k;
                    s[k * n2] = s_k;
                    x[k * n2] += by.alpha * p_k;
                    r[k * n2] = r_k -= by.alpha * s_k;
                }
                u[k] = r_k;
                gamma += place.c(k) * r_k * r_k;
            }
        }
        if (it < a.iterations)
            nek_line_operator(D, at, factors, u, w);
        hide(place.step);
        if (at.active && it < a.iterations) {
#pragma unroll
            for (int k = 0; k < n; k++) {
                w[k] = place.is_masked(k) ? 0 : w[k] + a.lambda * place.c(k) * u[k];
                delta += u[k] * w[k];
                if (!place.is_inside(k)) {
                    store_pair(mine + (place.at(k) - surface),
                               {__double_as_longlong(w[k]), a.first + it});
                    *place.at(k) = w[k];
                }
            }
        }
        own.put(gamma, delta);
        __syncthreads();
        exchange<n, threads, 4>(a, it, link, surface, own, all, gamma, delta);
        by.next(a, it, gamma, delta);
    }
    if (at.active) {
#pragma unroll
        for (int k = 0; k < n; k++) {
            a.x[first + k * n2] = x[k * n2];
            a.r[first + k * n2] = r[k * n2];
        }
    }
}

/* --- three groups of threads an element, one element a multiprocessor --- */

enum { APART_MAX_N = 11 }; /* registers */

template <int n> constexpr int apart_threads = 3 * nek_whole_warps(n *n);
template <int n>
constexpr int apart_doubles =
    nek_shape<n>::rows + nek_shape<n>::planes + nek_shape<n>::n3 + nek_split<n>::surface;

/* Group g multiplies lines along i, j or k, and keeps layers g, g + 3, ... of the vectors. */
template <int n>
__global__ void __launch_bounds__(apart_threads<n>, 1)
    apart(const __grid_constant__ nek_halves<n> D, const __grid_constant__ resident_t a)
{
    using shape = nek_shape<n>;
    using split = nek_split<n>;
    constexpr int n2 = n * n, n3 = n2 * n, threads = apart_threads<n>, layers = (n + 2) / 3;
    extern __shared__ __align__(128) double memory[];
    __shared__ block_sums<threads> own;
    __shared__ block_sums<threads> all;
    const int group = threadIdx.x / (threads / 3), lane = threadIdx.x % (threads / 3);
    const bool active = lane < n2;
    const int t = active ? lane : 0, i = t % n, j = t / n, e = blockIdx.x;
    double *const rows = memory, *const planes = rows + shape::rows;
    double *const columns = planes + shape::planes, *const surface = columns + n3;
    double *const line = group == 0   ? rows + t * shape::row
                         : group == 1 ? planes + j * shape::plane + i
                                      : columns + t;
    double *const at_row = rows + j * shape::row + i, *const at_plane = planes + t;
    double *const at_column = columns + t;
    constexpr int row_step = n * shape::row, plane_step = shape::plane;
    int *const link = reinterpret_cast<int *>(memory + apart_doubles<n>);
    nek_column<n> place(surface, 1, 0, i, j, a.outside[e], a.half);
    const size_t first = static_cast<size_t>(e) * n3 + t;
    coefficients by;
    double r[layers], p[layers], s[layers], x[layers], w[layers], g[layers][6];

    links<n>::fill(a, a.outside[e], link);
#pragma unroll
    for (int l = 0; l < layers; l++) {
        const int k = group + 3 * l;
        const bool on = active && k < n;
        r[l] = on ? a.b[first + k * n2] : 0;
        p[l] = s[l] = x[l] = w[l] = 0;
#pragma unroll
        for (int m = 0; m < 6; m++)
            g[l][m] = on ? a.G[(static_cast<size_t>(e) * 6 + m) * n3 + k * n2 + t] : 0;
    }
    /* body(l, k) for this thread's layers */
    auto each_layer = [&](auto body) {
#pragma unroll
        for (int l = 0; l < layers; l++)
            if (active && group + 3 * l < n)
                body(l, group + 3 * l);
    };
    auto multiply = [&](auto transposed) {
        constexpr int T = decltype(transposed)::value;
        if (!active)
            return;
        if (group == 0)
            nek_row_in_place<T>(D, line);
        else if (group == 1)
            nek_column_in_place<T, n>(D, line);
        else
            nek_column_in_place<T, n2>(D, line);
    };
    for (int it = 0; it <= a.iterations; it++) {
        pair_t *const mine =
            a.surface + (static_cast<size_t>(it & 1) * a.elements + e) * split::surface;
        double gamma = 0, delta = 0;
        hide(place.step);
        each_layer([&](int l, int k) {
            if (it > 0) {
                const double w_k = place.is_inside(k) ? w[l] : *place.at(k);
                p[l] = r[l] + by.beta * p[l];
                s[l] = w_k + by.beta * s[l];
                x[l] += by.alpha * p[l];
                r[l] -= by.alpha * s[l];
            }
            gamma += place.c(k) * r[l] * r[l];
            at_row[k * row_step] = at_plane[k * plane_step] = at_column[k * n2] = r[l];
        });
        if (it < a.iterations) {
            __syncthreads();
            multiply(std::integral_constant<int, 0>());
            __syncthreads();
            each_layer([&](int l, int k) {
                double &wr = at_row[k * row_step], &ws = at_plane[k * plane_step];
                double &wt = at_column[k * n2];
                const double ur = g[l][0] * wr + g[l][1] * ws + g[l][2] * wt;
                const double us = g[l][1] * wr + g[l][3] * ws + g[l][4] * wt;
                wt = g[l][2] * wr + g[l][4] * ws + g[l][5] * wt;
                wr = ur;
                ws = us;
            });
            __syncthreads();
            multiply(std::integral_constant<int, 1>());
            __syncthreads();
            hide(place.step);
            each_layer([&](int l, int k) {
                const double sum =
                    at_row[k * row_step] + at_plane[k * plane_step] + at_column[k * n2];
                w[l] = place.is_masked(k) ? 0 : sum + a.lambda * place.c(k) * r[l];
                delta += r[l] * w[l];
                if (!place.is_inside(k)) {
                    store_pair(mine + (place.at(k) - surface),
                               {__double_as_longlong(w[l]), a.first + it});
                    *place.at(k) = w[l];
                }
            });
        }
        own.put(gamma, delta);
        __syncthreads();
        exchange<n, threads, 1>(a, it, link, surface, own, all, gamma, delta);
        by.next(a, it, gamma, delta);
    }
    each_layer([&](int l, int k) {
        a.x[first + k * n2] = x[l];
        a.r[first + k * n2] = r[l];
    });
}

/* --- the solve --- */

static const char *const groups_values[] = {"auto", "1", "3", nullptr};
static const rt_parameter_t parameters[] = {
    {"groups",
     "groups of threads an element: 1, with vectors in shared memory; 3, one for each direction, "
     "with vectors in registers (n <= 11, an element a multiprocessor)",
     groups_values, 0}};

typedef struct {
    resident_t resident;
    bool apart;
} data_t;

/* How many elements fit on this GPU, with three groups or with one. */
template <int n> static int capacity(bool three)
{
    int blocks = 0;
    if constexpr (n <= APART_MAX_N)
        if (three)
            blocks = nek_fit(apart<n>, apart_threads<n>, resident_bytes<n>(apart_doubles<n>));
    if (!three)
        blocks = nek_fit(together<n>, together_threads<n>, resident_bytes<n>(together_doubles<n>));
    return blocks * rt_device_gpu()->multiprocessors;
}

static int capacity_of(int n, bool three)
{
    int elements = 0;
    nek_fixed_n<NEK_FIXED_N>(n, [&](auto N) { elements = capacity<N()>(three); });
    return elements;
}

template <int n> static void launch(const nek_solver_t *s, data_t *d)
{
    nek_halves<n> D = nek_halve<n>(s->mesh.D_host);
    const auto elements = static_cast<unsigned>(s->mesh.elements);
    void *arguments[] = {&D, &d->resident};
    if constexpr (n <= APART_MAX_N) {
        if (d->apart) {
            RT_CUDA(cudaLaunchCooperativeKernel(apart<n>, dim3(elements), dim3(apart_threads<n>),
                                                arguments, resident_bytes<n>(apart_doubles<n>),
                                                rt_stream()));
            return;
        }
    }
    RT_CUDA(cudaLaunchCooperativeKernel(together<n>, dim3(elements), dim3(together_threads<n>),
                                        arguments, resident_bytes<n>(together_doubles<n>),
                                        rt_stream()));
}

static void cg(nek_solver_t *s)
{
    data_t *d = static_cast<data_t *>(s->data);
    resident_t &a = d->resident;
    rt_timer_start("cg", s->rung->kind);
    a.lambda = s->lambda;
    a.iterations = a.scalars.iterations = s->iterations;
    RT_CUDA(cudaMemsetAsync(a.sums, 0xff, 2 * sizeof(pair_t) * a.elements, rt_stream()));
    nek_fixed_n<NEK_FIXED_N>(s->mesh.n, [&](auto n) { launch<n()>(s, d); });
    a.first += s->iterations + 1;
    rt_timer_stop("cg");
    RT_CUDA(cudaStreamSynchronize(rt_stream()));
    nek_scalars_tell(&a.scalars, s);
}

static size_t surface_points(int n)
{
    const int m = n - 2;
    return static_cast<size_t>(n * n * n - m * m * m);
}

static void set_up(nek_solver_t *s)
{
    const nek_config_t *config = s->problem->config;
    const size_t elements = static_cast<size_t>(config->local_elements);
    const size_t surfaces = 2 * elements * surface_points(config->n);
    data_t *d = new data_t();
    s->data = d;
    resident_t &a = d->resident;
    std::vector<nek_outside_t> outside(elements);
    for (size_t e = 0; e < elements; e++) {
        int64_t at[3];
        outside[e] = nek_place_element(config, static_cast<int64_t>(e), at);
    }
    a.G = s->mesh.G;
    a.b = s->b;
    a.x = s->x;
    a.r = s->r;
    a.outside = static_cast<nek_outside_t *>(rt_clone(outside.data(), elements, 1, RT_DEVICE));
    a.surface = RT_NEW(pair_t, surfaces, RT_DEVICE);
    rt_fill(a.surface, RT_DEVICE, 0, surfaces * sizeof(pair_t)); /* mark 0 is of no iteration */
    a.sums = RT_NEW(pair_t, 2 * elements, RT_DEVICE);
    a.elements = static_cast<int>(elements);
    a.stride[0] = 1;
    a.stride[1] = static_cast<int>(config->local[0]);
    a.stride[2] = static_cast<int>(config->local[0] * config->local[1]);
    a.alone = !config->communication;
    a.half = config->communication ? 0.5 : 1.0;
    a.first = 1;
    a.scalars = nek_scalars_new(s->iterations, 0);
    const int groups = s->choice ? s->choice[0] : 0;
    d->apart = groups == 2 || (groups == 0 && a.elements <= capacity_of(config->n, true));
}

static void tear_down(nek_solver_t *s)
{
    data_t *d = static_cast<data_t *>(s->data);
    RT_FREE(d->resident.outside, RT_DEVICE);
    RT_FREE(d->resident.surface, RT_DEVICE);
    RT_FREE(d->resident.sums, RT_DEVICE);
    nek_scalars_destroy(&d->resident.scalars);
    delete d;
}

/* --- what it takes --- */

static void needed_memory(const nek_config_t *config, double bytes[RT_SPACES])
{
    const double elements = static_cast<double>(config->local_elements);
    const double surface = static_cast<double>(surface_points(config->n));
    bytes[RT_DEVICE] += elements * (2 * (surface + 1) * sizeof(pair_t) + sizeof(nek_outside_t));
    nek_scalars_memory(config, 0, bytes);
}

static const char *refuse_for(const nek_config_t *config, bool three)
{
    static char reason[160];
    if (!rt_device_gpu() || config->n > NEK_FIXED_N)
        return nullptr; /* there are other reasons */
    const int fit = capacity_of(config->n, three);
    if (config->local_elements <= fit)
        return nullptr;
    snprintf(reason, sizeof reason,
             "the vectors of %d elements of degree %d fit on this GPU, and these are %lld: use "
             "onepass",
             fit, config->n - 1, static_cast<long long>(config->local_elements));
    return reason;
}

static const char *refuse(const nek_config_t *config)
{
    if (rt_comm_size() > 1)
        return "blocks exchange their surfaces within one GPU: one rank only; use onepass";
    const char *reason = refuse_for(config, false);
    return reason && refuse_for(config, true) ? refuse_for(config, false) : nullptr;
}

static const char *refuse_choice(const nek_config_t *config, const int *choice)
{
    return choice[0] == 0 ? nullptr : refuse_for(config, choice[0] == 2);
}

/* On chip the vectors cost nothing; the factors are read from L2 or stay in registers. Between
 * elements: the surfaces, with their marks, written and read. */
static void work(const nek_config_t *config, double P, double S, rt_work_t *work)
{
    const double value = sizeof(double), n = config->n;
    /* operator 6 (n + n/2) + 15; vectors 8, shift and mask 2, sums 3 + 2 */
    rt_work_add(work, "cg", 1, (9 * n + 30) * P + S, 6 * value * P + 2 * value * S, 2 * value * S);
}

static constexpr nek_kernels_t table()
{
    nek_kernels_t t = nek_operator_rung(nek_packed_ax, 0, NEK_FIXED_N, NEK_LINE_MAX_N_REASON);
    t.cg = cg;
    t.set_up = set_up;
    t.tear_down = tear_down;
    t.memory = needed_memory;
    t.refuse = refuse;
    t.work = work;
    t.parameters = parameters;
    t.n_parameters = 1;
    t.refuse_choice = refuse_choice;
    return t;
}

extern "C" const nek_kernels_t nek_resident = table();
