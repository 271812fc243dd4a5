/*
 * vectors.cpp - the loops of conjugate gradients that are neither A nor P, in Kokkos.
 *
 * Each is one RangePolicy and one pass through memory, over the arithmetic of node.h. On a CPU an
 * index is a row of the box, and the row is a vector loop; on a GPU 32 indices share a row, so that
 * neighbours read neighbours. What can share a pass does: r, r . r and the 16-bit copy of r for the
 * predictor are one pass; so are r, z of the diagonal blocks and both sums; and x with the next p.
 * Sums are Kokkos's own: they have the same bits from run to run, but not with other numbers of
 * threads.
 *
 * The inverses of the 3x3 blocks D are kept, FP32, 6 values per node: on a CPU, vectors cannot look
 * up the eight ids around a node.
 */
#include "config.h"
#include <type_traits>
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

namespace
{

using namespace gfnn_kokkos;
using Range = Kokkos::RangePolicy<rt_kokkos::Exec, Kokkos::IndexType<int64_t>>;

enum { SHARE = on_host ? 1 : 32 }; /* indices of a row */

struct Data {
    rt_space_t space;
    float *inverse; /* [GFNN_BLOCK][bare.plane] */
};

const Data *data_of(const gfnn_view_t *view)
{
    return static_cast<const Data *>(view->data);
}

/* --- rows --- */

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

/* Calls body(place on `fine`, place on `wide`) for all values. The body is copied first: a compiler
 * must assume that the loop changes what is in memory. */
template <class Body> struct Each {
    Rows rows;
    Body body;

    KOKKOS_INLINE_FUNCTION void operator()(int64_t index) const
    {
        const Row row(rows, index);
        const Body here = body;
        for (int c = 0; c < 3; c++) {
            const int64_t fine = c * rows.fine.plane + rows.fine.at(0, row.j, row.k);
            const int64_t wide = c * rows.wide.plane + rows.wide.at(0, row.j, row.k);
            GFNN_SIMD()
            for (int i = row.first; i < rows.n[0]; i += SHARE)
                here(fine + i, wide + i);
        }
    }
};

/* Sums up what body returns. */
template <class Body> struct Sum {
    Rows rows;
    Body body;

    KOKKOS_INLINE_FUNCTION void operator()(int64_t index, double &total) const
    {
        const Row row(rows, index);
        const Body here = body;
        double sum = 0;
        for (int c = 0; c < 3; c++) {
            const int64_t fine = c * rows.fine.plane + rows.fine.at(0, row.j, row.k);
            const int64_t wide = c * rows.wide.plane + rows.wide.at(0, row.j, row.k);
            GFNN_SIMD(reduction(+ : sum))
            for (int i = row.first; i < rows.n[0]; i += SHARE)
                sum += here(fine + i, wide + i);
        }
        total += sum;
    }
};

/* Finds the largest value that body returns; not used in every iteration. */
template <class Body> struct Largest {
    Rows rows;
    Body body;

    KOKKOS_INLINE_FUNCTION void operator()(int64_t index, double &total) const
    {
        const Row row(rows, index);
        const Body here = body;
        double most = total;
        for (int c = 0; c < 3; c++) {
            const int64_t fine = c * rows.fine.plane + rows.fine.at(0, row.j, row.k);
            const int64_t wide = c * rows.wide.plane + rows.wide.at(0, row.j, row.k);
            for (int i = row.first; i < rows.n[0]; i += SHARE) {
                const double size = here(fine + i, wide + i);
                most = size > most ? size : most;
            }
        }
        total = most;
    }
};

Range range_of(const Rows &rows)
{
    return Range(rt_kokkos::exec(), 0, rows.indices());
}

template <class Body> void each(const gfnn_view_t *view, const Body &body)
{
    const Rows rows(view->box);
    Kokkos::parallel_for("gfnn vectors", range_of(rows), Each<Body>{rows, body});
}

template <class Body> double sum(const gfnn_view_t *view, const Body &body)
{
    const Rows rows(view->box);
    double result = 0;
    Kokkos::parallel_reduce("gfnn vectors", range_of(rows), Sum<Body>{rows, body}, result);
    return result;
}

/* --- what the preconditioner gets --- */

/* The preconditioner gets nothing. */
struct None {
};

KOKKOS_FORCEINLINE_FUNCTION void put(None *, int64_t, double)
{
}
KOKKOS_FORCEINLINE_FUNCTION void put(float *low, int64_t at, double value)
{
    low[at] = static_cast<float>(value);
}
KOKKOS_FORCEINLINE_FUNCTION void put(uint16_t *low, int64_t at, double value)
{
    low[at] = gfnn_to_half(static_cast<float>(value));
}

/* Where a vector of T has a value: doubles are on `fine`, floats on `wide`. */
template <class T> KOKKOS_FORCEINLINE_FUNCTION int64_t place(int64_t fine, int64_t wide)
{
    return sizeof(T) == sizeof(double) ? fine : wide;
}

/* Calls f(low) with the type that low has; NULL: that of None. */
template <class F> void fixed_low(int precision, void *low, F f)
{
    if (!low)
        f(static_cast<None *>(nullptr));
    else if (precision == GFNN_FP16)
        f(static_cast<uint16_t *>(low));
    else
        f(static_cast<float *>(low));
}

template <class T, class Low> struct Renew {
    double unit, scale;
    const double *f, *y; /* y NULL: 0 */
    T *r, *x;
    Low *low;

    KOKKOS_FORCEINLINE_FUNCTION double operator()(int64_t fine, int64_t wide) const
    {
        const int64_t at = place<T>(fine, wide);
        const double value = unit * (y ? f[fine] - y[fine] : f[fine]);
        r[at] = static_cast<T>(value);
        x[at] = 0;
        put(low, wide, scale * value);
        return value * value;
    }
};

template <class T>
void renew(const gfnn_view_t *view, gfnn_cg_t *cg, const double *f, const double *y, void *r,
           void *x, int precision, void *low)
{
    fixed_low(precision, low, [&](auto *typed) {
        using Low = std::remove_pointer_t<decltype(typed)>;
        cg->sums[0] = sum(view, Renew<T, Low>{cg->unit, cg->scale, f, y, static_cast<T *>(r),
                                              static_cast<T *>(x), typed});
    });
    cg->sums[1] = 0;
}

template <class T, class Low> struct Update {
    T alpha;
    double scale;
    const T *q;
    T *r;
    Low *low;

    KOKKOS_FORCEINLINE_FUNCTION double operator()(int64_t fine, int64_t wide) const
    {
        const int64_t at = place<T>(fine, wide);
        const T value = r[at] - alpha * q[at];
        const double here = static_cast<double>(value);
        r[at] = value;
        put(low, wide, scale * here);
        return here * here;
    }
};

template <class T>
void update(const gfnn_view_t *view, gfnn_cg_t *cg, const void *q, void *r, int precision,
            void *low)
{
    if (gfnn_cg_has_ended(&cg->told))
        return;
    fixed_low(precision, low, [&](auto *typed) {
        using Low = std::remove_pointer_t<decltype(typed)>;
        cg->sums[0] =
            sum(view, Update<T, Low>{static_cast<T>(cg->alpha), cg->scale,
                                     static_cast<const T *>(q), static_cast<T *>(r), typed});
    });
    cg->sums[1] = 0;
}

struct Size {
    const double *f;

    KOKKOS_FORCEINLINE_FUNCTION double operator()(int64_t at, int64_t) const
    {
        return f[at] < 0 ? -f[at] : f[at];
    }
};

double dot(const gfnn_view_t *view, const double *x, const double *y);

void start(const gfnn_view_t *view, gfnn_cg_t *cg, const gfnn_method_t *method, const double *f)
{
    const Rows rows(view->box);
    double most = 0;
    cg->method = *method;
    cg->sums[0] = dot(view, f, f);
    Kokkos::parallel_reduce("gfnn vectors", range_of(rows), Largest<Size>{rows, {f}},
                            Kokkos::Max<double>(most));
    cg->sums[1] = most;
}

void narrow(const gfnn_view_t *view, float scale, const float *x, const float *y, void *low)
{
    uint16_t *to = static_cast<uint16_t *>(low);
    if (y)
        each(
            view, KOKKOS_LAMBDA(int64_t, int64_t at) { put(to, at, scale * (x[at] - y[at])); });
    else
        each(
            view, KOKKOS_LAMBDA(int64_t, int64_t at) { put(to, at, scale * x[at]); });
}

/* --- FP64 --- */

void fill(const gfnn_view_t *view, double value, double *x)
{
    each(
        view, KOKKOS_LAMBDA(int64_t at, int64_t) { x[at] = value; });
}

double dot(const gfnn_view_t *view, const double *x, const double *y)
{
    return sum(
        view, KOKKOS_LAMBDA(int64_t at, int64_t) { return x[at] * y[at]; });
}

/* As in BLAS, y is not read if b = 0: it may be NaN. */
void axpby(const gfnn_view_t *view, double a, const double *x, double b, double *y)
{
    if (b != 0)
        each(
            view, KOKKOS_LAMBDA(int64_t at, int64_t) { y[at] = a * x[at] + b * y[at]; });
    else
        each(
            view, KOKKOS_LAMBDA(int64_t at, int64_t) { y[at] = a * x[at]; });
}

void add(const gfnn_view_t *, int64_t at, double value, double *x)
{
    Kokkos::parallel_for(
        "gfnn force", Range(rt_kokkos::exec(), 0, 1), KOKKOS_LAMBDA(int64_t) { x[at] += value; });
}

void newmark_before(const gfnn_view_t *view, double dt, double rayleigh_a, double rayleigh_b,
                    const double *u, const double *v, const double *a, double *x1, double *x2)
{
    const double of_v = 4 / dt + rayleigh_a;
    each(
        view, KOKKOS_LAMBDA(int64_t at, int64_t) {
            gfnn_before(of_v, rayleigh_b, u[at], v[at], a[at], x1 + at, x2 + at);
        });
}

void newmark_after(const gfnn_view_t *view, double dt, const double *du, double *u, double *v,
                   double *a)
{
    const double f1 = 2 / dt, f2 = 4 / (dt * dt);
    each(
        view,
        KOKKOS_LAMBDA(int64_t at, int64_t) { gfnn_after(f1, f2, du[at], u + at, v + at, a + at); });
}

/* --- FP64 with FP32 --- */

/* z . r and z . q: two sums of one pass. */
template <class T> struct Dots {
    Rows rows;
    const float *z;
    const T *r, *q;

    KOKKOS_INLINE_FUNCTION void operator()(int64_t index, double &zr, double &zq) const
    {
        const Row row(rows, index);
        const float *low = z;
        const T *one = r, *other = q;
        double first = 0, second = 0;
        for (int c = 0; c < 3; c++) {
            const int64_t fine = c * rows.fine.plane + rows.fine.at(0, row.j, row.k);
            const int64_t wide = c * rows.wide.plane + rows.wide.at(0, row.j, row.k);
            const int64_t at = place<T>(fine, wide);
            GFNN_SIMD(reduction(+ : first, second))
            for (int i = row.first; i < rows.n[0]; i += SHARE) {
                const double value = static_cast<double>(low[wide + i]);
                first += value * static_cast<double>(one[at + i]);
                second += value * static_cast<double>(other[at + i]);
            }
        }
        zr += first;
        zq += second;
    }
};

template <class T>
void dots(const gfnn_view_t *view, gfnn_cg_t *cg, const float *z, const void *r, const void *q)
{
    const Rows rows(view->box);
    double zq;
    Kokkos::parallel_reduce(
        "gfnn vectors", range_of(rows),
        Dots<T>{rows, z, static_cast<const T *>(r), static_cast<const T *>(q ? q : r)}, cg->sums[0],
        zq);
    cg->sums[1] = q ? zq : 0;
}

/* Z: float on `wide`, or the type of r, which is in the place of z. */
template <bool first, class T, class Z> struct Direction {
    T due;
    T *x;
    T scale;
    const Z *z;
    T beta;
    T *p;

    KOKKOS_FORCEINLINE_FUNCTION void operator()(int64_t fine, int64_t wide) const
    {
        const int64_t at = place<T>(fine, wide);
        const T next = scale * static_cast<T>(z[place<Z>(fine, wide)]);
        const T before = first ? 0 : p[at], moved = first ? 0 : x[at] + due * before;
        if (!first)
            x[at] = moved;
        p[at] = first ? next : next + beta * before;
    }
};

template <class T, class Z>
void turn(const gfnn_view_t *view, const gfnn_cg_t *cg, bool first, void *x, const Z *z, void *p)
{
    const T due = static_cast<T>(cg->due), beta = static_cast<T>(cg->beta);
    const T scale = static_cast<T>(1 / cg->scale);
    T *to = static_cast<T *>(x), *along = static_cast<T *>(p);
    if (gfnn_cg_has_ended(&cg->told))
        return;
    if (first)
        each(view, Direction<true, T, Z>{due, to, scale, z, beta, along});
    else
        each(view, Direction<false, T, Z>{due, to, scale, z, beta, along});
}

template <class T>
void direction(const gfnn_view_t *view, const gfnn_cg_t *cg, bool first, void *x, const float *z,
               void *p)
{
    turn<T>(view, cg, first, x, z, p);
}

template <class T>
void direction_plain(const gfnn_view_t *view, const gfnn_cg_t *cg, bool first, void *x,
                     const void *r, void *p)
{
    turn<T>(view, cg, first, x, static_cast<const T *>(r), p);
}

/* x is du itself. */
void arrive(const gfnn_view_t *view, const gfnn_cg_t *cg, bool, const void *, const void *p,
            double *du)
{
    if (cg->due != 0)
        axpby(view, cg->due, static_cast<const double *>(p), 1, du);
}

template <bool first, bool is_due> struct Arrive {
    double due, unit;
    const float *x, *p;
    double *du;

    KOKKOS_FORCEINLINE_FUNCTION void operator()(int64_t fine, int64_t wide) const
    {
        const double step = is_due ? due * static_cast<double>(p[wide]) : 0;
        du[fine] = (first ? 0 : du[fine]) + (static_cast<double>(x[wide]) + step) / unit;
    }
};

void arrive32(const gfnn_view_t *view, const gfnn_cg_t *cg, bool first, const void *x,
              const void *p, double *du)
{
    const float *of_x = static_cast<const float *>(x), *of_p = static_cast<const float *>(p);
    const double due = cg->due, unit = cg->unit;
    if (first && due != 0)
        each(view, Arrive<true, true>{due, unit, of_x, of_p, du});
    else if (first)
        each(view, Arrive<true, false>{due, unit, of_x, of_p, du});
    else if (due != 0)
        each(view, Arrive<false, true>{due, unit, of_x, of_p, du});
    else
        each(view, Arrive<false, false>{due, unit, of_x, of_p, du});
}

/* --- FP32 --- */

void fill32(const gfnn_view_t *view, float value, float *z)
{
    each(
        view, KOKKOS_LAMBDA(int64_t, int64_t at) { z[at] = value; });
}

/* As axpby. */
void axpby32(const gfnn_view_t *view, float a, const float *x, float b, float *y)
{
    if (b != 0)
        each(
            view, KOKKOS_LAMBDA(int64_t, int64_t at) { y[at] = a * x[at] + b * y[at]; });
    else
        each(
            view, KOKKOS_LAMBDA(int64_t, int64_t at) { y[at] = a * x[at]; });
}

double dot32(const gfnn_view_t *view, const float *x, const float *y)
{
    return sum(
        view, KOKKOS_LAMBDA(int64_t, int64_t at) {
            return static_cast<double>(x[at]) * static_cast<double>(y[at]);
        });
}

template <bool with_z, bool with_old, bool with_y> struct Smooth {
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
            gfnn_smooth(with_z, with_old, with_y, D + i, bare, z0 + i, factor, old0 + i, damping,
                        r0 + i, y0 + i, wide, to + i);
    }
};

/* What is absent points to r and is not read. */
template <bool with_z, bool with_old, bool with_y>
void smooth(const gfnn_view_t *view, const float *z, float a, const float *old, float omega,
            const float *r, const float *y, float *out)
{
    const Rows rows(view->box);
    Kokkos::parallel_for("gfnn vectors", range_of(rows),
                         Smooth<with_z, with_old, with_y>{rows, data_of(view)->inverse,
                                                          with_z ? z : r, a, with_old ? old : r,
                                                          omega, r, with_y ? y : r, out});
}

void smooth32(const gfnn_view_t *view, const float *z, float a, const float *old, float omega,
              const float *r, const float *y, float *out)
{
    using smooth_t = void(const gfnn_view_t *, const float *, float, const float *, float,
                          const float *, const float *, float *);
    static smooth_t *const choice[8] = {smooth<false, false, false>, smooth<false, false, true>,
                                        smooth<false, true, false>,  smooth<false, true, true>,
                                        smooth<true, false, false>,  smooth<true, false, true>,
                                        smooth<true, true, false>,   smooth<true, true, true>};
    const int number = (z ? 4 : 0) + (old && a != 0 ? 2 : 0) + (y ? 1 : 0);
    choice[number](view, z, a, old, omega, r, y, out);
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
    Kokkos::parallel_reduce("gfnn vectors", range_of(rows), job, cg->sums[0], cg->sums[1]);
}

template <class T>
void update_bj(const gfnn_view_t *view, gfnn_cg_t *cg, bool first, const void *q, void *r, float *z)
{
    if (gfnn_cg_has_ended(&cg->told))
        return;
    if (first)
        update_bj_of<false, T>(view, cg, q, r, z);
    else
        update_bj_of<true, T>(view, cg, q, r, z);
}

/* --- ghosts --- */

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
        return static_cast<int64_t>(n[1] + 2 * width) * (n[2] + 2 * width) * SHARE;
    }
    KOKKOS_FORCEINLINE_FUNCTION int wrapped(int d, int i) const
    {
        return gfnn_wrapped(i, n[d]);
    }

    KOKKOS_INLINE_FUNCTION void operator()(int64_t index) const
    {
        const int row = static_cast<int>(index / SHARE), first = static_cast<int>(index % SHARE);
        const int j = row % (n[1] + 2 * width) - width, k = row / (n[1] + 2 * width) - width;
        const bool own = wrapped(1, j) == j && wrapped(2, k) == k;
        const int skipped =
            own ? n[0] : 0; /* own values: only the ghosts before and after them are filled */
        for (int c = 0; c < 3; c++) {
            T *to = x + c * lines.plane + lines.at(0, j, k);
            const T *from = x + c * lines.plane + lines.at(0, wrapped(1, j), wrapped(2, k));
            for (int q = first; q < n[0] + 2 * width - skipped; q += SHARE) {
                const int i = q < width ? q - width : q - width + skipped;
                to[i] = from[wrapped(0, i)];
            }
        }
    }
};

template <class T> void wrap(const Wrap<T> &ghosts)
{
    Kokkos::parallel_for("gfnn ghosts", Range(rt_kokkos::exec(), 0, ghosts.indices()), ghosts);
}

void wrap(const gfnn_view_t *view, int width, rt_type_t type, void *x)
{
    if (type == RT_F64)
        wrap(Wrap<double>(view->box->fine, width, x));
    else if (type == RT_F32)
        wrap(Wrap<float>(view->box->wide, width, x));
    else
        wrap(Wrap<uint16_t>(view->box->wide, width, x));
}

/* --- mirror faces --- */

void hold_layer(const Rows &rows, int d, int layer, double *x, float *z)
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

/* Zeroes on each face the component that is normal to it. */
void hold(const gfnn_view_t *view, double *x, float *z)
{
    const Rows rows(view->box);
    const gfnn_held_t held = gfnn_held(view->box);
    for (int face = 0; face < 6; face++)
        if (held.at[face])
            hold_layer(rows, face / 2, face % 2 ? rows.n[face / 2] - 1 : 0, x, z);
}

/* --- diagonal blocks --- */

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

void set_up(gfnn_view_t *view, const gfnn_form_t *form)
{
    const Rows rows(view->box);
    Data *data = RT_NEW(Data, 1, RT_HOST);
    data->space = rt_kokkos_space();
    data->inverse = RT_NEW(float, GFNN_BLOCK *static_cast<size_t>(rows.bare.plane), data->space);
    double *w =
        static_cast<double *>(rt_clone(view->materials->w, GFNN_MAX_IDS, sizeof *w, data->space));
    double *square = static_cast<double *>(
        rt_clone(view->materials->square, GFNN_MAX_IDS, sizeof *square, data->space));
    Kokkos::parallel_for(
        "gfnn blocks", range_of(rows),
        Invert{rows, gfnn_held(view->box), gfnn_corners(form), view->id, w, square, data->inverse});
    rt_kokkos_fence();
    RT_FREE(w, data->space);
    RT_FREE(square, data->space);
    view->data = data;
}

void tear_down(gfnn_view_t *view)
{
    Data *data = static_cast<Data *>(view->data);
    if (!data)
        return;
    RT_FREE(data->inverse, data->space);
    RT_FREE(data, RT_HOST);
    view->data = nullptr;
}

void memory(const gfnn_config_t *, const gfnn_box_t *box, double bytes[RT_SPACES])
{
    bytes[RT_HOST] += sizeof(Data);
    bytes[rt_kokkos_space()] += GFNN_BLOCK * sizeof(float) * static_cast<double>(box->bare.plane) +
                                2 * GFNN_MAX_IDS * sizeof(double);
}

template <class T> constexpr gfnn_loops_t loops(decltype(gfnn_loops_t::arrive) arrives)
{
    gfnn_loops_t t = {};
    t.renew = renew<T>;
    t.update = update<T>;
    t.update_bj = update_bj<T>;
    t.dots = dots<T>;
    t.direction = direction<T>;
    t.direction_plain = direction_plain<T>;
    t.arrive = arrives;
    return t;
}

constexpr gfnn_loops_t in_double = loops<double>(arrive), in_single = loops<float>(arrive32);

constexpr gfnn_vectors_t table()
{
    gfnn_vectors_t t = {};
    t.scalars = &gfnn_scalars_host;
    t.loops[GFNN_DOUBLE] = &in_double;
    t.loops[GFNN_SINGLE] = &in_single;
    t.fill = fill;
    t.fill32 = fill32;
    t.dot = dot;
    t.axpby = axpby;
    t.add = add;
    t.start = start;
    t.smooth32 = smooth32;
    t.axpby32 = axpby32;
    t.dot32 = dot32;
    t.narrow = narrow;
    t.newmark_before = newmark_before;
    t.newmark_after = newmark_after;
    t.hold = hold;
    t.wrap = wrap;
    t.set_up = set_up;
    t.tear_down = tear_down;
    t.memory = memory;
    return t;
}

} // namespace

RT_KOKKOS_TABLE(gfnn_vectors_t, gfnn_vectors_kokkos, table());
