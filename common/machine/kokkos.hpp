/*
 * machine/kokkos.hpp - what the Kokkos rungs of the apps share. C++17, for Kokkos 3.4 to 5. Only
 * .cpp files for the Kokkos compiler include this; all other files include machine/kokkos.h.
 */
#ifndef RT_KOKKOS_HPP
#define RT_KOKKOS_HPP

#include <Kokkos_Core.hpp>
#include <cstring>
#include "machine/kokkos.h"

/* Before a loop with a constant number of turns, so that arrays it runs over become registers. */
#if defined(__CUDA_ARCH__) || defined(__clang__)
#define RT_UNROLL _Pragma("unroll")
#elif defined(__CUDACC__) /* its host compiler */
#define RT_UNROLL
#else
#define RT_UNROLL _Pragma("GCC unroll 16")
#endif

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

/* n values that are loaded and stored at once. */
template <class T, int n> struct alignas(n * sizeof(T)) Pack {
    T at[n];
};

/* Returns *from, 16 bytes that are read once: where the back-end can say so, they take no room in a
 * cache from what is read again. */
template <class T> KOKKOS_FORCEINLINE_FUNCTION T once(const T *from)
{
#if defined(__CUDA_ARCH__)
    static_assert(sizeof(T) == sizeof(int4), "16 bytes");
    const int4 bits = __ldcs(reinterpret_cast<const int4 *>(from));
    T value;
    memcpy(&value, &bits, sizeof value);
    return value;
#else
    return *from;
#endif
}

/* Calls put(k, load(k)), k = 0 .. n - 1, n > 0, by the members of a team. Each has its first `most`
 * loads in flight at once, and calls meanwhile() then; past the end of the list it loads number 0
 * again, because a branch would have to wait. */
template <int most, class Member, class Load, class Put, class Meanwhile>
KOKKOS_FORCEINLINE_FUNCTION void bring(const Member &team, int n, const Load &load, const Put &put,
                                       const Meanwhile &meanwhile)
{
    const int rank = team.team_rank(), size = team.team_size();
    decltype(load(0)) value[most];
    RT_UNROLL
    for (int u = 0; u < most; u++)
        value[u] = load(rank + u * size < n ? rank + u * size : 0);
    meanwhile();
    RT_UNROLL
    for (int u = 0; u < most; u++)
        if (rank + u * size < n)
            put(rank + u * size, value[u]);
    for (int k = rank + most * size; k < n; k += size)
        put(k, load(k));
}

template <int most, class Member, class Load, class Put>
KOKKOS_FORCEINLINE_FUNCTION void bring(const Member &team, int n, const Load &load, const Put &put)
{
    bring<most>(team, n, load, put, [] {});
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
