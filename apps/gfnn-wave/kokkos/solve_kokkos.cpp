/*
 * solve_kokkos.cpp - a whole time step in Kokkos: its operator, its predictor and its loops over
 * vectors. Nothing but sums comes to the host.
 */
#include "config.h"
#include "gfnn_kokkos.hpp"

extern "C" const gfnn_kernels_t gfnn_solve_kokkos = {
    GFNN_LADDER_SOLVE,
    &gfnn_operator_kokkos,
    {&gfnn_predictor_kokkos[GFNN_FP32], &gfnn_predictor_kokkos[GFNN_FP16]},
    &gfnn_vectors_kokkos};
