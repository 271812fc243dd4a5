/*
 * kokkos.cpp - the rows of a colour through Kokkos: one source for CPUs and GPUs.
 *
 * Idea: on a GPU a member of a team owns one component of one row, as in six-rows, so that no sum
 * is split. O lies as members read it (input/portable.h): neighbours take neighbouring 16 bytes, and
 * each has several such loads in flight. dQ of the neighbours comes into the team's scratch memory
 * first, by one load per block and component, and the stream of dQ there has the order of the
 * stream of O. The components meet in scratch memory, where one member per row solves. On a CPU
 * each thread has neighbouring rows, by the vectors of `cpu-simd`. Advantage: portable, no shuffles,
 * any block size; memory sees long, regular reads. Price: two barriers, O in an order of its own on
 * a GPU, and one launch per colour.
 */
#include "config.h"
#if defined(__CUDACC__)
#include <cuda_fp16.h>
#endif
#include "app/team.h"
#include "machine/kokkos.hpp"
#include "../cuda/types.hpp"

namespace
{

/* 64 registers, for teams of any size. */
using Policy = Kokkos::TeamPolicy<rt_kokkos::Exec, Kokkos::LaunchBounds<512, 2>>;
using Member = Policy::member_type;

/* Rows of a team. Loads that a member has in flight: chunks of O, and blocks' columns and their dQ. */
constexpr int ROWS = 12, CHUNKS = rt_kokkos::on_host ? 2 : 8,
              NEIGHBOURS = rt_kokkos::on_host ? 2 : 20;

/* --- what O is stored in --- */

KOKKOS_INLINE_FUNCTION double value(double x)
{
    return x;
}
KOKKOS_INLINE_FUNCTION float value(float x)
{
    return x;
}
KOKKOS_INLINE_FUNCTION float value(mcpi_half_t x)
{
#if defined(__CUDA_ARCH__)
    __half_raw raw;
    raw.x = x.bits;
    return __half2float(raw);
#else
    return mcpi_widen_fp16(x.bits);
#endif
}
KOKKOS_INLINE_FUNCTION float value(mcpi_bfloat_t x)
{
    return mcpi_widen_bf16(x.bits);
}

/* --- a colour --- */

/* The block size: a constant, or known when the program runs. rows: of a team. */
template <int nb_> struct Fixed {
    static constexpr int most = nb_, nb = nb_, rows = ROWS;
    explicit Fixed(int)
    {
    }
};
struct Any {
    static constexpr int most = MCPI_MAX_NB, rows = 8;
    int nb;
    explicit Any(int nb_) : nb(nb_)
    {
    }
};

template <class Size, class O, class Q, class Sum> struct Rows : Size {
    using Size::nb;
    static constexpr int width = MCPI_CHUNK / sizeof(O);
    /* So many blocks of a row are multiplied between two barriers; whole chunks, and what a GPU's
     * scratch memory has room for. */
    static constexpr int blocks = sizeof(Sum) == sizeof(float) ? 24 : 16;
    static constexpr int gap = 16 / sizeof(Sum); /* Sums: other banks for the next row */
    static constexpr int wide = width < gap ? width : gap;
    using Chunk = rt_kokkos::Pack<O, width>;
    using Sums = rt_kokkos::Pack<Sum, wide>;

    int first, last, longest, shift; /* shift: 2^shift members per row; 0: nb */
    const int32_t *start, *column;
    const Chunk *chunk;
    const double *LU, *R;
    Q *dq;

    Rows(const mcpi_view_t *view, int64_t first_, int64_t last_, void *dq_)
        : Size(view->nb), first(static_cast<int>(first_)), last(static_cast<int>(last_)),
          longest(view->longest), shift(view->choice[1] ? view->choice[1] + 2 : 0),
          start(view->start), column(view->column), chunk(static_cast<const Chunk *>(view->O)),
          LU(view->LU), R(view->R), dq(static_cast<Q *>(dq_))
    {
    }

    /* Returns how many members a row has, of which nb work. */
    KOKKOS_INLINE_FUNCTION int lanes() const
    {
        return shift ? 1 << shift : nb;
    }

    /* Return how far apart rows are in scratch memory. Factors: an odd number, so that the members
     * that solve read from different banks. */
    KOKKOS_INLINE_FUNCTION int stream() const
    {
        return blocks * nb + gap;
    }
    KOKKOS_INLINE_FUNCTION int factors() const
    {
        return nb * nb | 1;
    }
    KOKKOS_INLINE_FUNCTION size_t scratch() const
    {
        return Size::rows * (sizeof(Sum) * stream() + sizeof(double) * (factors() + nb));
    }

    /* Returns how many blocks of the row are among those from `from` on. */
    KOKKOS_INLINE_FUNCTION int count(int row, int from) const
    {
        const int n = start[row + 1] - start[row] - from;
        return n < 0 ? 0 : n < blocks ? n : blocks;
    }

    /* Brings component i of dQ of this row's neighbours to where a stream begins. */
    KOKKOS_INLINE_FUNCTION void gather(int row, int i, int from, Sum *x) const
    {
        const int n = count(row, from);
        const int32_t *to = column + start[row] + from;
        const Q *from_i = dq + i;
        Sum *place = x + i;
        for (int left = n; left > 0; left -= NEIGHBOURS) {
            int32_t there[NEIGHBOURS];
            Q value[NEIGHBOURS];
            RT_UNROLL
            for (int u = 0; u < NEIGHBOURS; u++)
                there[u] = to[u < left ? u : left - 1];
            RT_UNROLL
            for (int u = 0; u < NEIGHBOURS; u++)
                value[u] = from_i[static_cast<int64_t>(there[u]) * nb];
            RT_UNROLL
            for (int u = 0; u < NEIGHBOURS; u++)
                if (u < left)
                    place[u * nb] = static_cast<Sum>(value[u]);
            to += NEIGHBOURS;
            place += NEIGHBOURS * nb;
        }
        for (int e = n * nb + i; e < (n * nb + width - 1) / width * width; e += nb)
            x[e] = 0; /* O has zeros there, which must not meet a NaN */
    }

    /* Returns component i of O dQ, of these blocks of the row. */
    KOKKOS_INLINE_FUNCTION Sum multiply(int row, int i, int from, const Sum *x) const
    {
        const int chunks = (count(row, from) * nb + width - 1) / width;
        const Chunk *o =
            chunk + (mcpi_first_chunk(nb, width, start[row], row) + from * nb / width) * nb + i;
        const Sums *y = reinterpret_cast<const Sums *>(x);
        Sum sum = 0;
        for (int left = chunks; left > 0; left -= CHUNKS) {
            Chunk ahead[CHUNKS];
            RT_UNROLL
            for (int u = 0; u < CHUNKS; u++)
                ahead[u] = rt_kokkos::once(o + (u < left ? u : left - 1) * nb);
            RT_UNROLL
            for (int u = 0; u < CHUNKS; u++)
                if (u < left)
                    sum = add(ahead[u], y + u * (width / wide), sum);
            o += CHUNKS * nb;
            y += CHUNKS * (width / wide);
        }
        return sum;
    }

    KOKKOS_INLINE_FUNCTION Sum add(const Chunk &o, const Sums *y, Sum sum) const
    {
        RT_UNROLL
        for (int q = 0; q < width / wide; q++) {
            const Sums x = y[q];
            RT_UNROLL
            for (int e = 0; e < wide; e++)
                sum += static_cast<Sum>(value(o.at[q * wide + e])) * x.at[e];
        }
        return sum;
    }

    KOKKOS_INLINE_FUNCTION void solve(int row, const double *lu, const double *dr) const
    {
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
        const int row = first + team.league_rank() * Size::rows;
        const int rows = last - row < Size::rows ? last - row : Size::rows;
        Sum *x = static_cast<Sum *>(team.team_scratch(0).get_shmem_aligned(scratch(), 16));
        double *lu = reinterpret_cast<double *>(x + Size::rows * stream());
        double *dr = lu + Size::rows * factors();
        const auto each = [&](const auto &body) {
            for (int k = team.team_rank(); k < rows * lanes(); k += team.team_size()) {
                const int r = shift ? k >> shift : k / nb, i = k - r * lanes();
                if (i < nb)
                    body(r, i);
            }
        };
        const auto products = [&] {
            for (int from = 0; from == 0 || from < longest; from += blocks) {
                if (from > 0)
                    team.team_barrier();
                each([&](int r, int i) { gather(row + r, i, from, x + r * stream()); });
                team.team_barrier();
                each([&](int r, int i) {
                    const int k = r * nb + i;
                    const double right = from > 0 ? dr[k] : R[static_cast<size_t>(row) * nb + k];
                    dr[k] =
                        right - static_cast<double>(multiply(row + r, i, from, x + r * stream()));
                });
            }
        };
        rt_kokkos::bring<Size::most>(
            team, rows * nb * nb,
            [&](int k) { return LU[static_cast<size_t>(row) * (nb * nb) + k]; },
            [&](int k, double value) { lu[k / (nb * nb) * factors() + k % (nb * nb)] = value; },
            products);
        team.team_barrier();
        for (int r = team.team_rank(); r < rows; r += team.team_size())
            solve(row + r, lu + r * factors(), dr + r * nb);
    }
};

template <class Size, class O, class Q, class Sum>
void launch(const mcpi_view_t *view, int64_t first, int64_t last, void *dq)
{
    const Rows<Size, O, Q, Sum> rows(view, first, last, dq);
    const int teams = static_cast<int>((last - first + Size::rows - 1) / Size::rows);
    const int threads = rt_team_size(view->choice);
    Policy policy(rt_kokkos::exec(), teams, threads ? threads : Size::rows * rows.lanes());
    policy.set_scratch_size(0, Kokkos::PerTeam(static_cast<int>(rows.scratch()) + 16));
    Kokkos::parallel_for("mcpi rows", policy, rows);
}

void rows_in_chunks(const mcpi_view_t *view, int64_t first, int64_t last, void *dq)
{
    mcpi_fixed_types<mcpi_half_t, mcpi_bfloat_t>(view, [&](auto o, auto q, auto sum) {
        using O = typename decltype(o)::type;
        using Q = typename decltype(q)::type;
        using Sum = typename decltype(sum)::type;
        if (view->nb > MCPI_FIXED_NB)
            launch<Any, O, Q, Sum>(view, first, last, dq);
        else
            mcpi_fixed_nb<MCPI_MIN_NB, MCPI_FIXED_NB>(view->nb, [&](auto nb) {
                launch<Fixed<decltype(nb)::value>, O, Q, Sum>(view, first, last, dq);
            });
    });
}

void rows(const mcpi_view_t *view, int64_t first, int64_t last, void *dq)
{
    if (!rt_kokkos::on_host) {
        rows_in_chunks(view, first, last, dq);
    } else if (rt_team_size(view->choice) == 0) {
        const int64_t parts = rt_kokkos::exec().concurrency(), n = last - first;
        rt_kokkos::host_for("mcpi rows", parts, [=](int64_t k) {
            mcpi_simd_rows(view, first + n * k / parts, first + n * (k + 1) / parts, dq);
        });
    } else { /* the text for GPUs, to verify it: O is in chunks for this call alone */
        const size_t before = mcpi_chunk_bytes(view->system, 0, first);
        unsigned char *O =
            RT_NEW(unsigned char, before + mcpi_chunk_bytes(view->system, first, last), RT_HOST);
        mcpi_view_t own = *view;
        own.O = O;
        mcpi_chunk_rows(view->system, first, last, O + before);
        rows_in_chunks(&own, first, last, dq);
        rt_kokkos_fence();
        RT_FREE(O, RT_HOST);
    }
}

const char *const lanes_values[] = {"auto", "8", "16", "32", nullptr};
const rt_parameter_t parameters[] = {rt_team_threads,
                                     {.name = "lanes",
                                      .about = "members of a team per row; auto: one per component",
                                      .values = lanes_values,
                                      .initial = 0}};

const char *refuse_choice(const void *config, const int *choice)
{
    const auto nb = static_cast<const mcpi_config_t *>(config)->nb;
    const bool teams = !rt_kokkos::on_host || rt_team_size(choice) > 0;
    if (choice[1] && (!teams || nb > 4 << choice[1]))
        return "lanes are for teams, and at least as many as a block has rows";
    return rt_team_refuse(config, choice);
}

constexpr mcpi_kernels_t table()
{
    mcpi_kernels_t t = {};
    t.rung.precision = MCPI_PRECISION;
    t.rung.reproducible = true;
    t.rung.parameters = parameters;
    t.rung.n_parameters = 2;
    t.rung.refuse_choice = refuse_choice;
    t.rows = rows;
    t.chunked = !rt_kokkos::on_host;
    return t;
}

} // namespace

RT_KOKKOS_TABLE(mcpi_kernels_t, mcpi_kokkos, table());
