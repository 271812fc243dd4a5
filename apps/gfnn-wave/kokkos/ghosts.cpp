/*
 * ghosts.cpp - mirror faces and the ghosts of a box alone, in Kokkos.
 */
#include "config.h"
#include "gfnn_kokkos.hpp"
#include "../loops/rows.hpp"

namespace
{

using namespace gfnn_kokkos;

/* --- ghosts of a box alone --- */

/* An index has its share of a row with its ghosts; some rows are all ghosts. */
template <class T> struct Wrap {
    gfnn_lines_t lines;
    int n[3], width;
    T *x;

    Wrap(const gfnn_grid_t &g, int width_, void *x_)
        : lines(g), width(width_), x(static_cast<T *>(x_))
    {
        for (int d = 0; d < 3; d++)
            n[d] = static_cast<int>(g.n[d]);
    }
    int64_t indices() const
    {
        return static_cast<int64_t>(n[1] + 2 * width) * (n[2] + 2 * width) * GFNN_SHARE;
    }
    KOKKOS_FORCEINLINE_FUNCTION int wrapped(int d, int i) const
    {
        return gfnn_wrapped(i, n[d]);
    }

    KOKKOS_INLINE_FUNCTION void operator()(int64_t index) const
    {
        const int row = static_cast<int>(index / GFNN_SHARE),
                  first = static_cast<int>(index % GFNN_SHARE);
        const int j = row % (n[1] + 2 * width) - width, k = row / (n[1] + 2 * width) - width;
        const bool own = wrapped(1, j) == j && wrapped(2, k) == k;
        const int skipped =
            own ? n[0] : 0; /* own values: only the ghosts before and after them are filled */
        for (int c = 0; c < 3; c++) {
            T *to = x + c * lines.plane + lines.at(0, j, k);
            const T *from = x + c * lines.plane + lines.at(0, wrapped(1, j), wrapped(2, k));
            for (int q = first; q < n[0] + 2 * width - skipped; q += GFNN_SHARE) {
                const int i = q < width ? q - width : q - width + skipped;
                to[i] = from[wrapped(0, i)];
            }
        }
    }
};

template <class T> void fill(const Wrap<T> &ghosts)
{
    Kokkos::parallel_for("gfnn ghosts", Range(rt_kokkos::exec(), 0, ghosts.indices()), ghosts);
}

/* --- mirror faces --- */

void hold_layer(const gfnn_rows_t &rows, int d, int layer, double *x, float *z)
{
    const int a = d == 0 ? 1 : 0, b = d == 2 ? 1 : 2, n = rows.n[a];
    Kokkos::parallel_for(
        "gfnn hold", Range(rt_kokkos::exec(), 0, static_cast<int64_t>(n) * rows.n[b]),
        KOKKOS_LAMBDA(int64_t node) {
            int at[3];
            gfnn_on_layer(d, layer, static_cast<int>(node % n), static_cast<int>(node / n), at);
            if (x)
                x[d * rows.fine.plane + rows.fine.at(at[0], at[1], at[2])] = 0;
            if (z)
                z[d * rows.wide.plane + rows.wide.at(at[0], at[1], at[2])] = 0;
        });
}

} // namespace

/* Zeroes on each face the component that is normal to it. */
void gfnn_kokkos::hold(const gfnn_view_t *view, double *x, float *z)
{
    const gfnn_rows_t rows(view->box);
    const gfnn_held_t held = gfnn_held(view->box);
    for (int face = 0; face < 6; face++)
        if (held.at[face])
            hold_layer(rows, face / 2, face % 2 ? rows.n[face / 2] - 1 : 0, x, z);
}

void gfnn_kokkos::wrap(const gfnn_view_t *view, int width, rt_type_t type, void *x)
{
    if (type == RT_F64)
        fill(Wrap<double>(view->box->fine, width, x));
    else if (type == RT_F32)
        fill(Wrap<float>(view->box->wide, width, x));
    else
        fill(Wrap<uint16_t>(view->box->wide, width, x));
}
