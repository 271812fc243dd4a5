/* cpu.h - the operators and predictors of the CPU, of which solve_*.c make whole solves. */
#ifndef GFNN_CPU_H
#define GFNN_CPU_H

#include "apps/gfnn-wave/kernel.h"

/* y = A x: reference.c, cpu_simd.c */
extern const gfnn_operator_t gfnn_operator_reference, gfnn_operator_simd;
/* z = P r for each precision of r: predict_reference.c, predict_simd.c */
extern const gfnn_predictor_t gfnn_predictor_reference, gfnn_predictor_simd;
/* What a tuner may choose for gfnn_operator_simd. */
enum { GFNN_SIMD_PARAMETERS = 2 };
extern const rt_parameter_t gfnn_simd_parameters[GFNN_SIMD_PARAMETERS];

#endif
