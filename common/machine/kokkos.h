/*
 * machine/kokkos.h - Kokkos behind a C interface. Pure C: no C++ type crosses.
 *
 * An app's Kokkos rungs are extern "C" functions over plain pointers, wrapped in unmanaged Views
 * inside (machine/kokkos.hpp). Without Kokkos these functions exist and say so.
 */
#ifndef RT_KOKKOS_H
#define RT_KOKKOS_H

#include <stdbool.h>
#include <stddef.h>
#include "base/mem.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Why Kokkos cannot be used here ("this build has no Kokkos: ..."), or NULL. */
const char *rt_kokkos_why_not(void);
/* After rt_device_select: Kokkos takes the same GPU and stream, and as many threads. */
void rt_kokkos_start(int threads, int gpu);
void rt_kokkos_finish(void);
const char *rt_kokkos_backend(void); /* "Cuda", "HIP", "OpenMP", "Serial" */
const char *rt_kokkos_version(void); /* "3.4.1" */
bool rt_kokkos_on_gpu(void);         /* after rt_kokkos_start; false before */
/* Where the arrays of a Kokkos rung live: RT_DEVICE when its back-end works there, or when
 * RT_DEVICE is emulated (so that a missing copy is caught); else RT_HOST. */
rt_space_t rt_kokkos_space(void);

/* The back-end's own memory, for builds whose only way to the GPU is Kokkos. */
void *rt_kokkos_alloc(size_t bytes); /* NULL on failure */
void rt_kokkos_free(void *ptr);
void rt_kokkos_copy(void *dst, bool dst_on_device, const void *src, bool src_on_device,
                    size_t bytes);
void rt_kokkos_fence(void);

#ifdef __cplusplus
}
#endif
#endif
