/*
 * machine/kernels.h - which kernels were launched, and what each uses of a multiprocessor: for the
 * reports and the lessons. Private to the runtime.
 *
 * Every launch of the CUDA runtime passes through here (the linker's --wrap): ours, those of
 * Kokkos, and once those that a graph captures. Price: a search of a short list per launch. That is
 * host time, which a replayed graph does not pay.
 */
#ifndef RT_KERNELS_H
#define RT_KERNELS_H

#include <jansson.h>
#include <stdio.h>

#ifdef __cplusplus
extern "C" {
#endif

#if RT_HAVE_CUDA

/* Forgets the kernels seen so far. */
void rt_kernels_clear(void);
/* Reports only kernels that are launched from now on, or the earlier ones if there are none (when a
 * graph is only replayed). */
void rt_kernels_mark(void);
/* Adds the array "kernels" to `row`; nothing if no kernel was seen. */
void rt_kernels_json(json_t *row);
/* Prints a line per kernel. */
void rt_kernels_print(FILE *to);

#else

static inline void rt_kernels_clear(void)
{
}
static inline void rt_kernels_mark(void)
{
}
static inline void rt_kernels_json(json_t *row)
{
    (void)row;
}
static inline void rt_kernels_print(FILE *to)
{
    (void)to;
}

#endif

#ifdef __cplusplus
}
#endif
#endif
