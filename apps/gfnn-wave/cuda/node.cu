/*
 * node.cu - a thread per node.
 *
 * Idea: a node gathers what its eight elements give to it, so nothing is added by two threads. A
 * block has 32 x 8 nodes and climbs in z; the layers of x that it needs, with a rim of one node,
 * are in shared memory, fetched ahead. The part of the matrices that is the same for all elements
 * is assembled into one stencil of 27 3x3 blocks. The other part goes element by element, but its
 * entries are whole numbers / 72, which the compiler puts into the instructions; Vs^2 is applied to
 * the three sums of an element. Advantage: y is written once, and x read once except for the rims;
 * 1700 flops per node; equal bits from run to run. Price: what eight nodes share of an element is
 * computed by each of them. That needs at least some 840 instructions per node in FP64, and they
 * take its time.
 *
 * Where elements are absent the stencil does not hold: a warp with such a node takes eight elements
 * with both matrices instead.
 */
#include "config.h"
#include "gfnn_cuda.cuh"

enum { TX = 32, TY = 8, THREADS = TX * TY, SLOTS = 4, RESIDENT = 2, BARRIER_BYTES = 64 };
using layers_t = gfnn_layers_t<double, TX + 2, TY + 2, SLOTS, THREADS>;

/* w fixed + square varying. A kernel takes it by value, as arguments are in constant memory. */
struct matrices_t {
    double fixed[24][24], varying[24][24];

    explicit matrices_t(const gfnn_form_t *form)
    {
        gfnn_element_matrix(form, 1, 0, fixed);
        gfnn_element_matrix(form, 0, 1, varying);
    }
};

/* The whole-number part: in one direction, 6 times the integral of N_a N_b, with none, one or both
 * of them replaced by the derivative. */
__host__ __device__ constexpr int line6(bool da, bool db, int a, int b)
{
    return da && db ? (a == b ? 6 : -6) : da ? (a ? 3 : -3) : db ? (b ? 3 : -3) : (a == b ? 2 : 1);
}

/* 216 times the integral of dN_a/dx_c dN_b/dx_d. */
__host__ __device__ constexpr int cube216(int a, int c, int b, int d)
{
    return line6(c == 0, d == 0, a & 1, b & 1) * line6(c == 1, d == 1, a >> 1 & 1, b >> 1 & 1) *
           line6(c == 2, d == 2, a >> 2, b >> 2);
}

/* 72 (K_M - 2 K_L), row 3 a + c, column 3 b + d. */
__host__ __device__ constexpr int varying72(int a, int c, int b, int d)
{
    return (cube216(a, d, b, c) - 2 * cube216(a, c, b, d) +
            (c == d ? cube216(a, 0, b, 0) + cube216(a, 1, b, 1) + cube216(a, 2, b, 2) : 0)) /
           3;
}

struct stencil_t {
    double at[27][3][3]; /* [node x + 3 y + 9 z from the lower corner][row][column] */

    explicit stencil_t(const matrices_t &matrices) : at()
    {
        for (int a = 0; a < 8; a++)
            for (int b = 0; b < 8; b++) {
                const int node = (b & 1) - (a & 1) + 1 + 3 * ((b >> 1 & 1) - (a >> 1 & 1) + 1) +
                                 9 * ((b >> 2) - (a >> 2) + 1);
                for (int c = 0; c < 3; c++)
                    for (int d = 0; d < 3; d++)
                        at[node][c][d] += matrices.fixed[3 * a + c][3 * b + d];
            }
    }
};

/* Loads the ids of the four elements around a node in one layer; id points to the first. */
static __device__ __forceinline__ void load_ids(const gfnn_job_t<double> &job, const uint8_t *id,
                                                int (&number)[4])
{
#pragma unroll
    for (int e = 0; e < 4; e++)
        number[e] = __ldg(id + (e >> 1) * job.elements.pitch + (e & 1));
}

/* Looks up Vs^2 of the four. Returns whether none is absent. */
static __device__ __forceinline__ bool squares(const gfnn_job_t<double> &job,
                                               const int (&number)[4], double (&square)[4])
{
    bool there = true;
#pragma unroll
    for (int e = 0; e < 4; e++) {
        there = there && number[e] != GFNN_OUTSIDE;
        square[e] = __ldg(&job.material[number[e]].square);
    }
    return there;
}

/* Element e (e & 1: to the right, and so on) has the node as its corner 7 - e. Returns which of its
 * corners is node (dx, dy, dz) of the 27, */
__host__ __device__ constexpr int corner_at(int dx, int dy, int dz, int e)
{
    return dx - (e & 1) + 2 * (dy - (e >> 1 & 1)) + 4 * (dz - (e >> 2));
}

/* if it is one at all, which is so if this holds in all directions. */
__host__ __device__ constexpr bool within(int d, int e)
{
    return d - (e & 1) == 0 || d - (e & 1) == 1;
}

static __device__ __forceinline__ void uniform(const double *const (&layer)[3],
                                               const double (&square)[8], double scale,
                                               const stencil_t &stencil, double (&sum)[3])
{
    double part[8][3] = {};
#pragma unroll
    for (int dz = 0; dz < 3; dz++)
#pragma unroll
        for (int dy = 0; dy < 3; dy++)
#pragma unroll
            for (int dx = 0; dx < 3; dx++)
#pragma unroll
                for (int d = 0; d < 3; d++) {
                    const double u = layer[dz][d * layers_t::component + dy * layers_t::pitch + dx];
#pragma unroll
                    for (int c = 0; c < 3; c++)
                        sum[c] += stencil.at[dx + 3 * dy + 9 * dz][c][d] * u;
#pragma unroll
                    for (int e = 0; e < 8; e++)
#pragma unroll
                        for (int c = 0; c < 3; c++)
                            if (within(dx, e) && within(dy, e >> 1) && within(dz, e >> 2))
                                part[e][c] += varying72(7 - e, c, corner_at(dx, dy, dz, e), d) * u;
                }
#pragma unroll
    for (int e = 0; e < 8; e++)
#pragma unroll
        for (int c = 0; c < 3; c++)
            sum[c] += scale * square[e] * part[e][c];
}

static __device__ __forceinline__ void any(const gfnn_job_t<double> &job,
                                           const matrices_t &matrices,
                                           const double *const (&layer)[3], int i, int j, int k,
                                           double (&sum)[3])
{
#pragma unroll 1
    for (int e = 0; e < 8; e++) {
        const int at[3] = {i - 1 + (e & 1), j - 1 + (e >> 1 & 1), k - 1 + (e >> 2)};
        const gfnn_material_t material = gfnn_material_at(job, at);
        const int first = (e >> 1 & 1) * layers_t::pitch + (e & 1);
        const double *lower = (e < 4 ? layer[0] : layer[1]) + first;
        const double *upper = (e < 4 ? layer[1] : layer[2]) + first;
        double u[24];
#pragma unroll
        for (int b = 0; b < 4; b++) {
            const int corner = (b >> 1) * layers_t::pitch + (b & 1);
#pragma unroll
            for (int d = 0; d < 3; d++) {
                u[3 * b + d] = lower[d * layers_t::component + corner];
                u[3 * (b + 4) + d] = upper[d * layers_t::component + corner];
            }
        }
#pragma unroll
        for (int c = 0; c < 3; c++) {
            double fixed = 0, varying = 0;
#pragma unroll
            for (int q = 0; q < 24; q++) {
                fixed += matrices.fixed[3 * (7 - e) + c][q] * u[q];
                varying += matrices.varying[3 * (7 - e) + c][q] * u[q];
            }
            sum[c] += material.w * fixed + material.square * varying;
        }
    }
}

/* A block's part of a column of nodes: `layers` of them from (x0, y0, first). x has fetched
 * `before` layers of other columns. */
static __device__ __forceinline__ void climb(const gfnn_job_t<double> &job,
                                             const matrices_t &matrices, const stencil_t &stencil,
                                             double scale, layers_t &x, unsigned before, int x0,
                                             int y0, int first, int layers)
{
    const auto slot = [=](int l) { return (before + l) % SLOTS; };
    const auto parity = [=](int l) { return (before + l) / SLOTS % 2; };
    for (int l = 0; l < 3; l++)
        x.fetch(job, slot(l), first - 1 + l);

    const int tx = threadIdx.x % TX, ty = threadIdx.x / TX;
    const bool own = x0 + tx < job.n[0] && y0 + ty < job.n[1];
    const int i = min(x0 + tx, job.n[0] - 1), j = min(y0 + ty, job.n[1] - 1);
    const int mine = ty * layers_t::pitch + tx;
    double lower[4], upper[4];
    const uint8_t *id = job.id + job.elements.at(i - 1, j - 1, first - 1);
    int number[4];
    load_ids(job, id, number);
    bool there = squares(job, number, lower);
    load_ids(job, id += job.elements.slab, number);
    const double *layer[3] = {x.wait(slot(0), parity(0)) + mine, x.wait(slot(1), parity(1)) + mine,
                              nullptr};
    double *y = job.y + job.nodes.at(i, j, first);
    for (int l = 0; l < layers; l++) {
        /* The branch depends on these ids, which were requested a layer ago. */
        const bool there_above = squares(job, number, upper);
        load_ids(job, id += job.elements.slab, number);
        layer[2] = x.wait(slot(l + 2), parity(l + 2)) + mine;
        __syncthreads(); /* all are done with layer l - 1, so there is room */
        if (l + 3 < layers + 2)
            x.fetch(job, slot(l + 3), first + 2 + l);
        double sum[3] = {};
        if (__all_sync(0xffffffffu, there && there_above)) {
            const double square[8] = {lower[0], lower[1], lower[2], lower[3],
                                      upper[0], upper[1], upper[2], upper[3]};
            uniform(layer, square, scale, stencil, sum);
        } else {
            any(job, matrices, layer, i, j, first + l, sum);
        }
        if (own)
#pragma unroll
            for (int c = 0; c < 3; c++)
                y[c * job.nodes.plane] = sum[c];
        y += job.nodes.slab;
        there = there_above;
        layer[0] = layer[1];
        layer[1] = layer[2];
#pragma unroll
        for (int e = 0; e < 4; e++)
            lower[e] = upper[e];
    }
}

/* Divides all layers of all columns, one after the other, equally among the blocks. There are as
 * many blocks as run at once, so no second round is needed. */
static __global__ void __launch_bounds__(THREADS, RESIDENT)
    apply_kernel(const __grid_constant__ gfnn_job_t<double> job,
                 const __grid_constant__ matrices_t matrices,
                 const __grid_constant__ stencil_t stencil, double scale, int columns_x, int work)
{
    extern __shared__ __align__(128) unsigned char block_memory[];
    const int layers = job.n[2];
    const auto part = [=](unsigned block) {
        return static_cast<int>(static_cast<int64_t>(work) * block / gridDim.x);
    };
    const auto x0 = [&](int at) { return at / layers % columns_x * TX; };
    const auto y0 = [&](int at) { return at / layers / columns_x * TY; };
    int at = part(blockIdx.x);
    const int end = part(blockIdx.x + 1);
    layers_t x(job, reinterpret_cast<double *>(block_memory + BARRIER_BYTES),
               reinterpret_cast<uint64_t *>(block_memory), x0(at) - 1, y0(at) - 1);
    for (unsigned before = 0;;) {
        const int count = min(layers - at % layers, end - at);
        __syncthreads();
        climb(job, matrices, stencil, scale, x, before, x0(at), y0(at), at % layers, count);
        if ((at += count) == end)
            return;
        before += count + 2;
        x.begin(job, x0(at) - 1, y0(at) - 1);
    }
}

static void apply(const gfnn_view_t *view, const gfnn_product_t *a)
{
    constexpr size_t bytes = BARRIER_BYTES + layers_t::bytes;
    const gfnn_job_t<double> job(view, a);
    const matrices_t matrices(a->form);
    const int columns_x = rt_blocks(job.n[0], TX);
    const int columns = columns_x * rt_blocks(job.n[1], TY);
    const int work = columns * job.n[2];
    const unsigned resident = RESIDENT * rt_device_gpu()->multiprocessors;
    const unsigned most = rt_blocks(work, GFNN_LEAST_LAYERS);
    const unsigned blocks = resident < most ? resident : most;
    gfnn_allow_shared(apply_kernel, bytes);
    apply_kernel<<<blocks, THREADS, bytes, rt_stream()>>>(job, matrices, stencil_t(matrices),
                                                          a->form->shear / 72, columns_x, work);
    RT_CUDA_LAUNCHED();
}

static const gfnn_operator_t op = {
    .apply = apply, .set_up = gfnn_operator_set_up, .tear_down = gfnn_operator_tear_down};
extern "C" const gfnn_kernels_t gfnn_op_node = {
    .rung = {.precision = "FP64", .reproducible = true},
    .ladder = GFNN_LADDER_OPERATOR,
    .op = &op,
};
