/* machine/openacc.c - where OpenACC rungs run. In a build with OpenACC its compiler compiles this
 * too; in another one nothing here is on a GPU. */
#include "config.h"
#include "machine/openacc.h"
#if RT_HAVE_OPENACC
#include <openacc.h>
#endif

static bool on_gpu, chosen;

const char *rt_openacc_why_not(void)
{
    return RT_HAVE_OPENACC ? NULL
                           : "this build has no OpenACC: run configure again with --with-openacc; "
                             "docs/building.md says which compilers can use a GPU";
}

void rt_openacc_start(void)
{
#if RT_HAVE_OPENACC
    on_gpu = rt_device_stream() && acc_get_num_devices(acc_device_nvidia) > 0;
#endif
}

/* OpenACC takes over the context that CUDA has made current. A program that runs no OpenACC rung
 * leaves it alone. */
void rt_openacc_begin(void)
{
    rt_device_synchronize();
#if RT_HAVE_OPENACC
    if (!chosen && on_gpu)
        acc_set_device_num(rt_device_gpu()->ordinal, acc_device_nvidia);
    else if (!chosen)
        acc_set_device_type(acc_device_host);
#endif
    chosen = true;
}

/* Else OpenACC would end after CUDA's context. */
void rt_openacc_finish(void)
{
#if RT_HAVE_OPENACC
    if (chosen && on_gpu)
        acc_shutdown(acc_device_nvidia);
#endif
    chosen = on_gpu = false;
}

bool rt_openacc_on_gpu(void)
{
    return on_gpu;
}
