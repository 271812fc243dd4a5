/*
 * patch.cu - patches of elements in shared memory.
 *
 * Idea: consecutive elements share nodes. A block takes a few hundred of them, fetches their nodes
 * once, keeps the results in shared memory, sums up there what each node got, and only the sums go
 * to r. Advantage: 1 to 1.5 atomic additions per element instead of 12, and a node is fetched about
 * 0.45 times per element instead of 4. Price: lists made at set-up, of which 15 to 20 bytes per
 * element are read (the connectivity is not), and an order of the elements in which neighbours are
 * close: in a random one, patches are small and gain little.
 *
 * patch.cuh has the kernel. It computes one patch, sums the one before and fetches the next ones at
 * the same time.
 */
#include "config.h"
#include "patch_host.cuh"

/* Elements, nodes, warps that sum and that fetch, blocks per multiprocessor. 768 threads leave 80
 * registers, where the kernel would use 92: 16 bytes are spilled, which costs less than having
 * fewer warps. A single fetching warp was busy all the time, and delayed the others. Ids have 8
 * bits where 256 nodes are enough. The last is for GPUs whose multiprocessors have less shared
 * memory. */
static constexpr alya_patch_variant_t shapes[] = {
    alya_patch_variant<alya_patch_kernel_t<576, 256, 4, 2, 1, double>>(),
    alya_patch_variant<alya_patch_kernel_t<576, 304, 4, 2, 1, double>>(),
    alya_patch_variant<alya_patch_kernel_t<256, 192, 3, 1, 2, double>>(),
};
static constexpr int SHAPES = sizeof shapes / sizeof shapes[0];

static void patch_assemble(const alya_view_t *view, const alya_physics_t *physics, const double *,
                           double *r)
{
    alya_patch_run(view, physics, r, shapes);
}

static void patch_set_up(alya_view_t *view)
{
    alya_patch_set_up(view, shapes, SHAPES);
}

static void patch_memory(const alya_counts_t *counts, double bytes[RT_SPACES])
{
    alya_patch_memory(counts, shapes, SHAPES, bytes);
}

extern "C" const alya_kernels_t alya_patch = {
    .rung = {.precision = "FP64"},
    .assemble = patch_assemble,
    .set_up = patch_set_up,
    .tear_down = alya_patch_tear_down,
    .memory = patch_memory,
    .packed = 6,
    .r_stride = 3,
    .tolerance = ALYA_TOLERANCE,
};
