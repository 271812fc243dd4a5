/* form.hpp - the choice of the kernel that is compiled for a convective form: CUDA and Kokkos. */
#ifndef ALYA_FORM_HPP
#define ALYA_FORM_HPP

#include <type_traits>
#include "../kernel.h"

/* Calls f(std::integral_constant<int, form>()). */
template <class F> void alya_fixed_form(alya_form_t form, F f)
{
    switch (form) {
    case ALYA_CONV:
        f(std::integral_constant<int, ALYA_CONV>());
        break;
    case ALYA_SKEW:
        f(std::integral_constant<int, ALYA_SKEW>());
        break;
    case ALYA_EMAC:
        f(std::integral_constant<int, ALYA_EMAC>());
        break;
    default:
        f(std::integral_constant<int, ALYA_CONS>());
    }
}

#endif
