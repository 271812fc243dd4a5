/*
 * patches.h - a mesh cut into patches that fit into shared memory (host code, OpenMP).
 *
 * A patch is a run of consecutive elements with few distinct nodes. All that a kernel must know of
 * one is in one record, which a GPU fetches with a single bulk copy:
 *
 *     head     alya_patch_head_t
 *     node     uint32_t [nodes]           node of the mesh; top bit: its sum is one row of one
 *                                         patch, and may be stored rather than added
 *     local    id_bytes [elements][4]     place in `node` of each element's nodes
 *     row      uint16_t [rows]            place in `node` that the row's sum belongs to
 *     start    uint16_t [slices + 1]      where the lists of 32 rows, a slice, begin
 *     list     uint16_t [start[slices]][32][2]
 *
 * Results are staged as [component][ALYA_PATCH_STAGE(most)], where `most` is the shape's limit of
 * elements: the share of element e for its node a is at position a most + e, and zeros start at 4
 * most. A row is what one thread adds up: up to ALYA_PATCH_ROW positions of one node. A warp takes
 * 32 rows, so the lists of a slice are interleaved, two positions of a row after two of the row
 * before, and a row that has none left gets positions of zeros (a sliced ELL matrix). Rows are
 * sorted by falling length, so few need filling.
 *
 * Shared memory has 16 banks for doubles, and the reads of a half-warp from one bank take one cycle
 * each. As far as possible, the positions of 16 rows in one step are in different banks; so are the
 * nodes that 8 elements have in the same place, 48 bytes each (reads of 16 bytes: 8 banks).
 *
 * Each part starts at a multiple of 16 bytes; the gaps are zero.
 */
#ifndef ALYA_PATCHES_H
#define ALYA_PATCHES_H

#include "../kernel.h"

RT_C_BEGIN

#define ALYA_PATCH_ALONE 0x80000000u

enum {
    ALYA_PATCH_UNIT = 16,
    ALYA_PATCH_MOST_NODES = 1024,
    ALYA_PATCH_MOST_ELEMENTS = 1024,
    ALYA_PATCH_ROW = 32,   /* positions of a row: a node with more has several rows */
    ALYA_PATCH_SLICE = 32, /* rows */
    ALYA_PATCH_BANKS = 16
};
#define ALYA_PATCH_STAGE(most) (4 * (most) + ALYA_PATCH_BANKS)

/* Limits of a patch, at most those above; nodes >= 4. */
typedef struct {
    int elements, nodes;
    int id_bytes; /* of a local id: 1 (nodes <= 256) or 2 */
} alya_patch_shape_t;

typedef struct {
    uint32_t nodes, elements;
    uint32_t first; /* element of the mesh */
    uint32_t rows;
} alya_patch_head_t;

/* Byte offsets in a record. */
typedef struct {
    uint32_t node, local, row, start, list;
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

ALYA_HOST_DEVICE ALYA_CONSTEXPR static inline uint32_t alya_patch_round(uint32_t bytes)
{
    return (bytes + ALYA_PATCH_UNIT - 1) / ALYA_PATCH_UNIT * ALYA_PATCH_UNIT;
}

ALYA_HOST_DEVICE ALYA_CONSTEXPR static inline uint32_t alya_patch_slices(uint32_t rows)
{
    return (rows + ALYA_PATCH_SLICE - 1) / ALYA_PATCH_SLICE;
}

ALYA_HOST_DEVICE ALYA_CONSTEXPR static inline alya_patch_layout_t
alya_patch_layout(uint32_t nodes, uint32_t elements, uint32_t rows, uint32_t id_bytes)
{
    alya_patch_layout_t at = {0, 0, 0, 0, 0};
    at.node = sizeof(alya_patch_head_t);
    at.local = at.node + alya_patch_round(4 * nodes);
    at.row = at.local + alya_patch_round(4 * id_bytes * elements);
    at.start = at.row + alya_patch_round(2 * rows);
    at.list = at.start + alya_patch_round(2 * (alya_patch_slices(rows) + 1));
    return at;
}

/* Returns the largest size of a record. The list: rows are sorted, so no slice but the first is
 * longer than the shortest row of the slice before. Together the slices have at most the
 * positions of the elements, 32 rows as long as the first, and one position per row to make the
 * number even. */
ALYA_HOST_DEVICE ALYA_CONSTEXPR static inline uint32_t
alya_patch_most_bytes(alya_patch_shape_t shape)
{
    const uint32_t nodes = (uint32_t)shape.nodes, elements = (uint32_t)shape.elements;
    const uint32_t rows = nodes + 4 * elements / ALYA_PATCH_ROW, slices = alya_patch_slices(rows);
    return alya_patch_layout(nodes, elements, rows, (uint32_t)shape.id_bytes).list +
           2 * ALYA_PATCH_SLICE * (4 * elements / ALYA_PATCH_SLICE + 1 + ALYA_PATCH_ROW + slices);
}

/* Counts the patches without making them; the choice of a shape is based on this. */
alya_patch_count_t alya_patches_count(const alya_mesh_t *mesh, const alya_patch_shape_t *shape);
/* Makes the patches. The result does not depend on the number of threads. */
alya_patches_t *alya_patches_new(const alya_mesh_t *mesh, const alya_patch_shape_t *shape);
void alya_patches_destroy(alya_patches_t *patches);
/* Returns the largest size in bytes of records and offsets of such a mesh, in an order that set-up
 * leaves as it is, with up to 3/4 of a node per element in patches. *making: the host memory that
 * alya_patches_new needs in addition. For any order: pass ALYA_PATCH_POOR times the elements
 * (shapes of 128 nodes or more). */
#define ALYA_PATCH_POOR 2.3
double alya_patches_memory(int64_t elements, int64_t nodes, const alya_patch_shape_t *shape,
                           double *making);
/* The same for a mesh of which only counts are known. */
double alya_patches_count_memory(const alya_counts_t *counts, const alya_patch_shape_t *shape,
                                 double *making);

/* The patches as a kernel gets them, in the rung's space. */
typedef struct {
    int64_t patches;
    const uint32_t *offset; /* [patches + 1] */
    const unsigned char *record;
} alya_patch_lists_t;
/* Makes them in host memory, then copies them. */
alya_patch_lists_t alya_patch_lists_new(const alya_mesh_t *mesh, const alya_patch_shape_t *shape,
                                        rt_space_t space);
void alya_patch_lists_destroy(alya_patch_lists_t *lists, rt_space_t space);

RT_C_END
#endif
