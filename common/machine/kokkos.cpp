/*
 * machine/kokkos.cpp - Kokkos behind the C interface of machine/kokkos.h.
 *
 * Idea: Kokkos is started on the GPU and the stream that rt_device chose, so that kernels of both
 * see the same arrays in the same order. Price: with a CUDA back-end the whole program needs the
 * driver's libcuda.so.1 to start.
 */
#include "config.h"
#include "machine/kokkos.hpp"
#include <csignal>
#include <cstdlib>
#include <memory>
#include <string>
#include "machine/device.h"
#include "base/error.h"
#include "machine/memory.h"

namespace
{
std::unique_ptr<rt_kokkos::Exec> instance;
bool started = false, registered = false;
std::string version;
} // namespace

#if defined(KOKKOS_ENABLE_CUDA)
/* Exec is Cuda, so this makes an instance on our stream. */
static rt_kokkos::Exec *make_instance(void *stream)
{
    return new rt_kokkos::Exec(static_cast<cudaStream_t>(stream));
}
#else
static rt_kokkos::Exec *make_instance(void *)
{
    return new rt_kokkos::Exec();
}
#endif

const rt_kokkos::Exec &rt_kokkos::exec()
{
    RT_EXPECT(instance, RT_ENVIRONMENT, "Kokkos was not started");
    return *instance;
}

/* When a call of its back-end fails (say, because the GPU was lost), Kokkos prints why and calls
 * abort(); so does C++ for an exception that is not caught. Then all ranks have to end, with the
 * status that says what kind of end it is. */
static void gave_up(int)
{
    std::signal(SIGABRT, SIG_DFL);
    rt_die(RT_ENVIRONMENT, "Kokkos gave up, or C++ did: the lines above say why");
}

static void initialize(int threads, int gpu)
{
#if KOKKOS_VERSION >= 30700
    Kokkos::InitializationSettings settings;
    settings.set_num_threads(threads).set_disable_warnings(true);
    if (gpu >= 0 && !rt_kokkos::on_host)
        settings.set_device_id(gpu);
#else
    Kokkos::InitArguments settings;
    settings.num_threads = threads;
    settings.disable_warnings = true;
    if (gpu >= 0 && !rt_kokkos::on_host)
        settings.device_id = gpu;
#endif
    std::signal(SIGABRT, gave_up); /* starting it may be what fails */
    Kokkos::initialize(settings);
}

extern "C" {

const char *rt_kokkos_why_not(void)
{
#if defined(KOKKOS_ENABLE_CUDA) /* GPUs of other makers are known to Kokkos only */
    if (!rt_device_gpu())
        return rt_device_why_not();
#endif
    return nullptr;
}

void rt_kokkos_start(int threads, int gpu)
{
    if (started || rt_kokkos_why_not())
        return;
    initialize(threads, gpu);
    instance.reset(make_instance(rt_device_stream()));
    started = true;
    rt_memory_use_kokkos(rt_kokkos_on_gpu());
    /* A refused program ends with exit(): Kokkos must be finished before the driver unloads. */
    if (!registered)
        registered = std::atexit(rt_kokkos_finish) == 0;
}

void rt_kokkos_finish(void)
{
    if (!started)
        return;
    instance.reset();
    Kokkos::finalize();
    started = false;
    rt_memory_use_kokkos(false);
}

const char *rt_kokkos_backend(void)
{
    return rt_kokkos::Exec::name();
}

const char *rt_kokkos_version(void)
{
    if (version.empty())
        version = std::to_string(KOKKOS_VERSION / 10000) + "." +
                  std::to_string(KOKKOS_VERSION / 100 % 100) + "." +
                  std::to_string(KOKKOS_VERSION % 100);
    return version.c_str();
}

bool rt_kokkos_on_gpu(void)
{
    return started && !rt_kokkos::on_host;
}

rt_space_t rt_kokkos_space(void)
{
    return rt_kokkos_on_gpu() || rt_mem_device_is_emulated() ? RT_DEVICE : RT_HOST;
}

void *rt_kokkos_alloc(size_t bytes)
{
    try {
        return Kokkos::kokkos_malloc<rt_kokkos::Memory>("rooftop", bytes);
    } catch (const std::exception &) {
        return nullptr;
    }
}

void rt_kokkos_free(void *ptr)
{
    Kokkos::kokkos_free<rt_kokkos::Memory>(ptr);
}

void rt_kokkos_copy(void *dst, bool dst_on_device, const void *src, bool src_on_device,
                    size_t bytes)
{
    using Here = Kokkos::View<char *, Kokkos::HostSpace, Kokkos::MemoryUnmanaged>;
    using There = Kokkos::View<char *, rt_kokkos::Memory, Kokkos::MemoryUnmanaged>;
    char *to = static_cast<char *>(dst), *from = static_cast<char *>(const_cast<void *>(src));
    rt_kokkos_fence();
    if (dst_on_device && src_on_device)
        Kokkos::deep_copy(There(to, bytes), There(from, bytes));
    else if (dst_on_device)
        Kokkos::deep_copy(There(to, bytes), Here(from, bytes));
    else if (src_on_device)
        Kokkos::deep_copy(Here(to, bytes), There(from, bytes));
    else
        Kokkos::deep_copy(Here(to, bytes), Here(from, bytes));
}

void rt_kokkos_fence(void)
{
    if (started)
        rt_kokkos::exec().fence();
}

} // extern "C"
