/* compiled.h - what rung `compiled` can do without a GPU, for tests. */
#ifndef NEK_COMPILED_H
#define NEK_COMPILED_H

#include "../kernel.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Compiles the kernel for this problem and choice (one index per parameter of nek_compiled), as
 * rt_nvrtc_compile does. */
bool nek_compile(int n, int64_t elements, const int *choice, int capability, void **image,
                 size_t *bytes, char *why, size_t len);

#ifdef __cplusplus
}
#endif
#endif
