/*
 * patches.h - a mesh cut into patches that fit into shared memory (host code, OpenMP).
 *
 * A patch is a run of consecutive elements with few distinct nodes. All that a kernel must know of
 * one lies in one record, which a GPU fetches with a single bulk copy:
 *
 *     head     alya_patch_head_t
 *     node     uint32_t [nodes]           node of the mesh; top bit: no other patch has this node
 *     local    id_bytes [elements][4]     place in `node` of each element's nodes
 *     start    uint16_t [nodes + 1]       node n's part of the gather list
 *     list     uint16_t [4 elements]      positions a * most + element, element by element
 *
 * `most` is the shape's limit of elements: results are staged as [component][4][most], and the sum
 * of node n is over the positions list[start[n]] .. list[start[n + 1] - 1]. Each part starts at a
 * multiple of 16 bytes; what lies between is zero.
 */
#ifndef ALYA_PATCHES_H
#define ALYA_PATCHES_H

#include "alya.h"

#if defined(__CUDACC__) || defined(__HIPCC__)
#define ALYA_HOST_DEVICE __host__ __device__
#else
#define ALYA_HOST_DEVICE
#endif

#ifdef __cplusplus
extern "C" {
#endif

#define ALYA_PATCH_ALONE 0x80000000u

enum { ALYA_PATCH_UNIT = 16, ALYA_PATCH_MOST_NODES = 1024, ALYA_PATCH_MOST_ELEMENTS = 1024 };

/* Limits of a patch, at most those above; nodes >= 4. */
typedef struct {
    int elements, nodes;
    int id_bytes;   /* of a local id: 1 (nodes <= 256) or 2 */
    bool by_length; /* nodes with the longest gather lists first, so that the threads of a warp have
                       lists of about one length; else by their number in the mesh */
} alya_patch_shape_t;

typedef struct {
    uint32_t nodes, elements;
    uint32_t first; /* element of the mesh */
    uint32_t zero;
} alya_patch_head_t;

/* Byte offsets into a record. */
typedef struct {
    uint32_t node, local, start, list, end;
} alya_patch_layout_t;

typedef struct {
    int64_t patches;
    int64_t patch_nodes; /* sum over patches */
} alya_patch_count_t;

typedef struct {
    alya_patch_shape_t shape;
    alya_patch_count_t count;
    uint32_t *offset; /* [patches + 1] of a record, in units of 16 bytes */
    unsigned char *record;
} alya_patches_t;

ALYA_HOST_DEVICE static inline uint32_t alya_patch_round(uint32_t bytes)
{
    return (bytes + ALYA_PATCH_UNIT - 1) / ALYA_PATCH_UNIT * ALYA_PATCH_UNIT;
}

ALYA_HOST_DEVICE static inline alya_patch_layout_t
alya_patch_layout(uint32_t nodes, uint32_t elements, uint32_t id_bytes)
{
    alya_patch_layout_t at;
    at.node = sizeof(alya_patch_head_t);
    at.local = at.node + alya_patch_round(4 * nodes);
    at.start = at.local + alya_patch_round(4 * id_bytes * elements);
    at.list = at.start + alya_patch_round(2 * (nodes + 1));
    at.end = at.list + alya_patch_round(8 * elements);
    return at;
}

/* How many patches there would be: what the choice of a shape is made on. */
alya_patch_count_t alya_patches_count(const alya_mesh_t *mesh, const alya_patch_shape_t *shape);
/* The result does not depend on the number of threads. */
alya_patches_t *alya_patches_new(const alya_mesh_t *mesh, const alya_patch_shape_t *shape);
void alya_patches_destroy(alya_patches_t *patches);
/* Most bytes of records and offsets of such a mesh in any order; *making: host memory that
 * alya_patches_new needs besides. */
double alya_patches_memory(int64_t elements, int64_t nodes, const alya_patch_shape_t *shape,
                           double *making);

#ifdef __cplusplus
}
#endif
#endif
