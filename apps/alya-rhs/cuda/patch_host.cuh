/*
 * patch_host.cuh - host side of the patch rungs: the choice of a shape, set-up and launch.
 */
#ifndef ALYA_PATCH_HOST_CUH
#define ALYA_PATCH_HOST_CUH

#include "alya_cuda.cuh"
#include "patch.cuh"

/* What set_up keeps in view->data. */
typedef struct {
    alya_patch_lists_t lists; /* device memory */
    int variant;
    unsigned blocks;
} alya_patch_data_t;

/* Returns how many blocks the device holds at once; each takes every n-th patch. 0: too little
 * shared memory. */
template <class K> unsigned alya_patch_resident()
{
    const auto kernel = alya_patch_assemble<ALYA_EMAC, K>;
    int device = 0, most = 0, blocks = 0;
    RT_CUDA(cudaGetDevice(&device));
    RT_CUDA(cudaDeviceGetAttribute(&most, cudaDevAttrMaxSharedMemoryPerBlockOptin, device));
    if (K::shared_bytes > static_cast<unsigned>(most))
        return 0;
    RT_CUDA(
        cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, K::shared_bytes));
    RT_CUDA(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, kernel, K::threads,
                                                          K::shared_bytes));
    return static_cast<unsigned>(blocks * rt_device_gpu()->multiprocessors);
}

template <int form, class K>
void alya_patch_launch(const alya_patch_data_t &data, const alya_physics_t &physics,
                       const double *packed, double *r)
{
    const auto kernel = alya_patch_assemble<form, K>;
    RT_CUDA(
        cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, K::shared_bytes));
    kernel<<<data.blocks, K::threads, K::shared_bytes, rt_stream()>>>(
        data.lists, alya_closed_constants<typename K::real>(physics), packed, r);
    RT_CUDA_LAUNCHED();
}

template <class K>
void alya_patch_launch_form(const alya_patch_data_t &data, const alya_physics_t &physics,
                            const double *packed, double *r)
{
    alya_fixed_form(physics.form, [&](auto form) {
        alya_patch_launch<form(), K>(data, physics, packed, r);
    });
}

/* One entry of a rung's list of kernels. */
typedef struct {
    alya_patch_shape_t shape;
    unsigned (*resident)();
    void (*launch)(const alya_patch_data_t &data, const alya_physics_t &physics,
                   const double *packed, double *r);
} alya_patch_variant_t;

template <class K> constexpr alya_patch_variant_t alya_patch_variant()
{
    return {.shape = K::shape,
            .resident = alya_patch_resident<K>,
            .launch = alya_patch_launch_form<K>};
}

/* Returns the cost of a shape on this mesh, per element: its place in a patch, used or not, and the
 * patch nodes, each fetched and added to r. A place and a node cost about the same: on an H200 17
 * ps (FP64 at its peak) and 14 ps (three additions at the rate of atomics on whole sectors). So a
 * shape is good if its patches are full and have few nodes; one whose limit of nodes is too low for
 * the order loses on both. */
inline double alya_patch_cost(const alya_mesh_t *mesh, const alya_patch_shape_t &shape)
{
    const alya_patch_count_t count = alya_patches_count(mesh, &shape);
    const double places = static_cast<double>(count.patches) * shape.elements;
    return (places + static_cast<double>(count.patch_nodes)) /
           static_cast<double>(mesh->elements > 0 ? mesh->elements : 1);
}

/* Makes the patches of the cheapest shape, on the device. */
inline void alya_patch_set_up(alya_view_t *view, const alya_patch_variant_t *variants, int n)
{
    alya_patch_data_t *data = RT_NEW(alya_patch_data_t, 1, RT_HOST);
    data->variant = -1;
    double least = 0;
    for (int v = 0; v < n; v++) {
        if (variants[v].resident() == 0)
            continue;
        const double cost = alya_patch_cost(view->host, variants[v].shape);
        if (data->variant < 0 || cost < least) {
            least = cost;
            data->variant = v;
        }
    }
    RT_EXPECT(data->variant >= 0, RT_ENVIRONMENT, "this GPU has too little shared memory");
    const alya_patch_variant_t &variant = variants[data->variant];
    const unsigned resident = variant.resident();
    data->lists = alya_patch_lists_new(view->host, &variant.shape, RT_DEVICE);
    data->blocks = data->lists.patches < resident ? static_cast<unsigned>(data->lists.patches)
                                                  : resident;
    view->data = data;
}

inline void alya_patch_tear_down(alya_view_t *view)
{
    alya_patch_data_t *data = static_cast<alya_patch_data_t *>(view->data);
    if (!data)
        return;
    alya_patch_lists_destroy(&data->lists, RT_DEVICE);
    RT_FREE(data, RT_HOST);
    view->data = nullptr;
}

/* Counts the most expensive shape. Records are made in host memory, and then copied. */
inline void alya_patch_memory(const alya_counts_t *counts, const alya_patch_variant_t *variants,
                              int n, double bytes[RT_SPACES])
{
    double most = 0, most_making = 0;
    for (int v = 0; v < n; v++) {
        double making;
        const double held = alya_patches_count_memory(counts, &variants[v].shape, &making);
        most = held > most ? held : most;
        most_making = making > most_making ? making : most_making;
    }
    bytes[RT_DEVICE] += most;
    bytes[RT_HOST] += most + most_making + sizeof(alya_patch_data_t);
}

/* Runs the kernel. Nodes that are in no patch must be zero, and so must all that get atomic
 * additions. */
inline void alya_patch_run(const alya_view_t *view, const alya_physics_t *physics, double *r,
                           const alya_patch_variant_t *variants)
{
    const alya_patch_data_t *data = static_cast<const alya_patch_data_t *>(view->data);
    alya_clear(view, r, 3);
    if (data->blocks > 0)
        variants[data->variant].launch(*data, *physics, view->x, r);
}

#endif
