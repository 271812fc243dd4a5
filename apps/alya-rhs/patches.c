/*
 * patches.c - cuts a mesh into patches.
 *
 * Elements are taken in the mesh's order until a limit is reached, so any order works, and a bad
 * one only gives small patches. The mesh is first divided into pieces of a fixed size, each for one
 * thread: so the patches do not depend on the threads, at the price of one patch in many hundreds
 * that is not full. Two passes over the pieces: the first counts bytes and marks what nodes several
 * patches have, the second writes. The cut is made twice, which is faster than to keep it.
 */
#include "config.h"
#include <string.h>
#include "patches.h"

/* Slots of the hash table that gives a node its place in the patch: a quarter full at most. */
enum { PIECE = 1 << 17, SLOT_BITS = 12, SLOTS = 1 << SLOT_BITS };

/* A patch as it is made; one a thread. */
typedef struct {
    uint32_t stamp; /* a slot of another stamp is empty: saves clearing the table */
    uint32_t slot_stamp[SLOTS];
    uint32_t slot_node[SLOTS];
    uint16_t slot_local[SLOTS];
    uint32_t nodes, elements;
    uint32_t node[ALYA_PATCH_MOST_NODES];
    uint16_t uses[ALYA_PATCH_MOST_NODES], order[ALYA_PATCH_MOST_NODES];
    uint16_t spare_order[ALYA_PATCH_MOST_NODES], place[ALYA_PATCH_MOST_NODES];
    uint16_t local[4 * ALYA_PATCH_MOST_ELEMENTS];
} patch_t;

/* The slot that has this node, or the empty one where it belongs. */
static inline uint32_t find(const patch_t *p, uint32_t node)
{
    uint32_t s = (node * 2654435761u) >> (32 - SLOT_BITS);
    while (p->slot_stamp[s] == p->stamp && p->slot_node[s] != node)
        s = (s + 1) % SLOTS;
    return s;
}

static inline uint16_t place_of(patch_t *p, uint32_t node)
{
    const uint32_t s = find(p, node);
    if (p->slot_stamp[s] != p->stamp) {
        p->slot_stamp[s] = p->stamp;
        p->slot_node[s] = node;
        p->slot_local[s] = (uint16_t)p->nodes;
        p->uses[p->nodes] = 0;
        p->node[p->nodes++] = node;
    }
    return p->slot_local[s];
}

/* Makes the patch that starts with element e. Nodes come in the order in which they are met. */
static void take(patch_t *p, const alya_patch_shape_t *shape, const int32_t *connectivity,
                 int64_t e, int64_t end)
{
    const uint32_t most_nodes = (uint32_t)shape->nodes, most_elements = (uint32_t)shape->elements;
    p->stamp++;
    p->nodes = p->elements = 0;
    for (; e < end && p->elements < most_elements; e++, p->elements++) {
        const int32_t *c = connectivity + 4 * e;
        if (p->nodes + 4 > most_nodes) { /* near the limit: look before taking */
            uint32_t fresh = 0;
            for (int a = 0; a < 4; a++)
                fresh += p->slot_stamp[find(p, (uint32_t)c[a])] != p->stamp;
            if (p->nodes + fresh > most_nodes)
                break;
        }
        for (int a = 0; a < 4; a++) {
            const uint16_t at = place_of(p, (uint32_t)c[a]);
            p->uses[at]++;
            p->local[4 * p->elements + (uint32_t)a] = at;
        }
    }
}

/* One pass of a stable sort of p->order by 8 bits of each node's number (shift 0, 8, 16, 24) or, at
 * shift 32, by falling length of its list. */
static void sort_pass(patch_t *p, int shift)
{
    uint32_t first[257] = {0};
    uint8_t digit[ALYA_PATCH_MOST_NODES];
    for (uint32_t n = 0; n < p->nodes; n++) {
        const uint32_t uses = p->uses[n] < 255 ? p->uses[n] : 255;
        digit[n] = (uint8_t)(shift < 32 ? p->node[n] >> shift : 255 - uses);
        first[digit[n] + 1]++;
    }
    if (first[digit[0] + 1] == p->nodes)
        return; /* all the same: nothing would move */
    for (int d = 0; d < 256; d++)
        first[d + 1] += first[d];
    memcpy(p->spare_order, p->order, sizeof p->order[0] * p->nodes);
    for (uint32_t i = 0; i < p->nodes; i++) {
        const uint16_t n = p->spare_order[i];
        p->order[first[digit[n]]++] = n;
    }
}

/* Puts the nodes in the shape's order: neighbours in memory are fetched and summed together. */
static void sort_nodes(patch_t *p, bool by_length)
{
    for (uint32_t n = 0; n < p->nodes; n++)
        p->order[n] = (uint16_t)n;
    for (int shift = 0; shift < (by_length ? 40 : 32); shift += 8)
        sort_pass(p, shift);
    for (uint32_t i = 0; i < p->nodes; i++)
        p->place[p->order[i]] = (uint16_t)i;
}

static alya_patch_layout_t layout_of(const patch_t *p, const alya_patch_shape_t *shape)
{
    return alya_patch_layout(p->nodes, p->elements, (uint32_t)shape->id_bytes);
}

/* several[n] != 0: more than one patch has node n. */
static void write_record(patch_t *p, const alya_patch_shape_t *shape, const uint8_t *several,
                         uint32_t first, unsigned char *record)
{
    const alya_patch_layout_t at = layout_of(p, shape);
    const alya_patch_head_t head = {p->nodes, p->elements, first, 0};
    uint32_t *node = (uint32_t *)(record + at.node);
    uint16_t *start = (uint16_t *)(record + at.start), *list = (uint16_t *)(record + at.list);
    uint16_t *next = p->spare_order; /* where the next entry of a node goes */

    sort_nodes(p, shape->by_length);
    memset(record, 0, at.end);
    memcpy(record, &head, sizeof head);
    uint32_t sum = 0;
    for (uint32_t i = 0; i < p->nodes; i++) {
        const uint16_t n = p->order[i];
        node[i] = p->node[n] | (several[p->node[n]] ? 0 : ALYA_PATCH_ALONE);
        start[i] = next[i] = (uint16_t)sum;
        sum += p->uses[n];
    }
    start[p->nodes] = (uint16_t)sum;
    for (uint32_t k = 0; k < 4 * p->elements; k++) {
        const uint16_t i = p->place[p->local[k]];
        list[next[i]++] = (uint16_t)(k % 4 * (uint32_t)shape->elements + k / 4);
        if (shape->id_bytes == 1)
            record[at.local + k] = (uint8_t)i;
        else
            ((uint16_t *)(record + at.local))[k] = i;
    }
}

/* What the first pass finds out about a piece. */
typedef struct {
    int64_t patches, patch_nodes, units;
} piece_t;

/* First pass. touched[n], if not NULL: bit 0, a patch has node n; bit 1, another one has it too. */
static piece_t count_piece(patch_t *p, const alya_mesh_t *mesh, const alya_patch_shape_t *shape,
                           int64_t e, uint8_t *touched)
{
    const int64_t end = e + PIECE < mesh->elements ? e + PIECE : mesh->elements;
    piece_t count = {0, 0, 0};
    while (e < end) {
        take(p, shape, mesh->connectivity, e, end);
        e += p->elements;
        count.patches++;
        count.patch_nodes += p->nodes;
        count.units += layout_of(p, shape).end / ALYA_PATCH_UNIT;
        for (uint32_t n = 0; touched && n < p->nodes; n++) {
            uint8_t *mine = touched + p->node[n], before;
#pragma omp atomic capture
            {
                before = *mine;
                *mine |= 1;
            }
            if (before == 1) { /* who comes third need not say it again */
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

/* Counts of all pieces, and each piece's sum over those before it. */
static piece_t count_pieces(const alya_mesh_t *mesh, const alya_patch_shape_t *shape,
                            uint8_t *touched, piece_t *before)
{
    const int64_t pieces = (int64_t)pieces_of(mesh->elements);
#pragma omp parallel
    {
        patch_t patch;
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

/* Second pass. */
static void write_pieces(const alya_mesh_t *mesh, alya_patches_t *patches, const uint8_t *touched,
                         const piece_t *before)
{
    const int64_t pieces = (int64_t)pieces_of(mesh->elements);
#pragma omp parallel
    {
        patch_t patch;
        memset(&patch, 0, sizeof patch);
#pragma omp for schedule(dynamic, 1)
        for (int64_t i = 0; i < pieces; i++) {
            int64_t number = before[i].patches, unit = before[i].units, e = i * PIECE;
            const int64_t end = e + PIECE < mesh->elements ? e + PIECE : mesh->elements;
            while (e < end) {
                take(&patch, &patches->shape, mesh->connectivity, e, end);
                patches->offset[number++] = (uint32_t)unit;
                write_record(&patch, &patches->shape, touched, (uint32_t)e,
                             patches->record + unit * ALYA_PATCH_UNIT);
                unit += layout_of(&patch, &patches->shape).end / ALYA_PATCH_UNIT;
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
    *patches = (alya_patches_t){*shape,
                                {sum.patches, sum.patch_nodes},
                                RT_NEW(uint32_t, (size_t)sum.patches + 1, RT_HOST),
                                RT_NEW(unsigned char, ALYA_PATCH_UNIT *(size_t)sum.units, RT_HOST)};
#pragma omp parallel for schedule(static)
    for (int64_t n = 0; n < mesh->nodes; n++)
        touched[n] &= 2;
    write_pieces(mesh, patches, touched, before);
    patches->offset[sum.patches] = (uint32_t)sum.units;
    RT_FREE(touched, RT_HOST);
    RT_FREE(before, RT_HOST);
    return patches;
}

void alya_patches_destroy(alya_patches_t *patches)
{
    if (!patches)
        return;
    RT_FREE(patches->offset, RT_HOST);
    RT_FREE(patches->record, RT_HOST);
    RT_FREE(patches, RT_HOST);
}

/* The worst order: no two elements of a patch share a node. Then the limit of nodes, or that of
 * elements, ends a patch. A patch with one element less than that can always take another, so only
 * the last of each piece is smaller. */
double alya_patches_memory(int64_t elements, int64_t nodes, const alya_patch_shape_t *shape,
                           double *making)
{
    const int fewest = shape->nodes / 4 < shape->elements ? shape->nodes / 4 : shape->elements;
    const double patches =
        (double)(elements / fewest) + 2 * (double)pieces_of(elements); /* rounding, and the last */
    const double each = 4 * 4 + 4 * shape->id_bytes + 4 * 2 + 4 * 2;   /* bytes an element */
    const double head = sizeof(alya_patch_head_t) + 2 + 4 * (ALYA_PATCH_UNIT - 1) + 4;
    if (making)
        *making =
            (double)nodes + (double)pieces_of(elements) * sizeof(piece_t) + sizeof(alya_patches_t);
    return each * (double)elements + head * patches + 4;
}
