/*
 * cpu.h - the operators and predictors of the CPU, of which solve_*.c make whole solves, and what
 * the Kokkos rungs take of them on a CPU.
 */
#ifndef GFNN_CPU_H
#define GFNN_CPU_H

#include "base/extern_c.h"
#include "apps/gfnn-wave/kernel.h"

RT_C_BEGIN

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

/* Part number `me` of the `parts` that threads share of a product: cpu_simd.c, of its two types in
 * cpu_simd.c and cpu_simd32.c. dots: NULL, or x . y of each row of nodes, to be added up when
 * all parts are done (rt_sum_pairwise). The same bits for any number of parts. */
void gfnn_simd_part(const gfnn_view_t *view, const gfnn_product_t *product, int64_t me,
                    int64_t parts, double *dots);
void gfnn_simd_part64(const gfnn_view_t *view, const gfnn_product_t *product, int64_t me,
                      int64_t parts, double *dots);
void gfnn_simd_part32(const gfnn_view_t *view, const gfnn_product_t *product, int64_t me,
                      int64_t parts, double *dots);

/* A row of z = P r, for row = j + n[1] k: predict_simd.c. Before it, all copies of rows of r (with
 * ghosts) as FP32 to where reading on beyond the end does no harm, if any. The view is one that
 * gfnn_predictor_simd has set up. */
int64_t gfnn_simd_copies(const gfnn_view_t *view, const gfnn_network_t *network);
void gfnn_simd_copy(const gfnn_view_t *view, const gfnn_network_t *network, const void *r,
                    int64_t row);
void gfnn_simd_predict(const gfnn_view_t *view, const gfnn_network_t *network, const void *r,
                       int64_t row, float *z);

RT_C_END

#endif
