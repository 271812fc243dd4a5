/*
 * nek_gather.cuh - v = A p, stored so that the points that elements share are apart from the
 * others, and Q Q^T on it.
 *
 * In element order a face i = 0 is n^2 single values, each in a sector of its own. Here v begins
 * with the surfaces of all elements and ends with their interiors:
 *
 *     surface of an element    6 faces of m^2 points (m = n - 2): i = 0, i = n-1, j = 0, ...
 *                              12 edges of m: four along k, four along i, four along j
 *                              8 corners
 *     interior                 m^3
 *
 * These are as many values as before, so v replaces w. A face looks the same from both
 * sides: Q Q^T adds two arrays of m^2 values, four of m at an edge and eight values at a corner,
 * and does not touch the interiors. No index per point is stored: a face is known by its first
 * position in either element.
 *
 * Points that other ranks also have: nek_exchange.cuh.
 *
 * Price: a kernel's threads write v in pieces.
 */
#ifndef NEK_GATHER_CUH
#define NEK_GATHER_CUH

#include "nek_line.cuh"
#include "nek_scalars.cuh"
#include "halo/direct.cuh"

template <int n> struct nek_split {
    static constexpr int m = n - 2, face = m * m, edges = 6 * face, corners = edges + 12 * m;
    static constexpr int surface = corners + 8, interior = m * m * m;

    /* Returns the position of a point in its element's surface; -1 for a point inside. */
    static __host__ __device__ __forceinline__ int at(int i, int j, int k)
    {
        const bool I = i == 0 || i == n - 1, J = j == 0 || j == n - 1, K = k == 0 || k == n - 1;
        const int a = i > 0, b = j > 0, c = k > 0;
        if (I && J && K)
            return corners + a + 2 * b + 4 * c;
        if (I && J)
            return edges + (a + 2 * b) * m + k - 1;
        if (J && K)
            return edges + (4 + b + 2 * c) * m + i - 1;
        if (K && I)
            return edges + (8 + c + 2 * a) * m + j - 1;
        if (I)
            return a * face + (k - 1) * m + j - 1;
        if (J)
            return (2 + b) * face + (k - 1) * m + i - 1;
        if (K)
            return (4 + c) * face + (j - 1) * m + i - 1;
        return -1;
    }
};

/* Column (i, j) of an element in v, with the weights c and the mask M of its points. */
template <int n, class T = double> struct nek_column {
    T *first, *rest, *last; /* points k = 0; 1, 2, ...; n - 1 */
    int step;
    bool ring; /* the column is on a side of the element */
    bool masked, masked_first, masked_last;
    T weight, end; /* of its inner points; of its ends relative to that */

    /* half: weight of a shared face's points: 1/2, or 1 if nothing is shared */
    __device__ __forceinline__ nek_column(T *v, int elements, int e, int i, int j, unsigned outside,
                                          T half)
    {
        using split = nek_split<n>;
        const bool I = i == 0 || i == n - 1, J = j == 0 || j == n - 1;
        T *surface = v + static_cast<size_t>(e) * split::surface;
        T *interior = v + static_cast<size_t>(elements) * split::surface +
                      static_cast<size_t>(e) * split::interior;
        ring = I || J;
        first = surface + split::at(i, j, 0);
        last = surface + split::at(i, j, n - 1);
        rest = ring ? surface + split::at(i, j, 1) : interior + (j - 1) * split::m + i - 1;
        step = !ring ? split::face : I && J ? 1 : split::m;
        masked = (i == 0 && (outside & 1)) || (i == n - 1 && (outside & 2)) ||
                 (j == 0 && (outside & 4)) || (j == n - 1 && (outside & 8));
        masked_first = masked || (outside & 16);
        masked_last = masked || (outside & 32);
        weight = (I ? half : 1) * (J ? half : 1);
        end = half;
    }
    __device__ __forceinline__ T *at(int k) const
    {
        return k == 0 ? first : k == n - 1 ? last : rest + (k - 1) * step;
    }
    __device__ __forceinline__ T c(int k) const
    {
        return k == 0 || k == n - 1 ? weight * end : weight;
    }
    __device__ __forceinline__ bool is_masked(int k) const
    {
        return k == 0 ? masked_first : k == n - 1 ? masked_last : masked;
    }
    __device__ __forceinline__ bool is_inside(int k) const
    {
        return !ring && k > 0 && k < n - 1;
    }
};

/* --- Q Q^T --- */

/* Where the copies of shared faces, edges and corners begin in v. The copies of an edge are in
 * pairs along one direction, to be added as (0 + 1) + (2 + 3); those of a corner are
 * [8][corners]. */
typedef struct {
    const int2 *face;
    const int4 *edge;
    const int *corner;
    int faces, edges, corners;
    /* Points that other ranks also have, if a halo has added them already and only the norm is
     * needed. */
    const int *apart;
    int apart_points;
} nek_gather_t;

/* Most blocks per multiprocessor of the kernels that add copies. NEK_DIRECT_BLOCKS is for blocks
 * that wait for another GPU: all of them must be resident at once. */
enum { NEK_GATHER_BLOCKS = 4, NEK_DIRECT_BLOCKS = 3 };

/* Replaces rt_halo_direct_t if the kernel does not exchange any points. */
typedef struct {
} nek_no_direct_t;

/* Faces are read by single values or by pairs of them. */
template <class T> using nek_pair = std::conditional_t<sizeof(T) == 4, float2, double2>;
template <int n, class T> using nek_unit = std::conditional_t<n % 2 == 0, nek_pair<T>, T>;
template <int n> constexpr int nek_unit_values = n % 2 == 0 ? 2 : 1;

template <class Unit> __device__ __forceinline__ Unit nek_sum(Unit a, Unit b)
{
    if constexpr (std::is_arithmetic_v<Unit>)
        return a + b;
    else
        return {a.x + b.x, a.y + b.y};
}
template <class Unit> __device__ __forceinline__ double nek_square(Unit a)
{
    if constexpr (std::is_arithmetic_v<Unit>)
        return static_cast<double>(a) * a;
    else
        return nek_square(a.x) + nek_square(a.y);
}

/* Returns the square of a point whose copies are partly on other ranks, times the share of one
 * copy. */
template <int n> __device__ __forceinline__ double nek_share(int position, double value)
{
    using split = nek_split<n>;
    const int at = position % split::surface;
    return (at < split::edges ? 0.5 : at < split::corners ? 0.25 : 0.125) * value * value;
}

/* How a thread finds, adds and stores copies. Pieces of faces, points of edges and corners are
 * numbered by z; a position of -1 means that there is none. */
template <int n, class T> struct nek_copies {
    using split = nek_split<n>;
    using unit = nek_unit<n, T>;
    static constexpr int a_unit = nek_unit_values<n>, a_face = split::face / a_unit;
    const nek_gather_t &g;
    T *const v;
    const int units, edge_points;
    double norm = 0; /* of what this thread has stored */

    __device__ __forceinline__ nek_copies(const nek_gather_t &of, T *in)
        : g(of), v(in), units(of.faces * a_face), edge_points(of.edges * split::m)
    {
    }

    /* Where they are. */
    __device__ __forceinline__ int2 face_of(int z) const
    {
        if constexpr (a_face == 0)
            return make_int2(-1, -1);
        else {
            if (z >= units)
                return make_int2(-1, -1);
            const int f = z / a_face, at = (z - f * a_face) * a_unit;
            const int2 start = __ldg(g.face + f);
            return make_int2(start.x + at, start.y + at);
        }
    }
    __device__ __forceinline__ int4 edge_of(int z) const
    {
        if (split::m == 0 || z >= edge_points)
            return make_int4(-1, -1, -1, -1);
        const int f = z / (split::m > 0 ? split::m : 1), at = z - f * split::m;
        const int4 start = __ldg(g.edge + f);
        return make_int4(start.x + at, start.y + at, start.z + at, start.w + at);
    }
    __device__ __forceinline__ void corner_of(int z, int (&at)[8]) const
    {
#pragma unroll
        for (int q = 0; q < 8; q++)
            at[q] = __ldg(g.corner + q * g.corners + z);
    }

    /* Their sums. */
    __device__ __forceinline__ T value(int at) const
    {
        return __ldcg(v + at);
    }
    __device__ __forceinline__ unit piece(int at) const
    {
        return __ldcg(reinterpret_cast<const unit *>(v + at));
    }
    template <int count>
    __device__ __forceinline__ void faces(const int2 (&at)[count], unit (&sum)[count]) const
    {
#pragma unroll
        for (int c = 0; c < count; c++)
            if (at[c].x >= 0)
                sum[c] = nek_sum(piece(at[c].x), piece(at[c].y));
    }
    __device__ __forceinline__ T edge(const int4 &at) const
    {
        return (value(at.x) + value(at.y)) + (value(at.z) + value(at.w));
    }
    __device__ __forceinline__ T corner(const int (&at)[8]) const
    {
        T of[8];
#pragma unroll
        for (int q = 0; q < 8; q++)
            of[q] = value(at[q]);
        return ((of[0] + of[1]) + (of[2] + of[3])) + ((of[4] + of[5]) + (of[6] + of[7]));
    }

    /* Store the sum in all copies. */
    template <int count>
    __device__ __forceinline__ void put_faces(const int2 (&at)[count], const unit (&sum)[count])
    {
#pragma unroll
        for (int c = 0; c < count; c++)
            if (at[c].x >= 0) {
                *reinterpret_cast<unit *>(v + at[c].x) = sum[c];
                *reinterpret_cast<unit *>(v + at[c].y) = sum[c];
                norm += nek_square(sum[c]);
            }
    }
    __device__ __forceinline__ void put_edge(const int4 &at, T sum)
    {
        v[at.x] = v[at.y] = v[at.z] = v[at.w] = sum;
        norm += nek_square(sum);
    }
    __device__ __forceinline__ void put_corner(const int (&at)[8], T sum)
    {
#pragma unroll
        for (int q = 0; q < 8; q++)
            v[at[q]] = sum;
        norm += nek_square(sum);
    }
};

/*
 * Computes v = Q Q^T v and the scalars that follow from the sums of the element kernel; if
 * Scalars::norm is set, the last of them gets |v|^2 of the shared points, each counted once. What
 * is known before v (where the copies are) is read while the element kernel still runs. After that
 * a thread issues all its loads before its first addition. A thread's first FACES pieces of faces,
 * its edge point and its corner are in registers; it does what a larger mesh has beyond those
 * afterwards.
 *
 * With Direct = rt_halo_direct_t, points that other ranks also have are sent to them before
 * anything else is added, and their parts are waited for when all else is done.
 */
template <int n, class Scalars, class Direct, class T>
__device__ __forceinline__ void nek_gather_all(const nek_gather_t &g,
                                               [[maybe_unused]] const Direct &d,
                                               const nek_scalars_t &s, T *v, int it)
{
    constexpr bool direct = std::is_same_v<Direct, rt_halo_direct_t>;
    constexpr int FACES = 4;
    const int step = gridDim.x * NEK_ADDING_THREADS,
              id = blockIdx.x * NEK_ADDING_THREADS + threadIdx.x;
    nek_copies<n, T> copies(g, v);
    double sums[Scalars::count] = {};

    int2 at[FACES];
    nek_unit<n, T> face_sum[FACES];
#pragma unroll
    for (int c = 0; c < FACES; c++)
        at[c] = copies.face_of(id + c * step);
    /* the last threads have fewer faces, so edges go to them first; corners begin in the middle */
    const int z4 = step - 1 - id, z8 = id < step / 2 ? id + step - step / 2 : id - step / 2;
    const int4 at4 = copies.edge_of(z4);
    int at8[8];
    if (z8 < g.corners)
        copies.corner_of(z8, at8);
    const int at1 = id < g.apart_points ? __ldg(g.apart + id) : -1;
    [[maybe_unused]] rt_halo_group_t group = {};
    if constexpr (direct)
        if (id < d.groups)
            group = rt_halo_group(d, id);

    rt_wait_for_previous();
    [[maybe_unused]] unsigned epoch = 0;
    [[maybe_unused]] double own = 0;
    if constexpr (direct) {
        epoch = rt_halo_epoch(d);
        if (id < d.groups)
            own = rt_halo_send(d, group, v, epoch);
        for (int z = id + step; z < d.groups; z += step)
            rt_halo_send(d, rt_halo_group(d, z), v, epoch);
    }
    T edge_sum = 0, corner_sum = 0;
    copies.faces(at, face_sum);
    if (at4.x >= 0)
        edge_sum = copies.edge(at4);
    if (z8 < g.corners)
        corner_sum = copies.corner(at8);
    if (at1 >= 0)
        copies.norm += nek_share<n>(at1, copies.value(at1));
    nek_take_sums(s, sums);
    copies.put_faces(at, face_sum);
    if (at4.x >= 0)
        copies.put_edge(at4, edge_sum);
    if (z8 < g.corners)
        copies.put_corner(at8, corner_sum);

    for (int z = id + FACES * step; z < copies.units; z += FACES * step) {
#pragma unroll
        for (int c = 0; c < FACES; c++)
            at[c] = copies.face_of(z + c * step);
        copies.faces(at, face_sum);
        copies.put_faces(at, face_sum);
    }
    for (int z = z4 + step; z < copies.edge_points; z += step) {
        const int4 more = copies.edge_of(z);
        copies.put_edge(more, copies.edge(more));
    }
    for (int z = z8 + step; z < g.corners; z += step) {
        copies.corner_of(z, at8);
        copies.put_corner(at8, copies.corner(at8));
    }
    for (int z = id + step; z < g.apart_points; z += step) {
        const int more = __ldg(g.apart + z);
        copies.norm += nek_share<n>(more, copies.value(more));
    }
    if constexpr (direct) {
        auto take = [&](const rt_halo_group_t &of, double part) {
            const double sum = rt_halo_take(d, of, v, epoch, part);
            copies.norm += (of.copies_end - of.copy) * nek_share<n>(of.first_copy, sum);
        };
        if (id < d.groups)
            take(group, own);
        for (int z = id + step; z < d.groups; z += step) {
            const rt_halo_group_t more = rt_halo_group(d, z);
            take(more, rt_halo_own(d, more, v));
        }
        rt_halo_end_epoch(d, epoch);
    }
    if constexpr (Scalars::norm)
        sums[Scalars::count - 1] += copies.norm;
    rt_let_next_start();
    nek_finish_sums<Scalars>(s, it, sums);
}

template <int n, class Scalars, class T>
__global__ void __launch_bounds__(NEK_ADDING_THREADS)
    nek_gather_kernel(const nek_gather_t g, const nek_scalars_t s, T *v, int it)
{
    nek_gather_all<n, Scalars>(g, nek_no_direct_t{}, s, v, it);
}

template <int n, class Scalars>
__global__ void __launch_bounds__(NEK_ADDING_THREADS, NEK_DIRECT_BLOCKS)
    nek_gather_direct_kernel(const nek_gather_t g, const __grid_constant__ rt_halo_direct_t d,
                             const nek_scalars_t s, double *v, int it)
{
    nek_gather_all<n, Scalars>(g, d, s, v, it);
}

#endif
