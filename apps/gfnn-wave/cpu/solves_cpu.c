/*
 * solves_cpu.c - whole solves on the CPU: an operator, a predictor for each precision, and the
 * loops over vectors.
 */
#include "config.h"
#include "cpu.h"

const gfnn_kernels_t gfnn_solve_reference = {
    .ladder = GFNN_LADDER_SOLVE,
    .op = &gfnn_operator_reference,
    .predictor = {&gfnn_predictor_reference[GFNN_FP32], &gfnn_predictor_reference[GFNN_FP16]},
    .vectors = &gfnn_vectors_cpu};

const gfnn_kernels_t gfnn_solve_simd = {
    .ladder = GFNN_LADDER_SOLVE,
    .op = &gfnn_operator_simd,
    .predictor = {&gfnn_predictor_simd[GFNN_FP32], &gfnn_predictor_simd[GFNN_FP16]},
    .vectors = &gfnn_vectors_cpu};
