/*
 * solve_mixed.cu - the solve of solve-cuda with vectors, factors and the operator in FP32.
 *
 * Idea: a solve is limited by its bytes, and needs FP64 in one place: b - A x in FP64 replaces r
 * when |r| has fallen by NEK_DROP (solve_cg.cuh).
 *
 * Advantage: 73 bytes per point and iteration instead of 132, and as many iterations.
 *
 * Price: r is a few percent of its length away from b - A x at the end, so the solve ends that much
 * below the tolerance. The factors are in memory twice.
 */
#include "config.h"
#include "solve_cg.cuh"

extern "C" const nek_kernels_t nek_solve_mixed =
    nek_solve_table<float>("FP32, residual replaced in FP64");
