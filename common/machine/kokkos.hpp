/*
 * machine/kokkos.hpp - what the Kokkos rungs of the apps share. C++17, for Kokkos 3.4 to 5. Only
 * .cpp files for the Kokkos compiler include this; all other files include machine/kokkos.h.
 */
#ifndef RT_KOKKOS_HPP
#define RT_KOKKOS_HPP

#include <Kokkos_Core.hpp>
#include "machine/kokkos.h"

namespace rt_kokkos
{

using Exec = Kokkos::DefaultExecutionSpace;
using Memory = Exec::memory_space;

/* Returns the instance that works on the rank's stream, which keeps kernels of Kokkos and of CUDA
 * in order. */
const Exec &exec();

/* True if Exec reaches ordinary host memory, that is, runs on the CPU. */
constexpr bool on_host = Kokkos::SpaceAccessibility<Kokkos::HostSpace, Memory>::accessible &&
                         std::is_same<Memory, Kokkos::HostSpace>::value;

/* Calls body(i), i = 0 .. n - 1, on the CPU: threads share the range in equal parts, as OpenMP's
 * static schedule does for the CPU rungs. body is plain C++ for the host; on other back-ends there
 * is no code of it. */
template <class Body> void host_for(const char *name, int64_t n, const Body &body)
{
    if constexpr (on_host)
        Kokkos::parallel_for(
            name, Kokkos::RangePolicy<Exec, Kokkos::IndexType<int64_t>>(exec(), 0, n), body);
}

} // namespace rt_kokkos

/* Defines a table of functions that C knows by this name. For the host alone: clang puts a constant
 * into code for AMD GPUs too, where the functions that a table names are missing. */
#if defined(__HIP_DEVICE_COMPILE__)
#define RT_KOKKOS_TABLE(type, name, value) \
    static_assert((static_cast<void>(value), true), "a table is a constant")
#else
#define RT_KOKKOS_TABLE(type, name, value) extern "C" const type name = value
#endif

#endif
