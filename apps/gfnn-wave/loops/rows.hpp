/*
 * rows.hpp - rows of the box, for the CPU and Kokkos.
 *
 * On a CPU an index is a row of the box, and the row is a vector loop; on a GPU 32 indices share a
 * row, so that neighbours read neighbours. Threads of a CPU share the rows (j, k) of the box: a
 * thread takes its rows of all three components, as the operators do, so it finds its layers in its
 * own memory. Each row has its own partial sum, and these are added pairwise: the result has the
 * same bits for any number of threads.
 */
#ifndef GFNN_ROWS_HPP
#define GFNN_ROWS_HPP

#include <type_traits>
#include "base/numbers.h"
#include "loops.hpp"

/* The values of a row do not depend on each other, except for the sum that is named. */
#define GFNN_PRAGMA(p) _Pragma(#p)
#if defined(KOKKOS_ENABLE_CUDA) || defined(KOKKOS_ENABLE_HIP) || defined(KOKKOS_ENABLE_SYCL) || \
    defined(KOKKOS_ENABLE_OPENMPTARGET)
#define GFNN_SIMD(...)
enum { GFNN_SHARE = 32 }; /* indices of a row */
#else
enum { GFNN_SHARE = 1 };
#if defined(_OPENMP)
#define GFNN_SIMD(...) GFNN_PRAGMA(omp simd __VA_ARGS__)
#elif defined(__GNUC__) && !defined(__clang__)
#define GFNN_SIMD(...) GFNN_PRAGMA(GCC ivdep)
#else
#define GFNN_SIMD(...)
#endif
#endif

/* Unnamed: what a row is differs from file to file (GFNN_SHARE). */
namespace
{

/* What set_up makes. */
struct gfnn_rows_data_t {
    rt_space_t space;
    float *inverse; /* [GFNN_BLOCK][bare.plane]: inverses of the diagonal blocks */
    double *sums;   /* on a CPU: [2][3 rows] */
};

static inline const gfnn_rows_data_t *gfnn_rows_data(const gfnn_view_t *view)
{
    return static_cast<const gfnn_rows_data_t *>(view->data);
}

struct gfnn_rows_t {
    gfnn_lines_t fine, wide, bare;
    int n[3];

    explicit gfnn_rows_t(const gfnn_box_t *box) : fine(box->fine), wide(box->wide), bare(box->bare)
    {
        for (int d = 0; d < 3; d++)
            n[d] = static_cast<int>(box->n[d]);
    }
    int64_t indices() const
    {
        return static_cast<int64_t>(n[1]) * n[2] * GFNN_SHARE;
    }
};

/* The work of an index: i = first, first + SHARE, ... of row (j, k). */
struct gfnn_row_t {
    int first, j, k;

    GFNN_METHOD gfnn_row_t(const gfnn_rows_t &rows, int64_t index)
        : first(static_cast<int>(index % GFNN_SHARE)),
          j(static_cast<int>(index / GFNN_SHARE) % rows.n[1]),
          k(static_cast<int>(index / GFNN_SHARE) / rows.n[1])
    {
    }
};

/* Fills the ghosts of a box alone: rows that have own nodes, then those that are all ghosts. */
template <class T> struct gfnn_wrap_t {
    gfnn_lines_t lines;
    int n[3], width;
    T *x;

    gfnn_wrap_t(const gfnn_grid_t &g, int width_, void *x_)
        : lines(g), width(width_), x(static_cast<T *>(x_))
    {
        for (int d = 0; d < 3; d++)
            n[d] = static_cast<int>(g.n[d]);
    }
    int64_t own() const
    {
        return static_cast<int64_t>(n[1]) * n[2] * GFNN_SHARE;
    }
    int64_t all() const
    {
        return static_cast<int64_t>(n[1] + 2 * width) * (n[2] + 2 * width) * GFNN_SHARE;
    }
    GFNN_METHOD void row(int first, int j, int k) const
    {
        const int last = n[0], deep = width;
        for (int c = 0; c < 3; c++) {
            T *to = x + c * lines.plane + lines.at(0, j, k);
            const T *from =
                x + c * lines.plane + lines.at(0, gfnn_wrapped(j, n[1]), gfnn_wrapped(k, n[2]));
            if (to != from) {
                GFNN_SIMD()
                for (int i = first; i < last; i += GFNN_SHARE)
                    to[i] = from[i];
            }
            for (int i = first; i < deep; i += GFNN_SHARE) {
                to[-1 - i] = from[last - 1 - i];
                to[last + i] = from[i];
            }
        }
    }
    GFNN_METHOD void operator()(int64_t index) const
    {
        const int first = static_cast<int>(index % GFNN_SHARE), both = 2 * width;
        const int number = static_cast<int>(index / GFNN_SHARE), ghost = number - n[1] * n[2];
        const int beside = ghost - both * n[2];
        if (ghost < 0)
            row(first, number % n[1], number / n[1]);
        else if (beside < 0)
            row(first, gfnn_beyond(ghost % both, width, n[1]), ghost / both);
        else
            row(first, beside % (n[1] + both) - width,
                gfnn_beyond(beside / (n[1] + both), width, n[2]));
    }
};

/* wrap of gfnn_vectors_t over a back end L. On a CPU a thread takes the ghosts of its own rows, and
 * as many of the other rows as each other thread. */
template <class L> struct gfnn_ghosts_of {
    template <class T> static void fill(const gfnn_wrap_t<T> &body)
    {
        const int64_t own = body.own();
        if constexpr (L::on_host) {
            L::each(own, body);
            L::each(body.all() - own, [=](int64_t index) { body(own + index); });
        } else {
            L::each(body.all(), body);
        }
    }
    static void wrap(const gfnn_view_t *view, int width, rt_type_t type, void *x)
    {
        if (type == RT_F64)
            fill(gfnn_wrap_t<double>(view->box->fine, width, x));
        else if (type == RT_F32)
            fill(gfnn_wrap_t<float>(view->box->wide, width, x));
        else
            fill(gfnn_wrap_t<uint16_t>(view->box->wide, width, x));
    }
};

/* The scalars of conjugate gradients as loops read them, where they are in host memory; cg NULL:
 * none. The preconditioner gets nothing. */
template <class T> struct gfnn_host_scalars_t {
    T alpha = 0, beta = 0, due = 0, scale = 1, back = 1;
    double unit = 1, per_unit = 1;
    bool is_due = false;

    explicit gfnn_host_scalars_t(const gfnn_cg_t *cg)
    {
        if (!cg)
            return;
        alpha = static_cast<T>(cg->alpha);
        beta = static_cast<T>(cg->beta);
        due = static_cast<T>(cg->due);
        scale = static_cast<T>(cg->scale);
        back = static_cast<T>(1 / cg->scale);
        unit = cg->unit;
        per_unit = 1 / cg->unit;
        is_due = cg->due != 0;
    }
    template <int V> GFNN_METHOD void lower(int64_t, int, const gfnn_pack_t<float, V> &) const
    {
    }
    template <class Loop> void lower_row(const Loop &, int, int64_t, int64_t) const
    {
    }
};

/* It gets floats, or 16 bits: on a CPU by a loop of its own over a row of r that is still in the cache,
 * as one with sums in FP64 would not be vectors of 16 bits. */
template <class T, class Low> struct gfnn_low_scalars_t : gfnn_host_scalars_t<T> {
    Low *low;

    gfnn_low_scalars_t(const gfnn_cg_t *cg, void *low_)
        : gfnn_host_scalars_t<T>(cg), low(static_cast<Low *>(low_))
    {
    }
    GFNN_METHOD void put(int64_t wide, float value) const
    {
        if constexpr (sizeof(Low) == 2)
            low[wide] = gfnn_to_half(value);
        else
            low[wide] = value;
    }
    GFNN_METHOD void lower(int64_t wide, int, const gfnn_pack_t<float, 1> &value) const
    {
        if (GFNN_SHARE > 1)
            put(wide, value.at[0]);
    }
    template <class Loop> void lower_row(const Loop &loop, int n, int64_t fine, int64_t wide) const
    {
        using R = std::remove_pointer_t<decltype(loop.r)>;
        const R *r = loop.r + gfnn_offset<R>(fine, wide), factor = static_cast<R>(this->scale);
        const gfnn_low_scalars_t own = *this;
        GFNN_SIMD()
        for (int i = 0; i < n; i++)
            own.put(wide + i, static_cast<float>(factor * r[i]));
    }
};

/* Finds the largest |f|; not used in every iteration. */
struct gfnn_largest_t {
    gfnn_rows_t rows;
    const double *f;

    GFNN_METHOD void operator()(int64_t index, double &most) const
    {
        const gfnn_row_t row(rows, index);
        const int n = rows.n[0];
        double here = most;
        for (int c = 0; c < 3; c++) {
            const double *of_row = f + c * rows.fine.plane + rows.fine.at(0, row.j, row.k);
            GFNN_SIMD(reduction(max : here))
            for (int i = row.first; i < n; i += GFNN_SHARE) {
                const double size = of_row[i] < 0 ? -of_row[i] : of_row[i];
                here = size > here ? size : here;
            }
        }
        most = here;
    }
};

/* What table.hpp asks of a back end, over an L that has run_with(view, scalars, loop, its sums) and
 * largest(view, body). */
template <class L> struct gfnn_runs_of {
    template <class Loop> static double sum(const gfnn_view_t *view, const Loop &loop)
    {
        double sums[2] = {0, 0};
        L::run_with(view, gfnn_host_scalars_t<typename Loop::real>(nullptr), loop, sums);
        return sums[0];
    }
    template <class Loop> static void run(const gfnn_view_t *view, const Loop &loop)
    {
        sum(view, loop);
    }
    template <class Cg, class Loop, class C>
    static void run_scaled(const gfnn_view_t *view, Cg *cg, const Loop &loop, const C &c)
    {
        double sums[2] = {0, 0};
        if ((Loop::stops && gfnn_cg_has_ended(&cg->status)) || (Loop::only_due && cg->due == 0))
            return;
        L::run_with(view, c, loop, sums);
        if constexpr (Loop::sums > 0) {
            cg->sums[0] = sums[0];
            cg->sums[1] = sums[1];
        }
    }
    template <class Cg, class Loop>
    static void run_cg(const gfnn_view_t *view, Cg *cg, const Loop &loop)
    {
        run_scaled(view, cg, loop, gfnn_host_scalars_t<typename Loop::real>(cg));
    }
    template <class Loop>
    static void run_low(const gfnn_view_t *view, gfnn_cg_t *cg, const Loop &loop, int precision,
                        void *low)
    {
        using T = typename Loop::real;
        if (!low)
            run_cg(view, cg, loop);
        else if (precision == GFNN_FP16)
            run_scaled(view, cg, loop, gfnn_low_scalars_t<T, uint16_t>(cg, low));
        else
            run_scaled(view, cg, loop, gfnn_low_scalars_t<T, float>(cg, low));
    }
    static void start(const gfnn_view_t *view, gfnn_cg_t *cg, const gfnn_method_t *method,
                      const double *f)
    {
        cg->method = *method;
        cg->sums[0] = sum(view, gfnn_dot_t<double>{{}, f, f});
        cg->sums[1] = L::largest(view, gfnn_largest_t{gfnn_rows_t(view->box), f});
    }
};

/* Takes what one value adds to the sums. */
struct gfnn_term_t {
    double one = 0, two = 0;

    GFNN_METHOD void add(bool, double one_, double two_)
    {
        one = one_;
        two = two_;
    }
};

/* Makes a loop at one place. A function of its own: what is local to a vector loop, and has an address,
 * would keep it from being one. */
template <class Loop, class C>
GFNN_FN gfnn_term_t gfnn_at_place(const Loop &loop, const C &c, int64_t fine, int64_t wide)
{
    gfnn_term_t term;
    auto v = loop.template get<1>(c, fine, wide);
    loop.template put<1>(c, fine, wide, 1, v, term);
    return term;
}

/* Makes a loop along a row of a component; leaves its sums. */
template <class Loop, class C>
GFNN_FN void gfnn_row_loop(const Loop &loop, const C &c, int n, int64_t fine, int64_t wide,
                           double sums[2])
{
    const Loop here = loop; /* a compiler must assume that the loop changes what is in memory */
    const C scalars = c;
    double one = 0, two = 0;
    if constexpr (Loop::sums == 0) {
        GFNN_SIMD()
        for (int i = 0; i < n; i++)
            gfnn_at_place(here, scalars, fine + i, wide + i);
    } else if constexpr (Loop::sums == 1) { /* a sum of nothing costs a short row its time */
        GFNN_SIMD(reduction(+ : one))
        for (int i = 0; i < n; i++)
            one += gfnn_at_place(here, scalars, fine + i, wide + i).one;
    } else {
        GFNN_SIMD(reduction(+ : one, two))
        for (int i = 0; i < n; i++) {
            const gfnn_term_t term = gfnn_at_place(here, scalars, fine + i, wide + i);
            one += term.one;
            two += term.two;
        }
    }
    sums[0] = one;
    sums[1] = two;
}

/* Runs loops on a CPU. For::each(n, f) calls f(0) .. f(n - 1), by threads. */
template <class For> struct gfnn_host_loops_t : For {
    template <class Loop, class C>
    static void run_with(const gfnn_view_t *view, const C &c, const Loop &loop, double result[2])
    {
        const gfnn_rows_t rows(view->box);
        const int64_t n = 3 * rows.indices();
        double *sums = gfnn_rows_data(view)->sums;
        For::each(n, [=](int64_t line) {
            const gfnn_row_t row(rows, line / 3);
            const int64_t fine = line % 3 * rows.fine.plane + rows.fine.at(0, row.j, row.k);
            const int64_t wide = line % 3 * rows.wide.plane + rows.wide.at(0, row.j, row.k);
            double sum[2];
            gfnn_row_loop(loop, c, rows.n[0], fine, wide, sum);
            c.lower_row(loop, rows.n[0], fine, wide);
            if (Loop::sums > 0)
                sums[line] = sum[0];
            if (Loop::sums > 1)
                sums[n + line] = sum[1];
        });
        result[0] = Loop::sums > 0 ? rt_sum_pairwise(sums, n) : 0;
        result[1] = Loop::sums > 1 ? rt_sum_pairwise(sums + n, n) : 0;
    }
    static double largest(const gfnn_view_t *view, const gfnn_largest_t &body)
    {
        const int64_t n = body.rows.indices();
        double *of_row = gfnn_rows_data(view)->sums, most = 0;
        For::each(n, [=](int64_t row) {
            double here = 0;
            body(row, here);
            of_row[row] = here;
        });
        for (int64_t row = 0; row < n; row++)
            most = of_row[row] > most ? of_row[row] : most;
        return most;
    }
    /* body(index): of blocks.hpp, over the rows of nodes */
    template <class Body> static void nodes(const gfnn_view_t *view, const Body &body)
    {
        For::each(gfnn_rows_t(view->box).indices(), body);
    }
    template <class Body>
    static void node_sums(const gfnn_view_t *view, const Body &body, double result[2])
    {
        const int64_t n = gfnn_rows_t(view->box).indices();
        double *sums = gfnn_rows_data(view)->sums;
        For::each(n, [=](int64_t row) {
            double one = 0, two = 0;
            body(row, one, two);
            sums[row] = one;
            sums[n + row] = two;
        });
        result[0] = rt_sum_pairwise(sums, n);
        result[1] = rt_sum_pairwise(sums + n, n);
    }
};

} // namespace

#endif
