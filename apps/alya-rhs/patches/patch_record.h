/*
 * patch_record.h - one patch in the making, and its record (patches.h). For patches.c alone.
 */
#ifndef ALYA_PATCH_RECORD_H
#define ALYA_PATCH_RECORD_H

#include "patches.h"

enum {
    ALYA_PATCH_SLOT_BITS = 12,
    ALYA_PATCH_SLOTS = 1 << ALYA_PATCH_SLOT_BITS, /* at most a quarter full */
    ALYA_PATCH_MOST_ROWS = ALYA_PATCH_MOST_NODES + 4 * ALYA_PATCH_MOST_ELEMENTS / ALYA_PATCH_ROW,
    ALYA_PATCH_MOST_SLICES = ALYA_PATCH_MOST_ROWS / ALYA_PATCH_SLICE,
    ALYA_PATCH_PAIR_BYTES = 2 * sizeof(uint16_t) * ALYA_PATCH_SLICE /* two positions of each row */
};

/* A patch in the making; one per thread. The slots are a hash table that maps a node to its place. */
typedef struct {
    uint32_t stamp; /* a slot with another stamp is empty, so the table need not be cleared */
    uint32_t slot_stamp[ALYA_PATCH_SLOTS];
    uint32_t slot_node[ALYA_PATCH_SLOTS];
    uint16_t slot_local[ALYA_PATCH_SLOTS];
    uint32_t nodes, elements;
    uint32_t node[ALYA_PATCH_MOST_NODES];
    uint16_t uses[ALYA_PATCH_MOST_NODES], order[ALYA_PATCH_MOST_NODES];
    uint16_t spare_order[ALYA_PATCH_MOST_NODES], place[ALYA_PATCH_MOST_NODES];
    uint16_t local[4 * ALYA_PATCH_MOST_ELEMENTS];
    uint32_t rows, slices;
    uint16_t row_place[ALYA_PATCH_MOST_ROWS], row_length[ALYA_PATCH_MOST_ROWS],
        row_first[ALYA_PATCH_MOST_ROWS];
    uint16_t start[ALYA_PATCH_MOST_SLICES + 1];
    uint16_t position[4 * ALYA_PATCH_MOST_ELEMENTS]; /* of node i: from first[i] on */
    uint16_t first[ALYA_PATCH_MOST_NODES + 1];
    uint8_t banks[ALYA_PATCH_MOST_ELEMENTS / 2 + 4]; /* taken, of the nodes read at once */
} alya_patch_t;

/* Makes the patch that starts with element e; it ends before `end`. */
void alya_patch_take(alya_patch_t *p, const alya_patch_shape_t *shape, const int32_t *connectivity,
                     int64_t e, int64_t end);
/* Counts the rows of the patch, and returns the bytes of its record. */
uint32_t alya_patch_measure(alya_patch_t *p, const alya_patch_shape_t *shape);
/* Writes the record; returns its bytes. several[n] != 0: more than one patch has node n. */
uint32_t alya_patch_write(alya_patch_t *p, const alya_patch_shape_t *shape, const uint8_t *several,
                          uint32_t first, unsigned char *record);

#endif
