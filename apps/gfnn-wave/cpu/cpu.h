/* cpu.h - the operators and predictors of the CPU, of which solve_*.c make whole solves. */
#ifndef GFNN_CPU_H
#define GFNN_CPU_H

#include "apps/gfnn-wave/kernel.h"

/* y = A x: reference.c, cpu_simd.c */
extern const gfnn_operator_t gfnn_operator_reference, gfnn_operator_simd;
/* z = P r for each precision of r: predict_reference.c, predict_simd.c */
extern const gfnn_predictor_t gfnn_predictor_reference, gfnn_predictor_simd;
/* What a tuner may choose for gfnn_operator_simd: rows and width of a tile, in nodes. Value
 * number i is the least one times 2^i. */
enum {
    GFNN_SIMD_PARAMETERS = 2,
    GFNN_SIMD_LEAST_ROWS = 6,
    GFNN_SIMD_LEAST_WIDTH = 64,
    GFNN_SIMD_INITIAL = 2
};
extern const rt_parameter_t gfnn_simd_parameters[GFNN_SIMD_PARAMETERS];

#endif
