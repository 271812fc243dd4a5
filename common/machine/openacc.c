/* machine/openacc.c - where OpenACC rungs run. In a build with OpenACC its compiler compiles this
 * too. */
#include "config.h"
#include "machine/openacc.h"
#if RT_HAVE_OPENACC
#include <openacc.h>
#endif

#if RT_HAVE_OPENACC

static bool on_gpu, chosen;

const char *rt_openacc_why_not(void)
{
    return NULL;
}

void rt_openacc_start(void)
{
    on_gpu = rt_device_stream() && acc_get_num_devices(acc_device_nvidia) > 0;
}

/* OpenACC takes over the context that CUDA has made current. A program that runs no OpenACC rung
 * leaves it alone. */
void rt_openacc_begin(void)
{
    rt_device_synchronize();
    if (chosen)
        return;
    chosen = true;
    if (on_gpu)
        acc_set_device_num(rt_device_gpu()->ordinal, acc_device_nvidia);
    else
        acc_set_device_type(acc_device_host);
}

/* Else OpenACC would end after CUDA's context. */
void rt_openacc_finish(void)
{
    if (chosen && on_gpu)
        acc_shutdown(acc_device_nvidia);
    chosen = on_gpu = false;
}

bool rt_openacc_on_gpu(void)
{
    return on_gpu;
}

#else

const char *rt_openacc_why_not(void)
{
    return "this build has no OpenACC: run configure again with --with-openacc; docs/building.md says which "
           "compilers can use a GPU";
}

void rt_openacc_start(void)
{
}

void rt_openacc_begin(void)
{
}

void rt_openacc_finish(void)
{
}

bool rt_openacc_on_gpu(void)
{
    return false;
}

#endif
