/* machine/kind.c - the kinds of rungs: their names, and where they compute. */
#include "config.h"
#include "machine/kokkos.h"
#include "machine/openacc.h"

const char *rt_kind_name(rt_kind_t kind)
{
    static const char *const names[] = {"cpu", "cuda", "kokkos", "openacc"};
    return names[kind];
}

bool rt_kind_on_gpu(rt_kind_t kind)
{
    switch (kind) {
    case RT_CUDA:
        return true;
    case RT_KOKKOS:
        return rt_kokkos_on_gpu();
    case RT_OPENACC:
        return rt_openacc_on_gpu();
    case RT_CPU:
        break;
    }
    return false;
}

rt_space_t rt_kind_space(rt_kind_t kind)
{
    const bool emulated = kind != RT_CPU && rt_mem_device_is_emulated();
    return emulated || rt_kind_on_gpu(kind) ? RT_DEVICE : RT_HOST;
}
