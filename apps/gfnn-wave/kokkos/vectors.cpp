/*
 * vectors.cpp - the loops of conjugate gradients that are neither A nor P, in Kokkos.
 *
 * Each is one RangePolicy and one pass through memory. On a CPU an index is a row of the box, and
 * the row is a vector loop; on a GPU 32 indices share a row, so that neighbours read neighbours.
 * What can share a pass does: r, r . r and the 16-bit copy of r for the predictor are one; so are
 * r, z of the diagonal blocks and both sums; and x with the next p. Sums are Kokkos's own: they
 * have the same bits from run to run, not with other numbers of threads.
 *
 * The inverses of the 3x3 blocks D are kept, FP32, 6 values a node: on a CPU the eight ids around a
 * node cannot be looked up by vectors.
 */
#include "config.h"
#include "gfnn_kokkos.hpp"

/* The values of a row do not depend on each other, but for the sum that is named. */
#define GFNN_PRAGMA(p) _Pragma(#p)
#if GFNN_VECTOR && defined(_OPENMP)
#define GFNN_SIMD(...) GFNN_PRAGMA(omp simd __VA_ARGS__)
#elif GFNN_VECTOR && !defined(__clang__)
#define GFNN_SIMD(...) GFNN_PRAGMA(GCC ivdep)
#else
#define GFNN_SIMD(...)
#endif

namespace
{

using namespace gfnn_kokkos;
using rt_kokkos::on_host;
using Range = Kokkos::RangePolicy<rt_kokkos::Exec, Kokkos::IndexType<int64_t>>;

enum {
    SHARE = on_host ? 1 : 32, /* indices of a row */
    BLOCK = 6                 /* xx yy zz xy yz zx of a symmetric 3x3 block */
};

struct Data {
    rt_space_t space;
    float *inverse; /* [BLOCK][bare.plane] */
};

const Data *data_of(const gfnn_view_t *view)
{
    return static_cast<const Data *>(view->data);
}

/* --- rows --- */

struct Rows {
    lines_t fine, wide, bare;
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

/* What an index has to do: i = first, first + SHARE, ... of row (j, k). */
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

/* body(place on `fine`, place on `wide`) of all values. It is copied first: of what lies in memory
 * a compiler fears that the loop changes it. */
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

/* The sum of what body returns. */
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

/* The largest; not wanted in every iteration. */
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

struct None {
}; /* it gets nothing */

KOKKOS_FORCEINLINE_FUNCTION void put(None *, int64_t, double)
{
}
KOKKOS_FORCEINLINE_FUNCTION void put(float *low, int64_t at, double value)
{
    low[at] = static_cast<float>(value);
}
/* As gfnn_to_half, for any processor: to the nearest, ties to even; above 65504 infinite. */
KOKKOS_FORCEINLINE_FUNCTION void put(uint16_t *low, int64_t at, double value)
{
    const float single = static_cast<float>(value);
    uint32_t bits, shifted;
    memcpy(&bits, &single, sizeof bits);
    const uint32_t size = bits & 0x7fffffffu;
    const uint32_t normal = (size - (112u << 23) + 0xfffu + (size >> 13 & 1u)) >> 13;
    /* beside 0.5 a float's last bit is worth 2^-24, as that of a denormal half is */
    const float beside = (single < 0 ? -single : single) + 0.5f;
    memcpy(&shifted, &beside, sizeof shifted);
    const uint32_t beyond = size > 0x7f800000u ? 0x7e00u : 0x7c00u;
    const uint32_t half = size >= 0x47800000u  ? beyond
                          : size < 0x38800000u ? shifted - 0x3f000000u
                                               : normal;
    low[at] = static_cast<uint16_t>(half | (bits >> 16 & 0x8000u));
}

template <class Low> struct Update {
    double alpha, scale;
    const double *q;
    double *r;
    Low *low;

    KOKKOS_FORCEINLINE_FUNCTION double operator()(int64_t at, int64_t wide) const
    {
        const double value = r[at] - alpha * q[at];
        r[at] = value;
        put(low, wide, scale * value);
        return value * value;
    }
};

double update(const gfnn_view_t *view, double alpha, const double *q, double *r, double scale,
              int precision, void *low)
{
    if (!low)
        return sum(view, Update<None>{alpha, scale, q, r, nullptr});
    if (precision == GFNN_FP16)
        return sum(view, Update<uint16_t>{alpha, scale, q, r, static_cast<uint16_t *>(low)});
    return sum(view, Update<float>{alpha, scale, q, r, static_cast<float *>(low)});
}

template <class Low> struct Pack {
    double scale;
    const double *r;
    Low *low;

    KOKKOS_FORCEINLINE_FUNCTION double operator()(int64_t at, int64_t wide) const
    {
        put(low, wide, scale * r[at]);
        return r[at] < 0 ? -r[at] : r[at];
    }
};

template <class Low> double pack(const gfnn_view_t *view, const double *r, double scale, Low *low)
{
    const Rows rows(view->box);
    double most = 0;
    Kokkos::parallel_reduce("gfnn vectors", range_of(rows),
                            Largest<Pack<Low>>{rows, {scale, r, low}}, Kokkos::Max<double>(most));
    return most;
}

double pack(const gfnn_view_t *view, const double *r, double scale, int precision, void *low)
{
    return precision == GFNN_FP16 ? pack(view, r, scale, static_cast<uint16_t *>(low))
                                  : pack(view, r, scale, static_cast<float *>(low));
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

void newmark_before(const gfnn_view_t *view, double dt, double rayleigh_a, double rayleigh_b,
                    const double *u, const double *v, const double *a, double *x1, double *x2)
{
    const double of_v = 4 / dt + rayleigh_a;
    each(
        view, KOKKOS_LAMBDA(int64_t at, int64_t) {
            const double velocity = v[at];
            x1[at] = a[at] + of_v * velocity;
            x2[at] = rayleigh_b * velocity - u[at];
        });
}

void newmark_after(const gfnn_view_t *view, double dt, const double *du, double *u, double *v,
                   double *a)
{
    const double f1 = 2 / dt, f2 = 4 / (dt * dt);
    each(
        view, KOKKOS_LAMBDA(int64_t at, int64_t) {
            const double change = du[at], velocity = v[at];
            u[at] += change;
            a[at] = f2 * change - 2 * f1 * velocity - a[at];
            v[at] = f1 * change - velocity;
        });
}

/* --- FP64 with FP32 --- */

/* z . r and z . q: two sums of one pass. */
struct Dots {
    Rows rows;
    const float *z;
    const double *r, *q;

    KOKKOS_INLINE_FUNCTION void operator()(int64_t index, double &zr, double &zq) const
    {
        const Row row(rows, index);
        const float *low = z;
        const double *one = r, *other = q;
        double first = 0, second = 0;
        for (int c = 0; c < 3; c++) {
            const int64_t fine = c * rows.fine.plane + rows.fine.at(0, row.j, row.k);
            const int64_t wide = c * rows.wide.plane + rows.wide.at(0, row.j, row.k);
            GFNN_SIMD(reduction(+ : first, second))
            for (int i = row.first; i < rows.n[0]; i += SHARE) {
                const double value = static_cast<double>(low[wide + i]);
                first += value * one[fine + i];
                second += value * other[fine + i];
            }
        }
        zr += first;
        zq += second;
    }
};

void dots(const gfnn_view_t *view, const float *z, const double *r, const double *q, double sums[2])
{
    const Rows rows(view->box);
    double zq;
    Kokkos::parallel_reduce("gfnn vectors", range_of(rows), Dots{rows, z, r, q ? q : r}, sums[0],
                            zq);
    sums[1] = q ? zq : 0;
}

/* z on `wide`, or r, which is T of `fine`. */
template <bool first, class T> struct Direction {
    double alpha;
    double *x;
    double scale;
    const T *z;
    double beta;
    double *p;

    KOKKOS_FORCEINLINE_FUNCTION void operator()(int64_t at, int64_t wide) const
    {
        const double next = scale * static_cast<double>(z[sizeof(T) == sizeof(double) ? at : wide]);
        const double before = first ? 0 : p[at], moved = first ? 0 : x[at] + alpha * before;
        if (!first)
            x[at] = moved;
        p[at] = first ? next : next + beta * before;
    }
};

template <class T>
void turn(const gfnn_view_t *view, double alpha, double *x, double scale, const T *z, double beta,
          double *p)
{
    if (alpha == 0 && beta == 0)
        each(view, Direction<true, T>{alpha, x, scale, z, beta, p});
    else
        each(view, Direction<false, T>{alpha, x, scale, z, beta, p});
}

void direction(const gfnn_view_t *view, double alpha, double *x, double scale, const float *z,
               double beta, double *p)
{
    turn(view, alpha, x, scale, z, beta, p);
}

void direction_plain(const gfnn_view_t *view, double alpha, double *x, const double *r, double beta,
                     double *p)
{
    turn(view, alpha, x, 1, r, beta, p);
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

/* out may be z or old: a value depends on its own place alone. */
template <bool with_z, bool with_old, bool with_y> struct Smooth {
    Rows rows;
    const float *inverse, *z;
    float a;
    const float *old;
    float omega;
    const float *r, *y;
    float *out;

    KOKKOS_FORCEINLINE_FUNCTION float from(const float *z0, float factor, const float *old0,
                                           int64_t at) const
    {
        const float here = with_z ? z0[at] : 0;
        return here + factor * (here - (with_old ? old0[at] : 0));
    }

    KOKKOS_INLINE_FUNCTION void operator()(int64_t index) const
    {
        const Row row(rows, index);
        const int64_t plane = rows.wide.plane, at = rows.wide.at(0, row.j, row.k);
        const float *D = inverse + rows.bare.at(0, row.j, row.k);
        const float *xx = D, *yy = D + rows.bare.plane, *zz = D + 2 * rows.bare.plane;
        const float *xy = D + 3 * rows.bare.plane, *yz = D + 4 * rows.bare.plane;
        const float *zx = D + 5 * rows.bare.plane;
        const float *r0 = r + at, *y0 = y + at, *z0 = z + at, *old0 = old + at;
        const float damping = omega, factor = a;
        float *to = out + at;
        GFNN_SIMD()
        for (int i = row.first; i < rows.n[0]; i += SHARE) {
            const int64_t j = i + plane, k = j + plane;
            const float d0 = r0[i] - (with_y ? y0[i] : 0);
            const float d1 = r0[j] - (with_y ? y0[j] : 0);
            const float d2 = r0[k] - (with_y ? y0[k] : 0);
            const float s0 = from(z0, factor, old0, i), s1 = from(z0, factor, old0, j);
            const float s2 = from(z0, factor, old0, k);
            to[i] = s0 + damping * (xx[i] * d0 + xy[i] * d1 + zx[i] * d2);
            to[j] = s1 + damping * (xy[i] * d0 + yy[i] * d1 + yz[i] * d2);
            to[k] = s2 + damping * (zx[i] * d0 + yz[i] * d1 + zz[i] * d2);
        }
    }
};

/* What there is not lies anywhere, say at r: it is not read. */
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

/* One pass of update and D^-1: on a CPU z is made from a row that is still in the cache, on a GPU
 * from what a thread has just written. If not `moves`, alpha is 0, and q is not read. */
template <bool moves> struct UpdateBj {
    Rows rows;
    const float *inverse;
    double alpha;
    const double *q;
    double *r;
    double scale;
    float *z;

    KOKKOS_FORCEINLINE_FUNCTION double move(const Row &row, int64_t at) const
    {
        const double *q0 = q + at, factor = alpha;
        double *r0 = r + at, sum = 0;
        GFNN_SIMD(reduction(+ : sum))
        for (int i = row.first; i < rows.n[0]; i += SHARE) {
            const double value = moves ? r0[i] - factor * q0[i] : r0[i];
            if (moves)
                r0[i] = value;
            sum += value * value;
        }
        return sum;
    }

    KOKKOS_FORCEINLINE_FUNCTION double solve(const Row &row, int64_t fine) const
    {
        const int64_t wide = rows.wide.at(0, row.j, row.k);
        const float *D = inverse + rows.bare.at(0, row.j, row.k);
        const float *xx = D, *yy = D + rows.bare.plane, *zz = D + 2 * rows.bare.plane;
        const float *xy = D + 3 * rows.bare.plane, *yz = D + 4 * rows.bare.plane;
        const float *zx = D + 5 * rows.bare.plane;
        const double *r0 = r + fine, *r1 = r0 + rows.fine.plane, *r2 = r1 + rows.fine.plane;
        float *z0 = z + wide, *z1 = z0 + rows.wide.plane, *z2 = z1 + rows.wide.plane;
        const double factor = scale;
        double sum = 0;
        GFNN_SIMD(reduction(+ : sum))
        for (int i = row.first; i < rows.n[0]; i += SHARE) {
            const float s0 = static_cast<float>(factor * r0[i]);
            const float s1 = static_cast<float>(factor * r1[i]);
            const float s2 = static_cast<float>(factor * r2[i]);
            const float d0 = xx[i] * s0 + xy[i] * s1 + zx[i] * s2;
            const float d1 = xy[i] * s0 + yy[i] * s1 + yz[i] * s2;
            const float d2 = zx[i] * s0 + yz[i] * s1 + zz[i] * s2;
            z0[i] = d0;
            z1[i] = d1;
            z2[i] = d2;
            sum += static_cast<double>(d0) * r0[i] + static_cast<double>(d1) * r1[i] +
                   static_cast<double>(d2) * r2[i];
        }
        return sum;
    }

    KOKKOS_INLINE_FUNCTION void operator()(int64_t index, double &rr, double &zr) const
    {
        const Row row(rows, index);
        const int64_t fine = rows.fine.at(0, row.j, row.k);
        for (int c = 0; c < 3; c++)
            rr += move(row, fine + c * rows.fine.plane);
        zr += solve(row, fine);
    }
};

void update_bj(const gfnn_view_t *view, double alpha, const double *q, double *r, double scale,
               float *z, double sums[2])
{
    const Rows rows(view->box);
    const float *inverse = data_of(view)->inverse;
    if (alpha != 0)
        Kokkos::parallel_reduce("gfnn vectors", range_of(rows),
                                UpdateBj<true>{rows, inverse, alpha, q, r, scale, z}, sums[0],
                                sums[1]);
    else
        Kokkos::parallel_reduce("gfnn vectors", range_of(rows),
                                UpdateBj<false>{rows, inverse, alpha, q, r, scale, z}, sums[0],
                                sums[1]);
}

/* --- ghosts --- */

/* An index has its share of a row with its ghosts, the rows that are all ghosts among them. */
template <class T> struct Wrap {
    lines_t lines;
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
        return i < 0 ? i + n[d] : i >= n[d] ? i - n[d] : i;
    }

    KOKKOS_INLINE_FUNCTION void operator()(int64_t index) const
    {
        const int row = static_cast<int>(index / SHARE), first = static_cast<int>(index % SHARE);
        const int j = row % (n[1] + 2 * width) - width, k = row / (n[1] + 2 * width) - width;
        const bool own = wrapped(1, j) == j && wrapped(2, k) == k;
        const int skipped = own ? n[0] : 0; /* own values: the ghosts before and after them only */
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

/* Are the first and last own layer of each direction on a mirror? */
struct Held {
    bool low[3], high[3];

    explicit Held(const gfnn_box_t *box)
    {
        for (int d = 0; d < 3; d++) {
            low[d] = box->faces == GFNN_MIRROR && box->first[d] == 0;
            high[d] = box->faces == GFNN_MIRROR && box->first[d] + box->n[d] == box->N[d];
        }
    }
    KOKKOS_FORCEINLINE_FUNCTION bool here(const Rows &rows, int d, int i) const
    {
        return (low[d] && i == 0) || (high[d] && i == rows.n[d] - 1);
    }
};

void hold_layer(const Rows &rows, int d, int layer, double *x, float *z)
{
    const int a = d == 0 ? 1 : 0, b = d == 2 ? 1 : 2, n = rows.n[a];
    Kokkos::parallel_for(
        "gfnn hold", Range(rt_kokkos::exec(), 0, static_cast<int64_t>(n) * rows.n[b]),
        KOKKOS_LAMBDA(int64_t node) {
            const int s = static_cast<int>(node % n), t = static_cast<int>(node / n);
            const int i = d == 0 ? layer : s, j = d == 1 ? layer : d == 0 ? s : t;
            const int k = d == 2 ? layer : t;
            if (x)
                x[d * rows.fine.plane + rows.fine.at(i, j, k)] = 0;
            if (z)
                z[d * rows.wide.plane + rows.wide.at(i, j, k)] = 0;
        });
}

/* The component normal to a face, on the face. */
void hold(const gfnn_view_t *view, double *x, float *z)
{
    const Rows rows(view->box);
    const Held held(view->box);
    for (int d = 0; d < 3; d++) {
        if (held.low[d])
            hold_layer(rows, d, 0, x, z);
        if (held.high[d])
            hold_layer(rows, d, rows.n[d] - 1, x, z);
    }
}

/* --- diagonal blocks --- */

/* What an element adds to the block of its corner: by the symmetry of the cube the same to all
 * three diagonal entries, and to the others one value, with the signs of the corner. */
struct entries_t {
    double diagonal, cross;
};

struct Invert {
    Rows rows;
    Held held;
    const uint8_t *id;
    const entries_t *entries;
    float *inverse;

    KOKKOS_FORCEINLINE_FUNCTION void block(int i, int j, int k, double D[BLOCK]) const
    {
        for (int b = 0; b < BLOCK; b++)
            D[b] = 0;
        for (int a = 0; a < 8; a++) { /* the element of which this node is corner a */
            const int x = a & 1, y = a >> 1 & 1, z = a >> 2;
            const entries_t part = entries[id[rows.wide.at(i - x, j - y, k - z)]];
            for (int c = 0; c < 3; c++)
                D[c] += part.diagonal;
            D[3] += x == y ? part.cross : -part.cross;
            D[4] += y == z ? part.cross : -part.cross;
            D[5] += z == x ? part.cross : -part.cross;
        }
    }

    /* The inverse of the block of what is not held; rows of what is are 0. */
    KOKKOS_FORCEINLINE_FUNCTION void node(int i, int j, int k, float *to) const
    {
        const bool here[3] = {held.here(rows, 0, i), held.here(rows, 1, j), held.here(rows, 2, k)};
        double D[BLOCK];
        block(i, j, k, D);
        for (int c = 0; c < 3; c++)
            if (here[c]) {
                D[c] = 1;
                D[3 + c] = D[3 + (c + 2) % 3] = 0; /* with the next, and the one before */
            }
        const double xx = D[1] * D[2] - D[4] * D[4];
        const double xy = D[4] * D[5] - D[3] * D[2];
        const double zx = D[3] * D[4] - D[1] * D[5];
        const double scale = 1 / (D[0] * xx + D[3] * xy + D[5] * zx);
        const double cofactors[BLOCK] = {here[0] ? 0 : xx,
                                         here[1] ? 0 : D[0] * D[2] - D[5] * D[5],
                                         here[2] ? 0 : D[0] * D[1] - D[3] * D[3],
                                         xy,
                                         D[3] * D[5] - D[0] * D[4],
                                         zx};
        for (int b = 0; b < BLOCK; b++)
            to[b * rows.bare.plane] = static_cast<float>(cofactors[b] * scale);
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
    entries_t entries[GFNN_MAX_IDS];
    for (int id = 0; id < GFNN_MAX_IDS; id++) {
        double A[24][24];
        gfnn_element_matrix(form, view->materials->w[id], view->materials->square[id], A);
        entries[id] = {A[0][0], A[0][1]};
    }
    data->space = rt_kokkos_space();
    data->inverse = RT_NEW(float, BLOCK *static_cast<size_t>(rows.bare.plane), data->space);
    entries_t *there =
        static_cast<entries_t *>(rt_clone(entries, GFNN_MAX_IDS, sizeof *entries, data->space));
    Kokkos::parallel_for("gfnn blocks", range_of(rows),
                         Invert{rows, Held(view->box), view->id, there, data->inverse});
    rt_kokkos_fence();
    RT_FREE(there, data->space);
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
    bytes[rt_kokkos_space()] += BLOCK * sizeof(float) * static_cast<double>(box->bare.plane) +
                                GFNN_MAX_IDS * sizeof(entries_t);
}

} // namespace

extern "C" const gfnn_vectors_t gfnn_vectors_kokkos = {
    fill,          fill32,  dot,   axpby,     update,
    update_bj,     pack,    dots,  direction, direction_plain,
    smooth32,      axpby32, dot32, narrow,    newmark_before,
    newmark_after, hold,    wrap,  set_up,    tear_down,
    memory};
