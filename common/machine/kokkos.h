/*
 * machine/kokkos.h - Kokkos behind a C interface, without C++ types.
 *
 * The Kokkos rungs of an app are extern "C" functions over plain pointers, which they wrap in
 * unmanaged Views (machine/kokkos.hpp). A build without Kokkos has these functions too, and they
 * say so.
 */
#ifndef RT_KOKKOS_H
#define RT_KOKKOS_H

#include <stdbool.h>
#include <stddef.h>
#include "base/draw.h"
#include "base/mem.h"
#include "machine/device.h"

RT_C_BEGIN

/* Returns the number of GPUs that the back-end sees; -1: it works on CPUs. Can come before
 * rt_kokkos_start, as can the next. */
int rt_kokkos_gpus(void);
/* Fills in what the back-end says of a GPU: ordinal, name, pci, multiprocessors, memory and, with
 * CUDA, driver. All else is zero. */
void rt_kokkos_describe(int ordinal, rt_gpu_t *gpu);

/* Returns why Kokkos cannot be used here ("this build has no Kokkos: ..."), or NULL. After
 * rt_device_select. */
const char *rt_kokkos_why_not(void);
/* Starts Kokkos on the GPU of rt_device_select, which must come before, on its stream if there is
 * one, with as many threads. */
void rt_kokkos_start(int threads, int gpu);
void rt_kokkos_finish(void);
const char *rt_kokkos_backend(void); /* "Cuda", "HIP", "OpenMP", "Serial" */
const char *rt_kokkos_version(void); /* "3.4.1" */
bool rt_kokkos_on_gpu(void);         /* after rt_kokkos_start; false before */
void rt_kokkos_fence(void);

RT_C_END

static inline rt_space_t rt_kokkos_space(void)
{
    return rt_kind_space(RT_KOKKOS);
}
#endif
