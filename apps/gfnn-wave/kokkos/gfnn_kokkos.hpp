/*
 * gfnn_kokkos.hpp - what the Kokkos rungs of gfnn-wave share.
 */
#ifndef GFNN_KOKKOS_HPP
#define GFNN_KOKKOS_HPP

#include "machine/kokkos.hpp"
#include "app/team.h"
#include "apps/gfnn-wave/loops/node.h"

/* Parts of the rungs, of which solve_kokkos.cpp makes a whole solve. */
extern "C" {
extern const gfnn_operator_t gfnn_operator_kokkos;
extern const gfnn_predictor_t gfnn_predictor_kokkos;
extern const gfnn_vectors_t gfnn_vectors_kokkos;
}

namespace gfnn_kokkos
{

using rt_kokkos::on_host;

using Range = Kokkos::RangePolicy<rt_kokkos::Exec, Kokkos::IndexType<int64_t>>;

/* Returns the inverses of the diagonal blocks, [GFNN_BLOCK][bare.plane]: vectors.cpp. view: that of
 * the vectors. */
const float *inverse_of(const gfnn_view_t *view);

/* Returns whether the vector code of the CPU rungs does the work of operator and predictor. */
inline bool is_vector(const gfnn_view_t *view)
{
    return on_host && rt_team_size(view->choice) == 0;
}

/* Gives a rung its choice between them on a CPU. On a GPU the tile sets the threads of a team. */
constexpr void choose_form(rt_kernels_t *rung)
{
    rung->parameters = &rt_team_threads;
    rung->n_parameters = on_host ? 1 : 0;
    rung->refuse_choice = rt_team_refuse;
}

} // namespace gfnn_kokkos

#endif
