/*
 * onepass.cuh - CG with one pass over the vectors per iteration, for `onepass` and `trilinear`.
 *
 * Kronbichler, Sashko, Munch, "Enhancing data locality of the conjugate gradient method for
 * high-order matrix-free finite-element implementations", arXiv 2205.08909, Algorithm 5. The last
 * column is bytes per point.
 *
 *     element   r -= alpha v,  p = r + beta p,  v = D^T G D p + lambda p on the element, and the
 *               local terms of r.r, p.v, r.v and v.v       read r p v, 6 factors; write r p v    96
 *               every second time x += alpha p + alpha' p', p' = (p - r) / beta of the iteration
 *               before                                     read and write x, half                 8
 *     gather    v = Q Q^T v, |v|^2 of the shared points; alpha, beta                              7
 *
 * All sums are of the same pass, so beta cannot be made from r.r of the new r. It is formed from |r
 * - alpha v|^2 = r.r - 2 alpha r.v + alpha^2 v.v, and the next pass computes r.r again, from r
 * itself, so that no error is carried on. p.v and r.v need no assembly: the sum over elements of
 * p_e.v_e is the global product. v.v does: points inside an element count in the first kernel,
 * shared points in the second.
 *
 * p' can be computed from p and r only as long as beta has digits left. Where beta is small (a
 * problem solved in a few iterations), x is updated at once.
 */
#ifndef NEK_ONEPASS_CUH
#define NEK_ONEPASS_CUH

#include "nek_exchange.cuh"

/* Below this beta, (p - r) / beta has lost more than a few digits. */
#define NEK_LEAST_BETA 1e-3

template <class From> struct onepass_t {
    From factors; /* from which they are read or computed */
    const double *b;
    double *x, *r, *p, *v;
    const nek_outside_t *outside;
    int elements, per_block;
    double lambda, half; /* half: weight of the points of a shared face */
    bool alone;          /* no gather-scatter: all points count as inside */
    nek_scalars_t scalars;
};

struct form_alpha_beta {
    enum { count = 4, norm = true };
    /* sum: r.r, p.v, r.v, v.v */
    static __device__ void form(const nek_scalars_t &s, int it, const double (&sum)[4])
    {
        const double rr = sum[0], alpha = sum[1] > 0 ? rr / sum[1] : 0;
        const double next = rr - 2 * alpha * sum[2] + alpha * alpha * sum[3];
        nek_put(s, NEK_RR, it, rr);
        nek_put(s, NEK_ALPHA, it, alpha);
        nek_put(s, NEK_BETA, it + 1, rr > 0 && next > 0 ? next / rr : 0);
    }
};

struct form_last {
    enum { count = 1 };
    static __device__ void form(const nek_scalars_t &s, int it, const double (&sum)[1])
    {
        nek_put(s, NEK_RR, it, sum[0]);
    }
};

/* What pass `it` does with x: x += at_p * p + at_old * (p - r), with p and r of the pass before. */
struct onepass_x {
    bool add, fresh; /* fresh: x is still 0, and its array has not been written */
    double at_p, at_old;

    __device__ __forceinline__ onepass_x(const nek_scalars_t &s, int it, bool last)
    {
        at_p = it > 0 ? nek_get(s, NEK_ALPHA, it - 1) : 0;
        at_old = 0;
        add = it > 0 && (it % 2 == 0 || last || nek_get(s, NEK_BETA, it) < NEK_LEAST_BETA);
        fresh = it == 1;
        if (it < 2 || it % 2 == 1)
            return;
        const double beta = nek_get(s, NEK_BETA, it - 1);
        const bool had = beta < NEK_LEAST_BETA; /* the pass before has already added its p */
        fresh = it == 2 && !had;
        if (!had)
            at_old = nek_get(s, NEK_ALPHA, it - 2) / beta;
    }
};

/* Does r wait in registers? From this n on a block has a multiprocessor for itself, and its threads
 * have some registers to spare, unless the factors want them. */
enum { ONEPASS_N_IN_REGISTERS = 14 };
template <int n, bool spares_registers>
constexpr bool onepass_in_registers = spares_registers ? n >= ONEPASS_N_IN_REGISTERS : false;

/* Returns the registers that a thread needs: p, r, v and x being loaded, and the rest. */
constexpr int onepass_registers(int n)
{
    return 8 * n + 48;
}

/* Returns the bytes of shared memory per block: the operator's, and r of its elements, with idle
 * lanes. */
template <int n, class Factors> constexpr size_t onepass_bytes(int per_block)
{
    const int kept = onepass_in_registers<n, Factors::spares_registers>
                         ? 0
                         : n * nek_whole_warps(per_block * n * n);
    return nek_line_bytes<n>(per_block, Factors::shared, 0) + sizeof(double) * kept;
}

/* Returns the blocks that a multiprocessor shall hold: as many as registers and shared memory
 * allow. */
template <int n, class Factors> constexpr int onepass_blocks()
{
    const int by_registers =
        nek_blocks_of(nek_shape<n>::threads, onepass_registers(n) + Factors::registers);
    const int by_shared = static_cast<int>(
        NEK_MOST_SHARED / (onepass_bytes<n, Factors>(nek_elements_a_block(n)) + NEK_SYSTEM_SHARED));
    return by_registers < by_shared ? by_registers : by_shared > 0 ? by_shared : 1;
}

/* A thread's column in the arrays of all points. */
template <int n> struct onepass_column {
    const nek_column<n> v;
    const size_t own; /* of its first point, in the others */
    double *const x, *const r, *const p;

    template <class From>
    __device__ __forceinline__ onepass_column(const onepass_t<From> &a, const nek_place<n> &at,
                                              const nek_column<n> &of_v)
        : v(of_v), own(static_cast<size_t>(at.e) * nek_shape<n>::n3 + at.t), x(a.x + own),
          r(a.r + own), p(a.p + own)
    {
    }
};

/* Makes the pass over a block's elements. kept: where r waits in shared memory for its product with
 * v, if not in registers. look_ahead() is called after the loads, for kernels that process several
 * elements in turn. */
template <int n, class Factors, class Look>
__device__ __forceinline__ void
onepass_pass(const nek_halves<n> &D, const onepass_t<typename Factors::from_t> &a,
             const nek_place<n> &at, const onepass_column<n> &column, Factors &factors, int it,
             const onepass_x &to_x, double beta, double *kept, double (&sum)[4], Look look_ahead)
{
    constexpr bool once = Factors::once;
    constexpr bool in_registers = onepass_in_registers<n, Factors::spares_registers>;
    constexpr int n2 = n * n;
    const nek_column<n> &v = column.v;
    double *const x = column.x, *const r = column.r, *const p = column.p;
    const double alpha = to_x.at_p;
    double u[n], w[n], r_k[n];
    if (at.active) {
        double v_k[n], x_k[n];
        const double *const from = it > 0 ? r : a.b + column.own;
#pragma unroll
        for (int k = 0; k < n; k++) { /* all loads before any store */
            r_k[k] = nek_load<once>(from + k * n2);
            v_k[k] = it > 0 ? *v.at(k) : 0;
            u[k] = it > 0 ? nek_load<once>(p + k * n2) : 0;
        }
        if (to_x.add) {
#pragma unroll
            for (int k = 0; k < n; k++)
                x_k[k] = to_x.fresh ? 0 : nek_load<once>(x + k * n2);
#pragma unroll
            for (int k = 0; k < n; k++)
                nek_store<once>(x + k * n2,
                                x_k[k] + to_x.at_p * u[k] + to_x.at_old * (u[k] - r_k[k]));
        }
#pragma unroll
        for (int k = 0; k < n; k++) {
            r_k[k] -= alpha * v_k[k];
            u[k] = r_k[k] + beta * u[k];
            nek_store<once>(r + k * n2, r_k[k]);
            nek_store<once>(p + k * n2, u[k]);
            if (!in_registers)
                kept[k * blockDim.x] = r_k[k];
            sum[0] += v.c(k) * r_k[k] * r_k[k];
        }
    }
    look_ahead();
    nek_line_operator(D, at, factors, u, w);
    if (at.active) {
#pragma unroll
        for (int k = 0; k < n; k++) {
            const double value = v.is_masked(k) ? 0 : w[k] + a.lambda * v.c(k) * u[k];
            sum[1] += u[k] * value;
            sum[2] += (in_registers ? r_k[k] : kept[k * blockDim.x]) * value;
            if (a.alone || v.is_inside(k))
                sum[3] += value * value;
            *v.at(k) = value;
        }
    }
}

template <int n, class Factors>
__global__ void __launch_bounds__(nek_shape<n>::threads, onepass_blocks<n, Factors>())
    onepass_element(const __grid_constant__ nek_halves<n> D,
                    const __grid_constant__ onepass_t<typename Factors::from_t> a,
                    const nek_part_t part, int it)
{
    extern __shared__ __align__(128) double memory[];
    double *const lines = memory + a.per_block * Factors::shared;
    nek_place<n> at(part, a.per_block, lines);
    Factors factors(a.factors, at, a.elements, a.per_block, memory);
    /* The column is located while the kernel before still runs. */
    nek_column<n> v(a.v, a.elements, at.e, at.i, at.j, a.outside[at.e], a.half);
    const onepass_column<n> column(a, at, v);
    double *const kept =
        lines + a.per_block * (nek_shape<n>::rows + nek_shape<n>::planes) + threadIdx.x;
    double sum[4] = {0, 0, 0, 0};

    rt_wait_for_previous();
    const onepass_x to_x(a.scalars, it, false);
    const double beta = nek_get(a.scalars, NEK_BETA, it);
    if constexpr (Factors::takes_turns) {
        for (int turn = 1;; turn++) {
            int next;
            nek_outside_t outside;
            onepass_pass(D, a, at, onepass_column<n>(a, at, v), factors, it, to_x, beta, kept, sum,
                         [&] {
                             next = factors.next = nek_element_of_turn(part, turn);
                             outside = next < 0 ? 0 : a.outside[next];
                         });
            if (next < 0)
                break;
            at.e = next;
            factors.go_on();
            v = nek_column<n>(a.v, a.elements, next, at.i, at.j, outside, a.half);
        }
    } else {
        onepass_pass(D, a, at, column, factors, it, to_x, beta, kept, sum, [] {});
    }
    rt_let_next_start();
    nek_leave_sums(a.scalars, part.first_block, sum);
}

/* After the last iteration: what is still missing in x, r -= alpha v, r.r. */
template <int n, class From>
__global__ void __launch_bounds__(nek_shape<n>::threads)
    onepass_finish(const __grid_constant__ onepass_t<From> a, int it)
{
    constexpr int n2 = n * n, n3 = n2 * n;
    const int own = threadIdx.x / n2, t = threadIdx.x - own * n2;
    double sum[1] = {0};
    rt_wait_for_previous();
    const onepass_x to_x(a.scalars, it, true);
    for (int e = blockIdx.x * a.per_block + own; own < a.per_block && e < a.elements;
         e += gridDim.x * a.per_block) {
        const nek_column<n> v(a.v, a.elements, e, t % n, t / n, a.outside[e], a.half);
        const size_t at = static_cast<size_t>(e) * n3 + t;
#pragma unroll
        for (int k = 0; k < n; k++) {
            double &r = a.r[at + k * n2], &x = a.x[at + k * n2];
            const double p = a.p[at + k * n2];
            x = (to_x.fresh ? 0 : x) + to_x.at_p * p + to_x.at_old * (p - r);
            r -= to_x.at_p * *v.at(k);
            sum[0] += v.c(k) * r * r;
        }
    }
    nek_finish_sums<form_last>(a.scalars, it, sum);
}

/* --- the solve --- */

template <class From> struct onepass_data {
    onepass_t<From> pass;
    nek_exchange_t exchange;
    nek_launch_t launch;
    nek_replay_t replay;
    unsigned finish_blocks;
};

/* Returns the doubles per element that r takes in shared memory, with idle lanes; 0 if it is in
 * registers. */
template <bool spares_registers> constexpr int onepass_extra(int n)
{
    const bool in_registers = n >= ONEPASS_N_IN_REGISTERS && spares_registers;
    return in_registers ? 0 : nek_whole_warps(nek_elements_a_block(n) * n * n) * n;
}

template <int n, class Factors>
void onepass_iterations(const nek_solver_t *s, const onepass_data<typename Factors::from_t> *d,
                        int first, int last)
{
    using from_t = typename Factors::from_t;
    const nek_halves<n> D = nek_halve<n>(s->view.D_host);
    const size_t shared = onepass_bytes<n, Factors>(d->pass.per_block);
    for (int it = first; it < last; it++) {
        nek_elements(d->exchange, d->pass.v, [&](bool chained, const nek_part_t &part) {
            rt_launch(chained, onepass_element<n, Factors>, part.blocks, d->launch.threads, shared,
                      D, d->pass, part, it);
        });
        nek_gather<n, form_alpha_beta>(d->exchange, d->pass.scalars, d->pass.v, it);
    }
    if (last == s->iterations) {
        rt_launch_chained(onepass_finish<n, from_t>, d->finish_blocks, d->launch.threads, 0,
                          d->pass, last);
        nek_add_ranks<form_last>(d->pass.scalars, last);
    }
}

/* Sets up all but the factors and the launch, which are set up already. */
template <int n, class From> void onepass_set_up(nek_solver_t *s, onepass_data<From> *d)
{
    const nek_config_t *config = s->problem->config;
    const int fit = nek_fit(onepass_finish<n, From>, static_cast<int>(d->launch.threads), 0);
    d->finish_blocks = nek_adding_blocks(fit * rt_device_gpu()->multiprocessors, d->launch.blocks);
    d->exchange = nek_exchange_new<n>(s, d->launch);
    onepass_t<From> &a = d->pass;
    a.b = s->b;
    a.x = s->x;
    a.r = s->r;
    a.p = s->p;
    a.v = s->w;
    a.outside = d->exchange.outside;
    a.elements = static_cast<int>(s->view.elements);
    a.per_block = d->launch.per_block;
    a.half = config->communication ? 0.5 : 1.0;
    a.alone = !config->communication;
    a.scalars = nek_scalars_new(s->iterations, static_cast<int>(d->exchange.element_blocks),
                                d->exchange.on_stream);
}

template <class From> void onepass_tear_down(onepass_data<From> *d)
{
    nek_replay_drop(&d->replay);
    nek_scalars_destroy(&d->pass.scalars);
    nek_exchange_destroy(&d->exchange);
    delete d;
}

/* read: bytes read per point for the factors; flops: to compute them from those */
static inline void onepass_work(const nek_config_t *config, double P, double S, double read,
                                double flops, rt_work_t *work)
{
    const double value = sizeof(double), n = config->n;
    /* flops: operator 6 (n + n/2) + 15; r and p 4, x 5 every second time, shift and mask 2, sums 3
     * + 2 + 2 + 2 */
    rt_work_add(work, "element", 1, (9 * n + 32.5 + flops) * P, (3.5 * value + read) * P,
                3.5 * value * P);
    if (config->communication)
        rt_work_add(work, "gather", 1, 2 * S, value * S, value * S);
}

#endif
