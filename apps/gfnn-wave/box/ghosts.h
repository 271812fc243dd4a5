/*
 * ghosts.h - who writes which ghosts, where a rank can write into the vectors of others.
 */
#ifndef GFNN_GHOSTS_H
#define GFNN_GHOSTS_H

#include "box.h"

RT_C_BEGIN

/* A box of own nodes that are ghosts of `rank`, which may be this one, across periodic faces.
 * Positions are those of component 0 in arrays over a grid, x fastest. */
typedef struct {
    int rank;
    int32_t n[3]; /* nodes along x, y, z; each above 0 */
    int32_t from; /* the first node here */
    int32_t to;   /* and there */
    int32_t to_pitch, to_slab;
    int64_t to_plane;
} gfnn_patch_t;

/* Lists what rank `me` writes, so that every rank has all ghosts `width` deep: on `fine`, or on
 * `wide`. Those of other ranks come first, by rank. Returns how many, and lists no more than `room`
 * (patches may be NULL if that is 0). All of them together make each ghost once. */
int gfnn_ghosts_list(const gfnn_config_t *config, int me, bool wide, int width, int room,
                     gfnn_patch_t *patches);

RT_C_END
#endif
