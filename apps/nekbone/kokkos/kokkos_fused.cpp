/*
 * kokkos_fused.cpp - conjugate gradients in one pass over the elements, through Kokkos.
 *
 * Idea: Algorithm 5 of Kronbichler et al., as in `cpu-fused` and `onepass`: a team updates x, r and
 * p of its element, applies the operator and forms the element's part of every sum while they are
 * near. alpha and beta are formed and stay where the arrays are, so on one rank the host waits for
 * nothing but the end of the solve. One text (cpu/fused.h) updates the points, here those of a
 * column, which a member of a team has in registers. On a CPU the solve is that of cpu-fused, with
 * loops over elements that Kokkos runs.
 *
 * Advantage: portable, and 14 values per point instead of 22 between memory and processor, the
 * gather-scatter apart. The sums do not depend on the number of threads.
 *
 * Price: v is read once more for v.v, which onepass has for nothing inside an element. Where beta is
 * tiny, the recurrence for |r|^2 has lost digits: the next pass sums it anew, but that one step is
 * not as good. Several ranks gather and scatter by the lists of the halo, and add up on the host.
 */
#include "config.h"
#include "element.hpp"
#include "../cpu/fused.h"
#include <cmath>
#include <vector>

namespace
{

using nek_team::Member;

enum { RR, PV, RV, VV, SUMS };

} // namespace

/* The sums of an element, added up together. volatile: for Kokkos 3. */
struct nek_fused_sums {
    double of[SUMS] = {0, 0, 0, 0};
    KOKKOS_INLINE_FUNCTION void operator+=(const nek_fused_sums &other)
    {
        for (int s = 0; s < SUMS; s++)
            of[s] += other.of[s];
    }
    KOKKOS_INLINE_FUNCTION void operator+=(const volatile nek_fused_sums &other) volatile
    {
        for (int s = 0; s < SUMS; s++)
            of[s] = of[s] + other.of[s];
    }
};

template <> struct Kokkos::reduction_identity<nek_fused_sums> {
    KOKKOS_FORCEINLINE_FUNCTION static nek_fused_sums sum()
    {
        return {};
    }
};

namespace
{

using Sums = nek_fused_sums;

/* What the kernels see. */
struct Fused {
    int64_t elements, row, plane; /* row, plane: elements along x, of a layer in z */
    double lambda;
    const double *G, *c;
    const int32_t *like; /* [elements] the first element with the same weights, in cache */
    double *x, *r, *p, *v;
    double *sums;  /* [SUMS][elements]; the block of memory that total .. beta are in too */
    double *total; /* [SUMS] */
    double *rr, *alpha, *beta; /* [iterations + 1] */

    KOKKOS_INLINE_FUNCTION nek_step_t step(int it, bool last) const
    {
        return nek_fused_step(alpha, beta, it, last, lambda);
    }

    /* Leaves sums first .. last over the members of a team for element e. */
    KOKKOS_INLINE_FUNCTION void leave(const Member &team, int first, int last, int64_t e,
                                      Sums sums_of_member) const
    {
        Sums all = sums_of_member;
        team.team_reduce(Kokkos::Sum<Sums>(all));
        Kokkos::single(Kokkos::PerTeam(team), [&]() {
            for (int s = first; s <= last; s++)
                sums[s * elements + e] = all.of[s];
        });
    }

    /* Returns whether element e has a neighbour on this rank before it along d, and how many
     * elements that is away. */
    KOKKOS_INLINE_FUNCTION bool has_before(int d, int64_t e, int64_t *away) const
    {
        *away = d == 0 ? 1 : d == 1 ? row : plane;
        return d == 0 ? e % row != 0 : d == 1 ? e % plane >= row : e >= plane;
    }
};

/* The pass: a team has an element. A member loads all of its column before it stores
 * any, for the compiler cannot know that the arrays differ. */
template <int n> struct Pass {
    nek_team::Operator<n> A;
    Fused f;
    int it;

    KOKKOS_INLINE_FUNCTION void operator()(const Member &team) const
    {
        constexpr int n2 = n * n, n3 = n2 * n;
        const int64_t e = team.league_rank(), at = e * n3;
        const nek_step_t step = f.step(it, false);
        const double *c = f.c + static_cast<int64_t>(f.like[e]) * n3;
        double *x = f.x + at, *r = f.r + at, *p = f.p + at, *v = f.v + at;
        Sums sums;
        A.apply(
            team, f.G + 6 * at,
            [&](int t, double *pk) {
                double rk[n], vk[n], xk[n];
                NEK_UNROLL
                for (int k = 0; k < n; k++) {
                    rk[k] = r[k * n2 + t];
                    vk[k] = v[k * n2 + t];
                    pk[k] = p[k * n2 + t];
                    xk[k] = step.x_p != 0 ? x[k * n2 + t] : 0;
                }
                NEK_UNROLL
                for (int k = 0; k < n; k++)
                    sums.of[RR] +=
                        nek_fused_update(1, &step, &c[k * n2 + t], &vk[k], &xk[k], &rk[k], &pk[k]);
                NEK_UNROLL
                for (int k = 0; k < n; k++) {
                    r[k * n2 + t] = rk[k];
                    p[k * n2 + t] = pk[k];
                    if (step.x_p != 0)
                        x[k * n2 + t] = xk[k];
                }
            },
            [&](int t, const double *pk, double *wk) {
                double rk[n], ck[n];
                NEK_UNROLL
                for (int k = 0; k < n; k++) {
                    rk[k] = r[k * n2 + t];
                    ck[k] = c[k * n2 + t];
                }
                NEK_UNROLL
                for (int k = 0; k < n; k++) {
                    nek_fused_shift(1, step.lambda, &ck[k], &rk[k], &pk[k], &wk[k], &sums.of[PV],
                                    &sums.of[RV]);
                    v[k * n2 + t] = wk[k];
                }
            });
        f.leave(team, RR, RV, e, sums);
    }
};

/* Sums the faces along d between elements and those before them, if there are: index i is a point of
 * a face. */
template <int n, int d> struct Faces {
    Fused f;
    KOKKOS_INLINE_FUNCTION void operator()(int64_t i) const
    {
        constexpr int n2 = n * n, n3 = n2 * n;
        constexpr int along = d == 0 ? n : 1, across = d == 2 ? n : n2,
                      through = d == 0   ? 1
                                : d == 1 ? n
                                         : n2;
        const int q = static_cast<int>(i % n2);
        const int64_t e = i / n2;
        int64_t away;
        if (!f.has_before(d, e, &away))
            return;
        double *here = f.v + e * n3 + q / n * across + q % n * along;
        double *there = here - away * n3 + (n - 1) * through;
        *here = *there = *there + *here;
    }
};

/* v.v of the assembled v; or, `last`, what x still lacks, the last r, and r.r. */
template <int n> struct Norm {
    Fused f;
    int it;
    bool last;
    KOKKOS_INLINE_FUNCTION void operator()(const Member &team) const
    {
        constexpr int n3 = n * n * n;
        const int64_t e = team.league_rank(), at = e * n3;
        const double *c = f.c + static_cast<int64_t>(f.like[e]) * n3, *v = f.v + at;
        Sums sums;
        if (last) {
            const nek_step_t t = f.step(it, true);
            Kokkos::parallel_for(Kokkos::TeamThreadRange(team, n3), [&](int q) {
                sums.of[RR] +=
                    nek_fused_finish(1, &t, c + q, v + q, f.p + at + q, f.x + at + q, f.r + at + q);
            });
        } else {
            Kokkos::parallel_for(Kokkos::TeamThreadRange(team, n3), [&](int q) {
                sums.of[VV] += nek_points_dot(1, c + q, v + q, v + q);
            });
        }
        f.leave(team, last ? RR : VV, last ? RR : VV, e, sums);
    }
};

/* Adds up the elements' sums, and forms the scalars from the totals, as one team. */
struct Scalars {
    Fused f;
    int it;
    bool add_up, form, last;
    KOKKOS_INLINE_FUNCTION void operator()(const Member &team) const
    {
        Sums all;
        if (add_up)
            Kokkos::parallel_reduce(
                Kokkos::TeamThreadRange(team, static_cast<int>(f.elements)),
                [&](int e, Sums &part) {
                    for (int s = 0; s < SUMS; s++)
                        part.of[s] += f.sums[s * f.elements + e];
                },
                Kokkos::Sum<Sums>(all));
        Kokkos::single(Kokkos::PerTeam(team), [&]() {
            for (int s = 0; s < SUMS && add_up; s++)
                f.total[s] = all.of[s];
            if (form)
                set();
        });
    }

    /* |r - alpha v|^2 = r.r - 2 alpha r.v + alpha^2 v.v. After convergence to the last bit p may
     * vanish; a step of zero keeps x. */
    KOKKOS_INLINE_FUNCTION void set() const
    {
        const double rr = f.total[RR], pv = f.total[PV], alpha = pv > 0 ? rr / pv : 0;
        const double next = rr - 2 * alpha * f.total[RV] + alpha * alpha * f.total[VV];
        f.rr[it] = rr;
        if (last)
            return;
        f.alpha[it] = alpha;
        f.beta[it + 1] = rr > 0 && next > 0 ? next / rr : 0;
    }
};

/* --- the solve --- */

void scalars(const Fused &f, int it, bool last)
{
    constexpr int team = rt_kokkos::on_host ? 1 : 1024;
    const Kokkos::TeamPolicy<rt_kokkos::Exec> policy(rt_kokkos::exec(), 1, team);
    const bool alone = rt_comm_size() == 1;
    Kokkos::parallel_for("scalars", policy, Scalars{f, it, true, alone, last});
    if (alone)
        return;
    double total[SUMS];
    rt_copy(total, RT_HOST, f.total, rt_kokkos_space(), sizeof total);
    rt_comm_sum(total, SUMS);
    rt_copy(f.total, rt_kokkos_space(), total, RT_HOST, sizeof total);
    Kokkos::parallel_for("scalars", policy, Scalars{f, it, false, true, last});
}

template <int n, int d> void sum_faces(const Fused &f)
{
    Kokkos::parallel_for("faces",
                         Kokkos::RangePolicy<rt_kokkos::Exec, Kokkos::IndexType<int64_t>>(
                             rt_kokkos::exec(), 0, f.elements * n * n),
                         Faces<n, d>{f});
}

template <int n> void iterate(nek_solver_t *s, const Fused &f)
{
    using A = nek_team::Operator<n>;
    for (int it = 0; it < s->iterations; it++) {
        rt_timer_start("pass", RT_KOKKOS);
        nek_team::launch<n>("pass", f.elements, A::scratch, Pass<n>{A(&s->view), f, it});
        rt_timer_stop("pass");
        rt_timer_start("gather-scatter", RT_KOKKOS);
        if (s->halo && rt_comm_size() == 1) {
            sum_faces<n, 0>(f);
            sum_faces<n, 1>(f);
            sum_faces<n, 2>(f);
        } else if (s->halo) {
            rt_field_t field = rt_field_f64(f.v);
            rt_halo_do(s->halo, RT_HALO_SUM, &field);
        }
        nek_team::launch<n>("norm", f.elements, 0, Norm<n>{f, it, false});
        scalars(f, it, false);
        rt_timer_stop("gather-scatter");
    }
    rt_timer_start("last update", RT_KOKKOS);
    nek_team::launch<n>("last update", f.elements, 0, Norm<n>{f, s->iterations, true});
    scalars(f, s->iterations, true);
    rt_timer_stop("last update");
}

void cg(nek_solver_t *s)
{
    if (nek_team::is_vector(&s->view))
        return nek_fused_cg(s, true);
    const Fused &f = *static_cast<const Fused *>(s->data);
    const size_t bytes = static_cast<size_t>(s->view.points) * sizeof(double);
    const size_t count = static_cast<size_t>(s->iterations);
    rt_copy(f.r, s->space, s->b, s->space, bytes);
    rt_fill(f.x, s->space, 0, bytes);
    rt_fill(f.p, s->space, 0, bytes);
    rt_fill(f.v, s->space, 0, bytes);
    rt_fill(f.beta, s->space, 0, sizeof *f.beta);
    nek_fixed_n<NEK_MAX_N>(s->view.n, [&](auto n) { iterate<n()>(s, f); });
    rt_copy(s->history, RT_HOST, f.rr, s->space, (count + 1) * sizeof(double));
    rt_copy(s->alpha, RT_HOST, f.alpha, s->space, count * sizeof(double));
    rt_copy(s->beta, RT_HOST, f.beta, s->space, count * sizeof(double));
    for (size_t k = 0; k <= count; k++)
        s->history[k] = std::sqrt(s->history[k]);
}

size_t doubles_of(int64_t elements, int64_t iterations)
{
    return static_cast<size_t>(SUMS * (elements + 1) + 3 * (iterations + 1));
}

/* The loops of cpu-fused. */
void each(int64_t n, nek_fused_body_fn *body, const nek_fused_t *fused)
{
    rt_kokkos::host_for("fused", n, [=](int64_t i) { body(fused, i); });
}

void set_up(nek_solver_t *s)
{
    if (nek_team::is_vector(&s->view))
        return nek_fused_set_up(s, each);
    const nek_view_t *view = &s->view;
    const nek_config_t *config = s->problem->config;
    const size_t elements = static_cast<size_t>(view->elements);
    std::vector<int32_t> like(elements);
    for (size_t e = 0; e < elements; e++)
        like[e] = static_cast<int32_t>(
            nek_like_element(config, s->problem->view.c, static_cast<int64_t>(e)));
    Fused &f = *RT_NEW(Fused, 1, RT_HOST);
    s->data = &f;
    f.elements = view->elements;
    f.row = config->local[0];
    f.plane = config->local[0] * config->local[1];
    f.lambda = s->lambda;
    f.G = view->G;
    f.c = view->c;
    f.like = static_cast<int32_t *>(rt_clone(like.data(), elements, sizeof(int32_t), s->space));
    f.x = s->x;
    f.r = s->r;
    f.p = s->p;
    f.v = s->w;
    f.sums = RT_NEW(double, doubles_of(view->elements, s->iterations), s->space);
    f.total = f.sums + SUMS * f.elements;
    f.rr = f.total + SUMS;
    f.alpha = f.rr + s->iterations + 1;
    f.beta = f.alpha + s->iterations + 1;
}

void tear_down(nek_solver_t *s)
{
    if (nek_team::is_vector(&s->view))
        return nek_fused_tear_down(s);
    const Fused *f = static_cast<const Fused *>(s->data);
    RT_FREE_ALL(s->space, f->like, f->sums);
    RT_FREE(s->data, RT_HOST);
}

void memory(const nek_config_t *config, double bytes[RT_SPACES])
{
    if (rt_kokkos::on_host)
        return nek_fused_memory(config, bytes);
    bytes[RT_HOST] += sizeof(Fused);
    bytes[rt_kokkos_space()] +=
        sizeof(double) *
            static_cast<double>(doubles_of(config->local_elements, config->iterations)) +
        sizeof(int32_t) * static_cast<double>(config->local_elements);
}

constexpr nek_kernels_t table()
{
    nek_kernels_t t = nek_team::table();
    t.cg = cg;
    t.set_up = set_up;
    t.tear_down = tear_down;
    t.memory = memory;
    return t;
}

} // namespace

RT_KOKKOS_TABLE(nek_kernels_t, nek_kokkos_fused, table());
