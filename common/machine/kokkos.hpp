/*
 * machine/kokkos.hpp - what the Kokkos rungs of the apps share. C++14, for Kokkos 3.4 to 5. Only
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

/* A plain pointer as an unmanaged View. */
using In = Kokkos::View<const double *, Memory,
                        Kokkos::MemoryTraits<Kokkos::Unmanaged | Kokkos::Restrict>>;
using Out =
    Kokkos::View<double *, Memory, Kokkos::MemoryTraits<Kokkos::Unmanaged | Kokkos::Restrict>>;

} // namespace rt_kokkos

#endif
