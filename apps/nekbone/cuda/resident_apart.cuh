/*
 * resident_apart.cuh - the kernel of `resident` for meshes in which every element has a multiprocessor
 * to itself: three groups of threads per element, one for each direction.
 */
#ifndef NEK_RESIDENT_APART_CUH
#define NEK_RESIDENT_APART_CUH

#include "resident_exchange.cuh"

enum { APART_MAX_N = 11 }; /* more do not fit into the registers */

template <int n> constexpr int apart_threads = 3 * nek_whole_warps(nek_shape<n>::n2);
template <int n>
constexpr size_t apart_bytes = resident_bytes<n>(nek_shape<n>::rows + 2 * nek_shape<n>::planes +
                                                 nek_split<n>::surface);

/* Group g multiplies lines along i, j or k, and keeps layers g, g + 3, ... of the vectors. Lines
 * along k are laid out like those along j, so that the same code multiplies both. */
template <int n>
__global__ void __launch_bounds__(apart_threads<n>, 1)
    apart(const __grid_constant__ nek_halves<n> D, const __grid_constant__ resident_t a)
{
    using shape = nek_shape<n>;
    using split = nek_split<n>;
    constexpr int n2 = n * n, n3 = n2 * n, threads = apart_threads<n>, layers = (n + 2) / 3;
    constexpr int adding = adding_warps<threads>;
    extern __shared__ __align__(128) double memory[];
    __shared__ block_sums<threads / 32> own;
    __shared__ block_sums<adding> all;
    const int group = threadIdx.x / (threads / 3), lane = threadIdx.x % (threads / 3);
    int layer = group; /* the first of this thread's layers */
    const bool active = lane < n2;
    const int t = active ? lane : 0, i = t % n, j = t / n, e = blockIdx.x;
    double *const rows = memory, *const planes = rows + shape::rows;
    double *const columns = planes + shape::planes, *const surface = columns + shape::planes;
    double *const line =
        group == 0 ? rows + t * shape::row : (group == 1 ? planes : columns) + j * shape::plane + i;
    /* this thread's first layer, and the step from there to its next one */
    double *const in_rows = rows + (group * n + j) * shape::row + i;
    double *const in_planes = planes + group * shape::plane + t;
    double *const in_columns = columns + j * shape::plane + group * n + i;
    constexpr int next_row = 3 * n * shape::row, next_plane = 3 * shape::plane, next_column = 3 * n;
    unsigned *const link = reinterpret_cast<unsigned *>(surface + split::surface);
    nek_column<n> column(surface, 1, 0, i, j, a.outside[e], a.half);
    const size_t first = static_cast<size_t>(e) * n3 + group * n2 + t;
    coefficients by;
    int at[layers]; /* where w is, as in offsets */
    unsigned masked = 0;
    double r[layers], p[layers], s[layers], x[layers], g[layers][6];

    /* Calls body(l) for this thread's layers. */
    auto each_layer = [&](auto body) {
        if (!active)
            return;
#pragma unroll
        for (int l = 0; l < layers; l++)
            if (3 * l + 2 < n || group + 3 * l < n)
                body(l);
    };
    auto multiply = [&](auto transposed) {
        constexpr int T = decltype(transposed)::value;
        if (active && group == 0)
            nek_row_in_place<T>(D, line);
        else if (active)
            nek_column_in_place<T, n>(D, line);
    };
    auto weight = [&](int l) { return column.c(layer + 3 * l); };

    links<n>::fill(a, a.outside[e], link);
    each_layer([&](int l) {
        const int k = group + 3 * l;
        at[l] = split::at(i, j, k);
        if (at[l] < 0)
            at[l] = static_cast<int>(in_planes + l * next_plane - surface);
        masked |= (column.is_masked(k) ? 1u : 0u) << l;
        r[l] = a.b[first + 3 * l * n2];
        p[l] = s[l] = x[l] = 0;
#pragma unroll
        for (int m = 0; m < 6; m++)
            g[l][m] = a.G[first + 5 * static_cast<size_t>(e) * n3 + m * n3 + 3 * l * n2];
    });
    for (int it = 0; it <= a.iterations; it++) {
        double gamma = 0, delta = 0;
        hide(layer);
        hide(column.weight);
        if (it > 0)
            each_layer([&](int l) {
                p[l] = r[l] + by.beta * p[l];
                s[l] = surface[at[l]] + by.beta * s[l];
                x[l] += by.alpha * p[l];
                r[l] -= by.alpha * s[l];
            });
        each_layer([&](int l) {
            gamma += weight(l) * r[l] * r[l];
            in_rows[l * next_row] = in_planes[l * next_plane] = in_columns[l * next_column] = r[l];
        });
        if (it < a.iterations) {
            __syncthreads(); /* r is there, in all three layouts */
            multiply(std::integral_constant<int, 0>());
            __syncthreads(); /* the derivatives are there */
            each_layer([&](int l) {
                double &wr = in_rows[l * next_row], &ws = in_planes[l * next_plane];
                double &wt = in_columns[l * next_column];
                const double ur = g[l][0] * wr + g[l][1] * ws + g[l][2] * wt;
                const double us = g[l][1] * wr + g[l][3] * ws + g[l][4] * wt;
                wt = g[l][2] * wr + g[l][4] * ws + g[l][5] * wt;
                wr = ur;
                ws = us;
            });
            __syncthreads(); /* they are multiplied by G */
            multiply(std::integral_constant<int, 1>());
            __syncthreads(); /* the three terms of w are there */
            hide(layer);
            hide(column.weight);
            const long long epoch = a.first + it;
            const unsigned mine =
                (static_cast<unsigned>(epoch & 1) * a.elements + e) * split::surface;
            each_layer([&](int l) {
                const double sum =
                    in_rows[l * next_row] + in_planes[l * next_plane] + in_columns[l * next_column];
                const double w = masked >> l & 1 ? 0 : sum + a.lambda * weight(l) * r[l];
                delta += r[l] * w;
                surface[at[l]] = w;
                if (at[l] >= 0)
                    store_pair(a.surface + (mine + at[l]), {__double_as_longlong(w), epoch});
            });
        }
        own.put(gamma, delta);
        __syncthreads(); /* `own` and `surface` are complete */
        exchange<n, threads, 2>(a, it, link, surface, own, all, by);
    }
    each_layer([&](int l) {
        a.x[first + 3 * l * n2] = x[l];
        a.r[first + 3 * l * n2] = r[l];
    });
    coefficients::publish(a);
}

#endif
