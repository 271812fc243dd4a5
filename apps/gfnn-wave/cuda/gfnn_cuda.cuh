/*
 * gfnn_cuda.cuh - what the CUDA rungs of gfnn-wave's operator share: a kernel's view of the box,
 * passes over elements that add to their nodes, and layers of nodes that are fetched ahead into
 * shared memory.
 */
#ifndef GFNN_CUDA_CUH
#define GFNN_CUDA_CUH

#include "apps/gfnn-wave/operator/strain.h"
#include "machine/async.cuh"
#include "base/mem.h"
#include "sums.cuh"

extern "C" {
/* The operator of solves, and what a tuner may choose for it. */
extern const gfnn_operator_t gfnn_operator_parity;
enum { GFNN_PARITY_PARAMETERS = 2 };
extern const rt_parameter_t gfnn_parity_parameters[GFNN_PARITY_PARAMETERS];
}

/* --- the box --- */

/* w and Vs^2 of a material: one load. */
struct __align__(16) gfnn_material_t
{
    double w, square;
};

/* What set_up makes for all operator rungs. */
struct gfnn_operator_data_t {
    gfnn_material_t *material; /* [GFNN_MAX_IDS], device */
    gfnn_parts_t parts;        /* device; NULL without dots */
    gfnn_stored_t stored;      /* by rungs that keep variables of every element */
};

/* Returns whether gfnn_layers_t can read a box alone without its ghosts: pieces of 16 bytes do not
 * cross a face. */
static inline bool gfnn_layers_wrap(const gfnn_view_t *view)
{
    return gfnn_is_alone(view->box) && view->box->n[0] % 4 == 0;
}

/* Returns whether tensor.cu reads such a box without its ghosts in y and z; vectors.cu stores those in x
 * with r in 16 bits. A periodic box has at least 3 nodes in each direction, so none is a ghost twice
 * on one side. */
static inline bool gfnn_low_wraps(const gfnn_view_t *view)
{
    return gfnn_is_alone(view->box);
}

/* y = A x: what every kernel takes. */
template <class T> struct gfnn_job_t {
    gfnn_lines_t nodes, elements;
    bool wraps; /* gfnn_layers_t reads no ghosts */
    int n[3];
    const uint8_t *id;
    const gfnn_material_t *material;
    const T *x;
    T *y;

    gfnn_job_t(const gfnn_view_t *view, const gfnn_product_t *a)
        : nodes(sizeof(T) == sizeof(double) ? view->box->fine : view->box->wide),
          elements(view->box->wide), wraps(gfnn_layers_wrap(view)), id(view->id),
          material(static_cast<const gfnn_operator_data_t *>(view->data)->material),
          x(static_cast<const T *>(a->x)), y(static_cast<T *>(a->y))
    {
        for (int d = 0; d < 3; d++)
            n[d] = static_cast<int>(view->box->n[d]);
    }
    __device__ __forceinline__ bool own(int i, int j, int k) const
    {
        return i >= 0 && i < n[0] && j >= 0 && j < n[1] && k >= 0 && k < n[2];
    }
};

/* Hooks of the operator's table; blocks: the most blocks of a dot product, 0 without one. */
static inline void gfnn_operator_data_new(gfnn_view_t *view, size_t blocks)
{
    gfnn_operator_data_t *data = RT_NEW(gfnn_operator_data_t, 1, RT_HOST);
    gfnn_material_t material[GFNN_MAX_IDS];
    for (int id = 0; id < GFNN_MAX_IDS; id++)
        material[id] = {view->materials->w[id], view->materials->square[id]};
    *data = gfnn_operator_data_t();
    data->material = static_cast<gfnn_material_t *>(
        rt_clone(material, GFNN_MAX_IDS, sizeof *material, RT_DEVICE));
    if (blocks > 0) {
        const unsigned none = 0;
        data->parts.partial = RT_NEW(double, blocks, RT_DEVICE);
        data->parts.ticket = static_cast<unsigned *>(rt_clone(&none, 1, sizeof none, RT_DEVICE));
    }
    view->data = data;
}

static inline void gfnn_operator_set_up(gfnn_view_t *view)
{
    gfnn_operator_data_new(view, 0);
}

static inline void gfnn_operator_tear_down(gfnn_view_t *view)
{
    gfnn_operator_data_t *data = static_cast<gfnn_operator_data_t *>(view->data);
    if (!data)
        return;
    RT_FREE(data->material, RT_DEVICE);
    RT_FREE(data->parts.partial, RT_DEVICE);
    RT_FREE(data->parts.ticket, RT_DEVICE);
    RT_FREE(data->stored.variable, RT_DEVICE);
    RT_FREE(view->data, RT_HOST);
}

/* --- passes over elements --- */

/* Finds element number t of those that touch own nodes: of a colour if step is 2, of all if 1.
 * Returns false if there are fewer. */
static __device__ __forceinline__ bool gfnn_element_at(const gfnn_job_t<double> &job, unsigned t,
                                                       int step, int colour, int (&at)[3])
{
    unsigned rest = t;
#pragma unroll
    for (int d = 0; d < 3; d++) {
        const int from = colour >> d & 1;
        const unsigned here = static_cast<unsigned>(job.n[d] + step - from) / step;
        at[d] = from - 1 + step * static_cast<int>(d < 2 ? rest % here : rest);
        rest /= here;
    }
    return at[2] < job.n[2];
}

/* Counts those elements. */
static inline size_t gfnn_elements(const gfnn_job_t<double> &job, int step, int colour)
{
    size_t count = 1;
    for (int d = 0; d < 3; d++)
        count *= static_cast<size_t>(job.n[d] + step - (colour >> d & 1)) / step;
    return count;
}

static __device__ __forceinline__ gfnn_material_t gfnn_material_at(const gfnn_job_t<double> &job,
                                                                   const int (&at)[3])
{
    return job.material[job.id[job.elements.at(at[0], at[1], at[2])]];
}

/* f = B^T D B x of an element. */
static __device__ __forceinline__ void gfnn_element_product(const gfnn_job_t<double> &job,
                                                            const int (&at)[3], double mass,
                                                            double lambda, double mu,
                                                            double (&f)[24])
{
    const gfnn_lines_t &g = job.nodes;
    gfnn_strain_product(job.x + g.at(at[0], at[1], at[2]), g.plane, g.slab, g.pitch, mass, lambda,
                        mu, f);
}

/* The same with variables that are stored. */
static __device__ __forceinline__ void gfnn_stored_product(const gfnn_job_t<double> &job,
                                                           const double *variable,
                                                           const int (&at)[3], double (&f)[24])
{
    const int64_t plane = job.elements.plane;
    variable += job.elements.at(at[0], at[1], at[2]);
    gfnn_element_product(job, at, variable[GFNN_MASS * plane], variable[GFNN_LAMBDA * plane],
                         variable[GFNN_MU * plane], f);
}

static inline const double *gfnn_variables(const gfnn_view_t *view, const gfnn_product_t *a)
{
    gfnn_operator_data_t *data = static_cast<gfnn_operator_data_t *>(view->data);
    return gfnn_stored(view, &data->stored, a->form);
}

/* Calls add(address in y, row of the element) for the corners that are own nodes, or for all. */
template <bool ghosts = false, class Add>
__device__ __forceinline__ void gfnn_scatter(const gfnn_job_t<double> &job, const int (&at)[3],
                                             Add add)
{
    double *y = job.y + job.nodes.at(at[0], at[1], at[2]);
#pragma unroll
    for (int a = 0; a < 8; a++) {
        if (!ghosts && !job.own(at[0] + (a & 1), at[1] + (a >> 1 & 1), at[2] + (a >> 2)))
            continue;
        const int corner = (a >> 2) * job.nodes.slab + (a >> 1 & 1) * job.nodes.pitch + (a & 1);
#pragma unroll
        for (int c = 0; c < 3; c++)
            add(y + c * job.nodes.plane + corner, 3 * a + c);
    }
}

/* y = 0, before kernels that only add. */
enum { GFNN_CLEAR_THREADS = 128 };
static __global__ void gfnn_clear_kernel(const gfnn_job_t<double> job)
{
    const int i = static_cast<int>(blockIdx.x) * GFNN_CLEAR_THREADS + threadIdx.x;
    if (i >= job.n[0])
        return;
#pragma unroll
    for (int c = 0; c < 3; c++)
        job.y[c * job.nodes.plane + job.nodes.at(i, blockIdx.y, blockIdx.z)] = 0;
}

/* Makes y = 0 and calls kernel(job, arguments...) by one thread per element that touches own
 * nodes. */
template <unsigned threads, class... P, class... A>
static inline void gfnn_add_elements(void (*kernel)(gfnn_job_t<double>, P...),
                                     const gfnn_view_t *view, const gfnn_product_t *a,
                                     const A &...arguments)
{
    const gfnn_job_t<double> job(view, a);
    const dim3 blocks(rt_blocks(job.n[0], GFNN_CLEAR_THREADS), job.n[1], job.n[2]);
    gfnn_clear_kernel<<<blocks, GFNN_CLEAR_THREADS, 0, rt_stream()>>>(job);
    kernel<<<rt_blocks(gfnn_elements(job, 1, 0), threads), threads, 0, rt_stream()>>>(job,
                                                                                      arguments...);
    RT_CUDA_LAUNCHED();
}

/* The table of a rung whose `apply` adds elements to y. */
#define GFNN_ADDS_ELEMENTS(table_, reproducible_, memory_)                   \
    static const gfnn_operator_t op = {.apply = apply,                       \
                                       .set_up = gfnn_operator_set_up,       \
                                       .tear_down = gfnn_operator_tear_down, \
                                       .memory = memory_};                   \
    extern "C" const gfnn_kernels_t table_ = {                               \
        .rung = {.precision = "FP64", .reproducible = reproducible_},        \
        .ladder = GFNN_LADDER_OPERATOR,                                      \
        .op = &op,                                                           \
    }

/* --- layers of nodes, fetched ahead --- */

/* A block climbs through the layers of a column of nodes, columns x rows wide. `slots` layers are
 * in shared memory: layer number l, at height first + l, in slot l % slots. They come in pieces of
 * 16 bytes at 16-byte boundaries, so a row may begin up to 12 bytes before the first column.
 * Positions beyond the box and its ghosts get copies of others: no node of the box uses them. */
template <class T, int columns, int rows, int slots, int threads> struct gfnn_layers_t {
    static constexpr int unit = 16 / sizeof(T);
    static constexpr int pieces = (columns + 2 * unit - 2) / unit; /* of a row */
    static constexpr int pitch = pieces * unit, component = rows * pitch, layer = 3 * component;
    static constexpr int all = 3 * rows * pieces, each = (all + threads - 1) / threads;
    static constexpr size_t bytes = sizeof(T) * layer * slots;

    T *memory;
    uint64_t *full; /* [slots] */
    const T *source;
    unsigned piece[each]; /* this thread's, of layer 0, from source */
    int skip;             /* columns in memory before the first */

    /* Called by all threads; __syncthreads must follow. */
    __device__ __forceinline__ gfnn_layers_t(const gfnn_job_t<T> &job, T *memory_, uint64_t *full_,
                                             int column, int row)
        : memory(memory_), full(full_), source(job.x)
    {
        begin(job, column, row);
        if (threadIdx.x == 0) {
            for (int s = 0; s < slots; s++)
                rt_barrier_init(full + s, threads);
            rt_barriers_made();
        }
    }

    /* Goes to this column; called by all threads. */
    __device__ __forceinline__ void begin(const gfnn_job_t<T> &job, int column, int row)
    {
        skip = column & (unit - 1);
#pragma unroll
        for (int q = 0; q < each; q++) {
            const int number = threadIdx.x + q * threads, r = number / pieces;
            int i = min(column - skip + number % pieces * unit, job.n[0] & -unit);
            int j = min(row + r % rows, job.n[1]);
            if (job.wraps) {
                i = gfnn_wrapped(i, job.n[0]);
                j = gfnn_wrapped(j, job.n[1]);
            }
            piece[q] = (r / rows * job.nodes.plane + job.nodes.at(i, j, 0)) / unit;
        }
    }

    /* Requests the layer at this height; called by all threads. No thread may still read the slot. */
    __device__ __forceinline__ void fetch(const gfnn_job_t<T> &job, int slot, int height)
    {
        T *to = memory + slot * layer + threadIdx.x * unit;
        const unsigned here =
            (job.wraps ? gfnn_wrapped(height, job.n[2]) : height) * (job.nodes.slab / unit);
#pragma unroll
        for (int q = 0; q < each; q++)
            if ((q + 1) * threads <= all || threadIdx.x + q * threads < all)
                rt_copy16(to + q * threads * unit,
                          source + static_cast<uint64_t>(piece[q] + here) * unit);
        rt_copies_arrive(full + slot);
    }

    /* Returns the first column and row of the layer in a slot. */
    __device__ __forceinline__ const T *at(int slot) const
    {
        return memory + slot * layer + skip;
    }
    /* The same, after a wait for its arrival; parity: of how often the slot was filled before. */
    __device__ __forceinline__ const T *wait(int slot, int parity) const
    {
        rt_barrier_wait(full + slot, parity);
        return at(slot);
    }
};

/* Requests shared memory beyond 48 KB. */
template <class Kernel> void gfnn_allow_shared(Kernel *kernel, size_t bytes)
{
    RT_CUDA(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                 static_cast<int>(bytes)));
}

#endif
