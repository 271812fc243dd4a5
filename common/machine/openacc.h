/*
 * machine/openacc.h - where OpenACC rungs run.
 *
 * Their files are plain C with directives. They get plain pointers (clause deviceptr). On a GPU
 * these are CUDA's, whose context OpenACC shares; without a GPU, or an OpenACC that can use it, the
 * same loops run on the CPU.
 */
#ifndef RT_OPENACC_H
#define RT_OPENACC_H

#include <stdbool.h>
#include "machine/device.h"

RT_C_BEGIN

/* Returns why OpenACC cannot be used here, or NULL. */
const char *rt_openacc_why_not(void);
/* Finds out whether OpenACC can use the GPU of rt_device_select, which must come before. */
void rt_openacc_start(void);
/* Ends OpenACC's use of the GPU, before rt_device_release. */
void rt_openacc_finish(void);
/* Goes before the directives of a function: waits for what the rank's stream was given, and at the
 * first call chooses the device. The regions themselves end before the host goes on. */
void rt_openacc_begin(void);
bool rt_openacc_on_gpu(void); /* after rt_openacc_start; false before */

RT_C_END

static inline rt_space_t rt_openacc_space(void)
{
    return rt_kind_space(RT_OPENACC);
}
#endif
