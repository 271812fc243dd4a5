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
 * These are as many values as before, so v takes the place of w. A face looks the same from both
 * sides: Q Q^T adds two arrays of m^2 values, four of m at an edge and eight values at a corner,
 * and does not touch the interiors. No index per point is stored: a face is known by its first
 * position in either element.
 *
 * Points that other ranks also have are rt_halo's work, in one of three ways:
 *
 *     peer     GPUs write into each other's memory. The kernel that does Q Q^T sends its rank's
 *              parts before it adds faces and edges, and takes the parts of the others after that:
 *              no more kernels than on one GPU.
 *     nccl     Messages on the stream. Elements that touch such points are computed on the second
 *              stream, and their messages are under way while the first stream has the others.
 *     others   Messages of the host, which waits for what is packed. Elements that touch such
 *              points come first, and the messages are under way while the others are computed.
 *
 * Price: a kernel's threads write v in pieces, and there are three ways to maintain.
 */
#ifndef NEK_GATHER_CUH
#define NEK_GATHER_CUH

#include <vector>
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
template <int n> struct nek_column {
    double *first, *rest, *last; /* points k = 0; 1, 2, ...; n - 1 */
    int step;
    bool ring; /* the column is on a side of the element */
    bool masked, masked_first, masked_last;
    double weight, end; /* of its inner points; of its ends relative to that */

    /* half: weight of a shared face's points: 1/2, or 1 if nothing is shared */
    __device__ __forceinline__ nek_column(double *v, int elements, int e, int i, int j,
                                          unsigned outside, double half)
    {
        using split = nek_split<n>;
        const bool I = i == 0 || i == n - 1, J = j == 0 || j == n - 1;
        double *surface = v + static_cast<size_t>(e) * split::surface;
        double *interior = v + static_cast<size_t>(elements) * split::surface +
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
    __device__ __forceinline__ double *at(int k) const
    {
        return k == 0 ? first : k == n - 1 ? last : rest + (k - 1) * step;
    }
    __device__ __forceinline__ double c(int k) const
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
template <int n> using nek_unit = std::conditional_t<n % 2 == 0, double2, double>;
template <int n> constexpr int nek_unit_values = n % 2 == 0 ? 2 : 1;

__device__ __forceinline__ double nek_sum(double a, double b)
{
    return a + b;
}
__device__ __forceinline__ double2 nek_sum(double2 a, double2 b)
{
    return make_double2(a.x + b.x, a.y + b.y);
}
__device__ __forceinline__ double nek_square(double a)
{
    return a * a;
}
__device__ __forceinline__ double nek_square(double2 a)
{
    return a.x * a.x + a.y * a.y;
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
template <int n> struct nek_copies {
    using split = nek_split<n>;
    using unit = nek_unit<n>;
    static constexpr int a_unit = nek_unit_values<n>, a_face = split::face / a_unit;
    const nek_gather_t &g;
    double *const v;
    const int units, edge_points;
    double norm = 0; /* of what this thread has stored */

    __device__ __forceinline__ nek_copies(const nek_gather_t &of, double *in)
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
    __device__ __forceinline__ double value(int at) const
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
    __device__ __forceinline__ double edge(const int4 &at) const
    {
        return (value(at.x) + value(at.y)) + (value(at.z) + value(at.w));
    }
    __device__ __forceinline__ double corner(const int (&at)[8]) const
    {
        double of[8];
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
    __device__ __forceinline__ void put_edge(const int4 &at, double sum)
    {
        v[at.x] = v[at.y] = v[at.z] = v[at.w] = sum;
        norm += sum * sum;
    }
    __device__ __forceinline__ void put_corner(const int (&at)[8], double sum)
    {
#pragma unroll
        for (int q = 0; q < 8; q++)
            v[at[q]] = sum;
        norm += sum * sum;
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
template <int n, class Scalars, class Direct>
__device__ __forceinline__ void nek_gather_all(const nek_gather_t &g,
                                               [[maybe_unused]] const Direct &d,
                                               const nek_scalars_t &s, double *v, int it)
{
    constexpr bool direct = std::is_same_v<Direct, rt_halo_direct_t>;
    constexpr int FACES = 4;
    const int step = gridDim.x * NEK_ADDING_THREADS,
              id = blockIdx.x * NEK_ADDING_THREADS + threadIdx.x;
    nek_copies<n> copies(g, v);
    double sums[Scalars::count] = {};

    int2 at[FACES];
    nek_unit<n> face_sum[FACES];
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
    [[maybe_unused]] unsigned turn = 0;
    [[maybe_unused]] double own = 0;
    if constexpr (direct) {
        turn = rt_halo_turn(d);
        if (id < d.groups)
            own = rt_halo_send(d, group, v, turn);
        for (int z = id + step; z < d.groups; z += step)
            rt_halo_send(d, rt_halo_group(d, z), v, turn);
    }
    double edge_sum = 0, corner_sum = 0;
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
            const double sum = rt_halo_take(d, of, v, turn, part);
            copies.norm += (of.copies_end - of.copy) * nek_share<n>(of.first_copy, sum);
        };
        if (id < d.groups)
            take(group, own);
        for (int z = id + step; z < d.groups; z += step) {
            const rt_halo_group_t more = rt_halo_group(d, z);
            take(more, rt_halo_own(d, more, v));
        }
        rt_halo_turn_over(d, turn);
    }
    if constexpr (Scalars::norm)
        sums[Scalars::count - 1] += copies.norm;
    rt_let_next_start();
    nek_finish_sums<Scalars>(s, it, sums);
}

template <int n, class Scalars>
__global__ void __launch_bounds__(NEK_ADDING_THREADS)
    nek_gather_kernel(const nek_gather_t g, const nek_scalars_t s, double *v, int it)
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

/* --- what the rungs keep of it --- */

typedef struct {
    nek_gather_t gather;
    const nek_outside_t *outside; /* [elements] on the device */
    rt_halo_t *halo;              /* several ranks: over the points of v that they share; else
                                   * NULL */
    bool on_stream;               /* its messages are on the stream */
    bool is_direct;               /* nek_gather exchanges itself, by `direct` */
    rt_halo_direct_t direct;
    const int *order;        /* [elements] on the device: first the elements of `outer`; may be
                              * NULL */
    nek_part_t outer, inner; /* elements that touch other ranks, and the others; one rank: all are
                              * inner */
    unsigned element_blocks; /* of a kernel over outer and inner */
    unsigned blocks;         /* of nek_gather_kernel */
} nek_exchange_t;

/* Finds the position of local element e in the box of this rank; returns which of its sides are on
 * the boundary of the whole box. */
static inline nek_outside_t nek_place_element(const nek_config_t *cfg, int64_t e, int64_t at[3])
{
    at[0] = e % cfg->local[0];
    at[1] = e / cfg->local[0] % cfg->local[1];
    at[2] = e / (cfg->local[0] * cfg->local[1]);
    unsigned outside = 0;
    for (int d = 0; d < 3; d++) {
        const int64_t whole = cfg->first[d] + at[d];
        outside |= (whole == 0 ? 1u : 0u) << 2 * d;
        outside |= (whole == cfg->elements[d] - 1 ? 2u : 0u) << 2 * d;
    }
    return static_cast<nek_outside_t>(outside);
}

/* Returns the sides next to which another rank continues, as nek_outside_t. */
static inline unsigned nek_beside(const nek_config_t *cfg, const int64_t at[3])
{
    unsigned beside = 0;
    for (int d = 0; d < 3; d++) {
        const bool low = at[d] == 0 && cfg->first[d] > 0;
        const bool high =
            at[d] == cfg->local[d] - 1 && cfg->first[d] + cfg->local[d] < cfg->elements[d];
        beside |= (low ? 1u : 0u) << 2 * d | (high ? 2u : 0u) << 2 * d;
    }
    return beside;
}

/* Fills the lists of what is shared within this rank. A face, edge or corner is listed at the
 * element that has it on its high sides. */
template <int n>
void nek_list_shared(const nek_config_t *cfg, std::vector<int2> *faces, std::vector<int4> *edges,
                     std::vector<int> *corners)
{
    using split = nek_split<n>;
    const int64_t stride[3] = {1, cfg->local[0], cfg->local[0] * cfg->local[1]};
    for (int64_t e = 0; e < cfg->local_elements; e++) {
        int64_t at[3];
        nek_place_element(cfg, e, at);
        auto start = [&](int64_t of, int position) {
            return static_cast<int>(of * split::surface + position);
        };
        auto has_next = [&](int d) { return at[d] + 1 < cfg->local[d]; };
        for (int d = 0; d < 3; d++)
            if (has_next(d) && split::face > 0)
                faces->push_back(make_int2(start(e, (2 * d + 1) * split::face),
                                           start(e + stride[d], 2 * d * split::face)));
        /* edges along k, i, j: four each, numbered by the sides of the next two directions */
        for (int g = 0; g < 3; g++) {
            const int d = (g + 2) % 3, d1 = (d + 1) % 3, d2 = (d + 2) % 3;
            if (!has_next(d1) || !has_next(d2) || split::m == 0)
                continue;
            int of[4];
            for (int q = 0; q < 4; q++)
                of[q] = start(e + (q & 1) * stride[d1] + (q >> 1) * stride[d2],
                              split::edges + (4 * g + 3 - q) * split::m);
            edges->push_back(make_int4(of[0], of[1], of[2], of[3]));
        }
        if (has_next(0) && has_next(1) && has_next(2))
            for (int q = 0; q < 8; q++)
                corners->push_back(
                    start(e + (q & 1) * stride[0] + (q >> 1 & 1) * stride[1] + (q >> 2) * stride[2],
                          split::corners + 7 - q));
    }
}

/* What this rank shares with others: elements, and the positions and global ids of those points. */
typedef struct {
    std::vector<int> elements; /* that have such points */
    std::vector<int> position; /* in v */
    std::vector<int64_t> gid;
} nek_apart_t;

template <int n> nek_apart_t nek_list_apart(const nek_solver_t *s)
{
    const nek_config_t *cfg = s->problem->config;
    nek_apart_t apart;
    for (int64_t e = 0; e < cfg->local_elements; e++) {
        int64_t at[3];
        nek_place_element(cfg, e, at);
        const unsigned beside = nek_beside(cfg, at);
        const double *c = s->problem->c + e * n * n * n;
        if (!beside)
            continue;
        apart.elements.push_back(static_cast<int>(e));
        for (int k = 0; k < n; k++)
            for (int j = 0; j < n; j++)
                for (int i = 0; i < n; i++, c++) {
                    const int of[3] = {i, j, k};
                    unsigned on = 0;
                    for (int d = 0; d < 3; d++)
                        on |= (of[d] == 0 ? 1u : of[d] == n - 1 ? 2u : 0u) << 2 * d;
                    if (!(on & beside) || *c == 0) /* points on the boundary are 0 on all ranks */
                        continue;
                    apart.position.push_back(
                        static_cast<int>(e * nek_split<n>::surface + nek_split<n>::at(i, j, k)));
                    apart.gid.push_back(nek_global_index(cfg, e, i, j, k));
                }
    }
    return apart;
}

/* Returns a halo over those points. */
static inline rt_halo_t *nek_split_halo(const nek_solver_t *s, const nek_apart_t &apart)
{
    const std::vector<int64_t> index(apart.position.begin(), apart.position.end());
    rt_halo_desc_t desc = {};
    desc.n = static_cast<int64_t>(index.size());
    desc.index = index.data();
    desc.gid = apart.gid.data();
    desc.max_components = 1;
    desc.kind = s->rung->kind;
    desc.space = s->space;
    desc.transport = s->problem->run->opt.transport;
    return rt_halo_new(&desc);
}

/* Returns a copy of the list on the device. */
template <class T> const T *nek_to_device(const std::vector<T> &list)
{
    return static_cast<const T *>(rt_clone(list.data(), list.size(), sizeof(T), RT_DEVICE));
}

/* Divides the elements into outer and inner ones. If the inner ones are consecutive anyway (ranks
 * that are layers in z), they need no list. For a bulk copy the elements of a block must be
 * consecutive, so if a block has several, all elements are outer. */
static inline void nek_divide(nek_exchange_t *x, int elements, const std::vector<int> &outer,
                              const nek_launch_t &launch)
{
    const int n_outer = static_cast<int>(outer.size());
    x->outer = {nullptr, 0, 0, 0, 0};
    x->inner = {nullptr, 0, elements, 0, 0};
    if (n_outer > 0 && launch.source == NEK_BULK && launch.per_block > 1) {
        x->outer.end = x->inner.first = elements;
    } else if (n_outer > 0) {
        std::vector<int> order(outer);
        for (int e = 0, next = 0; e < elements; e++)
            if (next < n_outer && outer[next] == e)
                next++;
            else
                order.push_back(e);
        const int first = n_outer < elements ? order[n_outer] : 0, last = order.back();
        x->order = nek_to_device(order);
        x->outer = {x->order, 0, n_outer, 0, 0};
        x->inner = {x->order, n_outer, elements, 0, 0};
        if (last - first + 1 == elements - n_outer)
            x->inner = {nullptr, first, last + 1, 0, 0};
    }
    for (nek_part_t *part : {&x->outer, &x->inner}) {
        part->blocks = rt_blocks(static_cast<size_t>(part->end - part->first), launch.per_block);
        if (launch.most > 0 && part->blocks > launch.most)
            part->blocks = launch.most;
    }
    x->inner.first_block = static_cast<int>(x->outer.blocks);
    x->element_blocks = x->outer.blocks + x->inner.blocks;
}

/* Makes the exchange for element kernels that are launched like that. */
template <int n> nek_exchange_t nek_exchange_new(const nek_solver_t *s, const nek_launch_t &launch)
{
    const nek_config_t *cfg = s->problem->config;
    const auto elements = static_cast<size_t>(cfg->local_elements);
    std::vector<nek_outside_t> outside(elements);
    std::vector<int2> faces;
    std::vector<int4> edges;
    std::vector<int> corners, planes;
    nek_apart_t apart;
    nek_exchange_t x = {};
    for (size_t e = 0; e < elements; e++) {
        int64_t at[3];
        outside[e] = nek_place_element(cfg, static_cast<int64_t>(e), at);
    }
    if (cfg->communication)
        nek_list_shared<n>(cfg, &faces, &edges, &corners);
    /* two pieces of a face per thread */
    const size_t work = faces.size() * nek_split<n>::face / nek_unit_values<n> / 2;
    const unsigned needed = work > 0 ? rt_blocks(work, NEK_ADDING_THREADS) : 1;
    const int multiprocessors = rt_device_gpu()->multiprocessors;
    x.blocks = nek_adding_blocks(NEK_GATHER_BLOCKS * multiprocessors, needed);
    if (cfg->communication && rt_comm_size() > 1) {
        const unsigned blocks = nek_adding_blocks(NEK_DIRECT_BLOCKS * multiprocessors, needed);
        apart = nek_list_apart<n>(s);
        x.halo = nek_split_halo(s, apart);
        x.on_stream = rt_halo_on_stream(x.halo);
        x.is_direct = rt_halo_direct(x.halo, blocks, &x.direct);
        if (x.is_direct) {
            x.blocks = blocks;
            apart = {}; /* all elements are treated alike, so no list is needed */
        }
    }
    nek_divide(&x, static_cast<int>(elements), apart.elements, launch);
    for (size_t q = 0; q < 8; q++)
        for (size_t z = 0; z < corners.size() / 8; z++)
            planes.push_back(corners[8 * z + q]);
    x.outside = nek_to_device(outside);
    x.gather = {nek_to_device(faces),           nek_to_device(edges),
                nek_to_device(planes),          static_cast<int>(faces.size()),
                static_cast<int>(edges.size()), static_cast<int>(corners.size() / 8),
                nek_to_device(apart.position),  static_cast<int>(apart.position.size())};
    return x;
}

static inline void nek_exchange_destroy(nek_exchange_t *x)
{
    RT_FREE(x->outside, RT_DEVICE);
    RT_FREE(x->order, RT_DEVICE);
    RT_FREE(x->gather.apart, RT_DEVICE);
    RT_FREE(x->gather.face, RT_DEVICE);
    RT_FREE(x->gather.edge, RT_DEVICE);
    RT_FREE(x->gather.corner, RT_DEVICE);
    if (x->halo)
        rt_halo_destroy(x->halo);
}

/* Adds the memory of nek_exchange_new. */
static inline void nek_exchange_memory(const nek_config_t *cfg, double bytes[RT_SPACES])
{
    const int64_t *l = cfg->local;
    double inner[3];
    for (int d = 0; d < 3; d++)
        inner[d] = static_cast<double>(l[d] - 1);
    bytes[RT_DEVICE] += static_cast<double>(cfg->local_elements) * sizeof(nek_outside_t);
    if (!cfg->communication)
        return;
    if (rt_comm_size() > 1) {
        int64_t on_rank, with_ranks;
        nek_shared_points(cfg, &on_rank, &with_ranks);
        bytes[RT_DEVICE] += static_cast<double>(rt_halo_predict(0, with_ranks, 1, RT_DEVICE));
        bytes[RT_PINNED] += static_cast<double>(rt_halo_predict(0, with_ranks, 1, RT_PINNED));
        bytes[RT_HOST] += 4.0 * static_cast<double>(with_ranks);
        bytes[RT_DEVICE] += sizeof(int) * static_cast<double>(cfg->local_elements + with_ranks);
    }
    for (int d = 0; d < 3; d++) {
        const int d1 = (d + 1) % 3, d2 = (d + 2) % 3;
        const double across = static_cast<double>(l[d1] * l[d2]);
        if (cfg->n > 2)
            bytes[RT_DEVICE] += inner[d] * across * sizeof(int2) +
                                inner[d1] * inner[d2] * static_cast<double>(l[d]) * sizeof(int4);
    }
    bytes[RT_DEVICE] += inner[0] * inner[1] * inner[2] * 8 * sizeof(int);
}

/* Runs the element kernel on all elements; launch(chained, part) starts it on some of them. Also
 * adds up what other ranks have of v, unless nek_gather does that. On the stream this costs what
 * the second stream's small kernels take from the inner elements, half a wave more of blocks, and
 * the early start of nek_gather_kernel, which two streams do not allow: on two H200s with 2048
 * elements each, 20 us per iteration where an exchange alone takes 8. An exchange whose blocks find
 * no room while the inner elements run (nccl) comes after them. */
template <class Launch> void nek_elements(const nek_exchange_t &x, double *v, Launch launch)
{
    rt_field_t field = rt_field_f64(v);
    auto run = [&](bool chained, const nek_part_t &part) {
        if (part.end > part.first)
            launch(chained, part);
    };
    if (!x.halo || x.is_direct) {
        run(true, x.inner);
    } else if (x.on_stream) {
        rt_side_begin();
        run(false, x.outer);
        rt_halo_do(x.halo, RT_HALO_SUM, &field);
        rt_side_end();
        run(true, x.inner);
        rt_side_join();
    } else {
        run(true, x.outer);
        rt_halo_begin(x.halo, RT_HALO_SUM, &field);
        run(true, x.inner);
        rt_halo_end(x.halo);
    }
}

/* Called after nek_elements: computes the rest of v = Q Q^T v, the norm, and what Scalars makes of
 * the sums. */
template <int n, class Scalars>
void nek_gather(const nek_exchange_t &x, const nek_scalars_t &s, double *v, int it)
{
    const bool joined = x.halo && x.on_stream;
    if (x.is_direct)
        rt_launch_chained(nek_gather_direct_kernel<n, Scalars>, x.blocks, NEK_ADDING_THREADS, 0,
                          x.gather, x.direct, s, v, it);
    else
        rt_launch(!joined, nek_gather_kernel<n, Scalars>, x.blocks, NEK_ADDING_THREADS, 0, x.gather,
                  s, v, it);
    nek_add_ranks<Scalars>(s, it);
}

/* Adds the memory of a rung that has nothing of its own but the exchange and the scalars. */
static inline void nek_split_memory(const nek_config_t *cfg, double bytes[RT_SPACES])
{
    nek_exchange_memory(cfg, bytes);
    nek_scalars_memory(cfg, cfg->local_elements / nek_elements_a_block(cfg->n) + 2, bytes);
}

#endif
