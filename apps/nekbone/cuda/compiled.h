/*
 * compiled.h - rung `compiled` without a GPU: what tests ask it for.
 */
#ifndef NEK_COMPILED_H
#define NEK_COMPILED_H

#include "../kernel.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Compiles the kernel for that problem and choice (one index a parameter of nek_compiled), as
 * rt_nvrtc_compile does. */
const char *nek_compile(int n, int64_t elements, const int *choice, int capability, void **image,
                        size_t *bytes);

#ifdef __cplusplus
}
#endif
#endif
