/*
 * solve_cuda.cu - a whole time step on the GPU: parity for A; for P tensor if r has 16 bits, else
 * tiled; fused vector loops between them. An iteration needs no host.
 */
#include "config.h"
#include "gfnn_net.cuh"

extern "C" const gfnn_kernels_t gfnn_solve_cuda = {
    .rung = {.precision = GFNN_SOLVE_PRECISION,
             .reproducible = true,
             .parameters = gfnn_parity_parameters,
             .n_parameters = GFNN_PARITY_PARAMETERS,
             .refuse = gfnn_refuse},
    .ladder = GFNN_LADDER_SOLVE,
    .op = &gfnn_operator_parity,
    .predictor = {&gfnn_predictor_tiled, &gfnn_predictor_tensor},
};
