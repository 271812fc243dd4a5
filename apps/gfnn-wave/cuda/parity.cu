/*
 * parity.cu - element matrices made block-diagonal by reflection parity.
 *
 * Idea: parity.h has the algebra: after an 8-point Hadamard transform of the corners few of the 24
 * values of an element are coupled, and 187 flops do per element what the dense product does in
 * 2304. A thread has a column of elements and climbs in z: the x-y transform of a layer of nodes
 * serves the element below it and the one above, and what two elements give to the layer between
 * them is added before it is transformed back. The transform back begins with x: what belongs to
 * the right-hand neighbour goes by a shuffle. Then y: what belongs to the row behind goes through
 * shared memory. Advantage: arithmetic alone no longer determines the time; the bytes are the least
 * possible. Price: a block has a rim of elements on two sides that its neighbours have too; a
 * thread keeps three layers in registers, so only 16 warps of doubles fit on a multiprocessor. They
 * have to hide all latencies, so nothing waits longer than it must:
 *   - layers of x come by asynchronous copies, four layers ahead;
 *   - the factors of a material are computed once, in a table in shared memory;
 *   - the exchange between rows is one layer late, and the arrival at its barrier and the wait are
 *     most of a layer apart.
 *
 * FP32 takes half the registers: a thread has two rows of elements, which exchange in registers. One
 * row and 24 warps instead of 16 took as long, as did tiles of twice as many rows.
 */
#include "config.h"
#include <algorithm>
#include "gfnn_cuda.cuh"

/* The form and the factors as parity.h has them; transforms of a square of corners. */
#define GFNN_PARITY_T  double
#define GFNN_PARITY_S  double
#define GFNN_PARITY_FN static __device__ __forceinline__
#include "apps/gfnn-wave/operator/parity.h"
#define GFNN_PARITY_T  float
#define GFNN_PARITY_S  float
#define GFNN_PARITY_FN static __device__ __forceinline__
#include "apps/gfnn-wave/operator/parity.h"

/* m, k and g of parity.h are w mass, w bulk and Vs^2 shear, by these. */
struct scaled_t {
    double mass, bulk, shear;
};

template <class T> struct __align__(16) factors_t
{
    T of[GFNN_FACTORS];
};

template <class T>
static __device__ __forceinline__ factors_t<T> factors_of(const scaled_t &scaled,
                                                          const gfnn_material_t &material)
{
    const double element[3] = {material.w * scaled.mass, material.w * scaled.bulk,
                               material.square * scaled.shear};
    double f[GFNN_FACTORS];
    factors_t<T> factors;
    gfnn_parity_factors(element, f);
#pragma unroll
    for (int q = 0; q < GFNN_FACTORS; q++)
        factors.of[q] = static_cast<T>(f[q]);
    return factors;
}

/* The shape of a block. `lanes` threads, 8, 16 or 32 of a warp, take `rows` rows of as many
 * elements; the block owns one column and one row of nodes less. */
template <class T_, int lanes_, int rows_, int warps_, int resident_> struct shape_t {
    using T = T_;
    static constexpr int lanes = lanes_, rows = rows_, warps = warps_, resident = resident_;
    static constexpr int threads = 32 * warps, height = threads / lanes * rows;
    static constexpr int own_columns = lanes - 1, own_rows = height - 1;
    /* Layers of x: requested so many layers before they are needed; the last two are still read. */
    static constexpr int ahead = 4, slots = 8;
    using layers = gfnn_layers_t<T, lanes + 1, height + 1, slots, threads>;
    /* shared memory: barriers, factors, strips that rows hand on (two of them), layers */
    static constexpr size_t at_factors = 128;
    static constexpr size_t at_strips = at_factors + GFNN_MAX_IDS * sizeof(factors_t<T>);
    static constexpr size_t at_layers = at_strips + sizeof(T) * 2 * 3 * threads;
    static constexpr size_t bytes = at_layers + layers::bytes;
    static_assert((slots + 1) * sizeof(uint64_t) <= at_factors && at_layers % 16 == 0, "aligned");
};

/* What a thread keeps between two layers. */
template <class S> struct column_t {
    using T = typename S::T;
    static constexpr int rows = S::rows;

    T below[rows][3][4]; /* modes of the last layer of nodes, by row of elements */
    T sum[rows][3][4];   /* what the elements below gave to them */
    T late[3];           /* the first row of nodes, without what the row before hands on */

    /* x-y modes of a layer. The x differences of a row of nodes serve both rows of elements. */
    __device__ __forceinline__ void transform(const T *at, T (&modes)[rows][3][4]) const
    {
#pragma unroll
        for (int c = 0; c < 3; c++) {
            const T *p = at + c * S::layers::component;
            T even = p[1] + p[0], odd = p[1] - p[0];
#pragma unroll
            for (int r = 0; r < rows; r++) {
                p += S::layers::pitch;
                const T next_even = p[1] + p[0], next_odd = p[1] - p[0];
                modes[r][c][0] = next_even + even;
                modes[r][c][1] = next_odd + odd;
                modes[r][c][2] = next_even - even;
                modes[r][c][3] = next_odd - odd;
                even = next_even;
                odd = next_odd;
            }
        }
    }

    /* Goes through the element between the last layer and the one above, which becomes the last.
     * done: the complete sums of the layer before. */
    __device__ __forceinline__ void climb(int r, const factors_t<T> &factors,
                                          const T (&above)[3][4], T (&done)[3][4])
    {
        T U[3][8], Y[3][8], lower[4], upper[4];
#pragma unroll
        for (int c = 0; c < 3; c++)
            gfnn_parity_join(below[r][c], above[c], U[c]);
        gfnn_parity_product(factors.of, U, Y);
#pragma unroll
        for (int c = 0; c < 3; c++) {
            gfnn_parity_part(Y[c], lower, upper);
#pragma unroll
            for (int q = 0; q < 4; q++) {
                done[c][q] = sum[r][c][q] + lower[q];
                sum[r][c][q] = upper[q];
                below[r][c][q] = above[c][q];
            }
        }
    }
};

/* Transforms one component of a layer back to nodes: what the two elements on both sides of a
 * column of nodes give to its nodes before and behind the row of elements. */
template <int lanes, class T>
static __device__ __forceinline__ void back(const T (&modes)[4], T &before, T &behind)
{
    T even = modes[0] - modes[1], odd = modes[2] - modes[3];
    even += __shfl_up_sync(0xffffffffu, modes[0] + modes[1], 1, lanes);
    odd += __shfl_up_sync(0xffffffffu, modes[2] + modes[3], 1, lanes);
    before = even - odd;
    behind = even + odd;
}

/* dot: also *product = x . y, a node in T and their sum in FP64; or, if cg is not NULL, the stage
 * GFNN_APPLIED. Layer l is the nodes at z0 - 1 + l. During layer l the nodes of layer l - 1 get
 * their last contribution, and those of layer l - 2 in a thread's first row are written, because by
 * then the row before has handed on its part. */
template <class S, bool dot>
static __global__ void __launch_bounds__(S::threads, S::resident)
    apply_kernel(const __grid_constant__ gfnn_job_t<typename S::T> job,
                 const __grid_constant__ scaled_t scaled, int chunk, gfnn_parts_t parts,
                 double *product, gfnn_cg_t *cg)
{
    using T = typename S::T;
    constexpr int rows = S::rows, slots = S::slots;
    extern __shared__ __align__(128) unsigned char block_memory[];
    uint64_t *full = reinterpret_cast<uint64_t *>(block_memory), *handed = full + slots;
    factors_t<T> *factors = reinterpret_cast<factors_t<T> *>(block_memory + S::at_factors);
    T *strips = reinterpret_cast<T *>(block_memory + S::at_strips) + threadIdx.x;
    const int column = threadIdx.x % S::lanes, row = threadIdx.x / S::lanes * rows;
    const int x0 = static_cast<int>(blockIdx.x) * S::own_columns - 1;
    const int y0 = static_cast<int>(blockIdx.y) * S::own_rows - 1;
    const int z0 = static_cast<int>(blockIdx.z) * chunk;
    const unsigned top = min(chunk, job.n[2] - z0) + 1;
    if (threadIdx.x == 0)
        rt_barrier_init(handed, S::threads);
    typename S::layers x(job, reinterpret_cast<T *>(block_memory + S::at_layers), full, x0, y0);
    for (int id = threadIdx.x; id < GFNN_MAX_IDS; id += S::threads)
        factors[id] = factors_of<T>(scaled, job.material[id]);
    __syncthreads();
    for (unsigned l = 0; l <= S::ahead && l <= top; l++)
        x.fetch(job, l, z0 - 1 + l);

    const int i = x0 + column, j = y0 + row; /* lower corner of the first element */
    const int at = row * S::layers::pitch + column;
    const uint8_t *id[rows];
    int number[rows];
    bool own[rows];
    column_t<S> mine;
#pragma unroll
    for (int r = 0; r < rows; r++) {
        own[r] = column > 0 && row + r > 0 && job.own(i, j + r, z0);
        id[r] = job.id + job.elements.at(min(i, job.n[0]), min(j + r, job.n[1]), z0 - 1);
        number[r] = __ldg(id[r]);
#pragma unroll
        for (int q = 0; q < 12; q++)
            mine.sum[r][q / 4][q % 4] = 0;
    }
    T *y = job.y + job.nodes.at(i, j, z0);
    double sum = 0;
    /* writes the nodes of layer l in the first row; from: where x has them */
    const auto settle = [&](unsigned l, const T *from) {
        const T *strip = strips + ((l + 1) & 1) * 3 * S::threads - S::lanes;
        T of_node = 0;
#pragma unroll
        for (int c = 0; own[0] && c < 3; c++) {
            const T value = mine.late[c] + strip[c * S::threads];
            y[c * job.nodes.plane] = value;
            if (dot)
                of_node += value * from[c * S::layers::component];
        }
        sum += dot ? of_node : 0;
        y += job.nodes.slab;
    };

    mine.transform(x.wait(0, 0) + at, mine.below);
#pragma unroll 2
    for (unsigned l = 1; l <= top; l++) {
        T above[rows][3][4], done[rows][3][4];
        mine.transform(x.wait(l % slots, l / slots % 2) + at, above);
#pragma unroll
        for (int r = 0; r < rows; r++) {
            const factors_t<T> &f = factors[number[r]];
            id[r] += job.elements.slab;
            number[r] = __ldg(id[r]);
            mine.climb(r, f, above[r], done[r]);
        }
        if (l > 1) /* all warps have handed on, so none reads the layer before */
            rt_barrier_wait(handed, l & 1);
        if (l > 2)
            settle(l - 2, x.at((l - 2) % slots) + at);
        if (l + S::ahead <= top)
            x.fetch(job, (l + S::ahead) % slots, z0 - 1 + l + S::ahead);
        const T *last = x.at((l - 1) % slots) + at;
        T of_node[rows] = {};
#pragma unroll
        for (int c = 0; c < 3; c++) {
            T before, behind = 0;
#pragma unroll
            for (int r = 0; r < rows; r++) {
                const T row_before = behind;
                back<S::lanes>(done[r][c], before, behind);
                if (r == 0) {
                    mine.late[c] = before;
                } else if (l > 1 && own[r]) {
                    const T value = before + row_before;
                    y[c * job.nodes.plane + r * job.nodes.pitch] = value;
                    if (dot)
                        of_node[r] += value * last[c * S::layers::component + r * S::layers::pitch];
                }
            }
            strips[((l & 1) * 3 + c) * S::threads] = behind;
        }
#pragma unroll
        for (int r = 1; dot && r < rows; r++)
            sum += of_node[r];
        rt_barrier_arrive(handed);
    }
    rt_barrier_wait(handed, (top + 1) & 1);
    settle(top - 1, x.at((top - 1) % slots) + at);
    if constexpr (dot) {
        double sums[1] = {sum};
        if (cg)
            gfnn_end_loop<S::threads, 1>(parts, cg, GFNN_APPLIED, sum, 0);
        else if (gfnn_grid_sums<S::threads>(parts, sums) && threadIdx.x == 0)
            *product = sums[0];
    }
}

/* --- launch --- */

/* What a tuner may choose. */
static const char *const tiles[] = {"auto", "31x7", "15x15", "7x31", nullptr};
static const char *const chunks[] = {"auto", "8", "16", "32", "64", "128", "256", nullptr};
extern "C" const rt_parameter_t gfnn_parity_parameters[] = {
    {.name = "tile",
     .about = "nodes in x and y that a block writes",
     .values = tiles,
     .initial = 0},
    {.name = "layers",
     .about = "most layers that a block climbs through",
     .values = chunks,
     .initial = 0}};

/* Tiles of 31 x 7, 15 x 15 or 7 x 31 nodes, FP32 with half the warps: so that narrow boxes waste
 * little. */
template <class T> struct shapes_t;
template <> struct shapes_t<double> {
    using long_t = shape_t<double, 32, 1, 8, 2>;
    using square_t = shape_t<double, 16, 1, 8, 2>;
    using narrow_t = shape_t<double, 8, 1, 8, 2>;
};
template <> struct shapes_t<float> {
    using long_t = shape_t<float, 32, 2, 4, 4>;
    using square_t = shape_t<float, 16, 2, 4, 4>;
    using narrow_t = shape_t<float, 8, 2, 4, 4>;
};

struct plan_t {
    dim3 blocks;
    int chunk;
    double cost;
};

/* A block writes a layer of nodes in pieces of own_columns, which begin and end within a sector of
 * memory: that costs about one node more. */
template <class S> static plan_t plan(const int n[3], const int *choice)
{
    const int multiprocessors = rt_device_gpu()->multiprocessors;
    plan_t p;
    p.blocks = dim3(rt_blocks(n[0], S::own_columns), rt_blocks(n[1], S::own_rows));
    gfnn_chunk_t chunk = gfnn_chunk(static_cast<int64_t>(p.blocks.x) * p.blocks.y, n[2],
                                    static_cast<int64_t>(S::resident) * multiprocessors, 1.5);
    if (choice && choice[1] > 0)
        chunk.layers = 4 << choice[1];
    p.blocks.z = rt_blocks(n[2], chunk.layers);
    p.chunk = chunk.layers;
    p.cost = chunk.cost * (1 + 1.0 / S::own_columns);
    return p;
}

template <class S, bool dot>
static void launch(const gfnn_job_t<typename S::T> &job, const gfnn_operator_data_t *data,
                   const plan_t &p, const gfnn_product_t *a)
{
    const gfnn_form_t *form = a->form;
    const scaled_t scaled = {form->mass / GFNN_PARITY_MASS, form->bulk / GFNN_PARITY_STIFF,
                             form->shear / GFNN_PARITY_STIFF};
    gfnn_allow_shared(apply_kernel<S, dot>, S::bytes);
    apply_kernel<S, dot><<<p.blocks, S::threads, S::bytes, rt_stream()>>>(
        job, scaled, p.chunk, data->parts, a->dot, a->cg);
    RT_CUDA_LAUNCHED();
}

template <class T, bool dot> static void apply_as(const gfnn_view_t *view, const gfnn_product_t *a)
{
    using shapes = shapes_t<T>;
    const auto *data = static_cast<const gfnn_operator_data_t *>(view->data);
    const gfnn_job_t<T> job(view, a);
    const int *choice = view->choice;
    const plan_t plans[] = {plan<typename shapes::long_t>(job.n, choice),
                            plan<typename shapes::square_t>(job.n, choice),
                            plan<typename shapes::narrow_t>(job.n, choice)};
    const auto launches = {launch<typename shapes::long_t, dot>,
                           launch<typename shapes::square_t, dot>,
                           launch<typename shapes::narrow_t, dot>};
    int tile = choice && choice[0] > 0 ? choice[0] - 1 : 0;
    for (int t = 1; (!choice || choice[0] == 0) && t < 3; t++)
        tile = plans[t].cost < plans[tile].cost ? t : tile;
    launches.begin()[tile](job, data, plans[tile], a);
}

static void apply(const gfnn_view_t *view, const gfnn_product_t *a)
{
    const bool dot = a->dot || a->cg;
    if (a->type == GFNN_SINGLE)
        dot ? apply_as<float, true>(view, a) : apply_as<float, false>(view, a);
    else
        dot ? apply_as<double, true>(view, a) : apply_as<double, false>(view, a);
}

/* Returns the most blocks: those of the thinnest chunks. */
template <class S> static size_t most_blocks(const gfnn_box_t *box)
{
    return static_cast<size_t>(rt_blocks(box->n[0], S::own_columns)) *
           rt_blocks(box->n[1], S::own_rows) * rt_blocks(box->n[2], GFNN_LEAST_LAYERS);
}

static size_t sums(const gfnn_box_t *box)
{
    using shapes = shapes_t<double>;
    return std::max({most_blocks<shapes::long_t>(box), most_blocks<shapes::square_t>(box),
                     most_blocks<shapes::narrow_t>(box)});
}

static void set_up(gfnn_view_t *view)
{
    gfnn_operator_data_new(view, sums(view->box));
}

extern "C" const gfnn_operator_t gfnn_operator_parity = {.apply = apply,
                                                         .single = true,
                                                         .sums = true,
                                                         .sums_on_device = true,
                                                         .wraps = gfnn_layers_wrap,
                                                         .set_up = set_up,
                                                         .tear_down = gfnn_operator_tear_down};
extern "C" const gfnn_kernels_t gfnn_op_parity = {
    .rung = {.precision = "FP64",
             .reproducible = true,
             .parameters = gfnn_parity_parameters,
             .n_parameters = GFNN_PARITY_PARAMETERS},
    .ladder = GFNN_LADDER_OPERATOR,
    .op = &gfnn_operator_parity,
};
