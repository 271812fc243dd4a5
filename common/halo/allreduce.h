/*
 * halo/allreduce.h - sums of a few doubles over the GPUs of one host in a kernel (allreduce.cuh).
 */
#ifndef RT_ALLREDUCE_H
#define RT_ALLREDUCE_H

#include "base/extern_c.h"

RT_C_BEGIN

/* What a kernel sees; device memory. */
typedef struct rt_device_allreduce_t rt_device_allreduce_t;

/* Returns NULL where this does not work. The first call finds out, by trying. Collective. */
rt_device_allreduce_t *rt_device_allreduce_get(void);
/* Returns one line on why rt_device_allreduce_get gave NULL, "" if it did not. */
const char *rt_device_allreduce_why_not(void);
/* Frees the boxes, before the GPU is released. Collective. */
void rt_device_allreduce_stop(void);

RT_C_END
#endif
