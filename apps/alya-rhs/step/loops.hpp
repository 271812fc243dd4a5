/*
 * loops.hpp - the loops of a time step, each written once for the CPU, CUDA and Kokkos: what it does
 * at node n. step.h says what each computes.
 *
 * A back-end has a function template run(view, body): it calls body(n) for all nodes, and, where the
 * body has sums, returns what the calls return, added up.
 */
#ifndef ALYA_LOOPS_HPP
#define ALYA_LOOPS_HPP

#include "step.h"

struct alya_loop_t {
    static constexpr bool has_sums = false;
};
struct alya_summing_t {
    static constexpr bool has_sums = true;
};
#define ALYA_AT(n) ALYA_HOST_DEVICE alya_sums_t operator()(int64_t n) const

/* Calls body(entry, column) for each entry of row n. */
template <class Body>
ALYA_HOST_DEVICE inline void alya_each_entry(const alya_rows_t &rows, int64_t n, const Body &body)
{
    const int64_t s = n / ALYA_SLICE, end = rows.slice[s + 1];
    for (int64_t k = rows.slice[s] + n % ALYA_SLICE; k < end; k += ALYA_SLICE)
        body(k, static_cast<int64_t>(rows.column[k]));
}

/* --- velocity --- */

struct alya_advance_t : alya_loop_t {
    alya_flow_view_t v;
    bool save;
    double old, factor;

    ALYA_AT(n)
    {
        const double scale = factor * v.rows.per_volume[n];
        for (int i = 0; i < 3; i++) {
            double &u = v.u[n * v.u_stride + i], &begin = v.begin[3 * n + i];
            if (save)
                begin = u;
            if (!(v.rows.fixed[n] >> i & 1))
                u = (old != 0 ? old * begin : 0) +
                    (1 - old) * (u + scale * v.r[n * v.r_stride + i]);
        }
        return {0, 0};
    }
};

struct alya_divergence_t : alya_loop_t {
    alya_flow_view_t v;
    double factor;

    ALYA_AT(n)
    {
        const alya_rows_t &rows = v.rows;
        double sum = 0;
        alya_each_entry(rows, n, [&](int64_t k, int64_t at) {
            for (int i = 0; i < 3; i++)
                sum += rows.gradient[i * rows.entries + k] * v.u[at * v.u_stride + i];
        });
        v.b[n] = factor * sum;
        return {0, 0};
    }
};

struct alya_gradient_t : alya_loop_t {
    alya_flow_view_t v;

    ALYA_AT(n)
    {
        const alya_rows_t &rows = v.rows;
        double sum[3] = {0, 0, 0};
        alya_each_entry(rows, n, [&](int64_t k, int64_t at) {
            for (int i = 0; i < 3; i++)
                sum[i] += rows.gradient[i * rows.entries + k] * v.p[at];
        });
        for (int i = 0; i < 3; i++)
            v.r[n * v.r_stride + i] = sum[i];
        return {0, 0};
    }
};

/* --- pressure --- */

/* Returns what a node adds to b . b / L_aa and b . b. */
ALYA_HOST_DEVICE inline alya_sums_t alya_squares(const alya_rows_t &rows, int64_t n, double b)
{
    const double square = rows.own[n] ? b * b : 0;
    return {square * rows.per_diagonal[n], square};
}

struct alya_start_t : alya_summing_t {
    alya_flow_view_t v;

    ALYA_AT(n)
    {
        const double inverse = v.rows.per_diagonal[n];
        if (inverse == 0)
            v.b[n] = 0;
        v.p[n] = 0;
        v.d[n] = inverse * v.b[n];
        return alya_squares(v.rows, n, v.b[n]);
    }
};

struct alya_multiply_t : alya_summing_t {
    alya_flow_view_t v;

    ALYA_AT(n)
    {
        const alya_rows_t &rows = v.rows;
        double sum = 0;
        alya_each_entry(rows, n, [&](int64_t k, int64_t at) { sum += rows.laplace[k] * v.d[at]; });
        v.q[n] = rows.per_diagonal[n] == 0 ? 0 : sum;
        return {v.d[n] * v.q[n], 0};
    }
};

struct alya_finish_t : alya_summing_t {
    alya_flow_view_t v;
    double alpha;

    ALYA_AT(n)
    {
        v.p[n] += alpha * v.d[n];
        v.b[n] -= alpha * v.q[n];
        return alya_squares(v.rows, n, v.b[n]);
    }
};

struct alya_direction_t : alya_loop_t {
    alya_flow_view_t v;
    double beta;

    ALYA_AT(n)
    {
        v.d[n] = v.rows.per_diagonal[n] * v.b[n] + beta * v.d[n];
        return {0, 0};
    }
};

struct alya_to_rows_t : alya_loop_t {
    alya_flow_view_t v;
    const int32_t *row;
    double *x;

    ALYA_AT(n)
    {
        if (row[n] >= 0)
            x[row[n]] = v.rows.per_diagonal[n] == 0 ? 0 : v.b[n];
        return {0, 0};
    }
};

struct alya_from_rows_t : alya_loop_t {
    alya_flow_view_t v;
    const int32_t *row;
    const double *x;

    ALYA_AT(n)
    {
        v.p[n] = row[n] >= 0 ? x[row[n]] : 0;
        return {0, 0};
    }
};

#undef ALYA_AT

/* --- on a CPU: blocks of a fixed length, so that sums have the same bits for any number of threads --- */

static inline int64_t alya_blocks(const alya_flow_view_t &view)
{
    return (view.rows.nodes + ALYA_BLOCK - 1) / ALYA_BLOCK;
}

template <class Body>
inline void alya_run_block(const alya_flow_view_t &view, const Body &body, int64_t block)
{
    const int64_t first = block * ALYA_BLOCK, end = first + ALYA_BLOCK, nodes = view.rows.nodes;
    alya_sums_t sums = {0, 0};
    for (int64_t n = first; n < (end < nodes ? end : nodes); n++) {
        const alya_sums_t more = body(n);
        sums.a += more.a;
        sums.b += more.b;
    }
    view.partial[block] = sums.a;
    view.partial[alya_partial_sums(nodes) + block] = sums.b;
}

/* Adds what `parts` blocks left. */
static inline alya_sums_t alya_add_up(const alya_flow_view_t &view, int64_t parts)
{
    return {rt_sum_pairwise(view.partial, parts),
            rt_sum_pairwise(view.partial + alya_partial_sums(view.rows.nodes), parts)};
}

/* --- the table of a back-end --- */

template <class Back_end> struct alya_loops_of {
    static void advance(const alya_flow_view_t *view, bool save, double old, double factor)
    {
        Back_end::run(*view, alya_advance_t{{}, *view, save, old, factor});
    }
    static void divergence(const alya_flow_view_t *view, double factor)
    {
        Back_end::run(*view, alya_divergence_t{{}, *view, factor});
    }
    static void gradient(const alya_flow_view_t *view)
    {
        Back_end::run(*view, alya_gradient_t{{}, *view});
    }
    static alya_sums_t start(const alya_flow_view_t *view)
    {
        return Back_end::run(*view, alya_start_t{{}, *view});
    }
    static alya_sums_t finish_iteration(const alya_flow_view_t *view, double alpha)
    {
        return Back_end::run(*view, alya_finish_t{{}, *view, alpha});
    }
    static alya_sums_t multiply(const alya_flow_view_t *view)
    {
        return Back_end::run(*view, alya_multiply_t{{}, *view});
    }
    static void update_direction(const alya_flow_view_t *view, double beta)
    {
        Back_end::run(*view, alya_direction_t{{}, *view, beta});
    }
    static void to_rows(const alya_flow_view_t *view, const int32_t *row, double *x)
    {
        Back_end::run(*view, alya_to_rows_t{{}, *view, row, x});
    }
    static void from_rows(const alya_flow_view_t *view, const int32_t *row, const double *x)
    {
        Back_end::run(*view, alya_from_rows_t{{}, *view, row, x});
    }
    static constexpr alya_loops_t table()
    {
        alya_loops_t t = {};
        t.advance = advance;
        t.divergence = divergence;
        t.gradient = gradient;
        t.start = start;
        t.finish_iteration = finish_iteration;
        t.multiply = multiply;
        t.update_direction = update_direction;
        t.to_rows = to_rows;
        t.from_rows = from_rows;
        return t;
    }
};

#endif
