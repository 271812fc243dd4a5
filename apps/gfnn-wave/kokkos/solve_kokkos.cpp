/*
 * solve_kokkos.cpp - a whole time step in Kokkos: its operator, its predictor and its loops over
 * vectors. Only sums come to the host.
 */
#include "config.h"
#include "gfnn_kokkos.hpp"

namespace
{

constexpr gfnn_kernels_t table()
{
    gfnn_kernels_t t = {};
    t.rung.precision = GFNN_SOLVE_PRECISION;
    t.rung.reproducible = true;
    t.rung.refuse = gfnn_refuse;
    gfnn_kokkos::choose_form(&t.rung);
    t.ladder = GFNN_LADDER_SOLVE;
    t.op = &gfnn_operator_kokkos;
    t.predictor[GFNN_FP32] = &gfnn_predictor_kokkos;
    t.predictor[GFNN_FP16] = &gfnn_predictor_kokkos;
    t.vectors = &gfnn_vectors_kokkos;
    return t;
}

} // namespace

RT_KOKKOS_TABLE(gfnn_kernels_t, gfnn_solve_kokkos, table());
