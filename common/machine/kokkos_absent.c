/* machine/kokkos_absent.c - machine/kokkos.h in a build without Kokkos: says that it cannot be
 * used. */
#include "config.h"
#include "machine/kokkos.h"

int rt_kokkos_gpus(void)
{
    return -1;
}

void rt_kokkos_describe(int ordinal, rt_gpu_t *gpu)
{
    *gpu = (rt_gpu_t){.ordinal = ordinal};
}

const char *rt_kokkos_why_not(void)
{
    return "this build has no Kokkos: install it (Debian: libtrilinos-kokkos-dev) and run "
           "configure again, or give --with-kokkos=DIR";
}

void rt_kokkos_start(int threads, int gpu)
{
    (void)threads;
    (void)gpu;
}

void rt_kokkos_finish(void)
{
}

const char *rt_kokkos_backend(void)
{
    return "none";
}

const char *rt_kokkos_version(void)
{
    return "none";
}

bool rt_kokkos_on_gpu(void)
{
    return false;
}

void rt_kokkos_fence(void)
{
}
