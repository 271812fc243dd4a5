/*
 * nek_line_cg.cuh - what `fused`, `onepass` and `trilinear` share: a solve of passes over the elements
 * by the operator by lines, each followed by the gather-scatter, with the scalars on the GPU.
 *
 * A rung gives a Pass<n, Factors>, which is what it does with the vectors of an element before and
 * after the operator:
 *
 *     factors_t, T       Factors, and what they and the vectors are in
 *     count              how many inner products it forms
 *     bytes(per_block)   shared memory of a block
 *     blocks()           blocks that a multiprocessor shall hold
 *     Pass(a, it, spare) reads the scalars of iteration `it`; spare: the thread's first value of the
 *                        shared memory behind the operator's
 *     pass(...)          makes the pass over one element per group of threads of a block. It calls
 *                        look_ahead() after its loads, for blocks that take several elements.
 */
#ifndef NEK_LINE_CG_CUH
#define NEK_LINE_CG_CUH

#include "nek_exchange.cuh"

/* What vectors and the operator are in: FP32 if the factors are. */
template <class From>
using nek_value = std::conditional_t<std::is_same_v<From, const float *>, float, double>;

/* What the kernels see. */
template <class From> struct nek_vectors_t {
    using value_t = nek_value<From>;
    From factors; /* from which they are read or computed */
    const value_t *b;
    value_t *x, *r, *p, *v;
    double *x_end, *r_end; /* of the solve: x and r in FP64 */
    const nek_outside_t *outside;
    int elements, per_block;
    value_t lambda, half; /* half: weight of the points of a shared face */
    bool alone;           /* no gather-scatter: all points count as inside */
    nek_scalars_t scalars;
};

/* A thread's column in the arrays of all points. */
template <int n, class T = double> struct nek_columns {
    const nek_column<n, T> v;
    const size_t own; /* of its first point, in the others */
    T *const x, *const r, *const p;

    template <class From>
    __device__ __forceinline__ nek_columns(const nek_vectors_t<From> &a, const nek_place<n, T> &at,
                                           const nek_column<n, T> &of_v)
        : v(of_v), own(static_cast<size_t>(at.e) * nek_shape<n>::n3 + at.t), x(a.x + own),
          r(a.r + own), p(a.p + own)
    {
    }
};

template <int n, class Pass>
__global__ void __launch_bounds__(nek_shape<n>::threads, Pass::blocks())
    nek_pass_kernel(const __grid_constant__ nek_halves<n, typename Pass::T> D,
                    const __grid_constant__ nek_vectors_t<typename Pass::factors_t::from_t> a,
                    int it)
{
    using factors_t = typename Pass::factors_t;
    using T = typename Pass::T;
    extern __shared__ __align__(128) unsigned char all_memory[];
    T *const memory = reinterpret_cast<T *>(all_memory);
    T *const lines = memory + a.per_block * factors_t::shared;
    const int per_block = factors_t::takes_turns ? 1 : a.per_block;
    /* Backwards in every other pass: it begins with what the one before has left in L2. */
    const bool back = sizeof(T) == sizeof(float) && it % 2 > 0;
    nek_place<n, T> at(static_cast<int>(back ? gridDim.x - 1 - blockIdx.x : blockIdx.x) * per_block,
                       a.elements, per_block, lines);
    factors_t factors(a.factors, at, a.elements, a.per_block, memory);
    /* The column is located while the kernel before still runs. */
    nek_column<n, T> v(a.v, a.elements, at.e, at.i, at.j, a.outside[at.e], a.half);
    const nek_columns<n, T> column(a, at, v);
    T *const spare =
        lines + a.per_block * (nek_shape<n, T>::rows + nek_shape<n, T>::planes) + threadIdx.x;
    double sum[Pass::count] = {};

    rt_wait_for_previous();
    const Pass of(a, it, spare);
    if constexpr (factors_t::takes_turns) {
        for (;;) {
            const int next = at.e + static_cast<int>(gridDim.x);
            nek_outside_t outside;
            of.pass(D, a, at, nek_columns<n, T>(a, at, v), factors, sum, [&] {
                factors.next = next;
                outside = next < a.elements ? a.outside[next] : 0;
            });
            if (next >= a.elements)
                break;
            at.e = next;
            factors.begin_turn(at);
            v = nek_column<n, T>(a.v, a.elements, next, at.i, at.j, outside, a.half);
        }
    } else {
        of.pass(D, a, at, column, factors, sum, [] {});
    }
    rt_let_next_start();
    nek_leave_sums(a.scalars, sum);
}

/* --- the solve --- */

/* What such a rung keeps in nek_solver_t.data. */
template <class From> struct nek_line_data {
    nek_vectors_t<From> vectors;
    nek_exchange_t exchange;
    nek_launch_t launch;
    rt_replay_t replay;
    unsigned adding_blocks; /* of the rung's kernel that ends in nek_finish_sums */
};

template <class From> nek_line_data<From> *nek_line_data_of(const nek_solver_t *s)
{
    return static_cast<nek_line_data<From> *>(s->data);
}

/* Makes the pass over all elements, and the gather-scatter; Scalars: what follows from the sums. */
template <int n, class Pass, class Scalars, class From>
void nek_pass(const nek_solver_t *s, const nek_line_data<From> *d, int it)
{
    const nek_vectors_t<From> &a = d->vectors;
    const auto D = nek_halve<n, typename Pass::T>(s->view.D_host);
    rt_launch_chained(nek_pass_kernel<n, Pass>, d->launch.blocks, d->launch.threads,
                      Pass::bytes(a.per_block), D, a, it);
    nek_gather<n, Scalars>(d->exchange, a.scalars, a.v, it);
}

/* Solves; iterations(n, d, first, last) enqueues those iterations. */
template <class From, class Iterations> void nek_line_solve(nek_solver_t *s, Iterations iterations)
{
    nek_line_data<From> *d = nek_line_data_of<From>(s);
    d->vectors.lambda = static_cast<nek_value<From>>(s->lambda);
    auto enqueue = [=](int first, int last) {
        nek_fixed_n<NEK_FIXED_N>(s->view.n, [&](auto n) { iterations(n, d, first, last); });
    };
    nek_run_solve(&d->replay, &d->vectors.scalars, s, enqueue);
}

/* Sets up all but the factors and the launch, which are set up already. adding: the rung's kernel
 * that ends in nek_finish_sums. */
template <int n, class From, class Kernel>
void nek_line_set_up(nek_solver_t *s, nek_line_data<From> *d, Kernel *adding)
{
    const nek_config_t *config = s->problem->config;
    const int fit = nek_fit(adding, static_cast<int>(d->launch.threads), 0);
    d->adding_blocks =
        nek_adding_blocks(fit * rt_device_gpu()->multiprocessors,
                          rt_blocks(static_cast<size_t>(s->view.elements), d->launch.per_block));
    d->exchange = nek_exchange_new<n>(s);
    nek_vectors_t<From> &a = d->vectors;
    using T = nek_value<From>;
    const int64_t second = s->view.points; /* FP32: two in the place of one, and b is left in r */
    constexpr bool single = sizeof(T) == sizeof(float);
    auto as = [](double *array) { return reinterpret_cast<T *>(array); };
    a.x_end = s->x;
    a.r_end = s->r;
    a.p = as(s->p);
    a.v = as(s->w);
    a.x = single ? a.p + second : as(s->x);
    a.r = single ? a.v + second : as(s->r);
    a.b = single ? a.r : as(s->b);
    a.outside = d->exchange.outside;
    a.elements = static_cast<int>(s->view.elements);
    a.per_block = d->launch.per_block;
    a.half = config->communication ? 0.5f : 1;
    a.alone = !config->communication;
    a.scalars = nek_scalars_new(s->iterations, static_cast<int>(d->launch.blocks),
                                d->exchange.halo && rt_halo_on_stream(d->exchange.halo));
}

template <class From> void nek_line_tear_down(nek_solver_t *s)
{
    nek_line_data<From> *d = nek_line_data_of<From>(s);
    rt_replay_drop(&d->replay);
    nek_scalars_destroy(&d->vectors.scalars);
    nek_exchange_destroy(&d->exchange);
    delete d;
}

/* --- for rungs that read the factors, as the parameter says --- */

template <template <int, class> class Pass, class Adding>
void nek_line_set_up_reading(nek_solver_t *s, Adding adding)
{
    auto *d = new nek_line_data<const double *>();
    s->data = d;
    d->vectors.factors = s->view.G;
    nek_fixed_n<NEK_FIXED_N>(s->view.n, [&](auto N) {
        constexpr int n = N();
        d->launch = nek_make_launch(
            &s->view, true, nek_automatic_source<n>(Pass<n, nek_factors<n, NEK_BULK>>::bytes(1)));
        nek_with_source(d->launch.source, [&](auto source) {
            using factors_t = nek_factors<n, source()>;
            using pass_t = Pass<n, factors_t>;
            const unsigned resident = nek_resident_blocks(d->launch, nek_pass_kernel<n, pass_t>,
                                                          pass_t::bytes(d->launch.per_block));
            if (factors_t::takes_turns)
                d->launch.blocks = resident;
        });
        nek_line_set_up<n>(s, d, adding(N));
    });
}

#endif
