/* solve_reference.c - whole solves over the reference operator and predictor. */
#include "config.h"
#include "cpu.h"

const gfnn_kernels_t gfnn_solve_reference = {
    .rung = {.precision = GFNN_SOLVE_PRECISION, .reproducible = true, .refuse = gfnn_refuse},
    .ladder = GFNN_LADDER_SOLVE,
    .op = &gfnn_operator_reference,
    .predictor = {&gfnn_predictor_reference, &gfnn_predictor_reference},
};
