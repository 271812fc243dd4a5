/*
 * staged_lists.cuh - rung staged on the host: what it keeps, and the lists that let its blocks go
 * through colours together (staged_steps.cuh).
 */
#ifndef MCPI_STAGED_LISTS_CUH
#define MCPI_STAGED_LISTS_CUH

#include "staged_steps.cuh"
#include "../kernel.h"
#include "halo/peer_memory.h"

struct mcpi_staged_data_t {
    mcpi_staged_lists_t lists; /* device memory */
    mcpi_chunks_t chunks;      /* host; without costs once the lists are made */
    uint64_t *right_at;        /* [rows] device: byte offset of the row's R in the records */
    uint64_t *O_at, *LU_at;    /* the same of its blocks and factors */
    size_t bytes;              /* of the records */
    double *right;             /* [rows][nb] device: R on its way into the records */
    unsigned blocks;           /* of a grid that is resident */
    unsigned begin;            /* number of the next launch of sweeps */
    /* Several ranks that exchange by stores: the flags of all blocks, then dQ, of each rank. */
    rt_peer_memory_t memory;
    size_t flag_bytes;
};

/* Opens the memory of the other ranks' GPUs, and makes view->dq there, if they can be reached.
 * first[ranks + 1]: filled as for mcpi_near_new. Collective. */
void mcpi_staged_open(mcpi_view_t *view, mcpi_staged_data_t *data, size_t value_bytes,
                      int32_t *first);
/* Makes the lists for `sweeps`. Returns where rows are ghosts, to be destroyed by the caller; NULLs
 * with one rank. Collective. */
mcpi_sends_t mcpi_staged_connect(const mcpi_view_t *view, mcpi_staged_data_t *data,
                                 size_t value_bytes, const int32_t *first);
void mcpi_staged_lists_destroy(mcpi_view_t *view, mcpi_staged_data_t *data);

#endif
