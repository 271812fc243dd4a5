/*
 * mixed.cu - the patch rung with single precision inside.
 *
 * Idea: the patch rung is near the limit of double precision arithmetic and of shared memory, and
 * both have twice the rate in single precision. Differences of positions and velocities are formed
 * in double and then rounded, so nothing is lost to large coordinates; an element's results are
 * float; a node's sum, and r, are double. Advantage: half the shared memory for results and half
 * the registers. Price: its error is that of float, about 1e-7 of what each element adds, so it has
 * a tolerance of its own.
 */
#include "config.h"
#include "patch_host.cuh"

/* As in patch.cu; 28 warps, as an element needs 64 registers. Two warps of a scheduler compute at
 * once, so that the others fetch from shared memory and store meanwhile. */
struct mixed_t {
    static constexpr alya_patch_variant_t shapes[] = {
        alya_patch_variant<alya_patch_kernel_t<640, 288, 6, 2, 2, 1, float>>(),
        alya_patch_variant<alya_patch_kernel_t<256, 192, 3, 1, 0, 2, float>>(),
    };
};

extern "C" const alya_kernels_t alya_mixed =
    alya_patch_rung_t<mixed_t>::table("FP32 in patches, FP64 sums", ALYA_TOLERANCE_MIXED);
