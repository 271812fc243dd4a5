/*
 * blocks.cpp - the loops with D, the 3x3 blocks of the diagonal, in Kokkos.
 *
 * The inverses are kept, FP32, 6 values per node: on a CPU, vectors cannot look up the eight ids
 * around a node.
 */
#include "config.h"
#include "rows.hpp"

namespace
{

using namespace gfnn_kokkos;

template <bool with_z, bool with_old> struct Smooth {
    Rows rows;
    const float *inverse, *z;
    float a;
    const float *old;
    float omega;
    const float *r, *y;
    float *out;

    KOKKOS_INLINE_FUNCTION void operator()(int64_t index) const
    {
        const Row row(rows, index);
        const int64_t bare = rows.bare.plane, wide = rows.wide.plane;
        const int64_t at = rows.wide.at(0, row.j, row.k);
        const float *D = inverse + rows.bare.at(0, row.j, row.k);
        const float *r0 = r + at, *y0 = y + at, *z0 = z + at, *old0 = old + at;
        const float damping = omega, factor = a;
        float *to = out + at;
        GFNN_SIMD()
        for (int i = row.first; i < rows.n[0]; i += SHARE)
            gfnn_smooth(with_z, with_old, D + i, bare, z0 + i, factor, old0 + i, damping, r0 + i,
                        y0 + i, wide, to + i);
    }
};

/* What is absent points to r and is not read. */
template <bool with_z, bool with_old>
void smooth(const gfnn_view_t *view, const float *z, float a, const float *old, float omega,
            const float *r, const float *y, float *out)
{
    const Rows rows(view->box);
    Kokkos::parallel_for("gfnn vectors", range_of(rows),
                         Smooth<with_z, with_old>{rows, data_of(view)->inverse, with_z ? z : r, a,
                                                  with_old ? old : r, omega, r, with_z ? y : r,
                                                  out});
}

/* Does update and D^-1 in one pass: on a CPU z is computed from a row that is still in the cache,
 * on a GPU from what a thread has just written. If not `moves`, q is not read. */
template <bool moves, class T> struct UpdateBj {
    Rows rows;
    const float *inverse;
    T alpha;
    const T *q;
    T *r;
    double scale;
    float *z;

    KOKKOS_FORCEINLINE_FUNCTION double move(const Row &row, int64_t at) const
    {
        const T *q0 = q + at, factor = alpha;
        T *r0 = r + at;
        double sum = 0;
        GFNN_SIMD(reduction(+ : sum))
        for (int i = row.first; i < rows.n[0]; i += SHARE) {
            const T value = moves ? r0[i] - factor * q0[i] : r0[i];
            if (moves)
                r0[i] = value;
            sum += static_cast<double>(value) * static_cast<double>(value);
        }
        return sum;
    }

    KOKKOS_FORCEINLINE_FUNCTION double solve(const Row &row, int64_t at) const
    {
        const int64_t bare = rows.bare.plane, of_z = rows.wide.plane;
        const int64_t of_r = place<T>(rows.fine.plane, rows.wide.plane);
        const float *D = inverse + rows.bare.at(0, row.j, row.k);
        const T *r0 = r + at, *r1 = r0 + of_r, *r2 = r1 + of_r;
        const double factor = scale;
        float *z0 = z + rows.wide.at(0, row.j, row.k);
        double sum = 0;
        GFNN_SIMD(reduction(+ : sum))
        for (int i = row.first; i < rows.n[0]; i += SHARE)
            sum += gfnn_bj(D + i, bare, factor, r0[i], r1[i], r2[i], z0 + i, of_z);
        return sum;
    }

    KOKKOS_INLINE_FUNCTION void operator()(int64_t index, double &rr, double &zr) const
    {
        const Row row(rows, index);
        const int64_t at = place<T>(rows.fine.at(0, row.j, row.k), rows.wide.at(0, row.j, row.k));
        for (int c = 0; c < 3; c++)
            rr += move(row, at + c * place<T>(rows.fine.plane, rows.wide.plane));
        zr += solve(row, at);
    }
};

template <bool moves, class T>
void update_bj_of(const gfnn_view_t *view, gfnn_cg_t *cg, const void *q, void *r, float *z)
{
    const Rows rows(view->box);
    const UpdateBj<moves, T> job = {rows,
                                    data_of(view)->inverse,
                                    static_cast<T>(cg->alpha),
                                    static_cast<const T *>(q),
                                    static_cast<T *>(r),
                                    cg->scale,
                                    z};
    sums_of(view, job, cg->sums);
}

struct Invert {
    Rows rows;
    gfnn_held_t held;
    gfnn_corners_t part;
    const uint8_t *id;
    const double *w, *square; /* [GFNN_MAX_IDS] */
    float *inverse;

    KOKKOS_FORCEINLINE_FUNCTION void node(int i, int j, int k, float *to) const
    {
        const bool here[3] = {gfnn_is_held(&held, 0, i, rows.n[0]),
                              gfnn_is_held(&held, 1, j, rows.n[1]),
                              gfnn_is_held(&held, 2, k, rows.n[2])};
        double D[GFNN_BLOCK] = {};
        for (int a = 0; a < 8; a++) { /* the element whose corner a this node is */
            const int number = id[rows.wide.at(i - (a & 1), j - (a >> 1 & 1), k - (a >> 2))];
            gfnn_add_corner(&part, a, w[number], square[number], D);
        }
        gfnn_invert(D, here, to, rows.bare.plane);
    }

    KOKKOS_INLINE_FUNCTION void operator()(int64_t index) const
    {
        const Row row(rows, index);
        for (int i = row.first; i < rows.n[0]; i += SHARE)
            node(i, row.j, row.k, inverse + rows.bare.at(i, row.j, row.k));
    }
};

} // namespace

void gfnn_kokkos::smooth32(const gfnn_view_t *view, const float *z, float a, const float *old,
                           float omega, const float *r, const float *y, float *out)
{
    const auto choice = !z ? smooth<false, false> : !old ? smooth<true, false> : smooth<true, true>;
    choice(view, z, a, old, omega, r, y, out);
}

template <class T>
void gfnn_kokkos::update_bj(const gfnn_view_t *view, gfnn_cg_t *cg, bool first, const void *q,
                            void *r, float *z)
{
    if (gfnn_cg_has_ended(&cg->told))
        return;
    if (first)
        update_bj_of<false, T>(view, cg, q, r, z);
    else
        update_bj_of<true, T>(view, cg, q, r, z);
}

template void gfnn_kokkos::update_bj<double>(const gfnn_view_t *, gfnn_cg_t *, bool, const void *,
                                             void *, float *);
template void gfnn_kokkos::update_bj<float>(const gfnn_view_t *, gfnn_cg_t *, bool, const void *,
                                            void *, float *);

const float *gfnn_kokkos::inverse_of(const gfnn_view_t *view)
{
    return data_of(view)->inverse;
}

float *gfnn_kokkos::inverse_new(const gfnn_view_t *view, const gfnn_form_t *form)
{
    const Rows rows(view->box);
    const rt_space_t space = rt_kokkos_space();
    float *inverse = RT_NEW(float, GFNN_BLOCK *static_cast<size_t>(rows.bare.plane), space);
    double *w = static_cast<double *>(rt_clone(view->materials->w, GFNN_MAX_IDS, sizeof *w, space));
    double *square = static_cast<double *>(
        rt_clone(view->materials->square, GFNN_MAX_IDS, sizeof *square, space));
    Kokkos::parallel_for(
        "gfnn blocks", range_of(rows),
        Invert{rows, gfnn_held(view->box), gfnn_corners(form), view->id, w, square, inverse});
    rt_kokkos_fence();
    RT_FREE(w, space);
    RT_FREE(square, space);
    return inverse;
}
