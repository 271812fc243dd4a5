/*
 * halo/nccl.h - messages between GPUs that are put on the stream: nothing waits for the host, and a
 * CUDA graph can hold them.
 *
 * NCCL is used once a trial has shown that it works between these ranks: it is started and made to
 * exchange known values, on a thread that is given up when the time is over, because the usual way
 * to fail is to hang. In a build without NCCL the functions are there and say so.
 */
#ifndef RT_NCCL_H
#define RT_NCCL_H

#include "halo/halo.h"

#ifdef __cplusplus
extern "C" {
#endif

/* NULL, or one line: why these ranks cannot use NCCL, the same on all of them. Collective; the
 * first call finds out. */
const char *rt_nccl_why_not(void);
/* all[size][n] = x[n] of each rank, in order of rank; device memory. Put on the stream. Collective,
 * in the same order among all that goes through NCCL. */
void rt_nccl_allgather(const double *x, int n, double *all);
/* The transport `nccl` of rt_halo. */
extern const rt_transport_t rt_transport_nccl;
/* Collective; before the GPU is given back. */
void rt_nccl_stop(void);

#ifdef __cplusplus
}
#endif
#endif
