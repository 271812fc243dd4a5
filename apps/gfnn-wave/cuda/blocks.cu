/*
 * blocks.cu - the loops with D, the 3x3 blocks of the diagonal, on the GPU.
 *
 * The blocks are computed on the fly from the eight ids around a node: a byte per node, where six
 * stored values would be 24; gfnn_entries_t has two numbers per id. Neighbours in x share four of their elements. So a lane, which has two nodes, sums up the
 * elements at its own two places in x, and the lane before hands it the third sum that it needs:
 * four ids per node are looked up, not eight.
 */
#include "config.h"
#include "rows.cuh"

/* With D, of which a lane keeps two, and a dozen pairs of values in flight: 64 registers. */
enum { RESIDENT_BLOCKS = 4 };

/* A node's block: the three diagonal entries are equal. */
struct block_t {
    float diagonal, xy, yz, zx;
};

/* Returns the sum over the four elements at one place in x around a row of nodes. Entries have the
 * signs of nodes at the upper ends in x; at the lower ends xy and zx have the opposite signs. */
static __device__ __forceinline__ block_t column_of(const gfnn_entries_t *entries,
                                                    const unsigned id[4])
{
    gfnn_entries_t here[4];
#pragma unroll
    for (int e = 0; e < 4; e++) /* e & 1: before the row in y; e & 2: in z */
        here[e] = entries[id[e]];
    block_t column;
    column.diagonal = (here[0].diagonal + here[1].diagonal) + (here[2].diagonal + here[3].diagonal);
    column.xy = (here[1].cross - here[0].cross) + (here[3].cross - here[2].cross);
    column.yz = (here[0].cross - here[1].cross) + (here[3].cross - here[2].cross);
    column.zx = (here[2].cross - here[0].cross) + (here[3].cross - here[1].cross);
    return column;
}

/* Returns the block of the node between two of them. */
static __device__ __forceinline__ block_t between(const block_t &lower, const block_t &upper)
{
    return {lower.diagonal + upper.diagonal, lower.xy - upper.xy, lower.yz + upper.yz,
            lower.zx - upper.zx};
}

/* Returns what the lane before has; lane 0 gets what lane 31 has. */
static __device__ __forceinline__ block_t rotated(const block_t &mine)
{
    const int from = (threadIdx.x + 31) % 32;
    return {__shfl_sync(0xffffffffu, mine.diagonal, from), __shfl_sync(0xffffffffu, mine.xy, from),
            __shfl_sync(0xffffffffu, mine.yz, from), __shfl_sync(0xffffffffu, mine.zx, from)};
}

/* z = scale D^-1 r, by the matrix of cofactors over the determinant. */
static __device__ __forceinline__ void solve_block(const block_t &D, float scale, const float r[3],
                                                   float z[3])
{
    float of[GFNN_BLOCK];
    const float over = __fdividef(scale, gfnn_cofactors(D.diagonal, D.xy, D.yz, D.zx, of));
    z[0] = over * (of[0] * r[0] + of[3] * r[1] + of[5] * r[2]);
    z[1] = over * (of[3] * r[0] + of[1] * r[1] + of[4] * r[2]);
    z[2] = over * (of[5] * r[0] + of[4] * r[1] + of[2] * r[2]);
}

/* Access two neighbours in x. Own rows begin at multiples of 4 values, and the second of a pair may
 * be a ghost: it can be read, but must not be written. */
static __device__ __forceinline__ float2 pair_at(const float *x)
{
    return *reinterpret_cast<const float2 *>(x);
}
static __device__ __forceinline__ double2 pair_at(const double *x)
{
    return *reinterpret_cast<const double2 *>(x);
}
template <class T, class Pair>
static __device__ __forceinline__ void store_pair(T *x, bool both, const T value[2])
{
    if (both)
        *reinterpret_cast<Pair *>(x) = {value[0], value[1]};
    else
        *x = value[0];
}

/* For every pair of own nodes, with a warp per row, calls job.load(place on `fine`, place on
 * `wide`) before anything is stored; job.node(0 or 1, block, is it own?) for both;
 * and job.store(places, are both own?). */
template <class Job>
static __device__ __forceinline__ void each_block(const gfnn_rows_t &g, const uint8_t *id,
                                                  const gfnn_entries_t *all, Job &job)
{
    __shared__ gfnn_entries_t entries[GFNN_MAX_IDS];
    for (int t = threadIdx.x; t < GFNN_MAX_IDS; t += GFNN_THREADS)
        entries[t] = all[t];
    __syncthreads();
    const int lane = threadIdx.x % 32, last = g.n[0] - 1;
    const unsigned rows = g.n[1] * g.n[2], step = gridDim.x * GFNN_WARPS;
    for (unsigned row = blockIdx.x * GFNN_WARPS + threadIdx.x / 32; row < rows; row += step) {
        const int j = row % g.n[1], k = row / g.n[1];
        const uint8_t *of_row = id + g.wide.at(0, j, k);
        unsigned first[4];
#pragma unroll
        for (int e = 0; e < 4; e++)
            first[e] = __ldg(of_row - (e & 1) * g.wide.pitch - (e >> 1) * g.wide.slab - 1);
        block_t before = {}; /* what lane 31 had, for lane 0 */
        for (int i = 2 * lane; i - 2 * lane <= last; i += 64) {
            const bool here = i <= last, both = i < last;
            const int fine = g.fine.at(i, j, k), wide = g.wide.at(i, j, k);
            block_t lower = {}, upper = {};
            if (here) {
                unsigned of_lower[4], of_upper[4];
#pragma unroll
                for (int e = 0; e < 4; e++) {
                    const int at = i - (e & 1) * g.wide.pitch - (e >> 1) * g.wide.slab;
                    const uchar2 two = __ldg(reinterpret_cast<const uchar2 *>(of_row + at));
                    of_lower[e] = two.x;
                    of_upper[e] = two.y;
                }
                job.load(fine, wide);
                lower = column_of(entries, of_lower);
                upper = column_of(entries, of_upper);
            }
            if (i < 64) /* looked up after the loads above were issued */
                before = column_of(entries, first);
            const block_t from = rotated(upper), last_upper = lane == 0 ? before : from;
            before = from;
            if (here) {
                job.node(0, between(last_upper, lower), true);
                job.node(1, between(lower, upper), both);
                job.store(fine, wide, both);
            }
        }
    }
}

/* out = z + a (z - old) + omega D^-1 (r - y) */
template <bool with_z, bool with_old> struct smooth_t {
    const float *z, *old, *r, *y;
    float a, omega;
    float *out;
    int64_t plane;
    float d[3][2], s[3][2]; /* r - y; z + a (z - old), and then what is stored */

    __device__ __forceinline__ void load(int, int wide)
    {
        float2 of_r[3], of_y[3], of_z[3], of_old[3];
#pragma unroll
        for (int c = 0; c < 3; c++) {
            const int64_t at = wide + c * plane;
            of_r[c] = pair_at(r + at);
            of_y[c] = with_z ? pair_at(y + at) : float2{0, 0};
            of_z[c] = with_z ? pair_at(z + at) : float2{0, 0};
            of_old[c] = with_old ? pair_at(old + at) : float2{0, 0};
        }
#pragma unroll
        for (int c = 0; c < 3; c++) {
            d[c][0] = of_r[c].x - of_y[c].x;
            d[c][1] = of_r[c].y - of_y[c].y;
            s[c][0] = of_z[c].x + a * (of_z[c].x - of_old[c].x);
            s[c][1] = of_z[c].y + a * (of_z[c].y - of_old[c].y);
        }
    }
    __device__ __forceinline__ void node(int n, const block_t &D, bool)
    {
        const float here[3] = {d[0][n], d[1][n], d[2][n]};
        float result[3];
        solve_block(D, omega, here, result);
#pragma unroll
        for (int c = 0; c < 3; c++)
            s[c][n] += result[c];
    }
    __device__ __forceinline__ void store(int, int wide, bool both)
    {
#pragma unroll
        for (int c = 0; c < 3; c++)
            store_pair<float, float2>(out + c * plane + wide, both, s[c]);
    }
};

template <bool with_z, bool with_old>
static __global__ void __launch_bounds__(GFNN_THREADS, RESIDENT_BLOCKS)
    smooth_kernel(gfnn_rows_t g, const uint8_t *__restrict__ id,
                  const gfnn_entries_t *__restrict__ all, const float *z, float a, const float *old,
                  float omega, const float *r, const float *y, float *out)
{
    smooth_t<with_z, with_old> job = {z, old, r, y, a, omega, out, g.wide.plane, {}, {}};
    each_block(g, id, all, job);
}

/* r -= alpha q, z = scale D^-1 r, and both sums. If not `moves`, r stays and q is not read. */
template <bool moves, class T> struct update_t {
    using pair_t = decltype(pair_at(static_cast<const T *>(nullptr)));
    const T *q;
    T *r;
    float *z;
    T alpha, scale;
    int64_t of_r, of_wide; /* from component to component */
    double rr, zr;
    T value[3][2];
    float result[3][2];

    __device__ __forceinline__ void load(int fine, int wide)
    {
        const int64_t at = gfnn_offset<T>(fine, wide);
        pair_t of_r[3], of_q[3];
#pragma unroll
        for (int c = 0; c < 3; c++) {
            of_r[c] = pair_at(r + at + c * this->of_r);
            of_q[c] = moves ? pair_at(q + at + c * this->of_r) : pair_t{0, 0};
        }
#pragma unroll
        for (int c = 0; c < 3; c++) {
            value[c][0] = moves ? of_r[c].x - alpha * of_q[c].x : of_r[c].x;
            value[c][1] = moves ? of_r[c].y - alpha * of_q[c].y : of_r[c].y;
        }
    }
    __device__ __forceinline__ void node(int n, const block_t &D, bool own)
    {
        float low[3], of_node[3];
#pragma unroll
        for (int c = 0; c < 3; c++)
            low[c] = static_cast<float>(scale * value[c][n]);
        solve_block(D, 1, low, of_node);
#pragma unroll
        for (int c = 0; c < 3; c++) {
            const double here = value[c][n];
            result[c][n] = of_node[c];
            rr += own ? here * here : 0;
            zr += own ? of_node[c] * here : 0;
        }
    }
    __device__ __forceinline__ void store(int fine, int wide, bool both)
    {
#pragma unroll
        for (int c = 0; c < 3; c++) {
            if (moves)
                store_pair<T, pair_t>(r + gfnn_offset<T>(fine, wide) + c * of_r, both, value[c]);
            store_pair<float, float2>(z + wide + c * of_wide, both, result[c]);
        }
    }
};

template <bool moves, class T>
static __global__ void __launch_bounds__(GFNN_THREADS, RESIDENT_BLOCKS)
    update_bj_kernel(gfnn_rows_t g, const uint8_t *__restrict__ id,
                     const gfnn_entries_t *__restrict__ all, gfnn_cg_t *cg, const T *__restrict__ q,
                     T *__restrict__ r, float *__restrict__ z, gfnn_parts_t parts)
{
    const gfnn_factors_t<T> f(cg);
    if (f.ended)
        return;
    const int64_t of_r = gfnn_offset<T>(g.fine.plane, g.wide.plane);
    update_t<moves, T> job = {q, r, z, T(f.alpha), T(f.scale), of_r, g.wide.plane, 0, 0, {}, {}};
    each_block(g, id, all, job);
    gfnn_end_loop<GFNN_THREADS, 2>(parts, cg, moves ? GFNN_UPDATED : GFNN_BEGUN, job.rr, job.zr);
}

/* Every kernel with D has this grid. */
template <class... P, class... A>
static void launch_blocks(void (*kernel)(gfnn_rows_t, const uint8_t *, const gfnn_entries_t *,
                                         P...),
                          const gfnn_view_t *view, A... arguments)
{
    const gfnn_vectors_data_t *data = gfnn_vectors_data(view);
    kernel<<<data->blocks / GFNN_RESIDENT * RESIDENT_BLOCKS, GFNN_THREADS, 0, rt_stream()>>>(
        gfnn_rows_t(view->box), view->id, data->entries, arguments...);
    RT_CUDA_LAUNCHED();
}

template <class T>
void gfnn_cuda_update_bj(const gfnn_view_t *view, gfnn_cg_t *cg, bool first, const void *q, void *r,
                         float *z)
{
    launch_blocks(first ? update_bj_kernel<false, T> : update_bj_kernel<true, T>, view, cg,
                  static_cast<const T *>(q), static_cast<T *>(r), z,
                  gfnn_vectors_data(view)->parts);
}

template void gfnn_cuda_update_bj<double>(const gfnn_view_t *, gfnn_cg_t *, bool, const void *,
                                          void *, float *);
template void gfnn_cuda_update_bj<float>(const gfnn_view_t *, gfnn_cg_t *, bool, const void *,
                                         void *, float *);

void gfnn_cuda_smooth32(const gfnn_view_t *view, const float *z, float a, const float *old,
                        float omega, const float *r, const float *y, float *out)
{
    const auto choice = !z     ? smooth_kernel<false, false>
                        : !old ? smooth_kernel<true, false>
                               : smooth_kernel<true, true>;
    launch_blocks(choice, view, z, a, old, omega, r, y, out);
}
