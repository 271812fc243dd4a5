/* solve_simd.c - whole solves over the vectorised operator and predictor. */
#include "config.h"
#include "cpu.h"

const gfnn_kernels_t gfnn_solve_simd = {
    .rung = {.precision = GFNN_SOLVE_PRECISION,
             .reproducible = true,
             .parameters = gfnn_simd_parameters,
             .n_parameters = GFNN_SIMD_PARAMETERS,
             .refuse = gfnn_refuse},
    .ladder = GFNN_LADDER_SOLVE,
    .op = &gfnn_operator_simd,
    .predictor = {&gfnn_predictor_simd, &gfnn_predictor_simd},
};
