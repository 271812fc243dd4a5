/* machine/own_gpu.h - has every rank a GPU of its own? */
#ifndef RT_OWN_GPU_H
#define RT_OWN_GPU_H

#include <stdbool.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Returns whether every rank has a GPU and no two ranks the same one. If not, text[len] says why
 * ("ranks 0 and 1 use the same GPU, GPU-xxxx"), the same on all ranks. Collective, after
 * rt_device_select. */
bool rt_own_gpu(char *text, size_t len);

#ifdef __cplusplus
}
#endif
#endif
