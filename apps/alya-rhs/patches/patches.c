/*
 * patches.c - cuts a mesh into patches.
 *
 * A patch takes elements in the mesh's order until it reaches a limit. So any order works; a bad
 * one only gives small patches. The mesh is first divided into pieces of a fixed size, each for one
 * thread: the patches then do not depend on the number of threads, and the price is one patch in
 * many hundreds that is not full. Two passes go over the pieces: the first counts bytes and marks
 * the nodes that several patches have, the second writes. Cutting twice is faster than storing the
 * cut.
 */
#include "config.h"
#include <math.h>
#include <string.h>
#include "patch_record.h"

enum {
    PIECE = 1 << 17, /* elements of a piece */
    SMALL = 1 << 11  /* meshes up to this many elements are left in any order by set-up */
};

/* What the first pass learns about a piece. */
typedef struct {
    int64_t patches, patch_nodes, units;
} piece_t;

/* Makes the first pass over a piece. touched[n], if not NULL: bit 0, a patch has node n; bit 1,
 * another patch has it too. */
static piece_t count_piece(alya_patch_t *p, const alya_mesh_t *mesh,
                           const alya_patch_shape_t *shape, int64_t e, uint8_t *touched)
{
    const int64_t end = e + PIECE < mesh->elements ? e + PIECE : mesh->elements;
    piece_t count = {0, 0, 0};
    while (e < end) {
        alya_patch_take(p, shape, mesh->connectivity, e, end);
        e += p->elements;
        count.patches++;
        count.patch_nodes += p->nodes;
        count.units += alya_patch_measure(p, shape) / ALYA_PATCH_UNIT;
        for (uint32_t n = 0; touched && n < p->nodes; n++) {
            uint8_t *mine = touched + p->node[n], before;
#pragma omp atomic capture
            {
                before = *mine;
                *mine |= 1;
            }
            if (before == 1) { /* a third patch need not say it again */
#pragma omp atomic
                *mine |= 2;
            }
        }
    }
    return count;
}

static size_t pieces_of(int64_t elements)
{
    return (size_t)(elements + PIECE - 1) / PIECE;
}

/* Counts all pieces; before[i] becomes the sum of the pieces before i. */
static piece_t count_pieces(const alya_mesh_t *mesh, const alya_patch_shape_t *shape,
                            uint8_t *touched, piece_t *before)
{
    const int64_t pieces = (int64_t)pieces_of(mesh->elements);
#pragma omp parallel
    {
        alya_patch_t patch;
        memset(&patch, 0, sizeof patch);
#pragma omp for schedule(dynamic, 1)
        for (int64_t i = 0; i < pieces; i++)
            before[i] = count_piece(&patch, mesh, shape, i * PIECE, touched);
    }
    piece_t sum = {0, 0, 0};
    for (int64_t i = 0; i < pieces; i++) {
        const piece_t one = before[i];
        before[i] = sum;
        sum.patches += one.patches;
        sum.patch_nodes += one.patch_nodes;
        sum.units += one.units;
    }
    return sum;
}

static void check_shape(const alya_patch_shape_t *s)
{
    RT_EXPECT(s->elements >= 1 && s->elements <= ALYA_PATCH_MOST_ELEMENTS, RT_ENVIRONMENT,
              "a patch of %d elements", s->elements);
    RT_EXPECT(s->nodes >= 4 && s->nodes <= ALYA_PATCH_MOST_NODES, RT_ENVIRONMENT,
              "a patch of %d nodes", s->nodes);
    RT_EXPECT(s->id_bytes == 2 || (s->id_bytes == 1 && s->nodes <= 256), RT_ENVIRONMENT,
              "ids of %d bytes", s->id_bytes);
}

alya_patch_count_t alya_patches_count(const alya_mesh_t *mesh, const alya_patch_shape_t *shape)
{
    check_shape(shape);
    piece_t *before = RT_NEW(piece_t, pieces_of(mesh->elements), RT_HOST);
    const piece_t sum = count_pieces(mesh, shape, NULL, before);
    RT_FREE(before, RT_HOST);
    return (alya_patch_count_t){sum.patches, sum.patch_nodes};
}

/* Makes the second pass. */
static void write_pieces(const alya_mesh_t *mesh, alya_patches_t *patches, const uint8_t *touched,
                         const piece_t *before)
{
    const int64_t pieces = (int64_t)pieces_of(mesh->elements);
#pragma omp parallel
    {
        alya_patch_t patch;
        memset(&patch, 0, sizeof patch);
#pragma omp for schedule(dynamic, 1)
        for (int64_t i = 0; i < pieces; i++) {
            int64_t number = before[i].patches, unit = before[i].units, e = i * PIECE;
            const int64_t end = e + PIECE < mesh->elements ? e + PIECE : mesh->elements;
            while (e < end) {
                alya_patch_take(&patch, &patches->shape, mesh->connectivity, e, end);
                patches->offset[number++] = (uint32_t)unit;
                unit += alya_patch_write(&patch, &patches->shape, touched, (uint32_t)e,
                                         patches->record + unit * ALYA_PATCH_UNIT) /
                        ALYA_PATCH_UNIT;
                e += patch.elements;
            }
        }
    }
}

alya_patches_t *alya_patches_new(const alya_mesh_t *mesh, const alya_patch_shape_t *shape)
{
    check_shape(shape);
    alya_patches_t *patches = RT_NEW(alya_patches_t, 1, RT_HOST);
    piece_t *before = RT_NEW(piece_t, pieces_of(mesh->elements), RT_HOST);
    uint8_t *touched = RT_NEW(uint8_t, (size_t)mesh->nodes, RT_HOST);
#pragma omp parallel for schedule(static)
    for (int64_t n = 0; n < mesh->nodes; n++)
        touched[n] = 0;
    const piece_t sum = count_pieces(mesh, shape, touched, before);
    RT_EXPECT(sum.units <= UINT32_MAX, RT_MEMORY, "patches of %.3g GB: offsets end at 64 GiB",
              1e-9 * ALYA_PATCH_UNIT * (double)sum.units);
    const size_t bytes = ALYA_PATCH_UNIT * (size_t)sum.units;
    *patches = (alya_patches_t){.shape = *shape,
                                .count = {sum.patches, sum.patch_nodes},
                                .offset = RT_NEW(uint32_t, (size_t)sum.patches + 1, RT_HOST),
                                .record = RT_NEW(unsigned char, bytes, RT_HOST)};
#pragma omp parallel for schedule(static)
    for (int64_t n = 0; n < mesh->nodes; n++)
        touched[n] &= 2;
    write_pieces(mesh, patches, touched, before);
    patches->offset[sum.patches] = (uint32_t)sum.units;
    RT_FREE_ALL(RT_HOST, touched, before);
    return patches;
}

void alya_patches_destroy(alya_patches_t *patches)
{
    if (!patches)
        return;
    RT_FREE_ALL(RT_HOST, patches->offset, patches->record, patches);
}

/* Assumes up to 3/4 of a node per element (0.35 to 0.68 in all orders of generated meshes that set-
 * up leaves as they are), plus those of small meshes and of the remainders. Then the limit of
 * nodes, or that of elements, ends a patch. A patch with four nodes fewer than the limit can always
 * take another element, so only the last patch of each piece is smaller. */
double alya_patches_memory(int64_t elements, int64_t nodes, const alya_patch_shape_t *shape,
                           double *making)
{
    const double more = elements < SMALL ? 3 * (double)elements : 3 * (double)SMALL;
    const double patch_nodes = 0.75 * (double)elements + more;
    const double patches =
        fmax(patch_nodes / (shape->nodes - 3), ((double)elements + more) / shape->elements) +
        2 * (double)pieces_of(elements);
    /* bytes: ids and positions; a node, its row, and the half pair left over; and per patch also
     * the padding of the first slices, if they are half as long as they can be */
    const double element = 4 * shape->id_bytes + 4 * 2, node = 4 + 2 + 2 + 2. / ALYA_PATCH_SLICE;
    const double head = sizeof(alya_patch_head_t) + 4 + 2 * 2 + 4 * (ALYA_PATCH_UNIT - 1) +
                        ALYA_PATCH_PAIR_BYTES * (ALYA_PATCH_ROW + 2) / 4.;
    if (making)
        *making =
            (double)nodes + (double)pieces_of(elements) * sizeof(piece_t) + sizeof(alya_patches_t);
    return element * (double)elements + node * patch_nodes + head * patches + 4;
}

double alya_patches_count_memory(const alya_counts_t *counts, const alya_patch_shape_t *shape,
                                 double *making)
{
    const double elements = (counts->poor_order ? ALYA_PATCH_POOR : 1) * (double)counts->elements;
    return alya_patches_memory((int64_t)elements, counts->nodes, shape, making);
}

alya_patch_lists_t alya_patch_lists_new(const alya_mesh_t *mesh, const alya_patch_shape_t *shape,
                                        rt_space_t space)
{
    alya_patches_t *patches = alya_patches_new(mesh, shape);
    const size_t count = (size_t)patches->count.patches;
    const alya_patch_lists_t lists = {
        .patches = patches->count.patches,
        .offset = rt_clone(patches->offset, count + 1, sizeof(uint32_t), space),
        .record = rt_clone(patches->record, patches->offset[count], ALYA_PATCH_UNIT, space)};
    alya_patches_destroy(patches);
    return lists;
}

void alya_patch_lists_destroy(alya_patch_lists_t *lists, rt_space_t space)
{
    RT_FREE(lists->offset, space);
    RT_FREE(lists->record, space);
}
