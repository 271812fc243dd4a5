/*
 * element.hpp - the operator of an element as a Kokkos team computes it, and its launch.
 *
 * A member owns column (i, j) and keeps it in registers. It multiplies whole lines, as the thread of
 * `packed` does (../cuda/line.hpp): each value comes from the team's scratch memory once per product.
 * Price: each n has its own code, and the two arrays of lines must fit into fast scratch memory. For
 * larger n one text takes any n, with scratch in global memory.
 */
#ifndef NEK_KOKKOS_ELEMENT_HPP
#define NEK_KOKKOS_ELEMENT_HPP

#include "app/team.h"
#include "machine/kokkos.hpp"
#include "../cuda/line.hpp"
#include "../cpu/tiles.h"
#include "../nekbone.h"

namespace nek_team
{

using Member = Kokkos::TeamPolicy<rt_kokkos::Exec>::member_type;

/* Returns whether the vector code of the CPU does the work. */
inline bool is_vector(const nek_view_t *view)
{
    return rt_kokkos::on_host && rt_team_size(view->choice) == 0;
}

/* Calls call(N), an integral constant: n, or 0 if that is beyond `last`. */
template <int last, class Call> void with_n(int n, const Call &call)
{
    if (!nek_fixed_n<last>(n, call))
        call(std::integral_constant<int, 0>());
}

/* Most bytes of scratch per team that are taken from fast memory. */
constexpr size_t most_fast_scratch = 40 * 1024;

/* Returns the level of the scratch memory of an element. */
inline int level_of(size_t bytes)
{
    return bytes <= most_fast_scratch || rt_kokkos::on_host ? 0 : 1;
}

/* Calls f(t) for the columns t = j n + i of a member: one on a GPU, where a team has a member for
 * each; all on a CPU, where a team is one thread. */
template <class F> KOKKOS_INLINE_FUNCTION void each_column(const Member &team, int n2, F f)
{
    if constexpr (rt_kokkos::on_host)
        for (int t = 0; t < n2; t++)
            f(t);
    else if (team.team_rank() < n2)
        f(team.team_rank());
}

/* The operator by lines; D travels with the kernel. */
template <int N> struct Lines {
    using shape = nek_shape<N>;
    static constexpr int n = N, n2 = shape::n2, n3 = shape::n3, most = N;
    static constexpr int columns = rt_kokkos::on_host ? n2 : 1; /* that a member keeps */
    nek_halves<N> D;

    static constexpr size_t scratch(int)
    {
        return sizeof(double) * (shape::rows + shape::planes);
    }
    explicit Lines(const nek_view_t *view) : D(nek_halve<N>(view->D_host))
    {
    }

    /* Computes w = D^T G D u with the element's factors g. begin(t, u) gives a column, end(t, u, w)
     * takes it; u and w are arrays of n. */
    template <class Begin, class End>
    KOKKOS_INLINE_FUNCTION void apply(const Member &team, const double *g, Begin begin,
                                      End end) const
    {
        double *const rows = static_cast<double *>(team.team_scratch(0).get_shmem(scratch(n)));
        double *const planes = rows + shape::rows;
        double all_u[columns][n], all_w[columns][n];
        auto each = [&](auto f) {
            each_column(team, n2, [&](int t) {
                const int i = t % n, j = t / n, own = columns > 1 ? t : 0;
                f(t, rows + j * shape::row + i, planes + t, rows + t * shape::row,
                  planes + j * shape::plane + i, all_u[own], all_w[own]);
            });
            team.team_barrier();
        };
        constexpr int r_step = n * shape::row, s_step = shape::plane;
        using column_t = double(&)[n];
        each([&](int t, double *r, double *s, double *, double *, column_t u, column_t wt) {
            begin(t, u);
            NEK_UNROLL
            for (int k = 0; k < n; k++)
                r[k * r_step] = s[k * s_step] = u[k];
            nek_line_product<0>(D, u, wt);
        });
        each([&](int, double *, double *, double *row, double *plane, column_t, column_t) {
            nek_row_in_place<0>(D, row);
            nek_column_in_place<0, n>(D, plane);
        });
        each([&](int t, double *r, double *s, double *, double *, column_t, column_t wt) {
            NEK_UNROLL
            for (int k = 0; k < n; k++) {
                const double *G = g + k * n2 + t;
                const double wr = r[k * r_step], ws = s[k * s_step];
                r[k * r_step] = G[0] * wr + G[n3] * ws + G[2 * n3] * wt[k];
                s[k * s_step] = G[n3] * wr + G[3 * n3] * ws + G[4 * n3] * wt[k];
                wt[k] = G[2 * n3] * wr + G[4 * n3] * ws + G[5 * n3] * wt[k];
            }
        });
        each([&](int, double *, double *, double *row, double *plane, column_t, column_t wt) {
            double w[n];
            nek_line_product<1>(D, wt, w);
            NEK_UNROLL
            for (int k = 0; k < n; k++)
                wt[k] = w[k];
            nek_row_in_place<1>(D, row);
            nek_column_in_place<1, n>(D, plane);
        });
        each([&](int t, double *r, double *s, double *, double *, column_t u, column_t w) {
            NEK_UNROLL
            for (int k = 0; k < n; k++)
                w[k] += r[k * r_step] + s[k * s_step];
            end(t, u, w);
        });
    }
};

/* The operator for any n. */
struct Columns {
    static constexpr int most = NEK_MAX_N;
    int n, n2, n3, level;
    const double *D;

    static size_t scratch(int n)
    {
        return sizeof(double) * static_cast<size_t>(2 * n * n + 4 * n * n * n);
    }
    explicit Columns(const nek_view_t *view)
        : n(view->n), n2(n * n), n3(n2 * n), level(level_of(scratch(n))), D(view->D)
    {
    }

    template <class Begin, class End>
    KOKKOS_INLINE_FUNCTION void apply(const Member &team, const double *g, Begin begin,
                                      End end) const
    {
        const int values = 2 * n2 + 4 * n3;
        double *const sD = static_cast<double *>(team.team_scratch(level).get_shmem(
                          sizeof(double) * static_cast<size_t>(values))),
                      *const sT = sD + n2, *const su = sT + n2, *const sr = su + n3,
                      *const ss = sr + n3, *const sw = ss + n3;
        const auto columns = Kokkos::TeamThreadRange(team, n2);
        Kokkos::parallel_for(columns, [&](int t) {
            double u[most];
            sD[t] = D[t];
            sT[t % n * n + t / n] = D[t]; /* the transpose, so that neighbours read neighbours */
            begin(t, u);
            for (int k = 0; k < n; k++)
                su[k * n2 + t] = u[k];
        });
        team.team_barrier(); /* D and u are there */
        Kokkos::parallel_for(columns, [&](int t) {
            const int i = t % n, j = t / n;
            for (int k = 0; k < n; k++)
                sw[k * n2 + t] = 0;
            for (int k = 0; k < n; k++) {
                double wr = 0, ws = 0, wt = 0;
                for (int l = 0; l < n; l++) {
                    wr += sT[l * n + i] * su[k * n2 + j * n + l];
                    ws += sD[j * n + l] * su[k * n2 + l * n + i];
                    wt += sD[k * n + l] * su[l * n2 + t];
                }
                const int q = k * n2 + t;
                sr[q] = g[q] * wr + g[n3 + q] * ws + g[2 * n3 + q] * wt;
                ss[q] = g[n3 + q] * wr + g[3 * n3 + q] * ws + g[4 * n3 + q] * wt;
                const double ut = g[2 * n3 + q] * wr + g[4 * n3 + q] * ws + g[5 * n3 + q] * wt;
                for (int l = 0; l < n; l++)
                    sw[l * n2 + t] += sD[k * n + l] * ut;
            }
        });
        team.team_barrier(); /* ur and us are there */
        Kokkos::parallel_for(columns, [&](int t) {
            const int i = t % n, j = t / n;
            double u[most], w[most];
            for (int k = 0; k < n; k++) {
                double sum = sw[k * n2 + t];
                for (int l = 0; l < n; l++)
                    sum += sD[l * n + i] * sr[k * n2 + j * n + l] +
                           sT[j * n + l] * ss[k * n2 + l * n + i];
                u[k] = su[k * n2 + t];
                w[k] = sum;
            }
            end(t, u, w);
        });
    }
};

/* Returns the largest n whose lines fit into fast scratch memory. */
template <int n = NEK_FIXED_N> constexpr int most_lines()
{
    if constexpr (Lines<n>::scratch(n) <= most_fast_scratch)
        return n;
    else
        return most_lines<n - 1>();
}

/* Up to this n there is code for each n alone. */
enum { FIXED_N = most_lines() };

/* A rung's refuse_choice: those teams have a member for each column. */
static_assert(FIXED_N == 13, "the text below says so");
inline const char *refuse_choice(const void *config, const int *choice)
{
    if (!rt_kokkos::on_host && rt_team_size(choice) &&
        static_cast<const nek_config_t *>(config)->n <= FIXED_N)
        return "up to n = 13 a team has a thread for each column";
    return rt_team_refuse(config, choice);
}

/* Returns the table of a rung over this operator, without its own functions. */
constexpr nek_kernels_t table_of(void (*ax)(const nek_view_t *view, const double *u, double *w))
{
    nek_kernels_t t = {};
    t.rung.precision = "FP64";
    t.rung.reproducible = true;
    t.rung.refuse = nek_refuse;
    t.rung.parameters = &rt_team_threads;
    t.rung.n_parameters = 1;
    t.rung.refuse_choice = refuse_choice;
    t.ax = ax;
    t.vector = &nek_vector_kokkos;
    return t;
}

template <int N> using Operator = std::conditional_t<N != 0, Lines<N ? N : NEK_MIN_N>, Columns>;

/* Returns the teams that share a multiprocessor with 512 registers per lane in each of its four
 * parts, if a column takes 8 n + 48 as in `onepass`. Without this bound the compiler takes more. */
constexpr unsigned resident_teams(int n)
{
    const int warps = (n * n + 31) / 32;
    const int teams = 512 / (8 * n + 48) * 4 / warps;
    return teams > 1 ? static_cast<unsigned>(teams) : 1;
}

/* Calls kernel(team) for so many teams with so much scratch memory each. On a GPU a team has a
 * member for each column, or as many as its registers allow. */
template <int N, class Kernel>
void launch(const char *name, const nek_view_t *view, int64_t teams, size_t bytes,
            const Kernel &kernel)
{
    using Bounds = Kokkos::LaunchBounds<N ? (N * N + 31) / 32 * 32 : NEK_MAX_N * NEK_MAX_N,
                                        N ? resident_teams(N) : 1>;
    using Policy = Kokkos::TeamPolicy<rt_kokkos::Exec, Bounds>;
    const int level = level_of(bytes), league = static_cast<int>(teams);
    const auto scratch = Kokkos::PerTeam(static_cast<int>(bytes));
    Policy policy(rt_kokkos::exec(), league, 1);
    policy.set_scratch_size(level, scratch);
    if (!rt_kokkos::on_host) {
        const int most = policy.team_size_max(kernel, Kokkos::ParallelForTag());
        const int chosen = N ? 0 : rt_team_size(view->choice);
        const int wanted = chosen ? chosen : view->n * view->n;
        policy = Policy(rt_kokkos::exec(), league, wanted < most ? wanted : most);
        policy.set_scratch_size(level, scratch);
    }
    Kokkos::parallel_for(name, policy, kernel);
}

} // namespace nek_team

#endif
