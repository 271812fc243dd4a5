/*
 * onepass.cuh - CG with one pass over the vectors per iteration, for `onepass`, `mixed` and
 * `trilinear`.
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
 * shared points in the second. Sums are FP64, whatever the vectors are in.
 *
 * p' can be computed from p and r only as long as beta has digits left. Where beta is small (a
 * problem solved in a few iterations), x is updated at once.
 */
#ifndef NEK_ONEPASS_CUH
#define NEK_ONEPASS_CUH

#include "nek_line_cg.cuh"

/* Below this beta, (p - r) / beta has lost more than a few digits of FP64, or one of FP32. */
template <class T> constexpr double onepass_least_beta = sizeof(T) == sizeof(double) ? 1e-3 : 0.1;

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
template <class T> struct onepass_x {
    bool add, fresh; /* fresh: x is still 0, and its array has not been written */
    T at_p, at_old;

    __device__ __forceinline__ onepass_x(const nek_scalars_t &s, int it, bool last)
    {
        at_p = it > 0 ? static_cast<T>(nek_get(s, NEK_ALPHA, it - 1)) : 0;
        at_old = 0;
        add = it > 0 && (it % 2 == 0 || last || nek_get(s, NEK_BETA, it) < onepass_least_beta<T>);
        fresh = it == 1;
        if (it < 2 || it % 2 == 1)
            return;
        const double beta = nek_get(s, NEK_BETA, it - 1);
        const bool had = beta < onepass_least_beta<T>; /* the pass before has already added its p */
        fresh = it == 2 && !had;
        if (!had)
            at_old = static_cast<T>(nek_get(s, NEK_ALPHA, it - 2) / beta);
    }
};

/* Does r wait in registers? From this n on a block has a multiprocessor for itself, and its threads
 * have some registers to spare, unless the factors want them. */
enum { ONEPASS_N_IN_REGISTERS = 14 };
constexpr bool onepass_in_registers(int n, bool spares_registers)
{
    return spares_registers && n >= ONEPASS_N_IN_REGISTERS;
}

/* Returns the registers that a thread needs: p, r, v and x being loaded, and the rest. */
template <class T> constexpr int onepass_registers(int n)
{
    return sizeof(T) == sizeof(float) ? 4 * n + 44 : 8 * n + 48;
}

template <int n, class Factors> struct onepass_pass {
    using factors_t = Factors;
    using vectors_t = nek_vectors_t<typename Factors::from_t>;
    using T = typename vectors_t::value_t;
    static constexpr int count = 4;
    static constexpr bool in_registers = onepass_in_registers(n, Factors::spares_registers);
    const int it;
    const onepass_x<T> to_x;
    const T beta;
    /* where r waits in shared memory for its product with v, if not in registers */
    T *const kept;

    /* The operator's, and r of the block's elements, with idle lanes. */
    static constexpr size_t bytes(int per_block)
    {
        const int of_r = in_registers ? 0 : n * nek_whole_warps(per_block * n * n);
        return nek_line_bytes<n, T>(per_block, Factors::shared, 0) + sizeof(T) * of_r;
    }
    /* As many as registers and shared memory allow. */
    static constexpr int blocks()
    {
        const int by_registers =
            nek_blocks_of(nek_shape<n>::threads, onepass_registers<T>(n) + Factors::registers);
        const int by_shared = static_cast<int>(
            NEK_MOST_SHARED / (bytes(nek_elements_a_block(n)) + NEK_SYSTEM_SHARED));
        return by_registers < by_shared ? by_registers : by_shared > 0 ? by_shared : 1;
    }
    __device__ __forceinline__ onepass_pass(const vectors_t &a, int of_it, T *spare)
        : it(of_it), to_x(a.scalars, it, false),
          beta(static_cast<T>(nek_get(a.scalars, NEK_BETA, it))), kept(spare)
    {
    }
    template <class Look>
    __device__ __forceinline__ void pass(const nek_halves<n, T> &D, const vectors_t &a,
                                         const nek_place<n, T> &at, const nek_columns<n, T> &column,
                                         Factors &factors, double (&sum)[4], Look look_ahead) const
    {
        constexpr bool once = Factors::once && sizeof(T) == sizeof(double); /* FP32's stay in L2 */
        constexpr int n2 = n * n;
        const nek_column<n, T> &v = column.v;
        T *const x = column.x, *const r = column.r, *const p = column.p;
        const T alpha = to_x.at_p;
        T u[n], w[n], r_k[n];
        if (at.active) {
            T v_k[n], x_k[n];
            const T *const from = it > 0 ? r : a.b + column.own;
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
                sum[0] += static_cast<double>(v.c(k)) * r_k[k] * r_k[k];
            }
        }
        look_ahead();
        nek_line_operator<n, !Factors::takes_turns>(D, at, factors, u, w);
        if (at.active) {
#pragma unroll
            for (int k = 0; k < n; k++) {
                const T value = v.is_masked(k) ? 0 : w[k] + a.lambda * v.c(k) * u[k];
                const double in_64 = value;
                sum[1] += u[k] * in_64;
                sum[2] += (in_registers ? r_k[k] : kept[k * blockDim.x]) * in_64;
                if (a.alone || v.is_inside(k))
                    sum[3] += in_64 * in_64;
                *v.at(k) = value;
            }
        }
    }
};

/* After the last iteration: what is still missing in x, r -= alpha v, r.r. */
template <int n, class From>
__global__ void __launch_bounds__(nek_shape<n>::threads)
    onepass_finish(const __grid_constant__ nek_vectors_t<From> a, int it)
{
    constexpr int n2 = n * n, n3 = n2 * n;
    const int own = threadIdx.x / n2, t = threadIdx.x - own * n2;
    double sum[1] = {0};
    rt_wait_for_previous();
    const onepass_x<nek_value<From>> to_x(a.scalars, it, true);
    for (int e = blockIdx.x * a.per_block + own; own < a.per_block && e < a.elements;
         e += gridDim.x * a.per_block) {
        const nek_column<n, nek_value<From>> v(a.v, a.elements, e, t % n, t / n, a.outside[e],
                                               a.half);
        const size_t at = static_cast<size_t>(e) * n3 + t;
#pragma unroll
        for (int k = 0; k < n; k++) {
            const size_t q = at + k * n2;
            const double r = a.r[q], p = a.p[q], end = r - to_x.at_p * *v.at(k);
            a.x_end[q] = (to_x.fresh ? 0 : a.x[q]) + to_x.at_p * p + to_x.at_old * (p - r);
            a.r_end[q] = end;
            sum[0] += v.c(k) * end * end;
        }
    }
    nek_finish_sums<form_last>(a.scalars, it, sum);
}

/* --- the solve --- */

/* Returns the doubles per element that r takes in shared memory, with idle lanes; 0 if it is in
 * registers. */
template <bool spares_registers> constexpr int onepass_extra(int n)
{
    const bool in_registers = onepass_in_registers(n, spares_registers);
    return in_registers ? 0 : nek_whole_warps(nek_elements_a_block(n) * n * n) * n;
}

template <int n, class Factors>
void onepass_iterations(const nek_solver_t *s, const nek_line_data<typename Factors::from_t> *d,
                        int first, int last)
{
    for (int it = first; it < last; it++)
        nek_pass<n, onepass_pass<n, Factors>, form_alpha_beta>(s, d, it);
    if (last == s->iterations) {
        rt_launch_chained(onepass_finish<n, typename Factors::from_t>, d->adding_blocks,
                          d->launch.threads, 0, d->vectors, last);
        nek_add_ranks<form_last>(d->vectors.scalars, last);
    }
}

#endif
