/*
 * vectors.cpp - the loops of loops/ in Kokkos.
 *
 * Each is one RangePolicy over rows and one pass through memory. What can share a pass does: r, r . r
 * and the 16-bit copy of r for the predictor are one pass; so are r, z of the diagonal blocks and
 * both sums; and x with the next p. On a CPU the rows are those of the CPU rungs, and so are the bits.
 */
#include "config.h"
#include <type_traits>
#include "gfnn_kokkos.hpp"
#include "../loops/blocks.hpp"
#include "../loops/table.hpp"

namespace
{

using namespace gfnn_kokkos;

/* --- on a GPU --- */

/* Several values are loaded before one is stored: a compiler cannot know that the next load does not
 * read what was stored. */
template <class Loop, class C> struct Ahead {
    static constexpr int ahead = 16 / sizeof(typename Loop::real);
    gfnn_rows_t rows;
    Loop loop;
    C c;

    KOKKOS_FORCEINLINE_FUNCTION void part(int left, int64_t fine, int64_t wide,
                                          gfnn_term_t *sums) const
    {
        decltype(loop.template get<1>(c, fine, wide)) value[ahead];
        GFNN_UNROLL
        for (int a = 0; a < ahead; a++)
            if (a * GFNN_SHARE < left)
                value[a] = loop.template get<1>(c, fine + a * GFNN_SHARE, wide + a * GFNN_SHARE);
        GFNN_UNROLL
        for (int a = 0; a < ahead; a++)
            if (a * GFNN_SHARE < left) {
                gfnn_term_t term;
                loop.template put<1>(c, fine + a * GFNN_SHARE, wide + a * GFNN_SHARE, 1, value[a],
                                     term);
                sums->one += term.one;
                sums->two += term.two;
            }
    }
    KOKKOS_INLINE_FUNCTION void operator()(int64_t index, double &one, double &two) const
    {
        const gfnn_row_t row(rows, index);
        const int n = rows.n[0], step = ahead * GFNN_SHARE;
        gfnn_term_t sums;
        for (int d = 0; d < 3; d++)
            for (int i = row.first; i < n; i += step)
                part(n - i, d * rows.fine.plane + rows.fine.at(i, row.j, row.k),
                     d * rows.wide.plane + rows.wide.at(i, row.j, row.k), &sums);
        one += sums.one;
        two += sums.two;
    }
    KOKKOS_INLINE_FUNCTION void operator()(int64_t index) const
    {
        double one = 0, two = 0;
        (*this)(index, one, two);
    }
};

Range range_of(const gfnn_rows_t &rows)
{
    return Range(rt_kokkos::exec(), 0, rows.indices());
}

struct OnDevice {
    template <class Body> static void each(int64_t n, const Body &body)
    {
        Kokkos::parallel_for("gfnn vectors", Range(rt_kokkos::exec(), 0, n), body);
    }
    template <class Body> static void nodes(const gfnn_view_t *view, const Body &body)
    {
        each(gfnn_rows_t(view->box).indices(), body);
    }
    template <class Body>
    static void node_sums(const gfnn_view_t *view, const Body &body, double result[2])
    {
        Kokkos::parallel_reduce("gfnn vectors", range_of(gfnn_rows_t(view->box)), body, result[0],
                                result[1]);
    }
    template <class Loop, class C>
    static void run_with(const gfnn_view_t *view, const C &c, const Loop &loop, double sums[2])
    {
        const Ahead<Loop, C> body = {gfnn_rows_t(view->box), loop, c};
        if constexpr (Loop::sums > 0)
            node_sums(view, body, sums);
        else
            nodes(view, body);
    }
    static double largest(const gfnn_view_t *, const gfnn_largest_t &body)
    {
        double most = 0;
        Kokkos::parallel_reduce("gfnn vectors", range_of(body.rows), body,
                                Kokkos::Max<double>(most));
        return most;
    }
};

/* --- the back end of table.hpp --- */

struct For {
    template <class Body> static void each(int64_t n, const Body &body)
    {
        rt_kokkos::host_for("gfnn vectors", n, body);
    }
};

struct BackEnd : std::conditional_t<on_host, gfnn_host_loops_t<For>, OnDevice>,
                 gfnn_runs_of<BackEnd>,
                 gfnn_blocks_of<BackEnd>,
                 gfnn_ghosts_of<BackEnd> {
    static constexpr bool on_host = gfnn_kokkos::on_host;

    static void add(const gfnn_view_t *, int64_t at, double value, double *x)
    {
        Kokkos::parallel_for(
            "gfnn force", Range(rt_kokkos::exec(), 0, 1),
            KOKKOS_LAMBDA(int64_t) { x[at] += value; });
    }
    static void fence()
    {
        rt_kokkos_fence();
    }
};

} // namespace

const float *gfnn_kokkos::inverse_of(const gfnn_view_t *view)
{
    return gfnn_rows_data(view)->inverse;
}

RT_KOKKOS_TABLE(gfnn_vectors_t, gfnn_vectors_kokkos, gfnn_vectors_of_back_end<BackEnd>::table());
