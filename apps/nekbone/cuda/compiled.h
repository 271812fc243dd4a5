/* compiled.h - what rung `compiled` can do without a GPU, for tests. */
#ifndef NEK_COMPILED_H
#define NEK_COMPILED_H

#include "../nekbone.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Compiles the kernel for that problem and choice (one index per parameter of nek_compiled); the
 * rest is as in rt_nvrtc_compile. */
const char *nek_compile(int n, int64_t elements, const int *choice, int capability, void **image,
                        size_t *bytes);

#ifdef __cplusplus
}
#endif
#endif
