/*
 * patch.cu - patches of elements in shared memory.
 *
 * Idea: elements that follow each other share nodes. A block takes a few hundred of them, fetches
 * their nodes once, keeps the results in shared memory, adds up there what each node got, and only
 * the sums go to r. Advantage: 1 to 1.5 atomic additions an element instead of 12, and a node is
 * fetched about 0.45 times an element instead of 4. Price: lists made at set-up, 15 to 20 bytes an
 * element of them to read (the connectivity is not), and an order of the elements with neighbours
 * near each other: in a random one, patches are small and gain little.
 *
 * patch.cuh has the kernel, in which computing one patch, summing the one before and fetching those
 * that follow go on at the same time.
 */
#include "config.h"
#include "patch.cuh"

/* Elements, nodes, warps that sum and that fetch, blocks on a multiprocessor. 768 threads leave 80
 * registers, where the kernel would like 92: 16 bytes are spilled, which costs less than fewer
 * warps would. One warp that fetches was busy all the time, and held up the rest. Ids of 8 bits
 * where 256 nodes are enough. The last is for GPUs whose multiprocessors have less shared memory.
 */
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

static void patch_memory(int64_t elements, int64_t nodes, double bytes[RT_SPACES])
{
    alya_patch_memory(elements, nodes, shapes, SHAPES, bytes);
}

extern "C" const alya_kernels_t alya_patch = {patch_assemble,
                                              patch_set_up,
                                              alya_patch_tear_down,
                                              patch_memory,
                                              6,
                                              3,
                                              false,
                                              ALYA_TOLERANCE,
                                              0};
