/*
 * gfnn_kokkos.hpp - what the Kokkos rungs of gfnn-wave share: how many values one thread works on
 * at a time, and how it loads and stores them.
 */
#ifndef GFNN_KOKKOS_HPP
#define GFNN_KOKKOS_HPP

#include "machine/kokkos.hpp"
#include <cstring>
#include "apps/gfnn-wave/node.h"

/* Parts of the rungs, of which solve_kokkos.cpp makes a whole solve. */
extern "C" {
extern const gfnn_operator_t gfnn_operator_kokkos;
extern const gfnn_predictor_t gfnn_predictor_kokkos;
extern const gfnn_vectors_t gfnn_vectors_kokkos;
}

/* On a CPU a thread works on a vector of neighbours in x, as wide as the machine's registers. On a
 * GPU it works on one value, and neighbouring threads have the neighbours. */
#if defined(KOKKOS_ENABLE_CUDA) || defined(KOKKOS_ENABLE_HIP) || defined(KOKKOS_ENABLE_SYCL) || \
    defined(KOKKOS_ENABLE_OPENMPTARGET) || !defined(__GNUC__)
#define GFNN_VECTOR 0
#elif defined(__AVX512F__)
#define GFNN_VECTOR 64
#elif defined(__AVX__)
#define GFNN_VECTOR 32
#else
#define GFNN_VECTOR 16
#endif

/* Before loops whose arrays must be in registers. */
#if defined(__CUDA_ARCH__) || defined(__HIP_DEVICE_COMPILE__) || defined(__clang__)
#define GFNN_UNROLL _Pragma("unroll")
#elif GFNN_VECTOR
#define GFNN_UNROLL _Pragma("GCC unroll 16")
#else
#define GFNN_UNROLL
#endif

namespace gfnn_kokkos
{

#if GFNN_VECTOR
typedef double doubles_t __attribute__((vector_size(GFNN_VECTOR)));
typedef float floats_t __attribute__((vector_size(GFNN_VECTOR)));
/* In memory they may begin at any value of an array. */
typedef double doubles_at_t __attribute__((vector_size(GFNN_VECTOR), aligned(8), may_alias));
typedef float floats_at_t __attribute__((vector_size(GFNN_VECTOR), aligned(4), may_alias));
#else
typedef double doubles_t;
typedef float floats_t;
typedef double doubles_at_t;
typedef float floats_at_t;
#endif

template <class T> struct values_of;
template <> struct values_of<double> {
    using type = doubles_t;
    using at = doubles_at_t;
    enum { lanes = sizeof(doubles_t) / sizeof(double) };
};
template <> struct values_of<float> {
    using type = floats_t;
    using at = floats_at_t;
    enum { lanes = sizeof(floats_t) / sizeof(float) };
};

/* Loads all lanes. Vectors go through pointers: how they are passed by value depends on the
 * machine. */
template <class T> KOKKOS_FORCEINLINE_FUNCTION void load(const T *p, typename values_of<T>::type *v)
{
    *v = *reinterpret_cast<const typename values_of<T>::at *>(p);
}

/* Loads the first `lanes`, or all of them if `whole`, which a compiler must know. */
template <class T>
KOKKOS_FORCEINLINE_FUNCTION void load(const T *p, bool whole, int lanes,
                                      typename values_of<T>::type *v)
{
    if (whole) {
        load(p, v);
        return;
    }
    T some[values_of<T>::lanes];
    for (int l = 0; l < values_of<T>::lanes; l++)
        some[l] = l < lanes ? p[l] : 0;
    load(some, v);
}

template <class T>
KOKKOS_FORCEINLINE_FUNCTION void store(T *p, int lanes, const typename values_of<T>::type *v)
{
    if (lanes >= values_of<T>::lanes) {
        *reinterpret_cast<typename values_of<T>::at *>(p) = *v;
        return;
    }
    const T *from = reinterpret_cast<const T *>(v);
    for (int l = 0; l < lanes; l++)
        p[l] = from[l];
}

/* Prefetches what is read soon. A GPU does not need it: it has other threads to run meanwhile. */
KOKKOS_FORCEINLINE_FUNCTION void ahead(const void *p)
{
#if GFNN_VECTOR
    __builtin_prefetch(p);
#else
    (void)p;
#endif
}

} // namespace gfnn_kokkos

#endif
