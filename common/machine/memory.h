/*
 * machine/memory.h - device memory of CUDA and of Kokkos: back-ends for base/mem.h. Private to
 * machine/.
 */
#ifndef RT_MEMORY_H
#define RT_MEMORY_H

#include <stdbool.h>
#include "base/draw.h"

RT_C_BEGIN

/* Say whether CUDA, or Kokkos, now works on a GPU. New memory is then CUDA's if CUDA does, else
 * that of Kokkos if Kokkos does, else the host's. */
void rt_memory_use_cuda(bool on);
void rt_memory_use_kokkos(bool on);

/* rt_draw in CUDA's memory: machine/draw.cu. */
void rt_draw_cuda(void *x, const void *base, size_t n, size_t size, rt_draw_t draw);

RT_C_END
#endif
