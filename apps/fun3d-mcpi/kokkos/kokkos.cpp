/*
 * kokkos.cpp - the rows of a colour through Kokkos: one source for CPUs and GPUs.
 *
 * Idea: on a GPU a team takes a few consecutive rows. Their blocks lie one after the other, so its
 * members read them as one stream of vectors, all in flight at once, into the team's scratch memory;
 * factors, R and the gathered dQ travel at the same time. There a member multiplies a whole block,
 * another adds up one component of a row, and one member per row solves. On a CPU each thread has
 * neighbouring rows, by the vectors of `cpu-simd`. Advantage: portable, no shuffles, any block size;
 * memory sees long, regular reads whatever the lengths of the rows. Price: a team waits for memory
 * twice and meets at three barriers, while only other teams work; one launch per colour.
 */
#include "config.h"
#include <algorithm>
#include <cstring>
#include "app/team.h"
#include "machine/kokkos.hpp"
#include "../kernel.h"

namespace
{

/* 64 registers, for teams of any size. */
using Policy = Kokkos::TeamPolicy<rt_kokkos::Exec, Kokkos::LaunchBounds<512, 2>>;
using Member = Policy::member_type;

/* Members of a team on a GPU, and for how many of them it has a row: one member multiplies a block,
 * and rows of meshes have 14 to 20. */
constexpr int THREADS = 160, PER_ROW = 20, LEAST_ROWS = 4, MOST_ROWS = 16;
/* Bytes of scratch memory, and of those per component of a row, without LU. A team whose blocks
 * take more brings them in one part after the other. */
constexpr int SCRATCH = 44 * 1024, REST = 2 * sizeof(double);
constexpr int AHEAD = 7; /* loads of O that a member has in flight */

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
    const uint32_t bits = x.bits;
    return float_of((bits & 0x8000) << 16 | (bits & 0x7fff) << 13) * TWO_TO_112;
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
    /* Entries of O that are loaded at once: as Sums they have 16 bytes. */
    static constexpr int wide = 16 / sizeof(Sum);
    using Entries = rt_kokkos::Pack<O, wide>;
    using Sums = rt_kokkos::Pack<Sum, wide>;

    int first, last, per_team, blocks; /* blocks: in scratch memory at once */
    int64_t entries;                   /* of all O */
    const int32_t *start, *column;
    const O *block;
    const double *LU, *R;
    Q *dq;

    Rows(const mcpi_view_t *view, int64_t first_, int64_t last_, int threads, void *dq_)
        : Size(view->nb), first(static_cast<int>(first_)), last(static_cast<int>(last_)),
          entries(view->system->part->start[view->rows] * nb * nb), start(view->start),
          column(view->column), block(static_cast<const O *>(view->O)), LU(view->LU), R(view->R),
          dq(static_cast<Q *>(dq_))
    {
        const int members = std::max(threads, 32);
        per_team = std::clamp(members / PER_ROW, LEAST_ROWS, MOST_ROWS);
        const int rest = SCRATCH - per_team * nb * (nb * int{sizeof(double)} + REST);
        const int fit = rest / ((stride() + nb) * int{sizeof(Sum)});
        blocks = std::min({fit, members, (AHEAD * members - 1) * wide / (nb * nb)});
    }
    int teams() const
    {
        return (last - first + per_team - 1) / per_team;
    }

    /* Returns how far blocks are apart in scratch memory: an odd number, so that members that read
     * a block each read from different banks. */
    KOKKOS_INLINE_FUNCTION int stride() const
    {
        return nb * nb | 1;
    }
    /* Returns the Sums that blocks take. The first may begin up to wide - 1 entries late. */
    KOKKOS_INLINE_FUNCTION int room() const
    {
        return (blocks * stride() + 2 * wide - 2) / wide * wide;
    }
    KOKKOS_INLINE_FUNCTION size_t scratch() const
    {
        return sizeof(Sum) * (room() + (blocks + per_team) * nb) +
               sizeof(double) * per_team * nb * (nb + 1);
    }

    /* Brings n blocks into scratch memory, and the dQ that they multiply. Returns where the first
     * block begins. */
    KOKKOS_INLINE_FUNCTION int fetch(const Member &team, int from, int n, Sum *o, Sum *x) const
    {
        const int64_t begin = static_cast<int64_t>(from) * (nb * nb), end = begin + n * (nb * nb),
                      whole = entries / wide * wide;
        const int late = static_cast<int>(begin % wide);
        const Entries *packs = reinterpret_cast<const Entries *>(block + (begin - late));
        const int count =
            static_cast<int>(((end < whole ? end : whole) - begin + late + wide - 1) / wide);
        const auto load = [&](int k, int) { return rt_kokkos::once(packs + k); };
        const auto find = [&](int k, int) { return column[from + k / nb]; };
        const auto gather = [&](int k, int) {
            return dq[static_cast<size_t>(find(k, 0)) * nb + k % nb];
        };
        rt_kokkos::Asked<int32_t, Size::most> asked_column;
        rt_kokkos::Asked<Entries, AHEAD> asked;
        rt_kokkos::Asked<Q, Size::most> asked_x;
        asked_column.ask(team, n * nb, find);
        if (count > 0)
            asked.ask(team, count, load);
        asked_x.ask(team, n * nb, [&](int k, int u) {
            return dq[static_cast<size_t>(asked_column.value[u]) * nb + k % nb];
        });
        asked.take(team, count, load, [&](int k, const Entries &pack) {
            Sums wider;
            RT_UNROLL
            for (int e = 0; e < wide; e++)
                wider.at[e] = static_cast<Sum>(value(pack.at[e]));
            const int gaps = nb % 2 ? 0 : wide * k / (nb * nb);
            if (gaps == 0)
                *reinterpret_cast<Sums *>(o + wide * k) = wider;
            for (int e = 0; gaps > 0 && e < wide; e++)
                o[wide * k + gaps + e] = wider.at[e];
        });
        asked_x.take(team, n * nb, gather, [&](int k, Q value) { x[k] = static_cast<Sum>(value); });
        /* the last entries of O may be too few for a pack */
        for (int64_t e = whole + team.team_rank(); e < end; e += team.team_size())
            o[e - begin + late] = static_cast<Sum>(value(block[e]));
        return late;
    }

    /* Replaces the dQ of one block by its product with the block. */
    KOKKOS_INLINE_FUNCTION void multiply(const Sum *o, Sum *x) const
    {
        Sum in[Size::most];
        RT_UNROLL
        for (int j = 0; j < nb; j++)
            in[j] = x[j];
        RT_UNROLL
        for (int i = 0; i < nb; i++) {
            Sum sum = 0;
            RT_UNROLL
            for (int j = 0; j < nb; j++)
                sum += o[j * nb + i] * in[j];
            x[i] = sum;
        }
    }

    KOKKOS_INLINE_FUNCTION void solve(int row, const double *lu, const double *dr) const
    {
        double y[Size::most];
        RT_UNROLL
        for (int i = 0; i < nb; i++) {
            y[i] = dr[i];
            RT_UNROLL
            for (int j = 0; j < i; j++)
                y[i] -= lu[j * nb + i] * y[j];
        }
        RT_UNROLL
        for (int i = nb - 1; i >= 0; i--) {
            RT_UNROLL
            for (int j = i + 1; j < nb; j++)
                y[i] -= lu[j * nb + i] * y[j];
            y[i] *= lu[i * nb + i];
        }
        RT_UNROLL
        for (int i = 0; i < nb; i++)
            dq[static_cast<size_t>(row) * nb + i] = static_cast<Q>(y[i]);
    }

    KOKKOS_INLINE_FUNCTION void operator()(const Member &team) const
    {
        const int row = first + team.league_rank() * per_team;
        const int rows = last - row < per_team ? last - row : per_team;
        const int begin = start[row], end = start[row + rows];
        Sum *o = static_cast<Sum *>(team.team_scratch(0).get_shmem_aligned(scratch(), 16));
        double *lu = reinterpret_cast<double *>(o + room()), *dr = lu + per_team * nb * nb;
        Sum *x = reinterpret_cast<Sum *>(dr + per_team * nb), *sum = x + blocks * nb;
        const auto load_LU = [&](int k, int) {
            return rt_kokkos::once(LU + static_cast<size_t>(row) * (nb * nb) + k);
        };
        const auto load_R = [&](int k, int) {
            return rt_kokkos::once(R + static_cast<size_t>(row) * nb + k);
        };
        rt_kokkos::Asked<double, 2> asked_LU; /* used at the end */
        rt_kokkos::Asked<double, 1> asked_R;
        asked_LU.ask(team, rows * nb * nb, load_LU);
        asked_R.ask(team, rows * nb, load_R);
        const auto each = [&](int n, const auto &body) {
            for (int k = team.team_rank(); k < n; k += team.team_size())
                body(k);
        };
        each(rows * nb, [&](int k) { sum[k] = 0; });
        for (int from = begin; from < end; from += blocks) {
            const int n = end - from < blocks ? end - from : blocks;
            if (from > begin)
                team.team_barrier();
            const int late = fetch(team, from, n, o, x);
            team.team_barrier();
            each(n, [&](int b) { multiply(o + late + b * stride(), x + b * nb); });
            team.team_barrier();
            each(rows * nb, [&](int k) {
                const int low = start[row + k / nb] - from, high = start[row + k / nb + 1] - from;
                Sum all = sum[k];
                for (int b = low > 0 ? low : 0; b < high && b < n; b++)
                    all += x[b * nb + k % nb];
                sum[k] = all;
            });
        }
        asked_LU.take(team, rows * nb * nb, load_LU, [&](int k, double value) { lu[k] = value; });
        asked_R.take(team, rows * nb, load_R,
                     [&](int k, double value) { dr[k] = value - static_cast<double>(sum[k]); });
        team.team_barrier();
        each(rows, [&](int k) { solve(row + k, lu + k * nb * nb, dr + k * nb); });
    }
};

/* --- every combination of types --- */

template <class Size, class O, class Q, class Sum>
void launch(const mcpi_view_t *view, int64_t first, int64_t last, void *dq)
{
    const int chosen = rt_team_size(view->choice), threads = chosen ? chosen : THREADS;
    const Rows<Size, O, Q, Sum> rows(view, first, last, threads, dq);
    Policy policy(rt_kokkos::exec(), rows.teams(), threads);
    policy.set_scratch_size(0, Kokkos::PerTeam(static_cast<int>(rows.scratch()) + 16));
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
