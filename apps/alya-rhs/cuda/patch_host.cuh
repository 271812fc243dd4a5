/*
 * patch_host.cuh - host side of the patch rungs: the choice of a shape, set-up and launch.
 */
#ifndef ALYA_PATCH_HOST_CUH
#define ALYA_PATCH_HOST_CUH

#include "alya_cuda.cuh"
#include "patch.cuh"

/* What set_up keeps in view->data. */
struct alya_patch_data_t {
    alya_patch_lists_t lists; /* device memory */
    unsigned blocks;
    void (*launch)(const alya_patch_data_t &data, const alya_physics_t &physics,
                   const double *packed, double *r);
};

/* Returns how many blocks the device holds at once; each takes every n-th patch. 0: too little
 * shared memory, or warps that cannot give registers. */
template <class K> unsigned alya_patch_resident()
{
    const auto kernel = alya_patch_assemble<ALYA_EMAC, K>;
    int device = 0, most = 0, blocks = 0;
    RT_CUDA(cudaGetDevice(&device));
    RT_CUDA(cudaDeviceGetAttribute(&most, cudaDevAttrMaxSharedMemoryPerBlockOptin, device));
    if (K::shared_bytes > static_cast<unsigned>(most) ||
        (K::more > 0 && rt_device_gpu()->major != 9))
        return 0;
    RT_CUDA(
        cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, K::shared_bytes));
    RT_CUDA(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, kernel, K::threads,
                                                          K::shared_bytes));
    return static_cast<unsigned>(blocks * rt_device_gpu()->multiprocessors);
}

template <class K>
void alya_patch_launch(const alya_patch_data_t &data, const alya_physics_t &physics,
                       const double *packed, double *r)
{
    alya_fixed_form(physics.form, [&](auto form) {
        const auto kernel = alya_patch_assemble<form(), K>;
        RT_CUDA(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                     K::shared_bytes));
        kernel<<<data.blocks, K::threads, K::shared_bytes, rt_stream()>>>(
            data.lists, alya_closed_constants<typename K::real>(physics), packed, r);
        RT_CUDA_LAUNCHED();
    });
}

/* One entry of a rung's list of kernels. */
struct alya_patch_variant_t {
    alya_patch_shape_t shape;
    unsigned (*resident)();
    decltype(alya_patch_data_t::launch) launch;
};

template <class K> constexpr alya_patch_variant_t alya_patch_variant()
{
    return {.shape = K::shape, .resident = alya_patch_resident<K>, .launch = alya_patch_launch<K>};
}

/* Returns the cost of a shape on this mesh, per element: its slot in a patch, used or not, and the
 * patch nodes, each fetched and added to r. A slot and a node cost about the same: on an H200 17
 * ps (FP64 at its peak) and 14 ps (three additions at the rate of atomics on whole sectors). So a
 * shape is good if its patches are full and have few nodes; one whose limit of nodes is too low for
 * the order loses on both. */
inline double alya_patch_cost(const alya_mesh_t *mesh, const alya_patch_shape_t &shape)
{
    const alya_patch_count_t count = alya_patches_count(mesh, &shape);
    const double slots = static_cast<double>(count.patches) * shape.elements;
    return (slots + static_cast<double>(count.patch_nodes)) /
           static_cast<double>(mesh->elements > 0 ? mesh->elements : 1);
}

/*
 * A rung: `Rung::shapes` are its kernels, of which set_up takes the one with the cheapest shape.
 */
template <class Rung> struct alya_patch_rung_t {
    static void set_up(alya_view_t *view)
    {
        alya_patch_data_t *data = RT_NEW(alya_patch_data_t, 1, RT_HOST);
        const alya_patch_variant_t *best = nullptr;
        double least = 0;
        for (const alya_patch_variant_t &variant : Rung::shapes) {
            if (variant.resident() == 0 || (best && best->shape.nodes == variant.shape.nodes))
                continue; /* of shapes with as many nodes the first is faster */
            const double cost = alya_patch_cost(view->host, variant.shape);
            if (!best || cost < least) {
                least = cost;
                best = &variant;
            }
        }
        RT_EXPECT(best, RT_ENVIRONMENT, "this GPU has too little shared memory");
        const unsigned resident = best->resident();
        data->launch = best->launch;
        data->lists = alya_patch_lists_new(view->host, &best->shape, RT_DEVICE);
        data->blocks =
            data->lists.patches < resident ? static_cast<unsigned>(data->lists.patches) : resident;
        view->data = data;
    }
    static void tear_down(alya_view_t *view)
    {
        alya_patch_data_t *data = static_cast<alya_patch_data_t *>(view->data);
        if (!data)
            return;
        alya_patch_lists_destroy(&data->lists, RT_DEVICE);
        RT_FREE(data, RT_HOST);
        view->data = nullptr;
    }
    /* Counts the most expensive shape. Records are made in host memory, and then copied. */
    static void memory(const alya_counts_t *counts, double bytes[RT_SPACES])
    {
        double most = 0, most_making = 0;
        for (const alya_patch_variant_t &variant : Rung::shapes) {
            double making;
            const double held = alya_patches_count_memory(counts, &variant.shape, &making);
            most = held > most ? held : most;
            most_making = making > most_making ? making : most_making;
        }
        bytes[RT_DEVICE] += most;
        bytes[RT_HOST] += most + most_making + sizeof(alya_patch_data_t);
    }
    /* Nodes that are in no patch must be zero, and so must all that get atomic additions. */
    static void assemble(const alya_view_t *view, const alya_physics_t *physics, const double *,
                         double *r)
    {
        const alya_patch_data_t *data = static_cast<const alya_patch_data_t *>(view->data);
        alya_clear(view, r, 3);
        if (data->blocks > 0)
            data->launch(*data, *physics, view->x, r);
    }
    static constexpr alya_kernels_t table(const char *precision, double tolerance)
    {
        return {.rung = {.precision = precision},
                .assemble = assemble,
                .set_up = set_up,
                .tear_down = tear_down,
                .memory = memory,
                .packed = 6,
                .r_stride = 3,
                .tolerance = tolerance};
    }
};

#endif
