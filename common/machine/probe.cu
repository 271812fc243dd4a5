/* machine/probe.cu - a kernel to ask the CUDA runtime about. */
#include "config.h"
#include "machine/cuda.cuh"

static __global__ void nothing()
{
}

/* Any kernel will do: all of them are compiled for the same architectures. */
extern "C" cudaError_t rt_cuda_probe_code(void)
{
    cudaFuncAttributes attributes;
    return cudaFuncGetAttributes(&attributes, nothing);
}
