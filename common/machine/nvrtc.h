/*
 * machine/nvrtc.h - kernels that are compiled while the program runs, by NVIDIA's NVRTC.
 *
 * Compiling needs neither a GPU nor a driver. libnvrtc is loaded on first use, so that a program
 * built with this file starts without the library too. Not for several threads at once.
 */
#ifndef RT_NVRTC_H
#define RT_NVRTC_H

#include <stdbool.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Returns NULL if a kernel can be compiled here (the first call compiles one as proof), else one
 * line of why not. */
const char *rt_nvrtc_why_not(void);

/* Compiles `text`, which messages call `name`, for compute capability major * 10 + minor: to
 * machine code, or to PTX of the newest architecture that this NVRTC knows if the GPU is newer than
 * that. The options are those of nvcc. On success *image is what cudaLibraryLoadData takes, *bytes
 * long, to be freed with free(). Returns false, and the first error in `why`, if it cannot be
 * compiled. */
bool rt_nvrtc_compile(const char *text, const char *name, int capability,
                      const char *const *options, int n_options, void **image, size_t *bytes,
                      char *why, size_t len);

#ifdef __cplusplus
}
#endif
#endif
