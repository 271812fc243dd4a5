/*
 * vectors.cpp - the loops of conjugate gradients that have neither A nor P nor D, and Newmark's, in
 * Kokkos.
 *
 * Each is one RangePolicy over rows (rows.hpp) and one pass through memory, over the arithmetic of
 * node.h. What can share a pass does: r, r . r and the 16-bit copy of r for the predictor are one
 * pass; so are r, z of the diagonal blocks and both sums; and x with the next p.
 */
#include "config.h"
#include <type_traits>
#include "rows.hpp"

namespace
{

using namespace gfnn_kokkos;

/* --- loops over rows --- */

/* Calls body(place on `fine`, place on `wide`) for all values. The body is copied first: a compiler
 * must assume that the loop changes what is in memory. */
template <class Body> struct Each {
    Rows rows;
    Body body;

    KOKKOS_INLINE_FUNCTION void operator()(int64_t index) const
    {
        const Body here = body;
        const int n = rows.n[0];
        each_line(rows, index, [=](int first, int64_t fine, int64_t wide) {
            GFNN_SIMD()
            for (int i = first; i < n; i += SHARE)
                here(fine + i, wide + i);
        });
    }
};

/* Sums up what body.put(places, body.get(places)) returns. On a GPU several values are loaded before
 * one is stored: a compiler cannot know that the next load does not read what was stored. */
template <class T, class Body> struct Ahead {
    static constexpr int ahead = 16 / sizeof(T);
    Rows rows;
    Body body;

    KOKKOS_FORCEINLINE_FUNCTION static double part(const Body &here, int n, int64_t fine,
                                                   int64_t wide, int first)
    {
        decltype(here.get(fine, wide)) value[ahead];
        double sum = 0;
        GFNN_UNROLL
        for (int a = 0; a < ahead; a++)
            if (first + a * SHARE < n)
                value[a] = here.get(fine + first + a * SHARE, wide + first + a * SHARE);
        GFNN_UNROLL
        for (int a = 0; a < ahead; a++)
            if (first + a * SHARE < n)
                sum += here.put(fine + first + a * SHARE, wide + first + a * SHARE, value[a]);
        return sum;
    }
    template <bool sums> KOKKOS_FORCEINLINE_FUNCTION double sum_of_row(int64_t index) const
    {
        const Body here = body;
        const int n = rows.n[0];
        double total = 0;
        each_line(rows, index, [=, &total](int first, int64_t fine, int64_t wide) {
            double sum = 0;
            if constexpr (on_host) {
                GFNN_SIMD(reduction(+ : sum))
                for (int i = 0; i < n; i++) {
                    const double of = here.put(fine + i, wide + i, here.get(fine + i, wide + i));
                    if (sums)
                        sum += of;
                }
            } else
                for (int i = first; i < n; i += ahead * SHARE)
                    sum += part(here, n, fine, wide, i);
            total += sum;
        });
        return total;
    }
    KOKKOS_INLINE_FUNCTION void operator()(int64_t index, double &total) const
    {
        total += sum_of_row<true>(index);
    }
    KOKKOS_INLINE_FUNCTION void operator()(int64_t index) const
    {
        sum_of_row<false>(index);
    }
};

/* Finds the largest value that body returns; not used in every iteration. */
template <class Body> struct Largest {
    Rows rows;
    Body body;

    KOKKOS_INLINE_FUNCTION void operator()(int64_t index, double &total) const
    {
        const Body here = body;
        const int n = rows.n[0];
        double most = total;
        each_line(rows, index, [=, &most](int first, int64_t fine, int64_t wide) {
            for (int i = first; i < n; i += SHARE) {
                const double size = here(fine + i, wide + i);
                most = size > most ? size : most;
            }
        });
        total = most;
    }
};

template <class Body> void each(const gfnn_view_t *view, const Body &body)
{
    const Rows rows(view->box);
    Kokkos::parallel_for("gfnn vectors", range_of(rows), Each<Body>{rows, body});
}

template <class T, class Body> void each_ahead(const gfnn_view_t *view, const Body &body)
{
    const Rows rows(view->box);
    Kokkos::parallel_for("gfnn vectors", range_of(rows), Ahead<T, Body>{rows, body});
}

template <class T, class Body> double sum(const gfnn_view_t *view, const Body &body)
{
    return sum_of(view, Ahead<T, Body>{Rows(view->box), body});
}

/* --- what the preconditioner gets --- */

/* The preconditioner gets nothing. */
struct None {
};

KOKKOS_FORCEINLINE_FUNCTION void put_low(None *, int64_t, double)
{
}
KOKKOS_FORCEINLINE_FUNCTION void put_low(float *low, int64_t at, double value)
{
    low[at] = static_cast<float>(value);
}
KOKKOS_FORCEINLINE_FUNCTION void put_low(uint16_t *low, int64_t at, double value)
{
    low[at] = gfnn_to_half(static_cast<float>(value));
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

    KOKKOS_FORCEINLINE_FUNCTION double get(int64_t fine, int64_t) const
    {
        return unit * (y ? f[fine] - y[fine] : f[fine]);
    }
    KOKKOS_FORCEINLINE_FUNCTION double put(int64_t fine, int64_t wide, double value) const
    {
        const int64_t at = place<T>(fine, wide);
        r[at] = static_cast<T>(value);
        x[at] = 0;
        put_low(low, wide, scale * value);
        return value * value;
    }
};

template <class T>
void renew(const gfnn_view_t *view, gfnn_cg_t *cg, const double *f, const double *y, void *r,
           void *x, int precision, void *low)
{
    fixed_low(precision, low, [&](auto *typed) {
        using Low = std::remove_pointer_t<decltype(typed)>;
        cg->sums[0] =
            sum<double>(view, Renew<T, Low>{cg->unit, cg->scale, f, y, static_cast<T *>(r),
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

    struct Value {
        T r, q;
    };
    KOKKOS_FORCEINLINE_FUNCTION Value get(int64_t fine, int64_t wide) const
    {
        const int64_t at = place<T>(fine, wide);
        return {r[at], q[at]};
    }
    KOKKOS_FORCEINLINE_FUNCTION double put(int64_t fine, int64_t wide, const Value &of) const
    {
        const int64_t at = place<T>(fine, wide);
        const T value = of.r - alpha * of.q;
        const double here = static_cast<double>(value);
        r[at] = value;
        put_low(low, wide, scale * here);
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
        const Update<T, Low> body = {static_cast<T>(cg->alpha), cg->scale,
                                     static_cast<const T *>(q), static_cast<T *>(r), typed};
        cg->sums[0] = sum<T>(view, body);
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

void to_half(const gfnn_view_t *view, const float *x, void *low)
{
    uint16_t *to = static_cast<uint16_t *>(low);
    each(
        view, KOKKOS_LAMBDA(int64_t, int64_t at) { put_low(to, at, x[at]); });
}

/* --- FP64 --- */

void fill(const gfnn_view_t *view, double value, double *x)
{
    each(
        view, KOKKOS_LAMBDA(int64_t at, int64_t) { x[at] = value; });
}

template <class T> struct Product {
    const T *x, *y;

    KOKKOS_FORCEINLINE_FUNCTION double get(int64_t fine, int64_t wide) const
    {
        const int64_t at = place<T>(fine, wide);
        return static_cast<double>(x[at]) * static_cast<double>(y[at]);
    }
    KOKKOS_FORCEINLINE_FUNCTION double put(int64_t, int64_t, double value) const
    {
        return value;
    }
};

double dot(const gfnn_view_t *view, const double *x, const double *y)
{
    return sum<double>(view, Product<double>{x, y});
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
        const float *low = z;
        const T *one = r, *other = q;
        const int n = rows.n[0];
        double first = 0, second = 0;
        each_line(rows, index, [=, &first, &second](int begin, int64_t fine, int64_t wide) {
            const int64_t at = place<T>(fine, wide);
            double of_r = 0, of_q = 0;
            GFNN_SIMD(reduction(+ : of_r, of_q))
            for (int i = begin; i < n; i += SHARE) {
                const double value = static_cast<double>(low[wide + i]);
                of_r += value * static_cast<double>(one[at + i]);
                of_q += value * static_cast<double>(other[at + i]);
            }
            first += of_r;
            second += of_q;
        });
        zr += first;
        zq += second;
    }
};

template <class T>
void dots(const gfnn_view_t *view, gfnn_cg_t *cg, const float *z, const void *r, const void *q)
{
    sums_of(
        view,
        Dots<T>{Rows(view->box), z, static_cast<const T *>(r), static_cast<const T *>(q ? q : r)},
        cg->sums);
    cg->sums[1] = q ? cg->sums[1] : 0;
}

/* Z: float on `wide`, or the type of r, which is in the place of z. */
template <bool first, class T, class Z> struct Direction {
    T due;
    T *x;
    T scale;
    const Z *z;
    T beta;
    T *p;

    struct Value {
        Z z;
        T p, x;
    };
    KOKKOS_FORCEINLINE_FUNCTION Value get(int64_t fine, int64_t wide) const
    {
        const int64_t at = place<T>(fine, wide);
        return {z[place<Z>(fine, wide)], first ? 0 : p[at], first ? 0 : x[at]};
    }
    KOKKOS_FORCEINLINE_FUNCTION double put(int64_t fine, int64_t wide, const Value &of) const
    {
        const int64_t at = place<T>(fine, wide);
        const T next = scale * static_cast<T>(of.z);
        if (!first)
            x[at] = of.x + due * of.p;
        p[at] = first ? next : next + beta * of.p;
        return 0;
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
        each_ahead<T>(view, Direction<true, T, Z>{due, to, scale, z, beta, along});
    else
        each_ahead<T>(view, Direction<false, T, Z>{due, to, scale, z, beta, along});
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

double dot32(const gfnn_view_t *view, const float *x, const float *y)
{
    return sum<float>(view, Product<float>{x, y});
}

/* --- set up --- */

size_t sums_on_host(const gfnn_box_t *box)
{
    return on_host ? 2 * static_cast<size_t>(box->n[1] * box->n[2]) : 0;
}

void set_up(gfnn_view_t *view, const gfnn_form_t *form)
{
    Data *data = RT_NEW(Data, 1, RT_HOST);
    data->space = rt_kokkos_space();
    data->inverse = inverse_new(view, form);
    data->sums = on_host ? RT_NEW(double, sums_on_host(view->box), RT_HOST) : nullptr;
    view->data = data;
}

void tear_down(gfnn_view_t *view)
{
    Data *data = static_cast<Data *>(view->data);
    if (!data)
        return;
    RT_FREE(data->inverse, data->space);
    RT_FREE(data->sums, RT_HOST);
    RT_FREE(data, RT_HOST);
    view->data = nullptr;
}

void memory(const gfnn_config_t *, const gfnn_box_t *box, double bytes[RT_SPACES])
{
    bytes[RT_HOST] += sizeof(Data) + sizeof(double) * static_cast<double>(sums_on_host(box));
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
    t.dot32 = dot32;
    t.to_half = to_half;
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
