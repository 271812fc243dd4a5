/* machine/kokkos_absent.c - machine/kokkos.h in a build without Kokkos: says that it cannot be
 * used. */
#include "config.h"
#include "machine/kokkos.h"
#include "base/error.h"

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

rt_space_t rt_kokkos_space(void)
{
    return RT_HOST;
}

void *rt_kokkos_alloc(size_t bytes)
{
    rt_die(RT_ENVIRONMENT, "%zu bytes asked of Kokkos, which this build does not have", bytes);
}

void rt_kokkos_free(void *ptr)
{
    (void)ptr;
}

void rt_kokkos_copy(void *dst, bool dst_on_device, const void *src, bool src_on_device,
                    size_t bytes)
{
    (void)dst_on_device;
    (void)src_on_device;
    rt_die(RT_ENVIRONMENT,
           "copy of %zu bytes from %p to %p asked of Kokkos, which this build does not have", bytes,
           src, dst);
}

void rt_kokkos_draw(void *x, const void *base, size_t n, size_t size, rt_draw_t draw)
{
    (void)base;
    (void)size;
    (void)draw;
    rt_die(RT_ENVIRONMENT, "%zu values at %p asked of Kokkos, which this build does not have", n,
           x);
}

void rt_kokkos_fence(void)
{
}

size_t rt_kokkos_available(void)
{
    return 0;
}
