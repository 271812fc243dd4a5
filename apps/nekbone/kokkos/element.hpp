/*
 * element.hpp - the operator of an element as a Kokkos team computes it, and its launch.
 *
 * A member owns column (i, j) and keeps it in registers. It multiplies whole lines, as the thread of
 * `packed` does (../cuda/line.hpp): each value comes from the team's scratch memory once per product.
 * Price: each n has its own code. From n = 14 on the two arrays of lines do not fit into fast scratch
 * memory, and are in global memory.
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

/* Most bytes of scratch per team that are taken from fast memory. */
constexpr size_t most_fast_scratch = 40 * 1024;

/* Returns the level of the scratch memory of an element. */
constexpr int level_of(size_t bytes)
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

/* The operator; D travels with the kernel. */
template <int n> struct Operator {
    using shape = nek_shape<n>;
    static constexpr int n2 = shape::n2, n3 = shape::n3;
    static constexpr int columns = rt_kokkos::on_host ? n2 : 1; /* that a member keeps */
    static constexpr size_t scratch = sizeof(double) * (shape::rows + shape::planes);
    static constexpr int level = level_of(scratch);
    nek_halves<n> D;

    explicit Operator(const nek_view_t *view) : D(nek_halve<n>(view->D_host))
    {
    }

    /* Computes w = D^T G D u with the element's factors g. begin(t, u) gives a column, end(t, u, w)
     * takes it; u and w are arrays of n. */
    template <class Begin, class End>
    KOKKOS_INLINE_FUNCTION void apply(const Member &team, const double *g, Begin begin,
                                      End end) const
    {
        constexpr int from = level; /* no references to members that no GPU has */
        constexpr size_t bytes = scratch;
        double *const rows = static_cast<double *>(team.team_scratch(from).get_shmem(bytes));
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

/* A rung's refuse_choice. */
inline const char *refuse_choice(const void *config, const int *choice)
{
    if (!rt_kokkos::on_host && rt_team_size(choice))
        return "a team has a thread for each column";
    return rt_team_refuse(config, choice);
}

/* The operator of all elements (kokkos.cpp). */
void ax(const nek_view_t *view, const double *u, double *w);

/* Returns the table of a rung over this operator, without its own functions. */
constexpr nek_kernels_t table()
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

/* Returns the teams that share a multiprocessor with 512 registers per lane in each of its four
 * parts, if a column takes 8 n + 48 as in `onepass`. Without this bound the compiler takes more. */
constexpr unsigned resident_teams(int n)
{
    const int warps = (n * n + 31) / 32;
    const int teams = 512 / (8 * n + 48) * 4 / warps;
    return teams > 1 ? static_cast<unsigned>(teams) : 1;
}

/* Calls kernel(team) for each team, with `bytes` of scratch memory. On a GPU a team has a
 * member for each column. */
template <int n, class Kernel>
void launch(const char *name, int64_t teams, size_t bytes, const Kernel &kernel)
{
    using Bounds = Kokkos::LaunchBounds<(n * n + 31) / 32 * 32, resident_teams(n)>;
    Kokkos::TeamPolicy<rt_kokkos::Exec, Bounds> policy(rt_kokkos::exec(), static_cast<int>(teams),
                                                       rt_kokkos::on_host ? 1 : n * n);
    policy.set_scratch_size(level_of(bytes), Kokkos::PerTeam(static_cast<int>(bytes)));
    Kokkos::parallel_for(name, policy, kernel);
}

} // namespace nek_team

#endif
