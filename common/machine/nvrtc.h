/*
 * machine/nvrtc.h - kernels that are compiled while the program runs, by NVIDIA's NVRTC.
 *
 * Neither a GPU nor a driver is needed to compile. libnvrtc is loaded when it is first asked for,
 * so that a program with this starts where it is missing. Not for several threads at once.
 */
#ifndef RT_NVRTC_H
#define RT_NVRTC_H

#include <stdbool.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* NULL: a kernel can be compiled here, proved by compiling one; else one line of why not. */
const char *rt_nvrtc_why_not(void);

/* Compiles `text`, which messages call `name`, for compute capability major * 10 + minor: machine
 * code, or PTX of the newest architecture that this NVRTC knows if the GPU is newer than that. With
 * `options` as of nvcc. NULL: *image is what cudaLibraryLoadData takes, *bytes long, of malloc.
 * Else one line: the first error. It stands in a buffer that the next call overwrites. */
const char *rt_nvrtc_compile(const char *text, const char *name, int capability,
                             const char *const *options, int n_options, void **image,
                             size_t *bytes);

#ifdef __cplusplus
}
#endif
#endif
