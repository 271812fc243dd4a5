/*
 * table.hpp - the functions of gfnn_loops_t, and those of gfnn_vectors_t that are loops of the same
 * kind, over a back end L, which runs a loop of loops.hpp:
 *
 *     L::run(view, loop)                      without scalars or sums
 *     L::sum(view, loop)                      returns its sum
 *     L::run_cg(view, cg, loop)               with the scalars of cg, in which it leaves its sums
 *     L::run_low(view, cg, loop, precision, low)     the same, and what the preconditioner gets
 *     L::half                                 what a 16-bit z is in its loops; void: there is none
 *
 * The rest of L are functions of the tables themselves.
 */
#ifndef GFNN_TABLE_HPP
#define GFNN_TABLE_HPP

#include <type_traits>
#include "loops.hpp"

/* Loops over x, p, q and r of type T. */
template <class L, class T> struct gfnn_loops_of {
    static void renew(const gfnn_view_t *view, gfnn_cg_t *cg, const double *f, const double *y,
                      void *r, void *x, int precision, void *low)
    {
        T *to = static_cast<T *>(r), *zero = static_cast<T *>(x);
        if (y)
            L::run_low(view, cg, gfnn_renew_t<false, T>{{}, f, y, to, zero}, precision, low);
        else
            L::run_low(view, cg, gfnn_renew_t<true, T>{{}, f, f, to, zero}, precision, low);
    }
    static void update(const gfnn_view_t *view, gfnn_cg_t *cg, const void *q, void *r,
                       int precision, void *low)
    {
        const gfnn_update_t<T> loop = {{}, static_cast<const T *>(q), static_cast<T *>(r)};
        L::run_low(view, cg, loop, precision, low);
    }
    /* z is given as 32 or 16 bits, which are a Z. */
    template <class Given, class Z = Given>
    static void dots(const gfnn_view_t *view, gfnn_cg_t *cg, const Given *given, const void *r,
                     const void *q)
    {
        const Z *z = reinterpret_cast<const Z *>(given);
        const T *of_r = static_cast<const T *>(r), *of_q = static_cast<const T *>(q);
        if (q)
            L::run_cg(view, cg, gfnn_dots_t<true, T, Z>{{}, z, of_r, of_q});
        else
            L::run_cg(view, cg, gfnn_dots_t<false, T, Z>{{}, z, of_r, of_r});
    }
    template <class Given, class Z = Given>
    static void direction(const gfnn_view_t *view, const gfnn_cg_t *cg, bool first, void *x,
                          const Given *given, void *p)
    {
        const Z *z = reinterpret_cast<const Z *>(given);
        T *to = static_cast<T *>(x), *along = static_cast<T *>(p);
        if (first)
            L::run_cg(view, cg, gfnn_direction_t<true, T, Z>{{}, to, z, along});
        else
            L::run_cg(view, cg, gfnn_direction_t<false, T, Z>{{}, to, z, along});
    }
    static void arrive(const gfnn_view_t *view, const gfnn_cg_t *cg, bool first, const void *x,
                       const void *p, double *du)
    {
        const float *of_x = static_cast<const float *>(x), *of_p = static_cast<const float *>(p);
        if (sizeof(T) == sizeof(double))
            L::run_cg(view, cg, gfnn_arrive_t{{}, static_cast<const double *>(p), du});
        else if (first)
            L::run_cg(view, cg, gfnn_add_up_t<true>{{}, of_x, of_p, du});
        else
            L::run_cg(view, cg, gfnn_add_up_t<false>{{}, of_x, of_p, du});
    }

    static constexpr gfnn_loops_t table()
    {
        gfnn_loops_t t = {};
        t.renew = renew;
        t.update = update;
        t.update_bj = L::template update_bj<T>;
        t.dots = dots<float>;
        t.direction = direction<float>;
        t.arrive = arrive;
        if constexpr (!std::is_void_v<typename L::half>) {
            t.dots_low = dots<uint16_t, typename L::half>;
            t.direction_low = direction<uint16_t, typename L::half>;
        }
        return t;
    }
};

/* The whole table of a back end. */
template <class L> struct gfnn_vectors_of_back_end {
    static constexpr gfnn_loops_t in_double = gfnn_loops_of<L, double>::table();
    static constexpr gfnn_loops_t in_single = gfnn_loops_of<L, float>::table();

    static void fill(const gfnn_view_t *view, gfnn_type_t type, double value, void *x)
    {
        if (type == GFNN_DOUBLE)
            L::run(view, gfnn_fill_t<double>{{}, value, static_cast<double *>(x)});
        else
            L::run(view,
                   gfnn_fill_t<float>{{}, static_cast<float>(value), static_cast<float *>(x)});
    }
    template <class T> static double dot_of(const gfnn_view_t *view, const void *x, const void *y)
    {
        const T *of_x = static_cast<const T *>(x), *of_y = static_cast<const T *>(y);
        return L::sum(view, gfnn_dot_t<T>{{}, of_x, of_y});
    }
    static double dot(const gfnn_view_t *view, gfnn_type_t type, const void *x, const void *y)
    {
        return type == GFNN_DOUBLE ? dot_of<double>(view, x, y) : dot_of<float>(view, x, y);
    }
    static void axpby(const gfnn_view_t *view, double a, const double *x, double b, double *y)
    {
        if (b != 0)
            L::run(view, gfnn_axpby_t<true>{{}, a, b, x, y});
        else
            L::run(view, gfnn_axpby_t<false>{{}, a, b, x, y});
    }
    static void to_half(const gfnn_view_t *view, const float *x, void *low)
    {
        L::run(view, gfnn_to_half_t{{}, x, static_cast<uint16_t *>(low)});
    }
    static void newmark_before(const gfnn_view_t *view, double dt, double rayleigh_a,
                               double rayleigh_b, const double *u, const double *v, const double *a,
                               double *x1, double *x2)
    {
        L::run(view, gfnn_before_t{{}, 4 / dt + rayleigh_a, rayleigh_b, u, v, a, x1, x2});
    }
    static void newmark_after(const gfnn_view_t *view, double dt, const double *du, double *u,
                              double *v, double *a)
    {
        L::run(view, gfnn_after_t{{}, 2 / dt, 4 / (dt * dt), du, u, v, a});
    }

    static constexpr gfnn_vectors_t table()
    {
        gfnn_vectors_t t = {};
        t.scalars = L::scalars;
        t.loops[GFNN_DOUBLE] = &in_double;
        t.loops[GFNN_SINGLE] = &in_single;
        t.fill = fill;
        t.dot = dot;
        t.axpby = axpby;
        t.add = L::add;
        t.start = L::start;
        t.smooth32 = L::smooth32;
        t.to_half = to_half;
        t.newmark_before = newmark_before;
        t.newmark_after = newmark_after;
        t.wrap = L::wrap;
        t.set_up = L::set_up;
        t.tear_down = L::tear_down;
        t.memory = L::memory;
        t.share = L::share;
        t.unshare = L::unshare;
        return t;
    }
};

#endif
