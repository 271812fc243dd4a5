/*
 * types.hpp - the choice of the kernel that is compiled for the types and the block size of a run: one
 * text for CUDA and Kokkos, which differ in their types of 16 bits.
 */
#ifndef MCPI_TYPES_HPP
#define MCPI_TYPES_HPP

#include <type_traits>
#include "../kernel.h"

/* A type as a value, for generic lambdas. */
template <class T> struct mcpi_tag_t {
    using type = T;
};

/* What O is stored in, for code that has no types of 16 bits. */
struct mcpi_half_t {
    uint16_t bits;
};
struct mcpi_bfloat_t {
    uint16_t bits;
};

/* Calls f(tag) for FP64 or FP32. */
template <class F> void mcpi_fixed_real(mcpi_type_t type, F f)
{
    if (type == MCPI_FP64)
        f(mcpi_tag_t<double>());
    else
        f(mcpi_tag_t<float>());
}

/* Calls f(tag) for what O is stored in. */
template <class Half, class Bfloat, class F> void mcpi_fixed_offdiagonal(mcpi_type_t type, F f)
{
    switch (type) {
    case MCPI_FP16:
        f(mcpi_tag_t<Half>());
        break;
    case MCPI_BF16:
        f(mcpi_tag_t<Bfloat>());
        break;
    default:
        mcpi_fixed_real(type, f);
    }
}

/* Calls f(tag of O, tag of dQ, tag of the sums). */
template <class Half, class Bfloat, class F> void mcpi_fixed_types(const mcpi_view_t *view, F f)
{
    mcpi_fixed_offdiagonal<Half, Bfloat>(view->offdiagonal, [&](auto o) {
        mcpi_fixed_real(view->dq_type, [&](auto x) {
            mcpi_fixed_real(view->accumulate, [&](auto a) { f(o, x, a); });
        });
    });
}

/* Calls f(std::integral_constant<int, nb>()), where nb is from least to most. */
template <int least, int most, class F> void mcpi_fixed_nb(int nb, F f)
{
    if constexpr (least < most) {
        if (nb > least) {
            mcpi_fixed_nb<least + 1, most>(nb, f);
            return;
        }
    }
    f(std::integral_constant<int, least>());
}

#endif
