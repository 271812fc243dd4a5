/*
 * halo/nccl.h - messages between GPUs on the stream: the host waits for nothing, and a CUDA graph
 * can hold them.
 *
 * NCCL is used once a trial has shown that it works between these ranks. The trial starts it and
 * exchanges known values, on a thread that is abandoned after a time limit, because the usual
 * failure is a hang. In a build without NCCL the functions exist and say so.
 */
#ifndef RT_NCCL_H
#define RT_NCCL_H

#include "base/extern_c.h"

RT_C_BEGIN

/* Returns NULL, or one line on why these ranks cannot use NCCL, the same on all of them. The first
 * call finds out. Collective. */
const char *rt_nccl_why_not(void);
/* Gathers x[n] of each rank into all[size][n], by rank; device memory, on the stream. Collective,
 * in the same order among all uses of NCCL. */
void rt_nccl_allgather(const double *x, int n, double *all);

RT_C_END
#endif
