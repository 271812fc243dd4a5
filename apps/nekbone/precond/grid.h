/*
 * grid.h - where points of elements and boxes are on a level's grid (precond.h), and the sum of boxes
 * at a point: one text for CPU, CUDA and Kokkos.
 */
#ifndef NEK_GRID_H
#define NEK_GRID_H

#include "precond.h"

#if defined(__CUDACC__) || defined(__HIPCC__)
#define NEK_ANYWHERE static __host__ __device__ __forceinline__
#else
#define NEK_ANYWHERE static inline
#endif
/* On a GPU an array stays in registers only if every index into it is a constant. */
#if defined(__CUDA_ARCH__) || defined(__HIP_DEVICE_COMPILE__)
#define NEK_UNROLL       _Pragma("unroll")
#define NEK_UNROLL_SHORT _Pragma("unroll 4")
#else
#define NEK_UNROLL
#define NEK_UNROLL_SHORT
#endif

/* --- the grid ---
 * A rank numbers its points in 31 bits, so positions are taken apart as int: half the work on a
 * GPU. */

/* Returns the grid's index of the first point of a box of local element e. */
NEK_ANYWHERE int64_t nek_grid_box(const nek_grid_t *g, int64_t e, nek_box_t kind)
{
    const int ring = kind == NEK_OWN_BOX;
    const int E = (int)e, x = E % g->local[0] + g->origin[0],
              y = E / g->local[0] % g->local[1] + g->origin[1],
              z = E / (g->local[0] * g->local[1]) + g->origin[2];
    return x * g->degree + ring +
           (int64_t)g->points[0] *
               (y * g->degree + ring + (int64_t)g->points[1] * (z * g->degree + ring));
}

/* Returns where point q of a box of size^3 is, counted from its first point. */
NEK_ANYWHERE int64_t nek_grid_in_box(const nek_grid_t *g, int size, int q)
{
    return q % size +
           (int64_t)g->points[0] * (q / size % size + (int64_t)g->points[1] * (q / (size * size)));
}

NEK_ANYWHERE int nek_is_inside(const nek_grid_t *g, int d, int in)
{
    return !(g->low[d] && in < 2) && !(g->high[d] && in > g->points[d] - 3);
}

/* Returns whether point q of the grid is inside the box, off its boundary. */
NEK_ANYWHERE int nek_grid_is_inside(const nek_grid_t *g, int64_t q)
{
    const int at = (int)q;
    return nek_is_inside(g, 0, at % g->points[0]) &&
           nek_is_inside(g, 1, at / g->points[0] % g->points[1]) &&
           nek_is_inside(g, 2, at / (g->points[0] * g->points[1]));
}

/* Returns an element's share of coordinate i: half of its ends. On the boundary all is 0. */
NEK_ANYWHERE float nek_share(int n, int i)
{
    return i == 0 || i == n - 1 ? 0.5f : 1.0f;
}

/* --- between CG's vectors and the grid of level 0 --- */

/* Returns where stored point q of the mesh is on the grid. */
NEK_ANYWHERE int64_t nek_grid_at_point(const nek_grid_t *g, int64_t q)
{
    const int n3 = g->n * g->n * g->n, at = (int)q;
    return nek_grid_box(g, at / n3, NEK_OWN_BOX) + nek_grid_in_box(g, g->n, at % n3);
}

/* Returns a stored point at point q of the grid; -1 in the ring. */
NEK_ANYWHERE int64_t nek_point_at_grid(const nek_grid_t *g, int64_t q)
{
    const int point = (int)q, in[3] = {point % g->points[0], point / g->points[0] % g->points[1],
                                       point / (g->points[0] * g->points[1])};
    const int N = g->degree;
    int64_t e = 0, at = 0;
    for (int d = 2; d >= 0; d--) {
        const int here = in[d] - 1 - g->origin[d] * N; /* among this rank's points */
        int element = here / N;
        if (here < 0 || here > g->local[d] * N)
            return -1;
        element = element == g->local[d] ? element - 1 : element;
        e = e * g->local[d] + element;
        at = at * g->n + here - element * N;
    }
    return e * g->n * g->n * g->n + at;
}

/* Finds this rank's elements whose boxes have coordinate `in` of the grid along d, where 0 <= in -
 * ring - e N < size: from .. to. */
NEK_ANYWHERE void nek_elements_at(const nek_grid_t *g, int d, int size, int ring, int in, int *from,
                                  int *to)
{
    const int at = in - ring, N = g->degree;
    *from = (at - size + N) / N - g->origin[d]; /* at - size + 1 rounded up; at + N >= size */
    *to = (at < 0 ? -1 : at / N) - g->origin[d];
    *from = at - size + 1 <= 0 || *from < 0 ? 0 : *from;
    *to = *to >= g->local[d] ? g->local[d] - 1 : *to;
}

#ifdef __cplusplus

/* --- sums of boxes, for one point --- */

/* Returns the sum of the boxes at point q of the grid, 0 on the boundary. Elements in fixed order:
 * the same input gives the same bits. */
template <class Value>
NEK_ANYWHERE Value nek_collect(const nek_grid_t *g, nek_box_t kind, const Value *boxes, int64_t q)
{
    const int ring = kind == NEK_OWN_BOX, N = g->degree, size = kind == NEK_PATCH ? g->patch : g->n;
    const int point = static_cast<int>(q),
              in[3] = {point % g->points[0], point / g->points[0] % g->points[1],
                       point / (g->points[0] * g->points[1])};
    int from[3], to[3];
    Value sum = 0;
    for (int d = 0; d < 3; d++)
        if (!nek_is_inside(g, d, in[d]))
            return 0;
    for (int d = 0; d < 3; d++)
        nek_elements_at(g, d, size, ring, in[d], &from[d], &to[d]);
    for (int z = from[2]; z <= to[2]; z++)
        for (int y = from[1]; y <= to[1]; y++)
            for (int x = from[0]; x <= to[0]; x++) {
                const int64_t e = x + static_cast<int64_t>(g->local[0]) *
                                          (y + static_cast<int64_t>(g->local[1]) * z);
                const int i = in[0] - ring - (x + g->origin[0]) * N,
                          j = in[1] - ring - (y + g->origin[1]) * N,
                          k = in[2] - ring - (z + g->origin[2]) * N;
                sum += boxes[((e * size + k) * size + j) * size + i];
            }
    return sum;
}

#endif
#endif
