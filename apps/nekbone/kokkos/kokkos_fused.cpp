/*
 * kokkos_fused.cpp - conjugate gradients in one pass over the elements, through Kokkos.
 *
 * Idea: Algorithm 5 of Kronbichler et al., as in `cpu-fused` and `onepass`: a team updates x, r and
 * p of its element, applies the operator and forms the element's part of every sum while they are
 * near. alpha and beta are formed and stay where the arrays are, so on one rank the host waits for
 * nothing but the end of the solve. One text (cpu/fused.h) updates the points: on a CPU all points
 * of an element as vectors, on a GPU the points of a column, which a member of a team has in
 * registers.
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
#include "../nekbone.h"
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
    const double *D, *Dt, *G, *c;
    const int32_t *like; /* [elements] the first element with the same weights, in cache */
    double *x, *r, *p, *v;
    double *sums;              /* [SUMS][elements] */
    double *total;             /* [SUMS] */
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

/* Sums neighbouring points, from a on, of line b of the face between element e and the element
 * before it along d, if there is one. */
template <int n, int d>
KOKKOS_INLINE_FUNCTION void sum_line(const Fused &f, int64_t e, int b, int a, int points)
{
    constexpr int n2 = n * n, n3 = n2 * n;
    constexpr int along = d == 0 ? n : 1, across = d == 2 ? n : n2,
                  through = d == 0   ? 1
                            : d == 1 ? n
                                     : n2;
    int64_t away;
    if (!f.has_before(d, e, &away))
        return;
    double *here = f.v + e * n3 + b * across + a * along;
    double *there = here - away * n3 + (n - 1) * through;
    NEK_SIMD()
    for (int i = 0; i < points; i++)
        here[i * along] = there[i * along] = there[i * along] + here[i * along];
}

/* The pass as vectors: a team has a row of elements along x, and sums the faces between them while
 * they are in cache. */
template <int n> struct RowPass {
    Fused f;
    int it;
    bool sums_faces;

    KOKKOS_INLINE_FUNCTION void operator()(const Member &team) const
    {
        constexpr int n3 = n * n * n;
        const nek_step_t t = f.step(it, false);
        const int64_t first = team.league_rank() * f.row;
        for (int64_t e = first; e < first + f.row; e++) {
            const double *c = f.c + static_cast<int64_t>(f.like[e]) * n3, *g = f.G + e * 6 * n3;
            double *r = f.r + e * n3, *p = f.p + e * n3, *v = f.v + e * n3;
            const nek_ahead_t next = {g + 6 * n3, {r + n3, p + n3, v + n3}};
            Sums sums;
            sums.of[RR] = nek_fused_update(n3, &t, c, v, f.x + e * n3, r, p);
            nek_tiles_element(n, f.D, f.Dt, g, p, v, e + 1 < f.elements ? &next : nullptr);
            nek_fused_shift(n3, t.lambda, c, r, p, v, &sums.of[PV], &sums.of[RV]);
            f.leave(team, RR, RV, e, sums);
            for (int b = 0; sums_faces && b < n; b++)
                sum_line<n, 0>(f, e, b, 0, n);
        }
    }
};

/* The pass by columns: a team has an element. A member loads all of its column before it stores
 * any, for the compiler cannot know that the arrays differ. */
template <int n> struct TeamPass {
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

/* Sums the faces along d: index i is an element, or a point of its face. */
template <int n, int d, bool vector> struct Faces {
    Fused f;
    KOKKOS_INLINE_FUNCTION void operator()(int64_t i) const
    {
        constexpr int n2 = n * n;
        if constexpr (vector) {
            for (int b = 0; b < n; b++)
                sum_line<n, d>(f, i, b, 0, n);
        } else {
            const int q = static_cast<int>(i % n2);
            sum_line<n, d>(f, i / n2, q / n, q % n, 1);
        }
    }
};

/* v.v of the assembled v; or, `last`, what x still lacks, the last r, and r.r. `points` at a time:
 * an element's for vectors, else one per member of the team. */
template <int n, bool vector> struct Norm {
    Fused f;
    int it;
    bool last;
    KOKKOS_INLINE_FUNCTION void operator()(const Member &team) const
    {
        constexpr int n3 = n * n * n, points = vector ? n3 : 1;
        const int64_t e = team.league_rank(), at = e * n3;
        const double *c = f.c + static_cast<int64_t>(f.like[e]) * n3, *v = f.v + at;
        Sums sums;
        if (last) {
            const nek_step_t t = f.step(it, true);
            Kokkos::parallel_for(Kokkos::TeamThreadRange(team, n3 / points), [&](int i) {
                const int q = vector ? 0 : i;
                sums.of[RR] += nek_fused_finish(points, &t, c + q, v + q, f.p + at + q,
                                                f.x + at + q, f.r + at + q);
            });
        } else {
            Kokkos::parallel_for(Kokkos::TeamThreadRange(team, n3 / points), [&](int i) {
                const int q = vector ? 0 : i;
                sums.of[VV] += nek_fused_norm(points, c + q, v + q);
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

struct Data {
    Fused fused;
    double *Dt, *memory; /* memory: the sums and scalars, in the space of the arrays */
    int32_t *like;
    rt_space_t space;
};

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

template <int n, int d, bool vector> void sum_faces(const Fused &f)
{
    const int64_t indices = f.elements * (vector ? 1 : n * n);
    Kokkos::parallel_for("faces",
                         Kokkos::RangePolicy<rt_kokkos::Exec, Kokkos::IndexType<int64_t>>(
                             rt_kokkos::exec(), 0, indices),
                         Faces<n, d, vector>{f});
}

template <int n, bool vector> void iterate(nek_solver_t *s, const Fused &f)
{
    using A = nek_team::Operator<n>;
    const bool by_faces = s->halo && rt_comm_size() == 1;
    for (int it = 0; it < s->iterations; it++) {
        rt_timer_start("pass", RT_KOKKOS);
        if constexpr (vector)
            nek_team::launch<n>("pass", f.elements / f.row, 0, RowPass<n>{f, it, by_faces});
        else
            nek_team::launch<n>("pass", f.elements, A::scratch, TeamPass<n>{A(&s->view), f, it});
        rt_timer_stop("pass");
        rt_timer_start("gather-scatter", RT_KOKKOS);
        if (by_faces) {
            if (!vector)
                sum_faces<n, 0, vector>(f);
            sum_faces<n, 1, vector>(f);
            sum_faces<n, 2, vector>(f);
        } else if (s->halo) {
            rt_field_t field = rt_field_f64(f.v);
            rt_halo_do(s->halo, RT_HALO_SUM, &field);
        }
        nek_team::launch<n>("norm", f.elements, 0, Norm<n, vector>{f, it, false});
        scalars(f, it, false);
        rt_timer_stop("gather-scatter");
    }
    rt_timer_start("last update", RT_KOKKOS);
    nek_team::launch<n>("last update", f.elements, 0, Norm<n, vector>{f, s->iterations, true});
    scalars(f, s->iterations, true);
    rt_timer_stop("last update");
}

void cg(nek_solver_t *s)
{
    const Data *data = static_cast<const Data *>(s->data);
    const Fused &f = data->fused;
    const size_t bytes = static_cast<size_t>(s->view.points) * sizeof(double);
    const size_t count = static_cast<size_t>(s->iterations);
    rt_copy(f.r, s->space, s->b, s->space, bytes);
    rt_fill(f.x, s->space, 0, bytes);
    rt_fill(f.p, s->space, 0, bytes);
    rt_fill(f.v, s->space, 0, bytes);
    rt_fill(f.beta, s->space, 0, sizeof *f.beta);
    nek_fixed_n<NEK_MAX_N>(s->view.n, [&](auto n) {
        if constexpr (rt_kokkos::on_host)
            if (nek_team::is_vector(&s->view))
                return iterate<n(), true>(s, f);
        iterate<n(), false>(s, f);
    });
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

void set_up(nek_solver_t *s)
{
    const nek_view_t *view = &s->view;
    const nek_config_t *config = s->problem->config;
    const size_t elements = static_cast<size_t>(view->elements);
    const size_t n2 = static_cast<size_t>(view->n) * view->n;
    Data *d = RT_NEW(Data, 1, RT_HOST);
    s->data = d;
    d->space = s->space;
    std::vector<double> Dt(n2);
    std::vector<int32_t> like(elements);
    nek_transpose(view->n, view->D_host, Dt.data());
    for (size_t e = 0; e < elements; e++)
        like[e] = static_cast<int32_t>(
            nek_like_element(config, s->problem->view.c, static_cast<int64_t>(e)));
    d->Dt = static_cast<double *>(rt_clone(Dt.data(), n2, sizeof(double), d->space));
    d->like = static_cast<int32_t *>(rt_clone(like.data(), elements, sizeof(int32_t), d->space));
    d->memory = RT_NEW(double, doubles_of(view->elements, s->iterations), d->space);

    Fused &f = d->fused;
    f.elements = view->elements;
    f.row = config->local[0];
    f.plane = config->local[0] * config->local[1];
    f.lambda = s->lambda;
    f.D = view->D;
    f.Dt = d->Dt;
    f.G = view->G;
    f.c = view->c;
    f.like = d->like;
    f.x = s->x;
    f.r = s->r;
    f.p = s->p;
    f.v = s->w;
    f.sums = d->memory;
    f.total = f.sums + SUMS * f.elements;
    f.rr = f.total + SUMS;
    f.alpha = f.rr + s->iterations + 1;
    f.beta = f.alpha + s->iterations + 1;
}

void tear_down(nek_solver_t *s)
{
    Data *d = static_cast<Data *>(s->data);
    RT_FREE(d->Dt, d->space);
    RT_FREE(d->like, d->space);
    RT_FREE(d->memory, d->space);
    RT_FREE(s->data, RT_HOST);
}

void memory(const nek_config_t *config, double bytes[RT_SPACES])
{
    const double n = config->n, elements = static_cast<double>(config->local_elements);
    bytes[RT_HOST] += sizeof(Data);
    bytes[rt_kokkos_space()] +=
        sizeof(double) *
            (n * n + static_cast<double>(doubles_of(config->local_elements, config->iterations))) +
        sizeof(int32_t) * elements;
}

void ax(const nek_view_t *view, const double *u, double *w)
{
    nek_kokkos.ax(view, u, w);
}

constexpr nek_kernels_t table()
{
    nek_kernels_t t = nek_team::table_of(ax);
    t.cg = cg;
    t.set_up = set_up;
    t.tear_down = tear_down;
    t.memory = memory;
    t.work = nek_fused_work;
    return t;
}

} // namespace

RT_KOKKOS_TABLE(nek_kernels_t, nek_kokkos_fused, table());
