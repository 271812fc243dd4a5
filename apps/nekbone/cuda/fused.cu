/*
 * fused.cu - CG in three kernels per iteration, without waiting on the host.
 *
 * Idea: kernels that touch the same arrays become one kernel, and every inner product is formed
 * where its terms are. The last column is bytes per point.
 *
 *     element   x += alpha p (of the iteration before),  p = r + beta p,  v = D^T G D p + lambda p
 *               on the element,  p.v                      read x p r, 6 factors; write x p v   96
 *     gather    v = Q Q^T v; alpha                                                              7
 *     update    r -= alpha v;  r.r, beta                  read r v; write r                    24
 *
 * p.v needs no assembly: the sum over elements of p_e.v_e is the global product. alpha and beta
 * stay on the GPU, a thread knows the mask and the weights of shared points from its position, and
 * the whole solve is one CUDA graph (nek_scalars.cuh).
 *
 * Advantage: 127 bytes per point instead of 185 (n = 10, 4096 elements), and no time between
 * kernels.
 *
 * Price: r and v make another round trip for beta alone, and on several ranks there are two sums
 * over ranks instead of one.
 */
#include "config.h"
#include "nek_line_cg.cuh"

/* Returns the registers that a thread needs: p, r, x and a line being loaded, and the rest. */
static constexpr int registers(int n)
{
    return 8 * n + 48;
}

using fused_t = nek_vectors_t<const double *>;
using data_t = nek_line_data<const double *>;

struct form_alpha {
    enum { count = 1, norm = false };
    static __device__ void form(const nek_scalars_t &s, int it, const double (&sum)[1])
    {
        const double rr = nek_get(s, NEK_RR, it);
        nek_put(s, NEK_ALPHA, it, sum[0] > 0 ? rr / sum[0] : 0);
    }
};

struct form_beta {
    enum { count = 1 };
    static __device__ void form(const nek_scalars_t &s, int it, const double (&sum)[1])
    {
        const double before = it < 0 ? 0 : nek_get(s, NEK_RR, it);
        nek_put(s, NEK_RR, it + 1, sum[0]);
        nek_put(s, NEK_BETA, it + 1, before > 0 ? sum[0] / before : 0);
    }
};

template <int n, class Factors> struct fused_pass {
    using factors_t = Factors;
    using T = double;
    static constexpr int count = 1;
    const int it;
    const double alpha, beta;

    static constexpr size_t bytes(int per_block)
    {
        return nek_line_bytes<n>(per_block, Factors::shared, 0);
    }
    static constexpr int blocks()
    {
        return Factors::takes_turns ? 1 : nek_blocks_of(nek_shape<n>::threads, registers(n));
    }
    __device__ __forceinline__ fused_pass(const fused_t &a, int of_it, const double *)
        : it(of_it), alpha(it > 0 ? nek_get(a.scalars, NEK_ALPHA, it - 1) : 0),
          beta(nek_get(a.scalars, NEK_BETA, it))
    {
    }
    template <class Look>
    __device__ __forceinline__ void pass(const nek_halves<n> &D, const fused_t &a,
                                         const nek_place<n> &at, const nek_columns<n> &column,
                                         Factors &factors, double (&sum)[1], Look look_ahead) const
    {
        constexpr bool once = Factors::once;
        constexpr int n2 = n * n;
        const nek_column<n> &v = column.v;
        double *const x = column.x, *const r = column.r, *const p = column.p;
        double u[n], w[n];
        {
            double r_k[n], x_k[n];
#pragma unroll
            for (int k = 0; k < n; k++) { /* all loads before any store */
                r_k[k] = nek_load<once>(r + k * n2);
                u[k] = it > 0 ? nek_load<once>(p + k * n2) : 0;
                x_k[k] = it > 1 ? nek_load<once>(x + k * n2) : 0;
            }
#pragma unroll
            for (int k = 0; k < n; k++) {
                x_k[k] += alpha * u[k];
                u[k] = r_k[k] + beta * u[k];
                if (at.active) {
                    nek_store<once>(x + k * n2, x_k[k]);
                    nek_store<once>(p + k * n2, u[k]);
                }
            }
        }
        look_ahead();
        nek_line_operator<n, !Factors::takes_turns>(D, at, factors, u, w);
        if (at.active) {
#pragma unroll
            for (int k = 0; k < n; k++) {
                const double value = v.is_masked(k) ? 0 : w[k] + a.lambda * v.c(k) * u[k];
                sum[0] += u[k] * value;
                *v.at(k) = value;
            }
        }
    }
};

/* r -= alpha v, r.r; it = -1: r = b. Each block takes several elements, so that
 * few sums are left. */
template <int n>
__global__ void __launch_bounds__(nek_shape<n>::threads)
    update(const __grid_constant__ fused_t a, int it)
{
    constexpr int n2 = n * n, n3 = n2 * n;
    const int own = threadIdx.x / n2, t = threadIdx.x - own * n2;
    double sum[1] = {0};
    rt_wait_for_previous();
    const double alpha = it < 0 ? 0 : nek_get(a.scalars, NEK_ALPHA, it);
    for (int e = blockIdx.x * a.per_block + own; own < a.per_block && e < a.elements;
         e += gridDim.x * a.per_block) {
        const nek_column<n> v(a.v, a.elements, e, t % n, t / n, a.outside[e], a.half);
        double *const r = a.r + static_cast<size_t>(e) * n3 + t;
        const double *const from = it < 0 ? a.b + (r - a.r) : r;
        double r_k[n], v_k[n];
#pragma unroll
        for (int k = 0; k < n; k++) {
            r_k[k] = from[k * n2];
            v_k[k] = it < 0 ? 0 : *v.at(k);
        }
#pragma unroll
        for (int k = 0; k < n; k++) {
            r_k[k] -= alpha * v_k[k];
            r[k * n2] = r_k[k];
            sum[0] += v.c(k) * r_k[k] * r_k[k];
        }
    }
    rt_let_next_start();
    nek_finish_sums<form_beta>(a.scalars, it, sum);
}

enum { FINISH_THREADS = 256 };

/* x += alpha p of the last iteration. */
__global__ void finish(const fused_t a, int64_t points, int iterations)
{
    const int64_t q = blockIdx.x * static_cast<int64_t>(blockDim.x) + threadIdx.x;
    rt_wait_for_previous();
    if (q < points)
        a.x[q] =
            (iterations > 1 ? a.x[q] : 0) + nek_get(a.scalars, NEK_ALPHA, iterations - 1) * a.p[q];
}

/* --- the solve --- */

template <int n, class Factors>
static void iterations(const nek_solver_t *s, const data_t *d, int first, int last)
{
    const fused_t &a = d->vectors;
    auto update_r = [&](int it) {
        rt_launch_chained(update<n>, d->adding_blocks, d->launch.threads, 0, a, it);
        nek_add_ranks<form_beta>(a.scalars, it);
    };
    if (first == 0)
        update_r(-1);
    for (int it = first; it < last; it++) {
        nek_pass<n, fused_pass<n, Factors>, form_alpha>(s, d, it);
        update_r(it);
    }
    if (last == s->iterations)
        rt_launch_chained(finish, rt_blocks(static_cast<size_t>(s->view.points), FINISH_THREADS),
                          FINISH_THREADS, 0, a, s->view.points, last);
}

static void cg(nek_solver_t *s)
{
    nek_line_solve<const double *>(s, [=](auto n, const data_t *d, int first, int last) {
        nek_with_source(d->launch.source, [&](auto source) {
            iterations<n(), nek_factors<n(), source()>>(s, d, first, last);
        });
    });
}

static void set_up(nek_solver_t *s)
{
    nek_line_set_up_reading<fused_pass>(s, [](auto n) { return update<n()>; });
}

/* --- what it takes --- */

extern "C" const nek_kernels_t nek_fused = {
    .rung = NEK_LINE_RUNG(nek_no_extra),
    .ax = nek_packed_ax,
    .vector = &nek_vector_cuda,
    .max_n = NEK_FIXED_N,
    .max_n_reason = NEK_LINE_MAX_N_REASON,
    .cg = cg,
    .set_up = set_up,
    .tear_down = nek_line_tear_down<const double *>,
    .memory = nek_split_memory,
};
