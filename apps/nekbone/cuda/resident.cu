/*
 * resident.cu - a whole solve in one kernel, for meshes whose vectors fit on the chip.
 *
 * Idea: below some hundred elements an iteration of `onepass` is two kernels that start, fetch what
 * the kernel before has just written, and end. Here a block keeps its element for the whole solve:
 * r, p, s, x never leave the multiprocessor, and blocks exchange only surfaces and two sums.
 * Chronopoulos and Gear's CG needs both at the same point of the iteration:
 *
 *     p = r + beta p,  s = w + beta s,  x += alpha p,  r -= alpha s     (s is A p)
 *     w = A r;  gamma = r.r,  delta = r.w                               one exchange
 *     beta = gamma / gamma',  alpha = gamma / (delta - beta gamma / alpha')
 *
 * There is no barrier between blocks and no flag: a value travels with the number of its epoch in
 * the same 16 bytes, and a thread that needs it reads until the number is right. Copies of a shared
 * point are added in an order in which all its elements get the same bits.
 *
 * There are two kernels. `apart` is for meshes in which every element has a multiprocessor to
 * itself: three groups of threads, one for each direction, with vectors and factors in registers.
 * `together` has one group per element and several elements per multiprocessor, with the vectors in
 * shared memory; the factors are there too if they fit, else they come from L2.
 *
 * Advantage: an iteration takes microseconds.
 *
 * Price: one rank, small meshes; all blocks must be on the GPU at once (a cooperative launch); s
 * follows w by recurrence, so r may drift from b - A x sooner.
 */
#include "config.h"
#include "nek_exchange.cuh"
#include "resident_apart.cuh"

/* --- one group of threads per element, several elements per multiprocessor --- */

/* Where w of column (i, j) is kept, as positions in the surface of its element. Points inside,
 * which no other element needs, are in the operator's memory before it, at negative positions. */
template <int n> struct offsets {
    int first, rest, last, step; /* points k = 0; 1, 2, ...; n - 1 */
    bool ring;                   /* all points of the column are on the surface */

    /* inside, inside_step: position of point k = 0, and the step to the next point, of a column
     * that is not on a side */
    __device__ __forceinline__ offsets(int i, int j, int inside, int inside_step)
    {
        using split = nek_split<n>;
        const bool I = i == 0 || i == n - 1, J = j == 0 || j == n - 1;
        ring = I || J;
        first = split::at(i, j, 0);
        last = split::at(i, j, n - 1);
        rest = ring ? split::at(i, j, 1) : inside + inside_step;
        step = !ring ? inside_step : I && J ? 1 : split::m;
    }
    __device__ __forceinline__ int at(int k) const
    {
        return k == 0 ? first : k == n - 1 ? last : rest + (k - 1) * step;
    }
};

template <int n> constexpr int together_threads = nek_whole_warps(nek_shape<n>::n2);
template <int n, nek_source source> constexpr size_t together_bytes()
{
    using shape = nek_shape<n>;
    return resident_bytes<n>(nek_factors<n, source>::shared + shape::rows + shape::planes +
                             nek_split<n>::surface + 4 * shape::n3);
}
/* Returns the blocks per multiprocessor: as many as shared memory holds, but with no fewer than
 * LEAST_REGISTERS registers per thread. */
constexpr int together_blocks(int threads, size_t bytes)
{
    constexpr int STATIC_SHARED = 256, LEAST_REGISTERS = 128;
    const int by_shared =
        static_cast<int>(NEK_SHARED / (bytes + NEK_SYSTEM_SHARED + STATIC_SHARED));
    const int by_registers = NEK_REGISTERS / (threads * LEAST_REGISTERS);
    const int blocks = by_shared < by_registers ? by_shared : by_registers;
    return blocks > 0 ? blocks : 1;
}

template <int n, nek_source source>
__global__ void __launch_bounds__(together_threads<n>,
                                  together_blocks(together_threads<n>, together_bytes<n, source>()))
    together(const __grid_constant__ nek_halves<n> D, const __grid_constant__ resident_t a)
{
    using shape = nek_shape<n>;
    using split = nek_split<n>;
    using factors_t = nek_factors<n, source>;
    constexpr int n2 = n * n, n3 = n2 * n, threads = together_threads<n>;
    constexpr int adding = adding_warps<threads>;
    extern __shared__ __align__(128) double memory[];
    __shared__ block_sums<threads / 32> own;
    __shared__ block_sums<adding> all;
    const nek_place<n> at(a.elements, 1, memory + factors_t::shared);
    factors_t factors(a.G, at, a.elements, 1, memory);
    double *const surface = memory + factors_t::shared + shape::rows + shape::planes;
    double *const vectors = surface + split::surface;
    double *const r = vectors + at.t, *const p = r + n3, *const s = p + n3, *const x = s + n3;
    unsigned *const link = reinterpret_cast<unsigned *>(vectors + 4 * n3);
    nek_column<n> weight(surface, 1, 0, at.i, at.j, a.outside[at.e], a.half);
    offsets<n> offset(at.i, at.j, static_cast<int>(at.planes - surface) + at.t, shape::plane);
    const size_t first = static_cast<size_t>(at.e) * n3 + at.t;
    coefficients by;
    double u[n], w[n];

    links<n>::fill(a, a.outside[at.e], link);
    if (at.active) {
#pragma unroll
        for (int k = 0; k < n; k++) {
            r[k * n2] = a.b[first + k * n2];
            p[k * n2] = s[k * n2] = x[k * n2] = 0;
        }
    }
    for (int it = 0; it <= a.iterations; it++) {
        double gamma = 0, delta = 0;
        hide(offset.step);
        hide(weight.weight);
        if (at.active) {
            if (it > 0) {
#pragma unroll
                for (int k = 0; k < n; k++) {
                    const double r_k = r[k * n2], p_k = r_k + by.beta * p[k * n2];
                    const double s_k = surface[offset.at(k)] + by.beta * s[k * n2];
                    p[k * n2] = p_k;
                    s[k * n2] = s_k;
                    x[k * n2] += by.alpha * p_k;
                    r[k * n2] = r_k - by.alpha * s_k;
                }
            }
#pragma unroll
            for (int k = 0; k < n; k++) {
                u[k] = r[k * n2];
                gamma += weight.c(k) * u[k] * u[k];
            }
        }
        if (it < a.iterations) {
            nek_line_operator(D, at, factors, u, w);
            hide(offset.step);
            hide(weight.weight);
            const long long epoch = a.first + it;
            const unsigned mine =
                (static_cast<unsigned>(epoch & 1) * a.elements + at.e) * split::surface;
            if (at.active) {
                /* r is read from shared memory, so u need not be kept through the operator */
#pragma unroll
                for (int k = 0; k < n; k++) {
                    const double r_k = r[k * n2];
                    w[k] = weight.is_masked(k) ? 0 : w[k] + a.lambda * weight.c(k) * r_k;
                    delta += r_k * w[k];
                    surface[offset.at(k)] = w[k];
                    if (k == 0 || k == n - 1 || offset.ring)
                        store_pair(a.surface + (mine + offset.at(k)),
                                   {__double_as_longlong(w[k]), epoch});
                }
            }
        }
        own.put(gamma, delta);
        __syncthreads(); /* `own` and `surface` are complete */
        exchange<n, threads, 4>(a, it, link, surface, own, all, by);
    }
    if (at.active) {
#pragma unroll
        for (int k = 0; k < n; k++) {
            a.x[first + k * n2] = x[k * n2];
            a.r[first + k * n2] = r[k * n2];
        }
    }
    coefficients::publish(a);
}

/* --- the solve --- */

static const char *const groups_values[] = {"auto", "1", "3", nullptr};
static const rt_parameter_t parameters[] = {
    {"groups",
     "groups of threads per element: 1, with vectors in shared memory; 3, one for each direction, "
     "with vectors in registers (n <= 11, one element per multiprocessor)",
     groups_values, 0}};

enum form { FULL, TOGETHER, APART }; /* FULL: together, with the factors in shared memory too */

typedef struct {
    resident_t resident;
    form how;
} data_t;

/* Calls f(kernel, threads, bytes) for that form, if there is one for n. */
template <int n, class F> static void with_form(form how, F f)
{
    constexpr size_t full = together_bytes<n, NEK_BULK>();
    if (how == TOGETHER)
        f(together<n, NEK_CACHED>, together_threads<n>, together_bytes<n, NEK_CACHED>());
    if constexpr (full <= NEK_BLOCK_SHARED)
        if (how == FULL)
            f(together<n, NEK_BULK>, together_threads<n>, full);
    if constexpr (n <= APART_MAX_N)
        if (how == APART)
            f(apart<n>, apart_threads<n>, apart_bytes<n>);
}

/* Returns how many elements fit on this GPU. */
static int capacity(int n, form how)
{
    int blocks = 0;
    nek_fixed_n<NEK_FIXED_N>(n, [&](auto N) {
        with_form<N()>(how, [&](auto kernel, int threads, size_t bytes) {
            blocks = nek_fit(kernel, threads, bytes);
        });
    });
    return blocks * rt_device_gpu()->multiprocessors;
}

template <int n> static void launch(const nek_solver_t *s, data_t *d)
{
    nek_halves<n> D = nek_halve<n>(s->view.D_host);
    const auto elements = static_cast<unsigned>(s->view.elements);
    void *arguments[] = {&D, &d->resident};
    with_form<n>(d->how, [&](auto kernel, int threads, size_t bytes) {
        RT_CUDA(cudaLaunchCooperativeKernel(kernel, dim3(elements),
                                            dim3(static_cast<unsigned>(threads)), arguments, bytes,
                                            rt_stream()));
    });
}

static void cg(nek_solver_t *s)
{
    data_t *d = static_cast<data_t *>(s->data);
    resident_t &a = d->resident;
    rt_timer_start("cg", s->rung->kind);
    a.lambda = s->lambda;
    a.iterations = a.scalars.iterations = s->iterations;
    nek_fixed_n<NEK_FIXED_N>(s->view.n, [&](auto n) { launch<n()>(s, d); });
    a.first += s->iterations + 1;
    rt_timer_stop("cg");
    RT_CUDA(cudaStreamSynchronize(rt_stream()));
    nek_scalars_get(&a.scalars, s);
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
    a.G = s->view.G;
    a.b = s->b;
    a.x = s->x;
    a.r = s->r;
    a.outside = nek_list_outside(config);
    a.surface = RT_NEW(pair_t, surfaces, RT_DEVICE);
    rt_fill(a.surface, RT_DEVICE, 0, surfaces * sizeof(pair_t)); /* epoch 0 belongs to no
                                                                  * iteration */
    a.sums = RT_NEW(pair_t, 2 * elements, RT_DEVICE);
    rt_fill(a.sums, RT_DEVICE, 0xff, 2 * elements * sizeof(pair_t));
    a.elements = static_cast<int>(elements);
    a.stride[0] = 1;
    a.stride[1] = static_cast<int>(config->local[0]);
    a.stride[2] = static_cast<int>(config->local[0] * config->local[1]);
    a.alone = !config->communication;
    a.half = config->communication ? 0.5 : 1.0;
    a.first = 1;
    a.scalars = nek_scalars_new(s->iterations, 0, false);
    const int groups = s->view.choice ? s->view.choice[0] : 0;
    auto fits = [&](form how) { return a.elements <= capacity(config->n, how); };
    d->how = groups == 2 || (groups == 0 && fits(APART)) ? APART : fits(FULL) ? FULL : TOGETHER;
    nek_fixed_n<NEK_FIXED_N>(config->n, [&](auto n) {
        with_form<n()>(d->how,
                       [](auto kernel, int, size_t bytes) { nek_allow_shared(kernel, bytes); });
    });
}

static void tear_down(nek_solver_t *s)
{
    data_t *d = static_cast<data_t *>(s->data);
    RT_FREE_ALL(RT_DEVICE, d->resident.outside, d->resident.surface, d->resident.sums);
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

/* Returns NULL, or why the problem does not fit on chip in this form. */
static const char *refuse_for(const nek_config_t *config, form how, rt_text_t *why)
{
    if (!rt_device_gpu() || config->n > NEK_FIXED_N)
        return nullptr; /* the driver gives other reasons */
    const int fit = capacity(config->n, how);
    if (config->local_elements <= fit)
        return nullptr;
    return rt_text(why,
                   "the vectors of %d elements of degree %d fit on this GPU, and these are %lld; "
                   "use onepass",
                   fit, config->n - 1, static_cast<long long>(config->local_elements));
}

static const char *refuse(const rt_kernels_t *self, const void *options, rt_text_t *why)
{
    const char *reason = nek_refuse(self, options, why);
    const nek_config_t *config = static_cast<const nek_config_t *>(options);
    if (reason)
        return reason;
    if (rt_comm_size() > 1)
        return "blocks exchange their surfaces within one GPU: one rank only; use onepass";
    return refuse_for(config, APART, why) ? refuse_for(config, TOGETHER, why) : nullptr;
}

static const char *refuse_choice(const void *options, const int *choice)
{
    const nek_config_t *config = static_cast<const nek_config_t *>(options);
    if (choice[0] == 2 && config->n > APART_MAX_N)
        return "three groups keep vectors and factors in registers, and more than 11 points per "
               "direction do not fit";
    rt_text_t why;
    if (choice[0] == 0 || !refuse_for(config, choice[0] == 2 ? APART : TOGETHER, &why))
        return nullptr;
    return "the vectors of these elements do not fit on this GPU in that form";
}

extern "C" const nek_kernels_t nek_resident = {
    .rung = {.precision = "FP64",
             .reproducible = true,
             .parameters = parameters,
             .n_parameters = 1,
             .refuse = refuse,
             .refuse_choice = refuse_choice},
    .ax = nek_packed_ax_auto,
    .vector = &nek_vector_cuda,
    .max_n = NEK_FIXED_N,
    .max_n_reason = NEK_LINE_MAX_N_REASON,
    .cg = cg,
    .set_up = set_up,
    .tear_down = tear_down,
    .memory = needed_memory,
};
