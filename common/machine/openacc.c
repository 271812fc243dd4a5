/* machine/openacc.c - where OpenACC rungs run. In a build with OpenACC its compiler compiles this
 * too. */
#include "config.h"
#include "machine/openacc.h"
#include "machine/device.h"
#if RT_HAVE_OPENACC
#include <openacc.h>
#endif

#if RT_HAVE_OPENACC

static bool on_gpu;

const char *rt_openacc_why_not(void)
{
    return NULL;
}

/* OpenACC takes over the context that CUDA has made current, so both see the same memory. */
void rt_openacc_start(void)
{
    const rt_gpu_t *gpu = rt_device_gpu();
    on_gpu = gpu && acc_get_num_devices(acc_device_nvidia) > 0;
    if (!on_gpu) {
        acc_set_device_type(acc_device_host);
        return;
    }
    acc_set_device_num(gpu->ordinal, acc_device_nvidia);
    acc_set_cuda_stream(RT_ACC_QUEUE, rt_device_stream());
}

bool rt_openacc_on_gpu(void)
{
    return on_gpu;
}

#else

const char *rt_openacc_why_not(void)
{
    return "this build has no OpenACC: install an offload compiler (Debian: gcc-12-offload-nvptx) "
           "and run configure again, or give --with-openacc to build it for the CPU";
}

void rt_openacc_start(void)
{
}

bool rt_openacc_on_gpu(void)
{
    return false;
}

#endif

rt_space_t rt_openacc_space(void)
{
    return rt_openacc_on_gpu() || rt_mem_device_is_emulated() ? RT_DEVICE : RT_HOST;
}
