/*
 * kokkos.cpp - the rows of a colour through Kokkos: one source for CPUs and GPUs.
 *
 * Idea: on a GPU a member of a team owns one component of one row, as in six-rows, so that
 * neighbouring members read a block's column and no sum is split. The components meet in the team's
 * scratch memory, where one member per row solves. On a CPU each thread has neighbouring rows, by
 * the vectors of `cpu-simd`. Advantage: portable, no shuffles, any block size. Price: a barrier
 * before the solve, during which most members wait, and one launch per colour.
 */
#include "config.h"
#include <cstring>
#include "app/team.h"
#include "machine/kokkos.hpp"
#include "../kernel.h"

namespace
{

using Policy = Kokkos::TeamPolicy<rt_kokkos::Exec>;
using Member = Policy::member_type;

constexpr int ROWS = 32; /* per team */

/* --- what O is stored in --- */

struct Half {
    uint16_t bits;
};
struct Bfloat {
    uint16_t bits;
};

constexpr float TWO_TO_112 = 5192296858534827628530496329220096.0f;

KOKKOS_INLINE_FUNCTION float float_of(uint32_t bits)
{
    float x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

KOKKOS_INLINE_FUNCTION double value(double x)
{
    return x;
}
KOKKOS_INLINE_FUNCTION float value(float x)
{
    return x;
}
/* Shifts the exponent, which is 112 higher in FP32, for denormals too. O has no infinities. */
KOKKOS_INLINE_FUNCTION float value(Half x)
{
    const float magnitude = float_of(static_cast<uint32_t>(x.bits & 0x7fff) << 13) * TWO_TO_112;
    return x.bits & 0x8000 ? -magnitude : magnitude;
}
KOKKOS_INLINE_FUNCTION float value(Bfloat x)
{
    return float_of(static_cast<uint32_t>(x.bits) << 16);
}

/* --- a colour --- */

/* The block size: a constant, or known when the program runs. */
template <int nb_> struct Fixed {
    enum { most = nb_, nb = nb_ };
    explicit Fixed(int)
    {
    }
};
struct Any {
    enum { most = MCPI_MAX_NB };
    int nb;
    explicit Any(int nb_) : nb(nb_)
    {
    }
};

template <class Size, class O, class Q, class Sum> struct Rows : Size {
    using Size::nb;
    int first, last;
    const int32_t *start, *column;
    const O *block;
    const double *LU, *R;
    Q *dq;

    Rows(const mcpi_view_t *view, int64_t first_, int64_t last_, void *dq_)
        : Size(view->nb), first(static_cast<int>(first_)), last(static_cast<int>(last_)),
          start(view->start), column(view->column), block(static_cast<const O *>(view->O)),
          LU(view->LU), R(view->R), dq(static_cast<Q *>(dq_))
    {
    }
    KOKKOS_INLINE_FUNCTION size_t scratch() const
    {
        return sizeof(double) * ROWS * nb;
    }

    /* Returns component i of O dQ in this row. */
    KOKKOS_INLINE_FUNCTION Sum component(int row, int i) const
    {
        Sum sum = 0;
        for (int b = start[row]; b < start[row + 1]; b++) {
            const O *o = block + static_cast<size_t>(b) * (nb * nb) + i;
            const Q *x = dq + static_cast<size_t>(column[b]) * nb;
            for (int j = 0; j < nb; j++)
                sum += static_cast<Sum>(value(o[j * nb])) * static_cast<Sum>(x[j]);
        }
        return sum;
    }

    KOKKOS_INLINE_FUNCTION void solve(int row, const double *dr) const
    {
        const double *lu = LU + static_cast<size_t>(row) * (nb * nb);
        double y[Size::most];
        for (int i = 0; i < nb; i++) {
            y[i] = dr[i];
            for (int j = 0; j < i; j++)
                y[i] -= lu[j * nb + i] * y[j];
        }
        for (int i = nb - 1; i >= 0; i--) {
            for (int j = i + 1; j < nb; j++)
                y[i] -= lu[j * nb + i] * y[j];
            y[i] *= lu[i * nb + i];
        }
        for (int i = 0; i < nb; i++)
            dq[static_cast<size_t>(row) * nb + i] = static_cast<Q>(y[i]);
    }

    KOKKOS_INLINE_FUNCTION void operator()(const Member &team) const
    {
        const int row = first + team.league_rank() * ROWS;
        const int rows = last - row < ROWS ? last - row : ROWS;
        double *dr = static_cast<double *>(team.team_scratch(0).get_shmem(scratch()));
        Kokkos::parallel_for(Kokkos::TeamThreadRange(team, rows * nb), [&](int k) {
            dr[k] = R[static_cast<size_t>(row) * nb + k] -
                    static_cast<double>(component(row + k / nb, k % nb));
        });
        team.team_barrier();
        Kokkos::parallel_for(Kokkos::TeamThreadRange(team, rows),
                             [&](int k) { solve(row + k, dr + k * nb); });
    }
};

/* --- every combination of types --- */

template <class Size, class O, class Q, class Sum>
void launch(const mcpi_view_t *view, int64_t first, int64_t last, void *dq)
{
    const Rows<Size, O, Q, Sum> rows(view, first, last, dq);
    const int teams = static_cast<int>((last - first + ROWS - 1) / ROWS);
    const int threads = rt_team_size(view->choice);
    Policy policy(rt_kokkos::exec(), teams, threads ? threads : ROWS * rows.nb);
    policy.set_scratch_size(0, Kokkos::PerTeam(static_cast<int>(rows.scratch())));
    Kokkos::parallel_for("mcpi rows", policy, rows);
}

template <class Size, class O, class Q>
void by_sum(const mcpi_view_t *view, int64_t first, int64_t last, void *dq)
{
    if (view->accumulate == MCPI_FP64)
        launch<Size, O, Q, double>(view, first, last, dq);
    else
        launch<Size, O, Q, float>(view, first, last, dq);
}

template <class Size, class O>
void by_dq(const mcpi_view_t *view, int64_t first, int64_t last, void *dq)
{
    if (view->dq_type == MCPI_FP64)
        by_sum<Size, O, double>(view, first, last, dq);
    else
        by_sum<Size, O, float>(view, first, last, dq);
}

template <class Size> void by_type(const mcpi_view_t *view, int64_t first, int64_t last, void *dq)
{
    switch (view->offdiagonal) {
    case MCPI_FP64:
        return by_dq<Size, double>(view, first, last, dq);
    case MCPI_FP16:
        return by_dq<Size, Half>(view, first, last, dq);
    case MCPI_BF16:
        return by_dq<Size, Bfloat>(view, first, last, dq);
    default:
        return by_dq<Size, float>(view, first, last, dq);
    }
}

void rows(const mcpi_view_t *view, int64_t first, int64_t last, void *dq)
{
    if (first == last)
        return;
    if (rt_kokkos::on_host && rt_team_size(view->choice) == 0) {
        const int64_t parts = rt_kokkos::exec().concurrency(), n = last - first;
        rt_kokkos::host_for("mcpi rows", parts, [=](int64_t k) {
            mcpi_simd_rows(view, first + n * k / parts, first + n * (k + 1) / parts, dq);
        });
        return;
    }
    switch (view->nb) {
    case 4:
        return by_type<Fixed<4>>(view, first, last, dq);
    case 5:
        return by_type<Fixed<5>>(view, first, last, dq);
    case 6:
        return by_type<Fixed<6>>(view, first, last, dq);
    case 7:
        return by_type<Fixed<7>>(view, first, last, dq);
    default:
        return by_type<Any>(view, first, last, dq);
    }
}

constexpr mcpi_kernels_t table()
{
    mcpi_kernels_t t = {};
    t.rung.precision = MCPI_PRECISION;
    t.rung.reproducible = true;
    t.rung.parameters = &rt_team_threads;
    t.rung.n_parameters = 1;
    t.rung.refuse_choice = rt_team_refuse;
    t.rows = rows;
    return t;
}

} // namespace

RT_KOKKOS_TABLE(mcpi_kernels_t, mcpi_kokkos, table());
