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

/* Elements, nodes, warps that sum, that fetch and that compute at once, blocks per multiprocessor;
 * registers. 24 warps have 80 each, with which the compiler computes a tenth of the element twice
 * and spills. So those that sum and fetch, which need 48, give the others 16 each. They can in code
 * for 90a alone (local.mk); elsewhere 20 warps have 96 each. Ids have 8 bits, as 256 nodes are
 * enough. The last is for GPUs whose multiprocessors have less shared memory, and for poor orders. */
struct patch_t {
    static constexpr alya_patch_variant_t shapes[] = {
        alya_patch_variant<alya_patch_kernel_t<512, 256, 6, 2, 0, 1, double, 96, 48>>(),
        alya_patch_variant<alya_patch_kernel_t<512, 256, 3, 1, 0, 1, double>>(),
        alya_patch_variant<alya_patch_kernel_t<256, 192, 3, 1, 0, 2, double>>(),
    };
};

extern "C" const alya_kernels_t alya_patch =
    alya_patch_rung_t<patch_t>::table("FP64", ALYA_TOLERANCE);
