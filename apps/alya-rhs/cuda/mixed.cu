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

/* As in patch.cu. */
static constexpr alya_patch_variant_t shapes[] = {
    alya_patch_variant<alya_patch_kernel_t<576, 256, 4, 2, 1, float>>(),
    alya_patch_variant<alya_patch_kernel_t<576, 304, 4, 2, 1, float>>(),
    alya_patch_variant<alya_patch_kernel_t<256, 192, 3, 1, 2, float>>(),
};
static constexpr int SHAPES = sizeof shapes / sizeof shapes[0];

static void mixed_assemble(const alya_view_t *view, const alya_physics_t *physics, const double *,
                           double *r)
{
    alya_patch_run(view, physics, r, shapes);
}

static void mixed_set_up(alya_view_t *view)
{
    alya_patch_set_up(view, shapes, SHAPES);
}

static void mixed_memory(const alya_counts_t *counts, double bytes[RT_SPACES])
{
    alya_patch_memory(counts, shapes, SHAPES, bytes);
}

extern "C" const alya_kernels_t alya_mixed = {
    .rung = {.precision = "FP32 in patches, FP64 sums"},
    .assemble = mixed_assemble,
    .set_up = mixed_set_up,
    .tear_down = alya_patch_tear_down,
    .memory = mixed_memory,
    .packed = 6,
    .r_stride = 3,
    .tolerance = ALYA_TOLERANCE_MIXED,
};
