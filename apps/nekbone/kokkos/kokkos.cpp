/*
 * kokkos.cpp - the operator through Kokkos: one source for CPUs and GPUs.
 *
 * Idea: on a GPU one team per element, whose members own columns (i, j), as the threads of
 * `packed` do (element.hpp). On a CPU an element is a matrix product of vectors that stay in
 * registers, as in `jammed` (tiles.h).
 *
 * Advantage: portable, and at most five barriers per element instead of two per layer.
 *
 * Price: two forms of one operator, because a processor with registers for 16 vectors and one with
 * 32 lanes for each of them want different loops.
 */
#include "config.h"
#include "element.hpp"

namespace
{

/* The form for teams. */
template <int n> struct Ax {
    nek_team::Operator<n> A;
    const double *G, *u;
    double *w;

    KOKKOS_INLINE_FUNCTION void operator()(const nek_team::Member &team) const
    {
        const size_t e = static_cast<size_t>(team.league_rank()), n3 = A.n3;
        const double *ue = u + e * n3;
        double *we = w + e * n3;
        A.apply(
            team, G + e * 6 * n3,
            [&](int t, double *column) {
                NEK_UNROLL
                for (int k = 0; k < n; k++)
                    column[k] = ue[k * A.n2 + t];
            },
            [&](int t, const double *, const double *column) {
                NEK_UNROLL
                for (int k = 0; k < n; k++)
                    we[k * A.n2 + t] = column[k];
            });
    }
};

void by_teams(const nek_view_t *view, const double *u, double *w)
{
    nek_fixed_n<NEK_MAX_N>(view->n, [=](auto n) {
        using A = nek_team::Operator<n()>;
        nek_team::launch<n()>("nekbone ax", view->elements, A::scratch,
                              Ax<n()>{A(view), view->G, u, w});
    });
}

void by_vectors(const nek_view_t *view, const double *u, double *w)
{
    nek_tiles_t matrices;
    const nek_tiles_t *m = &matrices;
    const double *G = view->G;
    nek_tiles_set(view->n, view->D, &matrices);
    nek_fixed_n<NEK_MAX_N>(view->n, [=](auto n) {
        constexpr int64_t n3 = n() * n() * n();
        rt_kokkos::host_for("nekbone ax", view->elements, [=](int64_t e) {
            nek_tiles_element(n(), m, G + e * 6 * n3, u + e * n3, w + e * n3, nullptr);
        });
    });
}

} // namespace

void nek_team::ax(const nek_view_t *view, const double *u, double *w)
{
    if constexpr (rt_kokkos::on_host)
        if (is_vector(view))
            return by_vectors(view, u, w);
    by_teams(view, u, w);
}

RT_KOKKOS_TABLE(nek_kernels_t, nek_kokkos, nek_team::table());
