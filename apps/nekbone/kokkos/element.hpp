/*
 * element.hpp - the operator of an element as a Kokkos team computes it, and its launch.
 *
 * A member owns columns (i, j), as a thread of the layered rung does. The element's u, ur and us are
 * in the team's scratch memory. Price: scratch for the whole element (4 n^3 values) limits how many
 * teams share a multiprocessor; for large n it is in global memory (level 1).
 */
#ifndef NEK_KOKKOS_ELEMENT_HPP
#define NEK_KOKKOS_ELEMENT_HPP

#include "app/team.h"
#include "machine/kokkos.hpp"
#include "../grid.h"
#include "../cpu/tiles.h"

namespace nek_team
{

using Member = Kokkos::TeamPolicy<rt_kokkos::Exec>::member_type;

/* Returns whether the vector code of the CPU does the work. */
inline bool is_vector(const nek_view_t *view)
{
    return rt_kokkos::on_host && rt_team_size(view->choice) == 0;
}

/* Calls call(N), an integral constant: n, or 0 if that is beyond `last`. */
template <int last, class Call, int first = NEK_MIN_N> void with_n(int n, const Call &call)
{
    if constexpr (first > last)
        call(std::integral_constant<int, 0>());
    else if (n == first)
        call(std::integral_constant<int, first>());
    else
        with_n<last, Call, first + 1>(n, call);
}

/* Up to this n there is code for each n alone. On a CPU the text of teams is only a check. */
enum { FIXED_N = rt_kokkos::on_host ? 0 : NEK_FIXED_N };

/* The operator of the element whose n^3 values u are in scratch memory. N = 0: n is known only at
 * run time. */
template <int N> struct Operator {
    static constexpr int most = N ? N : NEK_MAX_N;
    int n, n2, n3;
    double *sD, *sT, *su, *sr, *ss, *sw;

    /* Returns the bytes of scratch memory per team. */
    static KOKKOS_INLINE_FUNCTION size_t scratch(int n)
    {
        return sizeof(double) * static_cast<size_t>(2 * n * n + 4 * n * n * n);
    }

    KOKKOS_INLINE_FUNCTION Operator(const Member &team, int run_time_n, int level)
        : n(N ? N : run_time_n), n2(n * n), n3(n2 * n),
          sD(static_cast<double *>(team.team_scratch(level).get_shmem(scratch(n)))), sT(sD + n2),
          su(sT + n2), sr(su + n3), ss(sr + n3), sw(ss + n3)
    {
    }

    /* Calls f(t) for each column t = j n + i of the team. */
    template <class F> KOKKOS_INLINE_FUNCTION void each_column(const Member &team, F f) const
    {
        Kokkos::parallel_for(Kokkos::TeamThreadRange(team, n2), f);
    }

    KOKKOS_INLINE_FUNCTION void load(const Member &team, const double *D) const
    {
        each_column(team, [&](int t) {
            sD[t] = D[t];
            sT[t % n * n + t / n] = D[t]; /* the transpose, so that neighbours read neighbours */
        });
    }

    /* Computes D^T G D u, with the element's factors g; store(q, w) gets point q. D and u must be
     * there: the caller has a barrier before this. */
    template <class Store>
    KOKKOS_INLINE_FUNCTION void apply(const Member &team, const double *g, Store store) const
    {
        each_column(team, [&](int t) {
            const int i = t % n, j = t / n;
            double ru[most], rw[most], Di[most], Dj[most];
            NEK_UNROLL
            for (int l = 0; l < n; l++) {
                Dj[l] = sD[j * n + l];
                Di[l] = sT[l * n + i]; /* D(i, l) */
                ru[l] = su[l * n2 + t];
                rw[l] = 0;
            }
            for (int k = 0; k < n; k++) {
                double wr = 0, ws = 0, wt = 0;
                NEK_UNROLL
                for (int l = 0; l < n; l++) {
                    wr += Di[l] * su[k * n2 + j * n + l];
                    ws += Dj[l] * su[k * n2 + l * n + i];
                    wt += sD[k * n + l] * ru[l];
                }
                const int q = k * n2 + t;
                sr[q] = g[q] * wr + g[n3 + q] * ws + g[2 * n3 + q] * wt;
                ss[q] = g[n3 + q] * wr + g[3 * n3 + q] * ws + g[4 * n3 + q] * wt;
                const double ut = g[2 * n3 + q] * wr + g[4 * n3 + q] * ws + g[5 * n3 + q] * wt;
                NEK_UNROLL
                for (int l = 0; l < n; l++)
                    rw[l] += sD[k * n + l] * ut;
            }
            NEK_UNROLL
            for (int k = 0; k < n; k++)
                sw[k * n2 + t] = rw[k];
        });
        team.team_barrier(); /* ur and us are there */

        each_column(team, [&](int t) {
            const int i = t % n, j = t / n;
            double Dti[most], Dtj[most];
            NEK_UNROLL
            for (int l = 0; l < n; l++) {
                Dtj[l] = sT[j * n + l];
                Dti[l] = sD[l * n + i];
            }
            for (int k = 0; k < n; k++) {
                double sum = sw[k * n2 + t];
                NEK_UNROLL
                for (int l = 0; l < n; l++)
                    sum += Dti[l] * sr[k * n2 + j * n + l] + Dtj[l] * ss[k * n2 + l * n + i];
                store(k * n2 + t, sum);
            }
        });
    }
};

/* Returns the teams that share a multiprocessor with 512 registers per lane in each of its four
 * parts, if a column takes 8 n + 48 as in the layered rung. Without this bound the compiler takes
 * more. */
constexpr unsigned resident_teams(int n)
{
    const int warps = (n * n + 31) / 32;
    const int teams = 512 / (8 * n + 48) * 4 / warps;
    return teams > 1 ? static_cast<unsigned>(teams) : 1;
}

/* Most bytes of scratch per team that are taken from fast memory. */
constexpr size_t most_fast_scratch = 40 * 1024;

/* Returns the level of the scratch memory of an element. */
inline int level_of(size_t bytes)
{
    return bytes <= most_fast_scratch || rt_kokkos::on_host ? 0 : 1;
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
        const int chosen = rt_team_size(view->choice);
        const int wanted = chosen ? chosen : view->n * view->n;
        policy = Policy(rt_kokkos::exec(), league, wanted < most ? wanted : most);
        policy.set_scratch_size(level, scratch);
    }
    Kokkos::parallel_for(name, policy, kernel);
}

} // namespace nek_team

#endif
