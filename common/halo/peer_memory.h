/*
 * halo/peer_memory.h - GPU memory of one host that all its ranks write into: for the boxes of
 * halo/allreduce.h and for halos written straight into the neighbour's memory. In builds with CUDA.
 */
#ifndef RT_PEER_H
#define RT_PEER_H

#include <stdbool.h>
#include <stddef.h>
#include "base/extern_c.h"

RT_C_BEGIN

enum { RT_PEER_RANKS = 32, RT_PEER_LINE = 160 };

/* of[r]: the memory of rank r as this process sees it; device memory. */
typedef struct {
    void *of[RT_PEER_RANKS];
} rt_peer_memory_t;

/* Shares `bytes` (above 0; each rank its own number) of zeroed device memory of each rank. Returns
 * false where that is impossible; text says why, the same on all ranks. Memory that can be opened
 * need not receive what is written: try it. Collective. */
bool rt_peer_new(rt_peer_memory_t *memory, size_t bytes, char text[RT_PEER_LINE]);
/* Call when this rank's kernels no longer use it. Collective. */
void rt_peer_destroy(rt_peer_memory_t *memory);

RT_C_END
#endif
