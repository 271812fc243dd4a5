/*
 * machine/openacc.h - where OpenACC rungs run.
 *
 * Their files are plain C with directives. They get plain pointers (clause deviceptr) and put all
 * work on queue RT_ACC_QUEUE. On a GPU that is the stream of rt_device_select, so that exchanges
 * and copies need not wait for the host. Without a GPU, or an OpenACC that can use it, the same
 * loops run on the CPU.
 */
#ifndef RT_OPENACC_H
#define RT_OPENACC_H

#include <stdbool.h>
#include "base/mem.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { RT_ACC_QUEUE = 1 };

/* Returns why OpenACC cannot be used here, or NULL. */
const char *rt_openacc_why_not(void);
/* Chooses the GPU of rt_device_select, which must come before, or the CPU. */
void rt_openacc_start(void);
bool rt_openacc_on_gpu(void); /* after rt_openacc_start; false before */
/* Returns the space for the arrays of an OpenACC rung: RT_DEVICE on a GPU, or if RT_DEVICE is
 * emulated (so that a missing copy is caught), else RT_HOST. */
rt_space_t rt_openacc_space(void);

#ifdef __cplusplus
}
#endif
#endif
