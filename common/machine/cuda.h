/*
 * machine/cuda.h - what C files and .cu files of Rooftop share about CUDA. Private: no app's C file
 * needs it, for an app never sees a device; its kernels include machine/cuda.cuh.
 *
 * Every call of the CUDA runtime stands in RT_CUDA(...), so that an error is named where it is met.
 * The price is that the error of an earlier asynchronous operation may be named here too: then
 * the place is where it came to light, and CUDA_LAUNCH_BLOCKING=1 finds where it was made.
 */
#ifndef RT_CUDA_H
#define RT_CUDA_H

#include <cuda_runtime_api.h>
#include "machine/device.h"
#include "base/error.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Dies with file, line, expression and CUDA's own text unless status is success. */
static inline void rt_cuda_check(cudaError_t status, const char *file, int line, const char *call)
{
    if (status != cudaSuccess)
        rt_die_at(file, line, call,
                  status == cudaErrorMemoryAllocation ? RT_MEMORY : RT_ENVIRONMENT, "%s (%s)",
                  cudaGetErrorString(status), cudaGetErrorName(status));
}

#define RT_CUDA(call) rt_cuda_check(call, __FILE__, __LINE__, #call)

/* The stream of this rank, typed. */
static inline cudaStream_t rt_stream(void)
{
    return (cudaStream_t)rt_device_stream();
}

/* Does this binary hold machine code, or PTX, that the current GPU can run? cudaSuccess if so.
 * Lives beside the ceilings' kernels, because asking takes a kernel. */
cudaError_t rt_cuda_probe_code(void);

#ifdef __cplusplus
}
#endif
#endif
