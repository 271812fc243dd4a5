/*
 * machine/toolkit.h - libraries of the CUDA toolkit that are loaded on first use. Linking one would
 * keep a program from starting on every machine without the toolkit, and make all programs start
 * more slowly.
 */
#ifndef RT_TOOLKIT_H
#define RT_TOOLKIT_H

#include <stddef.h>
#include "base/extern_c.h"

RT_C_BEGIN

/* Loads lib`name`.so of the CUDA version that this build was made with: as the system's loader
 * finds it, else from the toolkit of this build. Returns what dlsym takes; NULL, and one line in
 * `why` that calls the library `title`, if there is none. */
void *rt_toolkit_load(const char *name, const char *title, char *why, size_t len);

RT_C_END
#endif
