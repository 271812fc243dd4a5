/*
 * near.h - for one kernel that goes through all colours, on one GPU or on several: which rows each
 * of its blocks updates, which blocks it waits for, and where rows go that other ranks need.
 *
 * Blocks of all ranks' kernels are numbered on: rank r has blocks first[r] .. first[r + 1] - 1.
 */
#ifndef MCPI_NEAR_H
#define MCPI_NEAR_H

#include "base/extern_c.h"
#include "../input/input.h"

RT_C_BEGIN

/* A rank's rows in chunks of consecutive rows. A chunk has one colour, and only rows that other
 * ranks need (boundary) or only others (interior). Chunks are in the order of the rows. */
typedef struct {
    int32_t *first_row; /* [chunks + 1] */
    int32_t *colour;    /* [colours + 1] first chunk of each colour */
    int32_t *interior;  /* [colours] first interior chunk of each colour */
    int32_t *order;     /* [chunks] the chunks as they are stored */
    uint32_t *offset;   /* [chunks + 1] chunk order[k] costs offset[k + 1] - offset[k] */
    int chunks;
} mcpi_chunks_t;

/* Cuts the rows into chunks of at most that number of rows and blocks. Dies if a row has more blocks.
 * They are stored as they are numbered. The caller fills offset. All arrays are the caller's. */
mcpi_chunks_t mcpi_cut_rows(const mcpi_part_t *part, int64_t rows, int64_t blocks);

/* What a block updates of one colour: `boundaries` stored chunks from `boundary` on, and then the
 * others of its `chunks`, from `interior` on. Other blocks wait for the first `awaited` of them,
 * which have neighbours that another block updates. */
typedef struct {
    int32_t boundary, boundaries, interior, chunks, awaited;
} mcpi_share_t;

/* Gives each block a piece of the curve through the rows; pieces cost about the same, in all colours
 * together or in each. Returns share[blocks * colours], by block, fills block[part->rows] with the
 * block that updates each row, and sets the order. */
mcpi_share_t *mcpi_shares_new(const mcpi_part_t *part, const mcpi_chunks_t *chunks, int blocks,
                              uint16_t *block);

/* Where a ghost is a row: rank, row and block of that rank. */
typedef struct {
    int32_t rank, row, block;
} mcpi_home_t;

/* Returns home[part->ghosts] of the ghosts, in their order. halo: mcpi_halo_new's, for host memory.
 * Collective. */
mcpi_home_t *mcpi_homes_new(const mcpi_part_t *part, rt_halo_t *const *halo, const uint16_t *block);

/* Block b of this rank waits for blocks near[start[b]] .. near[start[b + 1] - 1], which update
 * neighbours of its rows: ascending, those of this rank first, those of others from far[b] on. As
 * the graph is symmetric, so is being near. */
typedef struct {
    int32_t *start; /* [blocks + 1] */
    int32_t *far;   /* [blocks] */
    int32_t *near;
} mcpi_near_t;
/* first[ranks + 1]: number of the first block of each rank. home may be NULL with one rank. */
mcpi_near_t mcpi_near_new(const mcpi_part_t *part, const uint16_t *block, const mcpi_home_t *home,
                          int ranks, int rank, const int32_t *first);

/* Row i is local row `ghost` of each rank to[k].rank, k = start[i] .. start[i + 1] - 1. */
typedef struct {
    int32_t rank, ghost;
} mcpi_send_t;
typedef struct {
    int32_t *start; /* [rows + 1] */
    mcpi_send_t *to;
} mcpi_sends_t;
/* Collective. */
mcpi_sends_t mcpi_sends_new(const mcpi_part_t *part, const mcpi_home_t *home);

RT_C_END
#endif
