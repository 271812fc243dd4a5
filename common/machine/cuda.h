/*
 * machine/cuda.h - what the C files and .cu files of Rooftop share about CUDA. Private: no C file
 * of an app needs it, because an app never sees a device; its kernels include machine/cuda.cuh.
 *
 * Every call of the CUDA runtime is wrapped in RT_CUDA(...), so that an error is reported where it
 * is met. The price is that the error of an earlier asynchronous operation may be reported here
 * too. The place is then where it came to light; CUDA_LAUNCH_BLOCKING=1 finds where it was made.
 *
 * In a build without CUDA this header is empty.
 */
#if !defined(RT_CUDA_H) && (!defined(RT_HAVE_CUDA) || RT_HAVE_CUDA)
#define RT_CUDA_H

#include <cuda_runtime_api.h>
#include "base/error.h"
#include "machine/device.h"

RT_C_BEGIN

/* Ends the program with file, line, expression and CUDA's own text unless status is success. */
static inline void rt_cuda_check(cudaError_t status, const char *file, int line, const char *call)
{
    if (status != cudaSuccess)
        rt_die_at(file, line, call,
                  status == cudaErrorMemoryAllocation ? RT_MEMORY : RT_ENVIRONMENT, "%s (%s)",
                  cudaGetErrorString(status), cudaGetErrorName(status));
}

#define RT_CUDA(call) rt_cuda_check(call, __FILE__, __LINE__, #call)

/* Waits for the second event; returns the seconds between the two. */
static inline double rt_cuda_seconds(cudaEvent_t from, cudaEvent_t to)
{
    float milliseconds = 0;
    RT_CUDA(cudaEventSynchronize(to));
    RT_CUDA(cudaEventElapsedTime(&milliseconds, from, to));
    return 1e-3 * (double)milliseconds;
}

/* Returns rt_device_stream() with its type. */
static inline cudaStream_t rt_stream(void)
{
    return (cudaStream_t)rt_device_stream();
}

/* Returns cudaSuccess if this binary holds machine code, or PTX, that the current GPU can run. */
cudaError_t rt_cuda_probe_code(void);

RT_C_END
#endif
