/*
 * blocks.hpp - the loops with D, the 3x3 blocks of the diagonal, for the CPU and Kokkos, and what
 * set_up makes there. L: see table.hpp; L::nodes and L::node_sums run a loop of this file.
 *
 * A block is a sum over the eight elements around a node. The inverses are kept, FP32, 6 values per
 * node: a lookup by eight ids would cost in gathers what they cost in traffic, vectors of a CPU
 * cannot do it, and bj is not what this app is about.
 */
#ifndef GFNN_BLOCKS_HPP
#define GFNN_BLOCKS_HPP

#include "rows.hpp"

namespace
{

/* out = z + a (z - old) + omega D^-1 (r - y); what is absent points to r and is not read. */
template <bool with_z, bool with_old> struct gfnn_smooth_t {
    gfnn_rows_t rows;
    const float *inverse, *z;
    float a;
    const float *old;
    float omega;
    const float *r, *y;
    float *out;

    GFNN_METHOD void operator()(int64_t index) const
    {
        const gfnn_row_t row(rows, index);
        const int64_t bare = rows.bare.plane, wide = rows.wide.plane;
        const int64_t at = rows.wide.at(0, row.j, row.k);
        const float *D = inverse + rows.bare.at(0, row.j, row.k);
        const float *r0 = r + at, *y0 = y + at, *z0 = z + at, *old0 = old + at;
        const float damping = omega, factor = a;
        float *to = out + at;
        const int n = rows.n[0];
        GFNN_SIMD()
        for (int i = row.first; i < n; i += GFNN_SHARE)
            gfnn_smooth(with_z, with_old, D + i, bare, z0 + i, factor, old0 + i, damping, r0 + i,
                        y0 + i, wide, to + i);
    }
};

/* r -= alpha q and z = scale D^-1 r in one pass: on a CPU z is computed from a row that is still in
 * the cache, on a GPU from what a thread has just written. If not `moves`, r stays and q is not read. */
template <bool moves, class T> struct gfnn_update_bj_t {
    gfnn_rows_t rows;
    const float *inverse;
    T alpha;
    const T *q;
    T *r;
    double scale;
    float *z;

    GFNN_METHOD double move(const gfnn_row_t &row, int64_t at) const
    {
        const T *q0 = q + at, factor = alpha;
        T *r0 = r + at;
        const int n = rows.n[0];
        double sum = 0;
        GFNN_SIMD(reduction(+ : sum))
        for (int i = row.first; i < n; i += GFNN_SHARE) {
            const T value = moves ? r0[i] - factor * q0[i] : r0[i];
            if (moves)
                r0[i] = value;
            sum += static_cast<double>(value) * static_cast<double>(value);
        }
        return sum;
    }
    GFNN_METHOD double solve(const gfnn_row_t &row, int64_t at) const
    {
        const int64_t bare = rows.bare.plane, of_z = rows.wide.plane;
        const int64_t of_r = gfnn_offset<T>(rows.fine.plane, rows.wide.plane);
        const float *D = inverse + rows.bare.at(0, row.j, row.k);
        const T *r0 = r + at, *r1 = r0 + of_r, *r2 = r1 + of_r;
        const double factor = scale;
        float *z0 = z + rows.wide.at(0, row.j, row.k);
        const int n = rows.n[0];
        double sum = 0;
        GFNN_SIMD(reduction(+ : sum))
        for (int i = row.first; i < n; i += GFNN_SHARE)
            sum += gfnn_bj(D + i, bare, factor, r0[i], r1[i], r2[i], z0 + i, of_z);
        return sum;
    }
    GFNN_METHOD void operator()(int64_t index, double &rr, double &zr) const
    {
        const gfnn_row_t row(rows, index);
        const int64_t at =
            gfnn_offset<T>(rows.fine.at(0, row.j, row.k), rows.wide.at(0, row.j, row.k));
        for (int c = 0; c < 3; c++)
            rr += move(row, at + c * gfnn_offset<T>(rows.fine.plane, rows.wide.plane));
        zr += solve(row, at);
    }
};

/* Makes the inverses. */
struct gfnn_invert_t {
    gfnn_rows_t rows;
    const uint8_t *id;
    const gfnn_entries_t *entries;
    float *inverse;

    GFNN_METHOD void node(int i, int j, int k, float *to) const
    {
        double d = 0, xy = 0, yz = 0, zx = 0, of[GFNN_BLOCK];
        for (int a = 0; a < 8; a++) { /* the element whose corner a this node is */
            const int x = a & 1, y = a >> 1 & 1, z = a >> 2;
            const gfnn_entries_t &e = entries[id[rows.wide.at(i - x, j - y, k - z)]];
            d += e.diagonal;
            xy += x == y ? e.cross : -e.cross;
            yz += y == z ? e.cross : -e.cross;
            zx += z == x ? e.cross : -e.cross;
        }
        const double determinant = gfnn_cofactors(d, xy, yz, zx, of);
        for (int b = 0; b < GFNN_BLOCK; b++)
            to[b * rows.bare.plane] = static_cast<float>(of[b] / determinant);
    }
    GFNN_METHOD void operator()(int64_t index) const
    {
        const gfnn_row_t row(rows, index);
        for (int i = row.first; i < rows.n[0]; i += GFNN_SHARE)
            node(i, row.j, row.k, inverse + rows.bare.at(i, row.j, row.k));
    }
};

/* The back end's part of table.hpp that is not loops of loops.hpp. */
template <class L> struct gfnn_blocks_of {
    using half = void;
    static constexpr const gfnn_scalars_t *scalars = &gfnn_scalars_host;
    static constexpr std::nullptr_t share = nullptr, unshare = nullptr;

    template <class T>
    static void update_bj(const gfnn_view_t *view, gfnn_cg_t *cg, bool first, const void *q,
                          void *r, float *z)
    {
        const gfnn_rows_t rows(view->box);
        const float *inverse = gfnn_rows_data(view)->inverse;
        const T *of_q = static_cast<const T *>(q), alpha = static_cast<T>(cg->alpha);
        T *of_r = static_cast<T *>(r);
        if (gfnn_cg_has_ended(&cg->status))
            return;
        if (first)
            L::node_sums(view,
                         gfnn_update_bj_t<false, T>{rows, inverse, 0, of_r, of_r, cg->scale, z},
                         cg->sums);
        else
            L::node_sums(view,
                         gfnn_update_bj_t<true, T>{rows, inverse, alpha, of_q, of_r, cg->scale, z},
                         cg->sums);
    }
    static void smooth32(const gfnn_view_t *view, const float *z, float a, const float *old,
                         float omega, const float *r, const float *y, float *out)
    {
        const gfnn_rows_t rows(view->box);
        const float *inverse = gfnn_rows_data(view)->inverse;
        if (!z)
            L::nodes(view, gfnn_smooth_t<false, false>{rows, inverse, r, a, r, omega, r, r, out});
        else if (!old)
            L::nodes(view, gfnn_smooth_t<true, false>{rows, inverse, z, a, r, omega, r, y, out});
        else
            L::nodes(view, gfnn_smooth_t<true, true>{rows, inverse, z, a, old, omega, r, y, out});
    }

    static size_t sums(const gfnn_box_t *box)
    {
        return L::on_host ? 6 * static_cast<size_t>(box->n[1] * box->n[2]) : 0;
    }
    /* form: that of A */
    static void set_up(gfnn_view_t *view, const gfnn_form_t *form)
    {
        const gfnn_rows_t rows(view->box);
        const rt_space_t space = view->space;
        gfnn_rows_data_t *data = RT_NEW(gfnn_rows_data_t, 1, RT_HOST);
        gfnn_entries_t *entries = gfnn_entries_new(view, form);
        data->space = space;
        data->inverse = RT_NEW(float, GFNN_BLOCK *static_cast<size_t>(rows.bare.plane), space);
        data->sums = L::on_host ? RT_NEW(double, sums(view->box), RT_HOST) : nullptr;
        view->data = data;
        L::nodes(view, gfnn_invert_t{rows, view->id, entries, data->inverse});
        L::fence();
        RT_FREE(entries, space);
    }
    static void tear_down(gfnn_view_t *view)
    {
        gfnn_rows_data_t *data = static_cast<gfnn_rows_data_t *>(view->data);
        if (data) {
            RT_FREE(data->inverse, data->space);
            RT_FREE(data->sums, RT_HOST);
        }
        RT_FREE(data, RT_HOST);
        view->data = nullptr;
    }
    static double memory(const gfnn_config_t *, const gfnn_box_t *box)
    {
        return GFNN_BLOCK * sizeof(float) * static_cast<double>(box->bare.plane);
    }
};

} // namespace

#endif
