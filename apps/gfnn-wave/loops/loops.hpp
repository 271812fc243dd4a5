/*
 * loops.hpp - the loops over vectors, each written once for the CPU, CUDA and Kokkos: what it does
 * with V neighbours of a row. table.hpp has the functions that start them; rows.hpp, cuda/ and
 * kokkos/ run them.
 *
 * A loop is a struct with two methods, because a GPU loads several times before it stores:
 *
 *     get<V>(c, fine, wide)                      returns what it loads at these places
 *     put<V>(c, fine, wide, own, v, sums)        computes, and stores the first `own` values: the
 *                                                rest are ghosts
 *
 * c has the scalars of conjugate gradients in the loop's type `real`: alpha, beta, due, scale,
 * back = 1 / scale; and unit, per_unit = 1 / unit, is_due, and lower(..), which stores what the
 * preconditioner gets. sums.add(is it own?, ..) adds to the loop's sums. V is 1 but for CUDA.
 */
#ifndef GFNN_LOOPS_HPP
#define GFNN_LOOPS_HPP

#include "node.h"

/* --- values and places --- */

/* Own rows begin at multiples of 4 values. */
template <class T, int V> struct alignas(V * sizeof(T)) gfnn_pack_t {
    T at[V];
};
template <class T> constexpr int gfnn_wide = 16 / sizeof(T);

template <int V, class T> GFNN_FN gfnn_pack_t<T, V> gfnn_get(const T *x)
{
    if constexpr (V == 1)
        return {{*x}};
    else
        return *reinterpret_cast<const gfnn_pack_t<T, V> *>(x);
}

/* Stores the first `own` values. */
template <class T, int V> GFNN_FN void gfnn_put(T *x, int own, const gfnn_pack_t<T, V> &value)
{
    if (own >= V && V > 1)
        *reinterpret_cast<gfnn_pack_t<T, V> *>(x) = value;
    GFNN_UNROLL
    for (int e = 0; e < V - (V > 1); e++)
        if ((own < V || V == 1) && e < own)
            x[e] = value.at[e];
}

/* Where a vector of T has a value: doubles are on `fine`, others on `wide`. */
template <class T> GFNN_FN int64_t gfnn_offset(int64_t fine, int64_t wide)
{
    return sizeof(T) == sizeof(double) ? fine : wide;
}

/* Returns a value of z; CUDA adds its 16-bit type. */
template <class T> GFNN_FN T gfnn_as(float z)
{
    return z;
}

/* What is so unless a loop says otherwise. sums_: how many sums it leaves, in this stage. */
template <class T, int sums_ = 0, gfnn_stage_t stage_ = GFNN_STARTED> struct gfnn_loop_t {
    using real = T;
    static constexpr int V = gfnn_wide<T>, ahead = 1; /* for CUDA; loads before a store */
    static constexpr int sums = sums_;
    static constexpr gfnn_stage_t stage = stage_;
    static constexpr bool stops = false;    /* does nothing when the solve has ended */
    static constexpr bool only_due = false; /* does nothing if no step along p is due */
};

#define GFNN_GET template <int V, class C> GFNN_METHOD values_t<V> get
#define GFNN_PUT template <int V, class C, class S> GFNN_METHOD void put

/* --- conjugate gradients --- */

/* r = unit (f - y), x = 0, and what the preconditioner gets; r . r. begins: y is 0 and not read, and
 * there is no sum. */
template <bool begins, class T>
struct gfnn_renew_t : gfnn_loop_t<double, begins ? 0 : 1, GFNN_RENEWED> {
    static constexpr int ahead = 2;
    const double *f, *y;
    T *r, *x;
    template <int V> struct values_t {
        gfnn_pack_t<double, V> f, y;
    };

    GFNN_GET(const C &, int64_t fine, int64_t) const
    {
        return {gfnn_get<V>(f + fine), gfnn_get<V>((begins ? f : y) + fine)};
    }
    GFNN_PUT(const C &c, int64_t fine, int64_t wide, int own, values_t<V> &v, S &sums) const
    {
        const int64_t at = gfnn_offset<T>(fine, wide);
        gfnn_pack_t<float, V> low;
        gfnn_pack_t<T, V> rounded;
        GFNN_UNROLL
        for (int e = 0; e < V; e++) {
            const double value = c.unit * (begins ? v.f.at[e] : v.f.at[e] - v.y.at[e]);
            rounded.at[e] = static_cast<T>(value);
            low.at[e] = static_cast<float>(c.scale * value);
            sums.add(e < own, value * value, 0);
        }
        gfnn_put(r + at, own, rounded);
        gfnn_put(x + at, own, gfnn_pack_t<T, V>{});
        c.lower(wide, own, low);
    }
};

/* r -= alpha q, and what the preconditioner gets; r . r */
template <class T> struct gfnn_update_t : gfnn_loop_t<T, 1, GFNN_UPDATED> {
    static constexpr int ahead = 2;
    static constexpr bool stops = true;
    const T *q;
    T *r;
    template <int V> struct values_t {
        gfnn_pack_t<T, V> r, q;
    };

    GFNN_GET(const C &, int64_t fine, int64_t wide) const
    {
        const int64_t at = gfnn_offset<T>(fine, wide);
        return {gfnn_get<V>(r + at), gfnn_get<V>(q + at)};
    }
    GFNN_PUT(const C &c, int64_t fine, int64_t wide, int own, values_t<V> &v, S &sums) const
    {
        const T alpha = c.alpha, scale = c.scale;
        gfnn_pack_t<float, V> low;
        GFNN_UNROLL
        for (int e = 0; e < V; e++) {
            const T value = v.r.at[e] - alpha * v.q.at[e];
            v.r.at[e] = value;
            low.at[e] = static_cast<float>(scale * value);
            sums.add(e < own, static_cast<double>(value) * static_cast<double>(value), 0);
        }
        gfnn_put(r + gfnn_offset<T>(fine, wide), own, v.r);
        c.lower(wide, own, low);
    }
};

/* z . r and, if `two`, z . q; Z: float, or 16 bits */
template <bool two, class T, class Z>
struct gfnn_dots_t : gfnn_loop_t<T, two ? 2 : 1, GFNN_PRECONDITIONED> {
    const Z *z;
    const T *r, *q;
    template <int V> struct values_t {
        gfnn_pack_t<Z, V> z;
        gfnn_pack_t<T, V> r, q;
    };

    GFNN_GET(const C &, int64_t fine, int64_t wide) const
    {
        const int64_t at = gfnn_offset<T>(fine, wide);
        return {gfnn_get<V>(z + wide), gfnn_get<V>(r + at), gfnn_get<V>((two ? q : r) + at)};
    }
    GFNN_PUT(const C &, int64_t, int64_t, int own, values_t<V> &v, S &sums) const
    {
        GFNN_UNROLL
        for (int e = 0; e < V; e++) {
            const double value = e < own ? gfnn_as<float>(v.z.at[e]) : 0;
            sums.add(e < own, value * static_cast<double>(v.r.at[e]),
                     two ? value * static_cast<double>(v.q.at[e]) : 0);
        }
    }
};

/* At one value of z, scaled back: x += due p, and the next p. first: there is no x and no p yet. */
template <class T> GFNN_FN void gfnn_turn(bool first, T z, T due, T beta, T *x, T *p)
{
    *x += due * *p;
    *p = first ? z : z + beta * *p;
}

/* x += due p, p = z / scale + beta p. Z: float or 16 bits. Everything is read before
 * anything is written: where pages begin alike, a store seems to meet a load. */
template <bool first, class T, class Z> struct gfnn_direction_t : gfnn_loop_t<T> {
    static constexpr bool stops = true;
    T *x;
    const Z *z;
    T *p;
    template <int V> struct values_t {
        gfnn_pack_t<Z, V> z;
        gfnn_pack_t<T, V> p, x;
    };

    GFNN_GET(const C &, int64_t fine, int64_t wide) const
    {
        using pack_t = gfnn_pack_t<T, V>;
        const int64_t at = gfnn_offset<T>(fine, wide);
        return {gfnn_get<V>(z + wide), first ? pack_t{} : gfnn_get<V>(p + at),
                first ? pack_t{} : gfnn_get<V>(x + at)};
    }
    GFNN_PUT(const C &c, int64_t fine, int64_t wide, int own, values_t<V> &v, S &) const
    {
        const int64_t at = gfnn_offset<T>(fine, wide);
        const T due = c.due, beta = c.beta;
        GFNN_UNROLL
        for (int e = 0; e < V; e++) {
            const T z_of_r = c.back * gfnn_as<T>(v.z.at[e]);
            gfnn_turn(first, z_of_r, due, beta, &v.x.at[e], &v.p.at[e]);
        }
        if (!first)
            gfnn_put(x + at, own, v.x);
        gfnn_put(p + at, own, v.p);
    }
};

/* du += due p: x in FP64 is du. */
struct gfnn_arrive_t : gfnn_loop_t<double> {
    static constexpr int ahead = 2;
    static constexpr bool only_due = true;
    const double *p;
    double *du;
    template <int V> struct values_t {
        gfnn_pack_t<double, V> du, p;
    };

    GFNN_GET(const C &, int64_t fine, int64_t) const
    {
        return {gfnn_get<V>(du + fine), gfnn_get<V>(p + fine)};
    }
    GFNN_PUT(const C &c, int64_t fine, int64_t, int own, values_t<V> &v, S &) const
    {
        GFNN_UNROLL
        for (int e = 0; e < V; e++)
            v.du.at[e] += c.due * v.p.at[e];
        gfnn_put(du + fine, own, v.du);
    }
};

/* du += (x + due p) / unit; first: du is set. If nothing is due, p is not read. */
template <bool first> struct gfnn_add_up_t : gfnn_loop_t<double> {
    static constexpr int ahead = 2;
    const float *x, *p;
    double *du;
    template <int V> struct values_t {
        gfnn_pack_t<double, V> du;
        gfnn_pack_t<float, V> x, p;
    };

    GFNN_GET(const C &c, int64_t fine, int64_t wide) const
    {
        return {first ? gfnn_pack_t<double, V>{} : gfnn_get<V>(du + fine), gfnn_get<V>(x + wide),
                c.is_due ? gfnn_get<V>(p + wide) : gfnn_pack_t<float, V>{}};
    }
    GFNN_PUT(const C &c, int64_t fine, int64_t, int own, values_t<V> &v, S &) const
    {
        GFNN_UNROLL
        for (int e = 0; e < V; e++)
            v.du.at[e] += (v.x.at[e] + c.due * v.p.at[e]) * c.per_unit;
        gfnn_put(du + fine, own, v.du);
    }
};

/* --- the others, without scalars --- */

/* x = value */
template <class T> struct gfnn_fill_t : gfnn_loop_t<T> {
    T value, *x;
    template <int V> struct values_t {
    };

    GFNN_GET(const C &, int64_t, int64_t) const
    {
        return {};
    }
    GFNN_PUT(const C &, int64_t fine, int64_t wide, int own, values_t<V> &, S &) const
    {
        gfnn_pack_t<T, V> v;
        GFNN_UNROLL
        for (int e = 0; e < V; e++)
            v.at[e] = value;
        gfnn_put(x + gfnn_offset<T>(fine, wide), own, v);
    }
};

/* x . y */
template <class T> struct gfnn_dot_t : gfnn_loop_t<T, 1> {
    static constexpr int ahead = 2;
    const T *x, *y;
    template <int V> struct values_t {
        gfnn_pack_t<T, V> x, y;
    };

    GFNN_GET(const C &, int64_t fine, int64_t wide) const
    {
        const int64_t at = gfnn_offset<T>(fine, wide);
        return {gfnn_get<V>(x + at), gfnn_get<V>(y + at)};
    }
    GFNN_PUT(const C &, int64_t, int64_t, int own, values_t<V> &v, S &sums) const
    {
        GFNN_UNROLL
        for (int e = 0; e < V; e++)
            sums.add(e < own, static_cast<double>(v.x.at[e]) * static_cast<double>(v.y.at[e]), 0);
    }
};

/* y = a x + b y. As in BLAS, y is not read if b is 0 (not with_y): it may be NaN. */
template <bool with_y> struct gfnn_axpby_t : gfnn_loop_t<double> {
    double a, b;
    const double *x;
    double *y;
    template <int V> struct values_t {
        gfnn_pack_t<double, V> x, y;
    };

    GFNN_GET(const C &, int64_t fine, int64_t) const
    {
        return {gfnn_get<V>(x + fine), gfnn_get<V>((with_y ? y : x) + fine)};
    }
    GFNN_PUT(const C &, int64_t fine, int64_t, int own, values_t<V> &v, S &) const
    {
        GFNN_UNROLL
        for (int e = 0; e < V; e++)
            v.y.at[e] = with_y ? a * v.x.at[e] + b * v.y.at[e] : a * v.x.at[e];
        gfnn_put(y + fine, own, v.y);
    }
};

/* low = x in 16 bits; rows of such a vector do not begin where those of x do (GFNN_LOW_SKIP). */
struct gfnn_to_half_t : gfnn_loop_t<float> {
    static constexpr int V = 1, ahead = 4;
    const float *x;
    uint16_t *low;
    template <int V> using values_t = gfnn_pack_t<float, V>;

    GFNN_GET(const C &, int64_t, int64_t wide) const
    {
        return gfnn_get<V>(x + wide);
    }
    GFNN_PUT(const C &, int64_t, int64_t wide, int own, values_t<V> &v, S &) const
    {
        if (own > 0)
            low[wide] = gfnn_to_half(v.at[0]);
    }
};

/* Newmark, before a solve: x1 and x2, as gfnn_vectors_t has them. of_v = 4/dt + rayleigh_a */
struct gfnn_before_t : gfnn_loop_t<double> {
    double of_v, rayleigh_b;
    const double *u, *v, *a;
    double *x1, *x2;
    template <int V> struct values_t {
        gfnn_pack_t<double, V> u, v, a;
    };

    GFNN_GET(const C &, int64_t fine, int64_t) const
    {
        return {gfnn_get<V>(u + fine), gfnn_get<V>(v + fine), gfnn_get<V>(a + fine)};
    }
    GFNN_PUT(const C &, int64_t fine, int64_t, int own, values_t<V> &s, S &) const
    {
        gfnn_pack_t<double, V> to1, to2;
        GFNN_UNROLL
        for (int e = 0; e < V; e++) {
            to1.at[e] = s.a.at[e] + of_v * s.v.at[e];
            to2.at[e] = rayleigh_b * s.v.at[e] - s.u.at[e];
        }
        gfnn_put(x1 + fine, own, to1);
        gfnn_put(x2 + fine, own, to2);
    }
};

/* And after it: u, v and a. f1 = 2/dt, f2 = 4/dt^2 */
struct gfnn_after_t : gfnn_loop_t<double> {
    double f1, f2;
    const double *du;
    double *u, *v, *a;
    template <int V> struct values_t {
        gfnn_pack_t<double, V> du, u, v, a;
    };

    GFNN_GET(const C &, int64_t fine, int64_t) const
    {
        return {gfnn_get<V>(du + fine), gfnn_get<V>(u + fine), gfnn_get<V>(v + fine),
                gfnn_get<V>(a + fine)};
    }
    GFNN_PUT(const C &, int64_t fine, int64_t, int own, values_t<V> &s, S &) const
    {
        GFNN_UNROLL
        for (int e = 0; e < V; e++) {
            s.u.at[e] += s.du.at[e];
            s.a.at[e] = f2 * s.du.at[e] - 2 * f1 * s.v.at[e] - s.a.at[e];
            s.v.at[e] = f1 * s.du.at[e] - s.v.at[e];
        }
        gfnn_put(u + fine, own, s.u);
        gfnn_put(a + fine, own, s.a);
        gfnn_put(v + fine, own, s.v);
    }
};

#undef GFNN_GET
#undef GFNN_PUT

#endif
