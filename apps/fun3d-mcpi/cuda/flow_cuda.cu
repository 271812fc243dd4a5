/*
 * flow_cuda.cu - the nonlinear step on a GPU, all phases on the device; sweeps by staged.
 *
 * Idea: for slopes and residual, nodes are taken along a curve through space, across the colours, so
 * that neighbours are found in a cache; or in tiles, of which a block fetches the members once and
 * gathers from its copy (flow/tile.h; this form waits for its first run on a GPU). A warp makes a row of A: a lane finds the waves of an entry, five lanes its columns, and all write the
 * row as one run, into the sweeps' own records and in their type. Advantage: no atomics, no sorting,
 * the same bits every time; the host sees one norm per step. Price: a flux is computed on both of
 * its sides; that costs less than to read both states again for each edge and to add with atomics.
 */
#include "config.h"
#include "flow_faces.cuh"

namespace
{

/* --- norm --- */

__global__ void __launch_bounds__(MCPI_NORM_CHUNK) norm_kernel(const mcpi_field_t f, double *sums)
{
    const int64_t i = thread_index();
    const double sum = rt_block_sum<MCPI_NORM_CHUNK>(i < f.rows ? mcpi_node_square(&f, i) : 0);
    if (threadIdx.x == 0)
        sums[blockIdx.x] = sum;
}

double norm(const mcpi_field_t *f)
{
    const size_t chunks = rt_blocks(static_cast<size_t>(f->rows), MCPI_NORM_CHUNK);
    double *on_host = RT_NEW(double, chunks, RT_HOST), sum = 0;
    if (chunks > 0) {
        norm_kernel<<<static_cast<unsigned>(chunks), MCPI_NORM_CHUNK, 0, rt_stream()>>>(*f,
                                                                                        f->sums);
        RT_CUDA_LAUNCHED();
        rt_copy(on_host, RT_HOST, f->sums, RT_DEVICE, chunks * sizeof *on_host);
    }
    for (size_t k = 0; k < chunks; k++)
        sum += on_host[k];
    RT_FREE(on_host, RT_HOST);
    return sum;
}

/* --- Jacobian --- */

/* Rounds once, from FP64. */
template <class O> __device__ __forceinline__ O as(double x)
{
    if constexpr (std::is_same_v<O, __half>)
        return __double2half(x);
    else if constexpr (std::is_same_v<O, __nv_bfloat16>)
        return __double2bfloat16(x);
    else
        return static_cast<O>(x);
}

constexpr int GROUPS = 32 / NB; /* of five lanes, a lane per column, in a warp; two lanes rest */

/* What the lanes of a warp tell each other of up to 32 entries. */
template <class O> struct row_t {
    mcpi_wave_t wave[32];
    double D[BLOCK];
    O block[32 * BLOCK];
    uint8_t list[32];
};

/* Finds the waves of an entry per lane. Lists the entries that have a block; the others' blocks are
 * 0. Returns how many are listed; with_area: a bit for each that has an area. */
template <class O>
__device__ __forceinline__ int find_waves(const mcpi_field_t &f, int64_t i, int32_t first,
                                          int count, row_t<O> *row, unsigned *with_area)
{
    const int lane = threadIdx.x % 32;
    const int32_t k = first + lane;
    const bool has = lane < count && mcpi_has_area(f.n + 3 * static_cast<int64_t>(k));
    *with_area = __ballot_sync(0xffffffffu, has);
    if (has)
        row->wave[lane] = mcpi_face_wave(&f, i, k);
    if (f.gas.mu > 0) {
        row->list[lane] = static_cast<uint8_t>(lane);
        return count;
    }
    if (has)
        row->list[__popc(*with_area & ((1u << lane) - 1))] = static_cast<uint8_t>(lane);
    const int listed = __popc(*with_area);
    for (int x = lane; listed < count && x < BLOCK * count; x += 32)
        row->block[x] = as<O>(0);
    return listed;
}

/* Adds up the columns of D over the groups; then its lane has each column. */
__device__ __forceinline__ void sum_groups(double *D)
{
#pragma unroll
    for (int v = 0; v < NB; v++) {
        double sum = D[v];
#pragma unroll
        for (int g = 1; g < GROUPS; g++)
            sum += __shfl_sync(0xffffffffu, D[v], (threadIdx.x + NB * g) % 32);
        D[v] = sum;
    }
}

/* A warp per row: first a lane per entry finds waves, then five lanes per entry compute a column
 * each, and last all lanes write the row as one run. */
template <class O> __global__ void __launch_bounds__(THREADS) jacobian_kernel(const mcpi_field_t f)
{
    __shared__ row_t<O> rows[THREADS / 32];
    row_t<O> &row = rows[threadIdx.x / 32];
    const int lane = threadIdx.x % 32, c = lane % NB;
    const int64_t place = thread_index() / 32;
    if (place >= f.rows)
        return;
    const int64_t i = row_of(f, place);
    const double scale = mcpi_scale_of(f.rate[i]);
    const bool held = mcpi_is_held(&f, i);
    const int32_t end = f.start[i + 1];
    double D[NB] = {};
    O *to = static_cast<O *>(mcpi_O_of(&f, i, sizeof(O)));
    for (int32_t first = f.start[i]; first < end; first += 32) {
        const int count = end - first < 32 ? end - first : 32;
        unsigned with_area;
        const int listed = find_waves(f, i, first, count, &row, &with_area);
        __syncwarp();
        for (int k = lane < NB * GROUPS ? lane / NB : listed; k < listed; k += GROUPS) {
            const int e = row.list[k];
            double column[NB];
            mcpi_face_column(&f, first + e, with_area >> e & 1 ? &row.wave[e] : nullptr, c, column,
                             D);
            if (held)
                mcpi_hold_column(0, c, column);
#pragma unroll
            for (int v = 0; v < NB; v++)
                row.block[BLOCK * e + NB * c + v] = as<O>(scale * column[v]);
        }
        __syncwarp();
        for (int x = lane; x < BLOCK * count; x += 32)
            to[x] = row.block[x];
        to += BLOCK * count;
        __syncwarp();
    }
    sum_groups(D);
    if (lane < NB) {
        mcpi_own_column(&f, i, c, D);
        if (held)
            mcpi_hold_column(f.rate[i], c, D);
#pragma unroll
        for (int v = 0; v < NB; v++)
            row.D[NB * c + v] = scale * D[v];
    }
    __syncwarp();
    if (lane < BLOCK)
        mcpi_LU_of(&f, i)[lane] = row.D[lane];
    if (lane == 0)
        f.scale[i] = scale;
}

void jacobian(const mcpi_field_t *f)
{
    mcpi_fixed_offdiagonal(f->offdiagonal, [&](auto o) {
        using O = typename decltype(o)::type;
        launch(jacobian_kernel<O>, 32 * f->rows, *f);
    });
}

/* --- LU, right-hand side, update --- */

__global__ void __launch_bounds__(THREADS) factor_kernel(const mcpi_field_t f)
{
    const int64_t i = thread_index();
    if (i >= f.rows)
        return;
    double D[BLOCK], *LU = mcpi_LU_of(&f, i);
#pragma unroll
    for (int v = 0; v < BLOCK; v++)
        D[v] = LU[v];
    mcpi_factor_block(D);
#pragma unroll
    for (int v = 0; v < BLOCK; v++)
        LU[v] = D[v];
}

void factor(const mcpi_field_t *f)
{
    launch(factor_kernel, f->rows, *f);
}

__global__ void __launch_bounds__(THREADS) right_kernel(const mcpi_field_t f)
{
    const int64_t at = thread_index(), i = at / NB;
    if (i < f.rows)
        mcpi_right_of(&f, i)[at % NB] = f.scale[i] * f.R[at];
}

void right(const mcpi_field_t *f)
{
    launch(right_kernel, NB * f->rows, *f);
}

/* counts: rows scaled, and the first row that stopped. Integers: their order does not matter. */
template <class X>
__global__ void __launch_bounds__(THREADS)
    update_kernel(const mcpi_field_t f, unsigned long long *counts)
{
    const int64_t i = thread_index();
    if (i >= f.rows)
        return;
    double dq[NB];
#pragma unroll
    for (int v = 0; v < NB; v++)
        dq[v] = static_cast<const X *>(f.dq)[NB * i + v];
    const int halvings = mcpi_node_update(&f, i, dq);
    if (halvings > 0)
        atomicAdd(counts, 1ull);
    if (halvings == MCPI_HALVINGS)
        atomicMin(counts + 1, static_cast<unsigned long long>(i));
}

mcpi_moved_t update(const mcpi_field_t *f)
{
    unsigned long long counts[2] = {0, static_cast<unsigned long long>(f->rows)};
    auto *there = reinterpret_cast<unsigned long long *>(f->sums);
    rt_copy(there, RT_DEVICE, counts, RT_HOST, sizeof counts);
    mcpi_fixed_real(f->dq_type, [&](auto x) {
        launch(update_kernel<typename decltype(x)::type>, f->rows, *f, there);
    });
    rt_copy(counts, RT_HOST, there, RT_DEVICE, sizeof counts);
    return {static_cast<int64_t>(counts[0]), static_cast<int64_t>(counts[1])};
}

const char *const gather_values[] = {"tiles", "cache", nullptr};
constexpr rt_parameter_t parameters[] = {
    {.name = "gather",
     .about = "neighbours from a tile's copy in shared memory (not run on a GPU yet), or a cache",
     .values = gather_values,
     .initial = 1}};

const mcpi_phases_t phases = {.sweeps = "staged",
                              .tiled = true,
                              .gradient = gradient,
                              .residual = residual,
                              .norm = norm,
                              .jacobian = jacobian,
                              .factor = factor,
                              .right = right,
                              .update = update};

} // namespace

extern "C" const mcpi_kernels_t mcpi_flow_cuda = {.rung = {.precision = MCPI_FLOW_PRECISION,
                                                           .reproducible = true,
                                                           .parameters = parameters,
                                                           .n_parameters = 1,
                                                           .refuse = mcpi_flow_refuse},
                                                  .phases = &phases};
