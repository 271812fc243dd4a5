/*
 * halo/peer_memory.h - memory of GPUs of one host that all its ranks write into: for rt_mail's boxes and for
 * halos that are written straight into the neighbour's memory. In builds with CUDA.
 */
#ifndef RT_PEER_H
#define RT_PEER_H

#include <stdbool.h>
#include <stddef.h>
#include "halo/halo.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { RT_PEER_RANKS = 32, RT_PEER_LINE = 160 };

/* of[r]: what rank r has given, as this process sees it; device memory. */
typedef struct {
    void *of[RT_PEER_RANKS];
} rt_peer_memory_t;

/* `bytes` (above 0; each rank its own number) of device memory of each rank, zero. False where it
 * cannot be had: then text says why, the same on all ranks, and nothing is kept. That memory can be
 * opened does not show that what is written arrives: try it. Collective. */
bool rt_peer_new(rt_peer_memory_t *memory, size_t bytes, char text[RT_PEER_LINE]);
/* When this rank's kernels that use it are done. Collective. */
void rt_peer_destroy(rt_peer_memory_t *memory);

/* The transport `peer` of rt_halo: see halo/peer.cu. */
extern const rt_transport_t rt_transport_peer;

#ifdef __cplusplus
}
#endif
#endif
