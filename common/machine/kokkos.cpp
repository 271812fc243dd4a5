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
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <unistd.h>
#include <vector>
#include "machine/device.h"
#include "base/error.h"
#include "base/mem_backend.h"

namespace
{
std::unique_ptr<rt_kokkos::Exec> instance;
bool started = false, registered = false;
/* Kokkos is being called, or kernels of it may be running. */
bool at_work = false;
std::string version;
} // namespace

/* Exec is Cuda where CUDA made a stream. Elsewhere the default instance has one of its own. */
static rt_kokkos::Exec *make_instance(void *stream)
{
#if defined(KOKKOS_ENABLE_CUDA)
    if (stream)
        return new rt_kokkos::Exec(static_cast<cudaStream_t>(stream));
#endif
    (void)stream;
    return new rt_kokkos::Exec();
}

/* ---- what only the back-end's own calls say: those of CUDA and HIP have the same names ---- */

#if defined(KOKKOS_ENABLE_CUDA)
#define NATIVE(name) cuda##name
using properties_t = cudaDeviceProp;
#elif defined(KOKKOS_ENABLE_HIP)
#define NATIVE(name) hip##name
using properties_t = hipDeviceProp_t;
#elif defined(KOKKOS_ENABLE_SYCL) && defined(SYCL_EXT_INTEL_DEVICE_INFO)
namespace intel = sycl::ext::intel::info::device;
#endif

static int gpus()
{
    int n = 1; /* a back-end that cannot be asked: what it takes by itself */
#if defined(NATIVE)
    if (NATIVE(GetDeviceCount)(&n) != NATIVE(Success)) {
        (void)NATIVE(GetLastError)();
        n = 0;
    }
#elif defined(KOKKOS_ENABLE_SYCL)
    n = static_cast<int>(sycl::device::get_devices(sycl::info::device_type::gpu).size());
#endif
    return n;
}

static void describe(int ordinal, rt_gpu_t *gpu)
{
#if defined(NATIVE)
    properties_t properties;
    if (NATIVE(GetDeviceProperties)(&properties, ordinal) == NATIVE(Success)) {
        std::snprintf(gpu->name, sizeof gpu->name, "%s", properties.name);
        gpu->memory = properties.totalGlobalMem;
        gpu->multiprocessors = properties.multiProcessorCount;
    }
    if (NATIVE(DeviceGetPCIBusId)(gpu->pci, sizeof gpu->pci, ordinal) != NATIVE(Success))
        gpu->pci[0] = '\0';
#elif defined(KOKKOS_ENABLE_SYCL)
    const sycl::device device =
        sycl::device::get_devices(sycl::info::device_type::gpu)[static_cast<size_t>(ordinal)];
    std::snprintf(gpu->name, sizeof gpu->name, "%s",
                  device.get_info<sycl::info::device::name>().c_str());
    gpu->memory = device.get_info<sycl::info::device::global_mem_size>();
    gpu->multiprocessors =
        static_cast<int>(device.get_info<sycl::info::device::max_compute_units>());
#if defined(SYCL_EXT_INTEL_DEVICE_INFO)
    if (device.has(sycl::aspect::ext_intel_pci_address))
        std::snprintf(gpu->pci, sizeof gpu->pci, "%s",
                      device.get_info<intel::pci_address>().c_str());
#endif
#endif
#if defined(KOKKOS_ENABLE_CUDA)
    (void)cudaDriverGetVersion(&gpu->driver);
#endif
    (void)ordinal;
    (void)gpu;
}

const rt_kokkos::Exec &rt_kokkos::exec()
{
    RT_EXPECT(instance, RT_ENVIRONMENT, "Kokkos was not started");
    at_work = true;
    return *instance;
}

/* When a call of its back-end fails (say, because the GPU was lost), Kokkos prints why and calls
 * abort(). Then all ranks have to end, with the status that says what kind of end it is. Who else
 * calls abort(), say malloc about a damaged heap, ends the program as without us. */
static void gave_up(int)
{
    std::signal(SIGABRT, SIG_DFL);
    if (at_work)
        rt_die(RT_ENVIRONMENT, "Kokkos gave up: the lines above say why");
}

/* Removes what the environment says to Kokkos, but for its tools. Our own options decide about
 * threads and devices, and Kokkos ends the program where the two differ. */
static void clear_environment()
{
    std::vector<std::string> names;
    for (char **line = environ; *line; line++) {
        const std::string name(*line, std::strcspn(*line, "="));
        if (name.rfind("KOKKOS_", 0) == 0 && name.rfind("KOKKOS_TOOLS_", 0) != 0 &&
            name != "KOKKOS_PROFILE_LIBRARY")
            names.push_back(name);
    }
    for (const std::string &name : names)
        unsetenv(name.c_str());
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
    clear_environment();
    std::signal(SIGABRT, gave_up);
    at_work = true; /* starting it may be what fails */
    Kokkos::initialize(settings);
    at_work = false;
}

/* ---- the memory of a GPU that Kokkos alone reaches (AMD, Intel) ---- Its interface has no
 * page-locked memory. */

namespace
{

constexpr bool owns_memory = !RT_HAVE_CUDA && !rt_kokkos::on_host;

template <class T, class Space> using View = Kokkos::View<T *, Space, Kokkos::MemoryUnmanaged>;
template <class T> using Here = View<T, Kokkos::HostSpace>;
template <class T> using There = View<T, rt_kokkos::Memory>;

void *memory_alloc(size_t bytes, rt_space_t space)
{
    if (space != RT_DEVICE)
        return rt_mem_host.alloc(bytes, space);
    try {
        void *ptr = Kokkos::kokkos_malloc<rt_kokkos::Memory>("rooftop", bytes);
        if (rt_mem_is_poisoning()) {
            Kokkos::deep_copy(There<uint16_t>(static_cast<uint16_t *>(ptr), bytes / 2),
                              uint16_t(RT_MEM_POISON));
            Kokkos::deep_copy(There<char>(static_cast<char *>(ptr) + bytes / 2 * 2, bytes % 2),
                              static_cast<char>(RT_MEM_POISON & 0xff));
        }
        return ptr;
    } catch (const std::exception &) {
        return nullptr;
    }
}

void memory_release(void *ptr, rt_space_t space)
{
    if (space == RT_DEVICE)
        Kokkos::kokkos_free<rt_kokkos::Memory>(ptr);
    else
        rt_mem_host.release(ptr, space);
}

void memory_copy(void *dst, rt_space_t dst_space, const void *src, rt_space_t src_space,
                 size_t bytes)
{
    char *to = static_cast<char *>(dst), *from = static_cast<char *>(const_cast<void *>(src));
    rt_kokkos_fence();
    at_work = true;
    if (dst_space == RT_DEVICE && src_space == RT_DEVICE)
        Kokkos::deep_copy(There<char>(to, bytes), There<char>(from, bytes));
    else if (dst_space == RT_DEVICE)
        Kokkos::deep_copy(There<char>(to, bytes), Here<char>(from, bytes));
    else if (src_space == RT_DEVICE)
        Kokkos::deep_copy(Here<char>(to, bytes), There<char>(from, bytes));
    else
        rt_mem_host.copy(dst, dst_space, src, src_space, bytes);
    at_work = false;
}

void memory_fill(void *dst, rt_space_t space, int byte, size_t bytes)
{
    if (space == RT_DEVICE)
        Kokkos::deep_copy(rt_kokkos::exec(), There<char>(static_cast<char *>(dst), bytes),
                          static_cast<char>(byte));
    else
        rt_mem_host.fill(dst, space, byte, bytes);
}

void memory_draw(void *x, const void *base, size_t n, size_t size, rt_draw_t draw)
{
    const bool wide = size == sizeof(double);
    Kokkos::parallel_for(
        "draw", Kokkos::RangePolicy<rt_kokkos::Exec>(rt_kokkos::exec(), 0, n),
        KOKKOS_LAMBDA(const size_t i) {
            if (wide)
                static_cast<double *>(x)[i] = rt_drawn(static_cast<const double *>(base)[i], draw);
            else
                static_cast<float *>(x)[i] =
                    static_cast<float>(rt_drawn(static_cast<const float *>(base)[i], draw));
        });
}

/* Where the back-end does not say what is free, only an allocation that fails shows it. */
size_t memory_available(rt_space_t space)
{
    size_t available = 0;
#if defined(NATIVE)
    size_t all = 0;
    if (space == RT_DEVICE && NATIVE(MemGetInfo)(&available, &all) != NATIVE(Success))
        available = 0;
#elif defined(KOKKOS_ENABLE_SYCL) && defined(SYCL_EXT_INTEL_DEVICE_INFO)
    const sycl::device device = rt_kokkos::exec().sycl_queue().get_device();
    if (space == RT_DEVICE && device.has(sycl::aspect::ext_intel_free_memory))
        available = device.get_info<intel::free_memory>();
#endif
    (void)space;
    return available > 0 ? available : rt_mem_available(RT_HOST);
}

constexpr rt_mem_backend_t table()
{
    rt_mem_backend_t t = {};
    t.alloc = memory_alloc;
    t.release = memory_release;
    t.copy = memory_copy;
    t.fill = memory_fill;
    t.draw = memory_draw;
    t.available = memory_available;
    return t;
}

const rt_mem_backend_t memory = table();

} // namespace

extern "C" {

int rt_kokkos_gpus(void)
{
    return rt_kokkos::on_host ? -1 : gpus();
}

void rt_kokkos_describe(int ordinal, rt_gpu_t *gpu)
{
    *gpu = {};
    gpu->ordinal = ordinal;
    if (!rt_kokkos::on_host)
        describe(ordinal, gpu);
}

const char *rt_kokkos_why_not(void)
{
    return rt_kokkos::on_host || rt_device_gpu() ? nullptr : rt_device_why_not();
}

void rt_kokkos_start(int threads, int gpu)
{
    if (started || rt_kokkos_why_not())
        return;
    initialize(threads, gpu);
    instance.reset(make_instance(rt_device_stream()));
    started = true;
    if (owns_memory)
        rt_mem_set_backend(&memory);
    /* A refused program ends with exit(): Kokkos must be finished before the driver unloads. */
    if (!registered)
        registered = std::atexit(rt_kokkos_finish) == 0;
}

void rt_kokkos_finish(void)
{
    if (!started)
        return;
    at_work = true;
    instance.reset();
    Kokkos::finalize();
    at_work = false;
    started = false;
    if (owns_memory)
        rt_mem_set_backend(&rt_mem_host);
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

void rt_kokkos_fence(void)
{
    if (started)
        rt_kokkos::exec().fence();
    at_work = false;
}

} // extern "C"
