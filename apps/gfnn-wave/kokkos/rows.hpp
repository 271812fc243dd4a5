/*
 * rows.hpp - rows of the box, as the loops of vectors.cpp, blocks.cpp and ghosts.cpp take them.
 *
 * On a CPU an index is a row of the box, and the row is a vector loop; on a GPU 32 indices share a
 * row, so that neighbours read neighbours.
 */
#ifndef GFNN_ROWS_HPP
#define GFNN_ROWS_HPP

#include "gfnn_kokkos.hpp"

/* The values of a row do not depend on each other, except for the sum that is named. */
#define GFNN_PRAGMA(p) _Pragma(#p)
#if defined(KOKKOS_ENABLE_CUDA) || defined(KOKKOS_ENABLE_HIP) || defined(KOKKOS_ENABLE_SYCL) || \
    defined(KOKKOS_ENABLE_OPENMPTARGET)
#define GFNN_SIMD(...)
#elif defined(_OPENMP)
#define GFNN_SIMD(...) GFNN_PRAGMA(omp simd __VA_ARGS__)
#elif defined(__GNUC__) && !defined(__clang__)
#define GFNN_SIMD(...) GFNN_PRAGMA(GCC ivdep)
#else
#define GFNN_SIMD(...)
#endif

namespace gfnn_kokkos
{

using Range = Kokkos::RangePolicy<rt_kokkos::Exec, Kokkos::IndexType<int64_t>>;

enum { SHARE = on_host ? 1 : 32 }; /* indices of a row */

struct Data {
    rt_space_t space;
    float *inverse; /* [GFNN_BLOCK][bare.plane], of blocks.cpp */
    double *sums;   /* on a CPU: [2][rows] */
};

inline const Data *data_of(const gfnn_view_t *view)
{
    return static_cast<const Data *>(view->data);
}

struct Rows {
    gfnn_lines_t fine, wide, bare;
    int n[3];

    explicit Rows(const gfnn_box_t *box) : fine(box->fine), wide(box->wide), bare(box->bare)
    {
        for (int d = 0; d < 3; d++)
            n[d] = static_cast<int>(box->n[d]);
    }
    int64_t indices() const
    {
        return static_cast<int64_t>(n[1]) * n[2] * SHARE;
    }
};

/* The work of an index: i = first, first + SHARE, ... of row (j, k). */
struct Row {
    int first, j, k;

    KOKKOS_FORCEINLINE_FUNCTION Row(const Rows &rows, int64_t index)
    {
        const int row = static_cast<int>(index / SHARE);
        first = static_cast<int>(index % SHARE);
        j = row % rows.n[1];
        k = row / rows.n[1];
    }
};

/* Calls body(first, fine, wide) for each component of the row that an index has a share of: its
 * share begins at `first`, the row at these places. */
template <class Body>
KOKKOS_FORCEINLINE_FUNCTION void each_line(const Rows &rows, int64_t index, const Body &body)
{
    const Row row(rows, index);
    for (int c = 0; c < 3; c++)
        body(row.first, c * rows.fine.plane + rows.fine.at(0, row.j, row.k),
             c * rows.wide.plane + rows.wide.at(0, row.j, row.k));
}

/* Where a vector of T has a value: doubles are on `fine`, floats on `wide`. */
template <class T> KOKKOS_FORCEINLINE_FUNCTION int64_t place(int64_t fine, int64_t wide)
{
    return sizeof(T) == sizeof(double) ? fine : wide;
}

inline Range range_of(const Rows &rows)
{
    return Range(rt_kokkos::exec(), 0, rows.indices());
}

/* Sums up what body(row, sum) adds for each row. On a CPU each row has its own sum, and these are
 * added pairwise: the same bits on any number of threads. */
template <class Body> double sum_of(const gfnn_view_t *view, const Body &body)
{
    const Rows rows(view->box);
    double result = 0;
    if constexpr (on_host) {
        double *sums = data_of(view)->sums;
        rt_kokkos::host_for("gfnn vectors", rows.indices(), [=](int64_t row) {
            double sum = 0;
            body(row, sum);
            sums[row] = sum;
        });
        result = rt_sum_pairwise(sums, rows.indices());
    } else
        Kokkos::parallel_reduce("gfnn vectors", range_of(rows), body, result);
    return result;
}

/* The same for two sums. */
template <class Body> void sums_of(const gfnn_view_t *view, const Body &body, double result[2])
{
    const Rows rows(view->box);
    if constexpr (on_host) {
        const int64_t n = rows.indices();
        double *sums = data_of(view)->sums;
        rt_kokkos::host_for("gfnn vectors", n, [=](int64_t row) {
            double one = 0, other = 0;
            body(row, one, other);
            sums[row] = one;
            sums[n + row] = other;
        });
        result[0] = rt_sum_pairwise(sums, n);
        result[1] = rt_sum_pairwise(sums + n, n);
    } else
        Kokkos::parallel_reduce("gfnn vectors", range_of(rows), body, result[0], result[1]);
}

/* blocks.cpp: as gfnn_vectors_t and gfnn_loops_t have them. inverse_new returns the inverses of the blocks. */
template <class T>
void update_bj(const gfnn_view_t *view, gfnn_cg_t *cg, bool first, const void *q, void *r,
               float *z);
void smooth32(const gfnn_view_t *view, const float *z, float a, const float *old, float omega,
              const float *r, const float *y, float *out);
float *inverse_new(const gfnn_view_t *view, const gfnn_form_t *form);

/* ghosts.cpp: as gfnn_vectors_t has them. */
void hold(const gfnn_view_t *view, double *x, float *z);
void wrap(const gfnn_view_t *view, int width, rt_type_t type, void *x);

} // namespace gfnn_kokkos

#endif
