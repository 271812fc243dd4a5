/* machine/toolkit.c - libraries of the CUDA toolkit, by dlopen. */
#include "config.h"
#include "machine/toolkit.h"
#include <cuda_runtime_api.h>
#include <dlfcn.h>
#include <stdio.h>

void *rt_toolkit_load(const char *name, const char *title, char *why, size_t len)
{
    char file[64], path[512];
    snprintf(file, sizeof file, "lib%s.so.%d", name, CUDART_VERSION / 1000);
    void *library = dlopen(file, RTLD_NOW | RTLD_LOCAL);
    if (library)
        return library;
    /* Quotes the loader on the first try: the second folder may be that of another machine. */
    snprintf(
        why, len,
        "%s cannot be loaded: %s (it comes with the CUDA toolkit; LD_LIBRARY_PATH may name its "
        "folder)",
        title, dlerror());
    snprintf(path, sizeof path, "%s/%s", RT_TOOLKIT_FOLDER, file);
    return dlopen(path, RTLD_NOW | RTLD_LOCAL);
}
