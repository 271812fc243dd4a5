/* solve_reference.c - whole solves over the reference operator and predictor. */
#include "config.h"
#include "cpu.h"

const gfnn_kernels_t gfnn_solve_reference = {
    .ladder = GFNN_LADDER_SOLVE,
    .op = &gfnn_operator_reference,
    .predictor = {&gfnn_predictor_reference[GFNN_FP32], &gfnn_predictor_reference[GFNN_FP16]},
    .vectors = &gfnn_vectors_cpu};
