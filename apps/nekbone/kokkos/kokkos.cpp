/*
 * kokkos.cpp - the operator as a Kokkos TeamPolicy: one source for CPUs and GPUs.
 *
 * Idea: one team per element. A member owns bundles of W neighbouring columns (i .. i + W - 1, j).
 * W is 1 on a GPU, where a bundle is a thread as in the layered rung, and a whole line on a CPU,
 * where the loop over the bundle becomes vector instructions. The element's u, ur and us are in the
 * team's scratch memory.
 *
 * Advantage: portable, and only two barriers per element instead of two per layer.
 *
 * Price: scratch for the whole element (4 n^3 values) limits how many teams share a multiprocessor;
 * for large n the scratch is in global memory (level 1).
 */
#include "config.h"
#include "machine/kokkos.hpp"
#include "../kernel.h"

/* On a GPU an array stays in registers only if every index into it is a constant. */
#if defined(__CUDA_ARCH__) || defined(__HIP_DEVICE_COMPILE__)
#define RT_UNROLL _Pragma("unroll")
#else
#define RT_UNROLL
#endif

namespace
{

using Member = Kokkos::TeamPolicy<rt_kokkos::Exec>::member_type;

/* Returns the teams that share a multiprocessor with 512 registers per lane in each of its four
 * parts, if a column takes 8 n + 48 as in the layered rung. Without this bound the compiler takes
 * more. */
constexpr unsigned resident_teams(int n)
{
    const int warps = (n * n + 31) / 32;
    const int teams = 512 / (8 * n + 48) * 4 / warps;
    return teams > 1 ? static_cast<unsigned>(teams) : 1;
}

/* N = 0: n is known only at run time. */
template <int N> struct Element {
    static constexpr int most = N ? N : NEK_MAX_N;
    static constexpr int width = rt_kokkos::on_host ? most : 1;
    int run_time_n, level;
    const double *D, *G, *u;
    double *w;

    /* Returns the bytes of scratch memory per team. */
    static KOKKOS_INLINE_FUNCTION size_t scratch(int n)
    {
        return sizeof(double) * static_cast<size_t>(2 * n * n + 4 * n * n * n);
    }

    /* Calls f(t, i, j) for the first point t = j n + i of each bundle of the team. */
    template <class F> KOKKOS_INLINE_FUNCTION void each_bundle(const Member &team, int n, F f) const
    {
        const int lines = rt_kokkos::on_host ? n : n * n;
        Kokkos::parallel_for(Kokkos::TeamThreadRange(team, lines), [&](int b) {
            const int t = rt_kokkos::on_host ? b * n : b;
            f(t, t % n, t / n);
        });
    }

    KOKKOS_INLINE_FUNCTION void operator()(const Member &team) const
    {
        const int n = N ? N : run_time_n, n2 = n * n, n3 = n2 * n;
        const int W = rt_kokkos::on_host ? n : 1;
        const size_t e = static_cast<size_t>(team.league_rank());
        const double *ue = u + e * n3, *g = G + e * 6 * n3;
        double *we = w + e * n3;
        double *sD = static_cast<double *>(team.team_scratch(level).get_shmem(scratch(n)));
        double *sT = sD + n2, *su = sT + n2, *sr = su + n3, *ss = sr + n3, *sw = ss + n3;

        Kokkos::parallel_for(Kokkos::TeamThreadRange(team, n2), [&](int t) {
            sD[t] = D[t];
            sT[t % n * n + t / n] = D[t]; /* the transpose, so that a bundle reads neighbours */
        });
        each_bundle(team, n, [&](int t, int, int) {
            for (int k = 0; k < n; k++)
                for (int v = 0; v < W; v++)
                    su[k * n2 + t + v] = ue[k * n2 + t + v];
        });
        team.team_barrier(); /* D and u are there */

        each_bundle(team, n, [&](int t, int i, int j) {
            double ru[most][width], rw[most][width], Di[most][width], Dj[most];
            RT_UNROLL
            for (int l = 0; l < n; l++) {
                Dj[l] = sD[j * n + l];
                for (int v = 0; v < W; v++) {
                    Di[l][v] = sT[l * n + i + v]; /* D(i + v, l) */
                    ru[l][v] = su[l * n2 + t + v];
                    rw[l][v] = 0;
                }
            }
            for (int k = 0; k < n; k++) {
                double wr[width], ws[width], wt[width], ut[width];
                for (int v = 0; v < W; v++)
                    wr[v] = ws[v] = wt[v] = 0;
                RT_UNROLL
                for (int l = 0; l < n; l++)
                    for (int v = 0; v < W; v++) {
                        wr[v] += Di[l][v] * su[k * n2 + j * n + l];
                        ws[v] += Dj[l] * su[k * n2 + l * n + i + v];
                        wt[v] += sD[k * n + l] * ru[l][v];
                    }
                for (int v = 0; v < W; v++) {
                    const int q = k * n2 + t + v;
                    sr[q] = g[q] * wr[v] + g[n3 + q] * ws[v] + g[2 * n3 + q] * wt[v];
                    ss[q] = g[n3 + q] * wr[v] + g[3 * n3 + q] * ws[v] + g[4 * n3 + q] * wt[v];
                    ut[v] = g[2 * n3 + q] * wr[v] + g[4 * n3 + q] * ws[v] + g[5 * n3 + q] * wt[v];
                }
                RT_UNROLL
                for (int l = 0; l < n; l++)
                    for (int v = 0; v < W; v++)
                        rw[l][v] += sD[k * n + l] * ut[v];
            }
            RT_UNROLL
            for (int k = 0; k < n; k++)
                for (int v = 0; v < W; v++)
                    sw[k * n2 + t + v] = rw[k][v];
        });
        team.team_barrier(); /* ur and us are there */

        each_bundle(team, n, [&](int t, int i, int j) {
            double Dti[most][width], Dtj[most];
            RT_UNROLL
            for (int l = 0; l < n; l++) {
                Dtj[l] = sT[j * n + l];
                for (int v = 0; v < W; v++)
                    Dti[l][v] = sD[l * n + i + v];
            }
            for (int k = 0; k < n; k++) {
                double sum[width];
                for (int v = 0; v < W; v++)
                    sum[v] = sw[k * n2 + t + v];
                RT_UNROLL
                for (int l = 0; l < n; l++)
                    for (int v = 0; v < W; v++)
                        sum[v] += Dti[l][v] * sr[k * n2 + j * n + l] +
                                  Dtj[l] * ss[k * n2 + l * n + i + v];
                for (int v = 0; v < W; v++)
                    we[k * n2 + t + v] = sum[v];
            }
        });
    }
};

/* Most bytes of scratch per team that are taken from fast memory. */
constexpr size_t most_fast_scratch = 40 * 1024;

template <int N> void run(const nek_view_t *view, const double *u, double *w)
{
    using Bounds = Kokkos::LaunchBounds<N ? (N * N + 31) / 32 * 32 : NEK_MAX_N * NEK_MAX_N,
                                        N ? resident_teams(N) : 1>;
    using Policy = Kokkos::TeamPolicy<rt_kokkos::Exec, Bounds>;
    const int n = view->n;
    const size_t bytes = Element<N>::scratch(n);
    const int level = bytes <= most_fast_scratch || rt_kokkos::on_host ? 0 : 1;
    const Element<N> element{n, level, view->D, view->G, u, w};
    Policy policy(rt_kokkos::exec(), static_cast<int>(view->elements), Kokkos::AUTO);
    policy.set_scratch_size(level, Kokkos::PerTeam(static_cast<int>(bytes)));
    if (!rt_kokkos::on_host) { /* one thread per column, or as many as the kernel's registers
                                * allow */
        const int most = policy.team_size_max(element, Kokkos::ParallelForTag());
        policy = Policy(rt_kokkos::exec(), static_cast<int>(view->elements),
                        n * n < most ? n * n : most);
        policy.set_scratch_size(level, Kokkos::PerTeam(static_cast<int>(bytes)));
    }
    Kokkos::parallel_for("nekbone ax", policy, element);
}

void kokkos_ax(const nek_view_t *view, const double *u, double *w)
{
#define CASE(N) \
    case N:     \
        return run<N>(view, u, w)
    switch (view->n) {
        CASE(2);
        CASE(3);
        CASE(4);
        CASE(5);
        CASE(6);
        CASE(7);
        CASE(8);
        CASE(9);
        CASE(10);
        CASE(11);
        CASE(12);
        CASE(13);
        CASE(14);
        CASE(15);
        CASE(16);
    default:
        return run<0>(view, u, w);
    }
#undef CASE
}

/* The operator and the vectors; CG is nek_solve's. */
constexpr nek_kernels_t table()
{
    nek_kernels_t t = {};
    t.rung.precision = "FP64";
    t.rung.reproducible = true;
    t.rung.refuse = nek_refuse;
    t.ax = kokkos_ax;
    t.vector = &nek_vector_kokkos;
    return t;
}

} // namespace

extern "C" const nek_kernels_t nek_kokkos = table();
