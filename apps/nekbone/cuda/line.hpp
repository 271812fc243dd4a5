/*
 * line.hpp - products of whole lines of an element in registers: one text for CUDA and Kokkos.
 *
 *   D by halves. The GLL points are symmetric, so D(n-1-i, n-1-l) = -D(i, l): the even half of a
 *   line has an odd derivative and vice versa. These are two products of half the size:
 *   n^2 / 2 multiplications per line instead of n^2, for 2 n additions. D is the same for all
 *   threads at each step of the unrolled code, so it is a kernel argument: on NVIDIA GPUs an operand
 *   from the constant bank costs nothing.
 *
 *   Layouts without bank conflicts. Lines along i are `row` apart; lines along j start at
 *   j * plane + i. The two pitches are such that 16 lanes of 8 bytes, or 8 lanes of 16, always
 *   touch all 32 banks once; of values of 4 bytes, twice as many.
 */
#ifndef NEK_LINE_HPP
#define NEK_LINE_HPP

#include <type_traits>
#include "../cpu/tiles.h"
#include "../precond/grid.h"

/* Calls f(std::integral_constant<int, n>()) for n = 2 .. most; false if n is not among them. */
template <int most, int N = NEK_MIN_N, class F> bool nek_fixed_n(int n, F f)
{
    if constexpr (N > most) {
        return false;
    } else if (n == N) {
        f(std::integral_constant<int, N>());
        return true;
    } else {
        return nek_fixed_n<most, N + 1>(n, f);
    }
}

/* D in [0] and its transpose in [1], by halves (tiles.h). */
template <int n, class T = double> struct nek_halves {
    static constexpr int half = n / 2, most = (n + 1) / 2;
    T even[2][half * most], odd[2][most * half];
};

template <int n, class T = double> nek_halves<n, T> nek_halve(const double *D)
{
    nek_halves<n> exact;
    nek_halves<n, T> h;
    for (int t = 0; t < 2; t++) {
        nek_halve(n, D, t, exact.even[t], exact.odd[t]);
        for (int q = 0; q < h.half * h.most; q++) {
            h.even[t][q] = exact.even[t][q];
            h.odd[t][q] = exact.odd[t][q];
        }
    }
    return h;
}

/* b = D a, or b = D^T a */
template <int transposed, int n, class T>
NEK_ANYWHERE void nek_line_product(const nek_halves<n, T> &D, const T (&a)[n], T (&b)[n])
{
    constexpr int half = n / 2, most = (n + 1) / 2;
    T even[most], odd[half], from_even[half], from_odd[most];
    NEK_UNROLL
    for (int l = 0; l < half; l++) {
        even[l] = a[l] + a[n - 1 - l];
        odd[l] = a[l] - a[n - 1 - l];
    }
    if constexpr (n % 2 == 1)
        even[half] = a[half];
    NEK_UNROLL
    for (int i = 0; i < most; i++) {
        if (i < half)
            from_even[i] = 0;
        from_odd[i] = 0;
    }
    NEK_UNROLL
    for (int l = 0; l < most; l++)
        NEK_UNROLL
    for (int i = 0; i < most; i++) {
        if (i < half)
            from_even[i] += D.even[transposed][i * most + l] * even[l];
        if (l < half)
            from_odd[i] += D.odd[transposed][i * half + l] * odd[l];
    }
    NEK_UNROLL
    for (int i = 0; i < half; i++) {
        b[i] = from_odd[i] + from_even[i];
        b[n - 1 - i] = from_odd[i] - from_even[i];
    }
    if constexpr (n % 2 == 1)
        b[half] = from_odd[half];
}

/* Returns the smallest number from `least` on that is `rest` modulo `cycle`. */
constexpr int nek_pitch(int least, int rest, int cycle)
{
    return least + ((rest - least) % cycle + cycle) % cycle;
}

constexpr int nek_whole_warps(int threads)
{
    return (threads + 31) / 32 * 32;
}

/* Threads per block that are aimed at. */
enum { NEK_LEAST_THREADS = 64, NEK_GOOD_THREADS = 128 };

template <int n, class T = double> struct nek_shape {
    static constexpr int cycle = 128 / sizeof(T); /* values in all banks */
    static constexpr int n2 = n * n, n3 = n2 * n;
    /* Lines along i: an odd number of pairs of values; of values if n is odd, since they are read
     * so then. */
    static constexpr int row = n % 4 == 0 ? n + 2 : n;
    /* Lanes with consecutive t find different banks at j * plane + i, as they do at t. */
    static constexpr int plane = nek_pitch(n2, n, cycle);
    static constexpr int rows = n2 * row, planes = nek_pitch(n * plane, n2, cycle);
    /* Threads per block that kernels are compiled for. */
    static constexpr int threads =
        n2 <= NEK_GOOD_THREADS ? static_cast<int>(NEK_GOOD_THREADS) : nek_whole_warps(n2);
};

template <class T> struct alignas(2 * sizeof(T)) nek_two {
    T x, y;
};

/* Multiplies a line by D or D^T, in place. */
template <int transposed, int n, class T>
NEK_ANYWHERE void nek_row_in_place(const nek_halves<n, T> &D, T *line)
{
    T a[n], b[n];
    if constexpr (n % 2 == 0) {
        nek_two<T> *two = reinterpret_cast<nek_two<T> *>(line);
        NEK_UNROLL
        for (int l = 0; l < n; l += 2) {
            const nek_two<T> pair = two[l / 2];
            a[l] = pair.x;
            a[l + 1] = pair.y;
        }
        nek_line_product<transposed>(D, a, b);
        NEK_UNROLL
        for (int l = 0; l < n; l += 2)
            two[l / 2] = {b[l], b[l + 1]};
    } else {
        NEK_UNROLL
        for (int l = 0; l < n; l++)
            a[l] = line[l];
        nek_line_product<transposed>(D, a, b);
        NEK_UNROLL
        for (int l = 0; l < n; l++)
            line[l] = b[l];
    }
}

template <int transposed, int step, int n, class T>
NEK_ANYWHERE void nek_column_in_place(const nek_halves<n, T> &D, T *line)
{
    T a[n], b[n];
    NEK_UNROLL
    for (int l = 0; l < n; l++)
        a[l] = line[l * step];
    nek_line_product<transposed>(D, a, b);
    NEK_UNROLL
    for (int l = 0; l < n; l++)
        line[l * step] = b[l];
}

#endif
