/* machine/synchronize.c - waiting for all work on the device, whether CUDA's or Kokkos's. */
#include "config.h"
#include "machine/device.h"
#include "machine/kokkos.h"
#include "machine/cuda.h"

void rt_device_synchronize(void)
{
#if RT_HAVE_CUDA
    if (rt_device_stream()) {
        RT_CUDA(cudaStreamSynchronize(rt_stream()));
        RT_CUDA(cudaGetLastError());
        return;
    }
#endif
    if (rt_kokkos_on_gpu())
        rt_kokkos_fence();
}
