/*
 * cpu.h - the CPU rungs' parts, of which solves_cpu.c makes whole solves.
 */
#ifndef GFNN_CPU_H
#define GFNN_CPU_H

#include "../gfnn.h"

#ifdef __cplusplus
extern "C" {
#endif

/* op_reference.c, op_simd.c: y = A x */
extern const gfnn_operator_t gfnn_operator_reference, gfnn_operator_simd;
/* net_reference.c, net_simd.c: z = P r, by precision of r */
extern const gfnn_predictor_t gfnn_predictor_reference[GFNN_PRECISIONS];
extern const gfnn_predictor_t gfnn_predictor_simd[GFNN_PRECISIONS];

#ifdef __cplusplus
}
#endif
#endif
