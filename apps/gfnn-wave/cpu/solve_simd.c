/* solve_simd.c - whole solves over the vectorised operator and predictor. */
#include "config.h"
#include "cpu.h"

const gfnn_kernels_t gfnn_solve_simd = {
    .ladder = GFNN_LADDER_SOLVE,
    .op = &gfnn_operator_simd,
    .predictor = {&gfnn_predictor_simd[GFNN_FP32], &gfnn_predictor_simd[GFNN_FP16]},
    .vectors = &gfnn_vectors_cpu};
