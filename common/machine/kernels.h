/*
 * machine/kernels.h - which kernels CUDA was asked to start, and what each takes of a multiprocessor:
 * for the reports and the lessons. Private to the runtime.
 *
 * Every launch of the CUDA runtime passes through here (the linker's --wrap): ours, Kokkos's, and
 * those that a graph captures, once. Price: a look at a short list a launch, which is host time
 * that a replayed graph does not pay.
 */
#ifndef RT_KERNELS_H
#define RT_KERNELS_H

#include <jansson.h>
#include <stdio.h>

#ifdef __cplusplus
extern "C" {
#endif

#if RT_HAVE_CUDA

/* Forgets what was seen. */
void rt_kernels_clear(void);
/* What counts is what is started from now on; what was before, if nothing is (a graph that is
 * replayed only). */
void rt_kernels_mark(void);
/* Array "kernels" into `row`; nothing if none was seen. */
void rt_kernels_json(json_t *row);
/* A line each. */
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
