/*
 * cpu_simd32.c - cpu_simd.c for FP32 vectors, which are on `wide`: twice the lanes. A row of x . y is
 * added in FP32, and rows in FP64.
 */
#include "config.h"
#define REAL       float
#define REAL_BYTES 4
#define INTEGER    int32_t
#define GRID       wide
#define PART       gfnn_simd_part32
#include "cpu_simd_rows.inc"
